"""Parts and wholes: reads and writes add up, and means lie where their parts put them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.units import short

NAME = "sums"

#: Of rates and throughputs.
TOLERANCE = 0.01
#: Of a mean against its parts: of tools that round each.
MEAN_TOLERANCE = 0.02
#: Of the share of reads, beside four standard deviations of chance.
SHARE = 0.02


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Every row by itself."""
    for subject in subjects:
        yield from ((subject, doubt) for part in (_totals, _share, _mean) for doubt in part(subject))


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
