"""How long do forecasts take, and what does a second core help? Run as a program it prints one object of JSON.

Cold: the first question of a process that has loaded all its modules, which knows nothing of any drive. Warm: the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

#: Of the twelve profiles, solved at their depth; then each with its saturation and its load line.
SYSTEMS = ("eva-v2-10k", "dl360-g6-p410i")

#: 1,000 configurations of one array, each with its saturation and its load line.
SWEEP = (
    "pool.drives=48:336:12",
    "volume.layout=vraid1,vraid5",
    "cache.write=256MiB,512MiB",
    "cache.read=128MiB,256MiB,512MiB,1GiB,2GiB",
    "pool.tags=2,4",
)
REPLICATIONS, RUN_IOS = 4, 100_000


def measured() -> dict[str, float]:
    """Times in ms by what was asked; `on 1` and `on 2` are cores, and sweeps on them warm."""
    from loadline.system.forecast import forecast
    from loadline.system.simulate import simulate
    from loadline.system.solve import solve

    def timed(ask: Callable[[], object]) -> float:
        begun = time.perf_counter()
        ask()
        return 1e3 * (time.perf_counter() - begun)

    forecast("station-mm1", "typical-12")
    found: dict[str, float] = {}
    for system in SYSTEMS:
        for when in ("cold", "warm"):
            found[f"{system} {when}"] = timed(partial(solve, system, "typical-12"))
        forecast(system, "typical-12")
        found[f"{system} load lines"] = timed(partial(forecast, system, "typical-12"))

    def sweep(threads: int) -> float:
        return timed(lambda: forecast("eva-v2-10k", "database-ramp", settings=SWEEP, threads=threads))

    def replications(threads: int) -> float:
        asked = partial(simulate, "dl360-g6-p410i", "iometer-profiles", ios=RUN_IOS, replications=REPLICATIONS)
        return timed(lambda: asked(threads=threads))

    found["sweep cold"] = sweep(2)
    for threads in (1, 2):
        found[f"sweep on {threads}"] = sweep(threads)
        found[f"replications on {threads}"] = replications(threads)
    return found


def in_own_process() -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(measured()))
