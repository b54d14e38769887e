"""What isn't there, and what can't be judged without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject

NAME = "missing"


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Rows that happened; models say what they were asked."""
    for subject in subjects:
        if subject.measured and subject.row.error is None:
            lacks = list(_lacks(subject))
            if lacks:
                what = "; ".join(f"no {name}, so {consequence}" for name, consequence in lacks)
                remedy = "Ask the source; say it with --workload or --tag."
                yield subject, Doubt("note", what, remedy, {"missing": len(lacks)})


def _lacks(subject: Subject) -> Iterator[tuple[str, str]]:
    row = subject.row
    if all(flow.iops is None and flow.bytes_per_s is None for flow in (row.total, row.read, row.write)):
        yield "rate or throughput", "there is nothing to judge"
        return
    known = [subject.latency_ns, row.read.latency_mean_ns, row.write.latency_mean_ns]
    if not any(known):
        yield "latency above 0" if 0 in known else "latency", "the rate says nothing of what users would feel"
    if subject.closed is None and row.offered_per_s is None:
        yield "number outstanding", "Little's law can't be applied"
    if subject.size_bytes is None and not subject.sizes:
        yield "block size", "rate and throughput can't be compared"
    if row.runtime_ns is None:
        yield "duration", "nobody can tell whether it was steady"
