"""Comparisons of pairs whose true ratio is known: how often the interval holds it, how often a verdict is wrong.

What is true comes from queueing theory: a closed station that never idles serves 1 / S, and an M/M/1 queue responds in
S / (1 - X S). The pairs are simulated, or series drawn here, and follow from seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest
from results import measured

from loadline.judging.bootstrap import percentile_error
from loadline.judging.cell import Cell
from loadline.judging.compare import compare
from loadline.judging.interval import Estimate, ratio
from loadline.judging.matching import Source
from loadline.judging.precision import Observed, judge
from loadline.result.schema import Result
from loadline.system.simulate import simulate
from loadline.workload.plan import Point
from loadline.workload.profile import Arrival, BlockShare, Closed, Open, Profile, Workload

PROFILE = Profile("p", (BlockShare(4096, 1.0),), 0.7, 1.0, "random")
SERVICE_NS = 7_000_000
RATIOS = (1.0, 1.01, 1.03, 1.10)


@dataclass(frozen=True)
class Pairs:
    """Cells, each with its true ratio."""

    cells: tuple[tuple[Cell, float], ...]

    @property
    def covered(self) -> float:
        held = [cell.low is not None and cell.low <= true <= (cell.high or 0.0) for cell, true in self.cells]
        return sum(held) / len(held)

    def share(self, *verdicts: str, true: float) -> float:
        found = [cell.verdict in verdicts for cell, one in self.cells if one == true]
        return sum(found) / len(found)


def station(arrival: Arrival, service_ns: float, number: int, ios: int, seed: int, runs: int = 1) -> list[Result]:
    """Points of one exponential server, alike but for their seeds; each run is a repetition."""
    points = [
        Point(f"p{n}", (Workload(PROFILE, arrival),), 0, 0, seed + 1000 * n + k, False)
        for k in range(runs)
        for n in range(number)
    ]
    settings = [f"station.0.service.exponential={service_ns:.0f}ns"]
    rows = simulate("station-mm1", points, settings=settings, ios=ios)
    return [replace(row, tags={}, run=f"r{n // number}") for n, row in enumerate(rows)]


def pairs(
    figure: str, arrival: Arrival, services_ns: dict[float, float], number: int, ios: int, runs: int = 1
) -> Pairs:
    """For each true ratio of the figure, whose service time is given, as many pairs against the plain station."""
    found = []
    for place, (true, service_ns) in enumerate(services_ns.items()):
        before = Source("a", tuple(station(arrival, SERVICE_NS, number, ios, 10_000_000 * place + 1, runs)))
        after = Source("b", tuple(station(arrival, service_ns, number, ios, 10_000_000 * place + 5_000_001, runs)))
        found += [(cell, true) for cell in compare([before, after], figures=[figure]).cells]
    return Pairs(tuple(found))


def test_intervals_of_a_thousand_pairs_of_runs_hold_the_true_ratio_of_their_rates() -> None:
    found = pairs("iops", Closed(4), {1 / times: SERVICE_NS * times for times in RATIOS}, 250, 2000)
    assert len(found.cells) == 1000
    assert 0.93 <= found.covered <= 0.97


def test_intervals_of_responses_that_depend_on_each_other_hold_the_true_ratio() -> None:
    rate = 100.0
    plain_s = SERVICE_NS / 1e9 / (1 - rate * SERVICE_NS / 1e9)
    services = {times: 1e9 * times * plain_s / (1 + rate * times * plain_s) for times in RATIOS}
    found = pairs("latency_mean_ns", Open(rate, 64), services, 100, 10_000)
    assert 0.93 <= found.covered <= 0.97


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_of_few_repetitions_hold_the_true_ratio(runs: int) -> None:
    found = pairs("iops", Closed(4), {1.0: SERVICE_NS, 1 / 1.03: SERVICE_NS * 1.03}, 100, 500, runs)
    # The wider of two errors counts, so they are a little wide.
    assert 0.93 <= found.covered <= 0.995


def test_families_of_figures_without_a_difference_have_a_false_verdict_in_one_of_twenty_at_most() -> None:
    families, size = 100, 12
    rows = [station(Closed(4), SERVICE_NS, families * size, 2000, seed) for seed in (1, 50_000_001)]
    wrong = 0
    for n in range(0, families * size, size):
        sides = [Source(name, tuple(each[n : n + size])) for name, each in zip("ab", rows, strict=True)]
        cells = compare(sides, figures=["iops"]).cells
        assert len(cells) == size
        wrong += any(cell.verdict in {"better", "worse"} for cell in cells)
    assert wrong <= 0.05 * families


def seconds(dice: Random, mean: float, number: int = 100, memory: float = 0.5, spread: float = 0.03) -> list[Observed]:
    """Seconds of a closed load whose rate depends on the second before."""
    at, found = dice.gauss(0, spread / math.sqrt(1 - memory**2)), []
    for _ in range(number):
        at = memory * at + dice.gauss(0, spread)
        ios = round(mean * (1 + at))
        found.append(Observed(10**9, ios, 32e9))
    return found


def observed(name: str, point: str, series: Sequence[Observed]) -> Result:
    """The row that a measurement with these seconds gives."""
    found = judge(series)
    assert found.iops is not None
    assert found.latency_mean_ns is not None
    row = measured(point, found.iops.value, found.latency_mean_ns.value / 1e6, run=name, steady=found.steady)
    return replace(row, iops_ci95=found.iops.ci95, latency_mean_ci95_ns=found.latency_mean_ns.ci95)


def test_measured_seconds_that_depend_on_each_other_are_as_sure_as_is_said() -> None:
    dice = Random(7)
    cells: list[tuple[Cell, float]] = []
    for times in RATIOS:
        a = [observed("a", f"p{n}", seconds(dice, 1000)) for n in range(150)]
        b = [observed("b", f"p{n}", seconds(dice, 1000 * times)) for n in range(150)]
        cells += [(cell, times) for cell in compare([*a, *b], figures=["iops"]).cells]
    found = Pairs(tuple(cells))
    assert len(found.cells) == 600
    # The intervals of seconds are the widest of several, so that short series don't end too early.
    assert 0.93 <= found.covered <= 0.99
    assert found.share("better", "worse", true=1.0) == 0
    assert found.share("better", true=1.10) > 0.9


def spans(dice: Random, times: float, number: int = 60, ios: int = 100) -> Iterator[tuple[list[int], list[int]]]:
    """Histograms of seconds whose responses are lognormal, with a scale that depends on the second before."""
    at = dice.gauss(0, 0.06)
    for _ in range(number):
        at = 0.5 * at + dice.gauss(0, 0.05)
        bins: dict[int, int] = {}
        for _ in range(ios):
            value = 1e6 * times * math.exp(at + dice.gauss(0, 0.5))
            octave = 2 ** (math.floor(math.log2(value)) - 6)
            middle = int(value // octave * octave + octave / 2)
            bins[middle] = bins.get(middle, 0) + 1
        ordered = sorted(bins)
        yield ordered, [bins[value] for value in ordered]


def test_blocks_drawn_again_tell_how_sure_a_percentile_is() -> None:
    dice, held, number = Random(3), 0, 40
    for n in range(number):
        true = RATIOS[n % len(RATIOS)]
        sides = []
        for times in (1.0, true):
            histograms = list(spans(dice, times))
            error = percentile_error(histograms, 99.0)
            every = sorted(
                value for bins, counts in histograms for value, c in zip(bins, counts, strict=True) for _ in range(c)
            )
            sides.append(Estimate(every[math.ceil(0.99 * len(every)) - 1], error))
        found = ratio(sides[1], sides[0])
        assert found.low is not None
        assert found.high is not None
        held += found.low / (1 + 1 / 128) <= true <= found.high * (1 + 1 / 128)
    assert held >= 0.92 * number
