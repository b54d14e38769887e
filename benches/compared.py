"""One line of the bench's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Compared:
    """Ours against a peer's, as texts with units; `met` is None where there is no bar, or the pairs can't tell."""

    what: str
    ours: str
    peer: str
    figure: str
    spread: str
    bar: str = ""
    met: bool | None = None

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: "can't tell" if self.bar else ""}[self.met]


def spread(values: Sequence[float], unit: str = "") -> str:
    return f"{min(values):.3g} to {max(values):.3g}{unit}"
