"""What a fio job file means as a suite. Only what describes a workload is read; see option.py."""

from __future__ import annotations

import re

from loadline.errors import InputError
from loadline.workload.dialects.fio_job import option
from loadline.workload.dialects.fio_job.section import Section, sections
from loadline.workload.dialects.text import few, slug, unique
from loadline.workload.profile import BlockShare, Distribution, Profile, Workload, access_class
from loadline.workload.suite import BLOCK_BYTES, DEPTHS, JOBS, RUNTIME_NS, WARMUP_NS, Entry, Suite, arrival

_DIRECTION = {
    "read": "r", "randread": "r", "write": "w", "randwrite": "w", "rw": "rw", "readwrite": "rw", "randrw": "rw",
}  # fmt: skip

_SYNC = {"0": False, "none": False, "1": True, "sync": True, "dsync": True}

# fio takes `offset=0k` too.
_NOTHING = re.compile(r"0+[kmgtp]?b?", re.IGNORECASE)


def read(text: str, name: str, file: str, *, each_section: bool = False) -> tuple[Suite, list[str]]:
    """The suite that a job file describes, and what its reader should know.

    Args:
        each_section: make every section its own point. Else sections without `stonewall` between them are one point
            of concurrent streams, as fio would run them.

    Raises:
        InputError: an option that isn't known or isn't allowed, or a value that can't be, with line and column.
    """
    found = sections(text, file)
    groups: list[list[Section]] = []
    for section in found:
        walled = any(section.flag(name) for name in ("stonewall", "wait_for_previous"))
        if not groups or each_section or walled:
            groups.append([section])
        else:
            groups[-1].append(section)
    warnings: list[str] = []
    together = [group for group in groups if len(group) > 1]
    if together:
        listed = "; ".join(few([section.name for section in group]) for group in together)
        warnings.append(
            f"{file}: no `stonewall` between these sections, so each group is one point of concurrent streams, as in"
            f" fio: {listed}. --each-section makes every section its own point."
        )
    taken: set[str] = set()
    entries = [_entry(group, taken) for group in groups]
    return Suite(name, f"fio job file {file}", file, "", tuple(entries)), warnings + _notes(found, file)


def _entry(group: list[Section], taken: set[str]) -> Entry:
    entry_name, names = _parted([slug(section.name) for section in group])
    entry_name = unique(entry_name[:100], taken)
    used: set[str] = set()
    names = [entry_name] if len(group) == 1 else [unique(name[:100], used) for name in names]
    loads = tuple(_workload(section, name) for section, name in zip(group, names, strict=True))
    times = {(s.duration_ns("s", "runtime", "timeout"), s.duration_ns("s", "ramp_time")) for s in group}
    if len(times) > 1:
        raise group[0].place.fault(
            "sections that run together have different runtime or ramp_time",
            "Make them equal, or part them with `stonewall`.",
        )
    runtime_ns, warmup_ns = times.pop()
    for option_name, time_ns, (low, high) in (("runtime", runtime_ns, RUNTIME_NS), ("ramp_time", warmup_ns, WARMUP_NS)):
        if time_ns and not low <= time_ns <= high:
            raise group[0].fault(option_name, "a point runs from 1 ms to 366 days")
    where = group[0].place
    section = f"{where.file}:{where.line}:{where.column}: section {group[0].name[:80]!r}"
    return Entry(entry_name, (loads,), runtime_ns, warmup_ns, where=section)


def _parted(names: list[str]) -> tuple[str, list[str]]:
    """The name of a point of several streams, and theirs: `p.a`, `p.b` are streams a and b of p; else all joined."""
    if len(names) == 1:
        return names[0], names
    low, high = min(names), max(names)  # what these two have in common, all have
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    head, dot, _ = low[:same].rpartition(".")
    rest = [name[len(head) + 1 :] for name in names]
    if dot and all(re.match("[A-Za-z0-9]", name) for name in rest):
        return head, rest
    return "+".join(names)[:60], names


def _notes(found: list[Section], file: str) -> list[str]:
    """Each warning once, with the sections that it concerns."""
    concerned: dict[str, list[str]] = {}
    for section in found:
        for note in section.notes:
            concerned.setdefault(note, []).append(section.name)
    return [
        f"{file}: {'every section' if len(names) == len(found) > 1 else few(names)}: {note}"
        for note, names in concerned.items()
    ]


def _workload(section: Section, name: str) -> Workload:
    for left in sorted(option.LEFT_OUT & section.options.keys()):
        section.notes.append(f"{left} is left out: loadline places and submits requests by its own rule")
    if not section.flag("time_based"):
        section.notes.append("no time_based: fio would end early when `size` is done; loadline runs the whole time")
    _check_direct(section)
    rw = section.text("rw", "readwrite") or "read"
    if rw not in _DIRECTION:
        raise section.fault(
            section.last("rw", "readwrite") or "rw", f"{rw[:80]!r} is not one of {', '.join(_DIRECTION)}"
        )
    direction = _DIRECTION[rw]
    jobs = section.whole("numjobs", 1, *JOBS)
    read_fraction, rate = _rates(section, direction, _mix(section, direction), jobs)
    random_fraction = _random(section, rw, direction)
    begin = section.last("offset", "fileoffset") or "offset"
    start_fraction, start_bytes = _amount(section, begin, section.text(begin) or "0%")
    if start_fraction == 1:
        raise section.fault(begin, "nothing of the target is left behind 100%", "Start at 99% or before.")
    working_fraction, working_bytes = _working_set(section, jobs, random_fraction, start_fraction or 0.0)
    block = _block(section, direction)
    if (
        working_bytes is not None
        and random_fraction < 1
        and working_bytes // jobs < max(share.size_bytes for share in block)
    ):
        raise section.fault("size", f"{jobs} jobs side by side don't fit into it", "Give a larger size, or fewer jobs.")
    dsync, flush_every = _durability(section)
    profile = Profile(
        name=name,
        block=block,
        read_fraction=read_fraction,
        random_fraction=random_fraction,
        access_class=access_class(random_fraction),
        distribution=_distribution(section),
        working_set_fraction=working_fraction,
        working_set_bytes=working_bytes,
        start_fraction=start_fraction or 0.0,
        start_bytes=start_bytes,
        compressible_fraction=section.whole("buffer_compress_percentage", 0, 0, 100) / 100,
        duplicate_fraction=section.whole("dedupe_percentage", 0, 0, 100) / 100,
        flush_every=flush_every,
        dsync=dsync,
        think_time_ns=section.duration_ns("us", "thinktime"),
        burst=section.whole("thinktime_blocks", 1, 1, 10**9),
    )
    return Workload(profile, arrival(_depth(section), jobs, rate))


def _check_direct(section: Section) -> None:
    name = section.last("direct", "buffered")
    if name is None:
        section.notes.append("no direct=1: loadline measures with direct I/O all the same")
    elif section.flag(name) != (name == "direct"):
        raise section.fault(name, "buffered I/O measures the page cache", "Set direct=1.")


def _mix(section: Section, direction: str) -> float:
    name = section.last("rwmixread", "rwmixwrite")
    share = 0.5 if name is None else section.percent(name, section.options[name].text)
    if direction != "rw":
        return float(direction == "r")
    return round(1 - share, 2) if name == "rwmixwrite" else share


def _random(section: Section, rw: str, direction: str) -> float:
    text = section.text("percentage_random")
    if not rw.startswith("rand"):
        if text is not None:
            section.notes.append(f"percentage_random has no effect with rw={rw}, as in fio")
        return 0.0
    return section.of_direction(
        "percentage_random",
        text or "100",
        reads="r" in direction,
        writes="w" in direction,
        default="100",
        parse=lambda part: section.percent("percentage_random", part),
    )


def _depth(section: Section) -> int:
    engine = section.text("ioengine") or "psync"
    depth = section.whole("iodepth", 1, *DEPTHS)
    if engine in option.ASYNCHRONOUS:
        return depth
    if engine not in option.SYNCHRONOUS:
        known = ", ".join(sorted(option.ASYNCHRONOUS | option.SYNCHRONOUS))
        refusal = option.past_the_target(f"ioengine={engine[:80]}", section.options["ioengine"].place)
        raise InputError(refusal.message, f"Engines that reach the target only: {known}.")
    if depth > 1:
        section.notes.append(
            f"ioengine={engine} is synchronous, so fio would run it at depth 1, not {depth}; loadline does so too"
        )
    return 1


def _working_set(
    section: Section, jobs: int, random_fraction: float, start_fraction: float
) -> tuple[float | None, int | None]:
    size, step = section.text("size"), section.text("offset_increment")
    if jobs == 1 or step is None:
        if jobs > 1 and random_fraction < 1:
            section.notes.append(
                "fio would let the jobs of the section use the same blocks; loadline gives each a part of its own"
            )
        jobs = 1
    elif _amount(section, "offset_increment", step) != _amount(section, "size", size or "100%"):
        raise section.fault("offset_increment", "is not the same as size", "loadline lays jobs side by side.")
    elif random_fraction == 1:
        section.notes.append("random jobs share the range that offset_increment would part between them")
    if size is None and jobs == 1:
        return None, None
    fraction, size_bytes = _amount(section, "size", size or "100%")
    if fraction is None or size_bytes is not None:
        return None, (size_bytes or 0) * jobs
    left = round(1 - start_fraction, 2)
    if round(fraction * jobs, 2) > left:
        begin = section.last("offset", "fileoffset")
        behind = f" behind {begin}={section.text(begin)}" if begin and start_fraction else ""
        raise section.fault("size", f"{jobs} jobs of {size} are more than the target{behind}")
    rest = fraction * jobs > left - 0.005 and (jobs > 1 or not start_fraction)
    return (None, None) if rest else (round(fraction * jobs, 2), None)


def _amount(section: Section, name: str, text: str) -> tuple[float | None, int | None]:
    begins = name in {"offset", "fileoffset"}
    if begins and _NOTHING.fullmatch(text):
        return 0.0, None
    if not text.endswith("%"):
        return None, section.size(name, text)
    share = section.percent(name, text[:-1])
    if share == 0 and not begins:
        raise section.fault(name, "is 0", "A size is above 0.")
    return share, None


def _durability(section: Section) -> tuple[bool, int]:
    dsync = section.choice("sync", _SYNC, "0")
    if dsync and section.text("sync") in {"1", "sync"}:
        section.notes.append("sync=sync is taken as dsync: metadata of a device or a filled file doesn't change")
    flushes = {name: section.whole(name, 0, 0, 10**9) for name in ("fsync", "fdatasync")}
    if all(flushes.values()):
        raise section.fault("fsync", "beside fdatasync", "Give one of the two.")
    if flushes["fsync"]:
        section.notes.append("fsync is issued as fdatasync, which is the same flush for a device or a filled file")
    return dsync, max(flushes.values())


def _block(section: Section, direction: str) -> tuple[BlockShare, ...]:
    reads, writes = "r" in direction, "w" in direction
    split = section.text("bssplit")
    if split is not None:
        if ",," in split or split.startswith(","):
            raise section.fault("bssplit", f"{split[:80]!r} leaves a direction out", "Write two sections instead.")
        return section.of_direction(
            "bssplit", split, reads=reads, writes=writes, default=split, parse=lambda part: _shares(section, part)
        )
    name = section.last("bs", "blocksize") or "bs"
    size = section.of_direction(
        name,
        section.text(name) or "4k",
        reads=reads,
        writes=writes,
        default="4k",
        parse=lambda part: _block_bytes(section, name, part),
    )
    return (BlockShare(size, 1.0),)


def _block_bytes(section: Section, name: str, text: str) -> int:
    size = section.size(name, text)
    if not BLOCK_BYTES[0] <= size <= BLOCK_BYTES[1]:
        raise section.fault(name, f"{text[:80]!r} is not a block size from 1 byte to 1 GiB")
    return size


def _shares(section: Section, split: str) -> tuple[BlockShare, ...]:
    """fio's `size/percent:...`; the sizes without a percentage (or with 0) part what the others leave."""
    parts = [part.partition("/") for part in split.split(":")]
    given = [round(section.percent("bssplit", share or "0") * 100) for _, _, share in parts]
    rest, blanks = 100 - sum(given), given.count(0)
    if rest < 0 or (rest and not blanks):
        raise section.fault("bssplit", f"the shares of {split[:80]!r} are not 100% together")
    if blanks and rest % blanks:
        raise section.fault("bssplit", f"the {rest}% left can't be parted evenly", "Write every share.")
    shares: dict[int, int] = {}
    for (size, _, _), share in zip(parts, given, strict=True):
        size_bytes = _block_bytes(section, "bssplit", size)
        shares[size_bytes] = shares.get(size_bytes, 0) + (share or rest // blanks)
    if len(shares) > 64:
        raise section.fault("bssplit", f"has {len(shares)} sizes", "fio takes at most 64.")
    return tuple(BlockShare(size, share / 100) for size, share in shares.items() if share)


def _zones(section: Section, text: str) -> tuple[tuple[float, float], ...]:
    """fio's `access/size:...` in percent; zones without a size (or with 0) part what the others leave."""
    pairs = [re.fullmatch(r"([0-9]{1,3})(?:/([0-9]{0,3}))?", part) for part in text.split(":")]
    zones = [(int(pair[1]), int(pair[2] or 0)) for pair in pairs if pair]
    rest, blanks = 100 - sum(size for _, size in zones), sum(not size for _, size in zones)
    wrong = len(zones) != len(pairs) or sum(access for access, _ in zones) != 100 or len(zones) > 256
    if wrong or rest < 0 or bool(rest) != bool(blanks):
        raise section.fault("random_distribution", f"the zones of {text[:80]!r} are not 100% together")
    if blanks and rest % blanks:
        raise section.fault("random_distribution", f"the {rest}% left can't be parted evenly", "Write every size.")
    return tuple((access / 100, (size or rest // blanks) / 100) for access, size in zones)


def _distribution(section: Section) -> Distribution:
    text = section.text("random_distribution") or "random"
    kind, _, rest = text.partition(":")
    if kind == "random" and not rest:
        return Distribution()
    if kind == "zoned":
        return Distribution("zoned", zones=_zones(section, rest))
    limits = {"zipf": (0.001, 100), "pareto": (0.001, 0.999), "normal": (0.001, 99.999)}
    for known, (low, high) in limits.items():
        if kind == known and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", rest) and low <= float(rest) <= high:
            if known == "zipf" and float(rest) == 1:
                break
            return Distribution(known, float(rest))  # type: ignore[arg-type]
    raise section.fault(
        "random_distribution",
        f"{text[:80]!r} can't be read",
        "Known: random, zipf:1.2 (not 1), pareto:0.9, normal:20, zoned:60/10:40/90.",
    )


def _rates(section: Section, direction: str, mix: float, jobs: int) -> tuple[float, float | None]:
    """The share of reads and the rate of all jobs: fio paces each job, and reads and writes apart."""
    text = section.text("rate_iops")
    if text is None:
        return mix, None
    if section.choice("rate_process", {"linear": False, "poisson": True}, "linear") is False:
        section.notes.append("rate_iops is taken as an open load with Poisson arrivals")
    parts = text.removesuffix(",").split(",")
    pair = (parts[0], parts[1] if len(parts) > 1 else parts[0])
    reads, writes = (
        0 if use not in direction else section.bounded("rate_iops", part or "0", 1, 10**9)
        for use, part in zip("rw", pair, strict=True)
    )
    total = reads + writes
    if direction == "rw" and abs(reads - total * mix) > 0.5 + 1e-9:
        mix = reads / total
        if abs(mix * 100 - round(mix * 100)) > 1e-9:
            raise section.fault(
                "rate_iops",
                f"reads and writes at {reads} and {writes} a second are no mix of whole percents",
                "Write two sections instead.",
            )
        section.notes.append(f"the rates make it {mix:.0%} reads, whatever rwmixread says, as in fio")
    return round(mix, 2), float(total * jobs)
