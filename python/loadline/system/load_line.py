"""The search for a load line: the highest load at which a condition on the answer holds.

The search knows nothing of what answers; `keeps` is the condition on Results. No load is asked for twice, and all that
were are in the load line's probes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from loadline.result.schema import Result
from loadline.workload.limit import Limit

Load = TypeVar("Load", int, float)
Answer = TypeVar("Answer")

# So small a share of the limit is as good as none.
_TINY = 1e-9

# A search goes up by no more at a time.
_LEAP = 16

# Between two probes a search takes at most so many steps more than halving would: a flat curve misleads it.
_SPARE = 3

# Doublings above a lowest load that fails, for one that holds.
_BEYOND = 2


@dataclass(frozen=True, slots=True)
class Probe(Generic[Load, Answer]):
    """A load that was asked for, its answer, and whether the condition holds there."""

    load: Load
    answer: Answer
    holds: bool


@dataclass(frozen=True, slots=True)
class LoadLine(Generic[Load, Answer]):
    """What a search found.

    Attributes:
        highest: the highest load that holds, below the first probe that fails; None: not even the lowest load holds.
        next: the next load, which fails; None: everything up to the highest load allowed holds.
        monotone: no probe above a failing one holds. If one does, `highest` is only where it fails first.
        probes: everything that was asked, in order of load.
    """

    highest: Probe[Load, Answer] | None
    next: Probe[Load, Answer] | None
    monotone: bool
    probes: tuple[Probe[Load, Answer], ...]


def keeps(result: Result, limit: Limit) -> bool:
    """Whether a result keeps the limit; one with an error, or without the figure that is limited, doesn't."""
    response_ns = _limited_ns(result, limit)
    return response_ns is not None and limit.holds(response_ns)


def share(result: Result, limit: Limit) -> float:
    """The limited figure as a share of its bound; infinite of a result with an error, or without the figure."""
    response_ns = _limited_ns(result, limit)
    return math.inf if response_ns is None else response_ns / limit.bound_ns


def _limited_ns(result: Result, limit: Limit) -> float | None:
    flow = {"all": result.total, "reads": result.read, "writes": result.write}[limit.of]
    response_ns: float | None = getattr(flow, f"latency_{limit.statistic}_ns")
    return None if result.error is not None else response_ns


def bounds(line: LoadLine[Any, Result], limit: Limit, *, rate: bool) -> tuple[float | None, float | None]:
    """From where to where the load line may lie by the 95 % confidence intervals of the probes' mean responses.

    As if all responses were higher by their half-widths, then lower: where these curves meet the limit. Between two
    probes they are taken for straight, in response over outstanding I/Os, and in 1 / response over a rate.

    Args:
        rate: whether the loads are rates.

    Returns:
        The lowest and the highest load; None for an end that isn't known: another limit than the mean's of all I/Os, a
        probe without an interval, or a curve that doesn't pass the limit.
    """
    if (limit.statistic, limit.of) != ("mean", "all"):
        return None, None
    answers = [(probe.load, probe.answer) for probe in line.probes]
    known = [(load, one) for load, one in answers if rate or one.error is None]

    def curve(sign: int) -> list[tuple[float, float | None]]:
        return [(load, _bent(answer, sign, rate)) for load, answer in known]

    at = -1 / limit.bound_ns if rate else float(limit.bound_ns)
    return _crossing(curve(1), at, first=True), _crossing(curve(-1), at, first=False)


def _bent(answer: Result, sign: int, rate: bool) -> float | None:
    if answer.error is not None:
        # Above saturation the response has no bound.
        return 0.0
    mean_ns, half_ns = answer.total.latency_mean_ns, answer.latency_mean_ci95_ns
    if mean_ns is None or half_ns is None:
        return None
    response_ns = max(1.0, mean_ns + sign * half_ns)
    return -1 / response_ns if rate else response_ns


def _crossing(curve: Sequence[tuple[float, float | None]], limit: float, *, first: bool) -> float | None:
    """Where a curve passes the limit for the first or the last time; None where it doesn't, or isn't known."""
    pairs = list(pairwise(curve))
    for (load, height), (above, higher) in pairs if first else reversed(pairs):
        if height is None or higher is None:
            return None
        if height <= limit < higher:
            return load + (limit - height) * (above - load) / (higher - height)
    return None


def search_outstanding(
    ask: Callable[[int], Answer],
    holds: Callable[[Answer], bool],
    low: int,
    high: int,
    share: Callable[[Answer], float],
) -> LoadLine[int, Answer]:
    """The largest number of outstanding I/Os from `low` to `high` that holds; the `next` one is 1 more.

    Steps follow what queues do. N I/Os take at most N times as long as one, so the first leap goes to `low` / share.
    Then response rises nearly evenly with N, and less at first (Lazowska and others 1984, "Quantitative System
    Performance", chapter 5), so lines through the answers below and above the limit say from where to where it is met.
    Where that doesn't help the gap is halved; three steps more than halving alone takes are the most (the projection of
    Oliveira and Takahashi 2020, "An Enhancement of the Bisection Method Average Performance Preserving Minmax
    Optimality"). Last comes a probe at twice the load line, unless there was one further up: a curve that isn't
    monotone shows there. A gap between the probes isn't seen.

    Args:
        share: of an answer's response in its limit; holds up to 1.
    """

    def place(below: int, above: int, aim: float, reach: float) -> int | None:
        center = (below + above) / 2
        aim = min(max(aim, center - reach), center + reach)
        return None if above - below <= 1 else round(min(max(aim, below + 1), above - 1))

    return _search(_Curve(ask, holds, share, 1.0), low, high, place, lambda below, above: float(above - below))


def search_rate(
    ask: Callable[[float], Answer],
    holds: Callable[[Answer], bool],
    low: float,
    high: float,
    share: Callable[[Answer], float],
    saturation: Callable[[Answer], float | None],
    tolerance_fraction: float = 0.015,
    expected: float | None = None,
) -> LoadLine[float, Answer]:
    """The highest offered rate from `low` to `high` that holds; the `next` one is at most `tolerance_fraction` higher.

    Searches as `search_outstanding` does; but of open loads 1 / response falls nearly evenly with the rate, to 0 at
    saturation (of an M/M/1 queue exactly so).

    Args:
        saturation: what an answer to a higher rate than the system can do says of the highest; None of other answers.
        expected: the rate of saturation, if it's known before; it guides the first steps.
    """
    step = 1 + tolerance_fraction

    def place(below: float, above: float, aim: float, reach: float) -> float | None:
        if above <= below * step:
            return None
        center = math.sqrt(below * above)
        if above <= below * step * step:
            return center
        far = math.exp(min(reach * math.log(step), math.log(above / below)))
        return min(max(aim, below * step, center / far), above / step, center * far)

    def width(below: float, above: float) -> float:
        return math.log(above / below) / math.log(step)

    def height(answer: Answer) -> float:
        part = share(answer)
        return math.inf if part == math.inf else -1 / max(part, _TINY)

    return _search(_Curve(ask, holds, height, -1.0, saturation, expected), low, high, place, width)


class _Curve(Generic[Load, Answer]):
    """What was asked, as heights that rise nearly evenly with the load, and reach `limit` at the load line."""

    def __init__(
        self,
        ask: Callable[[Load], Answer],
        holds: Callable[[Answer], bool],
        height: Callable[[Answer], float],
        limit: float,
        ceiling: Callable[[Answer], float | None] = lambda _: None,
        expected: float | None = None,
    ) -> None:
        self._ask: Callable[[Load], Answer] = ask
        self._holds = holds
        self._height = height
        self._limit = limit
        self._ceiling = ceiling
        self._expected = expected
        self.probes: list[Probe[Load, Answer]] = []

    def probe(self, load: Load) -> Probe[Load, Answer]:
        answer = self._ask(load)
        self.probes.append(Probe(load, answer, self._holds(answer)))
        return self.probes[-1]

    def aim(self) -> float:
        """Where the limit is met if the curve is convex, as those of queues are; infinite if nothing is known of that.

        A line between two answers meets it too soon, one that is drawn on from two of the same side too late.
        """
        known = sorted((float(one.load), self._height(one.answer), one.holds) for one in self.probes)
        below: list[tuple[float, float]] = [(load, height) for load, height, holds in known if holds]
        above: list[tuple[float, float]] = [
            (load, height) for load, height, holds in known if not holds and math.isfinite(height)
        ]
        ceilings: list[float] = [ceiling for one in self.probes if (ceiling := self._ceiling(one.answer)) is not None]
        if not ceilings and self._expected is not None and all(load < self._expected for load, _ in below):
            ceilings = [self._expected]
        # There the response has no bound, so its height is 0.
        above = sorted([*above, *((ceiling, 0.0) for ceiling in ceilings[:1])])
        if len(known) == 1 and self._limit > 0:
            below = [(0.0, 0.0), *below]
        late = min(self._meets(below[-2:]), self._meets(above[:2]))
        if not above:
            return late
        soon, late = self._meets([below[-1], above[0]]), min(late, above[0][0])
        return (soon + late) / 2 if soon < late else soon

    def _meets(self, points: Sequence[tuple[float, float]]) -> float:
        if len(points) < 2 or points[1][1] <= points[0][1]:
            return math.inf
        (one, low), (other, high) = points
        return one + (self._limit - low) * (other - one) / (high - low)


def _search(
    curve: _Curve[Load, Answer],
    low: Load,
    high: Load,
    place: Callable[[Load, Load, float, float], Load | None],
    width: Callable[[Load, Load], float],
) -> LoadLine[Load, Answer]:
    assert 0 < low <= high, "a ramp goes up from above 0"
    last = curve.probe(low)
    while last.holds and last.load < high:
        leap = place(last.load, last.load * _LEAP, curve.aim(), math.inf)
        assert leap is not None, "a leap is wide"
        last = curve.probe(min(high, leap))
    failed = None if last.holds else last
    highest = max((one for one in curve.probes if one.holds), key=lambda one: one.load, default=None)
    slow, left = 0, math.inf
    while highest is not None and failed is not None:
        gap, edge = failed.load - highest.load, curve.probes[-1].load
        wide = max(1.0, width(highest.load, failed.load))
        # Halved at each step, so that it's above 1 for no more of them than are allowed.
        left = min(left, 2.0 ** (math.ceil(math.log2(wide)) + _SPARE)) / 2
        # From a side that doesn't give way it leaps, twice as far each time.
        aim = edge + (curve.aim() - edge) * 2 ** max(0, slow - 1)
        reach = max(0.0, left - wide / 2) if highest.load < aim < failed.load else 0.0
        load = place(highest.load, failed.load, aim, reach)
        if load is None:
            break
        one = curve.probe(load)
        highest, failed = (one, failed) if one.holds else (highest, one)
        slow = slow + 1 if failed.load - highest.load > gap / 2 else 0
    if failed is not None:
        for doubling in range(1, (1 if highest else _BEYOND) + 1):
            far = min(high, 2**doubling * failed.load)
            if max(one.load for one in curve.probes) < far:
                curve.probe(far)
    ordered = tuple(sorted(curve.probes, key=lambda one: one.load))
    monotone = all(below.holds or not above.holds for below, above in pairwise(ordered))
    return LoadLine(highest, failed, monotone, ordered)
