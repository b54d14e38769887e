"""What a measured point did second by second: fio's output again, with the histograms that its series leaves out."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from loadline._core import Interval, LatencyLog, StatusStream
from loadline.result.point_folder import read_rows
from loadline.result.repeats import places_in
from loadline.result.schema import Result
from loadline.result.store import Run

#: The intervals that a row counts, in order of time; none where they aren't kept.
Intervals = Callable[[Result], Sequence[Interval]]

_PIECE_BYTES = 1 << 22

# What was left out of the beginning must be a whole number of intervals, and fio's last status may be missing.
_UNLIKE = 0.1


def intervals_in(runs: Sequence[Run]) -> Intervals:
    """Finds the intervals of a row of those runs.

    There are none of what was imported, and of points of rounds, whose row is of some rounds only.
    """
    place = places_in(runs)

    @lru_cache(maxsize=4)
    def of(folder: Path, target: int | None, began_ns: int, runtime_ns: int) -> Sequence[Interval]:
        return _read(folder, target, began_ns, runtime_ns)

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
        return _counted(of(folder, target, *_when(row)), row)

    return find


def ending_of(target: int) -> str:
    """What the names of fio's jobs on a target, one of several by its number from 0, end in."""
    return f".target-{target + 1}"


def log_of(target: int | None = None) -> str:
    """What fio is to call its latency log, of one of several targets by its number from 0; it adds `_lat.log`."""
    return "fio" if target is None else f"fio{ending_of(target)}"


def read_statuses(folder: Path, target: int | None = None) -> Sequence[Interval]:
    """What fio's statuses in a point's folder say of the measured time: of all targets, or of one by its number from 0.

    None where they aren't kept, or damaged.
    """
    stream = StatusStream("" if target is None else ending_of(target))
    found = list[Interval]()
    try:
        for piece in _pieces(folder / "fio.json.gz"):
            found += stream.feed(piece)
    except (OSError, EOFError, zlib.error):
        return ()
    return [interval for interval in found if not interval.warmup]


def read_logs(
    folder: Path, target: int | None, began_ns: int, runtime_ns: int, warmup_ns: int = 0
) -> Sequence[Interval]:
    """What fio's latency logs in a point's folder say, of one of several targets by its number from 0 or of all.

    Args:
        began_ns: when the measured time began, ns since 1970, and runtime_ns how long it was.
        warmup_ns: how much of the time before that is wanted, too, as warm-up.

    Returns:
        Each second, also those in which nothing was done.

    Raises:
        OSError, EOFError, zlib.error, ValueError: a log is damaged.
    """
    return _logged(LatencyLog(began_ns, runtime_ns, warmup_ns), folder, target)


def first_sent_ns(folder: Path) -> int | None:
    """When the first I/O was sent by the latency logs in a point's folder, ns since 1970; raises as `read_logs`."""
    log = LatencyLog(0, 0)
    _logged(log, folder, None)
    return log.first_ns


def _logged(log: LatencyLog, folder: Path, target: int | None) -> Sequence[Interval]:
    found = log.finish()
    for path in _logs(folder, target):
        for piece in _pieces(path):
            log.feed(piece)
        found = log.finish()
    return found


def _logs(folder: Path, target: int | None) -> Sequence[Path]:
    return sorted(folder.glob(f"{log_of(target)}{'*' if target is None else ''}_lat.log.gz"))


def _pieces(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as raw:
        while piece := raw.read(_PIECE_BYTES):
            yield piece


def _read(folder: Path, target: int | None, began_ns: int, runtime_ns: int) -> Sequence[Interval]:
    try:
        logged = bool(_logs(folder, target))
        found = read_logs(folder, target, began_ns, runtime_ns) if logged else read_statuses(folder, target)
    except (OSError, EOFError, zlib.error, ValueError):
        return ()
    return found if any(one.read.ios or one.write.ios for one in found) else ()


def counted_intervals(folder: Path, row: Result) -> Sequence[Interval]:
    """The intervals in a point's folder that a row counts, of all targets."""
    return _counted(_read(folder, None, *_when(row)), row)


def _when(row: Result) -> tuple[int, int]:
    """When a row's measured time began, ns since 1970 (rows have whole ms), and how long it was."""
    began_s = 0.0 if row.started_at is None else datetime.fromisoformat(row.started_at).timestamp()
    return round(began_s * 1e3) * 10**6, row.runtime_ns or 0


def _counted(measured: Sequence[Interval], row: Result) -> Sequence[Interval]:
    """The last of them that make up the run time: without a beginning of another kind."""
    runtime_ns = row.runtime_ns or 0
    kept: list[Interval] = []
    left = float(runtime_ns)
    for interval in reversed(measured):
        if left < interval.duration_ns / 2:
            break
        kept.append(interval)
        left -= interval.duration_ns
    return kept[::-1] if abs(left) <= _UNLIKE * runtime_ns else ()
