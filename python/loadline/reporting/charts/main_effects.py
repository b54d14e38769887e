"""What each setting of a test matrix does to a figure: its levels over the lowest one, all else equal."""

from __future__ import annotations

from typing import Any

import altair as alt

from loadline.judging.effects import Effect
from loadline.reporting.charts.frame import SEPARATOR
from loadline.reporting.charts.panel import SIDE, Panel, chart_of, named, rows_height
from loadline.reporting.charts.ratios import ratio_axis, ratio_scale
from loadline.reporting.charts.theme import Palette
from loadline.reporting.compared import Compared
from loadline.reporting.effect_words import figure_name, more


def draw(compared: Compared, palette: Palette) -> list[Panel]:
    """A panel a figure, over all workloads and in each class; factors in the order of what they matter."""
    panels = []
    for figure, several in compared.effects.items():
        for effects in several:
            values = [value for effect in effects.effects for value in _levels(effect)]
            if values:
                known = [value[key] for value in values for key in ("ratio", "low", "high")]
                highest = max(value["ratio"] for value in values)
                values = [{**value, "far": value["ratio"] ** 2 > highest} for value in values]
                name = figure_name(figure)
                where = f", {effects.access}" if effects.access else ""
                title = f"Main effects on {name}{where}"
                note = f"times the {name} of each factor's lowest level, geometric mean over workloads, 95 % interval"
                height = rows_height([value["name"] for value in values], least=26)
                panels.append(Panel(title, _panel(values, known, palette), {"levels": values}, height, note))
    return panels


def _levels(effect: Effect) -> list[dict[str, Any]]:
    """A row a level, its ratio to the lowest."""
    if not effect.levels:
        return []
    lowest = min(effect.levels, key=lambda level: effect.levels[level].value)
    over_lowest = {one.level: one.ratio for one in effect.contrasts if one.over == lowest}
    rows = []
    for level in sorted(effect.levels, key=lambda level: effect.levels[level].value):
        ratio = over_lowest.get(level)
        value = 1.0 if ratio is None else ratio.value
        low, high = (value, value) if ratio is None else (ratio.low or value, ratio.high or value)
        said = more(value)
        name = f"{level}{SEPARATOR}{effect.factor}"
        rows.append({"name": name, "factor": effect.factor, "ratio": value, "low": low, "high": high, "said": said})
    return rows


def _panel(values: list[dict[str, Any]], known: list[float], palette: Palette) -> list[alt.Chart]:
    base = chart_of("levels").encode(
        y=named(grid=True),
        x=alt.X(
            "ratio:Q",
            title="over the lowest level",
            scale=alt.Scale(**ratio_scale(known)),
            axis=alt.Axis(**ratio_axis(known)),
        ),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("said:N", title="over the lowest")],
    )
    joined = base.mark_line(color=palette.read, opacity=0.35, strokeWidth=2).encode(
        detail=alt.Detail("factor:N"), order=alt.Order("ratio:Q")
    )
    spread = base.mark_rule(color=palette.read, strokeWidth=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    dot = base.mark_point(filled=True, size=70, opacity=1, color=palette.read)
    above = base.mark_text(align=SIDE, dx=alt.ExprRef("datum.far ? 6 : -6"), dy=-11, color=palette.ink)
    return [joined, spread, dot, above.encode(text=alt.Text("said:N"))]
