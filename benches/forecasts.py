"""How long do forecasts take, and what does a second core help?

Run as a program it prints one object of JSON; with a number of cores the time of a sweep over walks on them.

Cold: the first question of a process that has loaded all its modules, which knows nothing of any drive. Warm: the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

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
#: Few configurations, whose drives are walked over for each of the twelve profiles.
WALKED_SWEEP = ("volume.layout=raid10,raid5", "cache.write=64MiB,128MiB,192MiB")
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


def walked(threads: int) -> float:
    """The time of a sweep in ms that walks over drives, which a process does once."""
    from loadline.system.forecast import forecast

    begun = time.perf_counter()
    forecast("dl360-g6-p410i", "typical-12", settings=WALKED_SWEEP, threads=threads)
    return 1e3 * (time.perf_counter() - begun)


def in_own_process() -> dict[str, float]:
    """What `measured` finds, and `walked` on 1 and 2 cores, each in a process of its own."""

    def printed(*arguments: str) -> Any:
        command = [sys.executable, __file__, *arguments]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    found: dict[str, float] = printed()
    return found | {f"sweep over walks on {threads}": printed(str(threads)) for threads in (1, 2)}


if __name__ == "__main__":
    print(json.dumps(walked(int(sys.argv[1])) if len(sys.argv) > 1 else measured()))
