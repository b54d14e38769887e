"""A job file of points: what `loadline run` gives to fio. How fio's traps are met is in docs/background/fio.md."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from loadline.errors import InputError
from loadline.units import format_bytes, format_percent
from loadline.workload.plan import Point
from loadline.workload.profile import Open, Profile, Workload

DEFAULT_ENGINE = "libaio"

#: fio's largest think time, a signed int.
MOST_THINK_US = 2**31 - 1
_LINE = re.compile(
    r"\[[A-Za-z0-9._+-]+\]|stonewall|(ioengine|direct|thread|time_based|norandommap|randrepeat|allow_file_create|fallocate"
    r"|lat_percentiles|clat_percentiles|group_reporting|new_group|randseed|runtime|ramp_time|rw|rwmixread"
    r"|percentage_random|random_distribution|bs|bssplit|size|offset_increment|iodepth|numjobs|rate_iops|rate_process"
    r"|offset|refill_buffers|buffer_compress_percentage|dedupe_percentage|fdatasync|sync|thinktime|thinktime_blocks)"
    r"=[A-Za-z0-9_.,:/%]+"
)
_RATE_ERROR = 0.01
_SAY_SIZE = "Say how large the target is with --size."


def write(
    points: Sequence[Point],
    *,
    engine: str = DEFAULT_ENGINE,
    size_bytes: int | None = None,
    exact: bool = True,
) -> str:
    """One job file of `points`, a `stonewall` section each; the target is not in it: `fio --filename=TARGET` gives it.

    Args:
        engine: fio's `ioengine`.
        size_bytes: how much of the target is used; None: all of it, however much that is.
        exact: refuse rates that fio would miss by more than 1 %. Without it points come from `nearest`.

    Raises:
        InputError: a point that fio can't express, or that doesn't fit into `size_bytes`.
    """
    lines = [
        "[global]",
        f"ioengine={engine}",
        "direct=1",
        "thread=1",
        "time_based=1",
        "norandommap=1",
        "randrepeat=0",
        "allow_file_create=0",
        "fallocate=none",
        "lat_percentiles=1",
        "clat_percentiles=0",
        "group_reporting=1",
    ]
    for number, point in enumerate(points):
        if point.searches:
            raise InputError(
                f"{point.name}: a search ({point.ramp or point.best}) can't be said in a job file of fio's",
                "Give fixed depths with --queue-depth 1,2,4,8, or leave it out with --profile.",
            )
        for index, stream in enumerate(point.streams):
            name = point.name if len(point.streams) == 1 else f"{point.name}.{stream.profile.name}"
            if name.startswith("global"):
                raise InputError(f"{name}: fio takes sections named global... for defaults", "Rename the profile.")
            lines += ["", f"[{name}]"]
            if index:
                lines.append("new_group=1")
            elif number:
                lines.append("stonewall")
            if point.seed is not None:
                lines.append(f"randseed={point.seed}")
            lines.append(f"runtime={_time(point.runtime_ns, 'runtime', name)}")
            if point.warmup_ns:
                lines.append(f"ramp_time={_time(point.warmup_ns, 'warmup', name)}")
            lines += _stream(stream, size_bytes, name, exact)
            if isinstance(stream.arrival, Open) and point.warmup_ns >= point.runtime_ns:
                raise InputError(
                    f"{name}: fio would end this open load within its warm-up, which is as long as its run time",
                    "Shorten warmup, or give a longer runtime.",
                )
    for line in lines:
        # Names and values may come from a stored plan; none may bring another option along.
        if line and not _LINE.fullmatch(line):
            raise InputError(f"{line[:80]!r} can't be a line of a job file", "The plan is damaged, or not loadline's.")
    return "\n".join(lines) + "\n"


def _stream(stream: Workload, size_bytes: int | None, name: str, exact: bool) -> list[str]:
    profile, load = stream.profile, stream.arrival
    lines = _direction(profile, name)
    lines += _blocks(profile, name)
    lines += _region(stream, size_bytes, name)
    lines += [f"iodepth={load.queue_depth}", f"numjobs={load.jobs}"]
    if isinstance(load, Open):
        if profile.flush_every == 1 and profile.writes:
            raise InputError(
                f"{name}: a flush after every write together with a rate ends fio by a division by zero",
                "Use dsync = true, or flush_every = 2 or more.",
            )
        if load.bursts is not None:
            raise InputError(f"{name}: fio has no open load in bursts", "Leave out bursts; only models take them.")
        lines += _rates(load, profile, name, exact)
    if profile.writes:
        lines.append("refill_buffers=1")
        if profile.compressible_fraction:
            lines.append(f"buffer_compress_percentage={_percent(profile.compressible_fraction, 'compressible', name)}")
        if profile.duplicate_fraction:
            lines.append(f"dedupe_percentage={_percent(profile.duplicate_fraction, 'duplicate', name)}")
        if profile.flush_every:
            lines.append(f"fdatasync={profile.flush_every}")
        if profile.dsync:
            lines.append("sync=dsync")
    if profile.think_time_ns:
        think_us, rest = divmod(profile.think_time_ns, 1000)
        if rest or think_us > MOST_THINK_US:
            raise InputError(f"{name}: fio's think time is whole microseconds, at most 35 min", "Change think_time.")
        lines += [f"thinktime={think_us}us", f"thinktime_blocks={profile.burst}"]
    return lines


def _direction(profile: Profile, name: str) -> list[str]:
    # Only the rand* forms heed percentage_random, and --readonly wants randread where nothing is written.
    if profile.read_fraction == 1:
        lines = ["rw=randread"]
    elif profile.read_fraction == 0:
        lines = ["rw=randwrite"]
    else:
        lines = ["rw=randrw", f"rwmixread={_percent(profile.read_fraction, 'read', name)}"]
    lines.append(f"percentage_random={_percent(profile.random_fraction, 'random', name)}")
    spread = profile.distribution
    if spread.kind == "zoned":
        zones = ":".join(f"{_percent(a, 'access', name)}/{_percent(s, 'space', name)}" for a, s in spread.zones)
        lines.append(f"random_distribution=zoned:{zones}")
    elif spread.kind != "uniform":
        parameter = f"{spread.parameter:.6f}".rstrip("0").rstrip(".")
        lines.append(f"random_distribution={spread.kind}:{parameter}")
    return lines


def _blocks(profile: Profile, name: str) -> list[str]:
    if len(profile.block) == 1:
        return [f"bs={format_bytes(profile.block[0].size_bytes)}"]
    mix = ":".join(f"{format_bytes(b.size_bytes)}/{_percent(b.share_fraction, 'block', name)}" for b in profile.block)
    return [f"bssplit={mix}"]


def _region(stream: Workload, size_bytes: int | None, name: str) -> list[str]:
    """The part of the target that the stream's jobs use.

    Jobs that read or write in sequence get ranges of their own, else they would ask for the same blocks.
    """
    profile, jobs = stream.profile, stream.arrival.jobs
    apart = jobs > 1 and profile.random_fraction < 1
    start = _start(profile, size_bytes, name)
    if size_bytes is None and profile.working_set_bytes is None:
        if profile.working_set_fraction is None and not apart:
            return start
        each_fraction = share_of_each(stream)
        if each_fraction is None or whole_percent(each_fraction) is None:
            what = f"{jobs} jobs side by side take" if apart else "its working set is"
            share = "the rest" if each_fraction is None else f"{each_fraction * 100:.4g}%"
            raise InputError(
                f"{name}: {what} {share} of the target{' each' * apart}; fio takes whole percents", _SAY_SIZE
            )
        percent = f"{whole_percent(each_fraction)}%"
        return [*start, f"size={percent}", f"offset_increment={percent}"] if apart else [*start, f"size={percent}"]
    used = working_set(profile, size_bytes)
    if not apart:
        return [*start, f"size={format_bytes(used)}"]
    step = max(share.size_bytes for share in profile.block)
    each = used // jobs // step * step
    if each == 0:
        raise InputError(
            f"{name}: {jobs} jobs side by side don't fit into {format_bytes(used)}",
            "Use fewer jobs or a larger target.",
        )
    return [*start, f"size={format_bytes(each)}", f"offset_increment={format_bytes(each)}"]


def needs_size(points: Sequence[Point]) -> bool:
    """Whether `write` needs to know how large the target is: a part of it that a job has is no whole percent."""

    def in_percent(stream: Workload) -> bool:
        profile = stream.profile
        start = profile.start_fraction if profile.start_bytes is None else 0.0
        share = 1.0 if profile.working_set_bytes is not None else share_of_each(stream)
        starts = not start or whole_percent(start) is not None
        return starts and share is not None and whole_percent(share) is not None

    return not all(in_percent(stream) for point in points for stream in point.streams)


def share_of_each(stream: Workload) -> float | None:
    """The share of the target that each job has; None of what is left behind a start in bytes, to be parted."""
    profile, jobs = stream.profile, stream.arrival.jobs
    parts = jobs if profile.random_fraction < 1 else 1
    if profile.working_set_fraction is not None:
        return profile.working_set_fraction / parts
    if profile.start_bytes:
        return None if parts > 1 else 1.0
    return (1 - profile.start_fraction) / parts


def whole_percent(fraction: float) -> int | None:
    """The share as a whole percent above 0; None if it's none."""
    percent = round(fraction * 100)
    return percent if percent >= 1 and abs(fraction * 100 - percent) <= 1e-6 else None


def _start(profile: Profile, size_bytes: int | None, name: str) -> list[str]:
    if not profile.start_bytes and not profile.start_fraction:
        return []
    if profile.start_bytes is not None or size_bytes is not None:
        return [f"offset={format_bytes(profile.start_of(size_bytes or 0))}"]
    percent = whole_percent(profile.start_fraction)
    if percent is None:
        share = format_percent(profile.start_fraction)
        raise InputError(f"{name}: it starts at {share} of the target; fio takes whole percents", _SAY_SIZE)
    return [f"offset={percent}%"]


_IN_PERCENT = "Take a larger target or --size, or give the working set in percent."


def working_set(profile: Profile, size_bytes: int | None) -> int:
    """Bytes of the target that the profile touches, a multiple of its largest block; the target's size is `size_bytes`.

    Raises:
        InputError: nothing is left, or the working set is larger than the target.
    """
    step = max(share.size_bytes for share in profile.block)
    wanted, start = profile.working_set_of(size_bytes or 0), profile.start_of(size_bytes or 0)
    if size_bytes is not None and start + wanted > size_bytes:
        from_ = f" from {format_bytes(start)} on" if start else ""
        raise InputError(
            f"profile {profile.name}: its working set of {format_bytes(wanted)}{from_} is larger than the target"
            f" ({format_bytes(size_bytes)})",
            "Take a larger target, or let it start earlier." if start else _IN_PERCENT,
        )
    used = wanted // step * step
    if used == 0:
        raise InputError(
            f"profile {profile.name}: a block of {format_bytes(step)} doesn't fit into {wanted:,} bytes",
            "Take a larger target or working set.",
        )
    return used


def _rates(load: Open, profile: Profile, name: str, exact: bool) -> list[str]:
    each_per_s = load.rate_per_s / load.jobs
    if exact and (meant_per_s := missed_per_s(each_per_s, profile.read_fraction)) is not None:
        raise InputError(
            f"{name}: {load.rate_per_s:g}/s over {load.jobs} jobs is {meant_per_s:.4g}/s a job and direction, which fio"
            f" would miss by more than {_RATE_ERROR:.0%}",
            "fio takes whole numbers and is exact up to about 7000/s: change rate or jobs.",
        )
    # Not io_submit_mode=offload: before version 3.42 it hangs at its start, and io_uring doesn't have it.
    text = ",".join(str(rate or "") for rate in asked_per_s(each_per_s, profile.read_fraction)).rstrip(",")
    return [f"rate_iops={text}", "rate_process=poisson"]


def asked_per_s(each_per_s: float, read_fraction: float) -> tuple[int, int]:
    """What fio is asked for, reads and writes, of a job that has so many requests a second.

    fio paces each job and each direction by itself; independent Poisson streams add up to a Poisson stream.
    """
    total = round(each_per_s)
    reads = round(total * read_fraction)
    return reads, total - reads


def missed_per_s(each_per_s: float, read_fraction: float) -> float | None:
    """The rate of a job's reads or writes that fio would miss by more than 1 %; None if it misses neither."""
    meant = (each_per_s * read_fraction, each_per_s * (1 - read_fraction))
    for asked, rate_per_s in zip(asked_per_s(each_per_s, read_fraction), meant, strict=True):
        if rate_per_s > 1e-9 and abs(poisson_per_s(asked) / rate_per_s - 1) > _RATE_ERROR:
            return rate_per_s
    return None


def poisson_per_s(rate: int) -> float:
    """The rate that fio makes of one asked for: it cuts mean and gaps between arrivals to whole microseconds.

    The mean of a cut exponential with mean m is 1 / (e^(1/m) - 1).
    """
    mean_us = 10**6 // rate if rate else 0
    return 10**6 * math.expm1(1 / mean_us) if mean_us else 0.0


def _time(duration_ns: int, key: str, name: str) -> str:
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if duration_ns % factor == 0:
            return f"{duration_ns // factor}{unit}"
    raise InputError(f"{name}: {key} is {duration_ns} ns, and fio takes whole microseconds only", "Round it.")


def _percent(fraction: float, key: str, name: str) -> int:
    percent = fraction * 100
    if abs(percent - round(percent)) > 1e-6:
        raise InputError(f"{name}: {key} is {format_percent(fraction)}, and fio takes whole percents only", "Round it.")
    return round(percent)
