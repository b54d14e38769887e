"""What a row asks for besides its load, in words: what of it differs makes lines of their own.

Knows neither curves nor Vega. Start reading at `asked`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loadline.result.schema import Result
from loadline.units import format_bytes, format_duration, format_percent, format_size


def asked(row: Result) -> tuple[str, ...]:
    """A word for each of `_WORDS`, in their order; empty words where nothing is known. Of streams those that differ."""
    profiles = [profile for stream in streams(row) if isinstance(profile := stream.get("profile"), Mapping)]
    return tuple(" + ".join(dict.fromkeys(word(profile) for profile in profiles)) for word in _WORDS)


#: So many of the words tell what one calls a load by; the others are told only where one source has several.
CALLED_BY = 3


def streams(row: Result) -> list[Mapping[str, Any]]:
    """What was asked for, stream by stream."""
    found = row.workload if isinstance(row.workload, list) else [row.workload]
    return [stream for stream in found if isinstance(stream, Mapping)]


def follows(row: Result) -> bool:
    """Whether requests of a closed load follow each other in order: there each job is a stream with its own place."""
    profiles = [profile for stream in streams(row) if isinstance(profile := stream.get("profile"), Mapping)]
    shares = [share for profile in profiles if (share := profile.get("random_fraction")) is not None]
    return row.offered_per_s is None and any(share < 1 for share in shares)


def _size(profile: Mapping[str, Any]) -> str:
    blocks = [share["size_bytes"] for share in profile.get("block") or ()]
    return format_bytes(blocks[0]) if len(blocks) == 1 else "mixed blocks"


def _share(key: str, of: str, unless: float) -> Callable[[Mapping[str, Any]], str]:
    def word(profile: Mapping[str, Any]) -> str:
        share = profile.get(key)
        return f"{format_percent(unless if share is None else share)} {of}"

    return word


def _mix(profile: Mapping[str, Any]) -> str:
    """The shares of a mix: two mixes are two loads."""
    blocks = profile.get("block") or ()
    shares = (f"{format_bytes(one['size_bytes'])} {format_percent(one['share_fraction'])}" for one in blocks)
    return "/".join(shares) if len(blocks) > 1 else "one size"


def _working_set(profile: Mapping[str, Any]) -> str:
    size, share = profile.get("working_set_bytes"), profile.get("working_set_fraction")
    if size is not None:
        return f"working set {format_size(size)}"
    return "working set of all" if share is None else f"working set {format_percent(share)}"


def _start(profile: Mapping[str, Any]) -> str:
    begin = profile.get("start_bytes")
    said = format_percent(profile.get("start_fraction") or 0.0) if begin is None else format_size(begin)
    return f"from {said} on"


def _distribution(profile: Mapping[str, Any]) -> str:
    spread = profile.get("distribution") or {}
    parameter, zones = spread.get("parameter"), spread.get("zones") or ()
    parts = [spread.get("kind") or "uniform", *([] if parameter is None else [f"{parameter:g}"])]
    said = ":".join(f"{100 * accesses:g}/{100 * space:g}" for accesses, space in zones)
    return " ".join([*parts, *([said] if said else [])])


def _flushes(profile: Mapping[str, Any]) -> str:
    every = profile.get("flush_every")
    return f"a flush every {every:,} writes" if every else "no flushes"


def _dsync(profile: Mapping[str, Any]) -> str:
    return "dsync" if profile.get("dsync") else "no dsync"


def _pauses(profile: Mapping[str, Any]) -> str:
    pause, burst = profile.get("think_time_ns"), profile.get("burst") or 1
    after = "" if burst == 1 else f" after {burst:,}"
    return f"pauses of {format_duration(pause)}{after}" if pause else "no pauses"


_WORDS: tuple[Callable[[Mapping[str, Any]], str], ...] = (
    _size,
    _share("read_fraction", "read", 1),
    _share("random_fraction", "random", 1),
    _mix,
    _working_set,
    _start,
    _distribution,
    _flushes,
    _dsync,
    _pauses,
    _share("compressible_fraction", "compressible", 0),
    _share("duplicate_fraction", "duplicate", 0),
)

#: Which of the words says where it begins.
START = _WORDS.index(_start)
