"""Whether a figure that is measured in rounds no longer changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# SNIA Solid State Storage Performance Test Specification 2.0.1, definition of steady state.
_EXCURSION = 0.20
_SLOPE = 0.10


@dataclass(frozen=True, slots=True)
class Window:
    """What rounds in a row say of a figure.

    Attributes:
        excursion_fraction: the largest less the smallest, as a share of the mean.
        slope_fraction: how far the line of least squares through them changes within the window, so, too.
    """

    excursion_fraction: float
    slope_fraction: float

    @property
    def steady(self) -> bool:
        """Whether both are within SNIA's bounds: 20 % and 10 %."""
        return self.excursion_fraction <= _EXCURSION and self.slope_fraction <= _SLOPE


def window(values: Sequence[float]) -> Window:
    """The window of these rounds, at least two, whose mean is above 0."""
    count = len(values)
    assert count >= 2 and sum(values) > 0, "a window has rounds, and figures are above 0"
    mean, middle = sum(values) / count, (count - 1) / 2
    slope = sum((n - middle) * value for n, value in enumerate(values)) / (count * (count**2 - 1) / 12)
    return Window((max(values) - min(values)) / mean, abs(slope) * (count - 1) / mean)
