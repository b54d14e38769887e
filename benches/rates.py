"""Does watching fio slow it? IOPS of a point measured by loadline against bare fio with the same job file.

Twice: on a loop device, 4k random reads at depth 32; and on fio's null engine, which does nothing at all and so shows
every cycle that is taken from fio.

Both load the cores to the full, and where threads run differs from run to run by some per cent. So: many short pairs,
the geometric mean of their ratios, and its standard error. A bar is missed when the ratio is below it by more than two.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

import bare
from compared import Compared, spread
from rich.console import Console

import loadline
from loadline.cli.live import listening
from loadline.result.store import Run
from loadline.workload.suite import parse_suite

LOOP_BYTES = 512 * 1024**2
FILE_BYTES = 64 * 1024**2

SUITE = """
title = "4k random reads"
runtime = "{runtime}"
queue_depth = 32
[[profile]]
name = "random-read-4k"
block = "4k"
read = "100%"
random = "100%"
"""


def compare(folder: Path, pairs: int, runtime: str) -> list[Compared]:
    rows = []
    with loop_device(folder / "loop.img") as device:
        rows.append(_pairs("IOPS, loop device", device, folder, 4 * pairs, runtime, bar=0.98))
    file = folder / "null.img"
    write_random(file, FILE_BYTES)
    # fio's null engine wants a size, and loadline gives one only for a part of the target.
    half = FILE_BYTES // 2
    return [
        *rows,
        _pairs("IOPS, null engine", file, folder, 4 * pairs, runtime, bar=0.95, engine="null", size_bytes=half),
    ]


def _pairs(
    what: str,
    target: Path,
    folder: Path,
    pairs: int,
    runtime: str,
    *,
    bar: float,
    engine: str | None = None,
    size_bytes: int | None = None,
) -> Compared:
    suite = parse_suite(SUITE.format(runtime=runtime), "bench", "bench")

    def measured() -> Run:
        # With the live display, as people run it.
        screen = Console(file=io.StringIO(), force_terminal=True, width=120, height=40)
        with listening(lambda _: None, screen) as listen:
            return loadline.run(
                suite, str(target), store=folder / "runs", engine=engine, size_bytes=size_bytes, seed=1, listen=listen
            )

    job = measured().point_path(0) / "job.fio"  # not counted: it warms the caches, and gives the job to both
    ours, peers = [], []
    for pair in range(pairs):
        for turn in (pair, pair + 1):  # who begins alternates too
            if turn % 2:
                peers.append(bare.iops(bare.fio(job, target)))
                continue
            result = measured().results()[0]
            if result.error or result.total.iops is None:
                raise SystemExit(f"{what}: the point failed: {result.error}")
            ours.append(result.total.iops)
    ratios = [one / other for one, other in zip(ours, peers, strict=True)]
    ratio = statistics.geometric_mean(ratios)
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    return Compared(
        what,
        f"{statistics.median(ours):,.0f}/s",
        f"{statistics.median(peers):,.0f}/s (fio)",
        f"x {ratio:.3f} +- {error:.3f}",
        spread(ratios),
        f">= {bar}",
        True if ratio >= bar else None if ratio + 2 * error >= bar else False,
    )


@contextlib.contextmanager
def loop_device(backing: Path) -> Iterator[Path]:
    """A loop device over a new file full of random bytes."""
    write_random(backing, LOOP_BYTES)
    made = subprocess.run(["losetup", "-f", "--show", str(backing)], capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"no loop device can be made (this bench needs root): {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", str(device)], check=True)


def write_random(path: Path, size_bytes: int) -> None:
    with path.open("wb") as file:
        for _ in range(size_bytes // 1024**2):
            file.write(os.urandom(1024**2))
        os.fsync(file.fileno())
