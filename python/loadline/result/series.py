"""The columns of a point's series: what load generator, host and device said, interval by interval.

A row is one interval of one source: `io` (the load generator), `host`, or `device`. Columns that a source can't know
are NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class SeriesColumn(NamedTuple):
    """A column: its Parquet type, and what it means."""

    name: str
    type: str
    meaning: str


#: In the file's order.
SERIES_COLUMNS = (
    SeriesColumn(
        "time_ns", "int64", "end of the interval, from the start of the measured time; negative in the warm-up"
    ),
    SeriesColumn("duration_ns", "int64", "length of the interval"),
    SeriesColumn("source", "utf8", "`io`, `host` or `device`"),
    SeriesColumn("warmup", "int64", "1 in the warm-up, else 0"),
    SeriesColumn("repeat", "int64", "number of the repetition, from 1"),
    SeriesColumn("target", "utf8", "what was loaded, or whose device it is; `*` for several together"),
    SeriesColumn("read_iops", "double", "reads completed a second"),
    SeriesColumn("write_iops", "double", "writes completed a second"),
    SeriesColumn("read_bytes_per_s", "double", "bytes read a second"),
    SeriesColumn("write_bytes_per_s", "double", "bytes written a second"),
    SeriesColumn("read_latency_mean_ns", "double", "mean response of reads; for the device its await"),
    SeriesColumn("write_latency_mean_ns", "double", "mean response of writes; for the device its await"),
    SeriesColumn("read_latency_p99_ns", "int64", "99th percentile of reads in the interval"),
    SeriesColumn("write_latency_p99_ns", "int64", "99th percentile of writes in the interval"),
    SeriesColumn("queue_mean", "double", "mean I/Os in the device's queue or service"),
    SeriesColumn("cpu_fraction", "double", "CPU use of the host, 1 is all cores"),
    SeriesColumn("busy_fraction", "double", "share of time in which the device had an I/O outstanding"),
)


@dataclass(frozen=True, slots=True)
class PointSeries:
    """A point's measured time in steps of equal length, for those who judge it; warm-up left out.

    Attributes:
        step_s: length of a step.
        iops: of all I/Os, a figure a step.
        cpu: the host's CPU use as a share, at the same steps; empty where it isn't known.
        latency_ns: mean response; empty where it isn't known.
    """

    step_s: float
    iops: Sequence[float]
    cpu: Sequence[float] = ()
    latency_ns: Sequence[float] = ()


def as_text(target: str) -> str:
    """The name of a target as a series has it: what isn't UTF-8 in it is written with backslashes."""
    return target.encode("utf-8", "backslashreplace").decode()
