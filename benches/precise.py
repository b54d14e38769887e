"""How long points take until they are precise, and how far their figures are then from those of the whole run time.

The suite's points run on a described array in the model's own time, so that neither the clock nor other work on this
machine is in the comparison; the rule is that of `loadline run`, told of each second as fio tells it. Both figures are
of one series: what differs is the doing of the rule.

    python benches/precise.py [--system NAME] [--set KEY=VALUE] [--suite NAME] [--precision 1%]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compared import Compared, spread

from loadline import _core
from loadline.measuring.emulate import Emulated, describe
from loadline.measuring.stopping import Stopping
from loadline.reporting.table import Group, Table, count
from loadline.system.asked import streams_of
from loadline.units import parse_fraction
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

SECOND_NS = 10**9


@dataclass(frozen=True)
class Way:
    """What went one way in an interval."""

    ios: int
    bytes: int
    latency_mean_ns: float | None
    latency_samples: int | None = None


@dataclass(frozen=True)
class Interval:
    """As the core's, of a model."""

    duration_ns: int
    read: Way
    write: Way
    warmup: bool = False

    @property
    def ios(self) -> int:
        """Both ways."""
        return self.read.ios + self.write.ios


def intervals(system: _core.System, point: Point) -> Iterator[Interval]:
    """The point's run time, in steps of a second of the model's time, or a few events more."""
    simulation = system.simulate(streams_of(point, system), seed=point.seed or 1, ios=1 << 40)
    last, elapsed_ns = None, 0
    while elapsed_ns < point.runtime_ns:
        simulation.work(0, events=64)
        now = simulation.outcome()
        if not now.read.ios + now.write.ios:
            continue  # not warm yet
        if last is not None and now.runtime_ns - last.runtime_ns >= SECOND_NS:
            duration_ns = now.runtime_ns - last.runtime_ns
            yield Interval(duration_ns, _between(last.read, now.read), _between(last.write, now.write))
            elapsed_ns, last = elapsed_ns + duration_ns, now
        last = last or now


def _between(before: _core.Flow, after: _core.Flow) -> Way:
    ios = after.ios - before.ios
    total_ns = after.ios * (after.latency_mean_ns or 0.0) - before.ios * (before.latency_mean_ns or 0.0)
    return Way(ios, after.bytes - before.bytes, total_ns / ios if ios else None)


def iops(part: list[Interval]) -> float:
    """Over all of these."""
    return sum(one.ios for one in part) * 1e9 / sum(one.duration_ns for one in part)


@dataclass(frozen=True)
class Stopped:
    """What ended a point, in so many seconds of its run time, and how far its IOPS are off those of all of it."""

    point: str
    took_ns: int
    whole_ns: int
    ended_by: str | None
    off: float
    ci95: float
    whole_ci95: float


def stop(system: str, settings: Sequence[str], suite: str, precision: float) -> list[Stopped]:
    """The points of a suite on a described array, each ended by the rule."""
    emulated = describe(system, tuple(settings))
    points = make_plan(load_suite(suite)[0], Options(precision_fraction=precision), seed=1)
    return [_stopped(emulated, point) for point in points]


def _stopped(emulated: Emulated, point: Point) -> Stopped:
    stopping, series = Stopping(point, emulated.write_cache_bytes), []
    end: int | None = None
    for one in intervals(emulated.core, point):
        series.append(one)
        as_any: Any = one
        if end is None and stopping.enough(as_any):
            end = len(series)
    seen: list[Any] = series[:end]
    judged = stopping.judged(seen)
    whole = replace(point, precision_fraction=None)
    all_of_it: list[Any] = series
    return Stopped(
        point.name,
        sum(one.duration_ns for one in seen),
        sum(one.duration_ns for one in series),
        stopping.ended_by,
        iops(seen[judged.skipped :]) / iops(series) - 1,
        judged.ci95_fraction,
        Stopping(whole, emulated.write_cache_bytes).judged(all_of_it).ci95_fraction,
    )


def share(points: Sequence[Stopped]) -> float:
    """Of the time that all of them could take."""
    return sum(one.took_ns for one in points) / sum(one.whole_ns for one in points)


def compare() -> Compared:
    """The rule beside the whole run time, on an array without a cache."""
    points = stop("dl360-g6-p410i", ("cache.mode=off",), "typical-12", 0.01)
    worst = max(abs(one.off) for one in points)
    return Compared(
        "time of twelve profiles, ±1 %",
        f"IOPS off by {worst:.1%} at most",
        "300 s each",
        f"x {share(points):.2f}",
        spread([one.took_ns / one.whole_ns for one in points]),
        "x 0.15, 2 %",
        share(points) <= 0.15 and worst <= 0.02,
    )


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", default="dl360-g6-p410i")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--suite", default="typical-12")
    parser.add_argument("--precision", default="1%")
    asked = parser.parse_args()
    points = stop(asked.system, asked.settings, asked.suite, float(parse_fraction(asked.precision)))
    rows = tuple(
        (
            *(one.point, count(one.took_ns / 1e9), f"{one.took_ns / one.whole_ns:.0%}", str(one.ended_by)),
            *(f"{one.off:+.2%}", f"{one.ci95:.1%}", f"{one.whole_ci95:.1%}"),
        )
        for one in points
    )
    heads = ("point", "s", "of all", "ended by", "IOPS off", "±", "± of the whole")
    print(Table(heads, (Group("", rows),), frozenset({0, 3})).plain())
    print(f"{share(points):.0%} of the time")


if __name__ == "__main__":
    main()
