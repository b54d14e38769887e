"""Solutions: points on described systems, computed by queueing theory, and load lines read off their curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from itertools import count, groupby, takewhile
from operator import itemgetter
from pathlib import Path
from threading import Event, Lock
from typing import Any

from loadline import _core
from loadline.errors import InputError
from loadline.result.schema import Flow, Result
from loadline.system.asked import Asked, check_rows, pairs, points_of, streams_of
from loadline.system.description import System, load_system, unroll
from loadline.system.load_line import LoadLine, Probe, keeps, search_rate, share
from loadline.system.pool import Listener, in_order
from loadline.system.row import best_rows, finding, load_line_rows, refused_row, row
from loadline.workload.plan import Options, Point
from loadline.workload.profile import Closed, Open, Workload

# A curve is drawn so far at first, for that costs hardly more than its first points; then as far as the limit can hold,
# then so many times as far while all of it does.
_FIRST = 512
_FURTHER = 4

# The core solves for no more I/Os outstanding, all jobs together.
_MOST = 16_384

#: Throughput and mean responses of all, reads and writes, as the core gives a point of a curve.
_At = tuple[float, float, float | None, float | None]


def solve(
    system: str | Path | System,
    workload: Asked,
    *,
    settings: Sequence[str] = (),
    options: Options = Options(),
    explain: bool = False,
) -> list[Result]:
    """Computes every point of the workload on the system, under every combination of settings.

    A solution has means, no percentiles. A ramp's answer is the row at its load line, and a row of role `probe` at the
    next load, which fails.

    Args:
        system: a name of the catalog, the path of a TOML file, or a System.
        workload: a suite's name, path or itself; a Workload, or several that run together; or points of a plan.
        settings: `pool.drives=84:336:42`, `volume.layout=raid5,raid10`; several make all combinations.
        options: what to change of a suite.
        explain: put the working, a line a step, into each row's provenance.

    Returns:
        Rows in the order of settings, then points. A point that can't be answered is a row with an error.

    Raises:
        InputError: nothing can be solved: no such system or suite, a key or a value that can't be.
    """
    suite, points = points_of(workload, options)
    systems = unroll(load_system(system), settings)
    check_rows(len(systems) * len(points))
    return answers(pairs(systems, points), suite, explain=explain)


def answers(
    asked: Sequence[tuple[System, Point]],
    suite: str | None,
    *,
    explain: bool = False,
    curve: bool = False,
    threads: int | None = None,
    listen: Listener | None = None,
) -> list[Result]:
    """The rows of every pair, in order; pairs of one system stand together.

    With `curve` a ramp also has rows of role `probe` at doubling loads up to twice its load line, and of a search over
    rates all that it looked at.

    Raises:
        InputError: none of them can be answered; it says why the first can't.
    """
    tasks = []
    drives: dict[tuple[str, Path], _core.Drive] = {}
    for system, asked_of_it in groupby(asked, key=itemgetter(0)):
        built = _Built(system, drives)
        # A point and its load line stay together: they lie on one curve.
        for _, points in groupby((point for _, point in asked_of_it), key=lambda point: point.streams):
            tasks.append(partial(_of_streams, built, list(points), suite, explain, curve))

    def tell(done: int, new: Mapping[int, _Answer]) -> None:
        if listen is not None:
            listen(done, len(tasks), [result for results, _ in new.values() for result in results])

    done = in_order(tasks, threads, tell)
    refusals = [refusal for _, refused in done for refusal in refused]
    if refusals and len(refusals) == len(asked):
        raise refusals[0]
    return [result for results, _ in done for result in results]


_Answer = tuple[list[Result], list[InputError]]


class _Built:
    """A system that is built by the first thread that asks for it."""

    def __init__(self, system: System, drives: dict[tuple[str, Path], _core.Drive]) -> None:
        self.system = system
        self._drives = drives
        self._lock = Lock()
        self._built: _core.System | None = None

    def get(self) -> _core.System:
        """The system, ready to be solved. Raises InputError as `System.build`, each time."""
        with self._lock:
            self._built = self._built or self.system.build(self._drives)
            return self._built


def _of_streams(
    built: _Built, points: Sequence[Point], suite: str | None, explain: bool, curve: bool, stop: Event
) -> _Answer:
    results: list[Result] = []
    refusals: list[InputError] = []
    asking: _Asking | None = None
    for point in points:
        if stop.is_set():
            raise CancelledError
        try:
            asking = asking or _Asking(built, suite, explain, curve)
            results += asking.rows(point)
        except InputError as refusal:
            refusals.append(refusal)
            results.append(refused_row(built.system, point, suite, "solved", refusal))
    return results, refusals


class _Asking:
    """One built system, asked point by point."""

    def __init__(self, built: _Built, suite: str | None, explain: bool, curve: bool) -> None:
        self._system = built.system
        self._built = built.get()
        self._suite = suite
        self._explain = explain
        self._curve = curve
        self._last: tuple[tuple[Workload, ...], int, _core.Solution] | None = None

    def rows(self, point: Point) -> list[Result]:
        """The row of a plain point, or those of a search."""
        if point.best is not None:
            return best_rows(point, [self.row(probe) for probe in point.grid()])
        return [self.row(point)] if point.ramp is None else self.ramp(point)

    def row(self, point: Point) -> Result:
        """The row of a plain point."""
        found = self._solve(point, 1)
        offered = sum(stream.arrival.rate_per_s for stream in point.streams if isinstance(stream.arrival, Open))
        error = None
        if found.at is None:
            error = (
                f"{offered:,.0f} I/Os a second are above saturation, which is at {found.saturation_per_s:,.0f}"
                f" and set by {found.bottleneck}"
            )
        total, read, write = (Flow(), Flow(), Flow()) if found.at is None else _flows(point, found.at)
        return row(
            *(self._system, point, self._suite, "solved"),
            outstanding_achieved=None if found.at is None else found.at[0] * found.at[1] / 1e9,
            total=total,
            read=read,
            write=write,
            components=dict(found.components),
            **_saturation(found),
            ended_by="error" if error else None,
            error=error,
            findings=_doubts(point, found),
            provenance={"working": list(found.working)} if self._explain else {},
        )

    def ramp(self, point: Point) -> list[Result]:
        """The rows of a ramp: at the load line, and at the next load."""
        ramp = point.ramp
        assert ramp is not None, "only ramps are searched"
        if ramp.limit.statistic != "mean":
            raise InputError(
                f"{point.name}: the solver knows means only, and {ramp.limit} limits another statistic",
                "Simulate it: --method simulate.",
            )
        if ramp.axis == "rate":
            line: LoadLine[Any, Result] = self._by_rate(point, ramp.low, ramp.high)
        else:
            line = self._by_outstanding(point, int(ramp.low), int(ramp.high))
        shown = [probe.answer for probe in line.probes if probe is line.highest or probe is line.next]
        saturation_iops = shown[0].saturation_iops if shown else line.probes[0].answer.saturation_iops
        rows = load_line_rows(point, line, saturation_iops)
        # What never saturates has no highest rate either.
        return [replace(rows[0], saturation_iops=saturation_iops), *rows[1:]]

    def _by_rate(self, point: Point, low: float, high: float) -> LoadLine[float, Result]:
        assert point.ramp is not None, "only ramps are searched"
        limit = point.ramp.limit
        found = search_rate(
            lambda load: self.row(point.at(load)),
            lambda answer: keeps(answer, limit),
            *(low, high),
            lambda answer: share(answer, limit),
            lambda answer: answer.saturation_iops if answer.error else None,
            tolerance_fraction=0.01,
        )
        kept = tuple(probe for probe in found.probes if self._curve or probe in (found.highest, found.next))
        return replace(found, probes=kept)

    def _by_outstanding(self, point: Point, low: int, high: int) -> LoadLine[int, Result]:
        """The whole curve is known, so nothing is searched for: the last load before the first that fails."""
        assert point.ramp is not None, "only ramps are searched"
        limit, each = point.ramp.limit, sum(stream.arrival.jobs for stream in point.streams)
        high = max(low, min(high, _MOST // each))
        most = min(high, max(low, _FIRST))
        while True:
            found = self._solve(point.at(most), most * each)
            kept = found.keeps(limit.of, limit.bound_ns, limit.strict, (low * each, most * each, each))
            if most == high or not all(kept[-(len(kept) // 2 + 1) :]):
                break
            # By Little's law no more than that keep the limit; of reads or writes alone, or with pauses, they may.
            least = found.saturation_per_s * limit.bound_ns / 1e9 / each
            most = int(min(high, least + 2 if least > most else _FURTHER * most))
        fails = kept.index(False) if False in kept else None
        monotone = fails is None or not any(kept[fails:])
        highest = low + (len(kept) if fails is None else fails) - 1

        at_line = Probe(highest, self.row(point.at(highest)), True) if highest >= low else None
        beyond = None if fails is None else Probe(low + fails, self._off_curve(point.at(low + fails), found), False)
        probes = [one for one in (at_line, beyond) if one is not None]
        if self._curve:
            probes += self._beside(point, low, min(high, 2 * (highest + 1)), {probe.load for probe in probes})
        return LoadLine(at_line, beyond, monotone, tuple(sorted(probes, key=lambda probe: probe.load)))

    def _beside(self, point: Point, low: int, high: int, known: set[int]) -> list[Probe[int, Result]]:
        """Doubling loads, and `high`, but those that are known."""
        assert point.ramp is not None, "only ramps are searched"
        found = self._solve(point.at(high), high * sum(stream.arrival.jobs for stream in point.streams))
        doubled = takewhile(lambda load: load < high, (low * 2**step for step in count()))
        answers = {load: self._off_curve(point.at(load), found) for load in (*doubled, high) if load not in known}
        return [Probe(load, answer, keeps(answer, point.ramp.limit)) for load, answer in answers.items()]

    def _off_curve(self, point: Point, found: _core.Solution) -> Result:
        """The row of a point that lies on the curve, its components left out."""
        at = found.point(sum(stream.outstanding for stream in point.streams))
        total, read, write = _flows(point, at)
        return row(
            *(self._system, point, self._suite, "solved"),
            outstanding_achieved=at[0] * at[1] / 1e9,
            total=total,
            read=read,
            write=write,
            **_saturation(found),
            findings=_doubts(point, found),
        )

    def _solve(self, point: Point, most: int) -> _core.Solution:
        """The last one is kept, for a point's load line mostly lies on the curve that its own load is on."""
        if self._last is not None and self._last[:2] == (point.streams, most):
            return self._last[2]
        try:
            found = self._built.solve(streams_of(point, self._built), most)
        except ValueError as error:
            said = ": ".join(map(str, error.args))
            raise InputError(f"{self._system.said}: {point.name}: {said}") from None
        self._last = point.streams, most, found
        return found


def _saturation(found: _core.Solution) -> dict[str, Any]:
    """What sets saturation, and where it is; unknown of a system that delays only, which nothing saturates."""
    if not math.isfinite(found.saturation_per_s):
        return {"bottleneck": None, "saturation_iops": None}
    return {"bottleneck": found.bottleneck, "saturation_iops": found.saturation_per_s}


def _doubts(point: Point, found: _core.Solution) -> tuple[dict[str, Any], ...]:
    if not found.uneven:
        return ()
    message = (
        "what is left of a mirror with a failed drive does the reads of both: saturation is that of these few drives,"
        " responses below it are averages over all drives"
    )
    return (finding(point, "uneven-drives", "warning", message, {}, "Give --method simulate."),)


def _flows(point: Point, at: _At) -> tuple[Flow, Flow, Flow]:
    """Total, reads and writes, by the mix of the streams: each by the share that it has outstanding, or offers."""
    iops, *responses_ns = at
    weights = [s.outstanding if isinstance(s.arrival, Closed) else s.arrival.rate_per_s for s in point.streams]
    shares: list[tuple[float, float, float]] = []
    for stream, weight in zip(point.streams, weights, strict=True):
        profile = stream.profile
        mean_bytes = sum(block.size_bytes * block.share_fraction for block in profile.block)
        shares.append((weight / sum(weights), profile.read_fraction, mean_bytes))

    def flow(part: Sequence[float], response_ns: float | None) -> Flow:
        rate = iops * sum(share * each for (share, *_), each in zip(shares, part, strict=True))
        size = sum(share * each * mean_bytes for (share, _, mean_bytes), each in zip(shares, part, strict=True))
        return Flow(iops=rate, bytes_per_s=iops * size, latency_mean_ns=response_ns)

    reads = [read for _, read, _ in shares]
    parts: Any = ([1.0] * len(shares), reads, [1 - read for read in reads])
    total, read, write = (flow(part, response) for part, response in zip(parts, responses_ns, strict=True))
    return total, read, write
