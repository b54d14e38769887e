"""A stream as the plain numbers that models take: sizes, places and instants, no text, no shares of a target.

Where fio's way of submitting and a model's differ, docs/reference/suite.md says how one stands for the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from loadline.errors import InputError
from loadline.units import format_bytes, format_size
from loadline.workload.profile import Closed, Open, Profile, Workload

_ZIPF = 10
_OUTSTANDING = 1 << 24
_THINK_NS = 10**15


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What requests look like.

    Attributes:
        blocks: sizes in bytes with their weights.
        sequential_streams: places from which requests go on in sequence, evenly spread over the working set; jobs that
            share it if all requests go to random places.
        align_bytes: random places are multiples of it from `start_bytes`.
        spread: how random places are spread.
        spread_parameter: theta of zipf, h of pareto, deviation of normal as a share of the working set.
        spread_zones: share of requests and share of space of each zone.
    """

    blocks: tuple[tuple[int, float], ...]
    read_fraction: float
    random_fraction: float
    sequential_streams: int
    start_bytes: int
    working_set_bytes: int
    align_bytes: int
    spread: Literal["uniform", "zipf", "pareto", "normal", "zoned"]
    spread_parameter: float | None
    spread_zones: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class ModelClosed:
    """`outstanding` issuers, each of which does `burst` requests one after the other and then pauses for `think_ns`."""

    outstanding: int
    think_ns: int = 0
    burst: int = 1


@dataclass(frozen=True, slots=True)
class ModelOpen:
    """Requests come at `rate_per_s` on average, whatever is outstanding.

    Attributes:
        pattern: `modulated` goes to and fro between two Poisson streams.
        rates_per_s, stays_ns: of `modulated`, the rate in a burst and between bursts, and the mean stay in each.
        most_outstanding: None, for a model needs no cap. (`queue_depth` of an open load is the load generator's.)
    """

    rate_per_s: float
    pattern: Literal["poisson", "modulated"] = "poisson"
    rates_per_s: tuple[float, ...] = ()
    stays_ns: tuple[int, ...] = ()
    most_outstanding: int | None = None


ModelArrival: TypeAlias = ModelClosed | ModelOpen


@dataclass(frozen=True, slots=True)
class ModelStream:
    """What is asked of a model, and when."""

    profile: ModelProfile
    arrival: ModelArrival


def to_model(stream: Workload, capacity_bytes: int, logical_block_bytes: int = 512) -> ModelStream:
    """`stream` on a volume of `capacity_bytes` whose smallest request is `logical_block_bytes`.

    Raises:
        InputError: a working set larger than the volume, a block that is no multiple of the logical block, or something
            that models don't know: flushes, think times of an open load, zipf above 10. O_DSYNC says nothing of the
            stream itself, but of the system that may be asked (`system.asked.pairs`).
    """
    profile, jobs = stream.profile, stream.arrival.jobs
    _check(stream, logical_block_bytes)
    # Jobs that go in sequence lie side by side; random ones share all of the working set.
    parts = jobs if profile.random_fraction < 1 else 1
    largest = max(share.size_bytes for share in profile.block)
    start_bytes, wanted = _region(profile, capacity_bytes)
    each = wanted // parts // largest * largest
    if each == 0:
        beside = f"{parts} jobs side by side with " if parts > 1 else ""
        raise InputError(
            f"profile {profile.name}: {beside}blocks of {format_bytes(largest)} don't fit into {format_size(wanted)}",
            "Take a larger volume or working set, or fewer jobs.",
        )
    spread = profile.distribution
    parameter = spread.parameter
    if spread.kind == "normal" and parameter is not None:
        parameter /= 100
    asked = ModelProfile(
        blocks=tuple((share.size_bytes, share.share_fraction) for share in profile.block),
        read_fraction=profile.read_fraction,
        random_fraction=profile.random_fraction,
        sequential_streams=jobs,
        start_bytes=start_bytes,
        working_set_bytes=each * parts,
        # fio's own rule for a mix.
        align_bytes=min(share.size_bytes for share in profile.block),
        spread=spread.kind,
        spread_parameter=parameter,
        spread_zones=spread.zones,
    )
    return ModelStream(asked, _arrival(stream))


def _region(profile: Profile, capacity_bytes: int) -> tuple[int, int]:
    """Where the part of the volume that is touched begins, and its size, both in bytes."""
    start_bytes = profile.start_of(capacity_bytes)
    wanted = profile.working_set_of(capacity_bytes)
    if start_bytes + wanted > capacity_bytes:
        from_ = f" from {format_size(start_bytes)} on" if start_bytes else ""
        raise InputError(
            f"profile {profile.name}: working_set: {format_size(wanted)}{from_} is larger than the volume, which holds"
            f" {format_size(capacity_bytes)}",
            "Lower it, or give it in percent; or take more pool.drives, or a larger volume.size where that is set.",
        )
    return start_bytes, wanted


def _check(stream: Workload, logical_block_bytes: int) -> None:
    profile = stream.profile
    for share in profile.block:
        if share.size_bytes % logical_block_bytes:
            raise InputError(
                f"profile {profile.name}: a block of {share.size_bytes} bytes is no multiple of the volume's logical"
                f" block ({logical_block_bytes} bytes)",
                "Change `block` of the profile.",
            )
    unknown = {
        "flush_every": profile.writes and profile.flush_every > 0,
        "think_time": isinstance(stream.arrival, Open) and profile.think_time_ns > 0,
    }
    for key in (key for key, asked in unknown.items() if asked):
        what = "think times of an open load" if key == "think_time" else "flushes of a cache on request"
        raise InputError(f"profile {profile.name}: {key}: models don't know {what}", f"Leave {key} out.")
    if profile.distribution.kind == "zipf" and (profile.distribution.parameter or 0) > _ZIPF:
        raise InputError(
            f"profile {profile.name}: distribution: zipf = {profile.distribution.parameter:g} is more than the"
            f" {_ZIPF} that models take",
            "Nearly all requests go to one block then: give a small working_set instead.",
        )


def _arrival(stream: Workload) -> ModelArrival:
    arrival = stream.arrival
    if isinstance(arrival, Closed):
        return _closed(arrival, stream.profile)
    if arrival.bursts is None:
        return ModelOpen(arrival.rate_per_s)
    times, length_ns, every_ns = arrival.bursts.times, arrival.bursts.length_ns, arrival.bursts.every_ns
    quiet_ns = every_ns - length_ns
    quiet_per_s = arrival.rate_per_s * max(0.0, every_ns - times * length_ns) / quiet_ns
    rates_per_s = (arrival.rate_per_s * times, quiet_per_s)
    return ModelOpen(arrival.rate_per_s, "modulated", rates_per_s, (length_ns, quiet_ns))


def _closed(arrival: Closed, profile: Profile) -> ModelClosed:
    outstanding = arrival.queue_depth * arrival.jobs
    if outstanding > _OUTSTANDING:
        raise InputError(
            f"profile {profile.name}: {arrival.jobs} jobs of queue depth {arrival.queue_depth} are {outstanding:,}"
            f" outstanding, more than the {_OUTSTANDING:,} that models take",
            "Lower --jobs or --queue-depth.",
        )
    if not profile.think_time_ns:
        return ModelClosed(outstanding)
    # A job of fio sends `burst` requests, at most `queue_depth` at once, waits for all, and pauses. Here each of those
    # at once is an issuer with its part of the burst, rounded to whole requests, and the pause with it.
    at_once = min(arrival.queue_depth, profile.burst)
    burst = round(profile.burst / at_once)
    think_ns = round(profile.think_time_ns * burst * at_once / profile.burst)
    if think_ns > _THINK_NS:
        raise InputError(
            f"profile {profile.name}: think_time: {profile.think_time_ns / 1e9:,.0f} s are more than the"
            f" {_THINK_NS / 1e9:,.0f} s that models take",
            "Shorten it.",
        )
    return ModelClosed(at_once * arrival.jobs, think_ns, burst)
