"""The responses of an open load, out of those of many jobs that each send one request at a time.

What is estimated of the time that late requests waited, and how far it can be trusted: docs/background/open-loads.md.
Start reading at `opened`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.measuring.open_load import DEPTH, SATURATING
from loadline.measuring.point import Measured
from loadline.result.figures import PERCENTILES, merged_percentile
from loadline.result.point_folder import Row
from loadline.result.schema import Flow, Result
from loadline.units import short
from loadline.workload.plan import Point
from loadline.workload.profile import Open

# Above it too many are late for the estimate, and the load isn't called open.
_TOO_BUSY = 0.10

# Below, nobody needs to know.
_TRIFLE = 0.001

# Beyond it the estimate need not be good.
_MOST_BUSY = 0.5

# What is left of a response is taken in so many parts.
_PARTS = 256

# A mean response that is known no better is hardly known.
_VAGUE = 0.2

# Fewer than offered by more than that, and by more than the luck of arrivals: they pile up.
_MISSING = 0.02
_BEYOND_CHANCE = 4

#: Measures a point and leaves what was kept of it in a folder.
Measure = Callable[[Point, Path], Measured]


def opened(measure: Measure, send: Callable[[Point], Point], saturated: Callable[[], Result] | None = None) -> Measure:
    """Measures points of an open load as `send` has them, and counts their responses as those of an open load.

    Those whose rate can't be shared are sent as they are, and counted so where each job has one request outstanding at
    most, all reads or all writes. Others are what they are measured as.

    Args:
        saturated: gives the row of the `saturating` point, if there's one.
    """

    def one(point: Point, folder: Path) -> Measured:
        if not point.shared and not _one_at_a_time(point):
            return measure(point, folder)
        sent = send(point) if point.shared else point
        measured = measure(sent, folder)
        most, number = saturated and saturated(), len(measured.targets) or 1
        each_most = most and replace(most, total=replace(most.total, iops=(most.total.iops or 0.0) / number))
        each = tuple(counted(row, point, sent, each_most) for row in measured.targets)
        return Measured(*counted(Row(measured.result, measured.histograms), point, sent, most, number), each)

    return one


def _one_at_a_time(point: Point) -> bool:
    """Whether `counted` takes it as it is."""
    return all(
        isinstance(stream.arrival, Open)
        and stream.arrival.queue_depth == DEPTH
        and stream.profile.read_fraction in {0, 1}
        and not (stream.profile.think_time_ns or stream.profile.flush_every)
        for stream in point.streams
    )


def counted(measured: Row, asked: Point, sent: Point, saturated: Result | None, targets: int = 1) -> Row:
    """The row of the open point `asked`, which was measured as `sent`: responses are those of an open load.

    That a request was sent late isn't measured; by how much is estimated, see `_late_ns`, and what an open load would
    have waited instead, see `_shared`. Rates and the longest response are as measured.

    Args:
        saturated: the row of the `saturating` point, of as many targets. Without it the wait of late requests counts in
            full, as the response does that's counted from when they were due.
        targets: how many were loaded so at once, if it is the row of all together.
    """
    row = measured.result
    arrivals = [stream.arrival for stream in sent.streams if isinstance(stream.arrival, Open)]
    offered = targets * sum(arrival.rate_per_s for arrival in arrivals)
    per_s = max(arrival.rate_per_s / arrival.jobs for arrival in arrivals)
    streams = [stream.to_json() for stream in asked.streams]
    wanted = [stream.arrival for stream in asked.streams if isinstance(stream.arrival, Open)]
    late = _overloaded(row, offered)
    # Of what piles up no wait has a mean: it grows for as long as it is measured.
    shared = 0.0 if late else 1.0 if saturated is None else _shared(row, saturated, targets)
    bins = {
        way: _waited(one, _late_share(getattr(row, way), per_s, shared), by_length=saturated is not None)
        for way, one in measured.histograms.items()
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
            "late_fraction": min(1.0, per_s * before_ns / 1e9),
            "late_mean_ns": None if late else _mean_late_ns(row, per_s),
            "queued_mean_ns": mean_ns - before_ns,
            "overloaded": late,
        }
    row = replace(
        *(row,),
        point=asked.name,
        profile=asked.profile_name,
        workload=streams[0] if len(streams) == 1 else streams,
        jobs=targets * sum(arrival.jobs for arrival in wanted),
        queue_depth=None,
        outstanding_asked=None,
        # By Little's law; fio's own count knows each job's one request only.
        outstanding_achieved=before_ns * (row.total.iops or 0.0) / 1e9 if mean_ns is not None else None,
        offered_per_s=targets * sum(arrival.rate_per_s for arrival in wanted),
        total=replace(_counted(row.total, per_s, shared, list(bins.values())), latency_mean_ns=mean_ns),
        read=read,
        write=write,
        findings=tuple(one for one in row.findings if not _of_raw(one))
        + _findings(row, asked, found, of_ramp=saturated is not None),
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


def _waited(sent: Histogram, share: float, *, by_length: bool) -> Histogram:
    """Responses as if a `share` had waited at the target for what was left of another one of their job.

    That's its residual life, of which x or less is left with the chance of the integral of 1 - F up to x over the mean
    (F: the distribution of responses; Kleinrock, Queueing Systems I, 1975, 5.2). Requests that wait for the same queue
    find it as long: they are taken by the length of their responses (assumed), or else by chance. None gets longer than
    the longest.
    """
    values, counts = sent.columns()
    if not values or not share:
        return sent
    weights: dict[int, float] = defaultdict(float)
    left = _residual_ns(values, counts)
    mean_ns = sum(value * count for value, count in zip(values, counts, strict=True)) / sum(counts)
    for value, count in zip(values, counts, strict=True):
        late = min(count, share * count * (value / mean_ns if by_length else 1.0))
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


def _findings(row: Result, asked: Point, found: dict[str, Any], *, of_ramp: bool) -> tuple[dict[str, Any], ...]:
    # Of jobs that died the rest didn't pile up.
    if not found or row.error is not None:
        return ()
    late, late_ns, queued_ns = found["late_fraction"], found["late_mean_ns"], found["queued_mean_ns"]
    numbers = {"late_fraction": round(late, 4), "queued_mean_ns": round(queued_ns)}
    if late_ns is not None:
        numbers["late_mean_ns"] = round(late_ns)
    severity, remedy, trifle = "note", "For exact responses ask a model: simulate.", False
    if found["overloaded"]:
        done, offered = row.total.iops or 0.0, found["offered_per_s"]
        message = f"{short(done)} of the {short(offered)} I/Os a second that were offered were done: the rest piled up"
        if not of_ramp:
            severity, remedy = "warning", "Offer less: its response grows for as long as it's measured."
    elif late > _TOO_BUSY:
        severity, remedy = "warning", "Limit a shorter response, or ramp over outstanding requests."
        if not of_ramp:
            remedy = "Give a longer --warmup, after which more jobs can share the rate; of sequences, more jobs."
        message = f"not an open load: {late:.0%} of the requests were sent late, for jobs were busy"
    else:
        trifle = max(late, queued_ns / (row.total.latency_mean_ns or math.inf)) < _TRIFLE
        message = f"{late:.1%} of the requests were sent late, by {late_ns / 1e6:.3g} ms in the mean"
        message += (
            f"; sent in time they would have waited {queued_ns / 1e6:.3g} ms longer, which is in the responses that are"
            " told"
            if of_ramp
            else "; responses are told from when they were due"
        )
    half = (row.latency_mean_ci95_ns or 0.0) / (row.total.latency_mean_ns or 1.0)
    if not of_ramp and half > _VAGUE and not found["overloaded"]:
        message += f"; the mean response is known to ±{half:.0%} only"
        severity, remedy = "warning", "Give a longer --runtime; let nothing else run meanwhile."
    if trifle and severity == "note":
        return ()
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
