"""The schema's figures out of the core's: rates, moments, and percentiles of merged histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from loadline import _core
from loadline.result.schema import Flow, Result

#: The percentiles of a Flow, by the names of its fields.
PERCENTILES = {
    "latency_p50_ns": 50.0,
    "latency_p90_ns": 90.0,
    "latency_p95_ns": 95.0,
    "latency_p99_ns": 99.0,
    "latency_p999_ns": 99.9,
    "latency_p9999_ns": 99.99,
}


# fio's last bin, which also takes everything from 17.18 s on: a percentile in it may be any time from 16.98 s.
_LAST_BIN_NS = 17_112_760_320


def completed(flow: _core.Flow) -> int:
    """I/Os that ended in the flow's time, as its bytes and latencies count them.

    fio counts an I/O when it's sent, so that those under way when a warm-up ends aren't in its number; but it counts
    bytes and latency when it ends. Without latencies its number is all there is.
    """
    return flow.latency_samples or flow.ios


def merged(flows: Sequence[_core.Flow]) -> Flow:
    """Flows that ran side by side as one: rates added, means weighted, histograms merged; unknown of none.

    A percentile that lies beyond the histogram (17 s) is unknown.
    """
    if not flows:
        return Flow()
    whole = _core.Flow.merge(flows)
    percentiles = {
        name: known_percentile(whole.histogram.percentile_ns(percent)) for name, percent in PERCENTILES.items()
    }
    plain = {item.name: getattr(whole, item.name) for item in fields(Flow) if item.name not in percentiles}
    plain["iops"] = sum(flow.iops * completed(flow) / flow.ios for flow in flows if flow.ios)
    return Flow(**plain, **percentiles)


def joined(flows: Sequence[_core.Flow], duration_ns: int) -> Flow:
    """Flows that followed each other for that time as one: rates over all of it, the rest as of `merged`."""
    seconds = duration_ns / 1e9
    ios, size_bytes = sum(map(completed, flows)), sum(flow.bytes for flow in flows)
    return replace(merged(flows), iops=ios / seconds, bytes_per_s=size_bytes / seconds)


def known_percentile(percentile_ns: int | None) -> int | None:
    """A histogram's percentile, None where it lies beyond the last bin's beginning."""
    return None if percentile_ns is None or percentile_ns >= _LAST_BIN_NS else percentile_ns


def merged_percentile(histograms: Sequence[_core.Histogram], percent: float) -> int | None:
    """The percentile of histograms together; None of empty ones, and beyond the histogram."""
    whole = _core.Histogram()
    for histogram in histograms:
        whole = whole.merged(histogram)
    return known_percentile(whole.percentile_ns(percent))


def bins_of(histograms: Mapping[str, _core.Histogram]) -> dict[str, dict[str, list[int]]]:
    """Histograms as they are written: of each `ns`, a value for each bin that has a count, and `counts`."""
    return {name: dict(zip(("ns", "counts"), one.columns(), strict=True)) for name, one in histograms.items()}


def histograms_from(bins: Mapping[str, Any]) -> dict[str, _core.Histogram]:
    """The histograms of which these are the bins, as `bins_of` gives them.

    Raises:
        AttributeError, KeyError, TypeError, ValueError, OverflowError: they aren't.
    """
    return {name: _core.Histogram(one["ns"], one["counts"]) for name, one in bins.items()}


def pooled(flows: Sequence[Flow], histograms: Sequence[_core.Histogram]) -> Flow:
    """Flows that ran one after the other for equal times, as one.

    Rates are averaged, means weighted by their I/Os, deviations pooled, percentiles taken from the merged histograms.
    """
    known = [(flow.iops, flow) for flow in flows if flow.iops]
    if not known:
        return flows[0] if flows else Flow()
    ios = sum(iops for iops, _ in known)
    whole = _core.Histogram()
    for histogram in histograms:
        whole = whole.merged(histogram)
    mean_ns = _weighted([(iops, flow.latency_mean_ns) for iops, flow in known])
    squares = _weighted([(iops, _mean_square(flow)) for iops, flow in known])
    longest = [flow.latency_max_ns for _, flow in known if flow.latency_max_ns is not None]
    return Flow(
        iops=ios / len(flows),
        bytes_per_s=sum(flow.bytes_per_s or 0.0 for _, flow in known) / len(flows),
        latency_mean_ns=mean_ns,
        latency_stddev_ns=None if squares is None or mean_ns is None else max(0.0, squares - mean_ns**2) ** 0.5,
        latency_max_ns=max(longest) if len(longest) == len(known) else None,
        **{name: known_percentile(whole.percentile_ns(percent)) for name, percent in PERCENTILES.items()},
    )


def _mean_square(flow: Flow) -> float | None:
    if flow.latency_mean_ns is None or flow.latency_stddev_ns is None:
        return None
    return flow.latency_mean_ns**2 + flow.latency_stddev_ns**2


def _weighted(values: Sequence[tuple[float, float | None]]) -> float | None:
    kept = [(weight, value) for weight, value in values if value is not None]
    return sum(weight * value for weight, value in kept) / sum(w for w, _ in kept) if len(kept) == len(values) else None


#: A percentile with fewer I/Os beyond it is chance.
BEYOND = 100

# Of simulations, which end once means are known, only those that tables show are told.
_SHOWN = 99


def thin_percentiles(row: Result) -> str | None:
    """What is to be said of percentiles with few I/Os beyond them, in one sentence; None if there is nothing."""
    least: dict[str, float | None] = {}
    for of, flow in (("", row.total), ("reads", row.read), ("writes", row.write)):
        ios = (flow.iops or 0.0) * (row.runtime_ns or 0) / 1e9
        few = (
            percent
            for name, percent in PERCENTILES.items()
            if getattr(flow, name) is not None and ios * (100 - percent) / 100 < BEYOND
        )
        least[of] = next((one for one in few if ios and (one <= _SHOWN or row.origin != "simulated")), None)
    whose: dict[float, list[str]] = {}
    for of, percent in least.items():
        # Reads and writes are fewer than all, so what begins with the same percentile is told once.
        if percent is not None and (not of or percent != least[""]):
            whose.setdefault(percent, []).append(of)
    said = [f"{'of ' * any(of)}{' and '.join(of)}{' ' * any(of)}from p{percent:g} on" for percent, of in whose.items()]
    return f"fewer than {BEYOND} I/Os lie beyond percentiles {', '.join(said)}: they are chance" if said else None
