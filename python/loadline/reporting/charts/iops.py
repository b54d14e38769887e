"""IOPS of every point, grouped by access class."""

from __future__ import annotations

from typing import Any

import altair as alt

from loadline.reporting.charts.frame import by_class, names, scale, ticks
from loadline.reporting.charts.panel import TWO_LINES, Panel, chart_of, rows_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import count

# A label takes about that share of a bar's length.
_LABEL = 1.15


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a class: a bar a point, or a dot where the range asks for a logarithmic scale."""
    points = contents.points
    labels = names(points)
    panels = []
    for access, numbers in by_class(points).items():
        values = [
            {"name": labels[n], "iops": points[n].total.iops, "said": count(points[n].total.iops)}
            for n in numbers
            if points[n].total.iops is not None
        ]
        if values:
            panels.append(
                Panel(
                    f"IOPS, {access}" if access else "IOPS",
                    _panel(values, palette),
                    {"points": values},
                    rows_height([labels[n] for n in numbers]),
                )
            )
    return panels


def _panel(values: list[dict[str, Any]], palette: Palette) -> list[alt.Chart]:
    rates: list[float] = [value["iops"] for value in values]
    axis = scale(rates, room=_LABEL)
    base = chart_of("points").encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelExpr=TWO_LINES, grid=axis["type"] == "log")),
        x=alt.X("iops:Q", title="I/Os a second", scale=alt.Scale(**axis), axis=alt.Axis(**ticks(rates))),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("said:N", title="IOPS")],
    )
    if axis["type"] == "log":
        marks = base.mark_point(filled=True, size=70, opacity=1, color=palette.read)
    else:
        marks = base.mark_bar(color=palette.read, height={"band": 0.6})
    text = base.mark_text(align="left", dx=7, color=palette.ink).encode(text="said:N")
    return [marks, text]
