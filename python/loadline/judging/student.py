"""Student's distribution for any degrees of freedom, and Holm's correction for many tests.

The base install has no library with them; what is here is checked against printed tables in tests/judging.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()

# Beyond, Student's distribution is the normal one to 0.1 % of any quantile that is asked for here.
_NORMAL_FROM = 2000.0


def two_sided(t: float, freedom: float) -> float:
    """The chance of a value at least as far from 0 as `t`, of `freedom` degrees from 1 on (infinite: normal).

    Source: Abramowitz and Stegun 26.7.1 by the incomplete beta function's continued fraction, 26.5.8.
    """
    t = abs(t)
    if math.isinf(t):
        return 0.0
    if freedom >= _NORMAL_FROM:
        return math.erfc(t / math.sqrt(2))
    return _beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def quantile(chance: float, freedom: float) -> float:
    """The t that is exceeded on either side together with that chance; 0.05 and infinite freedom give 1.96.

    Freedom counts in two digits, downwards, so that few quantiles are ever worked out.
    """
    if 1 <= freedom < _NORMAL_FROM:
        power = 10.0 ** (math.floor(math.log10(freedom)) - 1)
        freedom = math.floor(freedom / power + 1e-9) * power
    return _quantile(chance, freedom)


@lru_cache(maxsize=4096)
def _quantile(chance: float, freedom: float) -> float:
    if freedom >= _NORMAL_FROM:
        return _NORMAL.inv_cdf(1 - chance / 2)
    low, high = 0.0, 2.0
    while two_sided(high, freedom) > chance:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > chance else (low, middle)
    return high


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # The continued fraction by Lentz's way, two terms at a time.
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    whole = d
    for m in range(1, 500):
        steps = (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        )
        factor = 1.0
        for step in steps:
            c, d = 1 + step / c, 1 / (1 + step * d)
            factor = c * d
            whole *= factor
        if abs(factor - 1) < 1e-12:
            break
    return math.exp(front) * whole / a


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests as those of a family: of families without an effect 5 % have one below 5 %.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian J. of Statistics 6, 1979.
    """
    found, highest = [0.0] * len(chances), 0.0
    for place, number in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min(1.0, (len(chances) - place) * chances[number]))
        found[number] = highest
    return found
