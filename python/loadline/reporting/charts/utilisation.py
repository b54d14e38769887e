"""CPU of the load-making hosts and the device's busy time, beside each other, for every point."""

from __future__ import annotations

import altair as alt

from loadline.reporting.charts.frame import axis_side, names, together
from loadline.reporting.charts.panel import Panel, chart_of, named, rows_height
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """One panel, or none if neither was sampled."""
    points = together(contents.means)
    kinds = (("host CPU", "cpu_fraction"), ("device busy", "busy_fraction"))
    values = [
        {"name": name, "of": kind, "share": getattr(point, column)}
        for name, point in zip(names(points), points, strict=True)
        for kind, column in kinds
        if getattr(point, column) is not None
    ]
    if not values:
        return []
    known = [kind for kind, _ in kinds if any(value["of"] == kind for value in values)]
    look = {"host CPU": (palette.series3, "square", "■"), "device busy": (palette.series4, "circle", "●")}
    chart = (
        chart_of("points")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            y=named(grid=True),
            x=alt.X(
                "share:Q",
                title="share of time",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=5, **axis_side(len(values) // len(known))),
            ),
            color=alt.Color("of:N", legend=None, scale=alt.Scale(domain=known, range=[look[of][0] for of in known])),
            shape=alt.Shape("of:N", legend=None, scale=alt.Scale(domain=known, range=[look[of][1] for of in known])),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("of:N", title=" "), alt.Tooltip("share:Q", format=".1%")],
        )
    )
    key = ", ".join(f"{look[of][2]} {of}" for of in known)
    busy = "busy while any I/O is outstanding, which on arrays and SSDs is no utilisation"
    note = f"{key} ({busy})" if "device busy" in known else key
    return [
        Panel(
            "Host CPU and device",
            [chart],
            {"points": values},
            rows_height([str(value["name"]) for value in values]),
            note,
        )
    ]
