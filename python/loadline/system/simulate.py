"""Simulations: points on described systems, replicated and swept, and load lines by search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from threading import Event
from typing import Any

from loadline import _core
from loadline.errors import InputError
from loadline.host.roots import available_bytes
from loadline.result.figures import thin_percentiles
from loadline.result.schema import Flow, Result
from loadline.system.asked import Asked, check_rows, pairs, points_of, streams_of
from loadline.system.description import LITTLE_BYTES, System, load_system, unroll
from loadline.system.doubts import doubts
from loadline.system.effort import Effort, effort
from loadline.system.load_line import keeps, luck, search_outstanding, search_rate, share
from loadline.system.outcome import (
    falls_behind,
    flow_of,
    half_width,
    histograms_of,
    iops,
    mean_ns,
    offered_per_s,
    series_of,
    spread_of,
    utilisations,
)
from loadline.system.pool import Listener, check_listener, in_order
from loadline.system.refusal import refusal
from loadline.system.row import best_rows, busiest, finding, load_line_rows, refused_all, refused_row, row
from loadline.units import format_duration, format_size, short
from loadline.workload.plan import Options, Point
from loadline.workload.profile import Closed

# Measured of two million: 0.3 kB, and as much again while tables of them grow.
_IO_BYTES = 512

# What saturates: enough for the queues of some hundred drives, for so long that what came at once at the beginning
# tells little (`oltp-db` on `dl360-g6-p410i`: 14 % too fast with 20,000 I/Os, 2 % with these); and alike whatever rate
# is asked.
_SATURATING = 4096
_SATURATING_IOS = 200_000
_SATURATING_SEED = 1

_SLICE_MS = 50

# Of several ends the one that says most about the figures.
_ENDS = ("overloaded", "stalled", "longest", "most-ios", "precision", "ios", "runtime")


def simulate(
    system: str | Path | System,
    workload: Asked,
    *,
    seed: int = 1,
    settings: Sequence[str] = (),
    options: Options = Options(),
    ios: int | None = None,
    until_precision: str | None = None,
    replications: int = 1,
    timed: bool = False,
    threads: int | None = None,
    listen: Listener | None = None,
) -> list[Result]:
    """Simulates every point of the workload on the system, under every combination of settings.

    A seed gives the same results on any number of threads. Points of a suite are simulated until they are known well
    enough, unless `timed`. A ramp's answer is the row at its load line, with the next load, which fails,
    and the other probes as rows of role `probe`.

    Args:
        system: a name of the catalog, the path of a TOML file, or a System.
        workload: a suite's name, path or itself; a Workload, or several that run together; or points of a plan.
        seed: of suites and workloads; points of a plan keep their own.
        settings: `pool.drives=84:336:42`, `volume.layout=raid5,raid10`; several make all combinations.
        options: what to change of a suite.
        ios: I/Os to count of each point, instead of a precision.
        until_precision: a share such as `1%`, to which the 95 % confidence intervals of IOPS and mean latency shrink.
            Without either it is 1 %, and 1,000,000 I/Os at most.
        replications: independent ones, merged; then confidence intervals come from their spread.
        timed: for as long as each point is measured: its warm-up, which isn't counted, then its run time, from a system
            at rest with an empty cache. What isn't steady by then shows: `series` in a row's provenance has rates and
            mean latencies of 120 equal parts, warm-up and all. Replications tell how runs differ.
        threads: None for all cores.
        listen: hears of the progress.

    Returns:
        Rows in the order of settings, then points. A point that can't be answered is a row with an error.
        `histograms` in a row's provenance has the responses of reads and writes, counted in bins, as a run's
        histograms.json has them.

    Raises:
        InputError: nothing can be simulated: no such system or suite, a key or a value that can't be.
    """
    suite, points = points_of(workload, options, seed)
    systems = unroll(load_system(system), settings)
    check_rows(len(systems) * len(points))
    return answers(
        pairs(systems, points), suite, effort(ios, until_precision, replications, timed=timed), threads, listen
    )


#: What a task of the pool gives: outcomes of one replication, rows of a search, or why there are none.
_Part = list[_core.Outcome] | list[Result] | InputError


def answers(
    asked: Sequence[tuple[System, Point]], suite: str | None, work: Effort, threads: int | None, listen: Listener | None
) -> list[Result]:
    """The rows of every pair, in order.

    Raises:
        InputError: none of them can be answered; it says why the first can't.
    """
    check_listener(listen)
    tasks: list[Callable[[Event], _Part]] = []
    owners: list[int] = []
    for number, (one, point) in enumerate(asked):
        each: list[Callable[[Event], _Part]] = [partial(_search, one, point, suite, work)]
        if not point.searches:
            each = [partial(_answer, one, point, work, replication) for replication in range(work.replications)]
        owners += [number] * len(each)
        tasks += [partial(_or_refused, task) for task in each]
    missing, total = Counter(owners), len(tasks)
    parts: dict[int, dict[int, _Part]] = defaultdict(dict)
    rows: dict[int, list[Result] | InputError] = {}

    def tell(done: int, new: Mapping[int, _Part]) -> None:
        """Makes the rows of points whose last part has come."""
        shown: list[Result] = []
        for task, part in new.items():
            number = owners[task]
            parts[number][task] = part
            if len(parts[number]) == missing[number]:
                one, point = asked[number]
                whole = [part for _, part in sorted(parts.pop(number).items())]
                rows[number] = _assembled(one, point, suite, work, whole)
                shown += _shown(one, point, suite, rows[number])
        if listen is not None:
            listen(done, total, shown)

    in_order(tasks, threads, tell)
    refusals = [found for _, found in sorted(rows.items()) if isinstance(found, InputError)]
    if refusals and len(refusals) == len(asked):
        raise refused_all(suite, refusals)
    return [row for n, (one, point) in enumerate(asked) for row in _shown(one, point, suite, rows[n])]


def _shown(system: System, point: Point, suite: str | None, found: list[Result] | InputError) -> list[Result]:
    return [refused_row(system, point, suite, "simulated", found)] if isinstance(found, InputError) else found


def _assembled(
    system: System, point: Point, suite: str | None, work: Effort, parts: Sequence[Any]
) -> list[Result] | InputError:
    """The rows out of a point's replications, or of its search; what one of them was refused for, if one was."""
    refused = next((part for part in parts if isinstance(part, InputError)), None)
    if refused is not None:
        return refused
    if point.searches:
        found: list[Result] = parts[0]
        return found
    return [result(system, point, suite, [part[0] for part in parts], work, parts[0][1:])]


def _or_refused(task: Callable[[Event], _Part], stop: Event) -> _Part:
    try:
        return task(stop)
    except InputError as error:
        return error


@lru_cache(maxsize=4)
def _built(system: System) -> _core.System:
    return system.build()


def _answer(system: System, point: Point, work: Effort, number: int, stop: Event) -> list[_core.Outcome]:
    """What one replication found out; if the first one found the system overloaded, then what saturates it, too."""
    outcome = _replication(system, point, work, number, stop)
    if number or (outcome.ended != "overloaded" and not falls_behind(point, [outcome])):
        return [outcome]
    return [outcome, *_saturated(system, point, stop)]


def _saturated(system: System, point: Point, stop: Event) -> list[_core.Outcome]:
    """The same requests, so many outstanding that a queue never empties; of several streams the mix would change."""
    if len(point.streams) > 1:
        return []
    stream = point.streams[0]
    jobs = stream.arrival.jobs
    closed = replace(stream, arrival=Closed(-(-_SATURATING // jobs), jobs))
    at_most = replace(point, streams=(closed,), seed=_SATURATING_SEED)
    return [_replication(system, at_most, Effort(_SATURATING_IOS, None), 0, stop)]


def _check_memory(system: System, point: Point) -> None:
    """Refuses more outstanding I/Os than there is memory for: what doesn't fit would end the process."""
    outstanding = sum(stream.outstanding for stream in point.streams if isinstance(stream.arrival, Closed))
    if outstanding * _IO_BYTES <= LITTLE_BYTES:
        return
    free_bytes = available_bytes()
    if free_bytes is not None and outstanding * _IO_BYTES > free_bytes:
        raise InputError(
            f"{system.said}: {point.name}: to simulate {outstanding:,} outstanding I/Os may take"
            f" {format_size(outstanding * _IO_BYTES)} of memory, of which {format_size(free_bytes)} is free",
            "Lower queue_depth or jobs.",
        )


def _replication(system: System, point: Point, work: Effort, number: int, stop: Event) -> _core.Outcome:
    if work.timed and not point.runtime_ns:
        raise InputError(f"{point.name} has no run time", "Give it one (--runtime), or ask for no warm-up.")
    built = _built(system)
    streams = streams_of(point, built)
    _check_memory(system, point)
    try:
        simulation = built.simulate(
            streams,
            seed=point.seed or 1,
            replication=number,
            ios=work.ios,
            precision_fraction=work.precision_fraction,
            times_ns=(point.warmup_ns, point.runtime_ns) if work.timed else None,
        )
    except ValueError as error:
        raise refusal(f"{system.said}: {point.name}", error) from None
    while not simulation.work(_SLICE_MS):
        if stop.is_set():
            raise CancelledError
    try:
        return simulation.outcome()
    except ValueError as error:
        raise refusal(f"{system.said}: {point.name}", error) from None


def _search(system: System, point: Point, suite: str | None, work: Effort, stop: Event) -> list[Result]:
    saturated: Sequence[_core.Outcome] = ()

    def plain(at: Point) -> Result:
        outcomes = [_replication(system, at, work, number, stop) for number in range(work.replications)]
        return result(system, at, suite, outcomes, work, saturated)

    if point.best is not None:
        return best_rows(point, [plain(at) for at in point.grid()])
    ramp = point.ramp
    assert ramp is not None, "other points aren't searched"

    def ask(load: float) -> Result:
        return plain(point.at(load))

    def holds(answer: Result) -> bool:
        return keeps(answer, ramp.limit)

    def part(answer: Result) -> float:
        return share(answer, ramp.limit)

    if ramp.axis == "rate":
        saturated = _saturated(system, point, stop)
        highest = next(map(iops, saturated), None)
        line = search_rate(
            *(ask, holds, ramp.low, ramp.high, part),
            lambda answer: highest if answer.error is not None else None,
            expected=highest,
            error=luck,
        )
        return load_line_rows(point, line, highest)
    found = search_outstanding(ask, holds, int(ramp.low), int(ramp.high), part, luck)
    return load_line_rows(point, found)


def result(
    system: System,
    point: Point,
    suite: str | None,
    outcomes: Sequence[_core.Outcome],
    work: Effort,
    saturated: Sequence[_core.Outcome] = (),
) -> Result:
    """The row of a point out of the outcomes of its replications, and of what saturates an overloaded system."""
    runtime_ns = sum(outcome.runtime_ns for outcome in outcomes)
    ended = {outcome.ended for outcome in outcomes}
    ended_by = next(end for end in _ENDS if end in ended)
    behind = ended_by != "overloaded" and falls_behind(point, outcomes)
    if behind:
        ended_by = "overloaded"
    # What is hardly above saturation may be below one that is known to some per cent.
    if ended_by != "overloaded" or (saturated and fmean(map(iops, saturated)) >= offered_per_s(point)):
        saturated = ()
    if behind and not saturated:
        saturated = outcomes
    components = utilisations(saturated or outcomes)
    saturation_iops = fmean(map(iops, saturated)) if saturated else None
    error = None
    if ended_by == "overloaded":
        where = "" if saturation_iops is None else f", which is at about {short(saturation_iops)}"
        by = f" and set by {busiest(components)}" if saturated and components else ""
        error = (
            f"{short(offered_per_s(point))} I/Os a second are above saturation{where}{by}: more and more of them wait"
        )
    elif ended_by == "stalled":
        error = "the model waits for itself; this is a fault of loadline's"
    elif not sum(outcome.read.ios + outcome.write.ios for outcome in outcomes):
        error = f"not one I/O was counted within {format_duration(runtime_ns)} of simulated time"
        if ended_by == "longest":
            error += ", the longest there is: shorten think_time, raise the load, or give fewer --ios"
    elif not runtime_ns:
        error = "all I/Os that were counted were answered at one moment: give more --ios"
    read, write = (outcome.read for outcome in outcomes), (outcome.write for outcome in outcomes)
    both = (flow for outcome in outcomes for flow in (outcome.read, outcome.write))
    total, read_flow, write_flow = (Flow() if error else flow_of(flows, runtime_ns) for flows in (both, read, write))
    found = row(
        *(system, point, suite, "simulated"),
        outstanding_achieved=fmean(outcome.outstanding_mean for outcome in outcomes),
        total=total,
        read=read_flow,
        write=write_flow,
        iops_ci95=None if error else half_width(list(map(iops, outcomes)), outcomes[0].iops_ci95),
        latency_mean_ci95_ns=(
            None if error else half_width(list(map(mean_ns, outcomes)), outcomes[0].latency_mean_ci95_ns)
        ),
        saturation_iops=saturation_iops,
        components=components,
        bottleneck=busiest(components),
        runtime_ns=runtime_ns,
        warmup_ns=sum(outcome.warmup_ns for outcome in outcomes),
        steady=all(outcome.steady for outcome in outcomes),
        ended_by="error" if error else ended_by,
        error=error,
        findings=tuple(doubts(system, point, outcomes, ended_by, work, {} if error else components)),
        provenance={
            "seed": point.seed,
            "replications": len(outcomes),
            **spread_of(outcomes if not error else ()),
            **series_of(outcomes),
            **histograms_of(() if error else outcomes),
        },
    )
    thin = thin_percentiles(found)
    if thin is None:
        return found
    few = finding(point, "percentiles", "note", thin, {}, "Give more --ios, or leave them out.")
    return replace(found, findings=(*found.findings, few))
