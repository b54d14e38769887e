"""Read and write latency of every point, each on a scale of its own."""

from __future__ import annotations

from typing import Any

import altair as alt

from loadline.reporting.charts.frame import axis_side, by_class, far, names, scale, ticks
from loadline.reporting.charts.panel import SIDE, TWO_LINES, Panel, chart_of, rows_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import milliseconds


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a class and direction: the mean, and the 99th percentile where it is known."""
    points = contents.means
    labels = names(points)
    panels = []
    for access, numbers in by_class(points).items():
        for direction in ("read", "write"):
            flows = [(n, labels[n], getattr(points[n], direction)) for n in numbers]
            values = [
                {
                    "name": label,
                    "mean": flow.latency_mean_ns / 1e6,
                    "p99": None if flow.latency_p99_ns is None else flow.latency_p99_ns / 1e6,
                    "said": milliseconds(flow.latency_mean_ns),
                    "tail": milliseconds(flow.latency_p99_ns),
                }
                for n, label, flow in flows
                if flow.latency_mean_ns is not None and not points[n].error
            ]
            if values:
                title = f"{direction.capitalize()} latency, {access}" if access else f"{direction.capitalize()} latency"
                shown = [value[key] for value in values for key in ("mean", "p99")]
                values = [{**value, "far": far(value["mean"], shown)} for value in values]
                tails = any(value["p99"] is not None for value in values)
                height = rows_height([value["name"] for value in values], least=34 if tails else 22)
                note = "● mean, ◇ 99th percentile" if tails else "mean"
                layers = _panel(values, getattr(palette, direction), palette, tails)
                panels.append(Panel(title, layers, {"points": values}, height, note))
    return panels


def _panel(values: list[dict[str, Any]], colour: str, palette: Palette, tails: bool) -> list[alt.Chart]:
    known = [value[key] for value in values for key in ("mean", "p99")]
    axis = alt.Scale(**scale(known))
    base = chart_of("points").encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelExpr=TWO_LINES, grid=True)),
        tooltip=[
            alt.Tooltip("name:N"),
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
