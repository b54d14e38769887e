"""What an .icf file means as a suite: each step of its workers is a point."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

from loadline.workload.dialects.icf.section import (
    MOST_LETTERS,
    Lines,
    Specification,
    Worker,
    check_whole,
    is_named,
    setup,
    specifications,
    version,
    workers,
)
from loadline.workload.dialects.text import Notes, Place, slug, unique
from loadline.workload.profile import BlockShare, Closed, Profile, Workload, access_class
from loadline.workload.suite import BLOCK_BYTES, JOBS, MOST_POINTS, Entry, Suite

#: What runs for ever in Iometer, or until somebody stops it.
UNSAID_RUNTIME_NS = 60 * 10**9

SECTOR_BYTES = 512

#: Of what is read and written in sequence; said both ways.
ONE_PLACE = "in sequence Iometer has one place at which it goes on, fio one for each direction"

IDLE = "idle"

_WORKERS = 1000


@dataclass(frozen=True, slots=True)
class _Part:
    """What workers of one step have in common if they do the same, but for where."""

    spec: str
    outstanding: int
    size_sectors: int


def read(text: str, name: str, file: str) -> tuple[Suite, list[str]]:
    """The suite that an .icf file describes, and what its reader should know.

    Raises:
        InputError: not such a file, or a value that can't be, with its line and column.
    """
    lines, notes = Lines(text, file), Notes()
    date = version(lines)
    named = is_named(lines, date)
    check_whole(lines, date)
    times = setup(lines)
    specs = {spec.name.lower(): spec for spec in specifications(lines, named=named)}
    disks = [worker for worker in workers(lines) if not worker.network]
    _check_meant(specs, disks, notes)
    if len(disks) > _WORKERS or any(len(worker.assigned) > MOST_POINTS for worker in disks):
        raise disks[0].place.fault(f"more than {_WORKERS} workers or {MOST_POINTS} steps", "Part the file.")
    runtime_ns, warmup_ns = times.runtime_s * 10**9 or UNSAID_RUNTIME_NS, times.ramp_s * 10**9
    if not times.runtime_s:
        notes.add("no run time, so Iometer would run until it is stopped: taken as 60 s (--runtime)")
    depths = times.depths if "OUTSTANDING" in times.kind.upper() else ()
    if times.kind.upper() not in ("NORMAL", "CYCLE_OUTSTANDING_IOS"):
        notes.add(f"test type {times.kind}: loadline cycles through outstanding I/Os only, not workers and targets")
    targets = {target for worker in disks for target in worker.targets}
    if len(targets) > 1:
        notes.add(f"it loads {len(targets)} targets at once: here their workers are jobs on the one target")
    if any(worker.pattern == 0 for worker in disks):
        notes.add("repeating bytes compress well: loadline writes data that doesn't, unless a suite says so")
    steps = _steps(specs, disks, notes)
    if len(steps) * max(1, len(depths)) > MOST_POINTS:
        raise Place(file, 1).fault(f"makes more than {MOST_POINTS} points", "Assign or cycle less.")
    often = Counter(_does(step) for step in steps)
    taken: set[str] = set()
    entries = [
        _entry(step, specs, depths, (runtime_ns, warmup_ns), often[_does(step)] > 1, taken, notes) for step in steps
    ]
    title = times.description or f"Iometer configuration {file}"
    return Suite(name, title, file, "", tuple(entries)), notes.lines(file)


def _check_meant(specs: dict[str, Specification], disks: list[Worker], notes: Notes) -> None:
    """Whether each name that a worker is assigned says which access specification is meant.

    Raises:
        InputError: there are several of it.
    """
    shared: dict[str, list[Specification]] = {}
    for spec in specs.values():
        if spec.said is not None:
            shared.setdefault(spec.said.lower(), []).append(spec)
    for several in shared.values():
        others = ", ".join(f"{one.name} (line {one.place.line})" for one in several[1:])
        notes.add(f"several access specifications have this name, the others are called {others}", several[0].name)
    for word in (word for worker in disks for word in worker.assigned):
        if (meant := shared.get(_called(word.text))) is not None:
            lines = ", ".join(str(one.place.line) for one in meant)
            raise word.place.fault(
                f"{word.text[:60]!r} is assigned, and {len(meant)} access specifications have that name: lines {lines}",
                "Give each a name of its own, and assign that. Iometer forgets all but the last of them.",
            )


def _steps(specs: dict[str, Specification], disks: list[Worker], notes: Notes) -> list[dict[_Part, list[int]]]:
    """For each step what runs, with the starts of the workers that do it; a worker counts once a target."""
    if not disks:
        notes.add("no disk worker: one, with Iometer's default of 1 outstanding (--queue-depth)")
        return [{_Part(spec, 1, 0): [0]} for spec in specs]
    if not any(worker.assigned for worker in disks):
        notes.add("no worker has assigned access specifications: all of them, one after the other")
        return [_running([(spec, worker) for worker in disks]) for spec in specs]
    unknown = {word.text for worker in disks for word in worker.assigned} - _known(specs, disks)
    for name in sorted(unknown):
        notes.add("assigned, but not in the file: left out, as Iometer does", name[:80])
    steps = []
    for number in range(max(len(worker.assigned) for worker in disks)):
        assigned = [(_called(w.assigned[number].text), w) for w in disks if number < len(w.assigned)]
        running = _running([(spec, worker) for spec, worker in assigned if spec in specs])
        if running:
            steps.append(running)
    if not steps:
        raise disks[0].place.fault("its workers are idle throughout", "Assign access specifications to them.")
    return steps


def _does(step: dict[_Part, list[int]]) -> tuple[str, ...]:
    """The access specifications of a step."""
    return tuple(sorted({part.spec for part in step}))


def _known(specs: dict[str, Specification], disks: list[Worker]) -> set[str]:
    texts = {word.text for worker in disks for word in worker.assigned}
    return {text for text in texts if _called(text) in specs or _called(text) == IDLE}


def _called(text: str) -> str:
    """What the access specification of an assigned name is known by."""
    return text[:MOST_LETTERS].lower()


def _running(pairs: list[tuple[str, Worker]]) -> dict[_Part, list[int]]:
    running: dict[_Part, list[int]] = {}
    for spec, worker in pairs:
        starts = running.setdefault(_Part(spec, worker.outstanding, worker.size_sectors), [])
        starts += [worker.start_sector] * max(1, len(worker.targets))
        if len(starts) > JOBS[1]:
            raise worker.place.fault(f"more than {JOBS[1]} workers do the same", "Use fewer workers and targets.")
    return running


def _entry(
    step: dict[_Part, list[int]],
    specs: dict[str, Specification],
    depths: tuple[int, ...],
    times_ns: tuple[int, int],
    repeated: bool,
    taken: set[str],
    notes: Notes,
) -> Entry:
    used: set[str] = set()
    streams = []
    for part, starts in step.items():
        for place, jobs in _ranges(part, starts):
            stream_name = unique(slug(specs[part.spec].name)[:64], used)
            streams.append(_stream(stream_name, specs[part.spec], part, place, jobs, notes))
    name = "+".join(sorted(used))[:80]
    if repeated:
        name += "".join(f"-qd{depth}" for depth in sorted({part.outstanding for part in step}))[:20]
    name = unique(name, taken)
    if len(streams) == 1:
        streams = [replace(streams[0], profile=replace(streams[0].profile, name=name))]
    loads = tuple(
        tuple(Workload(one.profile, Closed(depth, one.arrival.jobs)) for one in streams) for depth in depths
    ) or (tuple(streams),)
    return Entry(name, loads, *times_ns)


def _ranges(part: _Part, starts: list[int]) -> list[tuple[tuple[int, int], int]]:
    """((start, size) in sectors, jobs) of workers that share a range, or whose ranges lie side by side."""
    counts = Counter(starts)
    ordered = sorted(counts)
    beside = len(set(counts.values())) == 1 == counts[ordered[0]] and all(
        after - before == part.size_sectors for before, after in pairwise(ordered)
    )
    if beside:
        return [((ordered[0], part.size_sectors * len(ordered)), len(ordered))]
    return [((start, part.size_sectors), jobs) for start, jobs in sorted(counts.items())]


def _stream(name: str, spec: Specification, part: _Part, place: tuple[int, int], jobs: int, notes: Notes) -> Workload:
    start, size = (sectors * SECTOR_BYTES for sectors in place)
    lines = [line for line in spec.lines if line.share_percent]
    shares: dict[int, int] = {}
    for line in lines:
        if not BLOCK_BYTES[0] <= line.size_bytes <= BLOCK_BYTES[1]:
            raise line.place.fault(f"{line.size_bytes} is not a block size from 1 byte to 1 GiB", "Change the size.")
        shares[line.size_bytes] = shares.get(line.size_bytes, 0) + line.share_percent
        if line.reply_bytes:
            notes.add("a reply size is for networks: left out", name)
    if len(shares) > 64:
        raise spec.place.fault(f"{spec.name}: {len(shares)} sizes", "loadline takes at most 64.")
    read, random = (
        round(sum(getattr(line, key) * line.share_percent for line in lines) / 100)
        for key in ("read_percent", "random_percent")
    )
    if len({(line.read_percent, line.random_percent) for line in lines}) > 1:
        notes.add("its sizes have shares of reads or random requests of their own: their means count for all", name)
    if len({(line.delay_ms, line.burst) for line in lines}) > 1:
        notes.add("its sizes have delays of their own: the first one's counts for all", name)
    if any(line.align_bytes != min(shares) for line in lines) and random:
        notes.add("random places are multiples of the smallest size here, whatever the file's align says")
    if jobs > 1 and random < 100 and size == part.size_sectors * SECTOR_BYTES:
        notes.add(
            "Iometer's workers would go over the same blocks in sequence; here each job has a part of its own", name
        )
    if random < 100 and 0 < read < 100:
        notes.add(ONE_PLACE, name)
    profile = Profile(
        name=name,
        block=tuple(BlockShare(size_bytes, share / 100) for size_bytes, share in shares.items()),
        read_fraction=read / 100,
        random_fraction=random / 100,
        access_class=access_class(random / 100),
        working_set_bytes=size or None,
        start_bytes=start or None,
        think_time_ns=lines[0].delay_ms * 10**6,
        burst=max(1, lines[0].burst),
    )
    return Workload(profile, Closed(part.outstanding, jobs))
