"""Rounds: points that are measured in turn, again and again, until what is tracked no longer changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Rounds:
    """A group of points that are measured in turn, round after round.

    Attributes:
        name: of the group.
        most: rounds at most.
        window: so many rounds in a row must be steady; the means over the last of them are the results.
        track: names of the points that are watched; of swept ones the part before what the sweep adds is enough.
        figure: what of them: their rate, or their mean latency.
        fill: so many times the target is written in sequence, 128 KiB at a time, before the first round.
        written: it ends, too, when so many times the target's size has been written; None: only by its rounds.
    """

    name: str
    most: int
    window: int
    track: tuple[str, ...]
    figure: Literal["rate", "latency"] = "rate"
    fill: int = 0
    written: float | None = None

    def tracked(self, points: Iterable[str]) -> list[str]:
        """Of these points' names those that are watched."""
        return [name for name in points if any(name == one or name.startswith(f"{one}-") for one in self.track)]

    @staticmethod
    def from_json(data: dict[str, Any]) -> Rounds:
        """The one whose `asdict` this is. KeyError and TypeError mean that something else wrote it."""
        return Rounds(**{**data, "track": tuple(data["track"])})
