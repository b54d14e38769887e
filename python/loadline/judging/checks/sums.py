"""Parts and wholes: reads and writes add up, means lie where their parts put them, percentiles come in order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from loadline.judging.finding import Doubt, short
from loadline.judging.subject import Subject
from loadline.result.schema import Flow

NAME = "sums"

#: Of rates and throughputs.
TOLERANCE = 0.01
#: Of a mean against its parts: of tools that round each.
MEAN_TOLERANCE = 0.02
#: Of the share of reads, beside four standard deviations of chance.
SHARE = 0.02
#: fio's bins are 1.6 % wide, and a percentile is a bin.
BIN = 0.02
#: A percentile with fewer I/Os beyond it is chance.
BEYOND = 100
#: Quantiles of the normal distribution: what is made up from mean and deviation is as exact as that.
_NORMAL = {"p90": 1.2815516, "p95": 1.6448536, "p99": 2.3263479}
_MADE_UP = 0.00002
#: Figures rounded more coarsely meet that by chance.
_COARSE = 0.002

_ORDER = ("p50", "p90", "p95", "p99", "p999", "p9999", "max")
_BEYOND_FRACTION = {"p90": 0.1, "p95": 0.05, "p99": 0.01, "p999": 0.001, "p9999": 0.0001}
_FLOWS = (("", "all"), ("read_", "reads"), ("write_", "writes"))


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Every row by itself."""
    for subject in subjects:
        yield from ((subject, doubt) for part in (_totals, _share, _mean, _percentiles) for doubt in part(subject))


def _totals(subject: Subject) -> Iterator[Doubt]:
    row = subject.row
    for name, what in (("iops", "IOPS"), ("bytes_per_s", "throughput")):
        total, read, write = (getattr(flow, name) for flow in (row.total, row.read, row.write))
        if total and read is not None and write is not None:
            share = (read + write) / total
            if abs(share - 1) > TOLERANCE + subject.coarseness(name, f"read_{name}", f"write_{name}"):
                message = f"{what} of reads and of writes add up to {share:.1%} of the whole"
                yield Doubt("error", message, "Check which of the three is of another load.", {f"{name}_share": share})


def _share(subject: Subject) -> Iterator[Doubt]:
    row, asked = subject.row, subject.read_fraction
    total = row.total.iops or ((row.read.iops or 0.0) + (row.write.iops or 0.0))
    if asked is None or not total or row.read.iops is None:
        return
    share = row.read.iops / total
    ios = subject.ios or 10_000.0
    allowed = SHARE + 4 * math.sqrt(max(asked * (1 - asked), 0.0) / max(ios, 1.0))
    if abs(share - asked) > allowed + subject.coarseness("iops", "read_iops"):
        message = f"{share:.0%} of the I/Os are reads, and {asked:.0%} were asked for"
        yield Doubt("warning", message, "Check the mix of the job.", {"read_share": share, "asked_share": asked})


def _mean(subject: Subject) -> Iterator[Doubt]:
    row = subject.row
    total, read, write = (flow.latency_mean_ns for flow in (row.total, row.read, row.write))
    if not total or not read or not write:
        return
    rounding = subject.coarseness("latency_mean_ns", "read_latency_mean_ns", "write_latency_mean_ns")
    allowed = MEAN_TOLERANCE + rounding
    share = subject.read_fraction
    if row.read.iops is not None and row.write.iops and row.read.iops + row.write.iops > 0:
        share = row.read.iops / (row.read.iops + row.write.iops)
    numbers = {"latency_mean_ns": total, "read_latency_mean_ns": read, "write_latency_mean_ns": write}
    if not min(read, write) * (1 - allowed) <= total <= max(read, write) * (1 + allowed):
        message = "the mean latency of all doesn't lie between those of reads and of writes"
        yield Doubt("error", message, "Check which of the three is of another load.", numbers)
    elif share is not None and 0 < share < 1:
        weighted = share * read + (1 - share) * write
        if abs(total / weighted - 1) > allowed:
            plain = abs(2 * total / (read + write) - 1) <= allowed
            why = ": it's the plain mean of the two" if plain else ""
            message = (
                f"the mean latency of all is {short(total / 1e6, 4)} ms, and those of reads and writes weighted by I/Os"
                f" give {short(weighted / 1e6, 4)} ms{why}"
            )
            yield Doubt("warning", message, "Weight means by I/Os.", {**numbers, "weighted_ns": weighted})


def _percentiles(subject: Subject) -> Iterator[Doubt]:
    thin = set()
    for prefix, of in _FLOWS:
        flow: Flow = getattr(subject.row, prefix.rstrip("_") or "total")
        known = [(name, value) for name in _ORDER if (value := getattr(flow, f"latency_{name}_ns")) is not None]
        for (low, below), (high, above) in pairwise(known):
            if below > above * (1 + BIN) + 1:
                message = f"{low} of {of} ({short(below / 1e6, 4)} ms) is above its {high} ({short(above / 1e6, 4)} ms)"
                numbers = {f"{low}_ns": below, f"{high}_ns": above}
                yield Doubt("error", message, "Percentiles were averaged or mixed up: ask for histograms.", numbers)
                break
        mean, most = flow.latency_mean_ns, flow.latency_max_ns
        if mean and most is not None and mean > most * (1 + BIN) + 1:
            message = f"the mean latency of {of} is above its maximum"
            yield Doubt("error", message, "Check the units of both.", {"mean_ns": mean, "max_ns": most})
        yield from _made_up(subject, flow, prefix, of)
        if flow.iops and subject.row.runtime_ns and not subject.row.quick and subject.measured:
            ios = flow.iops * subject.row.runtime_ns / 1e9
            thin |= {name for name, _ in known if name != "max" and ios * _BEYOND_FRACTION.get(name, 1) < BEYOND}
    if thin:
        least = min(thin, key=_ORDER.index)
        message = f"fewer than {BEYOND} I/Os lie beyond percentiles from {_percent(least)} on: they are chance"
        yield Doubt("note", message, "Run longer, or leave them out.")


def _percent(name: str) -> str:
    digits = name.removeprefix("p")
    return f"p{digits[:2]}.{digits[2:]}" if len(digits) > 2 else name


def _made_up(subject: Subject, flow: Flow, prefix: str, of: str) -> Iterator[Doubt]:
    mean, stddev = flow.latency_mean_ns, flow.latency_stddev_ns
    if not mean or not stddev or not subject.measured:
        return
    for name, quantile in _NORMAL.items():
        value = getattr(flow, f"latency_{name}_ns")
        if not value:
            continue
        normal = mean + quantile * stddev
        if abs(value / normal - 1) > 2 * _COARSE:
            continue
        # Of rounded figures chance makes it too, so a coarse one proves nothing.
        figures = (f"latency_{name}_ns", "latency_mean_ns", "latency_stddev_ns")
        rounding = subject.coarseness(*(prefix + figure for figure in figures))
        if rounding < _COARSE and abs(value / normal - 1) <= _MADE_UP + rounding:
            message = f"{name} of {of} is mean + {quantile:.3f} x standard deviation: computed, not counted"
            numbers = {f"{name}_ns": value, "mean_ns": mean, "stddev_ns": stddev}
            yield Doubt(
                "warning", message, "Response times aren't normal: ask for percentiles of a histogram.", numbers
            )
