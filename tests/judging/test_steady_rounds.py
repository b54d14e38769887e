"""SNIA's rule for steady rounds."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadline.judging.rounds import window

RATES = st.lists(st.floats(1, 1e6), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("rates", "excursion", "slope", "steady"),
    [
        ([100, 100, 100, 100, 100], 0.0, 0.0, True),
        # Least squares through 0..4: a rise of 2.5 a round is 10 over the window.
        ([95, 97.5, 100, 102.5, 105], 0.10, 0.10, True),
        ([94, 97, 100, 103, 106], 0.12, 0.12, False),
        ([100, 90, 110, 90, 110], 0.20, 0.08, True),
        ([100, 89, 111, 89, 111], 0.22, 0.088, False),
        ([106, 103, 100, 97, 94], 0.12, 0.12, False),
    ],
)
def test_rounds_are_steady_within_20_percent_and_a_slope_of_10(
    rates: list[float], excursion: float, slope: float, steady: bool
) -> None:
    found = window(rates)
    assert (found.excursion_fraction, found.slope_fraction) == pytest.approx((excursion, slope), abs=1e-9)
    assert found.steady == steady


@given(RATES)
def test_the_slope_is_that_of_a_line_of_least_squares(rates: list[float]) -> None:
    slope = statistics.linear_regression(range(len(rates)), rates).slope
    expected = abs(slope) * (len(rates) - 1) / statistics.fmean(rates)
    assert window(rates).slope_fraction == pytest.approx(expected, rel=1e-6, abs=1e-9)
