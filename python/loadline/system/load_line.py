"""The search for a load line: the highest load at which a condition on the answer holds.

The search knows nothing of what answers; `keeps` is the condition on Results. No load is asked for twice, and all that
were are in the load line's probes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from loadline.result.schema import Result
from loadline.workload.limit import Limit

Load = TypeVar("Load", int, float)
Answer = TypeVar("Answer")

#: Doublings that are looked at above the first load that fails, for one that holds again.
BEYOND = 2


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
    flow = {"all": result.total, "reads": result.read, "writes": result.write}[limit.of]
    response_ns: float | None = getattr(flow, f"latency_{limit.statistic}_ns")
    return result.error is None and response_ns is not None and limit.holds(response_ns)


def search_outstanding(
    ask: Callable[[int], Answer], holds: Callable[[Answer], bool], low: int, high: int
) -> LoadLine[int, Answer]:
    """The largest number of outstanding I/Os from `low` to `high` that holds; the `next` one is 1 more.

    Doubles from `low` until a load fails, looks `BEYOND` doublings further, then bisects: about 2 log2(high / low)
    probes. A gap that lies between its probes isn't seen.
    """
    return _search(ask, holds, low, high, lambda below, above: (below + above) // 2 if above - below > 1 else None)


def search_rate(
    ask: Callable[[float], Answer],
    holds: Callable[[Answer], bool],
    low: float,
    high: float,
    tolerance_fraction: float = 0.01,
) -> LoadLine[float, Answer]:
    """The highest offered rate from `low` to `high` that holds; the `next` one is at most `tolerance_fraction` higher.

    Searches as `search_outstanding` does, with the geometric mean for the middle.
    """

    def between(below: float, above: float) -> float | None:
        return math.sqrt(below * above) if above > below * (1 + tolerance_fraction) else None

    return _search(ask, holds, low, high, between)


def _search(
    ask: Callable[[Load], Answer],
    holds: Callable[[Answer], bool],
    low: Load,
    high: Load,
    between: Callable[[Load, Load], Load | None],
) -> LoadLine[Load, Answer]:
    assert 0 < low <= high, "a ramp goes up from above 0"
    probes: list[Probe[Load, Answer]] = []

    def probe(load: Load) -> Probe[Load, Answer]:
        answer = ask(load)
        probes.append(Probe(load, answer, holds(answer)))
        return probes[-1]

    last = probe(low)
    while last.holds and last.load < high:
        last = probe(min(high, last.load * 2))
    failed = None if last.holds else last
    for _ in range(BEYOND):
        if last.load < high:
            last = probe(min(high, last.load * 2))
    held = [one for one in probes if one.holds and (failed is None or one.load < failed.load)]
    highest = held[-1] if held else None
    while highest is not None and failed is not None:
        middle = between(highest.load, failed.load)
        if middle is None:
            break
        one = probe(middle)
        highest, failed = (one, failed) if one.holds else (highest, one)
    ordered = tuple(sorted(probes, key=lambda one: one.load))
    monotone = all(below.holds or not above.holds for below, above in pairwise(ordered))
    return LoadLine(highest, failed, monotone, ordered)
