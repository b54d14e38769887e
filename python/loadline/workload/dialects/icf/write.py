"""Points as Iometer's configuration file.

Iometer has outstanding I/Os, size and start by worker, and everything else by access specification. All workers go
from step to step together, each with the specification that it is assigned for that step, or with Idle. So a worker is
made for each combination of the former, and a step for each point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loadline.workload.dialects.icf.read import ONE_PLACE, SECTOR_BYTES
from loadline.workload.dialects.text import Notes, fixed, one_line, seconds, unique
from loadline.workload.plan import Point
from loadline.workload.profile import Open, Profile, Workload

#: Of the version whose form this is: Iometer 1.1.0.
_VERSION = "Version 1.1.0"
_MOST_WORKERS = 64
_BAR = "=" * 57
_OUTSTANDING = (
    "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value"
)

_WHOLE_SECTORS = "Iometer counts sectors of 512 bytes: what isn't whole is rounded down, but not to none"


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a worker has of its own."""

    outstanding: int
    size_sectors: int
    start_sector: int


@dataclass(slots=True)
class _Worker:
    setting: _Setting
    steps: list[str] = field(default_factory=list)


def write(points: Sequence[Point], *, title: str = "", size_bytes: int | None = None) -> tuple[str, Notes]:
    """An .icf file of the points, a step each, and what it can't say, with the nearest that it does.

    Args:
        size_bytes: how much of the target is used; None: all of it, however much that is.

    Raises:
        InputError: a ramp.
    """
    notes = Notes()
    points = _without_rates(fixed(points), notes)
    specs: dict[tuple[str, ...], str] = {}
    taken: set[str] = {"idle"}
    crew: list[_Worker] = []
    for number, point in enumerate(points):
        for stream in point.streams:
            _note_losses(stream, point.name, notes)
            asked = (_name(stream.profile, point, points), *_lines(stream.profile, point.name, notes))
            if asked not in specs:
                # For Iometer names that differ in case only are one.
                specs[asked] = unique(asked[0], taken, str.lower)
            for setting in _settings(stream, size_bytes, point.name, notes):
                _assign(crew, setting, number, specs[asked])
    for worker in crew:
        worker.steps += ["Idle"] * (len(points) - len(worker.steps))
    text = [_VERSION, *_setup(points, title, notes), *_specifications(specs), *_managers(crew, points, notes), _VERSION]
    return "\r\n".join(text) + "\r\n", notes


def _without_rates(points: Sequence[Point], notes: Notes) -> list[Point]:
    """The points, of those that differ in the rates of open loads only the first: without a rate they are one load."""
    found: dict[object, list[Point]] = {}
    for point in points:
        streams = tuple(
            replace(one, arrival=replace(one.arrival, rate_per_s=0.0)) if isinstance(one.arrival, Open) else one
            for one in point.streams
        )
        # Closed loads that are alike are repetitions.
        alike = (streams, point.runtime_ns, point.warmup_ns) if streams != point.streams else point.name
        found.setdefault(alike, []).append(point)
    for several in found.values():
        caps = [
            one.arrival.queue_depth * one.arrival.jobs for one in several[0].streams if isinstance(one.arrival, Open)
        ]
        once = "" if len(several) == 1 else f", and is written once for {len(several)} rates"
        for point in several if caps else ():
            outstanding = " and ".join(f"{cap:,}" for cap in dict.fromkeys(caps))
            message = f"the load becomes closed, at the most that it may have outstanding ({outstanding}){once}"
            notes.add(f"Iometer has no rate: {message}", point.name)
    return [several[0] for several in found.values()]


def _assign(crew: list[_Worker], setting: _Setting, step: int, spec: str) -> None:
    """Gives the step's work to a worker with that setting who has nothing to do in it yet."""
    worker = next((one for one in crew if one.setting == setting and len(one.steps) <= step), None)
    if worker is None:
        worker = _Worker(setting)
        crew.append(worker)
    worker.steps += ["Idle"] * (step - len(worker.steps)) + [spec]


def _name(profile: Profile, point: Point, points: Sequence[Point]) -> str:
    """The profile's name, or the point's without its load where the profile's stands for several."""
    alike = {one.profile for other in points for one in other.streams if one.profile.name == profile.name}
    if len(alike) == 1 or len(point.streams) > 1:
        return profile.name[:70]
    return re.sub(r"(-qd[0-9]+)?(-j[0-9]+)?(-r[0-9.e+]+)?$", "", point.name)[:70]


def _lines(profile: Profile, name: str, notes: Notes) -> list[str]:
    read, random = (
        _percent(fraction, what, name, notes)
        for fraction, what in ((profile.read_fraction, "reads"), (profile.random_fraction, "random requests"))
    )
    delay_ms = round(profile.think_time_ns / 10**6)
    if delay_ms * 10**6 != profile.think_time_ns:
        delay_ms = max(1, delay_ms)
        notes.add(f"Iometer's delay is whole ms: think time becomes {delay_ms} ms", name)
    align = min(share.size_bytes for share in profile.block)
    # A burst counts only where there is a pause.
    how = f"{read},{random},{delay_ms},{profile.burst if delay_ms else 1},{align},0"
    shares = _whole([share.share_fraction * 100 for share in profile.block])
    if any(abs(share.share_fraction * 100 - whole) > 1e-6 for share, whole in zip(profile.block, shares, strict=True)):
        notes.add("shares of block sizes are rounded to whole percents", name)
    return [f"{share.size_bytes},{whole},{how}" for share, whole in zip(profile.block, shares, strict=True) if whole]


def _whole(shares: list[float]) -> list[int]:
    """Whole numbers with the same sum, 100: the largest remainders are rounded up."""
    floors = [int(share + 1e-9) for share in shares]
    order = sorted(range(len(shares)), key=lambda n: floors[n] - shares[n])
    for n in order[: 100 - sum(floors)]:
        floors[n] += 1
    return floors


def _percent(fraction: float, what: str, name: str, notes: Notes) -> int:
    percent = round(fraction * 100)
    if abs(percent - fraction * 100) > 1e-6:
        notes.add(f"share of {what}: {fraction * 100:.6g} % is rounded to a whole percent", name)
    return percent


def _settings(stream: Workload, size_bytes: int | None, name: str, notes: Notes) -> list[_Setting]:
    """The worker of each job."""
    profile, load = stream.profile, stream.arrival
    depth, jobs = load.queue_depth, load.jobs
    if jobs > _MOST_WORKERS:
        notes.add(f"more than {_MOST_WORKERS} workers: one with all that is outstanding", name)
        depth, jobs = min(depth * jobs, 65536), 1
    start, size = _range(profile, size_bytes, name, notes)
    if jobs == 1 or profile.random_fraction == 1:
        return [_Setting(depth, size, start)] * jobs
    step = max(share.size_bytes for share in profile.block) // SECTOR_BYTES or 1
    each = size // jobs // step * step
    if not each:
        notes.add("jobs side by side need the target's size (--size): here all begin at the same sector", name)
    return [_Setting(depth, each, start + number * each) for number in range(jobs)]


def _range(profile: Profile, size_bytes: int | None, name: str, notes: Notes) -> tuple[int, int]:
    """Start and size in sectors; 0 for all of the target."""
    in_percent = profile.working_set_fraction is not None or (
        profile.start_bytes is None and profile.start_fraction > 0
    )
    if in_percent and size_bytes is None:
        notes.add(
            "Iometer counts sectors: a share of the target becomes all of it, unless --size says how large it is", name
        )
        return 0, _sectors(profile.working_set_bytes or 0, name, notes)
    start_bytes = profile.start_of(size_bytes or 0)
    if profile.start_bytes is not None and start_bytes % SECTOR_BYTES:
        notes.add(_WHOLE_SECTORS, name)
    start = start_bytes // SECTOR_BYTES
    if size_bytes is None and profile.working_set_bytes is None:
        return start, 0
    if profile.working_set_bytes is not None:
        return start, _sectors(profile.working_set_bytes, name, notes)
    return start, profile.working_set_of(size_bytes or 0) // SECTOR_BYTES


def _sectors(size_bytes: int, name: str, notes: Notes) -> int:
    """The sectors of so many bytes: one at least, as 0 is all of the target."""
    if size_bytes % SECTOR_BYTES:
        notes.add(_WHOLE_SECTORS, name)
    return max(1, size_bytes // SECTOR_BYTES) if size_bytes else 0


def _note_losses(stream: Workload, name: str, notes: Notes) -> None:
    profile = stream.profile
    if profile.distribution.kind != "uniform":
        notes.add(f"Iometer has no {profile.distribution.kind} distribution of addresses: it becomes uniform", name)
    if profile.random_fraction < 1 and 0 < profile.read_fraction < 1:
        notes.add(ONE_PLACE, name)
    if profile.writes and (profile.dsync or profile.flush_every):
        notes.add("Iometer has no O_DSYNC and no flushes: its writes end where the target says that they do", name)
    if profile.writes and profile.duplicate_fraction:
        notes.add("Iometer has no duplicate data: it becomes unique", name)


def _setup(points: Sequence[Point], title: str, notes: Notes) -> list[str]:
    runtimes, warmups = ({seconds(ns) for ns in all_ns} for all_ns in _times(points))
    if len(runtimes) > 1 or len(warmups) > 1:
        notes.add(f"Iometer has one time for all: {max(runtimes)} s after {max(warmups)} s of ramp up, the longest")
    if any(ns % 10**9 for all_ns in _times(points) for ns in all_ns):
        notes.add("Iometer's times are whole seconds: rounded up")
    hours, rest = divmod(max(runtimes), 3600)
    return [
        f"'TEST SETUP {_BAR}=======",
        "'Test Description",
        f"\t{one_line(title)}",
        "'Run Time",
        "'\thours      minutes    seconds",
        f"\t{hours:<11}{rest // 60:<11}{rest % 60}",
        "'Ramp Up Time (s)",
        f"\t{max(warmups)}",
        "'Default Disk Workers to Spawn",
        "\tNUMBER_OF_CPUS",
        "'Default Network Workers to Spawn",
        "\t0",
        "'Record Results",
        "\tALL",
        "'Worker Cycling",
        "'\tstart      step       step type",
        "\t1          1          LINEAR",
        "'Disk Cycling",
        "'\tstart      step       step type",
        "\t1          1          LINEAR",
        "'Queue Depth Cycling",
        "'\tstart      end        step       step type",
        "\t1          32         2          EXPONENTIAL",
        "'Test Type",
        "\tNORMAL",
        "'END test setup",
    ]


def _times(points: Sequence[Point]) -> tuple[list[int], list[int]]:
    return [point.runtime_ns for point in points], [point.warmup_ns for point in points]


def _specifications(specs: dict[tuple[str, ...], str]) -> list[str]:
    lines = [f"'ACCESS SPECIFICATIONS {_BAR}"]
    for (_, *rows), name in specs.items():
        lines += ["'Access specification name,default assignment", f"\t{name},NONE"]
        lines += ["'size,% of size,% reads,% random,delay,burst,align,reply", *(f"\t{row}" for row in rows)]
    return [*lines, "'END access specifications"]


def _managers(crew: list[_Worker], points: Sequence[Point], notes: Notes) -> list[str]:
    lines = [f"'MANAGER LIST {_BAR}=====", "'Manager ID, manager name", "\t1,", "'Manager network address", "\t"]
    # 0 are repeating bytes, 2 is full random.
    written = [stream.profile for point in points for stream in point.streams if stream.profile.writes]
    pattern = 0 if written and all(profile.compressible_fraction >= 0.5 for profile in written) else 2
    for profile in written:
        if profile.compressible_fraction not in (0.0, 1.0) or (profile.compressible_fraction == 1) != (pattern == 0):
            what = "repeating bytes" if pattern == 0 else "random bytes"
            notes.add(f"Iometer has no compressible share of data: {what} are written", profile.name)
    for number, worker in enumerate(crew, 1):
        setting = worker.setting
        lines += [
            "'Worker",
            f"\tWorker {number}",
            "'Worker type",
            "\tDISK",
            "'Default target settings for worker",
            _OUTSTANDING,
            f"\t{setting.outstanding},DISABLED,1,DISABLED,0",
            "'Disk maximum size,starting sector,Data pattern",
            f"\t{setting.size_sectors},{setting.start_sector},{pattern}",
            "'End default target settings for worker",
            "'Assigned access specs",
            *(f"\t{step}" for step in worker.steps),
            "'End assigned access specs",
            "'Target assignments",
            "'End target assignments",
            "'End worker",
        ]
    return [*lines, "'End manager", "'END manager list"]
