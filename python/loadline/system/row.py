"""The row of a point that a model answered: what was asked, whatever answered it; and the rows of searches."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loadline.errors import InputError
from loadline.result.schema import Flow, Origin, Result
from loadline.system.description import System
from loadline.system.load_line import LoadLine, bounds, keeps, limited_response_ns, luck
from loadline.units import short
from loadline.workload.limit import Direction, Limit
from loadline.workload.plan import Point
from loadline.workload.profile import Open


def row(system: System, point: Point, suite: str | None, origin: Origin, **figures: Any) -> Result:
    """A Result of `point` on `system`, with `figures` as its other fields; one with an error has no findings."""
    arrivals = [stream.arrival for stream in point.streams]
    depths = {arrival.queue_depth for arrival in arrivals if not isinstance(arrival, Open)}
    rates = [arrival.rate_per_s for arrival in arrivals if isinstance(arrival, Open)]
    streams = [stream.to_json() for stream in point.streams]
    asked: dict[str, Any] = {
        "point": point.name,
        "origin": origin,
        "system": system.name,
        "tags": dict(system.settings),
        "suite": suite,
        "profile": point.profile_name,
        "access_class": point.access_class,
        "workload": streams[0] if len(streams) == 1 else streams,
        "jobs": sum(arrival.jobs for arrival in arrivals),
        "queue_depth": depths.pop() if len(depths) == 1 and not rates else None,
        "outstanding_asked": None if rates else sum(stream.outstanding for stream in point.streams),
        "offered_per_s": sum(rates) if len(rates) == len(arrivals) else None,
        "limit": None if point.ramp is None else str(point.ramp.limit),
    }
    if figures.get("error") is not None:
        figures["findings"] = ()
    return Result(**{**asked, **figures})


# Reasons that are told where nothing can be answered.
_FEW = 3


def refused_all(suite: str | None, refusals: Sequence[InputError]) -> InputError:
    """Why none of what was asked can be answered: of a profile with its suite, which no row says then."""
    # Of reasons that differ in their numbers one says it.
    reasons = {re.sub(r"\b\d[\d.,]*", "", one.message.partition(": ")[2]): one for one in reversed(refusals)}
    told = [*reversed(reasons.values())][:_FEW]
    message = "; ".join(one.message for one in told)
    if len(reasons) > _FEW:
        message += f"; and {len(reasons) - _FEW:,} other reasons"
    if suite is not None and message.startswith("profile "):
        message = f"suite {suite}, {message}"
    return InputError(message, told[0].remedy)


def refused_row(system: System, point: Point, suite: str | None, origin: Origin, refusal: InputError) -> Result:
    """The row of a point that can't be answered."""
    # Which system it was stands in the row already.
    message = refusal.message
    for known in (system.said, point.name, f"profile {point.profile_name}"):
        message = message.removeprefix(f"{known}: ")
    error = f"{message}. {refusal.remedy}" if refusal.remedy else message
    return row(system, point, suite, origin, error=error, ended_by="error")


def finding(
    point: Point, check: str, severity: str, message: str, numbers: Mapping[str, float], remedy: str
) -> dict[str, Any]:
    """What is doubtful about a row, as `--json` shows it."""
    return {
        "check": check,
        "severity": severity,
        "run": "",
        "point": point.name,
        "message": message,
        "numbers": dict(numbers),
        "remedy": remedy,
    }


def busiest(components: Mapping[str, float]) -> str | None:
    """The component of the highest utilisation; of equal ones the first."""
    return max(components, key=components.__getitem__, default=None)


#: What begins the response at a lowest load that doesn't keep the limit, of which each row has its own.
THERE = ": it's "


def load_line_rows(point: Point, line: LoadLine[Any, Result], saturation_iops: float | None = None) -> list[Result]:
    """The row at the load line, then the probes in order of load, the line's own left out.

    Without a `saturation_iops`, infinite of what never saturates, it is the highest rate of all probes.
    """
    ramp = point.ramp
    assert ramp is not None, "only ramps have load lines"
    limit = str(ramp.limit)
    probes = [replace(probe.answer, role="probe", limit=limit) for probe in line.probes if probe is not line.highest]
    if saturation_iops is None:
        where = _saturation([probe.answer for probe in line.probes])
    else:
        where = {"saturation_iops": saturation_iops if math.isfinite(saturation_iops) else None}
    by_rate = ramp.axis == "rate"
    low, high = bounds(line, ramp.limit, rate=by_rate, saturation_per_s=saturation_iops if by_rate else None)
    found: dict[str, Any] = {
        "axis": ramp.axis,
        "load": line.highest and line.highest.load,
        "next": line.next and line.next.load,
        "monotone": line.monotone,
    }
    if low is not None or high is not None:
        found |= {"low": low, "high": high}
    if line.against:
        found["against"] = [probe.load for probe in line.against]
    if line.highest is None:
        lowest = line.probes[0].answer
        # Of several streams at once each has one at least.
        least = line.probes[0].load if by_rate else lowest.outstanding_asked or ramp.low
        there_ns = limited_response_ns(lowest, ramp.limit)
        there = "" if there_ns is None else f"{THERE}{short(there_ns / 1e6)} ms there"
        error = lowest.error or f"not even the lowest load, {least:g}{'/s' if by_rate else ''}, keeps {limit}{there}"
        # A model knows where what it can't answer is above saturation.
        if lowest.error is None or lowest.saturation_iops is not None:
            found["kept"] = False
        at_line = replace(lowest, total=Flow(), read=Flow(), write=Flow(), error=error, outstanding_asked=None)
    else:
        at_line = line.highest.answer
    findings = (*at_line.findings, *_apart(point, at_line, ramp.limit)) if at_line.error is None else ()
    if not line.monotone:
        findings += (_again(point, limit),)
    elif line.highest is not None:
        less = [one.answer for one in line.probes if one.load < line.highest.load]
        findings += (*beside(point, at_line, less, ramp.limit),)
    if line.highest is not None and line.next is None:
        rate, outstanding = at_line.offered_per_s, at_line.outstanding_asked
        load = f"{outstanding:,} outstanding" if rate is None else f"{short(rate)} I/Os a second"
        message = f"{limit} is not reached within {load}, the highest load that was tried"
        findings += (finding(point, "load-line", "note", message, {}, "Take a lower limit: --limit."),)
    provenance = {**at_line.provenance, "load_line": found}
    return [
        replace(
            *(at_line,),
            point=point.name,
            limit=limit,
            findings=tuple({**one, "point": point.name} for one in findings),
            provenance=provenance,
            **where,
        ),
        *probes,
    ]


def _again(point: Point, limit: str) -> dict[str, Any]:
    message = f"a higher load than the first that fails keeps {limit} again: the curve isn't monotone"
    return finding(point, "load-line", "warning", message, {}, "Look at the probes (--json).")


# Solved curves go up and down by as much as they are off: some per cent.
_MORE = 0.05

# By so many standard errors a rate surely is higher.
_SURELY = 4.0


def beside(point: Point, line: Result, others: Sequence[Result], limit: Limit) -> Iterator[dict[str, Any]]:
    """What is doubtful of a closed load line beside other answers that keep its limit: of more load, or more rate."""
    loads = [(one.outstanding_asked or 0, one.total.iops or 0.0, one) for one in others if keeps(one, limit)]
    asked, rate = line.outstanding_asked or 0, line.total.iops or 0.0
    if not asked or not rate:
        return
    if any(load > asked for load, *_ in loads):
        yield _again(point, str(limit))
    load, most, best = max(loads, key=lambda one: one[1], default=(asked, rate, line))
    if load < asked and math.log(most / rate) > max(_MORE, _SURELY * math.hypot(luck(line), luck(best))):
        message = (
            f"the load line is the highest load that keeps {limit}, not the highest rate: with {load:,} outstanding"
            f" that is {short(most)} IOPS, {most / rate - 1:.0%} more"
        )
        numbers = {"iops": most, "line_iops": rate}
        yield finding(point, "load-line", "note", message, numbers, "Look at the curve (-o FILE.html, --chart load).")


# Fewer than half of the I/Os can have a mean more than twice that of all: the others hide it. Up to there mixes do as
# they should: where a cache takes a third of the I/Os at once, the others' mean is 1.5 times that of all.
_HIDDEN = 2


def _apart(point: Point, row: Result, limit: Limit) -> Iterator[dict[str, Any]]:
    """Reads or writes that alone are far above a limit of all I/Os, which they are too few to break."""
    parts: tuple[tuple[Direction, Flow], ...] = (("reads", row.read), ("writes", row.write))
    for of, flow in parts if limit.of == "all" else ():
        alone = replace(limit, of=of)
        response_ns = limited_response_ns(row, alone)
        if response_ns is None or response_ns <= _HIDDEN * limit.bound_ns or not row.total.iops:
            continue
        share = (flow.iops or 0.0) / row.total.iops
        message = (
            f"{limit} is kept by reads and writes together; of {of} alone, {share:.1%} of the I/Os, the"
            f" {limit.statistic} is {short(response_ns / 1e6)} ms"
        )
        numbers = {alone.figure: response_ns, "bound_ns": float(limit.bound_ns)}
        yield finding(point, "limit", "note", message, numbers, f"Limit them alone: --limit '{alone}'.")


# Figures that differ by less do so by rounding.
_EQUAL = 1e-12


def _first(figures: Sequence[float]) -> int:
    """Where the highest of them is, of equal ones the first."""
    highest = max(figures)
    return next(place for place, figure in enumerate(figures) if figure >= highest - _EQUAL * abs(highest))


# So near to saturation more outstanding I/Os mostly wait.
_NEAR = 0.95


# A rate so near to a computed saturation is there, as far as tables show digits.
_THERE = 0.999


def _saturation(answers: Sequence[Result]) -> dict[str, Any]:
    """Saturation, where it was found, and the fewest outstanding I/Os that came near it.

    A solution knows what no load exceeds, which none of the answers need reach; of others it is their highest rate.
    """
    rates = [
        (one.total.iops, one.outstanding_asked, one.saturation_iops) for one in answers if one.total.iops is not None
    ]
    if not rates:
        return {"saturation_iops": None}
    highest, found_at, computed = rates[_first([rate for rate, *_ in rates])]
    if computed is not None and computed > highest:
        highest = computed
        found_at = next((asked for iops, asked, _ in rates if iops >= _THERE * highest), None)
    near = [asked for iops, asked, _ in rates if asked is not None and iops >= _NEAR * highest]
    return {
        "saturation_iops": highest,
        "saturation_outstanding": found_at,
        "saturation_95_outstanding": min(near, default=None),
    }


def best_rows(point: Point, answers: Sequence[Result]) -> list[Result]:
    """The best of the answers to a point's depths as its row, then all others as probes, in order of depth.

    Of equal ones the first counts. An answer with an error is none; if all are, the first of them is the row.
    """
    assert point.best is not None, "only such points have a best answer"
    of_rate = point.best.of == "rate"

    def worth(answer: Result) -> float:
        figure = answer.total.iops if of_rate else answer.total.latency_mean_ns
        if answer.error is not None or figure is None:
            return -math.inf
        return figure if of_rate else -figure

    best = answers[_first([worth(answer) for answer in answers])]
    where = _saturation([answer for answer in answers if answer.error is None]) if of_rate else {}
    found = {"of": point.best.of, "queue_depth": best.queue_depth, "queue_depths": list(point.best.queue_depths)}
    findings = tuple({**one, "point": point.name} for one in best.findings)
    last = answers[-1].outstanding_asked
    # No less than 95 % of saturation stood at fewer.
    rising = where.get("saturation_95_outstanding", last) in {None, last}
    if of_rate and len(answers) > 1 and best.error is None and rising and best.outstanding_asked == last:
        message = f"the rate still rose up to {best.outstanding_asked} outstanding, the most that was tried"
        findings += (finding(point, "saturation", "note", message, {}, "Try fixed depths beyond: --queue-depth."),)
    provenance = {**best.provenance, "best": found}
    row = replace(best, role="point", point=point.name, findings=findings, provenance=provenance, **where)
    return [row, *(replace(answer, role="probe") for answer in answers if answer is not best)]
