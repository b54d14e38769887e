"""IOPS of every point, grouped by access class."""

from __future__ import annotations

from typing import Any

import altair as alt

from loadline.reporting.charts.frame import axis_side, by_class, far, names, scale, ticks
from loadline.reporting.charts.panel import SIDE, TWO_LINES, Panel, chart_of, rows_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import count


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a class: a bar a point, or a dot where the range asks for a logarithmic scale.

    Of repetitions it is their mean, and a stroke stands at each.
    """
    repeats = contents.repeats
    points = [one.mean for one in repeats]
    labels = names(points)
    panels = []
    for access, numbers in by_class(points).items():
        known = [
            (labels[n], rate) for n in numbers if (rate := points[n].total.iops) is not None and not points[n].error
        ]
        rates = [rate for _, rate in known]
        values = [{"name": name, "iops": rate, "said": count(rate), "far": far(rate, rates)} for name, rate in known]
        if values:
            failed = [labels[n] for n in numbers if points[n].error]
            each = [
                {"name": labels[n], "iops": row.total.iops}
                for n in numbers
                for row in repeats[n].rows
                if len(repeats[n].rows) > 1 and row.total.iops is not None
            ]
            layers = [*_panel(values, rates, palette), *([_failed(palette)] if failed else [])]
            layers += [_strokes(palette)] if each else []
            data: dict[str, Any] = {"points": values, "failed": [{"name": name} for name in failed], "each": each}
            height = rows_height([*(name for name, _ in known), *failed])
            panels.append(Panel(f"IOPS, {access}" if access else "IOPS", layers, data, height))
    return panels


def _panel(values: list[dict[str, Any]], rates: list[float], palette: Palette) -> list[alt.Chart]:
    axis, side = scale(rates), axis_side(len(values))
    base = chart_of("points").encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelExpr=TWO_LINES, grid=axis["type"] == "log")),
        x=alt.X("iops:Q", title="I/Os a second", scale=alt.Scale(**axis), axis=alt.Axis(**ticks(rates), **side)),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("said:N", title="IOPS")],
    )
    if axis["type"] == "log":
        marks = base.mark_point(filled=True, size=70, opacity=1, color=palette.read)
        ink: Any = palette.ink
    else:
        marks = base.mark_bar(color=palette.read, height={"band": 0.6})
        ink = alt.ExprRef(f"datum.far ? '{palette.paper}' : '{palette.ink}'")
    text = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? -7 : 7"), color=ink).encode(text=alt.Text("said:N"))
    return [marks, text]


def _strokes(palette: Palette) -> alt.Chart:
    """A stroke at each repetition."""
    at = chart_of("each").encode(y=alt.Y("name:N", sort=None), x=alt.X("iops:Q"))
    strokes: alt.Chart = at.mark_tick(color=palette.ink, thickness=1.5, height={"band": 0.6}, opacity=0.8)
    return strokes


def _failed(palette: Palette) -> alt.Chart:
    """Where a bar would be, the word."""
    at = chart_of("failed").encode(y=alt.Y("name:N", sort=None))
    said: alt.Chart = at.mark_text(x=0, align="left", dx=7, color=palette.alarm, text="failed")
    return said
