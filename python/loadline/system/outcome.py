"""Figures of a point out of the outcomes of its replications."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from loadline import _core
from loadline.result.figures import PERCENTILES, bins_of, merged
from loadline.result.schema import Flow
from loadline.workload.plan import Point
from loadline.workload.profile import Open

# An open load is above saturation when its rate is missed by more standard errors than chance ever gives.
_BEYOND_CHANCE = 4

#: Student's t at 97.5 % for 1, 2 ... 30 degrees of freedom.
_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def offered_per_s(point: Point) -> float:
    """What comes of itself, in I/Os a second."""
    return sum(stream.arrival.rate_per_s for stream in point.streams if isinstance(stream.arrival, Open))


def iops(outcome: _core.Outcome) -> float:
    """Reads and writes a second."""
    return outcome.read.iops + outcome.write.iops


def mean_ns(outcome: _core.Outcome) -> float:
    """The mean response of reads and writes together."""
    return _core.Flow.merge([outcome.read, outcome.write]).latency_mean_ns or 0.0


def half_width(values: Sequence[float], of_batches: float | None) -> float | None:
    """Of the 95 % confidence interval: by the spread of replications, of a single one by its batch means."""
    if len(values) == 1:
        return of_batches
    t = _T_975[min(len(values) - 1, len(_T_975)) - 1]
    return t * stdev(values) / math.sqrt(len(values))


def falls_behind(point: Point, outcomes: Sequence[_core.Outcome]) -> bool:
    """An open load, above saturation by so little that the I/Os that wait are never too many for a simulation.

    Fewer are done than come, by more than the chance of arrivals (Poisson's, or what batches show of bursts), and those
    that are missing are seen to wait: a queue that grows by n holds n / 2 on average.
    """
    if not all(isinstance(stream.arrival, Open) for stream in point.streams):
        return False
    offered = offered_per_s(point)
    counted = sum(outcome.read.ios + outcome.write.ios for outcome in outcomes)
    missing = offered - fmean(map(iops, outcomes))
    error = max(offered / math.sqrt(counted or 1), fmean(outcome.iops_ci95 or 0.0 for outcome in outcomes) / _T_975[-1])
    waiting = fmean(outcome.outstanding_mean for outcome in outcomes)
    longest_s = max(outcome.runtime_ns for outcome in outcomes) / 1e9
    return missing > _BEYOND_CHANCE * error and waiting > missing * longest_s / 4


def flow_of(flows: Iterable[_core.Flow], runtime_ns: int) -> Flow:
    """Several flows as one, over the time of all."""
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


def utilisations(outcomes: Sequence[_core.Outcome]) -> dict[str, float]:
    """Of each component, by its name, over the time of all replications."""
    runtime_ns = sum(outcome.runtime_ns for outcome in outcomes)
    sums: dict[str, float] = {}
    for outcome in outcomes:
        share = outcome.runtime_ns / runtime_ns if runtime_ns else 1 / len(outcomes)
        for name, utilisation in outcome.components:
            sums[name] = sums.get(name, 0.0) + share * utilisation
    return sums


def spread_of(outcomes: Sequence[_core.Outcome]) -> dict[str, Any]:
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


def histograms_of(outcomes: Sequence[_core.Outcome]) -> dict[str, Any]:
    """Of the responses of reads and of writes, where there are any: as in a run's folder."""
    ways = {name: _core.Flow.merge([getattr(outcome, name) for outcome in outcomes]) for name in ("read", "write")}
    known = {name: flow.histogram for name, flow in ways.items() if flow.latency_samples}
    return {"histograms": bins_of(known)} if known else {}


def series_of(outcomes: Sequence[_core.Outcome]) -> dict[str, Any]:
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
