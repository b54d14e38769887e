"""The paper of a chart of response against load: which part of the answers gets the room.

Knows no labels. Start reading at `paper_for`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# What matters takes that share of an axis at least, and what lies beyond it the rest: of the response's most of it, of
# the rate's less, for where saturation is matters, too.
_SHARE = 0.6
_REACH = 0.3

# From there on a linear axis hides where a curve begins to rise.
_WIDE = 30.0

# Beyond the last value, so that its mark lies on the paper: as a factor, on a logarithmic axis.
_MARGIN, _LOG_MARGIN = 1.06, 1.3

#: A place: what is on the two axes.
Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low`, which is 0 on a linear one, to `high`."""

    low: float
    high: float

    @property
    def log(self) -> bool:
        """Whether it is logarithmic."""
        return self.low > 0

    def at(self, value: float) -> float:
        """Where a value lies, as a share of the axis; beyond it above 1."""
        if not self.log:
            return value / self.high
        return math.log(max(value, math.ulp(0.0)) / self.low) / math.log(self.high / self.low)

    def value(self, share: float) -> float:
        """What lies there."""
        return self.low * (self.high / self.low) ** share if self.log else self.high * share

    def scale(self) -> dict[str, Any]:
        """Vega-Lite's scale."""
        kind = {"type": "log"} if self.log else {"type": "linear", "zero": True}
        return {**kind, "domain": [self.low, self.high], "nice": False}

    def ticks(self, form: str) -> dict[str, Any]:
        """Vega-Lite's axis; a logarithmic one has lines at powers of ten, between them only where there are few."""
        axis: dict[str, Any] = {"tickCount": 6, "labelExpr": f"format(datum.value, '{form}')", "labelFlush": False}
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            steps = (1,) if last - first > 4 else (1, 3)
            marks = (step * 10.0**power for power in range(first, last + 1) for step in steps)
            axis["values"] = [mark for mark in marks if self.low <= mark <= self.high]
        return axis


@dataclass(frozen=True, slots=True)
class Leaving:
    """Where a curve leaves the paper, at shares of the axes, and the numbers of its places that lie beyond."""

    x: float
    y: float
    beyond: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paper:
    """The two axes."""

    x: Axis
    y: Axis

    def holds(self, place: Place) -> bool:
        """Whether a place lies on it."""
        return place[0] <= self.x.high and place[1] <= self.y.high

    def at(self, place: Place) -> Place:
        """A place as shares of the axes, from the left and from below."""
        return self.x.at(place[0]), self.y.at(place[1])

    def leaving(self, curve: Sequence[Place]) -> Iterator[Leaving]:
        """Each stretch of a curve beyond the paper, by where it leaves; one at its beginning, by where it returns."""
        start = 0
        while start < len(curve):
            end = start
            while end < len(curve) and self.holds(curve[end]) == self.holds(curve[start]):
                end += 1
            if not self.holds(curve[start]):
                inner, outer = (start - 1, start) if start else (end, end - 1)
                if inner < len(curve):
                    x, y = self._edge(self.at(curve[inner]), self.at(curve[outer]))
                else:
                    x, y = (min(1.0, max(0.0, share)) for share in self.at(curve[start]))
                yield Leaving(x, y, tuple(range(start, end)))
            start = end

    @staticmethod
    def _edge(inner: Place, outer: Place) -> Place:
        """Where the straight line from a place on the paper to one beyond it leaves."""
        part = min((1 - start) / (end - start) if end > 1 else 1.0 for start, end in zip(inner, outer, strict=True))
        x, y = (start + part * (end - start) for start, end in zip(inner, outer, strict=True))
        return min(1.0, x), min(1.0, y)


def paper_for(curves: Sequence[Sequence[Place]], limits: Sequence[float], rates: Sequence[float] = ()) -> Paper:
    """The paper for curves of (rate, response), each with a place at least, all above 0.

    With `limits`, what matters is the way up to them: it takes 60 % of the height at least, and 30 % of the width,
    where the rate goes on rising beyond. Answers further off lie beyond the paper. Without limits all of it matters.

    The response is on a logarithmic axis if what matters spans a factor of more than 30: on a linear one the bend,
    which is at about twice the lowest response, would lie within 7 % of the bottom. So is the rate if some curves end
    so much earlier than others.

    Args:
        limits: responses.
        rates: others that are to be seen, if there's room.
    """
    lowest = min(response for curve in curves for _, response in curve)
    highest = max([*(response for curve in curves for _, response in curve), *limits])
    # Of a curve that lies above its limit the lowest answer is seen.
    matters = max([*limits, *(min(response for _, response in curve) for curve in curves)]) if limits else highest
    y = _axis(lowest, matters, highest, _SHARE, log=matters > _WIDE * lowest)
    most = max(limits, default=highest)
    seen = [
        [rate for rate, response in curve if response <= most]
        or [rate for rate, response in curve if response <= y.high]
        for curve in curves
    ]
    ends = [max(reached) for reached in seen]
    widest = max([*(rate for curve in curves for rate, _ in curve), *rates])
    least = min(rate for reached in seen for rate in reached)
    return Paper(_axis(least, max(ends), widest, _REACH, log=max(ends) > _WIDE * min(ends)), y)


def _axis(lowest: float, matters: float, highest: float, share: float, *, log: bool) -> Axis:
    if not log:
        return Axis(0.0, _MARGIN * min(highest, matters / share))
    low = lowest / _LOG_MARGIN
    return Axis(low, _LOG_MARGIN * min(highest, low * (matters / low) ** (1 / share)))
