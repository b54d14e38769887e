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

# How far curves leave the straight line of queues: the spread of how fast they begin to, and of how that changes.
# Chosen over curves of many kinds (benches/searches.py), and not critical: twice or half costs hardly a probe.
_SLOPE = 0.2
_BEND = 0.15

# An answer is known no better than that: rounding.
_SUREST = 1e-5


@dataclass(frozen=True, slots=True)
class Curve:
    """What is known of the logarithm of response / limit; see `fit`."""

    _base: float
    _rise: float
    _places: tuple[float, ...]
    _factor: tuple[tuple[float, ...], ...]
    _off: tuple[float, ...]

    def at(self, depth: float) -> tuple[float, float]:
        """Its expected value at a depth, above 0 where the limit is passed, and the standard deviation of that."""
        place = math.log(depth)
        known = _solved(self._factor, [_joint(place, other) for other in self._places])
        value = math.log(self._base + self._rise * depth) + sum(map(float.__mul__, known, self._off))
        return value, math.sqrt(max(0.0, _joint(place, place) - sum(one * one for one in known)))


def fit(answers: Sequence[tuple[float, float, float]]) -> Curve:
    """The curve through some answers.

    N outstanding I/Os take about A + B N, of open loads with 1 / (1 - utilisation) as N: exactly so in balanced closed
    networks and in M/G/1 (Kleinrock, Queueing Systems I, 1975, 5.6). A and B are taken from the lowest and the highest
    depth. What is left of the others, as a factor, is a cubic smoothing spline in the logarithm of the depth, with the
    confidence that an integrated Wiener process gives it (Wahba 1978, "Improper Priors, Spline Smoothing and the
    Problem of Guarding Against Model Errors in Regression").

    Args:
        answers: one or more in order of depth, which is 1 or more, each as depth, response / limit, and its relative
            standard error.
    """
    (low, first, _), (high, last, _) = answers[0], answers[-1]
    rise = max(0.0, (last - first) / (high - low)) if high > low else _GROWING * first / low
    base = first - rise * low
    if base < 0:
        base, rise = 0.0, first / low
    places = [math.log(depth) for depth, _, _ in answers]
    factor: list[tuple[float, ...]] = []
    for row, (place, (_, _, error)) in enumerate(zip(places, answers, strict=True)):
        known = _solved(factor, [_joint(place, other) for other in places[:row]])
        left = _joint(place, place) + max(error, _SUREST) ** 2 - sum(one * one for one in known)
        factor.append((*known, math.sqrt(max(left, _SUREST**2 / 2))))
    off = _solved(factor, [math.log(part / (base + rise * depth)) for depth, part, _ in answers])
    return Curve(base, rise, tuple(places), tuple(factor), tuple(off))


def _joint(one: float, other: float) -> float:
    """The covariance of two places, which are logarithms of depths."""
    near, gap = min(one, other), abs(one - other)
    return 0.01 + _SLOPE**2 * one * other + _BEND * near * near * (near / 3 + gap / 2)


def _solved(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """x of L x = right, for the upper rows of a lower triangle L."""
    found: list[float] = []
    for row, value in zip(factor, right, strict=False):
        found.append((value - sum(map(float.__mul__, row, found))) / row[len(found)])
    return found
