"""The figures that are compared: where they stand in a row, and which way is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from loadline.errors import InputError
from loadline.result.figures import PERCENTILES
from loadline.result.schema import Flow, Result
from loadline.units import format_duration

#: fio's latency bins are so wide at most: what lies in one bin is one value (64 bins an octave).
BIN = 1 / 64


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of rows.

    Attributes:
        name: as in rows; `load` is that of a load line, in outstanding I/Os or I/Os a second offered.
        way: `read`, `write`, or `total` for all I/Os.
        rate: more is better; else it's a response time, and less is.
        percentile: known to a histogram's bin only.
    """

    name: str
    way: str
    rate: bool
    percentile: bool = False

    def said(self, value: float) -> str:
        """A value with its unit, for sentences."""
        if not self.rate:
            return format_duration(value)
        return f"{value / 1e6:,.4g} MB/s" if self.statistic == "bytes_per_s" else f"{value:,.6g}"

    @property
    def statistic(self) -> str:
        """Its name without the direction."""
        return self.name.removeprefix("read_").removeprefix("write_")

    def of(self, row: Result) -> float | None:
        """Its value, None where it isn't known."""
        if self.name == "load":
            return _load(row)
        if self.name == "saturation_iops":
            return row.saturation_iops
        flow: Flow = getattr(row, self.way)
        value = getattr(flow, self.statistic)
        if value is None and self.way == "total":
            return _of_one_way(row, self.name)
        return None if value is None else float(value)


def _of_one_way(row: Result, name: str) -> float | None:
    """Where all I/Os go one way its figures are those of all."""
    known = [flow for flow in (row.read, row.write) if flow.iops]
    reads = _read_fraction(row)
    if len(known) != 1 or reads not in {0.0, 1.0}:
        return None
    value = getattr(known[0], name)
    return None if value is None else float(value)


def _read_fraction(row: Result) -> float | None:
    profile = row.workload.get("profile") if isinstance(row.workload, dict) else None
    share = profile.get("read_fraction") if isinstance(profile, dict) else None
    return float(share) if isinstance(share, int | float) else None


def _load(row: Result) -> float | None:
    if not row.limit:
        return None
    return row.offered_per_s if row.offered_per_s is not None else row.outstanding_asked


def _all() -> dict[str, Figure]:
    found = [Figure("load", "total", True), Figure("saturation_iops", "total", True)]
    for prefix, way in (("", "total"), ("read_", "read"), ("write_", "write")):
        found += [Figure(f"{prefix}{name}", way, True) for name in ("iops", "bytes_per_s")]
        found += [Figure(f"{prefix}latency_mean_ns", way, False), Figure(f"{prefix}latency_max_ns", way, False)]
        found += [Figure(f"{prefix}{name}", way, False, True) for name in PERCENTILES]
    return {figure.name: figure for figure in found}


#: Every figure by its name.
FIGURES = _all()

#: Compared unless others are asked for, as far as both sides know them.
USUAL = (
    "load",
    "saturation_iops",
    "iops",
    "latency_mean_ns",
    "read_latency_mean_ns",
    "write_latency_mean_ns",
    "latency_p99_ns",
    "read_latency_p99_ns",
    "write_latency_p99_ns",
)

_SHORT = {
    "latency": "latency_mean_ns",
    "bandwidth": "bytes_per_s",
    "throughput": "bytes_per_s",
    "saturation": "saturation_iops",
}


def figure_named(text: str) -> Figure:
    """The figure of that name; short ones are `latency`, `p99`, `read_p99`, `bandwidth`.

    Raises:
        InputError: there is none.
    """
    prefix = next((way for way in ("read_", "write_") if text.startswith(way)), "")
    rest = text.removeprefix(prefix)
    rest = _SHORT.get(rest, rest)
    for name in (prefix + rest, f"{prefix}latency_{rest}_ns"):
        if name in FIGURES:
            return FIGURES[name]
    short = ("latency", "p50", "p99", "p999", "bandwidth", "iops")
    known = [*FIGURES, *_SHORT, *(way + name for way in ("", "read_", "write_") for name in short)]
    close = get_close_matches(text.lower(), known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise InputError(
        f"there is no figure {text!r}",
        f"{hint}Figures: iops, latency, p99, bandwidth, ..., or as in results bytes_per_s, latency_mean_ns,"
        " latency_p99_ns, ..., each with read_ or write_; of load lines load, saturation_iops.",
    )


def figures_of(row: Result, wanted: Sequence[str] = ()) -> list[Figure]:
    """The figures of a point to compare: those asked for, else the usual ones.

    Of a load line it's where it lies: its response is what the limit allows. The response of a best depth is that of
    another depth on each side, so only its rate counts. Where all I/Os go one way, figures of that way say nothing new.
    """
    if wanted:
        return list(dict.fromkeys(figure_named(name) for name in wanted))
    one_way = not (row.read.iops and row.write.iops)
    searched = bool(row.limit or row.provenance.get("best"))
    rate = [] if row.total.iops is not None or not _any(row, "bytes_per_s") else [FIGURES["bytes_per_s"]]
    found = [FIGURES[name] for name in USUAL]
    return rate + [
        figure
        for figure in found
        if not (searched and not figure.rate) and not (one_way and figure.way != "total" and figure.of(row) is not None
                                                       and FIGURES[figure.name.split("_", 1)[1]].of(row) is not None)
    ]  # fmt: skip


def _any(row: Result, name: str) -> bool:
    return any(getattr(flow, name) is not None for flow in (row.total, row.read, row.write))
