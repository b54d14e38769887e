"""How far apart are simulate and solve on systems that nobody chose? Prints what is off, and how many are within.

Drives of the catalog, 4 to 24 of them, in layouts, chunks, caches and with links as they are built, under loads as they
are measured: all drawn by a seed. They are judged where the simulated mean response is within twice the limit of the
catalog's ramps.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

import agreement

import loadline
from loadline.system.description import System, load_system, unroll
from loadline.workload.plan import Options, make_plan
from loadline.workload.suite import Suite, parse_suite

#: The mean response up to which a load is judged.
LIMIT_NS = 60e6

#: Two simulations of each, of which the mean counts.
SEEDS = (1, 2)

#: I/Os of a simulation: at least, and at most where the cache is written so many times over.
IOS = (100_000, 1_000_000)
CACHES = 3

SYSTEM = {
    "pool.drives": ("4", "6", "8", "10", "12", "14", "16", "24"),
    "pool.drive": (
        "savvio-10k3-300",
        "savvio-10k4-600",
        "savvio-15k2-146",
        "cheetah-15k3-73",
        "sata-7k2-2tb",
        "constellation-es3-4tb",
    ),
    "pool.write_cache": ("true", "false", "false"),
    "volume.layout": ("raid0", "raid5", "raid5", "raid6", "raid10", "raid10", "jbod"),
    "volume.chunk": ("64KiB", "128KiB", "256KiB"),
    "cache.mode": ("write-back", "write-back", "write-through", "off"),
    "cache.page": ("4KiB", "16KiB", "64KiB"),
    "cache.read_ahead": ("0B", "128KiB", "256KiB", "512KiB", "1MiB"),
    "cache.streams": ("8", "16", "32"),
    "backend.loops": ("4", "8"),
}
CACHE_MIB = (256, 512, 1024, 2048)
KIB = (4, 8, 16, 64, 128, 256, 1024)
READ_PERCENT = (100, 100, 95, 90, 70, 67, 50, 0)
RANDOM_PERCENT = (100, 100, 75, 20, 0, 0)
JOBS = (1, 1, 1, 4, 8, 16, 32)
QUEUE_DEPTHS = (1, 1, 2, 4, 8, 16, 32)
MOST_OUTSTANDING = 256
WORKING_SETS = ("", "", "", "100GiB", "20GiB", "4GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=150, help="how many (150)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    within = judged = 0
    for number, drew in enumerate(drawn(random.Random(options.seed), options.count)):
        system, suite, ios = drew
        points = [point for seed in SEEDS for point in make_plan(suite, Options(), seed)]
        [solved] = loadline.solve(system, points[:1])
        simulated = [
            one.total for point in points for one in loadline.simulate(system, [point], ios=ios, replications=1)
        ]
        rates = [total.iops or 0.0 for total in simulated]
        error = (solved.total.iops or 0.0) / (sum(rates) / len(rates)) - 1
        if max(total.latency_mean_ns or 0.0 for total in simulated) <= LIMIT_NS:
            judged += 1
            within += abs(error) <= agreement.MOST
            if abs(error) > agreement.MOST:
                told = f"{min(rates):.0f} to {max(rates):.0f} simulated, {solved.total.iops:.0f} solved, {error:+.0%}"
                print(f"{number} {system.said} {points[0].name}: {told}", flush=True)
    print(f"{within} of {judged} within {agreement.MOST:.0%}")


def drawn(dice: random.Random, count: int) -> Iterator[tuple[System, Suite, int]]:
    """Systems, each with a load and the I/Os to simulate of it."""
    for _ in range(count):
        settings = {key: dice.choice(values) for key, values in SYSTEM.items()}
        cache_mib = dice.choice(CACHE_MIB)
        settings |= {"cache.write": f"{cache_mib * 3 // 4}MiB", "cache.read": f"{cache_mib // 4}MiB"}
        kib, read, jobs = dice.choice(KIB), dice.choice(READ_PERCENT), dice.choice(JOBS)
        depth = min(dice.choice(QUEUE_DEPTHS), MOST_OUTSTANDING // jobs)
        suite = load(kib, read, dice.choice(RANDOM_PERCENT), (jobs, depth), dice.choice(WORKING_SETS))
        [system] = unroll(load_system("dl360p-g8-p420i"), [f"{key}={value}" for key, value in settings.items()])
        written = CACHES * cache_mib * 1024 / kib / max(1 - read / 100, 1e-9)
        ios = min(max(int(written), IOS[0]), IOS[1]) if read < 100 else IOS[0]
        yield system, suite, ios


def load(kib: int, read: int, random_percent: int, queue: tuple[int, int], working_set: str) -> Suite:
    jobs, depth = queue
    name = f"{kib}k-read-{read}-random-{random_percent}-jobs-{jobs}-qd-{depth}"
    place = f'working_set = "{working_set}"' if working_set else ""
    text = f"""
title = "Drawn"
runtime = "60s"
warmup = "0s"
queue_depth = {depth}
jobs = {jobs}
[[profile]]
name = "{name}{working_set and "-" + working_set.lower()}"
class = "combined"
block = "{kib}k"
read = "{read}%"
random = "{random_percent}%"
{place}
analysis = "-"
"""
    return parse_suite(text, "drawn", "drawn.toml")


if __name__ == "__main__":
    main()
