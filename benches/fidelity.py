"""Emulated systems under real fio, beside simulations of the same: does what is served keep the model's times?

Six systems, four loads, three depths. Each point is measured on a server of its own and simulated for the same warm-up
and run time, both from rest, with several seeds. What those differ by is what one more run of the model itself may be
off: 95 % of runs lie within that chance of their mean (a prediction interval by Student's t). A bar counts as met when
the difference is within bar and chance together.

    python benches/fidelity.py                          a table, some 15 minutes
    python benches/fidelity.py --runtime 30 -o PAGE     the long version, put between the marks of a page
"""

from __future__ import annotations

import argparse
import gzip
import math
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import machine

from loadline._core import Flow, StatusStream
from loadline.measuring.run import run
from loadline.reporting.table import Group, Table, count, milliseconds
from loadline.result.schema import Result
from loadline.system.asked import points_of
from loadline.system.simulate import simulate
from loadline.workload.plan import Options

#: Names, settings, and how many times the usual warm-up: until mixed loads have gone once through a cache of 512 MiB.
SYSTEMS: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("hdd-7k2", (), 1),
    ("sas-10k-jbod", (), 1),
    ("dl360-g6-p410i", ("cache.mode=write-through",), 1),
    ("dl360-g6-p410i", (), 1),
    ("md-raid5-8x2tb", (), 1),
    ("eva-v2-10k", (), 4),
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

HEADS = ("system", "load", "IOPS", "simulated", "mean ms", "simulated", "off", "chance", "met")
TAIL_HEADS = ("p99 ms", "simulated", "off", "chance", "met")
BEGIN, END = "<!-- fidelity: benches/fidelity.py -->", "<!-- end of fidelity -->"

# From here on differences count as shares; below it they may also be so many ns.
_SLOW_NS = 1e6
_TICK_NS = 10**9

# Of the served systems; simulations have as many more as there are replications.
_SEED = 1
_REPLICATIONS = 20
# Student's t at 97.5 %, for one degree of freedom less than replications.
_T = 2.093
_BAR, _FAST_BAR, _FAST_NS = 0.02, 0.05, 30_000.0
_TAIL_BAR = 0.05


@dataclass(frozen=True)
class Measured:
    """What fio saw of a served system while the queue was as deep as asked: without the end, in which it runs empty."""

    iops: float
    mean_ns: float
    p99_ns: int


def steady(raw: Path, runtime_ns: int) -> Measured:
    """The seconds of fio's output up to the point's run time."""
    taken, passed_ns = [], 0
    for interval in StatusStream().feed(gzip.decompress(raw.read_bytes())):
        if interval.warmup or passed_ns + interval.duration_ns > runtime_ns + _TICK_NS // 10:
            continue
        taken.append(interval)
        passed_ns += interval.duration_ns
    whole = Flow.merge([flow for interval in taken for flow in (interval.read, interval.write)])
    return Measured(
        iops=whole.ios * 1e9 / max(1, passed_ns),
        mean_ns=whole.latency_mean_ns or 0.0,
        p99_ns=whole.histogram.percentile_ns(99) or 0,
    )


@dataclass(frozen=True)
class Pair:
    """A point as fio measured it on the served system, and as it was simulated."""

    system: str
    measured: Measured
    simulated: Result

    @property
    def mean_ns(self) -> float:
        """Simulated."""
        mean_ns = self.simulated.total.latency_mean_ns
        assert mean_ns, f"{self.simulated.point} of {self.system}: {self.simulated.error}"
        return mean_ns

    @property
    def off(self) -> float:
        """How far the mean response is off, as a share; above 0 if what is served is slower."""
        return self.measured.mean_ns / self.mean_ns - 1

    @property
    def chance(self) -> float:
        """How far one more run of the model may be off, as a share."""
        of_their_mean = (self.simulated.latency_mean_ci95_ns or 0.0) / self.mean_ns
        return of_their_mean * math.sqrt(_REPLICATIONS + 1)

    @property
    def met(self) -> bool:
        within = abs(self.off) <= (_BAR if self.mean_ns >= _SLOW_NS else _FAST_BAR) + self.chance
        return within or (self.mean_ns < _SLOW_NS and abs(self.off) * self.mean_ns <= _FAST_NS)

    @property
    def tail_off(self) -> float:
        """The same of the 99th percentile."""
        return self.measured.p99_ns / (self.simulated.total.latency_p99_ns or 1) - 1

    @property
    def tail_chance(self) -> float:
        error: float = self.simulated.provenance["errors"]["latency_p99_ns"]
        return _T * error * math.sqrt(_REPLICATIONS + 1)

    @property
    def tail_met(self) -> bool:
        return abs(self.tail_off) <= _TAIL_BAR + self.tail_chance

    def cells(self) -> tuple[str, ...]:
        measured, simulated = self.measured, self.simulated.total
        return (
            self.system,
            self.simulated.point,
            count(measured.iops),
            count(simulated.iops),
            milliseconds(measured.mean_ns),
            milliseconds(simulated.latency_mean_ns),
            f"{self.off:+.1%}",
            f"{self.chance:.1%}",
            "yes" if self.met else "NO",
            milliseconds(measured.p99_ns),
            milliseconds(simulated.latency_p99_ns),
            f"{self.tail_off:+.1%}",
            f"{self.tail_chance:.1%}",
            "yes" if self.tail_met else "NO",
        )


def compare(
    system: str, settings: Sequence[str], folder: Path, runtime_ns: int, warmup_ns: int, only: Sequence[str]
) -> Iterator[Pair]:
    """Every point of the suite on a system, served and simulated."""
    suite = folder / "fidelity.toml"
    suite.write_text(SUITE)
    options = Options(runtime_ns=runtime_ns, warmup_ns=warmup_ns, only=tuple(only))
    _, points = points_of(str(suite), options)
    name = " ".join([system, *settings])
    for point in points:
        profile, depth = point.streams[0].profile.name, point.streams[0].arrival.queue_depth
        one = replace(options, only=(profile,), queue_depths=(depth,))
        made = run(str(suite), f"emulated:{system}", options=one, store=folder, settings=settings, seed=_SEED)
        [measured] = made.results()
        if measured.error:
            raise SystemExit(f"{name}: {measured.point}: {measured.error}")
        for finding in (finding for finding in measured.findings if finding["check"] == "emulation"):
            print(f"{name}: {measured.point}: {finding['message']}", file=sys.stderr)
        [model] = simulate(system, point, settings=settings, timed=True, replications=_REPLICATIONS)
        yield Pair(name, steady(made.point_path(0) / "fio.json.gz", runtime_ns), model)


def marked(page: Path) -> tuple[str, str]:
    """What stands before and after the table of a page, which is asked for before anything is measured."""
    before, begin, rest = (page.read_text() if page.exists() else "").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n", f"\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", type=float, default=4.0, help="measured seconds of a point (4)")
    parser.add_argument("--warmup", type=float, default=3.0, help="seconds before it, in which caches fill (3)")
    parser.add_argument("--system", action="append", help="only systems in whose name and settings this is found")
    parser.add_argument("--profile", action="append", default=[], help="only this load")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("-o", "--output", type=Path, help="a page with marks, between which the table goes")
    options = parser.parse_args()
    page = marked(options.output) if options.output else None
    pairs: list[Pair] = []
    taken = machine.taken(2, 3 * _TICK_NS)
    wanted = [
        (system, settings, warmups)
        for system, settings, warmups in SYSTEMS
        if not options.system or any(re.search(part, " ".join([system, *settings])) for part in options.system)
    ]
    for system, settings, warmups in wanted:
        with tempfile.TemporaryDirectory(prefix="loadline-fidelity-") as name:
            times = round(options.runtime * 1e9), round(options.warmup * warmups * 1e9)
            pairs += compare(system, settings, Path(name), *times, options.profile)
    cells = tuple(pair.cells() for pair in pairs)
    met, tails_met = sum(pair.met for pair in pairs), sum(pair.tail_met for pair in pairs)
    taken = (taken + machine.taken(2, 3 * _TICK_NS)) / 2
    longest = max(warmups for _, _, warmups in wanted)
    after = f"{options.warmup:g} s" + (f" to {options.warmup * longest:g} s" if longest > 1 else "")
    notes = (
        f"{met} of {len(pairs)} within their bars, and {tails_met} of the 99th percentiles; "
        f"{options.runtime:g} s a point after {after}",
        f"before and after it the machine took {taken:.1%} of two cores' time in stretches of 0.1 ms and more",
    )
    table = Table(HEADS + TAIL_HEADS, (Group("", cells),), frozenset({0, 1}), notes).plain()
    print(table, end="")
    if page:
        options.output.write_text(f"{page[0]}```text\n{table}```\n{page[1]}")
    return 1 if options.strict and met < len(pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
