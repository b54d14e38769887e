"""The order in which a run measures: points again and again, shuffled, or on one target after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from loadline.errors import InputError
from loadline.workload.plan import Point

#: `suite`: as the suite has them; `random`: each repetition in an order of its own; `interleaved`: as the suite has
#: them, and each point on one target after the other. Several targets are loaded at once in the first two.
Order: TypeAlias = Literal["suite", "random", "interleaved"]

# More can only be a slip; a run has a folder for each.
_MOST = 10_000


def arranged(points: Sequence[Point], order: Order, *, repeats: int, targets: int, seed: int) -> tuple[Point, ...]:
    """The measurements of a run, in their order: every point once in each repetition, and in turn on each target.

    Whole repetitions follow each other, so that what drifts during the run shows as their spread and not as a
    difference between points; of targets in turn, neighbours in time are asked for the same addresses.

    Raises:
        InputError: no repetition, more measurements than can be meant, or targets to interleave that aren't there.
    """
    in_turn = order == "interleaved"
    if repeats < 1:
        raise InputError(f"{repeats} repetitions are none", "Repeat at least once.")
    if len(points) * repeats * (targets if in_turn else 1) > _MOST:
        raise InputError(
            f"{len(points)} points, {repeats} times, are more than {_MOST:,} measurements", "Repeat less often."
        )
    if in_turn and targets == 1:
        raise InputError("one target can't be interleaved with others", "Name several targets, or leave out --order.")
    chance = random.Random(seed)
    found: list[Point] = []
    for number in range(repeats):
        again = [replace(point, repeat=number + 1, seed=_later(point.seed, number * len(points))) for point in points]
        if order == "random":
            chance.shuffle(again)
        for point in again:
            found += [replace(point, target=target) for target in range(targets)] if in_turn else [point]
    return tuple(found)


def _later(seed: int | None, by: int) -> int | None:
    """Another seed, so that a repetition doesn't find in caches what was asked for before it."""
    return None if seed is None else seed + by
