"""The nearest points that a job file can say: for `export`. `run` never rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from loadline.units import format_duration, short
from loadline.workload.dialects.fio_job.write import (
    MOST_THINK_US,
    asked_per_s,
    missed_per_s,
    poisson_per_s,
    share_of_each,
    whole_percent,
)
from loadline.workload.dialects.text import Notes
from loadline.workload.plan import Point
from loadline.workload.profile import BlockShare, Open, Profile, Workload

_SHARES = {
    "read_fraction": "reads",
    "random_fraction": "random requests",
    "compressible_fraction": "compressible data",
    "duplicate_fraction": "repeated data",
}


def nearest(points: Sequence[Point], size_bytes: int | None) -> tuple[tuple[Point, ...], Notes]:
    """Points that `write` takes where they aren't exact, and notes of what is otherwise than it was asked.

    Shares, also those of a target of unknown size, are whole percents, think times whole microseconds, and rates those
    that fio makes of whole ones.

    Args:
        size_bytes: of the target, where it's known: parts of it are then said in bytes.
    """
    notes = Notes()
    return tuple(_nearest_point(point, size_bytes, notes) for point in points), notes


def _nearest_point(point: Point, size_bytes: int | None, notes: Notes) -> Point:
    streams = tuple(_nearest(stream, size_bytes, point.name, notes) for stream in point.streams)
    runtime_ns = point.runtime_ns
    if point.warmup_ns >= runtime_ns and any(isinstance(stream.arrival, Open) for stream in streams):
        runtime_ns += point.warmup_ns
        notes.add(
            "fio would end a rate within a warm-up that is as long as its run time: this becomes"
            f" {format_duration(runtime_ns)}",
            point.name,
        )
    return replace(point, streams=streams, runtime_ns=runtime_ns)


def _nearest(stream: Workload, size_bytes: int | None, name: str, notes: Notes) -> Workload:
    profile, changes = stream.profile, dict[str, Any]()
    for key, what in _SHARES.items():
        share = getattr(profile, key)
        if not _is_whole(share):
            changes[key] = round(share * 100) / 100
            notes.add(f"fio takes whole percents: the share of {what} is rounded", name)
    share = share_of_each(stream)
    in_percent = size_bytes is None and profile.working_set_bytes is None and share is not None
    if in_percent and share is not None and share >= 0.01 and whole_percent(share) is None:
        jobs = stream.arrival.jobs if profile.random_fraction < 1 else 1
        changes["working_set_fraction"] = math.floor(share * 100) * jobs / 100
        each = " of each job" * (jobs > 1)
        notes.add(
            f"fio takes whole percents: the part{each} is {math.floor(share * 100)}% of the target instead of"
            f" {share * 100:.4g}% (--size says it in bytes)",
            name,
        )
    profile = _think_time(_shares(replace(profile, **changes), name, notes), name, notes)
    return _open(replace(stream, profile=profile), name, notes)


def _shares(profile: Profile, name: str, notes: Notes) -> Profile:
    """The profile with whole percents of block sizes and zones."""
    if not all(_is_whole(each.share_fraction) for each in profile.block):
        percents = _whole_percents([each.share_fraction for each in profile.block])
        block = tuple(
            BlockShare(each.size_bytes, percent / 100) for each, percent in zip(profile.block, percents, strict=True)
        )
        profile = replace(profile, block=block)
        notes.add(f"fio takes whole percents: its block sizes are {profile.block_text()}", name)
    zones = profile.distribution.zones
    # Of more zones one would be left without a percent: that's an error.
    if len(zones) <= 100 and not all(_is_whole(share) for zone in zones for share in zone):
        accesses, spaces = (_whole_percents(shares) for shares in zip(*zones, strict=True))
        zones = tuple((access / 100, space / 100) for access, space in zip(accesses, spaces, strict=True))
        profile = replace(profile, distribution=replace(profile.distribution, zones=zones))
        said = ", ".join(f"{access:.0%} on {space:.0%}" for access, space in zones[:4])
        notes.add(f"fio takes whole percents: its zones are {said}{', ...' if len(zones) > 4 else ''}", name)
    return profile


def _is_whole(share: float) -> bool:
    return abs(share * 100 - round(share * 100)) <= 1e-6


def _whole_percents(shares: Sequence[float]) -> list[int]:
    """The nearest that are 100 together; none becomes 0, which fio takes for a share that isn't said."""
    percents = [max(1, math.floor(share * 100)) if share else 0 for share in shares]
    while rest := 100 - sum(percents):
        step = 1 if rest > 0 else -1
        others = (index for index, share in enumerate(shares) if share and percents[index] + step >= 1)
        percents[max(others, key=lambda index: step * (shares[index] * 100 - percents[index]))] += step
    return percents


def _think_time(profile: Profile, name: str, notes: Notes) -> Profile:
    think_us = min(MOST_THINK_US, max(1, round(profile.think_time_ns / 1000))) if profile.think_time_ns else 0
    if think_us * 1000 == profile.think_time_ns:
        return profile
    notes.add(
        f"fio's think time is whole microseconds, at most 35 min: it becomes {format_duration(think_us * 1000)}", name
    )
    return replace(profile, think_time_ns=think_us * 1000)


def _open(stream: Workload, name: str, notes: Notes) -> Workload:
    """An open load as fio can have it; others as they are."""
    profile, load = stream.profile, stream.arrival
    if not isinstance(load, Open):
        return stream
    if load.bursts is not None:
        load = replace(load, bursts=None)
        notes.add("fio's rate stays the same: bursts are left out", name)
    if profile.writes and profile.flush_every == 1:
        profile = replace(profile, flush_every=0, dsync=True)
        notes.add("a flush after every write together with a rate ends fio: O_DSYNC takes its place", name)
    each_per_s, read = load.rate_per_s / load.jobs, profile.read_fraction
    if missed_per_s(each_per_s, read) is not None:
        pair = min(_pairs(each_per_s, read), key=lambda pair: _distance(pair, each_per_s, read))
        total_per_s = sum(pair)
        if asked_per_s(total_per_s, read) != pair:
            profile = replace(profile, read_fraction=round(pair[0] / total_per_s, 2))
        jobs = "1 job" if load.jobs == 1 else f"{load.jobs} jobs"
        notes.add(
            f"fio takes whole rates of each job's reads and writes, and cuts gaps to whole microseconds:"
            f" {_rate(load.rate_per_s)} over {jobs} become {_rate(sum(map(poisson_per_s, pair)) * load.jobs)},"
            f" {pair[0] / total_per_s:.0%} of them reads (--jobs changes it)",
            name,
        )
        load = replace(load, rate_per_s=float(total_per_s * load.jobs))
    return Workload(profile, load)


def _rate(rate_per_s: float) -> str:
    return f"{short(rate_per_s)}/s"


def _distance(pair: tuple[int, int], each_per_s: float, read: float) -> float:
    meant = (each_per_s * read, each_per_s * (1 - read))
    return sum(abs(poisson_per_s(asked) - rate) for asked, rate in zip(pair, meant, strict=True))


def _pairs(each_per_s: float, read: float) -> Iterator[tuple[int, int]]:
    """Reads and writes a second of a job that may be the nearest."""
    shares = [share for share in (read, 1 - read) if share]
    # A rate of 0 is none for fio.
    reads, writes = (max(1, round(each_per_s * share)) if share else 0 for share in (read, 1 - read))
    if reads + writes <= 100:
        yield reads, writes
    totals = [each_per_s]
    # The next slower of fio's rates: its mean gap is a whole number of microseconds.
    totals += [10**6 // (10**6 // max(1, round(each_per_s * share)) + 1) / share for share in shares]
    for total_per_s in totals:
        pair = asked_per_s(total_per_s, read)
        if all(asked > 0 for asked, share in zip(pair, (read, 1 - read), strict=True) if share):
            yield pair
