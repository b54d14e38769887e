"""The order of a run: repetitions, shuffles, targets in turn."""

from __future__ import annotations

from collections import Counter

import pytest

from loadline.errors import InputError
from loadline.workload.order import Order, arranged
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

POINTS = make_plan(load_suite("typical-12")[0], Options(), seed=7)


def turns(order: Order, repeats: int = 1, targets: int = 1, seed: int = 1) -> tuple[Point, ...]:
    return arranged(POINTS, order, repeats=repeats, targets=targets, seed=seed)


def test_a_plan_that_is_gone_through_once_stays_as_it_is() -> None:
    assert turns("suite") == POINTS
    assert turns("suite", targets=8) == POINTS


def test_repetitions_follow_each_other_whole_and_none_asks_for_the_blocks_of_another() -> None:
    found = turns("suite", repeats=3)
    assert [(point.repeat, point.name) for point in found] == [
        (repeat, point.name) for repeat in (1, 2, 3) for point in POINTS
    ]
    assert len({point.seed for point in found}) == len(found)


def test_targets_in_turn_get_the_same_load_one_right_after_the_other() -> None:
    found = turns("interleaved", repeats=2, targets=2)
    assert [point.target for point in found] == [0, 1] * 2 * len(POINTS)
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert (first.name, first.repeat, first.seed) == (second.name, second.repeat, second.seed)


def test_a_random_order_is_another_in_each_repetition_and_the_same_for_a_seed() -> None:
    found = turns("random", repeats=2)
    names = [point.name for point in found]
    first, second = names[: len(POINTS)], names[len(POINTS) :]
    assert Counter(first) == Counter(second) == Counter(point.name for point in POINTS)
    assert first != second != [point.name for point in POINTS]
    assert turns("random", repeats=2) == found != turns("random", repeats=2, seed=2)
    assert {(point.name, point.seed) for point in found[: len(POINTS)]} == {
        (point.name, point.seed) for point in POINTS
    }


def test_what_cannot_be_ordered_so_is_refused() -> None:
    with pytest.raises(InputError, match="can't be interleaved"):
        turns("interleaved")
    with pytest.raises(InputError, match="more than 10,000"):
        turns("suite", repeats=1000)


def test_a_turn_survives_json() -> None:
    for point in turns("interleaved", repeats=2, targets=3):
        assert Point.from_json(point.to_json()) == point
