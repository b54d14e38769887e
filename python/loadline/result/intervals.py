"""What a measured point did second by second: fio's statuses again, with the histograms that its series leaves out."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from loadline._core import Interval, StatusStream
from loadline.result.repeats import places_in
from loadline.result.schema import Result
from loadline.result.store import Run

#: The intervals that a row counts, in order of time; none where they aren't kept.
Intervals = Callable[[Result], Sequence[Interval]]

#: The target of a row of several together.
ALL = "*"

_PIECE_BYTES = 1 << 22

# What was left out of the beginning must be a whole number of intervals, and fio's last status may be missing.
_UNLIKE = 0.1


def intervals_in(runs: Sequence[Run]) -> Intervals:
    """Finds the intervals of a row of those runs.

    Of several targets at once fio counts all together, so of one of them there are none; nor are there of what was
    imported, and of points of rounds, whose row is of some rounds only.
    """
    place = places_in(runs)

    @lru_cache(maxsize=4)
    def of(folder: Path) -> Sequence[Interval]:
        return _read(folder / "fio.json.gz")

    def find(row: Result) -> Sequence[Interval]:
        at = place(row)
        if at is None or row.origin != "measured" or not row.runtime_ns:
            return ()
        run, index = at
        folder = run.point_path(index)
        of_all = row.target == ALL or not (folder / "targets.json").exists()
        if not of_all or run.plan[index].rounds is not None:
            return ()
        return _counted(of(folder), row.runtime_ns)

    return find


def _read(path: Path) -> Sequence[Interval]:
    stream, found = StatusStream(), list[Interval]()
    try:
        with gzip.open(path) as raw:
            while piece := raw.read(_PIECE_BYTES):
                found += stream.feed(piece)
    except (OSError, EOFError, zlib.error):
        return ()
    return [interval for interval in found if not interval.warmup]


def _counted(measured: Sequence[Interval], runtime_ns: int) -> Sequence[Interval]:
    """The last of them that make up the run time: a beginning of another kind isn't in it."""
    kept: list[Interval] = []
    left = float(runtime_ns)
    for interval in reversed(measured):
        if left < interval.duration_ns / 2:
            break
        kept.append(interval)
        left -= interval.duration_ns
    return kept[::-1] if abs(left) <= _UNLIKE * runtime_ns else ()
