"""One point: fio runs, host and device are sampled beside it, and a Result comes out, also when it fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from loadline import _core
from loadline.errors import LoadlineError
from loadline.host.roots import Roots
from loadline.host.sampler import Sample, Sampler
from loadline.judging.precision import Judgement
from loadline.measuring import event, job, nbd
from loadline.measuring.auditing import audited
from loadline.measuring.emulate import Watch
from loadline.measuring.fio import Fio, Outcome
from loadline.measuring.io_log import IoLog, job_with
from loadline.measuring.series import Whose, write_series
from loadline.measuring.stopping import Stopping
from loadline.measuring.target import Target
from loadline.measuring.together import ALL
from loadline.result.figures import joined, merged
from loadline.result.intervals import read_statuses
from loadline.result.point_folder import Row
from loadline.result.schema import Result
from loadline.result.store import Run
from loadline.system.row import busiest
from loadline.workload.plan import Point
from loadline.workload.profile import Open, Workload

# fio (3.33) that is asked for a status while it starts its jobs may never hear of one, and fails at the end. So many it
# starts in a second on a busy machine.
_STARTED_PER_S = 500

# Answers of an emulated system later than modelled, as a share; and what they may add to the mean response.
_LATE = 0.01
# Below, what they add is nothing that anybody would see.
_TRIFLE = 0.001

# Of an open load's requests so many may find the cap of its queue depth reached.
_CAPPED = 0.01

# Of a job that is so busy too many requests are late for an open load.
_BUSY = 0.10

# From so many on fio counts outstanding I/Os in one level.
_WIDEST = 64

#: Makes a Progress event once it's told the point's number and the total.
Report = Callable[[Callable[[int, int], event.Progress]], None]


class Measured(NamedTuple):
    """A point's row and its latency histograms; of several targets those of all together, and each one's."""

    result: Result
    histograms: Mapping[str, _core.Histogram]
    targets: tuple[Row, ...] = ()


def measure(
    point: Point,
    targets: Sequence[Target],
    folder: Path,
    loaders: Sequence[Fio],
    run: Run,
    roots: Roots,
    cache_bytes: int | None,
    report: Report,
) -> Measured:
    """Measures `point` on its targets, all at once, and leaves job, raw output and series in `folder`.

    Args:
        loaders: fio with an engine for each target.
        cache_bytes: the targets' write cache, if it's known.

    Returns:
        The row, with `error` and what figures there are if the point failed, and the latency histograms.

    Raises:
        OSError: `folder` can't be written. KeyboardInterrupt: after fio has ended.
    """
    first, several = targets[0], len(targets) > 1
    samples: list[Sample] = []
    sampler = Sampler([target.device.number for target in targets if target.device], roots)
    started_ns = time.time_ns()
    log = IoLog(point, folder, started_ns) if point.sleeps else None
    # What fio says each second is of all targets together, so of one of several nothing can be left out.
    stopping = Stopping(point, cache_bytes, cut=not several, targets=len(targets), early=log is None)

    def tick(now_ns: int) -> str | None:
        sample = sampler.sample(now_ns)
        if sample is not None:
            samples.append(sample)
        if log is not None and now_ns < log.began_ns + point.runtime_ns:
            # fio says nothing before its end.
            watch.look(now_ns)
            report(_progress(point, (), samples, started_ns, None, now_ns < log.began_ns))
        return _lost(targets, roots)

    def show(interval: _core.Interval) -> bool:
        watch.look(interval.end_ns)
        enough = stopping.enough(interval)
        flows = (interval.read, interval.write)
        report(_progress(point, flows, samples, started_ns, stopping.ci95_fraction, interval.warmup))
        return enough

    gone = _lost(targets, roots) or (_unanswered(targets) if several else None)
    watch = Watch([target.emulator for target in targets])
    if gone is not None:
        outcome = Outcome(error=gone, ended_at_ns=started_ns)
    else:
        outcome = loaders[0].execute(
            _job(point, log, targets, loaders, folder),
            None if several else first.uri or first.path,
            folder,
            point.warmup_ns + point.runtime_ns,
            read_only=not point.writes,
            status_s=None if log is not None else _status_s(point, len(targets)),
            on_interval=show if log is None else None,
            on_tick=tick,
        )
        tick(outcome.ended_at_ns)
        outcome.error = outcome.error and (_lost(targets, roots) or _whose(outcome, targets))
    logged = log if log is not None and log.take(outcome) else None
    measured = [interval for interval in outcome.intervals if not interval.warmup]
    judged = stopping.judged(measured) if outcome.error is None else Judgement()
    counted = measured[judged.skipped :]
    part = outcome.error is None and (judged.skipped > 0 or logged is not None)
    series = counted if part else outcome.intervals
    began_ns = counted[0].end_ns - counted[0].duration_ns if counted else started_ns
    whose = Whose(point.repeat, ALL if several else first.label, [target.label for target in targets if target.device])
    write_series(folder / "series.parquet", outcome.intervals, samples, began_ns, whose)
    rows, during = [], _during(samples, began_ns)
    for number, target in enumerate(targets):
        jobs = [one for one in outcome.jobs if not several or job.owner(one.name, len(targets)) == number]
        row = _row(point, [target], run, outcome, jobs, during, began_ns, targets)
        components = watch.utilisation(number, began_ns)
        findings = (*row.findings, *_late(run, point, watch.late(number)))
        row = replace(row, findings=findings, components=components, bottleneck=busiest(components))
        # What ended the point, and what is left out of it, is decided for all together.
        own = _own(folder, number, logged) if several else series
        row = _of(row, own if several else counted) if part else row
        row = _known(row, stopping, own) if several else _judged(row, judged, stopping, measured)
        rows.append(Row(audited(row, run, own, samples), _histograms(own if part else jobs)))
    if not several:
        return Measured(*rows[0])
    whole = _row(point, targets, run, outcome, outcome.jobs, during, began_ns, targets)
    whole = _judged(_of(whole, counted) if part else whole, judged, stopping, measured)
    whole = audited(whole, run, series, samples)
    return Measured(whole, _histograms(counted if part else outcome.jobs), tuple(rows))


def _progress(
    point: Point,
    flows: Sequence[_core.Flow],
    samples: Sequence[Sample],
    started_ns: int,
    ci95_fraction: float | None,
    warmup: bool,
) -> Callable[[int, int], event.Progress]:
    """What is told of an interval, by its reads and writes, once the point's number and the total are known."""
    elapsed_ns = time.time_ns() - started_ns
    both, read, write = (merged(part) for part in (flows, flows[:1], flows[1:]))
    last = samples[-1] if samples else None
    cpu = last.cpu.busy_fraction if last and last.cpu else None
    busy = _mean([disk.busy_fraction for disk in last.disks if disk]) if last else None
    expected_ns = point.warmup_ns + point.runtime_ns
    return lambda n, of: event.Progress(
        *(n, of, point.name, elapsed_ns, expected_ns, warmup, both, read, write, cpu, busy), ci95_fraction
    )


def _lost(targets: Sequence[Target], roots: Roots) -> str | None:
    return next((why for target in targets if (why := target.lost(roots)) is not None), None)


def _unanswered(targets: Sequence[Target]) -> str | None:
    """Why a server can't be loaded: fio would load the other targets all the same, and not say which one it was."""
    for target in targets:
        try:
            if target.uri is not None:
                nbd.ask(nbd.parse(target.uri))
        except LoadlineError as error:
            return error.message
    return None


def _own(folder: Path, target: int, log: IoLog | None) -> Sequence[_core.Interval]:
    """The intervals of one of several targets, out of the log if there is one."""
    return read_statuses(folder, target) if log is None else log.of_target(target)


def _is_open(point: Point) -> bool:
    return any(isinstance(stream.arrival, Open) for stream in point.streams)


def _status_s(point: Point, targets: int) -> int:
    """How often fio is asked for a status: of open loads not before all jobs have started."""
    jobs = targets * sum(stream.arrival.jobs for stream in point.streams)
    return 1 + jobs // _STARTED_PER_S if _is_open(point) else 1


def _job(point: Point, log: IoLog | None, targets: Sequence[Target], loaders: Sequence[Fio], folder: Path) -> str:
    if log is not None:
        return job_with(_job(log.sent, None, targets, loaders, folder), len(targets))
    if len(targets) > 1:
        return job.together(point, targets, [loader.engine for loader in loaders], folder)
    return job.of_target(point, targets[0], loaders[0].engine)


def _whose(outcome: Outcome, targets: Sequence[Target]) -> str | None:
    """Why it failed, with the target where one of several did."""
    failed = next((one.name for one in outcome.jobs if one.error), None)
    if failed is None or len(targets) == 1:
        return outcome.error
    number = job.owner(failed, len(targets))
    return outcome.error if number is None else f"{targets[number].label}: {outcome.error}"


def _known(result: Result, stopping: Stopping, intervals: Sequence[_core.Interval]) -> Result:
    """The row of one of several targets, with how sure its figures are."""
    if result.error is not None:
        return result
    return replace(_sure(result, stopping.judged_alone(intervals)), ended_by=stopping.ended_by)


def _sure(result: Result, judged: Judgement) -> Result:
    return replace(
        result,
        iops_ci95=None if judged.iops is None else judged.iops.ci95,
        latency_mean_ci95_ns=None if judged.latency_mean_ns is None else judged.latency_mean_ns.ci95,
        steady=judged.steady,
    )


def _judged(result: Result, judged: Judgement, stopping: Stopping, measured: Sequence[_core.Interval]) -> Result:
    """The row with what is known of its length; what was found to be a beginning of another kind counts as warm-up."""
    if result.error is not None:
        return result
    skipped_ns = sum(interval.duration_ns for interval in measured[: judged.skipped])
    result = replace(result, warmup_ns=(result.warmup_ns or 0) + skipped_ns)
    found = (_finding(result.run, result.point, *one) for one in stopping.findings(judged))
    return replace(_sure(result, judged), ended_by=stopping.ended_by, findings=(*result.findings, *found))


def _of(result: Result, counted: Sequence[_core.Interval]) -> Result:
    """The row with the figures of these intervals. Between statuses a maximum can't be had, so it's unknown."""
    runtime_ns = sum(interval.duration_ns for interval in counted)
    if result.error is not None:
        return result
    reads, writes = [interval.read for interval in counted], [interval.write for interval in counted]
    return replace(
        result,
        total=joined([*reads, *writes], runtime_ns),
        read=joined(reads, runtime_ns),
        write=joined(writes, runtime_ns),
        runtime_ns=runtime_ns,
    )


def _finding(
    run: str, point: str, check: str, severity: str, message: str, numbers: Mapping[str, float], remedy: str
) -> dict[str, Any]:
    return {
        "check": check,
        "severity": severity,
        "run": run,
        "point": point,
        "message": message,
        "numbers": dict(numbers),
        "remedy": remedy,
    }


def _histograms(jobs: Sequence[_core.Job | _core.Interval]) -> dict[str, _core.Histogram]:
    if not jobs:
        return {}
    return {name: _core.Flow.merge([getattr(one, name) for one in jobs]).histogram for name in ("read", "write")}


def _late(run: Run, point: Point, late: tuple[float, float] | None) -> Iterator[dict[str, Any]]:
    """What is to be said of an emulated system that couldn't keep up with its model."""
    share, response = late or (0.0, 0.0)
    if share > _LATE and response > _TRIFLE:
        severity = "warning" if response > _LATE else "note"
        message = (
            f"{share:.1%} of the answers came later than modelled, which is {response:.1%} of the mean response:"
            " this machine is too slow for it, or busy"
        )
        remedy = "Let nothing else run meanwhile, use a machine with more cores, or a lower queue depth."
        numbers = {"late_fraction": round(share, 4), "late_response_fraction": round(response, 4)}
        yield _finding(run.id, point.name, "emulation", severity, message, numbers, remedy)


def _row(
    point: Point,
    loaded: Sequence[Target],
    run: Run,
    outcome: Outcome,
    jobs: Sequence[_core.Job],
    samples: Sequence[Sample],
    began_ns: int,
    targets: Sequence[Target],
) -> Result:
    """The row of `loaded`, one of the point's `targets` or all of them, whose groups of fio are `jobs`."""
    alone, number = len(targets) == 1, len(loaded)
    arrivals = [stream.arrival for stream in point.streams]
    depths = {arrival.queue_depth for arrival in arrivals}
    rates = [arrival.rate_per_s for arrival in arrivals if isinstance(arrival, Open)]
    streams = [stream.to_json() for stream in point.streams]
    # A point that failed before its first I/O has no figures; 0 would be a claim.
    done = any(one.read.ios or one.write.ios for one in jobs)
    counted = jobs if done or outcome.error is None else []
    cpu_fraction = _mean([sample.cpu.busy_fraction for sample in samples if sample.cpu])
    # Of the targets with a device, in their order, each has its place in a sample.
    places = [place for place, target in enumerate(one for one in targets if one.device) if target in loaded]
    disks = [disk for sample in samples for place, disk in enumerate(sample.disks) if disk and place in places]
    systems = {target.emulated.system.name if target.emulated else None for target in loaded}
    # Of the way it was measured the row of all together speaks, once.
    findings = _findings(run, point, outcome, point.streams * number) if alone or number > 1 else ()
    return Result(
        run=run.id,
        point=point.name,
        repeat=point.repeat,
        target=loaded[0].label if number == 1 else ALL,
        system=systems.pop() if len(systems) == 1 else None,
        started_at=datetime.fromtimestamp(began_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
        tags=run.document["tags"],
        suite=run.suite,
        profile=point.profile_name,
        access_class=point.access_class,
        workload=streams[0] if len(streams) == 1 else streams,
        hosts=1,
        jobs=sum(arrival.jobs for arrival in arrivals) * number,
        queue_depth=depths.pop() if len(depths) == 1 else None,
        outstanding_asked=sum(stream.outstanding for stream in point.streams) * number,
        outstanding_achieved=_achieved(jobs, point.streams * number),
        offered_per_s=sum(rates) * number if len(rates) == len(arrivals) else None,
        total=merged([flow for one in counted for flow in (one.read, one.write)]),
        read=merged([one.read for one in counted]),
        write=merged([one.write for one in counted]),
        cpu_fraction=cpu_fraction,
        busy_fraction=_mean([disk.busy_fraction for disk in disks]),
        # A job counts its run time by direction; a point's is the longest of them.
        runtime_ns=max((one.runtime_ns for one in jobs), default=None),
        warmup_ns=point.warmup_ns,
        ended_by="error" if outcome.error else "runtime",
        quick=point.quick,
        error=outcome.error,
        findings=findings,
        provenance={"seed": point.seed, **_busiest(jobs)},
    )


def _busiest(jobs: Sequence[_core.Job]) -> dict[str, float]:
    """The CPU use of fio's busiest group of threads, as a share of a core each."""
    known = [one.cpu_fraction for one in jobs if one.cpu_fraction is not None]
    return {"job_cpu_fraction": round(max(known), 3)} if known else {}


def _findings(run: Run, point: Point, outcome: Outcome, streams: Sequence[Workload]) -> tuple[dict[str, Any], ...]:
    """What is doubtful by the way it was measured, with `streams` on all targets."""
    found: list[tuple[str, str, str, dict[str, float], str]] = [
        ("tool-output", "note", message, {}, "Look at fio.json.gz and fio.stderr in the point's folder.")
        for message in outcome.warnings
    ]
    capped = _capped(outcome.jobs, streams)
    if capped > _CAPPED:
        message = (
            f"not an open load: {capped:.1%} of the requests were sent with as many outstanding as may be (queue_depth)"
        )
        remedy = "Offer less, or give it more jobs or queue_depth."
        found.append(("open-load", "warning", message, {"capped_fraction": round(capped, 4)}, remedy))
    elif (busy := _busy(outcome.jobs, streams)) > _BUSY:
        message = (
            f"not an open load: fio had requests of its jobs outstanding for up to {busy:.0%} of the time, and waits"
        )
        message += " for them before it sleeps: more came late, together, and waited for each other"
        remedy = "Make it all random, or give it queue_depth = 1 and more jobs."
        found.append(("open-load", "warning", message, {"busy_fraction": round(busy, 4)}, remedy))
    elif any(isinstance(stream.arrival, Open) for stream in point.streams):
        message = "response counts from submission: a request that found its job waiting was sent late, uncounted"
        found.append(("open-load", "note", message, {}, "Use many jobs, each with a small share of the rate."))
    if any(stream.profile.flush_every for stream in point.streams):
        message = "write latency leaves out the flushes after the writes, which IOPS does contain"
        found.append(("flush", "note", message, {}, "For the latency of a commit use dsync instead of flush_every."))
    return tuple(_finding(run.id, point.name, *one) for one in found)


def _achieved(jobs: Sequence[_core.Job], streams: Sequence[Workload]) -> float | None:
    """The mean number outstanding when I/Os were sent, summed over the streams' jobs.

    fio counts in levels (1, 2, 4 ... 64 and more), so each level stands for the most that it can mean.
    """
    if len(jobs) != len(streams):
        return None
    total = 0.0
    for one, stream in zip(jobs, streams, strict=True):
        depth = stream.arrival.queue_depth
        share = sum(fraction for _, fraction in one.depth_levels)
        if not share:
            return None
        most = sum(
            fraction * (depth if low >= _WIDEST else min(depth, 2 * low - 1)) for low, fraction in one.depth_levels
        )
        total += stream.arrival.jobs * most / share
    return total


def _capped(jobs: Sequence[_core.Job], streams: Sequence[Workload]) -> float:
    """The share of open streams' requests that were sent with as many outstanding as their jobs may have, at least."""
    known = list(zip(jobs, streams, strict=True)) if len(jobs) == len(streams) else []
    parts = [(one, stream.arrival) for one, stream in known if isinstance(stream.arrival, Open)]
    sent = sum(one.read.ios + one.write.ios for one, _ in parts)
    return sum((one.read.ios + one.write.ios) * _capped_of(one, arrival) for one, arrival in parts) / max(1, sent)


def _busy(jobs: Sequence[_core.Job], streams: Sequence[Workload]) -> float:
    """The share of its time that the busiest job of an open stream has a request outstanding, at most."""
    known = zip(jobs, streams, strict=True) if len(jobs) == len(streams) else ()
    return max(
        (min(1.0, _outstanding(one, stream.arrival)) for one, stream in known if isinstance(stream.arrival, Open)),
        default=0.0,
    )


def _outstanding(one: _core.Job, arrival: Open) -> float:
    """The mean number outstanding of each job, by Little's law."""
    return sum(flow.iops * (flow.latency_mean_ns or 0.0) for flow in (one.read, one.write)) / 1e9 / arrival.jobs


def _capped_of(one: _core.Job, arrival: Open) -> float:
    """That share of a group of jobs.

    fio counts in levels (1, 2, 4 ... 64 and more). Where one holds less than the cap too, no more of it is taken than a
    target would have whose responses don't depend on the load (Poisson); queues only make it more. A job with one
    outstanding at most is at its cap while it's busy.
    """
    cap = arrival.queue_depth
    outstanding = _outstanding(one, arrival)
    if cap == 1 or not outstanding:
        return min(1.0, outstanding)
    # Flushes are counted as well, though by no level of theirs.
    whole = sum(share for _, share in one.depth_levels) or 1.0
    at_level = sum(share for low, share in one.depth_levels if 2 * low > cap or low >= _WIDEST) / whole
    if cap <= _WIDEST and cap.bit_count() == 1:
        return at_level
    below = sum(math.exp(n * math.log(outstanding) - outstanding - math.lgamma(n + 1)) for n in range(cap))
    return min(at_level, 1.0 - below)


def _during(samples: Sequence[Sample], began_ns: int) -> list[Sample]:
    """The samples that lie in the measured time; all, where it was too short to hold one."""
    inside = [sample for sample in samples if sample.at_ns - sample.interval_ns >= began_ns]
    return inside or list(samples)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
