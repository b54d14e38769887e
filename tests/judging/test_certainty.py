"""How sure figures are for which rows have no column: reads, writes and percentiles, from the seconds of a run."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from results import measured, solved

from loadline._core import Histogram
from loadline.judging.certainty import Certainty
from loadline.judging.figure import FIGURES
from loadline.judging.interval import EXACT


def second(dice: Random, spread: float) -> Any:
    """Reads and writes of one second; their numbers and responses differ by so much from one to the next."""

    def flow(ios: float, mean_ns: float) -> Any:
        number, mean = round(ios * (1 + dice.gauss(0, spread))), mean_ns * (1 + dice.gauss(0, spread))
        bins = Histogram([round(mean * times) for times in (0.5, 1.0, 3.0)], [number // 2, number // 3, number // 20])
        return SimpleNamespace(ios=number, latency_samples=number, latency_mean_ns=mean, histogram=bins)

    return SimpleNamespace(duration_ns=10**9, read=flow(700, 1.8e6), write=flow(300, 2.4e6))


def certainty(number: int, spread: float = 0.02) -> Certainty:
    dice = Random(1)
    seconds = [second(dice, spread) for _ in range(number)]
    return Certainty(lambda _: seconds)


@pytest.mark.parametrize("figure", ["read_iops", "read_latency_mean_ns", "write_latency_mean_ns"])
def test_the_error_of_one_direction_is_that_of_its_seconds(figure: str) -> None:
    error = certainty(100).of(measured("p"), FIGURES[figure])
    assert error is not None
    # 2 % from second to second, a hundred of them.
    assert error.log == pytest.approx(0.002, rel=0.5)


def test_percentiles_have_errors_that_grow_with_the_spread() -> None:
    quiet, wild = (certainty(100, spread).of(measured("p"), FIGURES["latency_p90_ns"]) for spread in (0.02, 0.2))
    assert quiet is not None
    assert wild is not None
    assert 0 <= quiet.log < wild.log


def test_too_few_seconds_tell_nothing() -> None:
    for figure in ("read_iops", "read_latency_p99_ns"):
        assert certainty(9).of(measured("p"), FIGURES[figure]) is None


def test_solutions_need_no_seconds() -> None:
    assert Certainty().of(solved("p"), FIGURES["read_latency_mean_ns"]) == EXACT
    assert Certainty().of(measured("p"), FIGURES["read_latency_mean_ns"]) is None
