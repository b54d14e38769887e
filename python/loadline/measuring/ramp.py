"""A search on a target: probes at one load after the other, until a load line or the best depth is known.

Each probe has a folder of its own within the point's, and is kept whatever comes after it: `resume` asks for no load
twice.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.errors import StoreError
from loadline.judging.certainty import Certainty
from loadline.judging.figure import figure_named
from loadline.judging.finding import Doubt, finding
from loadline.measuring.open_load import offered, saturating, spread
from loadline.measuring.open_response import Measure, opened, overloaded
from loadline.measuring.point import Measured
from loadline.reporting.table import count, listed, load_line_unsure
from loadline.result.intervals import counted_intervals
from loadline.result.point_folder import (
    Row,
    begin_probe,
    commit_point,
    copy_series,
    lose_probe,
    probe_paths,
    read_histograms,
    read_probe,
    read_rows,
)
from loadline.result.schema import Result
from loadline.system.load_line import (
    LIMITED,
    LoadLine,
    Probe,
    UnansweredError,
    keeps,
    luck,
    search_outstanding,
    search_rate,
    share,
)
from loadline.system.row import best_rows, load_line_rows
from loadline.workload.limit import Limit, Ramp
from loadline.workload.plan import Point

log = logging.getLogger("loadline")

# One job of fio's keeps so many outstanding with every engine.
_MOST = 4096

# What loads of ramps are, by their axis.
_PER = {"outstanding": "outstanding", "rate": "I/Os a second"}

# A percentile is known to its bin of the histogram, a 64th of its value at most.
_HALF_BIN = 1 / 128

# Probes that a finding names.
_FEW = 4

# A response that is lower at a higher load by that, and by so many standard errors, is no luck of its interval.
_FALL = 0.05
_BEYOND_LUCK = 4

#: Is told the row of each probe once it's committed.
Tell = Callable[[Result], None]


class FailedError(UnansweredError):
    """A probe failed, so nothing can be said of the point but what others say."""

    def __init__(self, result: Result) -> None:
        self.result = result


class Probes:
    """The probes of one point, kept in its folder.

    Attributes:
        known: the folders of those that succeeded, by name; of what is damaged nothing is known.
        failed: the row of the last one that failed since.
    """

    def __init__(self, folder: Path, measure: Measure, limit: Limit | None = None, tell: Tell = lambda _: None) -> None:
        self.known: dict[str, Path] = {}
        self.failed: Result | None = None
        self._folder = folder
        self._measure = measure
        self._limit = limit
        self._tell = tell
        for path in probe_paths(folder):
            try:
                found = read_probe(path)
            except StoreError as error:
                log.warning("probe %s counts for nothing: %s", path.name, error.message)
                lose_probe(path)
                continue
            if found and found[0].error is None:
                self.known[found[0].point] = path

    def ask(self, point: Point) -> Result:
        """The row of a plain point: measured now, unless it's known.

        Raises:
            FailedError: with the row, which is kept; else as the measuring does.
        """
        if point.name in self.known:
            return read_rows(self.known[point.name])[0]
        place = begin_probe(self._folder, point.name)
        # What was asked for a moment ago is in a cache: the same blocks again would say nothing of the load.
        measured = self._measure(point.anew(len(probe_paths(self._folder))), place)

        def probe(result: Result) -> Result:
            return replace(result, role="probe", limit=None if self._limit is None else str(self._limit))

        found = _sure(probe(measured.result), self._limit, place)
        commit_point(place, found, measured.histograms, [Row(probe(one), bins) for one, bins in measured.targets])
        self._tell(found)
        if found.error is not None:
            self.failed = found
            raise FailedError(found)
        self.known[point.name] = place
        return found

    def histograms(self, name: str) -> dict[str, Histogram]:
        """Those of a probe that is known."""
        return read_histograms(self.known[name])[0]


def _sure(result: Result, limit: Limit | None, place: Path) -> Result:
    """The row with how sure the figure is that's limited, where it has no column for that and was measured so long."""
    if limit is None or result.error is not None or not result.runtime_ns or limit.figure == "latency_mean_ns":
        return result
    spans = counted_intervals(place, result)
    error = Certainty(lambda _: spans).of(result, figure_named(limit.figure))
    if error is None:
        return result
    half = error.half_width + (_HALF_BIN if limit.statistic.startswith("p") else 0.0)
    return replace(result, provenance={**result.provenance, LIMITED: {"figure": limit.figure, "ci95_fraction": half}})


def find(point: Point, folder: Path, measure: Measure, tell: Tell = lambda _: None) -> Measured:
    """The row of a search, at the load line or the best depth, and its histograms; its series is put into `folder`.

    Of several targets at once each has the load that is asked for, and the limit is one on the responses of all.

    If a probe failed that is needed, a row with its error and what the others say; if not even the lowest load keeps
    the limit, one that says so.

    Raises:
        As `measure`; whatever is raised, the probes that were done are kept.
    """
    ramp = point.ramp
    if ramp is not None and ramp.axis == "rate":
        measure = opened(measure, lambda one: spread(one, ramp.limit.bound_ns), lambda: probes.ask(saturating(point)))
    probes = Probes(folder, measure, None if ramp is None else ramp.limit, tell)

    def ask(load: float) -> Result:
        return probes.ask(point.at(load))

    try:
        row, shown = _best(point, ask) if ramp is None else _load_line(point, ramp, ask, probes)
    except FailedError as failed:
        return Measured(_torn(point, failed.result), {})
    row = replace(row, role="point")
    if shown is None:
        return Measured(row, {})
    copy_series(probes.known[shown], folder)
    return _with_targets(row, probes.known[shown])


def _with_targets(row: Result, place: Path) -> Measured:
    """The row of a search with the histograms of the probe that it shows, and of several targets the rows of each."""
    parts, (bins, *others) = read_rows(place)[1:], read_histograms(place)
    if parts and "load_line" in row.provenance:
        found = {**row.provenance["load_line"], "targets": len(parts)}
        row = replace(row, provenance={**row.provenance, "load_line": found})
    # The load line is one of all together.
    each = [replace(part, role="point", point=row.point, limit=None) for part in parts]
    return Measured(row, bins, tuple(Row(part, its) for part, its in zip(each, others, strict=True)))


def _torn(point: Point, failed: Result, known: str = "") -> Result:
    """The row of a search that lacks the answer of a probe, with what is known by the others."""
    return replace(failed, role="point", point=point.name, error=f"{failed.point}: {failed.error}{known}")


def _load_line(point: Point, ramp: Ramp, ask: Callable[[float], Result], probes: Probes) -> tuple[Result, str | None]:
    """The row of a ramp, and the name of the probe that it shows; None where not even the lowest load holds."""
    saturated = probes.ask(saturating(point)) if ramp.axis == "rate" else None
    if saturated is None:
        line: LoadLine[Any, Result] = search_outstanding(
            ask,
            lambda answer: keeps(answer, ramp.limit),
            int(ramp.low),
            max(int(ramp.low), min(_MOST, int(ramp.high))),
            lambda answer: share(answer, ramp.limit),
            luck,
        )
    else:
        line = _open_line(point, ramp, ask, saturated)
    if not line.complete:
        assert probes.failed is not None, "only a failed probe ends a search too early"
        known = {
            "axis": ramp.axis,
            "load": line.highest and line.highest.load,
            "next": line.next and line.next.load,
            "monotone": line.monotone,
        }
        row = _torn(point, probes.failed, _between(line, ramp))
        return replace(row, provenance={**row.provenance, "load_line": known}), None
    row = _row(point, line, probes.failed, saturated)
    return row, None if line.highest is None else line.highest.answer.point


def _open_line(point: Point, ramp: Ramp, ask: Callable[[float], Result], saturated: Result) -> LoadLine[Any, Result]:
    """The load line over rates; `saturated` is the answer to a load that saturates."""
    return search_rate(
        ask,
        lambda answer: keeps(answer, ramp.limit) and not overloaded(answer),
        *(ramp.low, ramp.high),
        lambda answer: math.inf if overloaded(answer) else share(answer, ramp.limit),
        lambda answer: answer.total.iops if overloaded(answer) else None,
        expected=saturated.total.iops,
        error=luck,
        offered=lambda load: offered(point, load, ramp.limit.bound_ns),
    )


def _between(line: LoadLine[Any, Result], ramp: Ramp) -> str:
    """What a search knows that isn't complete: `; by the other probes 32 outstanding keep mean<=30ms, 64 don't`."""
    held, fails, per = line.highest, line.next, _PER[ramp.axis]
    ends = [one.answer for one in (held, fails) if one is not None]
    unsure = load_line_unsure(str(ramp.limit), any(one.latency_mean_ci95_ns is None for one in ends))
    sure = f"; {unsure}" if unsure else ""
    if held is not None:
        but = f", {_said(fails.load)} don't" if fails else ""
        return f"; by the other probes {_said(held.load)} {per} keep {ramp.limit}{but}{sure}"
    return f"; by the other probes {_said(fails.load)} {per} don't keep {ramp.limit}{sure}" if fails else ""


def _said(load: float) -> str:
    """A load as tables have it: outstanding I/Os are whole."""
    return f"{load:,}" if isinstance(load, int) else count(load)


def _row(point: Point, line: LoadLine[Any, Result], failed: Result | None, saturated: Result | None) -> Result:
    """The row at a load line, with what is doubtful of the probes that it hangs on.

    Args:
        failed: the row of a probe that failed and isn't needed for it.
        saturated: of a ramp over rates the probe that is to saturate, which isn't one of the line's.
    """
    assert point.ramp is not None, "only ramps have load lines"
    row = load_line_rows(point, line, None if saturated is None else saturated.total.iops)[0]
    if saturated is not None:
        row = replace(row, saturation_outstanding=saturated.outstanding_asked)
    found = row.provenance["load_line"]
    ends = [one for one in (found["load"], found["next"], found.get("low"), found.get("high")) if one is not None]
    near = [probe for probe in line.probes if ends and min(ends) <= probe.load <= max(ends)]
    doubts = [*_saturation_doubts(row, line, near, saturated)]
    if line.highest is None:
        # What was found of the lowest probe is about figures, which the row doesn't have.
        row = replace(row, findings=tuple(one for one in row.findings if one.get("check") == "load-line"))
        doubts += _lowest_doubts(min(line.probes, key=lambda one: one.load), point.ramp)
    else:
        doubts = [*_doubts(near, _PER[point.ramp.axis]), *doubts, *_falls(line, point.ramp)]
    if failed is not None:
        message = f"{failed.point} failed ({failed.error}), without which it isn't known whether the curve is monotone"
        doubts.append(Doubt("warning", message, "Run it again, if that matters."))
    if not doubts:
        return row
    return replace(row, findings=(*row.findings, finding("load-line", row.run, point.name, doubts)))


def _falls(line: LoadLine[Any, Result], ramp: Ramp) -> Iterator[Doubt]:
    """What is doubtful where a higher load was answered in less time, for queues don't do that.

    Probes may be inside a cache, as their rows say: one that's filled in the meantime explains it.
    """
    known = [(one.load, share(one.answer, ramp.limit), luck(one.answer)) for one in line.probes]
    known = [one for one in known if math.isfinite(one[1]) and one[1] > 0]
    falls = [
        (1 - higher / lower, load, above)
        for (load, lower, error), (above, higher, other) in combinations(known, 2)
        if math.log(lower / higher) > max(_FALL, _BEYOND_LUCK * math.hypot(error, other))
    ]
    cached = any(each.get("check") == "write-cache" for one in line.probes for each in one.answer.findings)
    if falls and not cached:
        fall, load, above = max(falls)
        message = f"the response at {_said(above)} {_PER[ramp.axis]} was {fall:.0%} lower than at {_said(load)}"
        message += ": luck or drift changes it by as much as load does, and the load line may lie elsewhere"
        yield Doubt("warning", message, "Give a longer --warmup and --runtime.", {"fall_fraction": fall})


def _lowest_doubts(lowest: Probe[Any, Result], ramp: Ramp) -> Iterator[Doubt]:
    """What is doubtful of there being no load line: the lowest load may not have had its chance."""
    checks = {each.get("check") for each in lowest.answer.findings if each.get("severity") != "note"}
    which = f"the lowest load, {_said(lowest.load)} {_PER[ramp.axis]},"
    if "emulation" in checks:
        message = (
            f"{which} had late answers, as this machine is too slow or busy: without them it may keep {ramp.limit}"
        )
        remedy = "Let nothing else run meanwhile, or ask the model itself: simulate."
        yield Doubt("warning", message, remedy, {"late_probes": 1})
    if "other-run" in checks:
        message = f"{which} had another run beside it: alone it may keep {ramp.limit}"
        yield Doubt("warning", message, "Let one run after the other.", {"disturbed_probes": 1})


def _doubts(near: Sequence[Probe[Any, Result]], per: str) -> Iterator[Doubt]:
    """What is doubtful of a load line by the probes where it may lie: too good, too bad, or still on the move."""

    def those(check: str, *but: str) -> list[Probe[Any, Result]]:
        def has(findings: Sequence[Mapping[str, Any]]) -> bool:
            return any(each.get("check") == check and each.get("severity") not in but for each in findings)

        return [one for one in near if has(one.answer.findings)]

    def said(some: Sequence[Probe[Any, Result]]) -> str:
        loads = listed([_said(one.load) for one in some], _FEW)
        return f"{len(some)} of the {len(near)} probes where the load line may lie ({loads} {per})"

    cached, late, beside = those("write-cache"), those("emulation", "note"), those("other-run")
    # What is offered more than it can do is never steady.
    moving = [one for one in near if one.answer.steady is False and not overloaded(one.answer)]
    # Where some push it up and others down nobody knows which way it's wrong.
    then = "that alone would make it" if cached and (late or beside) else "then it's"
    if cached:
        # Of a cache of unknown size nobody knows whether it was filled.
        known = any(each["numbers"] for one in cached for each in one.answer.findings if each["check"] == "write-cache")
        message = f"{said(cached)} may be inside a write cache, as full as the probe before left it: {then} too high"
        remedy = "Let probes write twice the cache: a longer --warmup and --runtime, and --cache SIZE."
        yield Doubt("warning" if known else "note", message, remedy, {"cached_probes": len(cached)})
    if moving:
        message = f"{said(moving)} ended without being steady: neither it nor its confidence is sure"
        yield Doubt("warning", message, "Give a longer --warmup and --runtime.", {"unsteady_probes": len(moving)})
    if late:
        message = f"{said(late)} had late answers, as this machine is too slow or busy: {then} too low"
        remedy = "Let nothing else run meanwhile, or ask the model itself: simulate."
        yield Doubt("warning", message, remedy, {"late_probes": len(late)})
    if beside:
        message = f"{said(beside)} had another run beside them: {then} too low"
        yield Doubt("warning", message, "Let one run after the other.", {"disturbed_probes": len(beside)})


def _saturation_doubts(
    row: Result, line: LoadLine[Any, Result], near: Sequence[Probe[Any, Result]], saturated: Result | None
) -> Iterator[Doubt]:
    """What is doubtful of the highest rate, where a probe further off had it."""
    if saturated is not None:
        most = (saturated.total.iops or 0.0) + (saturated.iops_ci95 or 0.0)
        # Of probes without an interval it may be luck.
        more = [
            one for one in line.probes if (one.answer.total.iops or 0.0) - (one.answer.iops_ci95 or math.inf) > most
        ]
        if more:
            depth = f"{saturated.outstanding_asked:,} outstanding"
            message = f"{listed([_said(one.load) for one in more], _FEW)} I/Os a second did more than {depth}"
            message += ", which don't saturate it: its share of saturation is too high"
            remedy = "Ramp over outstanding requests to see the highest rate, or give a longer --runtime."
            yield Doubt("note", message, remedy, {"better_probes": len(more)})
    highest = (one.answer for one in line.probes if one.answer.total.iops == row.saturation_iops)
    top = saturated or next(highest, None)
    if top is None or any(top is one.answer for one in near):
        return
    if any(one.get("check") == "write-cache" for one in top.findings):
        message = (
            f"the highest rate, at {top.outstanding_asked:,} outstanding, may be that of a write cache, and too high"
        )
        yield Doubt("note", message, "Ask the suite saturation for it, with a --runtime that fills the cache.", {})


def _best(point: Point, ask: Callable[[float], Result]) -> tuple[Result, str]:
    """The row of the best depth, and the name of its probe."""
    assert point.best is not None, "the point is a search"
    row = best_rows(point, [ask(depth) for depth in point.best.queue_depths])[0]
    assert row.queue_depth is not None, "probes are closed, of one stream"
    return row, point.at(row.queue_depth).name
