"""fio job files, both ways.

What is written is what `loadline run` gives to fio; how fio's traps are met is in docs/background/fio.md. What is
read is only what describes a workload: `filename`, `exec_prerun`, `include` and their like could reach past the target.
Source: fio's HOWTO, and its behaviour at version 3.33.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loadline.errors import InputError
from loadline.units import format_bytes, format_percent, parse_bytes
from loadline.workload.plan import Point
from loadline.workload.profile import (
    BlockShare,
    Distribution,
    Open,
    Profile,
    Workload,
    access_class,
)
from loadline.workload.suite import Entry, Suite, arrival, nearest

DEFAULT_ENGINE = "libaio"


def write(
    points: Sequence[Point],
    *,
    engine: str = DEFAULT_ENGINE,
    size_bytes: int | None = None,
) -> str:
    """One job file of `points`, a `stonewall` section each; the target is not in it: `fio --filename=TARGET` gives it.

    Args:
        engine: fio's `ioengine`.
        size_bytes: how much of the target is used; None: all of it.

    Raises:
        InputError: a point that fio can't express.
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
        for index, stream in enumerate(point.streams):
            name = point.name if len(point.streams) == 1 else f"{point.name}.{stream.profile.name}"
            lines += ["", f"[{name}]"]
            if index:
                lines.append("new_group=1")
            elif number:
                lines.append("stonewall")
            if point.seed is not None:
                lines.append(f"randseed={point.seed}")
            lines.append(f"runtime={_time(point.runtime_ns)}")
            if point.warmup_ns:
                lines.append(f"ramp_time={_time(point.warmup_ns)}")
            lines += _stream(stream, size_bytes, name)
    return "\n".join(lines) + "\n"


def _stream(stream: Workload, size_bytes: int | None, name: str) -> list[str]:
    profile, load = stream.profile, stream.arrival
    lines = _direction(profile, name)
    lines += _blocks(profile, name)
    lines += _region(stream, size_bytes, name)
    lines += [f"iodepth={load.queue_depth}", f"numjobs={load.jobs}"]
    if isinstance(load, Open):
        lines += _rates(load, profile)
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
        lines += [
            f"thinktime={max(1, round(profile.think_time_ns / 1000))}",
            f"thinktime_blocks={profile.burst}",
        ]
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
        lines.append(f"random_distribution={spread.kind}:{spread.parameter:g}")
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
    if profile.working_set_fraction is None and profile.working_set_bytes is None and size_bytes is None and not apart:
        return []
    if size_bytes is None and profile.working_set_bytes is None:
        percent = (profile.working_set_fraction or 1.0) * 100 / (jobs if apart else 1)
        if percent < 1 or abs(percent - round(percent)) > 1e-9:
            raise InputError(
                f"{name}: {jobs} jobs side by side take {percent:.4g}% of the target each; fio takes whole percents",
                "Say how large the target is with --size.",
            )
        lines = [f"size={round(percent)}%"]
        return [*lines, f"offset_increment={round(percent)}%"] if apart else lines
    used = working_set(profile, size_bytes)
    if not apart:
        return [f"size={format_bytes(used)}"]
    step = max(share.size_bytes for share in profile.block)
    each = used // jobs // step * step
    if each == 0:
        raise InputError(
            f"{name}: {jobs} jobs side by side don't fit into {format_bytes(used)}",
            "Use fewer jobs or a larger target.",
        )
    return [f"size={format_bytes(each)}", f"offset_increment={format_bytes(each)}"]


def working_set(profile: Profile, size_bytes: int | None) -> int:
    """Bytes of the target that the profile touches, a multiple of its largest block; the target's size is `size_bytes`.

    Raises:
        InputError: nothing is left, or the working set is larger than the target.
    """
    step = max(share.size_bytes for share in profile.block)
    wanted = profile.working_set_bytes
    if wanted is None:
        wanted = int((size_bytes or 0) * (profile.working_set_fraction or 1.0))
    if size_bytes is not None and wanted > size_bytes:
        raise InputError(
            f"profile {profile.name}: its working set of {format_bytes(wanted)} is larger than the target"
            f" ({format_bytes(size_bytes)})",
            "Take a larger target, or give the working set in percent.",
        )
    used = wanted // step * step
    if used == 0:
        raise InputError(
            f"profile {profile.name}: a block of {format_bytes(step)} doesn't fit into {format_bytes(wanted)}",
            "Take a larger target or working set.",
        )
    return used


def _rates(load: Open, profile: Profile) -> list[str]:
    # fio paces each job and each direction by itself; independent Poisson streams add up to a Poisson stream.
    each = load.rate_per_s / load.jobs
    read, write_ = round(each * profile.read_fraction), round(each * (1 - profile.read_fraction))
    pair = f"{max(read, 1) if profile.read_fraction else ''},{max(write_, 1) if profile.writes else ''}"
    return [f"rate_iops={pair.rstrip(',')}", "rate_process=poisson", "io_submit_mode=offload"]


def _time(duration_ns: int) -> str:
    if duration_ns % 10**9 == 0:
        return f"{duration_ns // 10**9}s"
    return f"{max(1, round(duration_ns / 10**6))}ms"


def _percent(fraction: float, key: str, name: str) -> int:
    percent = fraction * 100
    if abs(percent - round(percent)) > 1e-6:
        raise InputError(f"{name}: {key} is {format_percent(fraction)}, and fio takes whole percents only", "Round it.")
    return round(percent)


# Reading. A section is resolved as fio does it: [global] sections change the defaults of those that follow.

_REACHES_PAST = re.compile(
    r"filename(_format)?|directory|opendir|exec_(pre|post)run|include|ioscheduler|cgroup.*|"
    r"write_\w*log|write_(bw|lat|hist|iops)_log|read_iolog|write_iolog|replay_.*|log_.*|merge_blktrace_.*|"
    r"hostname|port|interface|protocol|netfilename|verify_state_.*|trigger.*|aux-path|client|server|"
    r"uri|rbdname|pool|clientname|volume|brick|http_.*|hdfsdirectory|namenode|chunk_size|unlink.*|"
    r"create_only|pre_read|clat_log.*|uid|gid|allow_mounted_write|script|profile|nbd.*|libblkio_.*|dlopen.*|cpuload|cpumode|cuda_io|gpu_.*"
)

_ASYNCHRONOUS = {"libaio", "io_uring", "posixaio"}
_SYNCHRONOUS = {"sync", "psync", "vsync", "pvsync", "pvsync2"}

# What fio is told anyway, or what doesn't change the workload.
_NO_EFFECT = {
    "thread", "group_reporting", "new_group", "randrepeat", "allrandrepeat", "norandommap", "refill_buffers",
    "scramble_buffers", "invalidate", "description", "name", "create_serialize", "create_fsync", "fallocate",
    "exitall", "exitall_on_error", "end_fsync", "fsync_on_close", "randseed", "loops", "disk_util", "gtod_reduce",
    "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list", "disable_lat", "disable_clat",
    "disable_slat", "disable_bw", "bwavgtime", "iopsavgtime", "unified_rw_reporting", "eta", "softrandommap", "random_generator",
    "allow_file_create", "overwrite",
}  # fmt: skip

_KNOWN = _NO_EFFECT | {
    "rw", "readwrite", "bs", "blocksize", "bssplit", "rwmixread", "rwmixwrite", "percentage_random", "iodepth",
    "numjobs", "runtime", "time_based", "ramp_time", "ioengine", "direct", "buffered", "size", "filesize", "stonewall",
    "wait_for_previous", "random_distribution", "fsync", "fdatasync", "sync", "thinktime", "thinktime_blocks",
    "rate_iops", "rate_process", "io_submit_mode", "buffer_compress_percentage", "dedupe_percentage", "nrfiles",
    "offset_increment", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
}  # fmt: skip


@dataclass(slots=True)
class _Section:
    name: str
    line: int
    options: dict[str, tuple[str, int]] = field(default_factory=dict)


class _Reader:
    """One section's options, each fetched with its file and line for the message."""

    def __init__(self, section: _Section, file: str, warnings: list[str]) -> None:
        self.section = section
        self.file = file
        self.warnings = warnings

    def text(self, *names: str) -> str | None:
        found = [self.section.options[name] for name in names if name in self.section.options]
        return max(found, key=lambda pair: pair[1])[0] if found else None

    def fault(self, name: str, message: str, remedy: str = "") -> InputError:
        line = self.section.options.get(name, ("", self.section.line))[1]
        return InputError(f"{self.file}:{line}: {name}: {message}", remedy)

    def warn(self, message: str) -> None:
        self.warnings.append(f"{self.file}: section {self.section.name!r}: {message}")

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        text = self.text(name)
        if text is None:
            return default
        if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
            raise self.fault(name, f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    def percent(self, name: str, default: float) -> float:
        text = self.text(name)
        return default if text is None else self.whole(name, 0, 0, 100) / 100 if text[-1:] != "%" else self._share(name)

    def _share(self, name: str) -> float:
        text = (self.text(name) or "").removesuffix("%")
        if not re.fullmatch(r"\d{1,3}", text) or int(text) > 100:
            raise self.fault(name, f"{text!r} is not a percentage")
        return int(text) / 100

    def flag(self, name: str) -> bool:
        return (self.text(name) or "0") not in {"0", "false", "no"}

    def size(self, name: str, text: str) -> int:
        if "i" in text.lower():
            raise self.fault(name, f"{text!r}: fio reads 'Ki' as 1000 or 1024 by kb_base", "Write 4k for 4,096 bytes.")
        try:
            size = parse_bytes(re.sub(r"(?i)(?<=[kmgtp])b$", "", text))
        except InputError as error:
            raise self.fault(name, error.message, error.remedy) from None
        if size == 0:
            raise self.fault(name, "is 0", "A size is above 0.")
        return size

    def duration_ns(self, name: str, default_unit: str) -> int:
        text = self.text(name)
        if text is None:
            return 0
        match = re.fullmatch(r"(\d{1,12})\s*(us|usec|ms|msec|s|sec|m|h|d)?", text)
        if match is None:
            raise self.fault(name, f"{text!r} is not a time", "Write it like 300, 300s or 500ms.")
        unit = match[2] or default_unit
        factor = {
            "us": 10**3,
            "usec": 10**3,
            "ms": 10**6,
            "msec": 10**6,
            "m": 60 * 10**9,
            "h": 3600 * 10**9,
            "d": 86400 * 10**9,
        }
        return int(match[1]) * factor.get(unit, 10**9)


def read(text: str, name: str, file: str, *, each_section: bool = False) -> tuple[Suite, list[str]]:
    """The suite that a job file describes, and what its reader should know.

    Args:
        each_section: make every section its own point. Else sections without `stonewall` between them are one point
            of concurrent streams, as fio would run them.

    Raises:
        InputError: an option that isn't known or isn't allowed, or a value that can't be, with its line.
    """
    sections = _sections(text, file)
    if not sections:
        raise InputError(f"{file}: no job section", "A fio job file has at least one section: [name].")
    warnings: list[str] = []
    groups: list[list[_Section]] = []
    for section in sections:
        walled = {"stonewall", "wait_for_previous"} & set(section.options)
        if not groups or each_section or walled:
            groups.append([section])
        else:
            groups[-1].append(section)
    together = [group for group in groups if len(group) > 1]
    if together:
        listed = "; ".join(", ".join(section.name for section in group) for group in together)
        warnings.append(
            f"{file}: no `stonewall` between these sections, so each group is one point of concurrent streams, as in"
            f" fio: {listed}. --each-section makes every section its own point."
        )
    entries: list[Entry] = []
    taken: set[str] = set()
    for group in groups:
        streams, runtime_ns, warmup_ns = _streams(group, file, warnings)
        base = streams[0].profile.name if len(group) == 1 else "+".join(s.profile.name for s in streams)[:60]
        entry_name = _unique(base, taken)
        if len(group) == 1:
            streams = (replace(streams[0], profile=replace(streams[0].profile, name=entry_name)),)
        entries.append(Entry(entry_name, (streams,), runtime_ns, warmup_ns))
    return Suite(name, f"fio job file {file}", file, "", tuple(entries)), warnings


def _sections(text: str, file: str) -> list[_Section]:
    defaults: dict[str, tuple[str, int]] = {}
    sections: list[_Section] = []
    options: dict[str, tuple[str, int]] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
        if line.startswith("["):
            if not line.endswith("]") or len(line) < 3:
                raise InputError(f"{file}:{number}: {line!r} is not a section head", "Write it like [name].")
            if line == "[global]":
                options = defaults
            else:
                sections.append(_Section(line[1:-1].strip(), number, dict(defaults)))
                options = sections[-1].options
        elif line:
            if options is None:
                raise InputError(
                    f"{file}:{number}: {line!r} stands before any section", "Begin with [global] or [name]."
                )
            key, equals, value = (part.strip() for part in line.partition("="))
            _check_option(key, value, bool(equals), file, number)
            options[key] = (value if equals else "1", number)
    return sections


def _check_option(key: str, value: str, has_value: bool, file: str, line: int) -> None:
    if _REACHES_PAST.fullmatch(key):
        raise InputError(
            f"{file}:{line}: {key}: refused, for it could reach past the target",
            "Take the line out; name the target on the command line.",
        )
    if key not in _KNOWN:
        raise InputError(
            f"{file}:{line}: {key}: not an option that loadline knows as part of a workload",
            nearest(key, _KNOWN, "docs/reference/fio-job-files.md lists what is known."),
        )
    if "$" in value:
        raise InputError(f"{file}:{line}: {key}: variables ({value}) are not read", "Write the value itself.")
    if has_value and not value:
        raise InputError(f"{file}:{line}: {key}: no value")


def _streams(group: list[_Section], file: str, warnings: list[str]) -> tuple[tuple[Workload, ...], int, int]:
    streams: list[Workload] = []
    times: set[tuple[int, int]] = set()
    names: set[str] = set()
    for section in group:
        reader = _Reader(section, file, warnings)
        streams.append(_workload(reader, _unique(_slug(section.name), names)))
        runtime_ns = reader.duration_ns("runtime", "s")
        if runtime_ns == 0:
            raise InputError(
                f"{file}:{section.line}: section {section.name!r} has no runtime",
                "loadline's points run for a time, not for an amount: add runtime=300.",
            )
        times.add((runtime_ns, reader.duration_ns("ramp_time", "s")))
    if len(times) > 1:
        raise InputError(
            f"{file}:{group[0].line}: sections that run together have different runtime or ramp_time",
            "Make them equal, or part them with `stonewall`.",
        )
    runtime_ns, warmup_ns = times.pop()
    return tuple(streams), runtime_ns, warmup_ns


def _workload(reader: _Reader, name: str) -> Workload:
    for option in (
        "offset_increment",
        "iodepth_batch",
        "iodepth_batch_submit",
        "iodepth_batch_complete",
        "filesize",
        "nrfiles",
    ):
        if reader.text(option) is not None:
            reader.warn(f"{option} is left out: loadline places jobs and submits by its own rule")
    if not reader.flag("direct") and (reader.text("direct") is not None or reader.flag("buffered")):
        raise reader.fault("direct", "buffered I/O measures the page cache", "Set direct=1.")
    if reader.text("direct") is None:
        reader.warn("no direct=1: loadline measures with direct I/O all the same")
    read_fraction, random_fraction = _mix(reader)
    depth, jobs = _depth(reader), reader.whole("numjobs", 1, 1, 4096)
    working_fraction, working_bytes = _size(reader)
    sync = reader.text("sync") or "0"
    if sync not in {"0", "none", "1", "sync", "dsync"}:
        raise reader.fault("sync", f"{sync!r} is not one of none, sync, dsync")
    if sync in {"1", "sync"}:
        reader.warn("sync=sync is taken as dsync: metadata of a device or a filled file doesn't change")
    flush = reader.text("fdatasync") or reader.text("fsync")
    if reader.text("fsync") is not None:
        reader.warn("fsync is issued as fdatasync, which is the same flush for a device or a filled file")
    profile = Profile(
        name=name,
        block=_block_shares(reader),
        read_fraction=read_fraction,
        random_fraction=random_fraction,
        access_class=access_class(random_fraction),
        distribution=_spread(reader),
        working_set_fraction=working_fraction,
        working_set_bytes=working_bytes,
        compressible_fraction=reader.percent("buffer_compress_percentage", 0.0),
        duplicate_fraction=reader.percent("dedupe_percentage", 0.0),
        flush_every=0
        if flush is None
        else reader.whole("fdatasync" if reader.text("fdatasync") else "fsync", 0, 0, 10**9),
        dsync=sync in {"1", "sync", "dsync"},
        think_time_ns=reader.duration_ns("thinktime", "us"),
        burst=reader.whole("thinktime_blocks", 1, 1, 10**9),
    )
    return Workload(profile, arrival(depth, jobs, _rate(reader, jobs)))


def _mix(reader: _Reader) -> tuple[float, float]:
    rw = reader.text("rw", "readwrite") or "read"
    kinds = {"read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0}
    if rw not in kinds and rw not in {"rw", "readwrite", "randrw"}:
        raise reader.fault("rw", f"{rw!r} is not one of read, write, rw, randread, randwrite, randrw")
    mix = (
        1 - reader.percent("rwmixwrite", 0.5) if reader.text("rwmixread") is None else reader.percent("rwmixread", 0.5)
    )
    random_fraction = reader.percent("percentage_random", 1.0) if rw.startswith("rand") else 0.0
    if not rw.startswith("rand") and reader.text("percentage_random") is not None:
        reader.warn(f"percentage_random has no effect with rw={rw}, as in fio")
    return kinds.get(rw, round(mix, 6)), random_fraction


def _depth(reader: _Reader) -> int:
    engine = reader.text("ioengine") or "psync"
    depth = reader.whole("iodepth", 1, 1, 65536)
    if engine in _ASYNCHRONOUS:
        return depth
    if engine not in _SYNCHRONOUS:
        known = ", ".join(sorted(_ASYNCHRONOUS | _SYNCHRONOUS))
        raise reader.fault("ioengine", f"{engine!r} is refused", f"Engines that reach the target only: {known}.")
    if depth > 1:
        reader.warn(
            f"ioengine={engine} is synchronous, so fio would run it at depth 1, not {depth}; loadline does so too"
        )
    return 1


def _size(reader: _Reader) -> tuple[float | None, int | None]:
    text = reader.text("size")
    if text is None or text == "100%":
        return None, None
    if text.endswith("%"):
        return reader.percent("size", 1.0), None
    return None, reader.size("size", text)


def _block_shares(reader: _Reader) -> tuple[BlockShare, ...]:
    split = reader.text("bssplit")
    if split is None:
        text = reader.text("bs", "blocksize") or "4k"
        sizes = {reader.size("bs", part) for part in text.split(",") if part}
        if len(sizes) != 1:
            raise reader.fault("bs", f"{text!r} gives reads and writes different sizes", "Write two sections instead.")
        return (BlockShare(sizes.pop(), 1.0),)
    if "," in split:
        raise reader.fault(
            "bssplit", f"{split!r} gives reads and writes different mixes", "Write two sections instead."
        )
    parts = [part.partition("/") for part in split.split(":")]
    given = [int(share) if share.isdigit() else None for _, _, share in parts]
    rest, blanks = 100 - sum(share or 0 for share in given), given.count(None)
    if rest < 0 or (rest and not blanks):
        raise reader.fault("bssplit", f"the shares of {split!r} are not 100% together")
    if blanks and rest % blanks:
        raise reader.fault("bssplit", f"the {rest}% left in {split!r} can't be parted evenly", "Write every share.")
    return tuple(
        BlockShare(reader.size("bssplit", size), (rest // blanks if share is None else share) / 100)
        for (size, _, _), share in zip(parts, given, strict=True)
        if share != 0
    )


def _spread(reader: _Reader) -> Distribution:
    text = reader.text("random_distribution") or "random"
    kind, _, rest = text.partition(":")
    if kind == "random" and not rest:
        return Distribution()
    if kind == "zoned":
        pairs = [re.fullmatch(r"(\d{1,3})/(\d{1,3})", part) for part in rest.split(":")]
        zones = tuple((int(pair[1]) / 100, int(pair[2]) / 100) for pair in pairs if pair)
        if len(zones) != len(pairs) or any(abs(sum(zone[i] for zone in zones) - 1) > 1e-9 for i in (0, 1)):
            raise reader.fault("random_distribution", f"the zones of {text!r} are not 100% together")
        return Distribution("zoned", zones=zones)
    for known in ("zipf", "pareto", "normal"):
        if kind == known and re.fullmatch(r"\d+(\.\d+)?", rest):
            return Distribution(known, float(rest))
    raise reader.fault(
        "random_distribution",
        f"{text!r} can't be read",
        "Known: random, zipf:1.2, pareto:0.9, normal:20, zoned:60/10:40/90.",
    )


def _rate(reader: _Reader, jobs: int) -> float | None:
    text = reader.text("rate_iops")
    if text is None:
        return None
    if (reader.text("rate_process") or "linear") != "poisson":
        reader.warn("rate_iops is taken as an open load with Poisson arrivals")
    parts = [part for part in text.split(",") if part]
    if not parts or not all(part.isdigit() and int(part) for part in parts):
        raise reader.fault("rate_iops", f"{text!r} is not a rate")
    mixed = (reader.text("rw", "readwrite") or "read") in {"rw", "readwrite", "randrw"}
    total = sum(map(int, parts)) * (2 if mixed and len(parts) == 1 else 1)
    return float(total * jobs)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-.+_")[:60] or "job"


def _unique(name: str, taken: set[str]) -> str:
    result, number = name, 2
    while result in taken:
        result, number = f"{name}-{number}", number + 1
    taken.add(result)
    return result
