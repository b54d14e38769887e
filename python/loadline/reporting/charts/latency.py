"""Read and write latency of every point, each on a scale of its own."""

from __future__ import annotations

from typing import Any

import altair as alt

from loadline.reporting.charts.frame import axis_side, by_class, far, scale, set_beside, ticks
from loadline.reporting.charts.panel import SIDE, Panel, beside, chart_of, looks, named, rows_height, sides_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import milliseconds

# A side's room within its point's row, for the number stands above its mark.
_SIDE = 28


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a class and direction: the mean, and the 99th percentile where it is known."""
    points = contents.means
    places, sides = set_beside(points)
    panels = []
    for access, numbers in by_class(points).items():
        for direction in ("read", "write"):
            flows = [(n, places[n], getattr(points[n], direction)) for n in numbers]
            values = [
                {
                    **place,
                    "mean": flow.latency_mean_ns / 1e6,
                    "p99": None if flow.latency_p99_ns is None else flow.latency_p99_ns / 1e6,
                    "said": milliseconds(flow.latency_mean_ns),
                    "tail": milliseconds(flow.latency_p99_ns),
                }
                for n, place, flow in flows
                if flow.latency_mean_ns is not None and not points[n].error
            ]
            if values:
                title = f"{direction.capitalize()} latency, {access}" if access else f"{direction.capitalize()} latency"
                shown = [value[key] for value in values for key in ("mean", "p99")]
                values = [{**value, "far": far(value["mean"], shown)} for value in values]
                tails = any(value["p99"] is not None for value in values)
                rows = [value["name"] for value in values]
                least = 34 if tails else 22
                height = sides_height(rows, sides, _SIDE) if sides else rows_height(rows, least)
                note = "● mean, ◇ 99th percentile" if tails else "mean"
                layers = _panel(values, getattr(palette, direction), palette, tails)
                if sides:
                    # The first layer's legend is that of all.
                    colour = looks(alt.Color, "side", sides, palette.series)
                    marks = [layer.encode(color=colour) for layer in layers[:-1]]
                    layers = [layer.encode(yOffset=beside(sides)) for layer in [*marks, layers[-1]]]
                panels.append(Panel(title, layers, {"points": values}, height, note))
    return panels


def _panel(values: list[dict[str, Any]], colour: str, palette: Palette, tails: bool) -> list[alt.Chart]:
    known = [value[key] for value in values for key in ("mean", "p99")]
    axis = alt.Scale(**scale(known))
    base = chart_of("points").encode(
        y=named(grid=True),
        tooltip=[
            alt.Tooltip("name:N"),
            *([alt.Tooltip("side:N")] if "side" in values[0] else []),
            alt.Tooltip("said:N", title="mean, ms"),
            alt.Tooltip("tail:N", title="99th percentile, ms"),
        ],
    )
    x = alt.X("mean:Q", title="ms", scale=axis, axis=alt.Axis(**ticks(known, form="~r"), **axis_side(len(values))))
    mean = base.mark_point(filled=True, size=70, opacity=1, color=colour).encode(x=x)
    if not tails:
        beside = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? -8 : 8"), color=palette.ink)
        return [mean, beside.encode(x=x, text=alt.Text("said:N"))]
    above = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? 6 : -6"), dy=-10, color=palette.ink)
    between = base.mark_rule(color=colour, opacity=0.5).encode(x=x, x2=alt.X2("p99:Q"))
    tail = base.mark_point(shape="diamond", size=60, opacity=1, color=colour).encode(x=alt.X("p99:Q", scale=axis))
    return [between, tail, mean, above.encode(x=x, text=alt.Text("said:N"))]
