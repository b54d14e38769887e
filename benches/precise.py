"""How long points take until they are precise, and how far their figures are then from those of the whole run time.

The suite's points run on a described array in the model's own time, so that neither the clock nor other work on this
machine is in the comparison; the rule is that of `loadline run`, told of each second as fio tells it. Both figures are
of one series: what differs is the doing of the rule.

    python benches/precise.py [--system NAME] [--set KEY=VALUE] [--suite NAME] [--precision 1%]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from loadline import _core
from loadline.measuring.emulate import describe
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


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", default="dl360-g6-p410i")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--suite", default="typical-12")
    parser.add_argument("--precision", default="1%")
    asked = parser.parse_args()
    emulated = describe(asked.system, tuple(asked.settings))
    wanted = float(parse_fraction(asked.precision))
    rows, took_ns, whole_ns = [], 0, 0
    for point in make_plan(load_suite(asked.suite)[0], Options(precision_fraction=wanted), seed=1):
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
        known = Stopping(whole, emulated.write_cache_bytes).judged(all_of_it)
        took, full = sum(one.duration_ns for one in seen), sum(one.duration_ns for one in series)
        took_ns, whole_ns = took_ns + took, whole_ns + full
        off = iops(seen[judged.skipped :]) / iops(series) - 1
        rows.append(
            (
                *(point.name, count(took / 1e9), f"{took / full:.0%}", stopping.ended_by, f"{off:+.2%}"),
                *(f"{judged.ci95_fraction:.1%}", f"{known.ci95_fraction:.1%}"),
            )
        )
    heads = ("point", "s", "of all", "ended by", "IOPS off", "±", "± of the whole")
    print(Table(heads, (Group("", tuple(rows)),), frozenset({0, 3})).plain())
    print(f"{took_ns / whole_ns:.0%} of the time")


if __name__ == "__main__":
    main()
