"""How far apart are simulate and solve on systems that nobody chose? Prints what is off, and how many are within.

Drives of the catalog, 4 to 24 of them, in layouts, chunks, caches and with links as they are built, under loads as they
are measured: all drawn by a seed. They are judged where the simulated mean response is within twice the limit of the
catalog's ramps. With --rates they come from outside, a fifth below and a fourth above the saturation that is solved,
and count where both say alike whether the system carries them: without queues that grow, and within a second. With
--small they go over 0.6 to 10 times what a cache holds, evenly or to popular places, where it takes many I/Os until a
system stays as it is: what seems off is simulated again, for longer.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass

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

#: The same of small working sets, and of those that seemed off.
IOS_OF_SMALL = (300_000, 3_000_000)
IOS_AGAIN = 16_000_000

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

#: Before which small working sets are: its cache in write and read MiB, and the set as a power of 2 of both.
SMALL_SYSTEM = {
    "pool.drives": ("4", "6", "8", "12", "16", "24"),
    "pool.drive": ("savvio-10k3-300", "savvio-10k3-300", "sata-7k2-2tb"),
    "volume.layout": ("raid0", "raid5", "raid6", "raid10"),
    "cache.mode": ("write-back", "write-back", "write-back", "write-back", "write-through"),
    "cache.page": ("4KiB", "4KiB", "16KiB", "64KiB"),
    "cache.shared": ("false", "false", "false", "false", "true"),
    "cache.destage_order": ("ascending", "ascending", "ascending", "ascending", "ascending", "oldest"),
}
SMALL_WRITE_MIB = (64, 256, 512, 1024)
SMALL_READ_MIB = (32, 128, 512)
SMALL_POWER = (-0.7, 3.3)
SMALL_KIB = (4, 8, 16, 64)
SMALL_READ_PERCENT = (0, 30, 50, 70, 90, 100)
SMALL_QUEUE_DEPTHS = (1, 4, 16, 64)
DISTRIBUTIONS = {
    "uniform": '"uniform"',
    "zipf-0.9": "{ zipf = 0.9 }",
    "zipf-1.2": "{ zipf = 1.2 }",
    "normal-10": '{ normal = "10%" }',
    "zoned-80-10": '{ zoned = [{ access = "80%", space = "10%" }, { access = "20%", space = "90%" }] }',
}

#: Of the saturation that is solved.
SHARES = (0.8, 1.25)

#: What takes longer as a mean isn't carried: some queues come to an end at tens of thousands.
CARRIED_NS = 1e9


@dataclass(frozen=True)
class Load:
    kib: int
    read_percent: int
    random_percent: int
    jobs: int
    depth: int
    working_set: str
    distribution: str = "uniform"

    @property
    def name(self) -> str:
        place = f"-{self.working_set.lower()}" if self.working_set else ""
        mix = f"{self.kib}k-read-{self.read_percent}-random-{self.random_percent}"
        return f"{mix}-jobs-{self.jobs}-qd-{self.depth}{place}-{self.distribution}"

    def suite(self, rate_per_s: float | None = None) -> Suite:
        """Of one point, with its own number outstanding or from outside."""
        place = f'working_set = "{self.working_set}"' if self.working_set else ""
        arrival = f"queue_depth = {self.depth}" if rate_per_s is None else f'rate = "{rate_per_s:.6g}"'
        text = f"""
title = "Drawn"
runtime = "60s"
warmup = "0s"
{arrival}
jobs = {self.jobs}
[[profile]]
name = "{self.name}"
class = "combined"
block = "{self.kib}k"
read = "{self.read_percent}%"
random = "{self.random_percent}%"
distribution = {DISTRIBUTIONS[self.distribution]}
{place}
analysis = "-"
"""
        return parse_suite(text, "drawn", "drawn.toml")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=150, help="how many (150)")
    parser.add_argument("--seed", type=int, default=1)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--rates", action="store_true", help="loads from outside: what is carried, and what isn't")
    kind.add_argument("--small", action="store_true", help="working sets of 0.6 to 10 times a cache, popular places")
    options = parser.parse_args()
    judge = at_rates if options.rates else again if options.small else outstanding
    draw = drawn_small if options.small else drawn
    within = judged = 0
    for number, drew in enumerate(draw(random.Random(options.seed), options.count)):
        for well, told in judge(*drew):
            judged += 1
            within += well
            if not well:
                print(f"{number} {drew[0].said} {drew[1].name}: {told}", flush=True)
    print(f"{within} of {judged} {'alike' if options.rates else f'within {agreement.MOST:.0%}'}")


def outstanding(system: System, load: Load, ios: int) -> Iterator[tuple[bool, str]]:
    points = [point for seed in SEEDS for point in make_plan(load.suite(), Options(), seed)]
    [solved] = loadline.solve(system, points[:1])
    simulated = [one.total for point in points for one in loadline.simulate(system, [point], ios=ios, replications=1)]
    rates = [total.iops or 0.0 for total in simulated]
    error = (solved.total.iops or 0.0) / (sum(rates) / len(rates)) - 1
    if max(total.latency_mean_ns or 0.0 for total in simulated) <= LIMIT_NS:
        told = f"{min(rates):.0f} to {max(rates):.0f} simulated, {solved.total.iops:.0f} solved, {error:+.0%}"
        yield abs(error) <= agreement.MOST, told


def again(system: System, load: Load, ios: int) -> Iterator[tuple[bool, str]]:
    for well, told in outstanding(system, load, ios):
        yield (well, told) if well else next(outstanding(system, load, IOS_AGAIN), (False, told))


def at_rates(system: System, load: Load, ios: int) -> Iterator[tuple[bool, str]]:
    [solved] = loadline.solve(system, load.suite(1.0))
    for share in SHARES:
        suite = load.suite(share * (solved.saturation_iops or 0.0))
        [solved] = loadline.solve(system, suite)
        [simulated] = loadline.simulate(system, suite, ios=ios, seed=1, replications=1)
        answers = [solved, simulated]
        carried = [one.error is None and (one.total.latency_mean_ns or 0.0) <= CARRIED_NS for one in answers]
        says = [one.error or f"{(one.total.latency_mean_ns or 0.0) / 1e6:.2f} ms" for one in answers]
        yield carried[0] == carried[1], f"{says[0]} solved, {says[1]} simulated"


def drawn(dice: random.Random, count: int) -> Iterator[tuple[System, Load, int]]:
    """Systems, each with a load and the I/Os to simulate of it."""
    for _ in range(count):
        settings = {key: dice.choice(values) for key, values in SYSTEM.items()}
        cache_mib = dice.choice(CACHE_MIB)
        settings |= {"cache.write": f"{cache_mib * 3 // 4}MiB", "cache.read": f"{cache_mib // 4}MiB"}
        kib, read, jobs = dice.choice(KIB), dice.choice(READ_PERCENT), dice.choice(JOBS)
        depth = min(dice.choice(QUEUE_DEPTHS), MOST_OUTSTANDING // jobs)
        load = Load(kib, read, dice.choice(RANDOM_PERCENT), jobs, depth, dice.choice(WORKING_SETS))
        [system] = unroll(load_system("dl360p-g8-p420i"), [f"{key}={value}" for key, value in settings.items()])
        written = CACHES * cache_mib * 1024 / kib / max(1 - read / 100, 1e-9)
        ios = min(max(int(written), IOS[0]), IOS[1]) if read < 100 else IOS[0]
        yield system, load, ios


def drawn_small(dice: random.Random, count: int) -> Iterator[tuple[System, Load, int]]:
    """The same of small working sets."""
    for _ in range(count):
        settings = {key: dice.choice(values) for key, values in SMALL_SYSTEM.items()}
        write_mib, read_mib = dice.choice(SMALL_WRITE_MIB), dice.choice(SMALL_READ_MIB)
        settings |= {"cache.write": f"{write_mib}MiB", "cache.read": f"{read_mib}MiB"}
        kib, read, depth = dice.choice(SMALL_KIB), dice.choice(SMALL_READ_PERCENT), dice.choice(SMALL_QUEUE_DEPTHS)
        cache_mib = write_mib + read_mib
        working_set = f"{int(cache_mib * 2 ** dice.uniform(*SMALL_POWER))}MiB"
        load = Load(kib, read, 100, 1, depth, working_set, dice.choice([*DISTRIBUTIONS]))
        [system] = unroll(load_system("dl360-g6-p410i"), [f"{key}={value}" for key, value in settings.items()])
        ios = min(max(CACHES * cache_mib * 1024 // kib, IOS_OF_SMALL[0]), IOS_OF_SMALL[1])
        yield system, load, ios


if __name__ == "__main__":
    main()
