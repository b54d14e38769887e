"""A curve of response over load, fitted to the few answers that a search has: where it's likely to meet the limit.

Starts from what queues do and says how far that can be trusted; knows nothing of searches.
Start reading at `fit`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Of one answer alone: so much of the response grows with the load, the rest doesn't.
_GROWING = 0.7

# How sharply curves bend where saturation begins, and how likely each is before anything is known (assumed: half of
# them as queues in balance do; 16 is as good as a corner).
_BENDS = ((1.0, 0.6), (2.0, 0.15), (4.0, 0.15), (16.0, 0.1))

# A bend so much less likely than the likeliest doesn't count.
_UNLIKELY = 1e-4

# How far curves leave these: the spread of how fast they begin to, and of how that changes.
# Chosen over curves of many kinds (benches/searches.py), and not critical: twice or half costs hardly a probe.
_SLOPE = 0.2
_BEND = 0.15

# What was seen of that spread scales it, as if so many answers had been as expected before.
_BEFORE = 3

# An answer is known no better than that: rounding.
_SUREST = 1e-5


@dataclass(frozen=True, slots=True)
class _Shape:
    """A curve that bends in one way: its logarithm at places, which are logarithms of depths."""

    bend: float
    base: float
    rise: float
    places: tuple[float, ...]
    factor: tuple[tuple[float, ...], ...]
    off: tuple[float, ...]
    spread: float

    def at(self, place: float) -> tuple[float, float]:
        known = _solved(self.factor, [_joint(place, other) for other in self.places])
        value = _queue(self.bend, self.base, self.rise, place) + sum(map(float.__mul__, known, self.off))
        left = max(0.0, _joint(place, place) - sum(one * one for one in known))
        return value, self.spread * math.sqrt(left)

    @property
    def likelihood(self) -> float:
        """The logarithm of how likely the answers are, whose spread isn't known (Student's, but for a constant)."""
        return -(_BEFORE + len(self.off)) / 2 * math.log(_BEFORE + sum(one * one for one in self.off))


@dataclass(frozen=True, slots=True)
class Curve:
    """What is known of the logarithm of response / limit; see `fit`."""

    _shapes: tuple[tuple[float, _Shape], ...]

    def at(self, depth: float) -> tuple[float, float]:
        """Its expected value at a depth, above 0 where the limit is passed, and the standard deviation of that."""
        found = [(weight, *shape.at(math.log(depth))) for weight, shape in self._shapes]
        value = sum(weight * one for weight, one, _ in found)
        square = sum(weight * (deviation**2 + (one - value) ** 2) for weight, one, deviation in found)
        return value, math.sqrt(square)

    def chance(self, depth: float, error: float) -> float:
        """That an answer at a depth keeps the limit, if `error` is its relative standard error."""
        found = [(weight, *shape.at(math.log(depth))) for weight, shape in self._shapes]
        return sum(
            weight * 0.5 * math.erfc(value / math.hypot(deviation, error, _SUREST) / math.sqrt(2))
            for weight, value, deviation in found
        )


def fit(answers: Sequence[tuple[float, float, float]]) -> Curve:
    """The curve through some answers.

    N outstanding I/Os take about A + B N, of open loads with 1 / (1 - utilisation) as N: exactly so in balanced closed
    networks and in M/G/1 (Kleinrock, Queueing Systems I, 1975, 5.6). Of many servers the bend is sharper, up to the
    asymptotes max(A, B N) (Denning and Buzen 1978, "The Operational Analysis of Queueing Network Models"):
    (A^s + (B N)^s)^(1/s) for some s, each as likely as the answers make it. A and B are taken from the lowest and the
    highest depth. What is left of the others, as a factor, is a cubic smoothing spline in the logarithm of the depth,
    with the confidence that an integrated Wiener process gives it (Wahba 1978, "Improper Priors, Spline Smoothing and
    the Problem of Guarding Against Model Errors in Regression").

    Args:
        answers: one or more in order of depth, which is 1 or more, each as depth, response / limit, and its relative
            standard error.
    """
    bends = _BENDS if len(answers) > 1 else _BENDS[:1]
    shapes = [(chance, _shape(answers, bend)) for bend, chance in bends]
    best = max(shape.likelihood for _, shape in shapes)
    likely = [(chance * math.exp(shape.likelihood - best), shape) for chance, shape in shapes]
    kept = [(weight, shape) for weight, shape in likely if weight > _UNLIKELY]
    total = sum(weight for weight, _ in kept)
    return Curve(tuple((weight / total, shape) for weight, shape in kept))


def _shape(answers: Sequence[tuple[float, float, float]], bend: float) -> _Shape:
    places = tuple(math.log(depth) for depth, _, _ in answers)
    heights = [math.log(part) for _, part, _ in answers]
    base, rise = _ends(bend, (places[0], heights[0]), (places[-1], heights[-1]))
    factor: list[tuple[float, ...]] = []
    for row, (place, (_, _, error)) in enumerate(zip(places, answers, strict=True)):
        known = _solved(factor, [_joint(place, other) for other in places[:row]])
        left = _joint(place, place) + max(error, _SUREST) ** 2 - sum(one * one for one in known)
        factor.append((*known, math.sqrt(max(left, _SUREST**2 / 2))))
    off = _solved(
        factor, [height - _queue(bend, base, rise, place) for place, height in zip(places, heights, strict=True)]
    )
    # Of answers with luck that is part of it, which gets no less.
    least = 1.0 if any(error for _, _, error in answers) else 0.0
    spread = max(least, math.sqrt((_BEFORE + sum(one * one for one in off)) / (_BEFORE + len(off))))
    return _Shape(bend, base, rise, places, tuple(factor), tuple(off), spread)


def _ends(bend: float, first: tuple[float, float], last: tuple[float, float]) -> tuple[float, float]:
    """The logarithms of A^s and B^s of a curve through two answers, or the one that there is."""
    (low, one), (high, other) = ((bend * place, bend * height) for place, height in (first, last))
    if high == low:
        rise = math.log(_GROWING) + one - low
    elif other > one:
        rise = other + _less(one - other) - high - _less(low - high)
    else:
        return one, -math.inf
    # One that begins below 0 has no A.
    return (one + _less(rise + low - one), rise) if rise + low < one else (-math.inf, one - low)


def _queue(bend: float, base: float, rise: float, place: float) -> float:
    """The logarithm of (A^s + (B N)^s)^(1/s)."""
    one, other = base, rise + bend * place
    return (max(one, other) + math.log1p(math.exp(-abs(one - other)))) / bend


def _less(power: float) -> float:
    """The logarithm of 1 less e to that power, which is below 0."""
    return math.log(-math.expm1(power))


def _joint(one: float, other: float) -> float:
    """The covariance of two places."""
    near, gap = min(one, other), abs(one - other)
    return 0.01 + _SLOPE**2 * one * other + _BEND * near * near * (near / 3 + gap / 2)


def _solved(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """x of L x = right, for the upper rows of a lower triangle L."""
    found: list[float] = []
    for row, value in zip(factor, right, strict=False):
        found.append((value - sum(map(float.__mul__, row, found))) / row[len(found)])
    return found
