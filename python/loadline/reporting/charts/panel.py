"""A panel: one view with its words. A page lays panels out by its width, a picture stacks them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loadline.reporting.charts.frame import SEPARATOR

#: An axis' labels in two lines: the point, and below it what tells it from others of that name.
TWO_LINES = f"split(datum.label, '{SEPARATOR}')"


@dataclass(frozen=True, slots=True)
class Panel:
    """Layers over each other; `height` in pixels, or a step a row. How wide it is the paper decides."""

    title: str
    layers: Sequence[alt.Chart]
    height: float | alt.Step
    note: str = ""

    def drawn(self, width: int | str, **more: Any) -> Any:
        """Altair's chart, of so many pixels or the `container`'s width."""
        return alt.layer(*self.layers).properties(width=width, height=self.height, **more)


def rows_height(labels: Sequence[str], least: int = 22) -> alt.Step:
    """Room for a row a label; labels of two lines get more."""
    return alt.Step(34 if any(SEPARATOR in label for label in labels) else least)
