"""The search for the highest of many steps that holds, where asking is dear: each probe is put where it says most.

Knows neither loads nor answers; `load_line` says what a step is. Start reading at `highest`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from itertools import count, pairwise
from statistics import median

from loadline.system.curve import Curve, fit

# So small a share of the limit is as good as none.
_TINY = 1e-9

# A search goes up to where the limit is passed even if the curve is so many standard deviations lower, down likewise.
_UP = 1.5
_DOWN = 2.0

# And up by so much more to do at least; down to no less, for where hardly anything waits nothing is to be learnt.
_LEAST = 4
_IDLE = 1.1

# Where answers have luck, the neighbour of a step that was asked for comes next, if the limit lies between the two with
# such a chance.
_PROBABLY = 0.3

# An answer so many standard deviations from what was expected says that the curve isn't understood.
_UNLIKE = 4.0

# An answer that was expected with such a chance leaves the curve as believed as it was.
_EXPECTED = 0.8

# So near to the limit an answer may be on either side by luck, in standard errors.
_LUCK = 2.0

# No answer is known better than that, for rounding.
_SUREST = 1e-6

# Between two that are known the curve may take so many probes more than halving would.
_SPARE = 4

# The standard deviation, in steps, of where the limit is met: from which on luck decides, and with which it's enough if
# a step that holds is as near as that.
_VAGUE = 4.0
_ENOUGH = 1.2
_NEAR = 2.5

# Of steps wider than that, in steps.
_SURE = 0.5

# Answers that tell how much luck there is.
_NEAREST = 3

# After enough one that holds is looked for so many standard errors lower, then twice and so on; at most so often:
# a few probes more are better than one that held far below because none nearer did by luck.
_SAFE = 0.7
_LATE = 6


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
        enough: so many probes are enough where answers have luck; None: only a step whose next one fails will do.
        width: how much wider than others a step is, 1 or more.
    """

    depth: Callable[[int], float]
    center: Callable[[int, int], int]
    leap: Callable[[int], int]
    enough: Callable[[], int] | None = None
    width: Callable[[int], float] = lambda _: 1.0


def highest(see: Callable[[int], Seen], scale: Scale, last: int, start: int = 0) -> int:
    """The highest step from 0 to `last` that holds, below the first that is found to fail; -1 if 0 fails.

    If it isn't `last`, the next one was asked for and fails. Where answers have luck and the scale says what is enough,
    it's the step that holds nearest to where a curve through all of them meets the limit. No step is asked for twice.
    A step that fails though the curve through the others surely holds there, and the one above it does, counts no more.

    Args:
        start: where to begin. Step 0 is asked for only if everything above it fails, or nothing does.
    """
    way = _Way(see, scale, {}, -1, last + 1, last)
    way.probe(start)
    while True:
        hidden, doubted = way.hidden(), way.doubted()
        if hidden is not None:
            way.probe(hidden)
        elif doubted is not None:
            way.ask_beyond(doubted)
        elif way.above not in way.seen and way.below < last:
            way.climb()
        elif way.below == last and 0 not in way.seen:
            # It may hold again above where it fails.
            way.probe(0)
        elif way.lucky():
            found = way.settle()
            if found is not None:
                return found
        elif way.above - way.below <= 1:
            return way.below
        elif way.below not in way.seen:
            way.descend()
        else:
            way.narrow()


@dataclass(slots=True)
class _Way:
    """How far a search is: the highest step that holds is `below` or further up, but lower than `above`.

    Attributes:
        last: the highest step that there is.
        most: so many probes there may be at the end of it.
        slow: how many of the last ones weren't expected and left more than half of the gap.
        stalled: failed for once, as the step above it holds.
    """

    see: Callable[[int], Seen]
    scale: Scale
    seen: dict[int, Seen]
    below: int
    above: int
    last: int
    most: float = math.inf
    slow: int = 0
    stalled: set[int] = field(default_factory=set)

    def probe(self, step: int) -> Seen:
        one = self.seen[step] = self.see(step)
        self.place()
        return one

    def place(self) -> None:
        known = {step: one.holds for step, one in self.seen.items() if step not in self.stalled}
        self.above = min((step for step, holds in known.items() if not holds), default=self.last + 1)
        self.below = max((step for step, holds in known.items() if holds and step < self.above), default=-1)

    def doubted(self) -> int | None:
        """The lowest step that fails, if a curve through all others surely holds there: it may fail for once."""
        step = self.above
        beside = {other < step for other in self.seen if other != step}
        if step >= self.last or step + 1 in self.seen or len(beside) < 2 or not self.error:
            return None
        curve = self.curve({*self.stalled, step})
        if curve is None:
            return None
        value, deviation = self.expected(curve, step)
        return step if value + _LUCK * deviation < -_UNLIKE * self.error else None

    def ask_beyond(self, step: int) -> None:
        """Asks the step above one that fails: queues don't get better with more to do."""
        if self.probe(step + 1).holds:
            self.stalled.add(step)
            self.place()

    def hidden(self) -> int | None:
        """A step that may hide something: more than a doubling below one that has a better answer than one below it.

        Queues don't get better with more to do.
        """
        held = sorted(step for step in self.seen if step <= self.below)
        for below, step in pairwise(held):
            one, other = self.seen[below], self.seen[step]
            wide = _UNLIKE * math.hypot(one.error, other.error, _SUREST)
            far = step - below > 1 and self.scale.depth(step) > 2 * self.scale.depth(below)
            if far and _part(other) < _part(one) - wide:
                return min(max(self.scale.center(below, step), below + 1), step - 1)
        return None

    def climb(self) -> None:
        """Goes to where it surely fails, as far as the curve tells."""
        curve, reach = self.curve(), min(self.last, max(self.scale.leap(self.below), self.below + 1))
        more = _LEAST * self.scale.depth(self.below)
        far = _first(self.below, reach, lambda step: self.scale.depth(step) >= more)
        step = reach if curve is None else max(far, self.crossing(curve, reach, _UP))
        self.follow(curve, step)

    def descend(self) -> None:
        """Goes to where it surely holds; if it didn't before, to step 0."""
        curve = self.curve()
        if curve is None:
            self.probe(min(self.scale.center(self.below, self.above), self.above - 1))
        else:
            least = _first(-1, self.above, lambda step: self.scale.depth(step) > _IDLE)
            step = max(least, self.crossing(curve, self.above, -_DOWN) - 1)
            self.probe(0 if len(self.seen) > 2 else min(step, self.above - 1))

    def narrow(self) -> None:
        """Goes to where the limit is as likely passed as not, or halfway if that has taken too many probes."""
        gap, below, above = self.above - self.below, self.below, self.above
        self.most = min(self.most, len(self.seen) + math.ceil(math.log2(gap)) + _SPARE)
        curve, center = self.curve(), min(max(self.scale.center(below, above), below + 1), above - 1)
        step = center if curve is None else self.aim(curve, center)
        # The wider of the two gaps that it may leave must still be halved in time.
        wide = 1 << int(max(0, self.most - len(self.seen) - 1))
        step = min(max(step, above - wide), below + wide) if gap <= 2 * wide else (below + above) // 2
        likely = 0.5 if curve is None else self.chance(curve, step)
        one = self.follow(curve, step)
        if self.above - self.below <= gap / 2:
            self.slow = 0
        elif (likely if one.holds else 1 - likely) < _EXPECTED:
            self.slow += 1

    def follow(self, curve: Curve | None, step: int) -> Seen:
        """Probes a step where the curve says so; after an answer that is unlike it no probe is left to be wasted."""
        value, deviation = self.expected(curve, step) if curve is not None else (math.inf, 0.0)
        one = self.probe(step)
        lost = math.isfinite(one.part) or math.isfinite(value)
        if math.isfinite(one.part) and math.isfinite(value):
            lost = abs(_part(one) - value) > _UNLIKE * math.hypot(deviation, one.error, _SUREST)
        if abs(_part(one)) <= _LUCK * one.error:
            # Luck decided, so that halving would be no better.
            self.most += 1
        if lost and self.above in self.seen:
            self.most = min(self.most, len(self.seen) + math.ceil(math.log2(self.above - self.below)))
        return one

    def aim(self, curve: Curve, center: int) -> int:
        """The step at which the limit is as likely passed as not; a neighbour of an end where luck decides."""
        ends = (self.below + 1, self.above - 1)
        chances = (1 - self.chance(curve, ends[0]), self.chance(curve, ends[1]))
        if max(chances) > _PROBABLY and self.error:
            return ends[0] if chances[0] >= chances[1] else ends[1]
        step = self.likely(curve, 0.5)
        if not self.slow:
            return step
        # From a side that doesn't give way it leaps, twice as far each time.
        chance = 0.5 * math.erfc((2**self.slow - 1) / 2 / math.sqrt(2))
        if step < center:
            return max(step, min(self.likely(curve, chance), center))
        return min(step, max(self.likely(curve, 1 - chance), center))

    def likely(self, curve: Curve, chance: float) -> int:
        """The step between `below` and `above` that holds with about such a chance."""
        high = _first(self.below, self.above, lambda step: self.chance(curve, step) <= chance)
        low = high - 1
        if low == self.below or high == self.above:
            return high if low == self.below else low
        return low if self.chance(curve, low) + self.chance(curve, high) < 2 * chance else high

    def lucky(self) -> bool:
        """Whether luck decides between the steps that are left, and may."""
        curve = self.curve()
        if self.scale.enough is None or curve is None or not {self.below, self.above} <= self.seen.keys():
            return False
        ends = (self.seen[self.below], self.seen[self.above])
        if not self.error or all(abs(_part(end)) > _UNLIKE * self.error for end in ends):
            return False
        wide = self.scale.width(self.above)
        return (
            self.above - self.below <= 1 or len(self.seen) >= self.scale.enough() or self.vague(curve) * wide <= _VAGUE
        )

    def settle(self) -> int | None:
        """The step that holds nearest to where the curve meets the limit; None after a probe that was due before."""
        curve = self.curve()
        assert curve is not None, "both ends are known"
        step = self.crossing(curve, self.last + 1, 0.0)
        over, under = self.expected(curve, step)[0], self.expected(curve, step - 1)[0]
        meets = step - (over / (over - under) if math.isfinite(over) and over > under else 0.5)
        found = min((step for step, one in self.seen.items() if one.holds), key=lambda step: abs(step - meets))
        late = len(self.seen) - (self.scale.enough() if self.scale.enough else 0)
        wide = self.scale.width(self.above)
        near = abs(meets - found) <= max(1.0, _NEAR / wide) * (1 + max(0, late))
        sure = self.vague(curve) <= max(_SURE, _ENOUGH / wide)
        if late >= _LATE or len(self.seen) > self.last or (near and (late >= 0 or sure)):
            return None if self.looked() else found
        aim = meets if late < 0 else self.crossing(curve, self.last + 1, 0.0, (late + 1) * _SAFE * self.error) - 0.5
        free = (step for away in count() for step in (math.floor(aim) - away, math.floor(aim) + 1 + away))
        self.probe(next(step for step in free if 0 <= step <= self.last and step not in self.seen))
        return None

    def looked(self) -> bool:
        """Whether it went further up, as nothing failed but by luck: a curve that hardly rises has no line yet."""
        top, curve = max(self.seen), self.curve()
        assert curve is not None, "some hold"
        over, deviation = self.expected(curve, top)
        if top >= self.last or over > _LUCK * deviation:
            return False
        self.probe(min(self.last, max(self.scale.leap(top), top + 1)))
        return True

    def vague(self, curve: Curve) -> float:
        """The standard deviation of where the curve meets the limit, in steps."""
        high, low = (self.crossing(curve, self.last + 1, sign) for sign in (1.0, -1.0))
        return (high - low) / 2

    def chance(self, curve: Curve, step: int) -> float:
        """That a step holds, with the luck that an answer has."""
        depth = self.scale.depth(step)
        return curve.chance(depth, self.error) if math.isfinite(depth) else 0.0

    def crossing(self, curve: Curve, reach: int, deviations: float, margin: float = 0.0) -> int:
        """The first step, `reach` at most, that fails if the curve is so many deviations lower and a margin higher."""

        def fails(step: int) -> bool:
            value, deviation = self.expected(curve, step)
            return value + margin > deviations * deviation

        return _first(-1, reach, fails)

    def expected(self, curve: Curve, step: int) -> tuple[float, float]:
        depth = self.scale.depth(step)
        return curve.at(depth) if math.isfinite(depth) else (math.inf, 0.0)

    @property
    def error(self) -> float:
        """The luck that an answer near the limit has: that of those which are nearest, not of one far above it."""
        nearest = sorted((abs(_part(one)), one.error) for one in self.seen.values())
        return median(error for _, error in nearest[:_NEAREST])

    def curve(self, without: Set[int] | None = None) -> Curve | None:
        """Through all that is known but some steps, else those that stalled."""
        seen = [item for item in self.seen.items() if item[0] not in (self.stalled if without is None else without)]
        known = sorted((self.scale.depth(step), max(one.part, _TINY), one.error) for step, one in seen)
        finite = [one for one in known if math.isfinite(one[0]) and math.isfinite(one[1])]
        return fit(finite) if finite else None


def _part(one: Seen) -> float:
    """Its logarithm."""
    return math.log(max(one.part, _TINY))


def _first(low: int, high: int, passes: Callable[[int], bool]) -> int:
    """The first step above `low` that passes, if those that pass are above the others; `high` is taken to."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
