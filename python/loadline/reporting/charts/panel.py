"""A panel: one view with its words. A page lays panels out by its width, a picture by their number."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loadline.reporting.apart import cut_runs
from loadline.reporting.charts.frame import LETTERS, LINES, SEPARATOR
from loadline.reporting.charts.theme import SHAPES, Palette

#: Vega's name for the width of the plot in pixels, without its axes; pages and pictures define it.
ROOM = "room"

#: Where a label stands beside its mark: before it if its row is `far`, else behind it.
SIDE = alt.ExprRef("datum.far ? 'right' : 'left'")

# Names often differ at their ends: what is too long loses its middle.
_PARTS = f"split(datum.label, '{SEPARATOR}')"
_CUT = ", ".join(f"truncate({_PARTS}[{n}], {LETTERS}, 'center')" for n in range(LINES))
_LABEL = f"slice([{_CUT}], 0, length({_PARTS}))"

# Vega sets the first of several lines beside the row; half a line up for each other, the row is amid them.
_LABEL_OFFSET = {
    "condition": [{"test": f"length({_PARTS}) == {lines}", "value": -7 * (lines - 1)} for lines in range(2, LINES + 1)],
    "value": 0,
}

# Between two points whose sides stand beside each other, in pixels.
_GAP = 10

# Letters of a legend whose entries stand side by side.
_BESIDE = 24


@dataclass(frozen=True, slots=True)
class Panel:
    """Layers over each other, and by name the rows that they show; `height` in pixels. Those `of` one stay together.

    `note` is of any width; where that of a picture makes it another one, `pictured`.
    """

    title: str
    layers: Sequence[alt.Chart]
    data: Mapping[str, Sequence[Mapping[str, Any]]]
    height: int
    note: str = ""
    of: str = ""
    pictured: str | None = None

    def spec(self, width: int | str) -> dict[str, Any]:
        """Vega-Lite's specification, of so many pixels or the `container`'s width; without title and configuration."""
        # Altair's own layering and checking take a hundred times as long, which a page of 800 panels can't afford.
        layers = [layer.to_dict(validate=False, context={"top_level": False}) for layer in self.layers]
        return {"layer": layers, "width": width, "height": self.height, "datasets": dict(self.data)}


def chart_of(name: str) -> alt.Chart:
    """A chart over the data of that name in its panel. Altair copies what it holds at every step, so it holds none.

    Channels are given as what they are (`alt.X("s:Q")`): out of a plain string Altair makes one in 8 ms.
    """
    return alt.Chart(alt.NamedData(name))


def named(**more: Any) -> alt.Y:
    """A row a name, in lines if need be: the point, and below it what tells it from others of that name."""
    axis = alt.Axis(labelExpr=_LABEL, labelOffset=_LABEL_OFFSET, **more)
    return alt.Y("name:N", sort=None, title=None, axis=axis)


def told_apart(chart: alt.Chart, field: str, values: Sequence[str], palette: Palette) -> alt.Chart:
    """The chart with colour and shape by category, and one legend for both: it takes explicit domains for that."""
    domain = list(dict.fromkeys(values))
    return chart.encode(
        color=looks(alt.Color, field, domain, palette.series), shape=looks(alt.Shape, field, domain, SHAPES)
    )


def looks(channel: Any, field: str, domain: Sequence[str], each: Sequence[str]) -> Any:
    """A look for each category, with a legend."""
    # Ids of runs are cut by a phone's width to what all of them begin with.
    short = cut_runs(domain)
    said = f"{json.dumps(short)}[datum.label]" if short else alt.Undefined
    # Side by side they need a page's width; one below the other they fit a phone.
    wide = sum(len(short.get(name, name)) for name in domain) > _BESIDE
    # Beside their symbols, all of the width: what tells settings apart may stand at the end.
    limit = alt.ExprRef(f"max(150, {ROOM} - 30)")
    return channel(
        f"{field}:N",
        title=None,
        scale=alt.Scale(domain=list(domain), range=[each[n % len(each)] for n in range(len(domain))]),
        legend=alt.Legend(columns=1 if wide else len(domain), labelLimit=limit, symbolOpacity=1, labelExpr=said),
    )


def beside(sides: Sequence[str]) -> alt.YOffset:
    """The place of each side within a point's row."""
    # Without a band dots would be as far from their like as from the next row's.
    return alt.YOffset("side:N", sort=None, scale=alt.Scale(type="band", domain=list(sides), paddingInner=0.12))


def sides_height(names: Sequence[str], sides: Sequence[str], least: int = 15) -> int:
    """Room for a row a point, in which each side has that many pixels."""
    return len(set(names)) * (len(sides) * least + _GAP)


def rows_height(labels: Sequence[str], least: int = 22) -> int:
    """Room for a row a label; labels of several lines get more."""
    # A step would do, but Vega-Lite warns of it where the width is the container's.
    lines = 1 + max((label.count(SEPARATOR) for label in labels), default=0)
    return len(set(labels)) * max(least, 6 + 14 * min(lines, LINES))
