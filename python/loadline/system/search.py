"""The search for the highest of many steps that holds, where asking is dear: each probe is put where it says most.

Knows neither loads nor answers; `load_line` says what a step is. Start reading at `highest`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from loadline.system.curve import Curve, fit

# So small a share of the limit is as good as none.
_TINY = 1e-9

# A search goes up to where the limit is passed even if the curve is so many standard deviations lower.
_SURELY = 2.0

# The neighbour of a step that was asked for comes next, if the limit lies between the two with such a chance.
_PROBABLY = 0.35

# An answer so many standard deviations from what was expected says that the curve isn't understood.
_UNLIKE = 4.0

# No answer is known better than that, for rounding.
_SUREST = 1e-6

# Between two that are known so many probes may follow the curve; then the gap is halved.
_PATIENCE = 10


@dataclass(frozen=True, slots=True)
class Seen:
    """What a search must know of an answer.

    Attributes:
        holds: whether the condition does.
        part: of the response in its limit; infinite if there's no such number.
        error: the relative standard error of `part`; 0 if it isn't known.
    """

    holds: bool
    part: float
    error: float


@dataclass(frozen=True, slots=True)
class Scale:
    """What steps mean.

    Attributes:
        depth: how many outstanding I/Os a step counts as, 1 or more, for `curve.fit`; infinite above saturation.
        center: a step about halfway between two.
        leap: the highest step that may be tried next when this one is the highest that was.
    """

    depth: Callable[[int], float]
    center: Callable[[int, int], int]
    leap: Callable[[int], int]


def highest(see: Callable[[int], Seen], scale: Scale, last: int, start: int = 0) -> int:
    """The highest step from 0 to `last` that holds, below the first that is found to fail; -1 if 0 fails.

    No step is asked for twice, and if it isn't `last`, the next one was asked for and fails.

    Args:
        start: where to begin. Step 0 is asked for only if everything above it fails.
    """
    way = _Way(see, scale, {}, -1, last + 1)
    way.probe(start)
    while True:
        hidden = way.hidden()
        if hidden is not None:
            way.probe(hidden)
        elif way.above - way.below <= 1:
            return way.below
        elif way.above not in way.seen:
            way.climb(last)
        elif way.below not in way.seen:
            way.descend()
        else:
            way.narrow()


@dataclass(slots=True)
class _Way:
    """How far a search is: the highest step that holds is `below` or further up, but lower than `above`.

    Attributes:
        inside: probes between two that are known.
        slow: how many of the last ones left more than half of the gap.
        understood: the last one was as the curve had it.
    """

    see: Callable[[int], Seen]
    scale: Scale
    seen: dict[int, Seen]
    below: int
    above: int
    inside: int = 0
    slow: int = 0
    understood: bool = True

    def probe(self, step: int) -> Seen:
        one = self.seen[step] = self.see(step)
        if not one.holds:
            self.above = min(self.above, step)
        self.below = max((step for step, one in self.seen.items() if one.holds and step < self.above), default=-1)
        return one

    def hidden(self) -> int | None:
        """A step that may hide something: more than a doubling below one that is too good for what lies below it.

        Queues don't get better with more to do.
        """
        held = sorted(step for step in self.seen if step <= self.below)
        for number, step in enumerate(held[1:], 1):
            below = held[number - 1]
            curve = self.curve(below)
            if curve is None or self.scale.depth(step) <= 2 * self.scale.depth(below):
                continue
            (value, deviation), one, other = self.expected(curve, step), self.seen[below], self.seen[step]
            part, wide = math.log(max(other.part, _TINY)), _UNLIKE * math.hypot(one.error, other.error, _SUREST)
            if part < max(value - _SURELY * deviation, math.log(max(one.part, _TINY)) - wide):
                return self.scale.center(below, step)
        return None

    def climb(self, last: int) -> None:
        """Goes to where it surely fails, as far as the curve tells."""
        curve, reach = self.curve(), min(last, max(self.scale.leap(self.below), self.below + 1))
        self.probe(reach if curve is None else self.crossing(curve, reach, _SURELY))

    def descend(self) -> None:
        """Goes to where it surely holds; if it didn't before, to step 0."""
        curve = self.curve()
        if curve is None:
            self.probe(self.above // 2)
        else:
            self.probe(0 if len(self.seen) > 2 else max(0, self.crossing(curve, self.above, -_SURELY) - 1))

    def narrow(self) -> None:
        """Goes to where the curve meets the limit, or halfway if it isn't understood."""
        gap, self.inside = self.above - self.below, self.inside + 1
        curve, center = (
            self.curve(),
            min(max(self.scale.center(self.below, self.above), self.below + 1), self.above - 1),
        )
        follows = curve is not None and self.understood and self.inside <= _PATIENCE
        step = self.aim(curve, center) if curve is not None and follows else center
        one = self.probe(step)
        self.slow = self.slow + 1 if self.above - self.below > gap / 2 else 0
        if curve is not None:
            value, deviation = self.expected(curve, step)
            wide = _UNLIKE * math.hypot(deviation, one.error, _SUREST)
            self.understood = math.isfinite(one.part) and abs(math.log(max(one.part, _TINY)) - value) <= wide

    def aim(self, curve: Curve, center: int) -> int:
        """The step nearest to where the curve meets the limit; a neighbour of an end if that's probably the last."""
        ends = (self.below + 1, self.above - 1)
        chances = (1 - self.chance(curve, ends[0]), self.chance(curve, ends[1]))
        if max(chances) > _PROBABLY:
            return ends[0] if chances[0] >= chances[1] else ends[1]
        step = min(self.crossing(curve, self.above, 0.0), self.above - 1)
        before = step - 1
        if before > self.below and abs(self.expected(curve, before)[0]) < abs(self.expected(curve, step)[0]):
            step = before
        # From a side that doesn't give way it leaps, twice as far each time.
        doubt = (self.crossing(curve, self.above, 1.0) - self.crossing(curve, self.above, -1.0)) / 2
        leap = round(max(1.0, doubt) * ((1 << self.slow) - 1) / 2)
        return min(step + leap, max(step, center)) if step < center else max(step - leap, center)

    def chance(self, curve: Curve, step: int) -> float:
        """That a step holds, with the luck that an answer has."""
        value, deviation = self.expected(curve, step)
        errors = [one.error for one in self.seen.values()]
        return 0.5 * math.erfc(value / math.hypot(deviation, max(errors), _SUREST) / math.sqrt(2))

    def crossing(self, curve: Curve, reach: int, deviations: float) -> int:
        """The first step above `below`, `reach` at most, that fails if the curve is so many deviations lower."""
        low, high = self.below, min(reach, self.above)
        while high - low > 1:
            middle = (low + high) // 2
            value, deviation = self.expected(curve, middle)
            low, high = (low, middle) if value > deviations * deviation else (middle, high)
        return high

    def expected(self, curve: Curve, step: int) -> tuple[float, float]:
        depth = self.scale.depth(step)
        return curve.at(depth) if math.isfinite(depth) else (math.inf, 0.0)

    def curve(self, most: float = math.inf) -> Curve | None:
        """Through all that is known up to a step."""
        seen = [(step, one) for step, one in self.seen.items() if step <= most]
        known = sorted((self.scale.depth(step), max(one.part, _TINY), one.error) for step, one in seen)
        finite = [one for one in known if math.isfinite(one[0]) and math.isfinite(one[1])]
        return fit(finite) if finite else None
