"""The search for a load line: the highest load at which a condition on the answer holds.

The search knows nothing of what answers; `keeps` is the condition on Results. No load is asked for twice, and all that
were are in the load line's probes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from loadline.result.schema import Result
from loadline.system.search import Scale, Seen, highest
from loadline.workload.limit import Limit

Load = TypeVar("Load", int, float)
Answer = TypeVar("Answer")

# A search over outstanding I/Os begins with so many: an answer in the middle says more than that of a system at rest.
_START = 128

# It goes up by no more at a time.
_LEAP = 16

# Between loads further apart halfway is meant in the logarithm.
_FAR = 4

# A search over rates begins at that utilisation, if it's known where saturation is.
_BEGIN = 0.6

# At most so much nearer to saturation at a time.
_NEARER = 8

# Steps of a search over rates in the tolerance; with luck it ends after so many probes.
_FINE = 2
_ENOUGH = 6

# Saturation is above a rate that was done, by so much at least.
_ABOVE = 1.003

# Where it was expected lower than a rate that holds, it's taken to be so much above that, and so many times as much
# after each other one.
_HIGHER = 0.02
_STEEPER = 4

# An answer without a confidence interval is taken to have that standard error (assumed: 1 % at 95 %, as points have).
_ERROR = 0.005
_T_975 = 1.96

#: Of a row's provenance: how sure the figure is that's limited, where there is no column for it.
LIMITED = "limited"

# By so many standard errors a load surely fails.
_UNLIKE = 4.0

# Doublings above a lowest load that fails, for one that holds.
_BEYOND = 2


class UnansweredError(Exception):
    """Something was asked for that has no answer. A search ends there, with what is known."""


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
            Of rates whose responses have luck: the one that holds nearest to where the curve meets the limit.
        next: the next load that fails; None: everything up to the highest load allowed holds.
        monotone: no probe above a surely failing one holds. If one does, `highest` is only where it fails first.
        probes: everything that was answered, in order of load.
        complete: False: an ask without an answer ended the search, and between `highest` and `next`, the nearest loads
            that are known, it may lie anywhere. Without an answer to the look above the line it's complete.
    """

    highest: Probe[Load, Answer] | None
    next: Probe[Load, Answer] | None
    monotone: bool
    probes: tuple[Probe[Load, Answer], ...]
    complete: bool = True

    @property
    def against(self) -> tuple[Probe[Load, Answer], ...]:
        """The probes that would have the line elsewhere: those below it that fail, and those up to `next` that hold.

        Where luck ended the search; the curve through all probes takes their answers for luck.
        """
        if self.highest is None:
            return ()
        at, end = self.highest.load, math.inf if self.next is None else self.next.load
        return tuple(
            one for one in self.probes if (one.load < at and not one.holds) or (at < one.load < end and one.holds)
        )


def keeps(result: Result, limit: Limit) -> bool:
    """Whether a result keeps the limit; one with an error, or without the figure that is limited, doesn't."""
    response_ns = limited_response_ns(result, limit)
    return response_ns is not None and limit.holds(response_ns)


def share(result: Result, limit: Limit) -> float:
    """The limited figure as a share of its bound; infinite of a result with an error, or without the figure."""
    response_ns = limited_response_ns(result, limit)
    return math.inf if response_ns is None else response_ns / limit.bound_ns


def luck(result: Result) -> float:
    """The standard error of the logarithm of a result's mean response, taken for that of its other figures too.

    By how far up its interval goes: down, that of a response that is hardly known goes to nothing.
    """
    mean_ns, half_ns = result.total.latency_mean_ns, result.latency_mean_ci95_ns
    return math.log1p(half_ns / mean_ns) / _T_975 if mean_ns and half_ns is not None else _ERROR


def limited_response_ns(result: Result, limit: Limit) -> float | None:
    """The figure of a result's response that a limit is about, ns; None of a failed one, and where it isn't known."""
    flow = {"all": result.total, "reads": result.read, "writes": result.write}[limit.of]
    response_ns: float | None = getattr(flow, f"latency_{limit.statistic}_ns")
    return None if result.error is not None else response_ns


def bounds(
    line: LoadLine[Any, Result], limit: Limit, *, rate: bool, saturation_per_s: float | None = None
) -> tuple[float | None, float | None]:
    """From where to where the load line may lie by the 95 % confidence intervals of the probes' limited figures.

    As if all responses were higher by their half-widths, then lower: where these curves meet the limit. Between two
    probes they are taken for straight, in response over outstanding I/Os, and in 1 / response over a rate; so they are
    below the lowest one. A rate that is given as the load line is between them or one of them.

    Args:
        rate: whether the loads are rates.
        saturation_per_s: of rates, where the response has no bound; without it that's at the lowest rate above it.

    Returns:
        The lowest and the highest load; None for an end that isn't known: a probe without an interval, or a curve that
        doesn't pass the limit.
    """
    answers = [(probe.load, probe.answer) for probe in line.probes]
    known = [(load, one) for load, one in answers if rate or one.error is None]
    if saturation_per_s is not None:
        done = max((load for load, one in known if one.error is None), default=0.0)
        top = max(saturation_per_s, done * _ABOVE)
        known = [(min(load, top) if one.error else load, one) for load, one in known]

    def curve(sign: int) -> list[tuple[float, float | None]]:
        return [(load, _bent(answer, limit, sign, rate)) for load, answer in known]

    at = -1 / limit.bound_ns if rate else float(limit.bound_ns)
    low = None if line.highest is None else _crossing(curve(1), at, first=True)
    high = _crossing(curve(-1), at, first=False)
    if rate and line.highest is not None:
        # Where luck ended the search a lower load held, and it's what is given: as it was offered.
        held = line.highest.answer.offered_per_s or line.highest.load
        low, high = (None if low is None else min(low, held)), (None if high is None else max(high, held))
    return low, high


def _bent(answer: Result, limit: Limit, sign: int, rate: bool) -> float | None:
    if answer.error is not None:
        # Above saturation the response has no bound.
        return 0.0
    limited_ns, half_ns = limited_response_ns(answer, limit), _half_ns(answer, limit)
    if limited_ns is None or half_ns is None:
        return None
    response_ns = max(1.0, limited_ns + sign * half_ns)
    return -1 / response_ns if rate else response_ns


def _half_ns(answer: Result, limit: Limit) -> float | None:
    """The half-width of the 95 % interval of the limited figure."""
    if limit.figure == "latency_mean_ns":
        return answer.latency_mean_ci95_ns
    found, limited_ns = answer.provenance.get(LIMITED) or {}, limited_response_ns(answer, limit)
    known = limited_ns is not None and found.get("figure") == limit.figure
    return limited_ns * float(found["ci95_fraction"]) if limited_ns is not None and known else None


def _crossing(curve: Sequence[tuple[float, float | None]], limit: float, *, first: bool) -> float | None:
    """Where a curve passes the limit for the first or the last time; None where it doesn't, or isn't known."""
    pairs = list(pairwise(curve))
    for number, ((load, height), (above, higher)) in enumerate(pairs if first else reversed(pairs)):
        if height is None or higher is None:
            return None
        if (height <= limit or (first and not number)) and limit < higher and height < higher:
            return max(0.0, load + (limit - height) * (above - load) / (higher - height))
    return None


def search_outstanding(
    ask: Callable[[int], Answer],
    holds: Callable[[Answer], bool],
    low: int,
    high: int,
    share: Callable[[Answer], float],
    error: Callable[[Answer], float] = lambda _: 0.0,
) -> LoadLine[int, Answer]:
    """The largest number of outstanding I/Os from `low` to `high` that holds; the `next` one is 1 more.

    Each probe is where a curve through the answers so far meets the limit, by what is known of queues and of luck
    (docs/background/load-lines.md); where answers aren't as expected, the gap is halved. Last comes a probe at twice
    the load line, unless there was one further up: a curve that isn't monotone shows there. What lies between two
    probes isn't seen, nor what lies below the lowest one.

    An ask that raises UnansweredError ends it, with a line that may not be complete.

    Args:
        share: of an answer's response in its limit; holds up to 1.
        error: the relative standard error of that; 0 if it isn't known. Where neighbours differ by less the load line
            has luck, too: `bounds` says how much.
    """

    def center(below: int, above: int) -> int:
        one, other = low + max(below, 0), low + above
        return round(math.sqrt(one * other) if other > _FAR * one else (one + other) / 2) - low

    probes = _Probes(ask, holds, share, error, low, high)
    scale = Scale(lambda step: (low + step) / low, center, lambda step: (low + step) * _LEAP - low)
    begin = min(max(low, _START), high) - low
    try:
        found = highest(probes.seen(lambda step: low + step), scale, high - low, begin)
    except UnansweredError:
        return probes.torn(low, high, lambda load, above: above - load <= 1)
    return probes.line(low + found if found >= 0 else None, high)


def search_rate(
    ask: Callable[[float], Answer],
    holds: Callable[[Answer], bool],
    low: float,
    high: float,
    share: Callable[[Answer], float],
    saturation: Callable[[Answer], float | None],
    tolerance_fraction: float = 0.01,
    expected: float | None = None,
    error: Callable[[Answer], float] = lambda _: 0.0,
    offered: Callable[[float], float] | None = None,
) -> LoadLine[float, Answer]:
    """The highest offered rate from `low` to `high` that holds; the `next` one is at most `tolerance_fraction` higher.

    Where fewer rates than that can be offered, it's the next of those.

    Searches as `search_outstanding` does, on rates that are half as far apart. Once saturation is known, a rate counts
    as 1 / (1 - utilisation) outstanding. Of answers with an `error` more are asked for near the limit, until the curve
    through them says where that is met; the `next` one may be further off.

    Args:
        saturation: what an answer to a higher rate than the system can do says of the highest; None of other answers.
        expected: the rate of saturation, if it's known before: the search begins below it; else at `high`, which tells.
        offered: the nearest rate that can be asked for; of one that can, itself. None: any can.
    """
    step = math.log1p(0.999 * tolerance_fraction) / _FINE
    # The same rates whichever are the lowest and the highest, so that these don't tell which one is found.
    first = math.floor(math.log(low) / step)
    steps = max(math.ceil(math.log(high) / step) - first, 1)

    def even(number: int) -> float:
        return low if number <= 0 else high if number >= steps else math.exp(step * (first + number))

    rates = sorted({offered(even(number)) for number in range(steps + 1)}) if offered else []
    last = len(rates) - 1 if rates else steps

    def rate(number: int) -> float:
        return rates[max(0, min(number, last))] if rates else even(number)

    probes = _Probes(ask, holds, share, error, rate(0), rate(last))

    def under(load: float) -> int:
        return max(0, bisect_right(range(last + 1), load, key=rate) - 1)

    def near(load: float) -> int:
        number = under(load)
        return number + (number < last and rate(number) * rate(number + 1) < load * load)

    def width(number: int) -> float:
        return max(1.0, math.log(rate(number + 1) / rate(number)) / step)

    def higher() -> list[float]:
        return [load for load, one in probes.asked.items() if expected is not None and load > expected and one.holds]

    def enough() -> int:
        # What went to find out how much higher it is says little of where the limit is met.
        return _ENOUGH + (2 if expected is None else len(higher()))

    def ceiling() -> float | None:
        told = [one for probe in probes.asked.values() if (one := saturation(probe.answer)) is not None]
        done = [load for load, probe in probes.asked.items() if math.isfinite(share(probe.answer))]
        tops = told[:1]
        if expected is not None and not told:
            # The first of them may be luck.
            tops = [max(higher()) * (1 + _HIGHER * _STEEPER ** (len(higher()) - 1))] if higher() else [expected]
        return max([*tops, *(_ABOVE * load for load in done)]) if tops else None

    def depth(number: int) -> float:
        load, top = rate(number), ceiling()
        return load / rate(0) if top is None else 1 / (1 - load / top) if load < top else math.inf

    begin = last if expected is None else near(_BEGIN * expected)

    def leap(number: int) -> int:
        top, load = ceiling(), rate(number)
        far = load * _LEAP if top is None else max(load, top * (1 - 1 / (_NEARER * depth(number))))
        return under(far)

    def center(below: int, above: int) -> int:
        top = ceiling()
        if below >= 0 or top is None:
            return (below + above) // 2
        return near(_BEGIN * top)

    scale = Scale(depth, center, leap, enough, width)
    try:
        found = highest(probes.seen(rate), scale, last, begin)
    except UnansweredError:
        return probes.torn(
            *(rate(0), rate(last)),
            lambda load, above: above <= max(load * (1 + tolerance_fraction), rate(under(load) + 1)),
        )
    return probes.line(
        rate(found) if found >= 0 else None, min(high, ceiling() or high), offered or (lambda load: load)
    )


class _Probes(Generic[Load, Answer]):
    """What was asked, by load."""

    def __init__(
        self,
        ask: Callable[[Load], Answer],
        holds: Callable[[Answer], bool],
        share: Callable[[Answer], float],
        error: Callable[[Answer], float],
        low: Load,
        high: Load,
    ) -> None:
        assert 0 < low <= high, "a ramp goes up from above 0"
        self._ask: Callable[[Load], Answer] = ask
        self._holds = holds
        self._share = share
        self._error = error
        self.asked: dict[Load, Probe[Load, Answer]] = {}

    def probe(self, load: Load) -> Probe[Load, Answer]:
        answer = self._ask(load)
        self.asked[load] = Probe(load, answer, self._holds(answer))
        return self.asked[load]

    def seen(self, load: Callable[[int], Load]) -> Callable[[int], Seen]:
        """What a search over steps sees of them."""

        def see(step: int) -> Seen:
            probe = self.probe(load(step))
            return Seen(probe.holds, self._share(probe.answer), self._error(probe.answer))

        return see

    def _surely_fails(self, probe: Probe[Load, Answer]) -> bool:
        part, error = self._share(probe.answer), self._error(probe.answer)
        return not probe.holds and (not error or not part <= 1 + _UNLIKE * error)

    def line(
        self, at: Load | None, most: Load, offered: Callable[[Load], Load] = lambda load: load
    ) -> LoadLine[Load, Answer]:
        """The load line where a search found it, after a look above it, up to `most`."""
        fails = self._fails_above(at)
        # With luck everything above the line may hold, and only loads below it fail.
        end = at if fails is None else fails.load
        assert end is not None, "if no load holds, one fails"
        with suppress(UnansweredError):
            for doubling in range(1, (_BEYOND if at is None else 1) + 1):
                far = offered(min(most, 2**doubling * end))
                if max(self.asked) < far:
                    self.probe(far)
        return self._line(at, self._fails_above(at))

    def _fails_above(self, at: Load | None) -> Probe[Load, Answer] | None:
        above = (one for load, one in self.asked.items() if not one.holds and (at is None or load > at))
        return min(above, key=lambda one: one.load, default=None)

    def torn(self, low: Load, high: Load, next_to: Callable[[Load, Load], bool]) -> LoadLine[Load, Answer]:
        """What is known where something had no answer; complete if no load is left to ask for between its ends."""
        fails = min((one for one in self.asked.values() if not one.holds), key=lambda one: one.load, default=None)
        held = (load for load, one in self.asked.items() if one.holds and (fails is None or load < fails.load))
        at = max(held, default=None)
        if fails is None:
            return self._line(at, fails, complete=at == high)
        return self._line(at, fails, complete=fails.load == low if at is None else next_to(at, fails.load))

    def _line(
        self, at: Load | None, fails: Probe[Load, Answer] | None, *, complete: bool = True
    ) -> LoadLine[Load, Answer]:
        ordered = tuple(self.asked[load] for load in sorted(self.asked))
        # What fails below the line did so by luck, or for once.
        fail = (one.load for one in ordered if self._surely_fails(one) and (at is None or one.load > at))
        first = min(fail, default=math.inf)
        monotone = not any(probe.holds and probe.load > first for probe in ordered)
        return LoadLine(None if at is None else self.asked[at], fails, monotone, ordered, complete)
