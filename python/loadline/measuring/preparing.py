"""Preparation: a target that reads as zeros never touches its medium, so it's found out and filled first."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadline.errors import TargetError, ToolError
from loadline.host.roots import HERE
from loadline.measuring import job
from loadline.measuring.fio import Fio
from loadline.measuring.target import Target
from loadline.units import format_size
from loadline.workload.plan import Point

_SAMPLES = 256
_SAMPLE_BYTES = 4096

# A file system or database leaves some zeroed blocks; a target that was never written is nothing else.
_ZERO_SHARE = 0.05

FILL_BLOCK_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class Preparation:
    """Whether the target must be filled first, why, and how much."""

    needed: bool
    reason: str
    fill_bytes: int


def inspect(path: Path, used_bytes: int) -> Preparation:
    """Looks whether the first `used_bytes` of a file or device hold data, by its allocation and by samples.

    Raises:
        TargetError: it can't be read.
    """
    try:
        with path.open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_blocks * 512 < 0.95 * min(used_bytes, status.st_size):
                held = format_size(status.st_blocks * 512)
                reason = f"{path} is sparse: {held} allocated of {format_size(status.st_size)}"
                room = os.fstatvfs(file.fileno())
                free_bytes, wanted_bytes = room.f_bavail * room.f_frsize, used_bytes - status.st_blocks * 512
                if free_bytes < wanted_bytes:
                    raise TargetError(
                        f"{reason}, and its file system has {format_size(free_bytes)} left to fill it",
                        "Make room there, or give a smaller --size.",
                    )
                return Preparation(True, reason, used_bytes)
            zeros, read = _zero_samples(file.fileno(), used_bytes)
            # So that the samples don't lie in the page cache when the load comes.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise TargetError(f"{path} can't be read: {error.strerror}") from None
    if zeros > read * _ZERO_SHARE:
        return Preparation(
            True, f"{zeros} of {read} sampled blocks of {path} read as zeros: never written, or thin", used_bytes
        )
    return Preparation(False, "holds data", 0)


def _zero_samples(descriptor: int, used_bytes: int) -> tuple[int, int]:
    last = max(0, used_bytes - _SAMPLE_BYTES)
    places = sorted({last * index // (_SAMPLES - 1) // _SAMPLE_BYTES * _SAMPLE_BYTES for index in range(_SAMPLES)})
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    blocks = [os.pread(descriptor, _SAMPLE_BYTES, place) for place in places]
    return sum(not any(block) for block in blocks), len(blocks)


def refills(points: Sequence[Point], turns: Sequence[int], number: int, target: Target, *, filled: bool) -> list[int]:
    """The turns before which a target is filled again: those that its random writes would make another measurement.

    On flash a sequential fill lies in order until blocks are rewritten at random places; from then on what is read or
    written in sequence meets another device. So where the suite's order isn't kept, or is gone through several times,
    a point with a sequential part begins on a filled target. Points in rounds prepare it themselves. A disk that
    rotates has no such memory, and of what isn't a device of this machine nothing is known.

    Args:
        turns: numbers of the points that will be measured, in order; number: the target's, from 0.
        filled: whether it is filled before the first of them.
    """
    if target.device is None or target.device.rotational is not False or target.shows is not None:
        return []
    loading = [index for index in turns if points[index].target in {None, number}]
    if not any(_scatters(points[index]) for index in loading):
        return []
    found, in_order = [], filled
    for index in loading:
        point = points[index]
        sequential = any(stream.profile.random_fraction < 1 for stream in point.streams)
        if sequential and not in_order and point.rounds is None:
            found.append(index)
            in_order = True
        in_order = in_order and not _scatters(point)
    return found


def as_it_is(point: Point) -> bool:
    """Whether a device that was never written is what it is meant for: its rounds fill it, or they only write.

    A purged flash device shows in rounds of writes how it wears in; that is what SNIA's write saturation is for.
    """
    reads = any(stream.profile.read_fraction > 0 for stream in point.streams)
    return point.rounds is not None and (point.rounds.fill > 0 or not reads)


def _scatters(point: Point) -> bool:
    """Whether it writes at random places."""
    return any(stream.profile.writes and stream.profile.random_fraction > 0 for stream in point.streams)


def content(points: Sequence[Point]) -> tuple[float, float]:
    """(compressible, duplicate) share that filled data should have: the streams' own where they agree, else none."""
    kinds = {(s.profile.compressible_fraction, s.profile.duplicate_fraction) for p in points for s in p.streams}
    return kinds.pop() if len(kinds) == 1 else (0.0, 0.0)


def fill(
    loaders: Sequence[Fio],
    targets: Sequence[Target],
    folder: Path,
    fill_bytes: Sequence[int],
    points: Sequence[Point],
    seed: int,
    progress: Callable[[int, int], None],
    block_bytes: int = FILL_BLOCK_BYTES,
) -> None:
    """Writes the first `fill_bytes` of each target once, in sequence, with data that don't compress (or as asked).

    Several are filled at the same time, by one fio: if one fails, or Ctrl-C comes, the others end as well.

    Args:
        loaders: fio with an engine for each target.
        progress: is given a target's number, from 0, and the bytes written to it, each second.

    Raises:
        TargetError, ToolError: one can't be filled, which is named.
    """
    # Direct I/O wants whole logical blocks; what a file has beyond its last one no point can touch either.
    whole = [size // block_bytes * block_bytes for size in fill_bytes]
    blocks = [target.logical_block_bytes for target in targets]
    tails = [(size - begun) // block * block for size, begun, block in zip(fill_bytes, whole, blocks, strict=True)]
    _write(loaders, targets, folder, [block_bytes] * len(targets), [0] * len(targets), whole, points, seed, progress)
    _write(loaders, targets, folder, blocks, whole, tails, points, seed, progress)


def _write(
    loaders: Sequence[Fio],
    targets: Sequence[Target],
    folder: Path,
    blocks: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int],
    points: Sequence[Point],
    seed: int,
    progress: Callable[[int, int], None],
) -> None:
    """One fio that writes a range of each target, of those whose range isn't empty."""
    numbers = [number for number, size in enumerate(sizes) if size]
    if not numbers:
        return
    alone = len(targets) == 1
    parts = [_shared(points, seed)]
    for number in numbers:
        lines = [f"[{job.section_name('fill', number)}]", f"ioengine={loaders[number].engine}"]
        lines += [] if alone else [job.named(targets[number], folder, number)]
        lines += [f"bs={blocks[number]}", f"offset={offsets[number]}", f"size={sizes[number]}"]
        parts.append("\n".join(lines))

    def tell(written: Mapping[str, int]) -> None:
        for number in numbers:
            progress(number, offsets[number] + written.get(job.section_name("fill", number), 0))

    outcome = loaders[0].execute(
        "\n\n".join(parts) + "\n",
        (targets[0].uri or targets[0].path) if alone else None,
        folder,
        limit_ns=None,
        on_bytes=tell,
        on_tick=lambda _: next((why for target in targets if (why := target.lost(HERE)) is not None), None),
    )
    if outcome.error:
        failed = next((one.name for one in outcome.jobs if one.error), None)
        lost = [number for number in numbers if targets[number].lost(HERE)]
        at = lost or [number for number in numbers if job.section_name("fill", number) == failed] or numbers
        names = ", ".join(targets[number].label for number in at)
        kind = ToolError if outcome.tool_failed else TargetError
        raise kind(f"filling {names} failed: {outcome.error}", f"fio's messages are in {folder}.")


def _shared(points: Sequence[Point], seed: int) -> str:
    compressible, duplicate = content(points)
    lines = ["[global]", "direct=1", "thread=1", "rw=write", "iodepth=16", "refill_buffers=1"]
    lines += ["allow_file_create=0", "fallocate=none", f"randseed={seed}", "lat_percentiles=1", "clat_percentiles=0"]
    lines += ["end_fsync=1", "exitall_on_error=1", "exit_what=all"]
    if compressible:
        lines.append(f"buffer_compress_percentage={round(compressible * 100)}")
    if duplicate:
        lines.append(f"dedupe_percentage={round(duplicate * 100)}")
    return "\n".join(lines)


class Pace:
    """How long the rest of an amount takes at the mean rate so far."""

    def __init__(self, total_bytes: int) -> None:
        self._total_bytes = total_bytes
        self._started_ns = time.monotonic_ns()

    def remaining_ns(self, done_bytes: int) -> int | None:
        """None until something was done."""
        elapsed_ns = time.monotonic_ns() - self._started_ns
        return elapsed_ns * (self._total_bytes - done_bytes) // done_bytes if done_bytes else None
