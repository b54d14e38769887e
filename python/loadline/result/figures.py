"""The schema's figures out of the core's: rates, moments, and percentiles of merged histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from loadline import _core
from loadline.result.schema import Flow

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


def merged(flows: Sequence[_core.Flow]) -> Flow:
    """Flows that ran side by side as one: rates added, means weighted, histograms merged; unknown of none.

    A percentile that lies beyond the histogram (17 s) is unknown.
    """
    if not flows:
        return Flow()
    whole = _core.Flow.merge(flows)
    percentiles = {name: _known(whole.histogram.percentile_ns(percent)) for name, percent in PERCENTILES.items()}
    plain = {item.name: getattr(whole, item.name) for item in fields(Flow) if item.name not in percentiles}
    return Flow(**plain, **percentiles)


def _known(percentile_ns: int | None) -> int | None:
    return None if percentile_ns is None or percentile_ns >= _LAST_BIN_NS else percentile_ns
