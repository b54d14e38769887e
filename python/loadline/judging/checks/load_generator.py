"""Whether the load was made as asked: a host's CPU, its jobs, its queues and its rate may be the ceiling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.units import short

NAME = "load-generator"

#: Above it the host has hardly a core left for more load.
BUSY = 0.9
#: Below it a point isn't at the depth that it's named after.
REACHED = 0.8
#: A Poisson stream misses its mean by less over any measured time.
OFFERED = 0.95
#: User and system time of a job that can't do more.
JOB = 0.95


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Every measured row by itself."""
    for subject in subjects:
        if subject.measured and subject.row.error is None:
            yield from ((subject, doubt) for part in (_cpu, _depth, _rate) for doubt in part(subject))


def _cpu(subject: Subject) -> Iterator[Doubt]:
    row = subject.row
    # What serves an emulated system keeps a core busy by itself; whether it's in time is told apart.
    if row.cpu_fraction is not None and row.cpu_fraction > BUSY and not _emulated(subject):
        message = "the host's CPU was busy, so this may be the load generator's ceiling and not the target's"
        numbers = {"cpu_fraction": row.cpu_fraction}
        yield Doubt("warning", message, "Use a host with more cores, or larger blocks.", numbers)
    job = row.provenance.get("job_cpu_fraction")
    if isinstance(job, int | float) and job >= JOB:
        message = f"a job used {job:.0%} of a core: it could not send more"
        yield Doubt("warning", message, "Spread the load over more jobs.", {"job_cpu_fraction": job})


def _emulated(subject: Subject) -> bool:
    """Whether the host served an emulated system meanwhile; of several targets one is enough."""
    return bool(subject.row.system) or any(one.get("kind") == "emulated" for one in subject.facts.get("targets") or ())


def _depth(subject: Subject) -> Iterator[Doubt]:
    row, asked = subject.row, subject.closed
    if asked is None or subject.waits:
        return
    achieved = row.outstanding_achieved
    if achieved is not None and achieved < REACHED * asked:
        message = f"{short(achieved)} of the {asked:,} outstanding asked for were reached on average"
        remedy = "Check the engine (synchronous ones ignore depth), and the queues on the way."
        yield Doubt("warning", message, remedy, {"achieved": achieved, "asked": asked})
    queue = subject.setup.device_queue
    if queue is not None and queue < asked:
        message = f"the device takes {queue} I/Os at once of the {asked:,} asked for: the others wait before it"
        numbers = {"device_queue_depth": queue, "asked": asked}
        yield Doubt("note", message, "Count response from submission, or raise the queue's depth.", numbers)


def _rate(subject: Subject) -> Iterator[Doubt]:
    row = subject.row
    offered, rate = row.offered_per_s, row.total.iops
    # So many of I/Os that arrive by chance are missing in a short time, too.
    chance = 4 / math.sqrt(offered * row.runtime_ns / 1e9) if offered and row.runtime_ns else 0.0
    # Where the run has seen by itself that more was offered than could be done, it says so, and why.
    known = (row.provenance.get("open") or {}).get("overloaded")
    if known or not offered or rate is None or rate >= min(OFFERED, 1 - chance) * offered:
        return
    message = f"{short(rate, 4)} I/Os a second came of the {short(offered, 4)} offered: the load wasn't open any more"
    numbers = {"iops": rate, "offered_per_s": offered}
    yield Doubt("warning", message, "Offer less, or give the load generator more jobs and depth.", numbers)
