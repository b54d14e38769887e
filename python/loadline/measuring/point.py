"""One point: fio runs, host and device are sampled beside it, and a Result comes out, also when it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadline import _core
from loadline.errors import InputError
from loadline.host.roots import Roots
from loadline.host.sampler import Sample, Sampler
from loadline.measuring import event
from loadline.measuring.emulate import late_share
from loadline.measuring.fio import Fio, Outcome
from loadline.measuring.series import write_series
from loadline.measuring.target import Target
from loadline.result.figures import merged
from loadline.result.schema import Result
from loadline.result.store import Run
from loadline.workload.dialects import fio_job
from loadline.workload.plan import Point
from loadline.workload.profile import Open, Workload

# Answers of an emulated system later than modelled, as a share.
_LATE = 0.01

# Above it the host has hardly a core left for more load.
_BUSY_CPU = 0.9

#: Makes a Progress event once it's told the point's number and the total.
Report = Callable[[Callable[[int, int], event.Progress]], None]


def measure(
    point: Point, target: Target, folder: Path, fio: Fio, run: Run, roots: Roots, report: Report
) -> tuple[Result, Mapping[str, _core.Histogram]]:
    """Measures `point` and leaves job, raw output and series in `folder`.

    Returns:
        The result, with `error` and what figures there are if the point failed, and the latency histograms.

    Raises:
        OSError: `folder` can't be written. KeyboardInterrupt: after fio has ended.
    """
    job = _job(point, target, fio.engine)
    samples: list[Sample] = []
    sampler = Sampler([target.device.number] if target.device else [], roots)
    expected_ns = point.runtime_ns + point.warmup_ns
    started_ns = time.time_ns()

    def tick(now_ns: int) -> str | None:
        sample = sampler.sample(now_ns)
        if sample is not None:
            samples.append(sample)
        return target.lost(roots)

    def show(interval: _core.Interval) -> None:
        elapsed = time.time_ns() - started_ns
        both, read, write = (
            merged(part) for part in ([interval.read, interval.write], [interval.read], [interval.write])
        )
        last = samples[-1] if samples else None
        cpu = last.cpu.busy_fraction if last and last.cpu else None
        busy = _mean([disk.busy_fraction for disk in last.disks if disk]) if last else None
        report(
            lambda n, of: event.Progress(
                n, of, point.name, elapsed, expected_ns, interval.warmup, both, read, write, cpu, busy
            )
        )

    lost = target.lost(roots)
    before = target.emulator.stats() if target.emulator else None
    if lost is not None:
        outcome = Outcome(error=lost, ended_at_ns=started_ns)
    else:
        outcome = fio.execute(
            job,
            target.uri or target.path,
            folder,
            expected_ns,
            read_only=not point.writes,
            on_interval=show,
            on_tick=tick,
        )
        tick(outcome.ended_at_ns)
        outcome.error = outcome.error and (target.lost(roots) or outcome.error)
    measured = [interval for interval in outcome.intervals if not interval.warmup]
    began_ns = measured[0].end_ns - measured[0].duration_ns if measured else started_ns
    write_series(folder / "series.parquet", outcome.intervals, samples, began_ns)
    result = _result(point, target, run, outcome, _during(samples, began_ns), began_ns)
    if target.emulator is not None and before is not None:
        late = late_share(before, target.emulator.stats())
        result = replace(result, findings=(*result.findings, *_late(run, point, late)))
    histograms = {
        name: _core.Flow.merge([getattr(job, name) for job in outcome.jobs]).histogram for name in ("read", "write")
    }
    return result, histograms if outcome.jobs else {}


def _late(run: Run, point: Point, late: float | None) -> Iterator[dict[str, Any]]:
    """What is to be said of an emulated system that couldn't keep up with its model."""
    if late is not None and late > _LATE:
        yield {
            "check": "emulation",
            "severity": "warning",
            "run": run.id,
            "point": point.name,
            "message": f"{late:.1%} of the answers came later than modelled: this machine is too slow for it, or busy",
            "numbers": {"late_fraction": round(late, 4)},
            "remedy": "Let nothing else run meanwhile, use a machine with more cores, or a lower queue depth.",
        }


def _job(point: Point, target: Target, engine: str) -> str:
    job = _written(point, target, engine)
    if target.emulated is None:
        return job
    # A model's times don't hang on the data, and zeros take no memory.
    lines = [line for line in job.splitlines() if not line.startswith(("buffer_compress", "dedupe_"))]
    return "".join(f"{'zero_buffers=1' if line == 'refill_buffers=1' else line}\n" for line in lines)


def _written(point: Point, target: Target, engine: str) -> str:
    if target.uri is not None:
        # fio learns the size of a server's export too late for shares of it, and knows one kind of flush of it.
        return fio_job.write([point], engine=engine, size_bytes=target.used_bytes).replace("\nfdatasync=", "\nfsync=")
    try:
        return fio_job.write([point], engine=engine, size_bytes=target.limited_bytes)
    except InputError:
        # A share of the target that is no whole percent: in bytes it can be said, as `check_fits` has found.
        return fio_job.write([point], engine=engine, size_bytes=target.used_bytes)


def _result(
    point: Point, target: Target, run: Run, outcome: Outcome, samples: Sequence[Sample], began_ns: int
) -> Result:
    arrivals = [stream.arrival for stream in point.streams]
    depths = {arrival.queue_depth for arrival in arrivals}
    rates = [arrival.rate_per_s for arrival in arrivals if isinstance(arrival, Open)]
    streams = [stream.to_json() for stream in point.streams]
    # A point that failed before its first I/O has no figures; 0 would be a claim.
    done = any(job.read.ios or job.write.ios for job in outcome.jobs)
    jobs = outcome.jobs if done or outcome.error is None else []
    cpu_fraction = _mean([sample.cpu.busy_fraction for sample in samples if sample.cpu])
    # A job counts its run time by direction; a point's is the longest of them.
    runtime_ns = max((job.runtime_ns for job in outcome.jobs), default=None)
    return Result(
        run=run.id,
        point=point.name,
        target=target.name if target.kind != "directory" else str(target.identity["path"]),
        system=target.emulated.system.name if target.emulated else None,
        started_at=datetime.fromtimestamp(began_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
        tags=run.document["tags"],
        suite=run.suite,
        profile=point.profile_name,
        access_class=point.access_class,
        workload=streams[0] if len(streams) == 1 else streams,
        hosts=1,
        jobs=sum(arrival.jobs for arrival in arrivals),
        queue_depth=depths.pop() if len(depths) == 1 else None,
        outstanding_asked=sum(stream.outstanding for stream in point.streams),
        outstanding_achieved=_achieved(outcome.jobs, point.streams),
        offered_per_s=sum(rates) if len(rates) == len(arrivals) else None,
        total=merged([flow for job in jobs for flow in (job.read, job.write)]),
        read=merged([job.read for job in jobs]),
        write=merged([job.write for job in jobs]),
        cpu_fraction=cpu_fraction,
        busy_fraction=_mean([disk.busy_fraction for sample in samples for disk in sample.disks if disk]),
        runtime_ns=runtime_ns,
        warmup_ns=point.warmup_ns,
        ended_by="error" if outcome.error else "runtime",
        quick=point.quick,
        error=outcome.error,
        # What serves an emulated system keeps a core busy by itself; whether it's in time is told apart.
        findings=_findings(run, point, outcome, None if target.emulated else cpu_fraction),
        provenance={"seed": point.seed},
    )


def _findings(run: Run, point: Point, outcome: Outcome, cpu_fraction: float | None) -> tuple[dict[str, Any], ...]:
    """What is doubtful by the way it was measured."""
    found: list[tuple[str, str, str, dict[str, float], str]] = [
        ("tool-output", "note", message, {}, "Look at fio.json.gz and fio.stderr in the point's folder.")
        for message in outcome.warnings
    ]
    if cpu_fraction is not None and cpu_fraction > _BUSY_CPU:
        message = "the host's CPU was busy, so this may be the load generator's ceiling and not the target's"
        numbers = {"cpu_fraction": round(cpu_fraction, 3)}
        found.append(("load-generator", "warning", message, numbers, "Use a host with more cores, or larger blocks."))
    if any(isinstance(stream.arrival, Open) for stream in point.streams):
        message = "response counts from submission: a request that found its job waiting was sent late, uncounted"
        found.append(("open-load", "note", message, {}, "Use many jobs, each with a small share of the rate."))
    if any(stream.profile.flush_every for stream in point.streams):
        message = "write latency leaves out the flushes after the writes, which IOPS does contain"
        found.append(("flush", "note", message, {}, "For the latency of a commit use dsync instead of flush_every."))
    return tuple(
        {
            "check": check,
            "severity": severity,
            "run": run.id,
            "point": point.name,
            "message": message,
            "numbers": numbers,
            "remedy": remedy,
        }
        for check, severity, message, numbers, remedy in found
    )


def _achieved(jobs: Sequence[_core.Job], streams: Sequence[Workload]) -> float | None:
    """The mean number outstanding when I/Os were sent, summed over the streams' jobs.

    fio counts in levels (1, 2, 4 ... 64 and more), so each level stands for the most that it can mean.
    """
    if len(jobs) != len(streams):
        return None
    total = 0.0
    for job, stream in zip(jobs, streams, strict=True):
        depth = stream.arrival.queue_depth
        share = sum(fraction for _, fraction in job.depth_levels)
        if not share:
            return None
        most = sum(fraction * (depth if low >= 64 else min(depth, 2 * low - 1)) for low, fraction in job.depth_levels)
        total += stream.arrival.jobs * most / share
    return total


def _during(samples: Sequence[Sample], began_ns: int) -> list[Sample]:
    """The samples that lie in the measured time; all, where it was too short to hold one."""
    inside = [sample for sample in samples if sample.at_ns - sample.interval_ns >= began_ns]
    return inside or list(samples)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
