"""The curve that searches for load lines follow."""

from __future__ import annotations

import math

import pytest

from loadline.system.curve import fit


def test_of_m_g_1_it_is_within_a_percent_by_three_answers() -> None:
    """Pollaczek and Khinchine: the response is 1 + c u / (1 - u) service times, at a utilisation of u."""

    def response(busy: float) -> float:
        return 1 + 0.7 * busy / (1 - busy)

    curve = fit([(1 / (1 - busy), response(busy), 0.0) for busy in (0.3, 0.6, 0.9)])
    for busy in (0.4, 0.7, 0.8):
        value, deviation = curve.at(1 / (1 - busy))
        assert math.exp(value) == pytest.approx(response(busy), rel=0.01)
        assert 0 < deviation < 0.1


def test_it_knows_nothing_better_than_its_answers_and_less_away_from_them() -> None:
    curve = fit([(1, 0.1, 0.02), (10, 0.2, 0.02), (100, 1.5, 0.02)])
    there, between, beyond = (curve.at(depth)[1] for depth in (10, 30, 400))
    assert there == pytest.approx(0.02, rel=0.1)
    assert there < between < beyond


def test_two_flat_answers_below_two_that_rise_are_taken_for_a_corner() -> None:
    """Of many servers: max(1, N / 100), whose asymptotes meet where no answer is."""
    answers = [(depth, max(1.0, depth / 100), 0.0) for depth in (1, 64, 256, 1024)]
    curve = fit(answers)
    assert [math.exp(curve.at(depth)[0]) for depth in (80, 140)] == pytest.approx([1, 1.4], rel=0.1)


def test_luck_of_neighbours_does_not_bend_it() -> None:
    """Two answers 1 % apart in load and 4 % in response, known to 2 %, are no steep curve."""
    curve = fit([(1, 0.1, 0.02), (100, 1.02, 0.02), (101, 0.98, 0.02), (1000, 10, 0.02)])
    assert curve.at(101)[0] - curve.at(100)[0] == pytest.approx(math.log(1.01), abs=0.01)


def test_one_answer_is_taken_to_grow_mostly_with_the_load() -> None:
    curve = fit([(1, 0.1, 0.0)])
    assert curve.at(1)[0] == pytest.approx(math.log(0.1))
    value, deviation = curve.at(10)
    assert math.log(0.1) < value - deviation < value + deviation < math.log(10)
