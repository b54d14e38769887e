"""Simulations: points on described systems, replicated and swept, and load lines by search."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean, stdev
from threading import Event
from typing import Any

from loadline import _core
from loadline.errors import InputError
from loadline.host.roots import available_bytes
from loadline.result.figures import PERCENTILES, merged, thin_percentiles
from loadline.result.schema import Flow, Result
from loadline.system.asked import Asked, check_rows, pairs, points_of, streams_of
from loadline.system.description import LITTLE_BYTES, System, load_system, unroll
from loadline.system.load_line import keeps, luck, search_outstanding, search_rate, share
from loadline.system.pool import Listener, check_listener, in_order
from loadline.system.refusal import refusal
from loadline.system.row import best_rows, busiest, finding, load_line_rows, refused_all, refused_row, row
from loadline.units import format_duration, format_percent, format_size, parse_fraction, short, whole
from loadline.workload.plan import Options, Point
from loadline.workload.profile import Closed, Open

#: I/Os of a point at most, where nobody has said how many.
MOST_IOS = 1_000_000

# Whatever somebody asks for ends some day: a day at a million I/Os a second.
_MOST_EVER = 1 << 36

_DEFAULT_PRECISION = 0.01

# Measured of two million: 0.3 kB, and as much again while tables of them grow.
_IO_BYTES = 512

# What saturates: enough for the queues of some hundred drives, for so long that what came at once at the beginning
# tells little (`oltp-db` on `dl360-g6-p410i`: 14 % too fast with 20,000 I/Os, 2 % with these); and alike whatever rate
# is asked.
_SATURATING = 4096
_SATURATING_IOS = 200_000
_SATURATING_SEED = 1

# An open load is above saturation when its rate is missed by more standard errors than chance ever gives.
_BEYOND_CHANCE = 4

# A station as busy as that has a queue whose mean takes a million services to show itself (1 / (1 - U) squared).
_BUSY = 0.999

# A simulation whose throughput and response disagree by more has left requests out.
_UNLIKE = 0.05

# A rebuild that reaches so much of its rate isn't held up: a run ends within a unit.
_REBUILT = 0.95

# `oltp-db` on `dl360-g6-p410i` is 3 % off in the first pass of destaging after the warm-up, the mean of two 0.5 %.
_PASSES = 2
_SLICE_MS = 50

#: Student's t at 97.5 % for 1, 2 ... 30 degrees of freedom.
_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)

# Of several ends the one that says most about the figures.
_ENDS = ("overloaded", "stalled", "longest", "most-ios", "precision", "ios", "runtime")


@dataclass(frozen=True, slots=True)
class Effort:
    """When a simulation knows enough: so many I/Os counted, a precision reached before that, or a point's own times."""

    ios: int = MOST_IOS
    precision_fraction: float | None = _DEFAULT_PRECISION
    replications: int = 1
    timed: bool = False


def effort(
    ios: int | None = None, until_precision: str | None = None, replications: int = 1, *, timed: bool = False
) -> Effort:
    """The effort that a user asks for; without anything 1 %, with 1,000,000 I/Os at most.

    Raises:
        InputError: two are given, a share that can't be, or numbers below 1.
    """
    ends = {"a number of I/Os": ios is not None, "a precision": until_precision is not None, "a time": timed}
    given = [end for end, is_given in ends.items() if is_given]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given", "Leave out one: either would end the simulation.")
    if ios is not None:
        whole("--ios", ios, 1, _MOST_EVER)
    whole("--replications", replications, 1, 10_000)
    if ios is not None:
        return Effort(ios, None, replications)
    if timed:
        return Effort(_MOST_EVER, None, replications, timed)
    if until_precision is None:
        return Effort(replications=replications)
    remedy = "Give a share such as 1%, from 0.001% to below 100%."
    try:
        precision = float(parse_fraction(until_precision))
    except InputError as error:
        raise InputError(f"--until-precision: {error.message}", remedy) from None
    if not 1e-5 <= precision < 1:
        raise InputError(f"--until-precision: {until_precision} can't be", remedy)
    return Effort(_MOST_EVER, precision, replications)


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
    if number or (outcome.ended != "overloaded" and not _falls_behind(point, [outcome])):
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
        highest = next(map(_iops, saturated), None)
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
    behind = ended_by != "overloaded" and _falls_behind(point, outcomes)
    if behind:
        ended_by = "overloaded"
    # What is hardly above saturation may be below one that is known to some per cent.
    if ended_by != "overloaded" or (saturated and fmean(map(_iops, saturated)) >= _offered_per_s(point)):
        saturated = ()
    if behind and not saturated:
        saturated = outcomes
    components = _weighted(saturated or outcomes, sum(outcome.runtime_ns for outcome in saturated or outcomes))
    saturation_iops = fmean(map(_iops, saturated)) if saturated else None
    error = None
    if ended_by == "overloaded":
        where = "" if saturation_iops is None else f", which is at about {short(saturation_iops)}"
        by = f" and set by {busiest(components)}" if saturated and components else ""
        error = (
            f"{short(_offered_per_s(point))} I/Os a second are above saturation{where}{by}: more and more of them wait"
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
    total, read_flow, write_flow = (Flow() if error else _flow(flows, runtime_ns) for flows in (both, read, write))
    found = row(
        *(system, point, suite, "simulated"),
        outstanding_achieved=fmean(outcome.outstanding_mean for outcome in outcomes),
        total=total,
        read=read_flow,
        write=write_flow,
        iops_ci95=None if error else _half_width(list(map(_iops, outcomes)), outcomes[0].iops_ci95),
        latency_mean_ci95_ns=(
            None if error else _half_width(list(map(_mean_ns, outcomes)), outcomes[0].latency_mean_ci95_ns)
        ),
        saturation_iops=saturation_iops,
        components=components,
        bottleneck=busiest(components),
        runtime_ns=runtime_ns,
        warmup_ns=sum(outcome.warmup_ns for outcome in outcomes),
        steady=all(outcome.steady for outcome in outcomes),
        ended_by="error" if error else ended_by,
        error=error,
        findings=(
            *_findings(point, outcomes, ended_by, work),
            *_phases(system, point, len(outcomes)),
            *([] if error else _never_at_rest(point, outcomes, components)),
        ),
        provenance={
            "seed": point.seed,
            "replications": len(outcomes),
            **_spread(outcomes if not error else ()),
            **_series(outcomes),
        },
    )
    thin = thin_percentiles(found)
    if thin is None:
        return found
    few = finding(point, "percentiles", "note", thin, {}, "Give more --ios, or leave them out.")
    return replace(found, findings=(*found.findings, few))


def _series(outcomes: Sequence[_core.Outcome]) -> dict[str, Any]:
    """Rates and mean responses over simulated time, of a simulation of a given length, warm-up and all.

    Of replications the mean.
    """
    known = [outcome.intervals for outcome in outcomes if outcome.intervals is not None]
    if not known:
        return {}
    each_ns = known[0][0]
    last = math.ceil(max(outcome.warmup_ns + outcome.runtime_ns for outcome in outcomes) / each_ns)
    series: dict[str, Any] = {"interval_ns": each_ns}
    for way, name in enumerate(("read", "write")):
        parts = list(zip(*(parts[:last] for _, parts in known), strict=True))
        ios = [sum(ios[way] for ios, _ in part) for part in parts]
        response_ns = [sum(response_ns[way] for _, response_ns in part) for part in parts]
        if any(ios):
            series[f"{name}_iops"] = [_digits(count * 1e9 / each_ns / len(known)) for count in ios]
            means = zip(response_ns, ios, strict=True)
            series[f"{name}_latency_mean_ns"] = [_digits(ns / count) if count else None for ns, count in means]
    return {"series": series}


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _offered_per_s(point: Point) -> float:
    return sum(stream.arrival.rate_per_s for stream in point.streams if isinstance(stream.arrival, Open))


def _falls_behind(point: Point, outcomes: Sequence[_core.Outcome]) -> bool:
    """An open load, above saturation by so little that the I/Os that wait are never too many for a simulation.

    Fewer are done than come, by more than the chance of arrivals (Poisson's, or what batches show of bursts), and those
    that are missing are seen to wait: a queue that grows by n holds n / 2 on average.
    """
    if not all(isinstance(stream.arrival, Open) for stream in point.streams):
        return False
    offered = _offered_per_s(point)
    counted = sum(outcome.read.ios + outcome.write.ios for outcome in outcomes)
    missing = offered - fmean(map(_iops, outcomes))
    error = max(offered / math.sqrt(counted or 1), fmean(outcome.iops_ci95 or 0.0 for outcome in outcomes) / _T_975[-1])
    waiting = fmean(outcome.outstanding_mean for outcome in outcomes)
    longest_s = max(outcome.runtime_ns for outcome in outcomes) / 1e9
    return missing > _BEYOND_CHANCE * error and waiting > missing * longest_s / 4


def _iops(outcome: _core.Outcome) -> float:
    return outcome.read.iops + outcome.write.iops


def _flow(flows: Iterable[_core.Flow], runtime_ns: int) -> Flow:
    several = list(flows)
    whole = _within_known(merged(several))
    if not runtime_ns:
        return whole
    # Replications run one after the other: their counts add up, and so do their times.
    ios, size_bytes = sum(flow.ios for flow in several), sum(flow.bytes for flow in several)
    return replace(whole, iops=ios * 1e9 / runtime_ns, bytes_per_s=size_bytes * 1e9 / runtime_ns)


def _within_known(flow: Flow) -> Flow:
    """Percentiles as far as the mean and the longest time allow: a bin's value may lie above or below all times in it.

    With that share of times up to the percentile, and all others as long as the longest, the mean must be reached.
    """
    longest_ns, mean_ns = flow.latency_max_ns, flow.latency_mean_ns
    if longest_ns is None or mean_ns is None:
        return flow
    kept = {}
    for name, percent in PERCENTILES.items():
        value_ns = getattr(flow, name)
        if value_ns is not None:
            share = percent / 100
            least_ns = round((mean_ns - (1 - share) * longest_ns) / share)
            kept[name] = min(max(value_ns, least_ns), longest_ns)
    return replace(flow, **kept)


def _weighted(outcomes: Sequence[_core.Outcome], runtime_ns: int) -> dict[str, float]:
    sums: dict[str, float] = {}
    for outcome in outcomes:
        share = outcome.runtime_ns / runtime_ns if runtime_ns else 1 / len(outcomes)
        for name, utilisation in outcome.components:
            sums[name] = sums.get(name, 0.0) + share * utilisation
    return sums


def _mean_ns(outcome: _core.Outcome) -> float:
    return _core.Flow.merge([outcome.read, outcome.write]).latency_mean_ns or 0.0


def _half_width(values: Sequence[float], of_batches: float | None) -> float | None:
    """Of the 95 % confidence interval: by the spread of replications, of a single one by its batch means."""
    if len(values) == 1:
        return of_batches
    t = _T_975[min(len(values) - 1, len(_T_975)) - 1]
    return t * stdev(values) / math.sqrt(len(values))


def _spread(outcomes: Sequence[_core.Outcome]) -> dict[str, Any]:
    """Standard errors of logarithms by the spread of replications, of what rows have no interval's column for."""
    if len(outcomes) < 2:
        return {}
    found: dict[str, float] = {}
    ways = (
        ("", lambda one: (one.read, one.write)),
        ("read_", lambda one: (one.read,)),
        ("write_", lambda one: (one.write,)),
    )
    for prefix, flows_of in ways:
        flows = [merged(flows_of(one)) for one in outcomes]
        for name in ("latency_mean_ns", *PERCENTILES) if prefix else PERCENTILES:
            values = [getattr(flow, name) for flow in flows]
            if all(values):
                found[prefix + name] = float(f"{stdev(map(math.log, values)) / math.sqrt(len(values)):.4g}")
    return {"errors": found}


def _phases(system: System, point: Point, replications: int) -> Iterable[dict[str, Any]]:
    """In order I/Os meet several drives as their spindles stand to each other, in one simulation always alike."""
    profiles = [stream.profile for stream in point.streams]
    if replications > 1 or all(profile.random_fraction > 0 for profile in profiles):
        return
    figures = {key: value for key, value, _ in system.figures()}
    writes_back = figures.get("cache.mode") == "write-back" and figures.get("cache.battery") != "failed"
    waits = not writes_back or any(profile.read_fraction > 0 for profile in profiles)
    if waits and int(figures.get("pool.drives", "1")) > 1:
        message = "drives' spindles stand to each other as the seed has them, and in order others may give another rate"
        yield finding(point, "phases", "note", message, {}, "Give --replications 8.")


def _never_at_rest(
    point: Point, outcomes: Sequence[_core.Outcome], components: Mapping[str, float]
) -> Iterable[dict[str, Any]]:
    """A queue from outside may grow for long before that is plain; if it doesn't, its mean takes as long."""
    name, half = busiest(components), _half_width(list(map(_iops, outcomes)), outcomes[0].iops_ci95)
    if name is None or half is None or not isinstance(point.streams[0].arrival, Open):
        return
    # What is rebuilt or written back keeps drives busy, too, while hosts get what they ask for.
    missed = fmean(map(_iops, outcomes)) + half < _offered_per_s(point)
    if missed and components[name] >= _BUSY:
        message = f"{name} had work all the time: the queue may still grow, and no interval knows where responses end"
        numbers = {"utilisation": components[name]}
        yield finding(point, "busy", "warning", message, numbers, "Give more --ios to see, or a lower rate.")


def _findings(point: Point, outcomes: Sequence[_core.Outcome], ended_by: str, work: Effort) -> Iterable[dict[str, Any]]:
    if ended_by == "most-ios" and work.precision_fraction is not None:
        message = (
            f"{format_percent(work.precision_fraction)} was not reached within {work.ios:,} I/Os; see the intervals"
        )
        if any(stream.profile.random_fraction == 0.0 for stream in point.streams):
            message += "; streams come to slower zones of the drives as they go on, see fewer --ios"
        yield finding(point, "precision", "note", message, {}, "Give --until-precision, or a number of --ios.")
    if all(outcome.iops_ci95 is None for outcome in outcomes) and len(outcomes) == 1:
        message = "too few I/Os for a confidence interval"
        yield finding(point, "precision", "warning", message, {}, "Give more --ios, or several --replications.")
    if ended_by == "longest":
        yield finding(point, "precision", "note", "the longest simulated time ended it", {}, "Ask for less.")
    kept = [share for outcome in outcomes if (share := _by_littles_law(point, outcome)) is not None]
    if kept and abs(fmean(kept) - 1) > _UNLIKE:
        message = (
            f"by Little's law {fmean(kept):.0%} of the asked number were outstanding: some requests waited longer than"
            " the simulation, or were counted though they began before it"
        )
        numbers = {"share": round(fmean(kept), 3)}
        yield finding(
            point, "littles-law", "warning", message, numbers, "Give more --ios; an SPTF queue can starve some."
        )
    if not all(outcome.steady for outcome in outcomes):
        message = "the warm-up wasn't over when counting had to begin: figures drift"
        yield finding(point, "steady", "warning", message, {}, "Give more --ios, or look at the load: is it too high?")
    counted, each = (min(one.read.ios + one.write.ios for one in outcomes), max(one.sweep_ios for one in outcomes))
    if counted < _PASSES * each:
        message = (
            f"{counted:,} I/Os were counted, and a pass of destaging over the drives takes {each:,}: how much"
            " is written back for a write swings with it, by some per cent, which intervals don't know"
        )
        numbers = {"counted": counted, "pass": each}
        yield finding(point, "destaging", "note", message, numbers, f"Give --ios {_PASSES * each} or more.")
    yield from _rebuilding(point, outcomes)


def _by_littles_law(point: Point, outcome: _core.Outcome) -> float | None:
    """Throughput times response of a closed load without pauses, as a share of the number outstanding."""
    if any(isinstance(stream.arrival, Open) or stream.profile.think_time_ns for stream in point.streams):
        return None
    return _iops(outcome) * _mean_ns(outcome) / 1e9 / sum(stream.outstanding for stream in point.streams)


def _rebuilding(point: Point, outcomes: Sequence[_core.Outcome]) -> Iterable[dict[str, Any]]:
    rates = [outcome.rebuild_bytes_per_s for outcome in outcomes if outcome.rebuild_bytes_per_s]
    if not rates:
        return
    asked, reached = (fmean(rate) for rate in zip(*rates, strict=True))
    numbers = {"asked_bytes_per_s": asked, "reached_bytes_per_s": reached}
    if reached == 0:
        message = "nothing of the failed drive was rebuilt while I/Os were counted"
        yield finding(point, "rebuild", "note", message, numbers, "Give more --ios, or raise pool.rebuild_rate.")
    elif reached < _REBUILT * asked:
        message = (
            f"the failed drive is rebuilt at {short(reached / 1e6)} MB/s, not at the {short(asked / 1e6)} MB/s asked"
            " for: drives and links leave no more beside this load"
        )
        yield finding(point, "rebuild", "note", message, numbers, "Lower pool.rebuild_rate, or the load.")
    else:
        message = f"the failed drive is rebuilt at {short(reached / 1e6)} MB/s, as asked for"
        yield finding(point, "rebuild", "note", message, numbers, "Nothing is to be done.")
