"""How sure a measured mean is, whether it's steady, and when it's good enough to end the point.

The equations, their sources and what was tried of them are in docs/background/when-a-number-is-good-enough.md.
Start reading at `judge`, then `Looks`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import NormalDist

from loadline.judging.rounds import window
from loadline.workload.plan import PRECISE_FROM_NS

#: Below so many observations nothing is said of precision or steadiness.
LEAST = 10

# A point is looked at again each time that it has grown by this factor.
_GROWTH = 1.06

# Looks in a row that must find it precise and steady: one may be luck.
_PASSES = 3

# A series is parted into the rounds of SNIA's measurement window.
_ROUNDS = 5

# What may be left out at the start, as shares of all; Heidelberger and Welch (1983) end at a half, too.
_CUTS = (0.0, 0.25, 0.5)

# More is left out only if the interval becomes narrower by this factor.
_WORTH = 2.0

# Overlapping batches of this share of all.
_BATCH = 0.1

# As many observations that depend on none before them are wanted; fewer widen the interval in proportion.
_INDEPENDENT = 20

# The end of a line is known half as well as its mean. As its rise is counted with the luck in it, so much of the mean's
# half-width is enough for it: chosen over drifts of 1 to 3 % a minute, of which it holds the last level in 95 %.
_MOVING = 1.4

_Z_975 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Observed:
    """What completed in one short span of time.

    Attributes:
        latency_sum_ns: over all of its I/Os.
        outstanding: how many the load kept outstanding all the time, if it was a closed one.
    """

    duration_ns: int
    ios: int
    latency_sum_ns: float
    outstanding: int | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with the half-width of its 95 % confidence interval, in its own unit."""

    value: float
    ci95: float

    def within(self, fraction: float) -> bool:
        """Whether the half-width is at most that share of the mean."""
        return self.ci95 <= fraction * self.value


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a series says of its means.

    Attributes:
        skipped: how many of the first observations were left out as a beginning of another kind.
        iops, latency_mean_ns: None of too few observations, or of none with I/O.
        steady: by SNIA's rule; None of too few.
    """

    skipped: int = 0
    iops: Mean | None = None
    latency_mean_ns: Mean | None = None
    steady: bool | None = None

    @property
    def ci95_fraction(self) -> float:
        """The larger of the two half-widths as a share of its mean; infinite of nothing."""
        means = [mean for mean in (self.iops, self.latency_mean_ns) if mean is not None]
        return max((mean.ci95 / mean.value for mean in means), default=math.inf)

    def good(self, fraction: float) -> bool:
        """Whether it's steady, and both means are within that share."""
        means = (self.iops, self.latency_mean_ns)
        return self.steady is True and all(mean is not None and mean.within(fraction) for mean in means)


def judge(series: Sequence[Observed], *, cut: bool = False, moving: bool = False) -> Judgement:
    """What `series`, observations of about equal length in order of time, says of IOPS and mean latency.

    Args:
        cut: leave out of the beginning what differs from the rest: of 0, 25 and 50 % whose rest is steady and has no
            trend beyond chance, the least that isn't worth to be exceeded. All counts where no rest is so.
        moving: the load goes over its target in sequence, so that slow changes are expected: the intervals hold what
            the series ends at, too, by a line through it, whether or not that may be chance.
    """
    found = [_of(series[skipped:], skipped, moving) for skipped in _skips(len(series), cut)]
    if not found:
        return Judgement()
    plain = [one for one, plain in found if plain and one.steady]
    if not plain:
        return found[0][0]
    least = min(one.ci95_fraction for one in plain)
    return next(one for one in plain if one.ci95_fraction <= _WORTH * least)


def _skips(n: int, cut: bool) -> list[int]:
    skips = [int(share * n) for share in (_CUTS if cut else _CUTS[:1])]
    return [skipped for skipped in dict.fromkeys(skips) if n - skipped >= LEAST]


def _of(series: Sequence[Observed], skipped: int, moving: bool) -> tuple[Judgement, bool]:
    """The judgement of all of `series`, and whether it's without a trend beyond chance."""
    ios = [float(one.ios) for one in series]
    seconds = [one.duration_ns / 1e9 for one in series]
    sums = [one.latency_sum_ns for one in series]
    if not all(seconds) or not sum(ios) or not sum(sums):
        return Judgement(skipped), False
    iops, iops_plain = _ratio(ios, seconds, moving)
    latency, latency_plain = _ratio(sums, ios, moving)
    steady = _steady(sums, ios)
    held = [one.outstanding * one.duration_ns for one in series if one.outstanding is not None]
    if len(held) == len(series):
        # By Little's law what is outstanding, parted among those that end, has the same mean in the long run and wavers
        # less where some wait for long (Glynn and Whitt 1989). How far both are apart counts as error.
        indirect, plain = _ratio(held, ios, moving)
        ci95 = indirect.ci95 + abs(indirect.value - latency.value)
        if ci95 < latency.ci95:
            latency, latency_plain, steady = Mean(latency.value, ci95), plain, _steady(held, ios)
    return Judgement(skipped, iops, latency, steady and _steady(ios, seconds)), iops_plain and latency_plain


def _ratio(above: Sequence[float], below: Sequence[float], moving: bool) -> tuple[Mean, bool]:
    """The ratio of two sums with its interval, and whether it has no trend beyond chance.

    The ratio's error is that of the mean of `above - ratio * below` over the mean of `below` (Cochran 1977, 6.4).
    A trend that is more than chance widens the interval, so that it reaches the level at the end; of what is `moving`,
    any trend does.
    """
    n, total = len(above), sum(below)
    value = sum(above) / total
    rest = [a - value * b for a, b in zip(above, below, strict=True)]
    to_ratio = n / total
    middle = (n - 1) / 2
    slope = sum((i - middle) * z for i, z in enumerate(rest)) / (n * (n * n - 1) / 12)
    half, error = _half_width(rest, _follows([z - slope * (i - middle) for i, z in enumerate(rest)]))
    # At the end a line lies half of its rise above its mean; the standard error of that is sqrt(3) that of the mean.
    rise, chance = abs(slope) * n / 2, math.sqrt(3) * error
    if moving:
        return Mean(value, (_MOVING * half + rise) * to_ratio), rise <= _Z_975 * chance
    return Mean(value, (half + max(0.0, rise - chance)) * to_ratio), rise <= _Z_975 * chance


def _half_width(rest: Sequence[float], phi: float) -> tuple[float, float]:
    """Half-width of the 95 % interval of the mean of a series of mean 0 that follows itself, and its standard error.

    By overlapping batch means (Meketon and Schmeiser 1984) of a tenth of all, which see what is over in a batch, and
    that what one second lacks the next one has. The batches of short series are too short for one that follows itself
    by `phi` > 0; there an autoregression of order 1 counts if it says more.
    """
    n = len(rest)
    sums = [0.0, *accumulate(rest)]
    length = max(1, int(_BATCH * n))
    means = [(sums[i + length] - sums[i]) / length for i in range(n - length + 1)]
    spread = length * n / ((n - length + 1) * (n - length)) * sum(mean * mean for mean in means)
    error = math.sqrt(spread / n)
    half = t_975(1.5 * (n / length - 1) if length > 1 else n - 1) * error
    dependence = max(1.0, (1 + phi) / (1 - phi))
    if phi > 0:
        other = math.sqrt(sum(z * z for z in rest) / (n - 1) / n * dependence)
        half, error = max((half, error), (t_975(n - 1) * other, other))
    scarce = max(1.0, _INDEPENDENT * dependence / n)
    # However few they say, the mean of a quiet series is no further off than what was seen differs.
    return min(half * scarce, max(rest) - min(rest)), error * scarce


def _follows(rest: Sequence[float]) -> float:
    """By how much a series follows itself from one observation to the next, -1 to 0.99: the phi of an autoregression.

    It comes out low by (1 + 3 phi) / n (Kendall 1954), which is put back, and its standard error on top, because a
    series that seems to follow itself too little ends too early.
    """
    n = len(rest)
    squares = sum(z * z for z in rest)
    if not squares:
        return 0.0
    phi = sum(a * b for a, b in pairwise(rest)) / squares
    phi = (n * phi + 1) / (n - 3) + 1 / math.sqrt(n)
    return min(max(-1.0, phi), 0.99)


def t_975(freedom: float) -> float:
    """Student's t at 97.5 %, by the expansion of Abramowitz and Stegun 26.7.5; within 0.3 % from 4 degrees on."""
    z = _Z_975
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def _steady(above: Sequence[float], below: Sequence[float]) -> bool:
    """SNIA's steady state over five rounds that make up the series; a remainder is left out at the start."""
    size = len(above) // _ROUNDS
    first = len(above) - _ROUNDS * size
    starts = range(first, len(above), size)
    if any(not sum(below[start : start + size]) for start in starts):
        return False
    values = [sum(above[start : start + size]) / sum(below[start : start + size]) for start in starts]
    return window(values).steady


class Looks:
    """Follows a point and says when it's good enough: at few instants, and only when three of them in a row agree.

    `series` is what was observed, `last` the judgement of the last look.
    """

    def __init__(self, precision_fraction: float, *, cut: bool = True, moving: bool = False) -> None:
        self._cut = cut
        self._moving = moving
        self.series: list[Observed] = []
        self.last = Judgement()
        self._precision = precision_fraction
        self._next_ns = PRECISE_FROM_NS
        self._elapsed_ns = 0
        self._passes = 0

    def add(self, observed: Observed, *, may_end: bool = True) -> Judgement | None:
        """Takes the next observation; gives the judgement once it's good enough, not before the point `may_end`."""
        self.series.append(observed)
        self._elapsed_ns += observed.duration_ns
        # fio's seconds are some milliseconds short or long.
        due = self._elapsed_ns + observed.duration_ns // 2 >= self._next_ns
        if not due and not (may_end and self._passes >= _PASSES):
            return None
        if due:
            self._next_ns = int(max(self._elapsed_ns, self._next_ns) * _GROWTH)
        self.last = judge(self.series, cut=self._cut, moving=self._moving)
        self._passes = self._passes + 1 if self.last.good(self._precision) else 0
        return self.last if may_end and self._passes >= _PASSES else None
