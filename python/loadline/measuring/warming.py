"""Which targets are warm: one that is needs no warm-up before a point, only time for the point's own queues to settle.

What a warm-up is for, and when it's made again: docs/guides/several-targets.md. Start reading at `Warmth.before`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from loadline.result.schema import Result
from loadline.workload.plan import Point
from loadline.workload.profile import Workload

#: What a point is warmed up for: the state of its target, or only its own queues.
For: TypeAlias = Literal["target", "queues"]


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What the time before a point is for, and why."""

    of: For
    because: str


class Warmth:
    """The state that the points of one session leave their targets in, one after the other.

    A target is cold until a point has warmed it up, and has been written to from a point that writes, or a fill, until
    a point that reads only was warmed up after it. A session that goes on later begins with cold targets.
    """

    def __init__(self, targets: int) -> None:
        self._warm_ns = [0] * targets
        self._written = [False] * targets
        # The one right before, whose writes go on if the next is the same.
        self._last: tuple[tuple[Workload, ...], tuple[int, ...]] | None = None

    def before(self, point: Point) -> tuple[Point, WarmUp | None]:
        """The point with the warm-up that it needs now, and what that is for; None: it has none that could be left out.

        Points in rounds say themselves what comes before each of them.
        """
        if point.settle_ns is None or point.rounds is not None or not point.warmup_ns:
            return point, None
        if point.warmup_ns <= point.settle_ns:
            return point, WarmUp("queues", "no longer warm-up is asked for")
        why = self._cold(point)
        if why is not None:
            return point, WarmUp("target", why)
        return replace(point, warmup_ns=point.settle_ns), WarmUp("queues", "its target was warm")

    def _cold(self, point: Point) -> str | None:
        loaded = self._loaded(point)
        if any(self._warm_ns[number] < point.warmup_ns for number in loaded):
            return "its target wasn't warm yet"
        if self._last == (point.streams, loaded):
            return None
        if point.writes:
            return "it writes"
        return "its target was written to before" if any(self._written[number] for number in loaded) else None

    def after(self, point: Point, *, failed: bool = False) -> None:
        """Says that `point`, as `before` had it asked, has been measured."""
        loaded = self._loaded(point)
        for number in loaded:
            self._warm_ns[number] = 0 if failed else max(self._warm_ns[number], point.warmup_ns)
            self._written[number] = point.writes
        self._last = None if failed else (point.streams, loaded)

    def filled(self, number: int) -> None:
        """Says that target `number` was written in full."""
        self._written[number] = True
        self._last = None

    def _loaded(self, point: Point) -> tuple[int, ...]:
        return tuple(range(len(self._warm_ns))) if point.target is None else (point.target,)


def planned(points: Sequence[Point], targets: int, fills: Sequence[Collection[int]]) -> tuple[Point, ...]:
    """The points with the warm-ups that they need if none fails.

    Args:
        fills: of each point the targets that are filled before it.
    """
    warmth, found = Warmth(targets), []
    for point, filled in zip(points, fills, strict=True):
        for number in filled:
            warmth.filled(number)
        warmed, _ = warmth.before(point)
        warmth.after(warmed)
        found.append(warmed)
    return tuple(found)


def noted(result: Result, warm_up: WarmUp | None) -> Result:
    """The row with what its warm-up was for."""
    if warm_up is None:
        return result
    return replace(result, provenance={**result.provenance, "warm_up": {"of": warm_up.of, "because": warm_up.because}})
