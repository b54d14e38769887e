"""What does the search for a load line cost beside the grid of the field report on the EVA v.2, 1, 2, 4 ... 128?

The grid says a load line that lies within it to a factor of two. The search gives the number of outstanding I/Os that
keeps the limit, where the next one doesn't. Both are simulated, with the same I/Os a probe. Simulated probes at many
outstanding I/Os take longer; those of a target all take the same time, so there the probes count.

Rates: searches with so few I/Os a probe that luck counts, beside one with 20 times as many.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

from compared import Compared, spread

from loadline.result.schema import Result
from loadline.system.simulate import simulate
from loadline.workload.plan import Options
from loadline.workload.suite import parse_suite

SYSTEMS = ("eva-v2-10k", "dl360-g6-p410i", "dl360-g7-p410i", "sas-10k-jbod", "hdd-7k2", "md-raid5-8x2tb")
SUITES = ("database-ramp", "web-ramp")
DEPTHS = tuple(1 << n for n in range(8))
GRID = Options(queue_depths=DEPTHS)
IOS = 20_000
LIMIT_NS = 30e6

OPEN = ("station-mm1", "hdd-7k2", "dl360-g6-p410i", "sas-10k-jbod")
SEEDS = range(1, 6)
RATES = """
title = "A rate up to a limit"
runtime = "60s"
[[profile]]
name = "database"
block = "8k"
read = "67%"
random = "100%"
limit = "mean<=30ms"
ramp = { axis = "rate", from = "10/s", to = "100k/s" }
"""


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
        compare_rates(),
    ]


def compare_rates() -> Compared:
    """How many searches of rates with luck come within 2 % of the load line, and in how many probes."""
    suite = parse_suite(RATES, "rates", "rates")
    offs, probes = [], []
    for system in OPEN:
        true = crossing(simulate(system, suite, ios=20 * IOS, seed=99))
        for seed in SEEDS:
            rows = simulate(system, suite, ios=IOS, seed=seed)
            offs.append(abs(rate(rows) / true - 1))
            # And one that saturates.
            probes.append(1 + len(rows))
    within = sum(off <= 0.02 for off in offs)
    nine = sum(number <= 9 for number in probes)
    return Compared(
        "rate of a load line",
        f"within 2 %: {within} of {len(offs)}; worst {max(offs):.1%}",
        "probes of 20 times as many I/Os",
        f"{statistics.mean(probes):.1f} probes, at most 9: {nine} of {len(probes)}",
        spread([float(number) for number in probes]),
    )


def rate(rows: Sequence[Result]) -> float:
    found = next(row.offered_per_s for row in rows if row.role == "point")
    assert found is not None, "a ramp over rates has a load line"
    return found


def crossing(rows: Sequence[Result]) -> float:
    """Where responses pass the limit between the load line and the next load; 1 / response is about straight there."""
    line = next(row.provenance["load_line"] for row in rows if row.role == "point")
    ends = [next(row for row in rows if row.offered_per_s == line[end]) for end in ("load", "next")]
    low, high = (1 / (row.total.latency_mean_ns or math.inf) for row in ends)
    return float(line["load"] + (line["next"] - line["load"]) * (low - 1 / LIMIT_NS) / (low - high))


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
