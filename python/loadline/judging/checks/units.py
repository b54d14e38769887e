"""Throughput is rate times size. Where it isn't, some factor of a unit often explains it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.units import short

NAME = "units"

#: Up to there roundings explain it.
TOLERANCE = 0.02
#: Of a mix of sizes: which of them came is chance.
MIX_TOLERANCE = 0.04
#: Standard errors that are put down to it, where the number of I/Os is known.
SURE = 4.0
#: Beyond, it's no rounding whatever was averaged.
GRAVE = 0.1
#: Standard deviation over mean: beyond, no response time of storage is known to lie.
SPREAD = 20.0

_BINARY = {"KiB/s": 1.024, "MiB/s": 1.024**2, "GiB/s": 1.024**3}
_FACTORS = {
    "bits, not bytes": 1 / 8,
    "bytes, not bits": 8.0,
    "a thousand times smaller": 1 / 1000,
    "a thousand times larger": 1000.0,
    "1,024 times smaller": 1 / 1024,
    "1,024 times larger": 1024.0,
}


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Throughput of reads, of writes and of both against rate times size; deviations against means."""
    for subject in subjects:
        yield from ((subject, doubt) for doubt in (*_throughput(subject), *_deviation(subject)))


def _throughput(subject: Subject) -> Iterator[Doubt]:
    if subject.size_bytes is None:
        return
    tolerance = 0.0
    if subject.closed and subject.ios:
        # fio counts the bytes, but not the number, of I/Os that are under way when a warm-up ends.
        tolerance = subject.closed / subject.ios
    # What loadline measured or computed has no source whose units could be others.
    named = subject.row.origin == "imported"
    for prefix, flow in (("", subject.row.total), ("read_", subject.row.read), ("write_", subject.row.write)):
        if not flow.iops or not flow.bytes_per_s:
            continue
        expected = flow.iops * subject.size_bytes
        share = flow.bytes_per_s / expected
        chance = _chance(subject, flow.iops)
        # Throughput is the sum of what I/Os carry: of a mix the mean size is only expected.
        of_sizes = TOLERANCE if len(subject.sizes) == 1 else max(MIX_TOLERANCE, TOLERANCE + chance)
        allowed = of_sizes + tolerance + subject.coarseness(f"{prefix}iops", f"{prefix}bytes_per_s")
        hidden = named and abs(share - 1) > chance and _binary_fits_better(share, len(subject.sizes))
        if abs(share - 1) <= allowed and not hidden:
            continue
        numbers = {"bytes_per_s": flow.bytes_per_s, "iops_times_size_bytes_per_s": expected, "share": share}
        of = {"": "", "read_": " of reads", "write_": " of writes"}[prefix]
        unit = next((unit for unit, factor in _BINARY.items() if abs(share * factor - 1) <= allowed / 2), None)
        if unit and named:
            remedy = f"Import the column as {unit}: --map 'COLUMN={prefix}bytes_per_s:{unit}'."
            yield Doubt(
                "note",
                f"{unit.replace('i', '')} of the source are {unit}: with them throughput is IOPS x size",
                remedy,
                numbers,
            )
            return
        factor = next((said for said, factor in _FACTORS.items() if abs(share * factor - 1) <= 2 * allowed), None)
        sizes, mean_bytes = [size for size, _ in subject.sizes], flow.bytes_per_s / flow.iops
        if not factor and min(sizes) < mean_bytes < max(sizes):
            yield Doubt(
                "warning",
                f"I/Os{of} have {short(mean_bytes, 6)} bytes on average, {short(subject.size_bytes, 6)} in the"
                " asked mix",
                "Check the mix. Without norandommap fio cuts random blocks where used ones begin.",
                numbers,
            )
            return
        why = f": its unit seems to be {factor}" if factor and named else ""
        yield Doubt(
            "error" if abs(share - 1) > GRAVE else "warning",
            f"throughput{of} is {short(share)} x IOPS x size ({short(subject.size_bytes, 6)} bytes){why}",
            "Check the units of throughput and of the block size." if named else "Look at what its raw output counts.",
            numbers,
        )
        return


def _chance(subject: Subject, iops: float) -> float:
    """By how much the mean size of so many I/Os may be off by which sizes of the mix came, as a share."""
    if not subject.row.runtime_ns or not subject.size_bytes:
        return 0.0
    whole = sum(share for _, share in subject.sizes)
    mean = subject.size_bytes / whole
    spread = sum(share * (size / mean - 1) ** 2 for size, share in subject.sizes) / whole
    return SURE * math.sqrt(max(0.0, spread) / max(1.0, iops * subject.row.runtime_ns / 1e9))


def _binary_fits_better(share: float, sizes: int) -> bool:
    """Within a mix's tolerance a binary unit may hide: 1.024 squared is 4.9 % off."""
    return sizes > 1 and any(abs(share * factor - 1) < abs(share - 1) / 4 for factor in _BINARY.values())


def _deviation(subject: Subject) -> Iterator[Doubt]:
    total = subject.row.total
    mean_ns, stddev_ns = total.latency_mean_ns, total.latency_stddev_ns
    if not mean_ns or not stddev_ns or not subject.measured:
        return
    spread = stddev_ns / mean_ns
    # With its longest response known, a deviation that fits is a fact, however large.
    if spread > SPREAD and not (total.latency_max_ns and stddev_ns**2 <= mean_ns * total.latency_max_ns):
        message = f"the standard deviation of latency is {spread:,.0f} x its mean, so it has no plausible unit"
        yield Doubt("warning", message, "Ask for its unit, or leave it out.", {"stddev_over_mean": spread})
