"""A panel: one view with its words. A page lays panels out by its width, a picture stacks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loadline.reporting.charts.frame import SEPARATOR
from loadline.reporting.charts.theme import SHAPES, Palette

#: An axis' labels in two lines: the point, and below it what tells it from others of that name.
TWO_LINES = f"split(datum.label, '{SEPARATOR}')"


@dataclass(frozen=True, slots=True)
class Panel:
    """Layers over each other, and by name the rows that they show; `height` in pixels, or a step a row."""

    title: str
    layers: Sequence[alt.Chart]
    data: Mapping[str, Sequence[Mapping[str, Any]]]
    height: float | alt.Step
    note: str = ""

    def spec(self, width: int | str) -> dict[str, Any]:
        """Vega-Lite's specification, of so many pixels or the `container`'s width; without title and configuration."""
        # Altair's own layering and checking take a hundred times as long, which a page of 800 panels can't afford.
        layers = [layer.to_dict(validate=False, context={"top_level": False}) for layer in self.layers]
        height = self.height if isinstance(self.height, int | float) else self.height.to_dict()
        return {"layer": layers, "width": width, "height": height, "datasets": dict(self.data)}


def chart_of(name: str) -> alt.Chart:
    """A chart over the data of that name in its panel. Altair copies what it holds at every step, so it holds none."""
    return alt.Chart(alt.NamedData(name))


def told_apart(chart: alt.Chart, field: str, values: Sequence[str], palette: Palette) -> alt.Chart:
    """The chart with colour and shape by category, and one legend for both: it takes explicit domains for that."""
    domain = list(dict.fromkeys(values))

    def scale(looks: Sequence[str]) -> alt.Scale:
        return alt.Scale(domain=domain, range=[looks[n % len(looks)] for n in range(len(domain))])

    return chart.encode(
        color=alt.Color(f"{field}:N", title=None, scale=scale(palette.series)),
        shape=alt.Shape(f"{field}:N", title=None, scale=scale(SHAPES)),
    )


def rows_height(labels: Sequence[str], least: int = 22) -> alt.Step:
    """Room for a row a label; labels of two lines get more."""
    return alt.Step(34 if any(SEPARATOR in label for label in labels) else least)
