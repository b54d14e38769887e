"""The sides of a comparison beside each other: a bar a point and side, with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from loadline.judging.compare import Comparison
from loadline.judging.matching import Match
from loadline.reporting.charts.frame import far, scale, ticks
from loadline.reporting.charts.panel import SIDE, Panel, beside, chart_of, looks, named, sides_height
from loadline.reporting.charts.theme import SHAPES, Palette
from loadline.reporting.compare_table import head, value_of
from loadline.reporting.compared import MOST_SIDES, Compared
from loadline.workload.profile import CLASSES

# More bars in one panel nobody reads.
_MOST_BARS = 90

# What is drawn of it; percentiles are in the ratios.
_FIGURES = (
    "load",
    "saturation_iops",
    "iops",
    "bytes_per_s",
    "latency_mean_ns",
    "read_latency_mean_ns",
    "write_latency_mean_ns",
)


def draw(compared: Compared, palette: Palette) -> list[Panel]:
    """A panel a figure and class; of few sides and points only."""
    comparison = compared.comparison
    sides = [side.name for side in comparison.sides]
    if len(sides) > MOST_SIDES:
        return []
    panels = []
    for figure in _FIGURES:
        points = {cell.point for cell in comparison.cells if cell.figure == figure and cell.ratio}
        matches = [match for match in comparison.matches if match.point in points]
        for access in _classes(matches):
            of_class = [match for match in matches if (match.first.access_class or "") == access]
            if len(of_class) > _MOST_BARS:
                continue
            values = _values(of_class, figure, comparison)
            if values and len(values) <= _MOST_BARS:
                words = head(figure)[0].partition(",")[0]
                title = f"{words[0].upper()}{words[1:]}{f', {access}' if access else ''}"
                panels.append(_panel(title, values, figure, sides, palette))
    return panels


def _classes(matches: Sequence[Match]) -> list[str]:
    met = dict.fromkeys(match.first.access_class or "" for match in matches)
    return sorted(met, key=lambda access: CLASSES.index(access) if access in CLASSES else len(CLASSES))


def _values(matches: Sequence[Match], figure: str, comparison: Comparison) -> list[dict[str, Any]]:
    _, unit = head(figure)
    found: list[dict[str, Any]] = []
    for match in matches:
        for side in (side.name for side in comparison.sides):
            one = comparison.estimates.get((match.point, figure, side))
            if one is not None and one.value:
                # Of a figure that nobody knows how sure it is there is no interval to be drawn.
                low, high = one.low or one.value, one.high or one.value
                known = {"value": one.value / unit, "low": low / unit, "high": high / unit}
                found.append({"name": match.point, "side": side, **known, "said": value_of(one.value, unit)})
    shown = [value["value"] for value in found]
    marked = [{**value, "far": far(value["value"], shown)} for value in found]
    return [{**value, "beside": value["low" if value["far"] else "high"]} for value in marked]


def _panel(title: str, values: list[dict[str, Any]], figure: str, sides: Sequence[str], palette: Palette) -> Panel:
    known = [value[key] for value in values for key in ("value", "low", "high")]
    axis = scale(known)
    present = [side for side in sides if any(value["side"] == side for value in values)]
    words, _ = head(figure)
    unit = words.partition(", ")[2] or ("I/Os a second" if "iops" in figure else words)
    form = "~s" if "iops" in figure else "~r"
    colour = looks(alt.Color, "side", present, palette.series)
    base = chart_of("cells").encode(
        y=named(grid=axis["type"] == "log"),
        yOffset=beside(present),
        x=alt.X("value:Q", title=unit, scale=alt.Scale(**axis), axis=alt.Axis(**ticks(known, form=form))),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("side:N"), alt.Tooltip("said:N", title=words)],
    )
    if axis["type"] == "log":
        shape = looks(alt.Shape, "side", present, SHAPES)
        marks = base.mark_point(filled=True, size=60, opacity=1).encode(color=colour, shape=shape)
        ink: Any = palette.ink
    else:
        marks = base.mark_bar().encode(color=colour)
        ink = alt.ExprRef(f"datum.far ? '{palette.paper}' : '{palette.ink}'")
    spread = base.mark_rule(strokeWidth=1.5, color=palette.ink).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    text = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? -6 : 6"), color=ink)
    height = sides_height([value["name"] for value in values], present)
    note = "with 95 % intervals, where these are known"
    layers = [marks, spread, text.encode(x=alt.X("beside:Q"), text=alt.Text("said:N"))]
    return Panel(title, layers, {"cells": values}, height, note)
