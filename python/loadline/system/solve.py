"""Solutions: points on described systems, computed by queueing theory, and load lines read off their curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from itertools import count, groupby, takewhile
from operator import itemgetter
from pathlib import Path
from threading import Event, Lock
from typing import Any, TypeVar

from loadline import _core
from loadline.errors import InputError
from loadline.result.schema import Flow, Result
from loadline.system.asked import Asked, check_rows, pairs, points_of, streams_of
from loadline.system.description import Shared, System, load_system, unroll
from loadline.system.doubts import paces
from loadline.system.load_line import LoadLine, Probe, keeps, limited_response_ns, search_rate, share
from loadline.system.pool import Listener, check_listener, in_order
from loadline.system.refusal import refusal
from loadline.system.row import best_rows, finding, load_line_rows, refused_all, refused_row, row
from loadline.units import short
from loadline.workload.model import ModelStream
from loadline.workload.plan import Options, Point
from loadline.workload.profile import Closed, Open

T = TypeVar("T")

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
    check_listener(listen)
    tasks: list[Callable[[Event], _Answer]] = []
    loads: list[Hashable] = []
    shared = Shared()
    for number, (system, asked_of_it) in enumerate(groupby(asked, key=itemgetter(0))):
        built = _Built(system, shared)
        # Points of one load, however much of it, and its load line lie on one curve, which one thread finds.
        for load, points in groupby((point for _, point in asked_of_it), key=_load):
            tasks.append(partial(_of_one_load, built, list(points), suite, explain, curve))
            loads.append((number, load))

    total = len(tasks)

    def tell(done: int, new: Mapping[int, _Answer]) -> None:
        if listen is not None:
            listen(done, total, [result for results, _ in new.values() for result in results])

    done = in_order(tasks, threads, tell)
    refusals = [one for _, refused in done for one in refused]
    if refusals and len(refusals) == len(asked):
        raise refused_all(suite, refusals)
    answered = zip(loads, done, strict=True)
    return _with_one_saturation([(load, result) for load, (results, _) in answered for result in results])


def _with_one_saturation(answered: Sequence[tuple[Hashable, Result]]) -> list[Result]:
    """The rows, of which all that ask for one load on one system, for however much of it, have one saturation.

    What streams do at most is looked for at few numbers outstanding; a row with another number may do more.
    """
    most: dict[Hashable, tuple[float, str | None]] = {}
    for load, result in answered:
        if result.saturation_iops is not None:
            reached = max(result.saturation_iops, result.total.iops or 0.0)
            if reached > most.get(load, (0.0, None))[0]:
                most[load] = (reached, result.bottleneck)

    def raised(load: Hashable, result: Result) -> Result:
        saturation_iops, bottleneck = most.get(load, (math.inf, None))
        if result.saturation_iops is None or result.saturation_iops >= saturation_iops:
            return result
        return replace(result, saturation_iops=saturation_iops, bottleneck=bottleneck)

    return [raised(load, result) for load, result in answered]


_Answer = tuple[list[Result], list[InputError]]


def _load(point: Point) -> Hashable:
    return tuple((stream.profile, stream.arrival.jobs) for stream in point.streams)


class _Built:
    """A system that is built by the first thread that asks for it."""

    def __init__(self, system: System, shared: Shared) -> None:
        self.system = system
        self._shared = shared
        self._lock = Lock()
        self._built: _core.System | None = None

    def get(self) -> _core.System:
        """The system, ready to be solved. Raises InputError as `System.build`, each time."""
        with self._lock:
            self._built = self._built or self.system.build(self._shared, simulated=False)
            return self._built


def _of_one_load(
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
        except InputError as refused:
            refusals.append(refused)
            results.append(refused_row(built.system, point, suite, "solved", refused))
    return results, refusals


class _Refused(Exception):
    """The core's ValueError about streams that it can't solve."""


class _Asking:
    """One built system, asked point by point."""

    def __init__(self, built: _Built, suite: str | None, explain: bool, curve: bool) -> None:
        self._system = built.system
        self._built = built.get()
        self._suite = suite
        self._explain = explain
        self._curve = curve

    def rows(self, point: Point) -> list[Result]:
        """The row of a plain point, or those of a search, of whose probes nobody has heard who reads a refusal."""
        try:
            return self._rows(point)
        except _Refused as refused:
            raise refusal(f"{self._system.said}: {point.name}", ValueError(*refused.args)) from None

    def _rows(self, point: Point) -> list[Result]:
        if point.best is not None:
            return best_rows(point, [self.row(probe) for probe in point.grid()])
        return [self.row(point)] if point.ramp is None else self.ramp(point)

    def row(self, point: Point, found: _core.Solution | None = None) -> Result:
        """The row of a plain point, of its solution if that is known."""
        found = found or self._solve(point, 0)
        offered = sum(stream.arrival.rate_per_s for stream in point.streams if isinstance(stream.arrival, Open))
        error = None
        if found.at is None:
            # With as many digits as it takes to tell one from the other.
            several = ([short(rate, digits) for rate in (offered, found.saturation_per_s)] for digits in (3, 6, 12))
            asked, most = next((both for both in several if both[0] != both[1]), [short(offered)] * 2)
            error = f"{asked} I/Os a second are above saturation, which is at {most} and set by {found.bottleneck}"
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
            findings=_doubts(self._system, point, found),
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
        if any(
            probe.answer.error is None and limited_response_ns(probe.answer, ramp.limit) is None
            for probe in line.probes
        ):
            raise InputError(
                f"{point.name}: the solver doesn't know {ramp.limit.of} apart where drives' buffers take writes,"
                f" and {ramp.limit} limits them",
                "Simulate it: --method simulate.",
            )
        shown = [probe.answer for probe in line.probes if probe is line.highest or probe is line.next]
        saturation_iops = (shown or [line.probes[0].answer])[0].saturation_iops
        # What never saturates has no highest rate either.
        return load_line_rows(point, line, math.inf if saturation_iops is None else saturation_iops)

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
        loads = (low * each, high * each, each)
        found, next_at, kept, far = self._ask(
            point.at(high), lambda streams: self._built.load_line(streams, limit, loads, explain=self._explain)
        )
        fails = kept.index(False) if False in kept else None
        monotone = fails is None or not any(kept[fails:])
        highest = low + (len(kept) if fails is None else fails) - 1

        # How many requests pause together hangs on the load, so only of others is the solution that of the load line.
        pauses = any(stream.profile.think_time_ns for stream in point.streams)
        there = None if highest < low else self.row(point.at(highest), None if pauses else found)
        at_line = None if there is None else Probe(highest, there, True)
        beyond = None
        if next_at is not None:
            beyond = Probe(highest + 1, self._off_curve(point.at(highest + 1), found, next_at), False)
        probes = [one for one in (at_line, beyond) if one is not None]
        if self._curve:
            probes += self._beside(point, low, max(low, far // each), {probe.load for probe in probes})
            monotone &= not any(probe.holds and probe.load > highest for probe in probes)
        return LoadLine(at_line, beyond, monotone, tuple(sorted(probes, key=lambda probe: probe.load)))

    def _beside(self, point: Point, low: int, high: int, known: set[int]) -> list[Probe[int, Result]]:
        """Doubling loads, and `high`, but those that are known."""
        assert point.ramp is not None, "only ramps are searched"
        each = sum(stream.arrival.jobs for stream in point.streams)
        found = self._solve(point.at(high), high * each)
        doubled = takewhile(lambda load: load < high, (low * 2**step for step in count()))
        loads = [load for load in (*doubled, high) if load not in known]
        answers = {load: self._off_curve(point.at(load), found, found.point(load * each)) for load in loads}
        return [Probe(load, answer, keeps(answer, point.ramp.limit)) for load, answer in answers.items()]

    def _off_curve(self, point: Point, found: _core.Solution, at: _At) -> Result:
        """The row of a point that lies there on the curve, its components left out."""
        total, read, write = _flows(point, at)
        return row(
            *(self._system, point, self._suite, "solved"),
            outstanding_achieved=at[0] * at[1] / 1e9,
            total=total,
            read=read,
            write=write,
            **_saturation(found),
            findings=_doubts(self._system, point, found),
        )

    def _solve(self, point: Point, most: int) -> _core.Solution:
        return self._ask(point, lambda streams: self._built.solve(streams, most, explain=self._explain))

    def _ask(self, point: Point, ask: Callable[[list[ModelStream]], T]) -> T:
        try:
            return ask(streams_of(point, self._built))
        except ValueError as error:
            raise _Refused(*error.args) from None


def _saturation(found: _core.Solution) -> dict[str, Any]:
    """What sets saturation, and where it is; unknown of a system that delays only, which nothing saturates."""
    if not math.isfinite(found.saturation_per_s):
        return {"bottleneck": None, "saturation_iops": None}
    return {"bottleneck": found.bottleneck, "saturation_iops": found.saturation_per_s}


def _doubts(system: System, point: Point, found: _core.Solution) -> tuple[dict[str, Any], ...]:
    doubts = [*paces(system, point, "a solution has one of them", "Give --method simulate --replications 8.")]
    if found.uneven:
        message = (
            "what is left of a mirror with a failed drive does the reads of both: saturation is that of these few"
            " drives, responses below it are averages over all drives"
        )
        doubts.append(finding(point, "uneven-drives", "warning", message, {}, "Give --method simulate."))
    return tuple(doubts)


def _flows(point: Point, at: _At) -> tuple[Flow, Flow, Flow]:
    """Total, reads and writes, by the mix of the streams: each by the share that it has outstanding, or offers."""
    iops, *responses_ns = at
    weights = [s.outstanding if isinstance(s.arrival, Closed) else s.arrival.rate_per_s for s in point.streams]
    reads = read_bytes = all_bytes = 0.0
    for stream, weight in zip(point.streams, weights, strict=True):
        profile, share = stream.profile, weight / sum(weights)
        mean_bytes = share * sum(block.size_bytes * block.share_fraction for block in profile.block)
        reads += share * profile.read_fraction
        read_bytes += mean_bytes * profile.read_fraction
        all_bytes += mean_bytes
    parts = ((1.0, all_bytes), (reads, read_bytes), (1.0 - reads, all_bytes - read_bytes))
    total, read, write = (
        Flow(iops=iops * part, bytes_per_s=iops * size, latency_mean_ns=response_ns)
        for (part, size), response_ns in zip(parts, responses_ns, strict=True)
    )
    return total, read, write
