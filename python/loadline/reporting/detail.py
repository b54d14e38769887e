"""A point from near by: its series, thinned for the eye, and the distribution of its latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from glob import escape
from typing import Any

from loadline.reporting.question import connect
from loadline.result.repeats import histograms_in
from loadline.result.schema import Result
from loadline.result.series import as_text
from loadline.result.store import Run

# A line of more dots is no clearer; all points together have so many that a page of them stays small.
_MOST_DOTS, _LEAST_DOTS, _ALL_DOTS = 120, 24, 6000

#: Percentiles of a drawn distribution; beyond the last that has this many I/Os behind it nothing is claimed.
_PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 99.995, 99.999)
_BEHIND = 10


@dataclass(frozen=True, slots=True)
class Detail:
    """What is known of a point beyond its row.

    Attributes:
        io: a dot an interval, from `from_s` to `s` (seconds from the start of the measured time): rates, and mean
            latencies in ms.
        host, device: the same with `cpu` or `busy` as shares.
        warmup_s: seconds of warm-up, before 0.
        lag_s: by how many seconds the host's clock was found behind; `host` is put back by so many.
        percentiles: `direction`, `percent`, `ms`.
    """

    io: Sequence[Mapping[str, Any]] = ()
    host: Sequence[Mapping[str, Any]] = ()
    device: Sequence[Mapping[str, Any]] = ()
    warmup_s: float = 0.0
    percentiles: Sequence[Mapping[str, Any]] = field(default=())
    lag_s: float = 0.0


_KEYS = ("run", "point", "repeat", "target", "source")

# Means are weighted: of latencies by I/Os, of rates and shares by time.
_SERIES = """
with bounds as (
    select run, point, repeat, target, min(time_ns - duration_ns) as low, greatest(max(time_ns) - low, 1) as span
    from series group by all
), dots as (
    select series.*, least(((time_ns - low) * $dots) // span, $dots - 1) as dot
    from series join bounds on series.run = bounds.run and series.point = bounds.point
    and series.repeat is not distinct from bounds.repeat and series.target is not distinct from bounds.target
)
select
    run, point, repeat, target, source, min(time_ns - duration_ns) / 1e9 as from_s, max(time_ns) / 1e9 as s,
    sum(read_iops * duration_ns) / sum(duration_ns) as read_iops,
    sum(write_iops * duration_ns) / sum(duration_ns) as write_iops,
    sum(read_latency_mean_ns * read_iops * duration_ns) / nullif(sum(read_iops * duration_ns), 0) / 1e6 as read_ms,
    sum(write_latency_mean_ns * write_iops * duration_ns) / nullif(sum(write_iops * duration_ns), 0) / 1e6 as write_ms,
    sum(cpu_fraction * duration_ns) / sum(duration_ns) as cpu,
    sum(busy_fraction * duration_ns) / sum(duration_ns) as busy
from dots group by run, point, repeat, target, source, dot order by run, point, repeat, target, source, s
"""


def details(runs: Sequence[Run], results: Sequence[Result]) -> list[Detail]:
    """What is known beyond each of the rows; of a model's row the percentiles of its columns, and its own series."""
    series: dict[tuple[str, str, int, str | None, str], list[dict[str, Any]]] = {}
    if runs:
        dots = max(_LEAST_DOTS, min(_MOST_DOTS, _ALL_DOTS // max(1, len(results))))
        connection = connect([escape(str(run.path)) for run in runs])
        relation = connection.sql(_SERIES, params={"dots": dots})
        names = relation.columns
        for values in relation.fetchall():
            dot = dict(zip(names, values, strict=True))
            run, point, repeat, target, source = (dot.pop(name) for name in _KEYS)
            # Runs of before there were repetitions don't name them, nor the target.
            series.setdefault((run, point, repeat or 1, target, source), []).append(
                {name: _short(value) for name, value in dot.items()}
            )
        connection.close()
    histograms = histograms_in(runs)
    found = []
    for row in results:
        # That of a model's row is the sum over its replications.
        warm = (row.warmup_ns or 0) / (row.provenance.get("replications") or 1) / 1e9
        io, host, device = (_of(series, row, source) for source in ("io", "host", "device"))
        io = io or _simulated(row)
        lag = _lag(row)
        host = [{**dot, "from_s": dot["from_s"] - lag, "s": dot["s"] - lag} for dot in host]
        found.append(Detail(io, host, device, warm, _percentiles(row, histograms(row)), lag))
    return found


def _simulated(row: Result) -> list[dict[str, Any]]:
    """A dot for each interval of a simulation of a given length, which has them in its provenance."""
    series = row.provenance.get("series") or {}
    each_s = (series.get("interval_ns") or 0) / 1e9
    warm_s = (row.warmup_ns or 0) / (row.provenance.get("replications") or 1) / 1e9
    dots: list[dict[str, Any]] = []
    for way in ("read", "write"):
        rates, means = series.get(f"{way}_iops") or (), series.get(f"{way}_latency_mean_ns") or ()
        for number, (rate, mean_ns) in enumerate(zip(rates, means, strict=False)):
            if number == len(dots):
                dots.append({"from_s": number * each_s - warm_s, "s": (number + 1) * each_s - warm_s})
            dots[number] |= {f"{way}_iops": rate, f"{way}_ms": None if mean_ns is None else mean_ns / 1e6}
    return dots


def _of(series: Mapping[tuple[str, str, int, str | None, str], list[Any]], row: Result, source: str) -> list[Any]:
    """A source's dots for a row; of several targets at once the host is that of all together."""
    targets = [as_text(row.target), *(["*"] if source == "host" else []), None]
    found = (series.get((row.run, row.point, row.repeat, target, source)) for target in targets)
    return next((dots for dots in found if dots), [])


def _lag(result: Result) -> float:
    """What the audit found of the clocks of the rate's and of the CPU's series."""
    found = (one.get("numbers") or {} for one in result.findings if one.get("check") == "clock")
    return float(next(found, {}).get("lag_s") or 0.0)


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _percentiles(result: Result, histograms: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for direction, histogram in histograms.items():
        for percent in _PERCENTILES:
            if histogram.count * (100 - percent) / 100 >= _BEHIND:
                found.append(
                    {"direction": f"{direction}s", "percent": percent, "ms": histogram.percentile_ns(percent) / 1e6}
                )
    if found:
        return found
    columns = {50: "p50", 90: "p90", 95: "p95", 99: "p99", 99.9: "p999", 99.99: "p9999"}
    for direction in ("read", "write"):
        flow = getattr(result, direction)
        for percent, name in columns.items():
            value = getattr(flow, f"latency_{name}_ns")
            if value is not None:
                found.append({"direction": f"{direction}s", "percent": percent, "ms": value / 1e6})
    return found
