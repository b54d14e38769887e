"""How far apart are simulate and solve? Prints each point of the suites at its own load that is off, and a table.

A point is judged where the simulated mean response is within the limit of the catalog's ramps, for beyond it queues
tell their length, and where it is known within what is judged. Its error is that of throughput or of mean response,
whichever is larger. Simulations are made again with more I/Os until their half-width is small beside what is judged, or
the time for a point is over. Where a cache is written back they are long enough for a sweep over all of it, for a short
one sees the places of a part. What is read in order, or written so without a cache, is simulated for as long as the
suite lasts, as a mean over several phases of the drives, more of them instead of more I/Os: for longer it would come to
other zones of the drives.
Phases of drives that work together stay for as long as a simulation lasts, so everything else that needs no sweep is a
mean over several, too.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import loadline
from loadline.reporting.table import Group, Table
from loadline.result.schema import Result
from loadline.system.description import System, load_system, system_names, unroll
from loadline.units import parse_bytes
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

SUITES = ("quick-look", "log-writer", "zone-profile", "hci", "six-patterns", "typical-12", "iometer-profiles")
LIMIT_NS = 30e6
MOST = 0.1

#: Half-width, as a fraction, that is small beside what is judged.
SMALL = 0.03

#: I/Os to begin with.
IOS = 50_000

#: Bytes that several streams write, which is a dozen times what the catalog's write caches hold.
WRITTEN_BYTES = 9e9

#: Of what is in order: the fewest and most I/Os.
READ_IOS = (1_000, 1_000_000)

#: Seeds, each of which has other phases of the drives.
PHASES = 4

#: By how much a simulation that isn't known well enough is made larger.
AGAIN = 4


@dataclass(frozen=True, slots=True)
class Compared:
    """A point, simulated and solved."""

    system: System
    suite: str
    simulated: Result
    solved: Result

    @property
    def kept(self) -> bool:
        """Whether the simulated mean response is within the limit."""
        latency_ns = self.simulated.total.latency_mean_ns
        return latency_ns is not None and latency_ns <= LIMIT_NS

    @property
    def sure(self) -> bool:
        """Whether it is known nearly enough for a judgement."""
        return half_width(self.simulated) <= MOST

    @property
    def error(self) -> float:
        """Of throughput or mean response, the larger one, as a fraction."""
        ours, theirs = self.solved.total, self.simulated.total
        pairs = ((ours.iops, theirs.iops), (ours.latency_mean_ns, theirs.latency_mean_ns))
        return max((a / b - 1 for a, b in pairs if a is not None and b is not None), key=abs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", default=",".join(SUITES), help="comma-separated, names or files")
    parser.add_argument("--systems", default="", help="comma-separated; all that have drives unless given")
    parser.add_argument("--set", action="append", default=[], dest="settings", help="KEY=VALUE of all systems")
    parser.add_argument("--points", default="", help="only points whose names this regular expression finds")
    parser.add_argument("--seconds", type=float, default=60, help="for a point (60)")
    parser.add_argument("--queue-depth", type=int, help="replaces those of the suites")
    options = parser.parse_args()
    plain = [name for name in system_names() if not name.startswith("station-")]
    names = options.systems.split(",") if options.systems else plain
    systems = [system for name in names for system in unroll(load_system(name), options.settings)]
    asked = Options(queue_depths=(options.queue_depth,) if options.queue_depth else None)
    rows: list[tuple[str, ...]] = []
    for suite in options.suites.split(","):
        plan = make_plan(load_suite(suite)[0], asked, 1)
        points = [point for point in grids(plan) if re.search(options.points, point.name)]
        for system in systems if points else ():
            found = compared(system, suite, points, options.seconds)
            kept = [one for one in found if one.kept]
            judged = [one for one in kept if one.sure]
            off = [one for one in judged if abs(one.error) > MOST]
            for one in sorted(off, key=lambda one: -abs(one.error)):
                told(one)
            worst = max((one.error for one in judged), key=abs, default=0.0)
            within, unknown = f"{len(judged) - len(off)} of {len(judged)}", len(kept) - len(judged)
            rows.append((suite, system.said, within, f"{worst:+.0%}", str(unknown), str(len(found))))
    heads = ("suite", "system", "within 10 %", "worst", "simulated too roughly", "points")
    print(Table(heads, (Group("", tuple(rows)),), text=frozenset({0, 1})).markdown())


def grids(plan: Iterable[Point]) -> list[Point]:
    """What searches look at is judged load by load."""
    return [at for point in plan for at in point.grid()]


def compared(system: System, suite: str, points: Sequence[Point], seconds: float) -> list[Compared]:
    solved = by_name(loadline.solve(system, points))
    found = [
        Compared(system, suite, known(system, point, solved[point.name].total.iops or 0.0, seconds), solved[point.name])
        for point in points
        if solved[point.name].error is None
    ]
    return [one for one in found if one.simulated.error is None]


def known(system: System, point: Point, iops: float, seconds: float) -> Result:
    """A point simulated to a small half-width: with more phases of the drives, or more I/Os, while there is time."""
    ios, replications = max(sweep_ios(system, point), IOS), 1
    if passes(system, point):
        ios = min(max(int((point.runtime_ns or 0) / 1e9 * iops), READ_IOS[0]), READ_IOS[1])
        replications = PHASES
    elif ios == IOS:
        ios, replications = IOS // PHASES, PHASES
    begun = time.monotonic()
    while True:
        before = time.monotonic()
        (result,) = loadline.simulate(system, [point], ios=ios, replications=replications)
        took = time.monotonic() - before
        if result.error or half_width(result) <= SMALL or before + took - begun + AGAIN * took > seconds:
            return result
        if passes(system, point):
            replications *= AGAIN
        else:
            ios *= AGAIN


def half_width(result: Result) -> float:
    """Of throughput or mean response, the larger one, as a fraction."""
    total = result.total
    pairs = ((result.iops_ci95, total.iops), (result.latency_mean_ci95_ns, total.latency_mean_ns))
    return max((width / mean for width, mean in pairs if width is not None and mean), default=0.0)


def sweep_ios(system: System, point: Point) -> int:
    """I/Os in which a sweep of destaging comes by everything that is written; 0 where none is needed.

    Between two visits of a sweep to a place twice as much is written as is dirty on the whole.
    """
    profile = point.streams[0].profile
    figures = {key: value for key, value, _ in system.figures()}
    if not profile.writes or "cache.write" not in figures:
        return 0
    if profile.random_fraction == 0 and profile.read_fraction == 0:
        mean_bytes = max(share.size_bytes for share in profile.block)
        return int(WRITTEN_BYTES / mean_bytes) if point.streams[0].arrival.jobs > 1 else 0
    page, cache = parse_bytes(figures["cache.page"]), parse_bytes(figures["cache.write"])
    written = sum(share.share_fraction * -(-share.size_bytes // page) * page for share in profile.block)
    return int(2 * cache / written / (1 - profile.read_fraction))


def passes(system: System, point: Point) -> bool:
    """Whether all is in sequence, and read, or written past no cache, without a sweep beside it."""
    profile = point.streams[0].profile
    straight = profile.read_fraction > 0 or all(key != "cache.write" for key, _, _ in system.figures())
    return profile.random_fraction == 0 and straight and not sweep_ios(system, point)


def by_name(results: Sequence[Result]) -> dict[str, Result]:
    return {result.point: result for result in results if result.role == "point"}


def told(one: Compared) -> None:
    ours, theirs = one.solved.total, one.simulated.total
    print(
        f"{one.system.said} {one.suite} {one.simulated.point}: {one.error:+.1%}, IOPS {theirs.iops:.0f}"
        f" ±{one.simulated.iops_ci95 or 0:.0f} and {ours.iops:.0f},"
        f" mean {(theirs.latency_mean_ns or 0) / 1e6:.2f} and {(ours.latency_mean_ns or 0) / 1e6:.2f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
