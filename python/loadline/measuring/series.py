"""A point's series: what fio, the host and the device said, interval by interval, in one Parquet table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadline import _core
from loadline.host.sampler import DiskRates, Sample
from loadline.result.file import OTHER_STORE, write_bytes
from loadline.result.series import SERIES_COLUMNS, as_text


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose a series is.

    Attributes:
        repeat: number of the repetition, from 1.
        target: what was loaded, as rows name it.
        devices: names of the targets with a device, in the order of a sample's disks.
    """

    repeat: int
    target: str
    devices: Sequence[str]


def write_series(
    path: Path, intervals: Iterable[_core.Interval], samples: Iterable[Sample], began_ns: int, of: Whose
) -> None:
    """Writes the table, ordered by time.

    Raises:
        StoreError: it can't be written.
    """
    rows = [_of_io(interval, began_ns) | {"target": of.target} for interval in intervals]
    for sample in samples:
        rows.append(_of_host(sample, began_ns) | {"target": of.target})
        disks = [(name, disk) for name, disk in zip(of.devices, sample.disks, strict=True) if disk is not None]
        rows += [_of_device(sample, disk, began_ns) | {"target": name} for name, disk in disks]
    rows = [row | {"repeat": of.repeat, "target": as_text(row["target"])} for row in rows]
    rows.sort(key=lambda row: row["time_ns"])
    columns: Sequence[tuple[str, str, list[Any]]] = [
        (name, kind, [row.get(name) for row in rows]) for name, kind, _ in SERIES_COLUMNS
    ]
    write_bytes(path, _core.series_parquet(columns), OTHER_STORE)


def _of_io(interval: _core.Interval, began_ns: int) -> dict[str, Any]:
    row: dict[str, Any] = _when(interval.end_ns, interval.duration_ns, "io", began_ns)
    row["warmup"] |= int(interval.warmup)
    for name, flow in (("read", interval.read), ("write", interval.write)):
        row[f"{name}_iops"] = flow.iops
        row[f"{name}_bytes_per_s"] = flow.bytes_per_s
        row[f"{name}_latency_mean_ns"] = flow.latency_mean_ns
        row[f"{name}_latency_p99_ns"] = flow.histogram.percentile_ns(99.0)
    return row


def _of_host(sample: Sample, began_ns: int) -> dict[str, Any]:
    row = _when(sample.at_ns, sample.interval_ns, "host", began_ns)
    return row | {"cpu_fraction": sample.cpu.busy_fraction if sample.cpu else None}


def _of_device(sample: Sample, disk: DiskRates, began_ns: int) -> dict[str, Any]:
    return _when(sample.at_ns, sample.interval_ns, "device", began_ns) | {
        "read_iops": disk.reads_per_s,
        "write_iops": disk.writes_per_s,
        "read_bytes_per_s": disk.read_bytes_per_s,
        "write_bytes_per_s": disk.write_bytes_per_s,
        "read_latency_mean_ns": disk.read_await_ns,
        "write_latency_mean_ns": disk.write_await_ns,
        "queue_mean": disk.queue_mean,
        "busy_fraction": disk.busy_fraction,
    }


def _when(end_ns: int, duration_ns: int, source: str, began_ns: int) -> dict[str, Any]:
    time_ns = end_ns - began_ns
    return {"time_ns": time_ns, "duration_ns": duration_ns, "source": source, "warmup": int(time_ns <= 0)}
