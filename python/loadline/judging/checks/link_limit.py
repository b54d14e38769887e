"""What passes a link: nothing above its ceiling after coding; near it the link is measured, not what is behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.units import short

NAME = "link-limit"

#: Rounding, and MB for MiB in one of the two.
ABOVE = 0.05
#: Protocols take up to some 15 % of a link: frames, headers, commands.
NEAR = 0.85
#: One slot of a host: PCIe 5 x16. Where links aren't told, no host carries more (assumed: the widest slot in use).
WIDEST_BYTES_PER_S = 63.0e9


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Each direction by itself, for links are full duplex; where throughput isn't told, what the load implies."""
    for subject in subjects:
        yield from ((subject, doubt) for doubt in _of_row(subject))


def _of_row(subject: Subject) -> Iterator[Doubt]:
    if not subject.measured:
        return
    setup, hosts = subject.setup, subject.row.hosts
    ceiling, said = setup.link_bytes_per_s, setup.link_said
    if ceiling is None and hosts:
        ceiling, said = hosts * WIDEST_BYTES_PER_S, "the widest slot that hosts have"
    if not ceiling:
        return
    passed = _passed(subject)
    if passed is not None:
        share = passed / ceiling
        numbers = {"bytes_per_s": passed, "link_bytes_per_s": ceiling, "share": share}
        if share > 1 + ABOVE:
            message = f"{_rate(passed)} one way are more than the link carries ({said}: {_rate(ceiling)})"
            yield Doubt("error", message, "Some cache before the link answered, or a unit is wrong.", numbers)
        elif share >= NEAR:
            message = (
                f"limited by the link ({said}: {_rate(ceiling)}), not by what is behind it: {share:.0%} of it are used"
            )
            yield Doubt("note", message, "Add links, or judge the drives by smaller requests.", numbers)
    yield from _implied(subject, ceiling, said)


def _passed(subject: Subject) -> float | None:
    """Bytes a second in the busier direction."""
    row, share = subject.row, subject.read_fraction
    parts = [flow.bytes_per_s for flow in (row.read, row.write) if flow.bytes_per_s is not None]
    if parts:
        return max(parts)
    total = row.total.bytes_per_s
    if total is None and row.total.iops is not None and subject.size_bytes is not None:
        total = row.total.iops * subject.size_bytes
    if total is None:
        return None
    return total * (0.5 if share is None else max(share, 1 - share))


def _implied(subject: Subject, ceiling: float, said: str) -> Iterator[Doubt]:
    """What outstanding I/Os of that size and response would move, by Little's law."""
    asked, mean_ns, size = subject.closed, subject.latency_ns, subject.size_bytes
    if asked is None or not mean_ns or size is None or subject.waits:
        return
    # What is known to have been outstanding moves no more than itself.
    asked = min(asked, math.ceil(subject.row.outstanding_achieved or asked))
    share = subject.read_fraction
    implied = asked * size / (mean_ns / 1e9) * (0.5 if share is None else max(share, 1 - share))
    if implied <= ceiling * (1 + ABOVE + subject.coarseness("latency_mean_ns")):
        return
    fit = ceiling * (mean_ns / 1e9) / size
    message = (
        f"{asked:,} outstanding of {short(size / 1024, 4)} KiB at {short(mean_ns / 1e6)} ms would be {_rate(implied)},"
        f" and the link carries {_rate(ceiling)} ({said}): latency is in another unit, or the depth was never reached"
        f" (about {short(fit, 2)} outstanding would fit)"
    )
    numbers = {"implied_bytes_per_s": implied, "link_bytes_per_s": ceiling, "fitting_outstanding": fit}
    yield Doubt("error", message, "Check the unit of latency, and what was really outstanding.", numbers)


def _rate(bytes_per_s: float) -> str:
    return f"{short(bytes_per_s / 1e9)} GB/s" if bytes_per_s >= 1e9 else f"{short(bytes_per_s / 1e6)} MB/s"
