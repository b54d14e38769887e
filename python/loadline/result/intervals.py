"""What a measured point did second by second: fio's statuses again, with the histograms that its series leaves out."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from loadline._core import Interval, StatusStream
from loadline.result.repeats import places_in
from loadline.result.schema import Result
from loadline.result.store import Run, read_rows

#: The intervals that a row counts, in order of time; none where they aren't kept.
Intervals = Callable[[Result], Sequence[Interval]]

_PIECE_BYTES = 1 << 22

# What was left out of the beginning must be a whole number of intervals, and fio's last status may be missing.
_UNLIKE = 0.1

# Rows say when they began in whole ms; intervals are much longer.
_ROUNDED_NS = 10**7


def intervals_in(runs: Sequence[Run]) -> Intervals:
    """Finds the intervals of a row of those runs.

    There are none of what was imported, and of points of rounds, whose row is of some rounds only.
    """
    place = places_in(runs)

    @lru_cache(maxsize=4)
    def of(folder: Path, target: int | None, warmup_ns: int, started_ns: int | None) -> Sequence[Interval]:
        return read_intervals(folder, target, warmup_ns, started_ns)

    def find(row: Result) -> Sequence[Interval]:
        at = place(row)
        if at is None or row.origin != "measured" or not row.runtime_ns:
            return ()
        run, index = at
        folder = run.point_path(index)
        if run.plan[index].rounds is not None:
            return ()
        each = [one.target for one in read_rows(folder)[1:]]
        target = each.index(row.target) if row.target in each else None
        return _counted(of(folder, target, *_own_warmup(row)), row)

    return find


def ending_of(target: int) -> str:
    """What the names of fio's jobs on a target, one of several by its number from 0, end in."""
    return f".target-{target + 1}"


def read_intervals(
    folder: Path, target: int | None = None, warmup_ns: int = 0, started_ns: int | None = None
) -> Sequence[Interval]:
    """What fio said of the measured time in a point's folder: of one of several targets, by number from 0, or of all.

    None where it isn't kept, or damaged.

    Args:
        warmup_ns: how much of the beginning isn't measured time though fio took it for that.
        started_ns: when that began.
    """
    stream = StatusStream("" if target is None else ending_of(target), warmup_ns, started_ns)
    found = list[Interval]()
    try:
        with gzip.open(folder / "fio.json.gz") as raw:
            while piece := raw.read(_PIECE_BYTES):
                found += stream.feed(piece)
    except (OSError, EOFError, zlib.error):
        return ()
    return [interval for interval in found if not interval.warmup]


def counted_intervals(folder: Path, row: Result) -> Sequence[Interval]:
    """Those of `read_intervals` that a row counts, of all targets."""
    return _counted(read_intervals(folder, None, *_own_warmup(row)), row)


def _own_warmup(row: Result) -> tuple[int, int | None]:
    """The warm-up of a row that fio didn't know of, that of an open load, and when it began."""
    if row.offered_per_s is None or not row.warmup_ns:
        return 0, None
    if row.started_at is None:
        return row.warmup_ns, None
    return row.warmup_ns, round(datetime.fromisoformat(row.started_at).timestamp() * 1e9) - row.warmup_ns


def _counted(measured: Sequence[Interval], row: Result) -> Sequence[Interval]:
    """The last of them that make up the run time: without a beginning of another kind, and an open load's end."""
    runtime_ns, (warmup_ns, started_ns) = row.runtime_ns or 0, _own_warmup(row)
    ended_ns = math.inf if started_ns is None else started_ns + warmup_ns + runtime_ns + _ROUNDED_NS
    kept: list[Interval] = []
    left = float(runtime_ns)
    for interval in reversed([one for one in measured if one.end_ns <= ended_ns]):
        if left < interval.duration_ns / 2:
            break
        kept.append(interval)
        left -= interval.duration_ns
    return kept[::-1] if abs(left) <= _UNLIKE * runtime_ns else ()
