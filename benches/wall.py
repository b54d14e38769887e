"""What does a point cost beyond fio? Wall time of a run of short points against bare fio on the same job files.

The run is the program itself, watched through its JSON progress, so that its start (imports, guard, provenance) and its
end are told apart from its points.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import bare
from compared import Compared, spread
from rates import FILE_BYTES, write_random

from loadline.result.store import Store

BAR_S = 0.3

SUITE = """
title = "Short points"
runtime = "1s"
queue_depth = [{depths}]
[[profile]]
name = "random-read-4k"
block = "4k"
read = "100%"
random = "100%"
"""


def compare(folder: Path, points: int) -> list[Compared]:
    target, store = folder / "wall.img", folder / "wall"
    write_random(target, FILE_BYTES)
    suite = folder / "short.toml"
    suite.write_text(SUITE.format(depths=", ".join(str(depth) for depth in range(1, points + 1))))
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "loadline", "run", suite, target, "--store", store, "--progress", "json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    edges: list[float] = []  # start and end of each point, in turn
    for line in process.stderr:
        event = json.loads(line)["event"] if line.startswith("{") else ""
        if event in {"point-started", "point-finished"}:
            edges.append(time.monotonic())
    ended = time.monotonic() if process.wait() == 0 else None
    if ended is None or len(edges) != 2 * points:
        raise SystemExit("the run of short points failed")
    run = Store(store).runs()[0]
    extra, fios = [], []
    for index in range(points):
        before = time.monotonic()
        bare.fio(run.point_path(index) / "job.fio", target)
        fios.append(time.monotonic() - before)
        # What lies between two points is the first one's.
        following = edges[2 * index + 2] if index + 1 < points else edges[-1]
        extra.append(following - edges[2 * index] - fios[-1])
    mean = sum(extra) / points
    ours, peer = sum(extra) + sum(fios), sum(fios)
    return [
        Compared(
            f"wall time of {points} points of 1 s",
            f"{ours:.2f} s",
            f"{peer:.2f} s (fio)",
            f"+ {mean:.3f} s a point",
            spread(extra, " s"),
            f"<= {BAR_S} s",
            mean <= BAR_S,
        ),
        Compared("  start of that run, to its first point", f"{edges[0] - began:.2f} s", "", "", ""),
        Compared("  end of that run, after its last point", f"{ended - edges[-1]:.2f} s", "", "", ""),
    ]
