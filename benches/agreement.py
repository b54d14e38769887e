"""How far apart are simulate and solve? Prints each point of the suites at its own load that is off, and a table.

A point is judged where the simulated mean response is within the limit of the catalog's ramps: beyond it queues tell
their length. Its error is that of throughput or of mean response, whichever is larger. Simulations go on to a
half-width; where several streams are written they are long enough for sweeps over all of them, for a short one sees
the places of few. What is only read in order is simulated for as long as the suite lasts, as a mean over several phases
of the drives: for longer it would come to other zones of them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

import loadline
from loadline.reporting.table import Group, Table
from loadline.result.schema import Result
from loadline.system.description import system_names
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

SUITES = ("quick-look", "log-writer", "zone-profile", "hci", "six-patterns", "typical-12", "iometer-profiles")
LIMIT_NS = 30e6
MOST = 0.1

#: Bytes that several streams write, which is a dozen times what the catalog's write caches hold.
WRITTEN_BYTES = 9e9

#: Of what is read in order: the fewest and most I/Os, and seeds, each of which has other phases of the drives.
READ_IOS = (1_000, 100_000)
PHASES = 4


@dataclass(frozen=True, slots=True)
class Compared:
    """A point, simulated and solved."""

    system: str
    suite: str
    simulated: Result
    solved: Result

    @property
    def judged(self) -> bool:
        latency_ns = self.simulated.total.latency_mean_ns
        return latency_ns is not None and latency_ns <= LIMIT_NS

    @property
    def error(self) -> float:
        """Of throughput or mean response, the larger one, as a fraction."""
        ours, theirs = self.solved.total, self.simulated.total
        pairs = ((ours.iops, theirs.iops), (ours.latency_mean_ns, theirs.latency_mean_ns))
        return max((a / b - 1 for a, b in pairs if a is not None and b is not None), key=abs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", default=",".join(SUITES), help="comma-separated")
    parser.add_argument("--systems", default="", help="comma-separated; all that have drives unless given")
    parser.add_argument("--points", default="", help="only points whose names this regular expression finds")
    parser.add_argument("--until-precision", default="2%", help="half-width of simulations (2%%)")
    parser.add_argument("--queue-depth", type=int, help="replaces those of the suites")
    options = parser.parse_args()
    plain = [name for name in system_names() if not name.startswith("station-")]
    systems = options.systems.split(",") if options.systems else plain
    asked = Options(queue_depths=(options.queue_depth,) if options.queue_depth else None)
    rows: list[tuple[str, ...]] = []
    for suite in options.suites.split(","):
        plan = make_plan(load_suite(suite)[0], asked, 1)
        points = [point for point in plan if re.search(options.points, point.name)]
        for system in systems:
            found = compared(system, suite, points, options.until_precision)
            judged = [one for one in found if one.judged]
            off = [one for one in judged if abs(one.error) > MOST]
            for one in sorted(off, key=lambda one: -abs(one.error)):
                told(one)
            worst = max((one.error for one in judged), key=abs, default=0.0)
            rows.append((suite, system, f"{len(judged) - len(off)} of {len(judged)}", f"{worst:+.0%}", str(len(found))))
    heads = ("suite", "system", "within 10 %", "worst", "points")
    print(Table(heads, (Group("", tuple(rows)),), text=frozenset({0, 1})).markdown())


def compared(system: str, suite: str, points: Sequence[Point], precision: str) -> list[Compared]:
    simulated: dict[str, Result] = {}
    solved = by_name(loadline.solve(system, points))
    long = [point for point in points if sweeps(point)]
    passing = [point for point in points if passes(point)]
    others = [point for point in points if not sweeps(point) and not passes(point)]
    if others:
        simulated |= by_name(loadline.simulate(system, others, until_precision=precision))
    for point in passing:
        lasts_s = (point.runtime_ns or 0) / 1e9
        ios = min(max(int(lasts_s * (solved[point.name].total.iops or 0.0)), READ_IOS[0]), READ_IOS[1])
        simulated |= by_name(loadline.simulate(system, [point], ios=ios, replications=PHASES))
    for point in long:
        ios = int(WRITTEN_BYTES / max(share.size_bytes for share in point.streams[0].profile.block))
        simulated |= by_name(loadline.simulate(system, [point], ios=ios))
    return [
        Compared(system, suite, simulated[name], result)
        for name, result in solved.items()
        if result.error is None and simulated[name].error is None
    ]


def sweeps(point: Point) -> bool:
    """Whether several streams are written in sequence."""
    profile = point.streams[0].profile
    return profile.random_fraction == 0 and profile.read_fraction == 0 and point.streams[0].arrival.jobs > 1


def passes(point: Point) -> bool:
    """Whether all is read in sequence."""
    profile = point.streams[0].profile
    return profile.random_fraction == 0 and profile.read_fraction == 1


def by_name(results: Sequence[Result]) -> dict[str, Result]:
    return {result.point: result for result in results if result.role == "point"}


def told(one: Compared) -> None:
    ours, theirs = one.solved.total, one.simulated.total
    print(
        f"{one.system} {one.suite} {one.simulated.point}: {one.error:+.1%}, IOPS {theirs.iops:.0f}"
        f" ±{one.simulated.iops_ci95 or 0:.0f} and {ours.iops:.0f},"
        f" mean {(theirs.latency_mean_ns or 0) / 1e6:.2f} and {(ours.latency_mean_ns or 0) / 1e6:.2f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
