"""How fast are simulator and solver? Each against a bare event loop, or mean value analysis by hand, in one run.

The bars are those rates of the machine on which the bare loop does 12.5 million I/Os a second and the analysis by hand
2.3 million solutions, as ratios to these, so that they hold on any machine.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forecasts
from compared import Compared, spread

ROOT = Path(__file__).parent.parent
CATALOG = ROOT / "python/loadline/catalog"

BARE_LOOP_PER_S, BARE_ANALYSIS_PER_S = 12.5e6, 2.3e6

#: What of `arrays`, its name here, and how many host I/Os a second it is to do.
ARRAYS = {
    "disk": ("one mechanical disk, random, depth 32", 1_000_000),
    "raid5": ("RAID 5 of 9 disks, 8k 67/33", 300_000),
    "eva": ("EVA of 168 disks, Database", 250_000),
}
MEMORY_MB, START_MS = 200, 50
PROFILES_MS, SWEEP_MS = 10, 1000


def compare(runs: int) -> list[Compared]:
    examples = ("--example", "arrays", "--example", "closed_network")
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "loadline-model", *examples], cwd=ROOT, check=True)
    arrays = [_lines("arrays", str(CATALOG), "0.5") for _ in range(runs)]
    networks = [_lines("closed_network", "0.5") for _ in range(runs)]
    rows = [_against("I/Os a second", *ARRAYS[what], BARE_LOOP_PER_S, arrays, (what,), 3) for what in ARRAYS]
    closed = ("closed network of 9 stations, depth 32", 5_000_000)
    rows.append(_against("I/Os a second", *closed, BARE_LOOP_PER_S, networks, ("8", "32"), 2))
    exact = ("exact solution of that network", 100_000)
    rows.append(
        _against("solutions a second", *exact, BARE_ANALYSIS_PER_S, networks, ("one server each, one by one",), 1)
    )
    rows.append(_flat("disks", "8 to 1,024 disks", 2.0, arrays))
    rows.append(_flat("outstanding", "1 to 4,096 outstanding", 3.0, arrays))
    eva = [_line(lines, ("eva",)) for lines in arrays]
    rows.append(_below("EVA: memory", [float(line[6]) for line in eva], "MB", MEMORY_MB))
    rows.append(_below("EVA: start", [float(line[5]) for line in eva], "ms", START_MS))
    bare_per_s = statistics.median(_bare(_line(run, ("8", "32")), 2) for run in networks)
    found = [forecasts.in_own_process() for _ in range(runs)]
    return rows + _forecasts(found, bare_per_s, [_second_core() for _ in range(runs)])


def _second_core() -> float:
    """What two bare event loops side by side, which share nothing, do of what one does: no second core gives more."""

    def loop(_: int) -> float:
        return _bare(_line(_lines("closed_network", "0.2"), ("8", "32")), 2)

    alone = loop(0)
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(loop, range(2))) / alone


def _forecasts(runs: list[dict[str, float]], bare_per_s: float, bare_cores: list[float]) -> list[Compared]:
    """Times of forecasts, and as many I/Os as the bare loop does meanwhile; then what the second core gives."""

    def timed(what: str, key: str, bar_ms: float | None) -> Compared:
        times = [run[key] for run in runs]
        ios = statistics.median(times) / 1e3 * bare_per_s
        shown = (
            what,
            f"{statistics.median(times):,.1f} ms",
            f"{bare_per_s:,.0f}/s",
            f"{ios:,.0f} I/Os",
            spread(times, " ms"),
        )
        if bar_ms is None:
            return Compared(*shown)
        bar = bar_ms / 1e3 * BARE_LOOP_PER_S
        return Compared(*shown, f"<= {bar:,.0f} I/Os", ios <= bar)

    def cores(what: str) -> Compared:
        one, two = ([run[f"{what} on {cores}"] for run in runs] for cores in (1, 2))
        ratios = [first / second for first, second in zip(one, two, strict=True)]
        return Compared(
            f"{what}: what a second core gives, beside bare loops",
            f"x {statistics.median(ratios):.2f}",
            f"x {statistics.median(bare_cores):.2f}",
            f"x {statistics.median(ratios) / statistics.median(bare_cores):.2f}",
            spread(ratios),
        )

    twelve = [
        timed(f"twelve profiles, {system}: {when}", f"{system} {when}", bar_ms)
        for system in forecasts.SYSTEMS
        for when, bar_ms in (("cold", PROFILES_MS), ("warm", PROFILES_MS), ("load lines", None))
    ]
    sweep = timed("sweep of 1,000 configurations: cold, 2 cores", "sweep cold", SWEEP_MS)
    return [*twelve, sweep, *map(cores, ("sweep", "sweep over walks", "replications"))]


def _lines(example: str, *arguments: str) -> list[list[str]]:
    """The lines of a table whose columns are right-aligned, two blanks or more apart."""
    command = [str(ROOT / "target/release/examples" / example), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [re.split(r"\s{2,}|(?<=\d)\s+(?=\d)", line.strip()) for line in done.stdout.splitlines()]


def _line(lines: list[list[str]], begin: tuple[str, ...]) -> list[str]:
    return next(line for line in lines if tuple(line[: len(begin)]) == begin)


def _against(
    unit: str,
    what: str,
    bar_per_s: float,
    bare_per_s: float,
    runs: list[list[list[str]]],
    begin: tuple[str, ...],
    at: int,
) -> Compared:
    """Our rate against the bare one; `at` is the column of ours."""
    lines = [_line(run, begin) for run in runs]
    ours = statistics.median(float(line[at]) for line in lines)
    ratios = [float(line[at]) / _bare(line, at) for line in lines]
    ratio, bar = statistics.median(ratios), bar_per_s / bare_per_s
    return Compared(
        f"{what}: {unit}",
        f"{ours:,.0f}",
        f"{ours / ratio:,.0f}",
        f"x {ratio:.3f}",
        spread(ratios),
        f">= {bar:.3f}",
        ratio >= bar,
    )


def _bare(line: list[str], at: int) -> float:
    """The bare rate of a line: printed beside ours, or from the ratio."""
    beside = float(line[at + 1])
    return beside if beside > 100 else float(line[at]) / beside


def _flat(case: str, what: str, bar: float, runs: list[list[list[str]]]) -> Compared:
    """How much more an I/O costs in the dearest of a series of cases than in the cheapest."""
    series = [[float(line[3]) for line in run if line[0] == case] for run in runs]
    ratios = [max(rates) / min(rates) for rates in series]
    ratio = statistics.median(ratios)
    return Compared(
        f"cost an I/O from {what}",
        f"{min(series[0]):,.0f}/s",
        f"{max(series[0]):,.0f}/s",
        f"x {ratio:.2f}",
        spread(ratios),
        f"<= {bar:g}",
        ratio <= bar,
    )


def _below(what: str, values: list[float], unit: str, bar: float) -> Compared:
    value = statistics.median(values)
    return Compared(what, f"{value:.0f} {unit}", "", "", spread(values, f" {unit}"), f"< {bar:g} {unit}", value < bar)
