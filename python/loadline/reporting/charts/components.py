"""Utilisation of a model's components at each point, the bottleneck marked."""

from __future__ import annotations

import altair as alt

from loadline.reporting.charts.frame import names, together
from loadline.reporting.charts.panel import ROOM, Panel, chart_of, named, rows_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents

# Below it a component is left out: it limits nothing.
_IDLE = 0.01

# A small volume keeps one of many disks busy.
_NOTE = "the mean over all of a kind; ▲ the bottleneck"

# Pixels of a cell in which "100 ▲" has room, and "100".
_BESIDE, _NUMBER = 42, 24


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """One panel: a column a component, the busiest first, a row a point; none if no row is a model's."""
    points = together([point for point in contents.means if point.components])
    highest: dict[str, float] = {}
    for point in points:
        for component, busy in point.components.items():
            highest[component] = max(busy, highest.get(component, 0.0))
    shown = [name for name in sorted(highest, key=lambda name: -highest[name]) if highest[name] >= _IDLE]
    if not shown:
        return []
    values = [
        {
            "name": name,
            "component": component,
            "place": place,
            "busy": point.components[component],
            "said": f"{100 * point.components[component]:.0f}" + (" ▲" if component == point.bottleneck else ""),
            "number": f"{100 * point.components[component]:.0f}",
            "mark": "▲" if component == point.bottleneck else "",
            "full": point.components[component] > 0.55,
        }
        for name, point in zip(names(points), points, strict=True)
        for place, component in enumerate(shown)
        if component in point.components
    ]
    base = chart_of("points").encode(
        y=named(domain=False),
        x=alt.X(
            "component:N",
            # Of a list Vega-Lite makes an expression, and not every name from outside can stand in one.
            sort=alt.EncodingSortField(field="place", op="min"),
            title=None,
            axis=alt.Axis(orient="top", labelAngle=-90, labelLimit=140, ticks=False, domain=False),
        ),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("component:N"), alt.Tooltip("busy:Q", format=".1%")],
    )
    cells = base.mark_rect(color=palette.read).encode(
        opacity=alt.Opacity("busy:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1], clamp=True), legend=None)
    )
    ink = alt.condition("datum.full", alt.value(palette.paper), alt.value(palette.ink))
    # On a phone a cell has no room for a number and its mark beside each other: the mark stands above it.
    narrow = f"{ROOM} < {_BESIDE * len(shown)}"
    size = alt.ExprRef(f"{ROOM} < {_NUMBER * len(shown)} ? 8 : 11")
    said, down = alt.ExprRef(f"{narrow} ? datum.number : datum.said"), alt.ExprRef(f"{narrow} ? 3 : 0")
    text = base.mark_text(text=said, fontSize=size, dy=down).encode(color=ink)
    above = base.mark_text(text=alt.ExprRef(f"{narrow} ? datum.mark : ''"), fontSize=7, dy=-7).encode(color=ink)
    height = rows_height([str(value["name"]) for value in values])
    return [Panel("Utilisation of components, %", [cells, text, above], {"points": values}, height, _NOTE)]
