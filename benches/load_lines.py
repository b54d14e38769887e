"""What does the search for a load line cost beside the grid of the field report on the EVA v.2, 1, 2, 4 ... 128?

The grid says a load line that lies within it to a factor of two. The search gives the number of outstanding I/Os that
keeps the limit, where the next one doesn't. Both are simulated, with the same I/Os a probe. Simulated probes at many
outstanding I/Os take longer; those of a target all take the same time, so there the probes count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

from compared import Compared, spread

from loadline.result.schema import Result
from loadline.system.simulate import simulate
from loadline.workload.plan import Options

SYSTEMS = ("eva-v2-10k", "dl360-g6-p410i", "dl360-g7-p410i", "sas-10k-jbod", "hdd-7k2", "md-raid5-8x2tb")
SUITES = ("database-ramp", "web-ramp")
DEPTHS = tuple(1 << n for n in range(8))
GRID = Options(queue_depths=DEPTHS)
IOS = 20_000
LIMIT_NS = 30e6


def compare() -> list[Compared]:
    probes, times, exact, within = [], [], 0, 0
    asked = [(system, suite) for system in SYSTEMS for suite in SUITES]
    for system, suite in asked:
        found, search_s = _timed(partial(simulate, system, suite, ios=IOS, threads=1))
        grid, grid_s = _timed(partial(simulate, system, suite, options=GRID, ios=IOS, threads=1))
        probes.append(len(found))
        times.append(search_s / grid_s)
        line = next(row for row in found if row.role == "point")
        exact += line.provenance["load_line"]["next"] is not None
        within += _brackets(grid)
    mean = statistics.mean(probes)
    return [
        Compared(
            "probes of a load line",
            f"{mean:.1f} (1 I/O exact: {exact} of {len(asked)})",
            f"{len(DEPTHS)} (a factor of 2: {within} of {len(asked)})",
            f"x {mean / len(DEPTHS):.2f}",
            spread(probes),
        ),
        Compared(
            "time of a load line, simulated",
            "the search",
            "the grid 1 to 128",
            f"x {statistics.median(times):.2f}",
            spread(times),
        ),
    ]


def _brackets(grid: Sequence[Result]) -> bool:
    """Whether the limit is passed between two depths of the grid."""
    kept = [(row.total.latency_mean_ns or 0.0) <= LIMIT_NS for row in grid]
    return kept[0] and not kept[-1]


def _timed(ask: Callable[[], list[Result]]) -> tuple[list[Result], float]:
    begun = time.perf_counter()
    return ask(), time.perf_counter() - begun


if __name__ == "__main__":
    for row in compare():
        print(row)
