"""Student's distribution beside printed tables, and Holm's correction beside a worked case."""

from __future__ import annotations

import math

import pytest

from loadline.judging.interval import Error, estimate, together
from loadline.judging.student import holm, quantile, two_sided

# Any textbook's table of the t distribution, two-sided; the last ones are of the normal distribution.
TABLE = [
    (0.05, 1, 12.706), (0.05, 2, 4.303), (0.05, 3, 3.182), (0.05, 5, 2.571), (0.05, 30, 2.042), (0.05, 120, 1.980),
    (0.01, 1, 63.657), (0.01, 4, 4.604), (0.001, 4, 8.610), (0.001, 60, 3.460), (0.5, 7, 0.711),
    (0.05, math.inf, 1.960), (0.001, math.inf, 3.291),
]  # fmt: skip


@pytest.mark.parametrize(("chance", "freedom", "value"), TABLE)
def test_quantiles_are_those_of_printed_tables(chance: float, freedom: float, value: float) -> None:
    assert quantile(chance, freedom) == pytest.approx(value, abs=0.0006)
    assert two_sided(value, freedom) == pytest.approx(chance, rel=0.003)


def test_one_degree_of_freedom_is_cauchys_distribution() -> None:
    for t in (0.1, 1.0, 5.0, 1000.0):
        assert two_sided(t, 1) == pytest.approx(1 - 2 * math.atan(t) / math.pi, rel=1e-9)


def test_holms_correction_is_that_of_the_worked_case() -> None:
    # Three tests: the smallest times three, the next times two, never below one before it.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_equal_errors_of_equal_freedom_add_both() -> None:
    # Welch 1947: with equal variances and sizes the degrees of freedom of a difference are both together.
    found = together([Error(0.1, 4), Error(0.1, 4)])
    assert (found.log, found.freedom) == (pytest.approx(0.1 * math.sqrt(2)), pytest.approx(8))


def test_of_repetitions_the_wider_of_both_errors_counts() -> None:
    far = estimate([90.0, 100.0, 110.0], [Error(0.001)] * 3)
    near = estimate([99.999, 100.0, 100.001], [Error(0.05)] * 3)
    assert far.error is not None
    assert near.error is not None
    assert far.error.freedom == 2
    assert near.error.log == pytest.approx(0.05 / math.sqrt(3))
