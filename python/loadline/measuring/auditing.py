"""Every point is audited as it's measured, with its series at hand, and a run as a whole once it's complete."""

from __future__ import annotations

from collections.abc import Sequence

from loadline import _core
from loadline.host.sampler import Sample
from loadline.judging.audit import audit
from loadline.result.point_folder import write_result
from loadline.result.schema import Result
from loadline.result.series import PointSeries
from loadline.result.store import Run


def audited(result: Result, run: Run, intervals: Sequence[_core.Interval], samples: Sequence[Sample]) -> Result:
    """The row with its findings, judged by itself."""
    series = {(result.run, result.point): series_of(intervals, samples)}
    return audit([result], {run.id: run.document}, series)[0]


def series_of(intervals: Sequence[_core.Interval], samples: Sequence[Sample]) -> PointSeries:
    """The measured time, an interval a step; the host's CPU is taken at each interval's end."""
    measured = [interval for interval in intervals if not interval.warmup]
    if not measured:
        return PointSeries(1.0, ())
    iops = [interval.read.iops + interval.write.iops for interval in measured]
    cpu = []
    taken = [sample for sample in samples if sample.cpu is not None]
    for interval in measured if taken else ():
        nearest = min(taken, key=lambda sample: abs(sample.at_ns - interval.end_ns))
        cpu.append(nearest.cpu.busy_fraction if nearest.cpu is not None else 0.0)
    step_s = sum(interval.duration_ns for interval in measured) / len(measured) / 1e9
    return PointSeries(step_s, iops, cpu)


def audit_whole(run: Run) -> None:
    """Judges the rows of a run against each other, and keeps what that adds to their findings.

    Raises:
        StoreError: it can't be written.
    """
    before = {
        index: result for index in range(len(run.document["points"])) if (result := run.result(index)) is not None
    }
    after = audit(list(before.values()), {run.id: run.document})
    for (index, old), new in zip(before.items(), after, strict=True):
        if new.findings != old.findings:
            write_result(run.point_path(index), new)
