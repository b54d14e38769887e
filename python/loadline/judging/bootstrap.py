"""How sure a percentile is, by blocks of the time that it's of, drawn again and again.

Source: H. R. Künsch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics 17, 1989
(moving blocks). Start reading at `percentile_error`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from operator import add
from random import Random
from statistics import stdev

from loadline.judging.interval import Error

#: Fewer spans of time say nothing of what another time would have given.
LEAST = 10

# Neighbours are put together until so many spans are left.
_MOST_SPANS = 60

_DRAWS = 200

Bins = tuple[Sequence[int], Sequence[int]]


def percentile_error(spans: Sequence[Bins], percent: float, seed: int = 1) -> Error | None:
    """The standard error of the logarithm of a percentile of all spans together.

    Args:
        spans: of successive spans of about equal length a histogram each: values ascending, and their counts.
        percent: which, above 0 and at most 100.
        seed: of the draws.

    Returns:
        The error, 0 where all draws end in one bin; None of too few spans, or of spans without a sample.
    """
    if len(spans) < LEAST:
        return None
    groups = _joined(spans)
    if not all(sum(group.values()) for group in groups):
        return None
    values, columns = _near(groups, percent)
    number = len(columns)
    # The length that grows with the third root of the number (Künsch 1989, section 3.3), of spans already joined.
    length = math.ceil(number ** (1 / 3))
    sums = [[0] * len(columns[0])]
    for column in columns:
        sums.append(list(map(add, sums[-1], column)))
    blocks = [[b - a for a, b in zip(sums[i], sums[i + length], strict=True)] for i in range(number - length + 1)]
    draws, dice = max(2, round(number / length)), Random(seed)
    found = []
    for _ in range(_DRAWS):
        drawn = map(sum, zip(*dice.choices(blocks, k=draws), strict=True))
        found.append(math.log(_percentile(values, list(drawn), percent)))
    # Of few blocks the spread of draws is too small by the share that one of them has.
    few = math.sqrt(draws / (draws - 1)) * math.sqrt(draws * length / number)
    return Error(stdev(found) * few, draws - 1)


def _joined(spans: Sequence[Bins]) -> list[dict[int, int]]:
    size = math.ceil(len(spans) / _MOST_SPANS)
    groups = []
    for start in range(0, len(spans) - size + 1, size):
        group: dict[int, int] = {}
        for values, counts in spans[start : start + size]:
            for value, count in zip(values, counts, strict=True):
                group[value] = group.get(value, 0) + count
        groups.append(group)
    return groups


def _near(groups: Sequence[dict[int, int]], percent: float) -> tuple[list[int], list[list[int]]]:
    """The bins between the groups' own percentiles, between which that of any mixture of them lies.

    What lies below is counted in the first of them, what lies above in one more.
    """
    own = []
    for group in groups:
        values = sorted(group)
        own.append(_percentile(values, [group[value] for value in values], percent))
    low, high = min(own), max(own)
    values = sorted({value for group in groups for value in group if low <= value <= high})
    columns = []
    for group in groups:
        column = [group.get(value, 0) for value in values]
        column[0] += sum(count for value, count in group.items() if value < low)
        columns.append([*column, sum(count for value, count in group.items() if value > high)])
    return [*values, high], columns


def _percentile(values: Sequence[int], counts: Sequence[int], percent: float) -> int:
    running = list(accumulate(counts))
    return max(1, values[min(len(values) - 1, bisect_left(running, percent / 100 * running[-1]))])
