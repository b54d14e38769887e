"""IOPS of every point, grouped by access class."""

from __future__ import annotations

from typing import Any

import altair as alt

from loadline.reporting.charts.frame import axis_side, by_class, far, scale, set_beside, ticks
from loadline.reporting.charts.panel import SIDE, Panel, beside, chart_of, looks, named, rows_height, sides_height
from loadline.reporting.charts.theme import SHAPES, Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import count, fate


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a class: a bar a point, or a dot where the range asks for a logarithmic scale.

    Of repetitions it is their mean, and a stroke stands at each. Points of one name stand beside each other.
    """
    repeats = contents.repeats
    points = [one.mean for one in repeats]
    places, sides = set_beside(points)
    panels = []
    for access, numbers in by_class(points).items():
        known = [
            (places[n], rate) for n in numbers if (rate := points[n].total.iops) is not None and not points[n].error
        ]
        rates = [rate for _, rate in known]
        if known:
            failed = [{**places[n], "fate": fate(points[n])} for n in numbers if points[n].error]
            each = [
                {**places[n], "iops": row.total.iops}
                for n in numbers
                for row in repeats[n].rows
                if len(repeats[n].rows) > 1 and row.total.iops is not None
            ]
            values = [_marked(place, rate, rates, each) for place, rate in known]
            layers = [*_panel(values, rates, sides, palette), *([_failed(palette)] if failed else [])]
            layers += [_strokes(sides, palette)] if each else []
            if sides:
                layers = [layer.encode(yOffset=beside(sides)) for layer in layers]
            data: dict[str, Any] = {"points": values, "failed": failed, "each": each}
            rows = [place["name"] for place in (*(place for place, _ in known), *failed)]
            height = sides_height(rows, sides) if sides else rows_height(rows)
            panels.append(Panel(f"IOPS, {access}" if access else "IOPS", layers, data, height))
    return panels


def _marked(place: dict[str, str], rate: float, rates: list[float], each: list[dict[str, Any]]) -> dict[str, Any]:
    """A bar; its number stands `beside` the strokes of its repetitions."""
    strokes = [one["iops"] for one in each if {**one, "iops": None} == {**place, "iops": None}]
    inside = far(rate, rates)
    beside_it = min((rate, *strokes)) if inside else max((rate, *strokes))
    return {**place, "iops": rate, "said": count(rate), "far": inside, "beside": beside_it}


def _panel(values: list[dict[str, Any]], rates: list[float], sides: list[str], palette: Palette) -> list[alt.Chart]:
    axis, above = scale(rates), axis_side(len(values))
    base = chart_of("points").encode(
        y=named(grid=axis["type"] == "log"),
        x=alt.X("iops:Q", title="I/Os a second", scale=alt.Scale(**axis), axis=alt.Axis(**ticks(rates), **above)),
        tooltip=[
            alt.Tooltip("name:N"),
            *([alt.Tooltip("side:N")] if sides else []),
            alt.Tooltip("said:N", title="IOPS"),
        ],
    )
    if axis["type"] == "log":
        marks = base.mark_point(filled=True, size=70, opacity=1, color=palette.read)
        ink: Any = palette.ink
    else:
        marks = base.mark_bar(color=palette.read, height=alt.Undefined if sides else {"band": 0.6})
        ink = alt.ExprRef(f"datum.far ? '{palette.paper}' : '{palette.ink}'")
    if sides:
        marks = marks.encode(color=looks(alt.Color, "side", sides, palette.series))
        if axis["type"] == "log":
            marks = marks.encode(shape=looks(alt.Shape, "side", sides, SHAPES))
    text = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? -7 : 7"), color=ink).encode(
        x=alt.X("beside:Q"), text=alt.Text("said:N")
    )
    return [marks, text]


def _strokes(sides: list[str], palette: Palette) -> alt.Chart:
    """A stroke at each repetition."""
    at = chart_of("each").encode(y=alt.Y("name:N", sort=None), x=alt.X("iops:Q"))
    # A part of a side's band would not stand in its middle, but reach into the next bar.
    height = {"band": 1.0 if sides else 0.6}
    strokes: alt.Chart = at.mark_tick(color=palette.ink, thickness=1.5, height=height, opacity=0.8)
    return strokes


def _failed(palette: Palette) -> alt.Chart:
    """Where a bar would be, the words."""
    at = chart_of("failed").encode(y=alt.Y("name:N", sort=None))
    said: alt.Chart = at.mark_text(x=0, align="left", dx=7, color=palette.alarm).encode(text=alt.Text("fate:N"))
    return said
