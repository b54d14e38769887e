"""How long until the program answers? `loadline --help` against the same Python doing nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from compared import Compared, spread

BAR = 16


def compare(pairs: int) -> list[Compared]:
    program = Path(sys.executable).with_name("loadline")
    ours, peers = [], []
    for _ in range(pairs):
        ours.append(_seconds(str(program), "--help"))
        peers.append(_seconds(sys.executable, "-c", "pass"))
    ratio = statistics.median(ours) / statistics.median(peers)
    return [
        Compared(
            "loadline --help",
            f"{statistics.median(ours) * 1000:.0f} ms",
            f"{statistics.median(peers) * 1000:.0f} ms (python -c pass)",
            f"x {ratio:.1f}",
            spread([one / other for one, other in zip(ours, peers, strict=True)]),
            f"<= {BAR}",
            ratio <= BAR,
        )
    ]


def _seconds(*command: str) -> float:
    before = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - before
