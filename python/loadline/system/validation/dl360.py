"""The field report on HP DL360 servers has conclusions instead of figures: its matrix is run, and each is judged.

"Hardly" means 10 % here, which is what the report itself says of generations; "orders of magnitude" a factor of 10.
Everything runs at a depth of 1, as the report's job file did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import median
from typing import TypeAlias

from loadline.result.schema import Result
from loadline.system.description import System
from loadline.system.drive import load_drive
from loadline.system.validation.comparison import Conclusion, Section, Verdict
from loadline.system.validation.load import Asking, described
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

_SYSTEMS = {"5": "dl360-g5-p400i", "6": "dl360-g6-p410i", "7": "dl360-g7-p410i", "8": "dl360p-g8-p420i"}
_DRIVES = {"3G 10K": "savvio-10k1-73", "6G 10K": "savvio-10k3-300", "6G 15K": "savvio-15k2-146"}
_ARRAYS = (("raid5", 3), ("raid5", 4), ("raid5", 8), ("raid10", 4), ("raid10", 8))
_LAYOUTS = ("raid5", "raid10")
# 256 MB for all, the report says: of Gen8's as much is left for data as of the same module of a P410i.
_MODULES = {"8": {"cache__read": "36MiB", "cache__write": "108MiB"}}
_CACHES = {"on": "write-back", "off": "off"}
_HARDLY = 0.1

# In latency between generations, the report says.
_HARDLY_LATENCY = 0.02

# There are 1,440 points.
_MOST_IOS = 2000

# Beside a rebuild hosts do little: units are rebuilt for so many times the I/Os of other points.
_REBUILDING = 10
_REBUILD_RATE = "50MB/s"
_MUCH_FASTER = 1.5


@dataclass(frozen=True, slots=True)
class Case:
    """A point of the matrix."""

    generation: str
    layout: str
    disks: int
    drive: str
    cache: str
    profile: str

    def matches(self, only: dict[str, object]) -> bool:
        """Whether its fields have these values; a tuple holds several."""
        values = {key: value if isinstance(value, tuple) else (value,) for key, value in only.items()}
        return all(getattr(self, key) in value for key, value in values.items())


Matrix: TypeAlias = dict[Case, Result]
Figure: TypeAlias = Callable[[Result], float | None]


def _iops(result: Result) -> float | None:
    return result.total.iops


def _mean_ms(result: Result) -> float | None:
    return None if result.total.latency_mean_ns is None else result.total.latency_mean_ns / 1e6


def _write_ms(result: Result) -> float | None:
    return None if result.write.latency_mean_ns is None else result.write.latency_mean_ns / 1e6


def _ratios(matrix: Matrix, field: str, pair: tuple[str, str], of: Figure = _iops, **only: object) -> list[float]:
    """A figure of the cases where `field` has the first value, over that of the same cases with the second."""
    found = []
    for case, result in matrix.items():
        other = matrix[replace(case, **{field: pair[1]})] if case.matches({**only, field: pair[0]}) else None  # type: ignore[arg-type]
        if other is not None and (above := of(result)) is not None and (below := of(other)):
            found.append(above / below)
    return found


def _span(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}, median {median(ratios):.2f}"


def _agrees(yes: bool, part: bool = False) -> Verdict:
    return "agrees" if yes else "in part" if part else "differs"


def conclusions(asking: Asking) -> Section:
    """Every generation, RAID level, number and kind of disks, cache on and off, under the twelve profiles: judged."""
    asking = replace(asking, ios=min(asking.ios, _MOST_IOS))
    points = make_plan(load_suite("typical-12")[0], Options(as_published=True), asking.seed)
    matrix = _run(asking, points)
    classes: dict[str, tuple[str, ...]] = {
        kind: tuple(point.profile_name for point in points if point.access_class == kind)
        for kind in ("random", "combined", "sequential")
    }
    found = [
        *_of_cache(matrix, asking, points),
        *_of_drives(matrix, classes, asking, points),
        *_of_generations(matrix, classes),
        *_of_faults(matrix, asking, points),
    ]
    about = (
        f"{len(matrix):,} simulated points: four generations, RAID 5 on 3, 4 and 8 disks and RAID 10 on 4 and 8, three"
        " kinds of disks, 256 MB of cache on and off, twelve profiles at a depth of 1."
    )
    systems = tuple(described(name) for name in _SYSTEMS.values())
    return Section("dl360", "HP DL360 Gen5 to Gen8: conclusions", about, systems, conclusions=tuple(found))


def _run(asking: Asking, points: Sequence[Point]) -> Matrix:
    cases = [
        Case(generation, layout, disks, drive, cache, point.profile_name)
        for generation, (layout, disks), drive, cache in product(_SYSTEMS, _ARRAYS, _DRIVES, _CACHES)
        for point in points
    ]
    by_name = {point.profile_name: point for point in points}
    asked = [(_system(case), by_name[case.profile]) for case in cases]
    return dict(zip(cases, asking.rows(asked), strict=True))


def _system(case: Case, **more: str) -> System:
    return described(
        _SYSTEMS[case.generation],
        volume__layout=case.layout,
        pool__drives=str(case.disks),
        pool__drive=_DRIVES[case.drive],
        cache__mode=_CACHES[case.cache],
        **_MODULES.get(case.generation, {}),
        **more,
    )


def _of_cache(matrix: Matrix, asking: Asking, points: Sequence[Point]) -> Iterator[Conclusion]:
    newer = ("6", "7", "8")
    by_profile = {
        profile: median(_ratios(matrix, "cache", ("on", "off"), generation=newer, profile=profile))
        for profile in dict.fromkeys(case.profile for case in matrix)
    }
    gain = median(by_profile.values())
    most = max(by_profile, key=by_profile.__getitem__)
    yield Conclusion(
        "The cache board gives up to 40 % more IOPS (Gen6 to Gen8).",
        _agrees(1 < max(by_profile.values()) <= 1.4 + _HARDLY, part=gain > 1),
        f"median over profiles {gain:.2f} times; "
        + ", ".join(f"{key} {value:.2f}" for key, value in by_profile.items()),
        f"At depth 1 a cached write costs no disk access, so what only writes ({most}) gains most.",
    )
    latency = _ratios(matrix, "cache", ("off", "on"), _write_ms, generation=newer)
    yield Conclusion(
        "With it latency is orders of magnitude less.",
        _agrees(median(latency) >= 10, part=max(latency) >= 10),
        f"mean latency of writes without cache over with it: {_span(latency)}",
        "Of writes. Reads find next to nothing in a cache that is small beside the disks, except in sequence.",
    )
    oldest = _ratios(matrix, "cache", ("on", "off"), generation="5")
    rest = _ratios(matrix, "cache", ("on", "off"), generation=newer)
    yield Conclusion(
        "Gen5's P400i is the exception: its cache isn't worth using.",
        _agrees(median(oldest) < 1.02, part=median(oldest) < median(rest) * (1 - _HARDLY)),
        f"IOPS with cache over without, Gen5: {_span(oldest)}; Gen6 to Gen8: {_span(rest)}",
        "Nothing that is public about the P400i says why; in the model a cache is a cache.",
    )
    yield _of_battery(matrix, asking, points)


def _of_battery(matrix: Matrix, asking: Asking, points: Sequence[Point]) -> Conclusion:
    base = Case("6", "raid10", 4, "6G 15K", "on", "")
    writing = [point for point in points if point.writes]
    cases = [(replace(base, layout=layout, profile=one.profile_name), one) for layout in _LAYOUTS for one in writing]
    alive = [matrix[case] for case, _ in cases]
    dead = asking.rows([(_system(case, cache__battery="failed"), point) for case, point in cases])
    slower = [(_write_ms(b) or 0.0) / (_write_ms(a) or 1.0) for a, b in zip(alive, dead, strict=True)]
    left = [(b.total.iops or 0.0) / (a.total.iops or 1.0) for a, b in zip(alive, dead, strict=True)]
    return Conclusion(
        "Who lives on the hardware cache sits on a mine, for the day its battery dies (a reader).",
        _agrees(median(slower) >= 10 and median(left) < 1 - _HARDLY, part=max(slower) >= 10),
        "battery failed over battery good (Gen6, RAID 5 and 10 of four 6G 15K disks, all profiles that write):"
        f" mean latency of writes {_span(slower)}; IOPS {_span(left)}",
        "Without its battery the controller lets writes through. What only reads loses nothing.",
    )


def _of_drives(
    matrix: Matrix, classes: dict[str, tuple[str, ...]], asking: Asking, points: Sequence[Point]
) -> Iterator[Conclusion]:
    by_class = {
        kind: median(_ratios(matrix, "drive", ("6G 15K", "6G 10K"), profile=profiles, cache="off"))
        for kind, profiles in classes.items()
    }
    yield Conclusion(
        "Rotation speed matters (15K against 10K), most on random access.",
        _agrees(
            by_class["random"] == max(by_class.values()) and by_class["random"] > 1 + _HARDLY, by_class["random"] > 1
        ),
        "IOPS at 15K over 10K, cache off: " + ", ".join(f"{kind} {value:.2f}" for kind, value in by_class.items()),
        "Single sequential writes at depth 1 wait for a revolution each, so they gain from speed as well.",
    )
    base = Case("6", "raid10", 4, "6G 10K", "on", "")
    slow, fast = (
        asking.rows([(_system(base, backend__link=link), point) for point in points]) for link in ("sas-3g", "sas-6g")
    )
    links = [(b.total.iops or 0.0) / (a.total.iops or 1.0) for a, b in zip(slow, fast, strict=True)]
    yield Conclusion(
        "3G against 6G links hardly matters.",
        _agrees(max(links) < 1 + _HARDLY, part=median(links) < 1 + _HARDLY),
        f"IOPS of the same disks with 6G over 3G links (Gen6, RAID 10 of 4): {_span(links)}",
    )
    by_layout = [
        (matrix[case].total.iops or 0.0) / (matrix[replace(case, layout="raid5")].total.iops or 1.0)
        for case in matrix
        if case.matches({"layout": "raid10", "disks": 4, "drive": "6G 15K", "profile": classes["random"]})
    ]
    yield Conclusion(
        "Recommended: RAID 10 of four 6G 15K disks.",
        "in part" if median(by_layout) > 1 else "differs",
        f"IOPS of RAID 10 over RAID 5 on the same four disks, random profiles: {_span(by_layout)}",
        "No prices are here.",
    )
    yield _of_rebuilding(asking, points)


def _of_rebuilding(asking: Asking, points: Sequence[Point]) -> Conclusion:
    """Beside a load that waits: how fast a failed disk is rebuilt, and what hosts get meanwhile."""
    (load,) = (point for point in points if point.profile_name == "oltp-db")
    base = Case("6", "", 4, "6G 15K", "on", load.profile_name)
    failed = {"pool__failed": "1", "pool__rebuild_rate": _REBUILD_RATE}
    asked = [(_system(replace(base, layout=layout), **failed), load) for layout in _LAYOUTS]
    rows = replace(asking, ios=_REBUILDING * asking.ios).rows(asked)
    drive = load_drive(_DRIVES[base.drive])
    rates = [_rebuilt_bytes_per_s(row) for row in rows]
    minutes = [drive.capacity_bytes / rate / 60 if rate else float("inf") for rate in rates]
    iops = [row.total.iops or 0.0 for row in rows]
    return Conclusion(
        "RAID 10 rebuilds much faster.",
        _agrees(rates[1] >= _MUCH_FASTER * rates[0], part=rates[1] >= rates[0] and iops[1] > iops[0] * (1 + _HARDLY)),
        f"a failed one of four 6G 15K disks, {_REBUILD_RATE} asked for, beside {load.profile_name} at depth 1 (Gen6):"
        f" RAID 5 {rates[0] / 1e6:.0f} MB/s, {minutes[0]:.0f} minutes, {iops[0]:.0f} IOPS meanwhile;"
        f" RAID 10 {rates[1] / 1e6:.0f} MB/s, {minutes[1]:.0f} minutes, {iops[1]:.0f} IOPS",
        "Either writes one disk from end to end, at the rate that is asked for. RAID 5 reads all of the others for it,"
        " RAID 10 one: what hosts are left with differs more.",
    )


def _rebuilt_bytes_per_s(result: Result) -> float:
    """The rate that a rebuild reached; 0 if the row tells none."""
    told = [one["numbers"] for one in result.findings if one["check"] == "rebuild"]
    return float(told[0]["reached_bytes_per_s"]) if told else 0.0


def _of_generations(matrix: Matrix, classes: dict[str, tuple[str, ...]]) -> Iterator[Conclusion]:
    pairs = [("7", "6"), ("8", "6"), ("8", "7")]
    off = [ratio for pair in pairs for ratio in _ratios(matrix, "generation", pair, cache="off")]
    on = [ratio for pair in pairs for ratio in _ratios(matrix, "generation", pair, cache="on")]
    near = sum(abs(ratio - 1) <= _HARDLY for ratio in (*off, *on)) / len((*off, *on))
    yield Conclusion(
        "Server generation hardly matters: at most 10 % in IOPS between Gen6, 7 and 8.",
        _agrees(near == 1, part=near > 0.8),
        f"{near:.0%} of pairs differ by 10 % or less; ratios with cache off {_span(off)}; on {_span(on)}",
        "The P420i's faster processor, longer strips and reading ahead show where the cache serves.",
    )
    latency = [ratio for pair in pairs for ratio in _ratios(matrix, "generation", pair, _mean_ms)]
    alike = sum(abs(ratio - 1) <= _HARDLY_LATENCY for ratio in latency) / len(latency)
    products = [(_iops(result) or 0.0) * (_mean_ms(result) or 0.0) / 1e3 for result in matrix.values()]
    yield Conclusion(
        "Between Gen6, 7 and 8 latency differs by at most 2 %.",
        _agrees(alike == 1, part=alike > 0.8),
        f"{alike:.0%} of pairs differ by 2 % or less; ratios {_span(latency)}; IOPS times latency {_span(products)}",
        "Latency is 1 / IOPS at a depth of 1 (Little's law): where IOPS differ by 10 %, latency differs by 9 or more."
        " The report's two figures can't both be of the same runs.",
    )
    sequential = _ratios(matrix, "generation", ("5", "6"), profile=classes["sequential"])
    yield Conclusion(
        "Gen5 falls behind on sequential access.",
        _agrees(median(sequential) < 1 - _HARDLY, part=median(sequential) < 1),
        f"IOPS of Gen5 over Gen6, sequential profiles: {_span(sequential)}",
        "In the model only the processor's time for a command differs at depth 1.",
    )
    same = _ratios(matrix, "generation", ("7", "6"), drive="3G 10K")
    yield Conclusion(
        "Gen7 is slower than Gen6 with 3G 10K disks, unexplained.",
        _agrees(median(same) < 0.98),
        f"IOPS of Gen7 over Gen6: {_span(same)}",
        "Both have the same controller with the same figures; whatever differed isn't public.",
    )


def _of_faults(matrix: Matrix, asking: Asking, points: Sequence[Point]) -> Iterator[Conclusion]:
    mixed = [
        point for point in points if 0 < point.streams[0].profile.read_fraction < 1 and point.access_class == "random"
    ]
    names = tuple(point.profile_name for point in mixed)
    uncached = [
        _write_over_read(result) for case, result in matrix.items() if case.matches({"cache": "off", "profile": names})
    ]
    base = Case("8", "raid10", 4, "6G 10K", "off", "")
    forgotten = [
        _write_over_read(result)
        for result in asking.rows([(_system(base, pool__write_cache="true"), p) for p in mixed])
    ]
    yield Conclusion(
        "Write latency below read latency without cache can't be: some write-back cache was on.",
        _agrees(min(uncached) >= 1 and max(forgotten) < 1, part=median(uncached) >= 1 and max(forgotten) < 1),
        f"mean of writes over reads, random mixes: caches off {_span(uncached)}; the disks' own on {_span(forgotten)}",
    )
    writes = [ms for result in matrix.values() if (ms := _write_ms(result)) is not None]
    yield Conclusion(
        "Writes alone span 0.2 to 7 ms, so that a log scale is needed.",
        _agrees(max(writes) / min(writes) >= 10),
        f"means of the matrix: {min(writes):.2f} to {max(writes):.1f} ms",
        "Cached writes are faster in the model: real drivers and interrupts take longer than the assumed 15 µs.",
    )
    deep = make_plan(
        load_suite("typical-12")[0], Options(only=("media-streaming", "decision-support-system-db")), asking.seed
    )
    cases = [Case(generation, "raid10", 4, "6G 15K", "on", "") for generation in _SYSTEMS]
    rows = asking.rows([(_system(case), point) for case in cases for point in deep])
    buses = [max((share for name, share in row.components.items() if "bus" in name), default=0.0) for row in rows]
    yield Conclusion(
        "Measured, four 6G disks showed no bottleneck in the bus, against the arithmetic of link rates.",
        _agrees(max(buses) < 0.9),
        f"utilisation of the controller's bus, 64 KB and 1 MB reads at depth 32: at most {max(buses):.2f}",
        "Four disks deliver what their media do, a fraction of what their links carry.",
    )


def _write_over_read(result: Result) -> float:
    return (result.write.latency_mean_ns or 0.0) / (result.read.latency_mean_ns or 1.0)
