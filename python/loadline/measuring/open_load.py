"""Open loads of ramps: many jobs of fio's, each with a small share of the rate, so that hardly a request is sent late.

A job sends its next request when it's due, but not before its last one has completed. Why that is so, what is estimated
of the time that late requests waited, and how far it can be trusted: docs/background/open-loads.md.
Start reading at `spread`, then `counted`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from loadline._core import Histogram
from loadline.errors import InputError
from loadline.result.figures import PERCENTILES, merged_percentile
from loadline.result.schema import Flow, Result
from loadline.result.store import Row
from loadline.workload.plan import BURST_PERIODS, Point
from loadline.workload.profile import Closed, Open, Workload

# Share of its time that a job may be busy: so many requests are late.
_BUSY = 0.05

# Above it too many are late for the estimate, and the load isn't called open.
_TOO_BUSY = 0.10

# Beyond it the estimate need not be good.
_MOST_BUSY = 0.5

# What is left of a response is taken in so many parts.
_PARTS = 256

# fio takes some more, but each job is a thread.
_MOST_JOBS = 2000

# Below so many jobs whole numbers of them can't say the rate.
_FEW_JOBS = 50

# A job is a queue with one server for its requests, of which theory knows how late they are.
_DEPTH = 1

#: So many outstanding are taken for saturation, as the field report on the EVA v.2 goes up to them.
SATURATING = 128

# Fewer than offered by more than that, and by more than the luck of arrivals: they pile up.
_MISSING = 0.02
_BEYOND_CHANCE = 4


def check(point: Point) -> None:
    """Whether a ramp over rates can be asked of a target.

    Raises:
        InputError: a profile with sequential requests, pauses, flushes or bursts.
    """
    for stream in point.streams:
        profile = stream.profile
        faults = {
            "random is below 100%: each of many jobs would go in a sequence of its own": profile.random_fraction < 1,
            "think_time: its jobs come when they are due": profile.think_time_ns > 0,
            "flush_every: each of many jobs would count its own writes": profile.flush_every > 0,
            "bursts: fio has none": isinstance(stream.arrival, Open) and stream.arrival.bursts is not None,
        }
        for fault in (fault for fault, there in faults.items() if there):
            raise InputError(
                f"{point.name}: a ramp over a rate can't be run on a target: {fault}",
                'Change the profile, or give axis = "outstanding" to its ramp. `forecast` and `simulate` answer it.',
            )


def spread(point: Point, bound_ns: int) -> Point:
    """The plain open point as streams of reads and of writes, of so many jobs that few requests are sent late.

    Args:
        bound_ns: the response that is expected at most.
    """
    streams = [part for stream in point.streams for part in _parts(stream, bound_ns)]
    per_s = min(part.arrival.rate_per_s / part.arrival.jobs for part in streams if isinstance(part.arrival, Open))
    # fio takes no fractions of a microsecond.
    burst_ns = math.ceil(BURST_PERIODS * 1e3 / per_s) * 10**6
    warmup_ns = max(point.warmup_ns, burst_ns)
    settle_ns = None if point.settle_ns is None else max(point.settle_ns, burst_ns)
    # fio ends a rated job within a warm-up of its own that is as long as its run time.
    runtime_ns = max(point.runtime_ns, 2 * warmup_ns)
    return replace(
        *(point,),
        streams=tuple(streams),
        warmup_ns=warmup_ns,
        settle_ns=settle_ns,
        runtime_ns=runtime_ns,
        precision_fraction=None,
    )


def _parts(stream: Workload, bound_ns: int) -> list[Workload]:
    arrival, profile = stream.arrival, stream.profile
    assert isinstance(arrival, Open), "only open loads are spread"
    # fio takes whole numbers a second for each job.
    each_per_s = max(1, int(min(_BUSY * 1e9 / bound_ns, arrival.rate_per_s / _FEW_JOBS)))
    each_per_s = max(each_per_s, math.ceil(arrival.rate_per_s / _MOST_JOBS))
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
        parts.append(Workload(part, Open(float(jobs * each_per_s), _DEPTH, jobs)))
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


def counted(measured: Row, asked: Point, sent: Point, saturated: Result, targets: int = 1) -> Row:
    """The row of the open point `asked`, which was measured as `sent`: responses are those of an open load.

    That a request was sent late isn't measured; by how much is estimated, see `_late_ns`, and what an open load would
    have waited instead, see `_shared`. Rates and the longest response are as measured.

    Args:
        saturated: the row of the `saturating` point, of as many targets.
        targets: how many were loaded so at once, if it is the row of all together.
    """
    row = measured.result
    arrivals = [stream.arrival for stream in sent.streams if isinstance(stream.arrival, Open)]
    offered = targets * sum(arrival.rate_per_s for arrival in arrivals)
    per_s = max(arrival.rate_per_s / arrival.jobs for arrival in arrivals)
    streams = [stream.to_json() for stream in asked.streams]
    late = _overloaded(row, offered)
    shared = 1.0 if late else _shared(row, saturated, targets)
    bins = {
        way: _waited(one, _late_share(getattr(row, way), per_s, shared)) for way, one in measured.histograms.items()
    }
    read, write = (
        _counted(flow, per_s, shared, [bins[way]] if way in bins else [])
        for way, flow in (("read", row.read), ("write", row.write))
    )
    mean_ns = _mean([read, write])
    before_ns, found = row.total.latency_mean_ns or 0.0, {}
    if mean_ns is not None:
        found = {
            "offered_per_s": offered,
            "jobs": targets * sum(arrival.jobs for arrival in arrivals),
            "per_job_per_s": per_s,
            "late_fraction": per_s * before_ns / 1e9,
            "late_mean_ns": _mean_late_ns(row, per_s),
            "queued_mean_ns": mean_ns - before_ns,
            "overloaded": late,
        }
    row = replace(
        *(row,),
        point=asked.name,
        profile=asked.profile_name,
        workload=streams[0] if len(streams) == 1 else streams,
        queue_depth=None,
        outstanding_asked=None,
        offered_per_s=offered,
        total=replace(_counted(row.total, per_s, shared, list(bins.values())), latency_mean_ns=mean_ns),
        read=read,
        write=write,
        findings=tuple(one for one in row.findings if not _of_raw(one)) + _findings(row, asked, found),
        provenance={**row.provenance, "open": found},
    )
    return Row(row, bins)


def overloaded(row: Result) -> bool:
    """Whether more was offered than was done, so that requests piled up."""
    return bool((row.provenance.get("open") or {}).get("overloaded"))


def _of_raw(one: Mapping[str, Any]) -> bool:
    """Whether it's said of the load as it was sent, not as it's counted."""
    return one.get("check") == "open-load" or "offered_per_s" in (one.get("numbers") or {})


def _counted(flow: Flow, per_s: float, shared: float, bins: Sequence[Histogram]) -> Flow:
    """The flow with the mean of an open load, and the percentiles of its histograms, if there are any."""
    if flow.latency_mean_ns is None or flow.iops is None:
        return flow
    mean_ns = flow.latency_mean_ns + shared * _late_ns(flow, per_s)
    percentiles = {name: merged_percentile(bins, percent) for name, percent in PERCENTILES.items() if bins}
    return replace(flow, latency_mean_ns=mean_ns, **percentiles)


def _late_share(flow: Flow, per_s: float, shared: float) -> float:
    """The share of requests that wait at the target for what their job waited for: by how much says `_waited`."""
    busy = min(per_s * (flow.latency_mean_ns or 0.0) / 1e9, _MOST_BUSY)
    return shared * busy / (1 - busy)


def _waited(sent: Histogram, share: float) -> Histogram:
    """Responses as if a `share` had waited at the target for what was left of another one of their job.

    That's its residual life, of which x or less is left with the chance of the integral of 1 - F up to x over the mean
    (F: the distribution of responses; Kleinrock, Queueing Systems I, 1975, 5.2). Requests that wait for the same queue
    find it as long: they are taken by the length of their responses (assumed). None gets longer than the longest.
    """
    values, counts = sent.columns()
    if not values or not share:
        return sent
    weights: dict[int, float] = defaultdict(float)
    left = _residual_ns(values, counts)
    mean_ns = sum(value * count for value, count in zip(values, counts, strict=True)) / sum(counts)
    for value, count in zip(values, counts, strict=True):
        late = min(count, share * count * value / mean_ns)
        weights[value] += count - late
        for wait_ns in left:
            weights[min(value + wait_ns, values[-1])] += late / len(left)
    ordered = sorted(weights)
    # In whole numbers whose sums are right.
    sums = [0, *map(round, accumulate(weights[value] for value in ordered))]
    return Histogram(ordered, [above - below for below, above in pairwise(sums)])


def _residual_ns(values: Sequence[int], counts: Sequence[int]) -> list[int]:
    """What is left of a response that is under way, in parts that are equally likely."""
    longer = list(accumulate(reversed(counts)))[::-1]
    ends = list(
        accumulate(more * (high - low) for more, (low, high) in zip(longer, pairwise([0, *values]), strict=True))
    )
    found = []
    for part in range(_PARTS):
        area = (part + 0.5) / _PARTS * ends[-1]
        at = bisect_left(ends, area)
        found.append(round(values[at] - (ends[at] - area) / longer[at]))
    return found


def _late_ns(flow: Flow, per_s: float) -> float:
    """How late requests are sent on average: a job is a queue of its own for them (Pollaczek and Khinchine, M/G/1)."""
    mean_s, deviation_s = (flow.latency_mean_ns or 0.0) / 1e9, (flow.latency_stddev_ns or 0.0) / 1e9
    busy = min(per_s * mean_s, _MOST_BUSY)
    return per_s * (mean_s**2 + deviation_s**2) / (2 * (1 - busy)) * 1e9


def _mean_late_ns(row: Result, per_s: float) -> float:
    late = [replace(flow, latency_mean_ns=_late_ns(flow, per_s)) for flow in (row.read, row.write) if flow.iops]
    return _mean(late) or 0.0


def _shared(row: Result, saturated: Result, targets: int) -> float:
    """How much of the wait of late requests an open load would have waited at the target, as a share.

    All of it at a single queue, which works on whether a request waits in it or before it; of k queues alike a k-th,
    for the request that holds the job up is at another one. With n outstanding at x a second, and N at X, by the laws
    of open and closed networks of k such queues x / M = n / (n + k) and X / M = N / (N + k - 1), of which M goes out.
    """
    per_s, most_per_s = row.total.iops or 0.0, saturated.total.iops or 0.0
    outstanding = per_s * (row.total.latency_mean_ns or 0.0) / 1e9 / targets
    others = SATURATING - 1
    alike = SATURATING * per_s / most_per_s if most_per_s else math.inf
    if alike >= others or not outstanding:
        return 1.0
    return min(1.0, max(0.0, (alike - outstanding) / (outstanding * (others - alike))))


def _mean(flows: list[Flow]) -> float | None:
    known = [(flow.iops, flow.latency_mean_ns) for flow in flows if flow.iops and flow.latency_mean_ns is not None]
    return sum(iops * mean for iops, mean in known) / sum(iops for iops, _ in known) if known else None


def _overloaded(row: Result, offered_per_s: float) -> bool:
    seconds = max((row.runtime_ns or 0) / 1e9, 1e-9)
    missing = offered_per_s - (row.total.iops or 0.0)
    luck = _BEYOND_CHANCE * math.sqrt(offered_per_s / seconds)
    return missing > _MISSING * offered_per_s + luck


def _findings(row: Result, asked: Point, found: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    if not found:
        return ()
    late, late_ns, queued_ns = found["late_fraction"], found["late_mean_ns"], found["queued_mean_ns"]
    numbers = {"late_fraction": round(late, 4), "late_mean_ns": round(late_ns), "queued_mean_ns": round(queued_ns)}
    severity, remedy = "note", "For exact responses ask a model: simulate."
    if found["overloaded"]:
        done, offered = row.total.iops or 0.0, found["offered_per_s"]
        message = f"{done:,.0f} of the {offered:,.0f} I/Os a second that were offered were done: the rest piled up"
    elif late > _TOO_BUSY:
        severity, remedy = "warning", "Limit a shorter response, or ramp over outstanding requests."
        message = f"not an open load: {late:.0%} of the requests were sent late, for jobs were busy"
    else:
        message = (
            f"{late:.1%} of the requests were sent late, by {late_ns / 1e6:.3g} ms in the mean; sent in time they"
            f" would have waited {queued_ns / 1e6:.3g} ms longer, which is in the responses that are told"
        )
    return (
        {
            "check": "open-load",
            "severity": severity,
            "run": row.run,
            "point": asked.name,
            "message": message,
            "numbers": numbers,
            "remedy": remedy,
        },
    )
