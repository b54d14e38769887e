"""How many times the baseline's figure each other side has, with intervals and verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from loadline.judging.cell import Cell
from loadline.judging.compare import Comparison
from loadline.reporting.charts.frame import SEPARATOR
from loadline.reporting.charts.panel import SIDE, Panel, chart_of, named, rows_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.compare_table import head
from loadline.reporting.compared import Compared
from loadline.reporting.effect_words import more

# More rows in one panel nobody reads.
_MOST_ROWS = 60

# Around the lowest and the highest; and what the scale reaches to at least.
_MARGIN = 0.06
_LEAST = 1.03

# Changes at which lines may stand: the closer to none, the finer. Beyond, 2, 5 and 10 times each power of ten.
_CHANGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

# Of the scale's width: what is closer to each other has no room for its label.
_APART = 0.12

_SHAPES = {
    "better": "triangle-up",
    "worse": "triangle-down",
    "higher": "triangle-up",
    "lower": "triangle-down",
    "same": "circle",
    "can't tell": "cross",
}


def draw(compared: Compared, palette: Palette) -> list[Panel]:
    """A panel a figure: a mark a point and side, a line for what nothing tells from 1."""
    comparison = compared.comparison
    several = len(comparison.sides) > 2
    sides = _values_alone(comparison) if several else {}
    panels = []
    for figure in dict.fromkeys(cell.figure for cell in comparison.cells):
        cells = [cell for cell in comparison.cells if cell.figure == figure and cell.ratio]
        if not cells or len(cells) > _MOST_ROWS:
            continue
        values = [_value(cell, sides.get(cell.side, "")) for cell in cells]
        known = [value[key] for value in values for key in ("ratio", "low", "high") if value[key] is not None]
        low, high = _ends(known)
        values = [{**value, "far": value["ratio"] ** 2 > low * high} for value in values]
        name = head(figure)[0].partition(",")[0]
        whose = "others" if several else comparison.sides[1].name
        turned = "less is better" if "latency" in figure else "more is better"
        note = f"{whose} over {comparison.baseline}, 95 % interval{f'; {turned}' if comparison.ranked else ''}"
        room = [{"from": 1 / (1 + comparison.resolution), "to": 1 + comparison.resolution}]
        data = {"cells": values, "room": room}
        height = rows_height([value["name"] for value in values], least=24)
        title = f"Change of {name}"
        panels.append(Panel(title, _panel(values, known, palette), data, height, note))
    return panels


def _values_alone(comparison: Comparison) -> dict[str, str]:
    """Sides by the values that tell them apart, since whole names lose their middle; by their names if these don't."""
    labels = {side.name: side.labels for side in comparison.sides}
    varying = [name for name in comparison.by if len({one.get(name) for one in labels.values()}) > 1]
    told = {side: ", ".join(one.get(name, "") for name in varying) for side, one in labels.items()}
    return told if len(set(told.values())) == len(told) else {side: side for side in labels}


def _value(cell: Cell, side: str) -> dict[str, Any]:
    assert cell.ratio is not None, "cells without a ratio aren't drawn"
    said = more(cell.ratio) + ("!" if cell.doubts else "")
    name = f"{cell.point}{SEPARATOR}{side}" if side else cell.point
    return {
        "name": name,
        "ratio": cell.ratio,
        "low": cell.low,
        "high": cell.high,
        "said": said,
        "verdict": cell.verdict,
        "why": cell.why,
    }


def ratio_scale(known: Sequence[float]) -> dict[str, Any]:
    """A logarithmic scale: twice and half are as far from 1; 1 is always on it."""
    low, high = _ends(known)
    return {"type": "log", "domain": [low, high], "nice": False}


def ratio_axis(known: Sequence[float]) -> dict[str, Any]:
    """Lines on both sides of 1, as fine as fits, called by the change: `+20%`, `−50%`, `5 x`."""
    low, high = _ends(known)
    powers = range(math.ceil(math.log10(max(high, 1 / low))) + 1)
    times = [n * 10.0**power for power in powers for n in (2, 5, 10)]
    changes = [sign * change for change in _CHANGES for sign in (1, -1)]
    lines = [*(1 + change for change in changes), *times, *(1 / n for n in times[1:])]
    kept = [1.0]
    # From the outermost inwards: the far ends tell most.
    for line in sorted((line for line in lines if low <= line <= high), key=lambda line: -abs(math.log(line))):
        if all(abs(math.log(line / other)) > _APART * math.log(high / low) for other in kept):
            kept.append(line)
    change = "datum.value == 1 ? '±0%' : format(datum.value - 1, '+.3~p')"
    label = f"datum.value >= 2 ? format(datum.value, ',~r') + ' x' : {change}"
    return {"values": sorted(kept), "labelExpr": label, "labelFlush": False, "labelOverlap": "greedy"}


def _ends(known: Sequence[float]) -> tuple[float, float]:
    low, high = min(1.0, *known), max(1.0, *known)
    if high / low < _LEAST:
        return 1 / _LEAST, _LEAST
    margin = (high / low) ** _MARGIN
    return low / margin, high * margin


def _panel(values: list[dict[str, Any]], known: list[float], palette: Palette) -> list[alt.Chart]:
    present = [verdict for verdict in _SHAPES if any(value["verdict"] == verdict for value in values)]
    colours = {"better": palette.series3, "worse": palette.series2, "higher": palette.series1, "lower": palette.series1}
    scale = alt.Scale(**ratio_scale(known))
    axis = alt.Axis(**ratio_axis(known))
    looks = {
        "color": alt.Color(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=present, range=[colours.get(verdict, palette.quiet) for verdict in present]),
            legend=alt.Legend(columns=2),
        ),
        "shape": alt.Shape(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=present, range=[_SHAPES[verdict] for verdict in present]),
            legend=alt.Legend(columns=2),
        ),
    }
    band = chart_of("room").encode(x=alt.X("from:Q", scale=scale), x2=alt.X2("to:Q"))
    base = chart_of("cells").encode(
        y=named(grid=False),
        x=alt.X("ratio:Q", title="change", scale=scale, axis=axis),
        tooltip=[
            alt.Tooltip("name:N"),
            alt.Tooltip("said:N", title="change"),
            alt.Tooltip("low:Q", format=".3~f"),
            alt.Tooltip("high:Q", format=".3~f"),
            alt.Tooltip("verdict:N"),
            alt.Tooltip("why:N"),
        ],
    )
    spread = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), color=looks["color"]
    )
    dot = base.mark_point(filled=True, size=75, opacity=1).encode(**looks)
    above = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? 6 : -6"), dy=-10, color=palette.ink)
    return [
        band.mark_rect(color=palette.warm, opacity=1, clip=True),
        spread,
        dot,
        above.encode(text=alt.Text("said:N")),
    ]
