"""Open loads: many jobs of fio's, each with a small share of the rate, so that hardly a request is sent late.

A job sends its next request when it's due, but not before its last one has completed. Why that is so:
docs/background/open-loads.md. What is counted of them: `open_response`. Start reading at `spread`, then
`as_sent`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from loadline.errors import InputError
from loadline.workload.plan import BURST_PERIODS, Point
from loadline.workload.profile import Closed, Open, Workload

# Share of its time that a job may be busy: so many requests are late.
_BUSY = 0.05

# Of all streams and targets: each job is a thread, and fio comes to a standstill with more than 3,000 on two cores.
_MOST_JOBS = 2000

# Below so many jobs whole numbers of them can't say the rate.
_FEW_JOBS = 50

#: A job is a queue with one server for its requests, of which theory knows how late they are.
DEPTH = 1

# Requests a second that a job of a fixed rate is asked for at most, if there may be as many as that takes.
_FIXED_PER_S = 5

# What whole numbers of jobs make of a fixed rate, of reads and of writes, may be so far off, as fio's own rates may.
_RATE_ERROR = 0.01

#: So many outstanding are taken for saturation, as the field report on the EVA v.2 goes up to them.
SATURATING = 128


def check(point: Point) -> None:
    """Whether a ramp over rates can be asked of a target.

    Raises:
        InputError: a profile with sequential requests, pauses, flushes or bursts.
    """
    for stream in point.streams:
        if stream.unshared is not None:
            raise InputError(
                f"{point.name}: a ramp over a rate can't be run on a target: {stream.unshared}",
                'Change the profile, or give axis = "outstanding" to its ramp. `forecast` and `simulate` answer it.',
            )


def spread(point: Point, bound_ns: int) -> Point:
    """The plain open point of a ramp as streams of reads and of writes, of so many jobs that few requests are late.

    Args:
        bound_ns: the response that is expected at most.
    """
    streams = [part for stream in point.streams for part in _parts(stream, _each_per_s(stream, bound_ns))]
    return _sent(point, streams, twice=True)


def as_sent(point: Point, targets: int = 1) -> Point:
    """The point as fio gets it in a run of so many targets; itself, unless it's an open load that many jobs share.

    Raises:
        InputError: fio, whose jobs have whole rates, would miss its rate by more than 1 %.
    """
    return _spread_fixed(point, targets if point.target is None else 1) if point.shared else point


def _spread_fixed(point: Point, targets: int) -> Point:
    """The plain open point, of whose response nothing is known, as streams of reads and of writes, of many jobs.

    They are as slow as its warm-up allows, for the burst with which they begin is to be over after it.
    """
    streams = []
    most = _MOST_JOBS // (targets * len(point.streams))
    for stream in point.streams:
        rates = _rates(point, stream, most)
        parts = next((parts for per_s in rates if _near(parts := _parts(stream, per_s), stream)), None)
        if parts is None:
            assert isinstance(stream.arrival, Open), "only open loads are shared"
            raise InputError(
                f"{point.name}: fio can't send {stream.arrival.rate_per_s:g}/s with {stream.profile.read_fraction:.4g}"
                " of it reads: its jobs have whole rates, and would miss that by more than 1 %",
                "Change rate or read, so that both are about whole numbers a second.",
            )
        streams += parts
    return _sent(point, streams, twice=False)


def _rates(point: Point, stream: Workload, most_jobs: int) -> Iterator[int]:
    """Rates that a job may have, the best first: as slow as the warm-up allows, slower, or else faster ones."""
    assert isinstance(stream.arrival, Open), "only open loads are shared"
    least = math.ceil(stream.arrival.rate_per_s / most_jobs)
    most = max(least, 1, min(_FIXED_PER_S, int(stream.arrival.rate_per_s / _FEW_JOBS)))
    best = max(least, min(most, math.ceil(BURST_PERIODS * 1e9 / max(1, point.warmup_ns))))
    yield from range(best, least - 1, -1)
    yield from range(best + 1, 2 * most + 1)


def _near(parts: list[Workload], stream: Workload) -> bool:
    """Whether the parts offer what the stream asks for, reads and writes."""
    assert isinstance(stream.arrival, Open), "only open loads are shared"
    asked = {1.0: stream.profile.read_fraction, 0.0: 1 - stream.profile.read_fraction}
    return all(
        isinstance(part.arrival, Open)
        and abs(part.arrival.rate_per_s / (asked[part.profile.read_fraction] * stream.arrival.rate_per_s) - 1)
        <= _RATE_ERROR
        for part in parts
    )


def _sent(point: Point, streams: list[Workload], *, twice: bool) -> Point:
    """The point with these streams, and a warm-up after which the burst of their first requests is over.

    Args:
        twice: count for twice the whole warm-up at least, not only for twice what the burst takes.
    """
    per_s = min(part.arrival.rate_per_s / part.arrival.jobs for part in streams if isinstance(part.arrival, Open))
    # fio takes no fractions of a microsecond.
    burst_ns = math.ceil(BURST_PERIODS * 1e3 / per_s) * 10**6
    warmup_ns = max(point.warmup_ns, burst_ns)
    settle_ns = None if point.settle_ns is None else max(point.settle_ns, burst_ns)
    runtime_ns = max(point.runtime_ns, 2 * (warmup_ns if twice else burst_ns))
    sent = replace(
        *(point,),
        streams=tuple(streams),
        warmup_ns=warmup_ns,
        settle_ns=settle_ns,
        runtime_ns=runtime_ns,
        precision_fraction=None,
    )
    # fio ends a rated job within a warm-up of its own that is as long as its run time.
    return sent if sent.sleeps or runtime_ns > warmup_ns else replace(sent, runtime_ns=2 * warmup_ns)


def _each_per_s(stream: Workload, bound_ns: int) -> int:
    """What a job is asked for, where the response is the bound at most: fio takes whole numbers a second."""
    assert isinstance(stream.arrival, Open), "only open loads are shared"
    rate_per_s = stream.arrival.rate_per_s
    each_per_s = max(1, int(min(_BUSY * 1e9 / bound_ns, rate_per_s / _FEW_JOBS)))
    return max(each_per_s, math.ceil(rate_per_s / _MOST_JOBS))


def _parts(stream: Workload, each_per_s: int) -> list[Workload]:
    """The stream as reads and writes of their own, in jobs of that rate."""
    arrival, profile = stream.arrival, stream.profile
    assert isinstance(arrival, Open), "only open loads are shared"
    ways = [
        (name, share, read_fraction)
        for name, share, read_fraction in (
            ("reads", profile.read_fraction, 1.0),
            ("writes", 1 - profile.read_fraction, 0.0),
        )
        if share
    ]
    # Rounded together, so that a rate that can be offered stays what it is.
    left = max(len(ways), round(arrival.rate_per_s / each_per_s))
    parts: list[Workload] = []
    for name, share, read_fraction in ways:
        jobs = left if len(parts) == len(ways) - 1 else min(left - 1, max(1, round(left * share)))
        left -= jobs
        part = replace(profile, name=f"{profile.name}.{name}", read_fraction=read_fraction)
        parts.append(Workload(part, Open(float(jobs * each_per_s), DEPTH, jobs)))
    return parts


def offered(point: Point, load: float, bound_ns: int) -> float:
    """About that load of the point, as whole rates of jobs can offer it: the point at that load offers just that."""
    sent = spread(point.at(load), bound_ns)
    rates = [part.arrival.rate_per_s for part in sent.streams if isinstance(part.arrival, Open)]
    rate = sum(rates) / len(point.streams)
    # What was rounded may have jobs of another rate, and is rounded again.
    return rate if rate == load else offered(point, rate, bound_ns)


def saturating(point: Point) -> Point:
    """The plain closed point that saturates the target with the requests of an open one."""
    streams = tuple(replace(stream, arrival=Closed(SATURATING)) for stream in point.streams)
    return replace(point, name=f"{point.name}-qd{SATURATING}", streams=streams, ramp=None)
