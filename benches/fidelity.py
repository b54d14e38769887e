"""Emulated systems under real fio, beside simulations of the same: does what is served keep the model's times?

Six systems, four loads, three depths. Each measured figure carries its own chance (95 %): a few seconds of a disk are
a few hundred requests. A bar counts as met when the difference is within bar and chance together. The deepest queue
comes first, so that caches which the load fills are full by then, as they are in a simulation from its beginning.

    python benches/fidelity.py                          a table, some 10 minutes
    python benches/fidelity.py --runtime 30 -o PAGE     the long version, put between the marks of a page
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadline.measuring.run import run
from loadline.reporting.table import Group, Table, count, milliseconds
from loadline.result.schema import Result
from loadline.system.simulate import simulate
from loadline.workload.plan import Options

SYSTEMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("hdd-7k2", ()),
    ("sas-10k-jbod", ()),
    ("dl360-g6-p410i", ("cache.mode=write-through",)),
    ("dl360-g6-p410i", ()),
    ("md-raid5-8x2tb", ()),
    ("eva-v2-10k", ()),
)

SUITE = """
title = "Loads to compare a served system with its simulation"
source = "made for this comparison"
analysis = "Random and sequential, reads and writes, alone and in queues."
runtime = "5s"
queue_depth = [64, 8, 1]

[[profile]]
name = "random-read"
class = "random"
block = "8k"
read = "100%"
random = "100%"

[[profile]]
name = "random-write"
class = "random"
block = "8k"
read = "0%"
random = "100%"

[[profile]]
name = "mixed"
class = "random"
block = "8k"
read = "70%"
random = "100%"

[[profile]]
name = "sequential-read"
class = "sequential"
block = "64k"
read = "100%"
random = "0%"
"""

HEADS = ("system", "load", "IOPS", "simulated", "mean ms", "simulated", "off", "chance", "p99 ms", "simulated", "met")
BEGIN, END = "<!-- fidelity: benches/fidelity.py -->", "<!-- end of fidelity -->"

# From here on differences count as shares; below it they may also be so many ns.
_SLOW_NS = 1e6
_BAR, _FAST_BAR, _FAST_NS = 0.02, 0.05, 30_000.0


@dataclass(frozen=True)
class Pair:
    """A point as fio measured it on the served system, and as it was simulated."""

    system: str
    measured: Result
    simulated: Result

    @property
    def off(self) -> float:
        """How far the mean response is off, as a share; above 0 if what is served is slower."""
        return (self.measured.total.latency_mean_ns or 0.0) / (self.simulated.total.latency_mean_ns or 1.0) - 1

    @property
    def chance(self) -> float:
        """Half of the 95 % confidence interval of the measured mean, as a share, as if requests were independent."""
        flow = self.measured.total
        ios = (flow.iops or 0.0) * (self.measured.runtime_ns or 0) / 1e9
        return 1.96 * (flow.latency_stddev_ns or 0.0) / math.sqrt(max(1.0, ios)) / (flow.latency_mean_ns or 1.0)

    @property
    def met(self) -> bool:
        mean_ns = self.simulated.total.latency_mean_ns or 0.0
        chance = self.chance + (self.simulated.latency_mean_ci95_ns or 0.0) / max(1.0, mean_ns)
        within = abs(self.off) <= (_BAR if mean_ns >= _SLOW_NS else _FAST_BAR) + chance
        return within or (mean_ns < _SLOW_NS and abs(self.off) * mean_ns <= _FAST_NS)

    def cells(self) -> tuple[str, ...]:
        measured, simulated = self.measured.total, self.simulated.total
        return (
            self.system,
            self.measured.point,
            count(measured.iops),
            count(simulated.iops),
            milliseconds(measured.latency_mean_ns),
            milliseconds(simulated.latency_mean_ns),
            f"{self.off:+.1%}",
            f"{self.chance:.1%}",
            milliseconds(measured.latency_p99_ns),
            milliseconds(simulated.latency_p99_ns),
            "yes" if self.met else "NO",
        )


def compare(
    system: str, settings: Sequence[str], folder: Path, runtime_ns: int, warmup_ns: int, only: Sequence[str]
) -> Iterator[Pair]:
    """Every point of the suite on a system, served and simulated."""
    suite = folder / "fidelity.toml"
    suite.write_text(SUITE)
    options = Options(runtime_ns=runtime_ns, warmup_ns=warmup_ns, only=tuple(only))
    made = run(str(suite), f"emulated:{system}", options=options, store=folder / "runs", settings=settings, seed=1)
    simulated = simulate(system, str(suite), settings=settings, options=Options(only=tuple(only)))
    name = " ".join([system, *settings])
    for measured, model in zip(made.results(), simulated, strict=True):
        assert measured.point == model.point, "points come in the order of the plan"
        if measured.error:
            raise SystemExit(f"{name}: {measured.point}: {measured.error}")
        for finding in measured.findings:
            print(f"{name}: {measured.point}: {finding['message']}", file=sys.stderr)
        yield Pair(name, measured, model)


def publish(page: Path, text: str) -> None:
    """Puts the table between the marks of a page."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the marks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n```text\n{text}```\n\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", type=float, default=4.0, help="measured seconds of a point (4)")
    parser.add_argument("--warmup", type=float, default=3.0, help="seconds before it, in which caches fill (3)")
    parser.add_argument("--system", action="append", help="only systems whose name or settings contain this")
    parser.add_argument("--profile", action="append", default=[], help="only this load")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("-o", "--output", type=Path, help="a page with marks, between which the table goes")
    options = parser.parse_args()
    pairs: list[Pair] = []
    wanted = [
        (system, settings)
        for system, settings in SYSTEMS
        if not options.system or any(part in " ".join([system, *settings]) for part in options.system)
    ]
    for system, settings in wanted:
        with tempfile.TemporaryDirectory(prefix="loadline-fidelity-") as name:
            times = round(options.runtime * 1e9), round(options.warmup * 1e9)
            pairs += compare(system, settings, Path(name), *times, options.profile)
    cells = tuple(pair.cells() for pair in pairs)
    met = sum(pair.met for pair in pairs)
    notes = (f"{met} of {len(pairs)} within their bars; {options.runtime:g} s a point after {options.warmup:g} s",)
    table = Table(HEADS, (Group("", cells),), frozenset({0, 1}), notes).plain()
    print(table, end="")
    if options.output:
        publish(options.output, table)
    return 1 if options.strict and met < len(pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
