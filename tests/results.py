"""Results and run folders for tests of what shows them: made up, so every value is known and no fio is needed."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from loadline._core import Histogram
from loadline.result.point_folder import begin_point, commit_point
from loadline.result.schema import Flow, Result
from loadline.result.store import Run, Store
from loadline.workload.plan import Options, make_plan
from loadline.workload.suite import load_suite

POINT = make_plan(load_suite("typical-12")[0], Options(only=("oltp-db",)), seed=1)[0]


def flow(iops: float, mean_ms: float) -> Flow:
    """8 KiB at a time; the 99th percentile is three times the mean."""
    return Flow(
        iops=iops,
        bytes_per_s=8192 * iops,
        latency_mean_ns=mean_ms * 1e6,
        latency_p50_ns=round(mean_ms * 0.8e6),
        latency_p99_ns=round(mean_ms * 3e6),
    )


def measured(point: str, iops: float = 1000.0, mean_ms: float = 2.0, **changes: Any) -> Result:
    """A row as a measurement of 70 % reads gives it."""
    row = Result(
        point=point,
        target="/dev/sdx",
        suite="s",
        profile=point,
        access_class="random",
        workload=POINT.streams[0].to_json(),
        outstanding_asked=32,
        total=flow(iops, mean_ms),
        read=flow(0.7 * iops, 0.9 * mean_ms),
        write=flow(0.3 * iops, 1.2 * mean_ms),
        cpu_fraction=0.25,
        busy_fraction=0.75,
        runtime_ns=300 * 10**9,
        warmup_ns=10 * 10**9,
        ended_by="runtime",
    )
    return dataclasses.replace(row, **changes)


def failed(point: str, error: str = "the device went away") -> Result:
    """A row without figures."""
    return Result(point=point, target="/dev/sdx", suite="s", profile=point, access_class="random", error=error)


def run_of(store: Path, results: Sequence[Result], seconds: int = 0, **document: Any) -> Run:
    """A run of those points, in a store that may hold others; each has a series of so many seconds, if any."""
    said: dict[str, Any] = {
        "suite": {"name": "s", "title": "A suite"},
        "target": {"path": "/dev/sdx", "size_bytes": 10**9},
        "points": [{**POINT.to_json(), "name": result.point} for result in results],
        "sessions": [{"started_at": "2026-01-01T00:00:00+00:00", "loadline": "0.1.0"}],
        **document,
    }
    run = Store(store).create(said["suite"]["name"], "sdx", said, datetime(2026, 1, 1))
    drawn = series(store / "series.parquet", seconds) if seconds else None
    for number, result in enumerate(results):
        folder = begin_point(run.point_path(number))
        if drawn is not None and result.error is None:
            shutil.copy(drawn, folder / "series.parquet")
        bins = {} if result.error else {"read": Histogram([10**6, 10**7], [9000, 1000])}
        commit_point(folder, dataclasses.replace(result, run=run.id), bins)
    return run


def series(path: Path, seconds: int) -> Path:
    """A Parquet file as measuring writes it: io, host and device by the second, after ten of warm-up."""
    quoted = str(path).replace("'", "''")
    duckdb.execute(
        "copy (select (s + 1) * 1000000000 as time_ns, 1000000000 as duration_ns, source, (s < 0)::bigint as warmup,"
        "  case when source = 'io' then 700 + 50.0 * sin(s / 9) end as read_iops,"
        "  case when source = 'io' then 300 + 20.0 * cos(s / 7) end as write_iops,"
        "  8192 * read_iops as read_bytes_per_s, 8192 * write_iops as write_bytes_per_s,"
        "  case when source = 'io' then 1.8e6 + 1e5 * sin(s / 5) end as read_latency_mean_ns,"
        "  case when source = 'io' then 2.4e6 + 1e5 * cos(s / 5) end as write_latency_mean_ns,"
        "  null::bigint as read_latency_p99_ns, null::bigint as write_latency_p99_ns, null::double as queue_mean,"
        "  case when source = 'host' then 0.25 end as cpu_fraction,"
        "  case when source = 'device' then 0.75 + 0.2 * sin(s / 20) end as busy_fraction"
        f" from range(-10, {seconds}) as r(s), (values ('io'), ('host'), ('device')) as v(source) order by s)"
        f" to '{quoted}' (format parquet)"
    )
    return path


def solved(point: str, components: Mapping[str, float] | None = None, **changes: Any) -> Result:
    """A row as a model gives it."""
    known = components or {"disks": 1.0, "controllers": 0.2}
    row = measured(point, origin="solved", system="array", cpu_fraction=None, busy_fraction=None, components=known)
    return dataclasses.replace(row, bottleneck=max(known, key=lambda name: known[name]), **changes)
