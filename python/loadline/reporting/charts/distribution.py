"""The distribution of a point's latencies as a curve of percentiles, the tail stretched."""

from __future__ import annotations

import altair as alt

from loadline.reporting.charts.frame import scale, ticks
from loadline.reporting.charts.panel import Panel, chart_of
from loadline.reporting.charts.theme import Palette
from loadline.reporting.detail import Detail

# Pixels between the axis and the first dots, whose half is three.
_MARGIN = 8

_TICKS = (50, 90, 99, 99.9, 99.99, 99.999)


def draw(detail: Detail, palette: Palette) -> list[Panel]:
    """One panel: latency over percentile, as far as ten I/Os lie beyond it; none if no percentile is known."""
    values = [
        # Each tenth of what is left takes as much room as the one before.
        {**dot, "beyond": 100 / (100 - dot["percent"])}
        for dot in detail.percentiles
    ]
    if not values:
        return []
    domain = [name for name in ("reads", "writes") if any(value["direction"] == name for value in values)]
    colours = [palette.read if name == "reads" else palette.write for name in domain]
    known = [value["ms"] for value in values]
    marked = {100 / (100 - percent): f"{percent:g} %" for percent in _TICKS}
    label = (
        " : ".join(f"abs(datum.value - {at:.6f}) < {at * 1e-4:.6f} ? '{said}'" for at, said in marked.items()) + " : ''"
    )
    base = chart_of("points").encode(
        x=alt.X(
            "beyond:Q",
            title="percentile of the I/Os",
            # The first dots would lie on the labels of the other axis.
            scale=alt.Scale(type="log", nice=False, padding=_MARGIN),
            axis=alt.Axis(values=list(marked), labelExpr=label),
        ),
        y=alt.Y("ms:Q", title="ms", scale=alt.Scale(**scale(known)), axis=alt.Axis(**ticks(known, 5, "~r"))),
        color=alt.Color("direction:N", title=None, scale=alt.Scale(domain=domain, range=colours)),
        shape=alt.Shape(
            "direction:N", title=None, scale=alt.Scale(domain=domain, range=["circle", "square"][: len(domain)])
        ),
        tooltip=[
            alt.Tooltip("direction:N", title=" "),
            alt.Tooltip("percent:Q", title="percentile"),
            alt.Tooltip("ms:Q", title="ms", format=",.3~f"),
        ],
    )
    line = base.mark_line().encode(shape=alt.Undefined)
    return [
        Panel(
            "Latency by percentile", [line, base.mark_point(filled=True, size=30, opacity=1)], {"points": values}, 240
        )
    ]
