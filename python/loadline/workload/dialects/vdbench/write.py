"""Points as a vdbench parameter file: a storage definition, and a workload and a run definition a point."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadline.units import format_bytes
from loadline.workload.dialects.text import Notes, fixed, one_line, seconds, unique
from loadline.workload.plan import Point
from loadline.workload.profile import Open, Profile, Workload
from loadline.workload.suite import DEPTHS

_SECTOR_BYTES = 512

_ONE_PLACE = (
    "jobs in sequence become threads of one storage: they go on from one common place, without ranges of their own"
)

# vdbench wants an interval to fit twice into the time.
_SHORTEST_S = 2


def write(points: Sequence[Point], *, title: str = "", size_bytes: int | None = None) -> tuple[str, Notes]:
    """A parameter file of the points, a run definition each, and what it can't say, with the nearest that it does.

    The target isn't in it: `vdbench -f FILE lun=/dev/sdX` gives it.

    Args:
        size_bytes: how much of the target is used; None: all of it, however much that is.

    Raises:
        InputError: a ramp.
    """
    notes, taken, works = Notes(), set[str](), dict[tuple[str, int], str]()
    runs: dict[str, str] = {}
    for point in fixed(points):
        texts: list[str] = []
        names = []
        for stream, share in zip(point.streams, _shares(point, notes), strict=True):
            _note_losses(stream, point.name, notes)
            text = _work(stream, point.name, notes, size_bytes, share=share)
            # A run takes each of its workloads once, and two may be alike.
            key = (text, texts.count(text))
            texts.append(text)
            if key not in works:
                works[key] = _unique(point.name if len(point.streams) == 1 else stream.profile.name, taken)
            names.append(works[key])
        runs[_unique(point.name, set(runs))] = _run(point, names, notes)
    size = "" if size_bytes is None else f",size={_text(size_bytes // _SECTOR_BYTES * _SECTOR_BYTES)}"
    rows = [
        *(f"* {line}" for line in (one_line(title), "vdbench -f FILE lun=TARGET") if line),
        *_content(points, notes),
        f"sd=sd1,lun=$lun{size},openflags=o_direct",
        *(f"wd={name},{text}" for (text, _), name in works.items()),
        *(f"rd={name},{text}" for name, text in runs.items()),
    ]
    for point in points:
        if _plain(point.name) != point.name:
            notes.add("names have only letters, digits and _ there: others became _", point.name)
    return "\n".join(rows) + "\n", notes


def _unique(name: str, taken: set[str]) -> str:
    """A name that vdbench takes, and that isn't taken yet; then it is."""
    return _plain(unique(_plain(name), taken, _plain))


def _plain(name: str) -> str:
    """A name of letters, digits and `_`, for vdbench reads more into others."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return plain if plain[:1].isalpha() else f"w_{plain}"


def _shares(point: Point, notes: Notes) -> list[float]:
    """The share of each stream in the requests of those that run together, by what says how many they are."""
    arrivals = [stream.arrival for stream in point.streams]
    rates = [arrival.rate_per_s for arrival in arrivals if isinstance(arrival, Open)]
    if rates and len(rates) < len(arrivals):
        notes.add(
            "vdbench has one rate for all that run together: as not all have one, theirs are left out", point.name
        )
    asked = rates if len(rates) == len(arrivals) else [stream.outstanding for stream in point.streams]
    return [each / sum(asked) for each in asked]


def _work(stream: Workload, point: str, notes: Notes, size_bytes: int | None, *, share: float) -> str:
    profile, jobs = stream.profile, stream.arrival.jobs
    read = round(profile.read_fraction * 100)
    if abs(read - profile.read_fraction * 100) > 1e-6:
        notes.add(f"rdpct is whole: {profile.read_fraction * 100:.6g} % is rounded", point)
    parts = ["sd=sd1", f"xfersize={_sizes(profile, point, notes)}", f"rdpct={read}"]
    parts.append(f"seekpct={_number(profile.random_fraction * 100)}")
    if place := _range(profile, point, notes, size_bytes):
        parts.append(f"range={place}")
    if jobs > 1 and profile.random_fraction < 1:
        # With streams vdbench takes every address from them, of all of the storage, and wants no rate and no company.
        if profile.random_fraction == 0 and not place and share == 1 and not isinstance(stream.arrival, Open):
            parts.append(f"streams={jobs}")
        else:
            notes.add(_ONE_PLACE, point)
    if profile.writes and profile.dsync:
        parts.append("openflags=(o_direct,o_dsync)")
    if share < 1:
        parts.append(f"skew={_number(share * 100)}")
        notes.add("vdbench keeps the rates of streams that run together in proportion (skew)", point)
    return ",".join(parts)


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _text(size_bytes: int) -> str:
    return format_bytes(size_bytes).lower()


def _sizes(profile: Profile, point: str, notes: Notes) -> str:
    sizes = [max(1, round(share.size_bytes / _SECTOR_BYTES)) * _SECTOR_BYTES for share in profile.block]
    if any(size != share.size_bytes for size, share in zip(sizes, profile.block, strict=True)):
        notes.add("sizes are multiples of 512 bytes: the nearest are taken", point)
    texts = [_text(size) for size in sizes]
    if len(texts) == 1:
        return texts[0]
    pairs = (f"{text},{_number(share.share_fraction * 100)}" for text, share in zip(texts, profile.block, strict=True))
    return f"({','.join(pairs)})"


def _range(profile: Profile, point: str, notes: Notes, size_bytes: int | None) -> str:
    """In percent, or in bytes where anything is in bytes."""
    in_bytes = profile.start_bytes is not None or profile.working_set_bytes is not None
    in_percent = profile.start_fraction > 0 or profile.working_set_fraction is not None
    if not in_bytes and not in_percent:
        return ""
    if not in_bytes:
        high = 1.0 if profile.working_set_fraction is None else profile.start_fraction + profile.working_set_fraction
        return f"({_number(profile.start_fraction * 100)},{_number(high * 100)})"
    known = size_bytes or 0
    if size_bytes is None and (
        profile.working_set_fraction is not None
        or (profile.start_bytes is None and profile.start_fraction > 0)
        or profile.working_set_bytes is None
    ):
        notes.add("a range is in percent or in bytes: without --size the working set is all of the target", point)
        return ""
    asked = (profile.start_of(known), profile.working_set_of(known))
    start = asked[0] // _SECTOR_BYTES * _SECTOR_BYTES
    length = max(1, asked[1] // _SECTOR_BYTES) * _SECTOR_BYTES
    if (start, length) != asked and in_bytes:
        notes.add("ranges are multiples of 512 bytes: those below are taken, but of one at least", point)
    return f"({start},{start + length})"


def _run(point: Point, names: list[str], notes: Notes) -> str:
    if any(ns % 10**9 for ns in (point.runtime_ns, point.warmup_ns)) or point.runtime_ns < _SHORTEST_S * 10**9:
        notes.add(f"vdbench's times are whole seconds, at least {_SHORTEST_S}: rounded up", point.name)
    rates = [stream.arrival.rate_per_s for stream in point.streams if isinstance(stream.arrival, Open)]
    rate = _number(max(1, sum(rates))) if len(rates) == len(point.streams) else "max"
    if rate != "max" and sum(rates) < 1:
        notes.add("rates are 1 a second at least: that is taken", point.name)
    threads = min(DEPTHS[1], sum(stream.outstanding for stream in point.streams))
    if any(stream.outstanding > threads for stream in point.streams):
        notes.add(f"threads are {DEPTHS[1]:,} at most: so many are taken", point.name)
    chosen = names[0] if len(names) == 1 else f"({','.join(names)})"
    warmup = f",warmup={seconds(point.warmup_ns)}" if point.warmup_ns else ""
    elapsed = max(_SHORTEST_S, seconds(point.runtime_ns))
    return f"wd={chosen},iorate={rate},elapsed={elapsed}{warmup},interval=1,forthreads=({threads})"


def _content(points: Sequence[Point], notes: Notes) -> list[str]:
    """How far data compress and repeat: one ratio for the file, the first profile's that writes."""
    written = [stream.profile for point in points for stream in point.streams if stream.profile.writes]
    kinds = list(dict.fromkeys((one.compressible_fraction, one.duplicate_fraction) for one in written))
    if len(kinds) > 1:
        notes.add("one kind of data for the file: that of the first profile that writes")
    compressible, duplicate = kinds[0] if kinds else (0.0, 0.0)
    if max(compressible, duplicate) >= 1:
        notes.add("data that is all alike has no ratio: 100 is taken")
    rows = []
    if compressible:
        rows.append(f"compratio={_number(1 / max(0.01, 1 - compressible))}")
    if duplicate:
        rows += [f"dedupratio={_number(1 / max(0.01, 1 - duplicate))}", "dedupunit=4k"]
    return rows


def _note_losses(stream: Workload, name: str, notes: Notes) -> None:
    profile = stream.profile
    if profile.distribution.kind != "uniform":
        notes.add(f"vdbench has no {profile.distribution.kind} distribution of addresses: it becomes uniform", name)
    if profile.writes and profile.flush_every:
        notes.add("vdbench has no flushes between writes: they are left out (o_dsync is nearest)", name)
    if profile.think_time_ns:
        notes.add("vdbench has no think time: it is left out", name)
    if isinstance(stream.arrival, Open) and stream.arrival.bursts is not None:
        notes.add("vdbench's rate stays the same: bursts are left out", name)
    if stream.arrival.jobs > 1 and profile.random_fraction == 1:
        notes.add("jobs at random places become threads of one storage", name)
