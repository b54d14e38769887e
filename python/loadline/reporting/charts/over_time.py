"""One point over time: rates, latencies, CPU and device, the warm-up marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from loadline.reporting.charts.frame import scale, ticks
from loadline.reporting.charts.panel import Panel, chart_of
from loadline.reporting.charts.theme import Palette
from loadline.reporting.detail import Detail


def draw(detail: Detail, palette: Palette) -> list[Panel]:
    """Panels for IOPS, mean latency, and how busy host and device were, as far as they are known."""
    both = [("reads", "read", palette.read), ("writes", "write", palette.write)]
    rates = [_line(detail.io, f"{key}_iops", name, colour) for name, key, colour in both]
    means = [_line(detail.io, f"{key}_ms", name, colour) for name, key, colour in both]
    shares = [
        _line(detail.host, "cpu", "host CPU", palette.series3),
        _line(detail.device, "busy", "device busy", palette.series4),
    ]
    asked = (
        ("IOPS over time", "I/Os a second", rates, "~s"),
        ("Mean latency over time", "ms", means, "~r"),
        ("Host CPU and device over time", "share of time", shares, ".0%"),
    )
    panels = []
    for title, unit, lines, form in asked:
        drawn = [line for line in lines if any(dot["value"] for dot in line[0])]
        if drawn:
            shifted = f"host put back by {detail.lag_s:g} s: its clock lags" if detail.lag_s and lines is shares else ""
            panel = _panel(drawn, unit, form, detail.warmup_s, palette)
            panels.append(Panel(title, panel, _data(drawn, detail.warmup_s), 150, shifted))
    return panels


_Line = tuple[list[dict[str, Any]], str, str]


def _line(dots: Sequence[Mapping[str, Any]], key: str, name: str, colour: str) -> _Line:
    values = [{"s": dot["s"], "value": dot[key], "of": name} for dot in dots if dot.get(key) is not None]
    if values:
        # A step is drawn from the dot before, so the first one needs where its interval began.
        values.insert(0, {**values[0], "s": dots[0]["from_s"]})
    return values, name, colour


def _data(lines: Sequence[_Line], warmup_s: float) -> dict[str, list[dict[str, Any]]]:
    warmup = [{"from": -warmup_s, "to": 0, "said": "warm-up"}] if warmup_s > 0 else []
    return {"dots": [dot for line, *_ in lines for dot in line], "warmup": warmup}


def _panel(lines: Sequence[_Line], unit: str, form: str, warmup_s: float, palette: Palette) -> list[alt.Chart]:
    values = [dot for line, *_ in lines for dot in line]
    names, colours = [name for _, name, _ in lines], [colour for *_, colour in lines]
    # Host and device are sampled by a clock of their own, from a moment before the first I/O on.
    span = [-warmup_s, max(dot["s"] for dot in values)]
    share = form.endswith("%")
    known = [dot["value"] for dot in values]
    y_scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(**scale(known))
    base = chart_of("dots").encode(
        x=alt.X(
            "s:Q", title="seconds", axis=alt.Axis(grid=False, tickCount=6), scale=alt.Scale(domain=span, nice=False)
        ),
        y=alt.Y(
            "value:Q",
            title=unit,
            scale=y_scale,
            axis=alt.Axis(**ticks([] if share else known, 4, form)),
        ),
        color=alt.Color("of:N", title=None, scale=alt.Scale(domain=names, range=colours)),
        strokeDash=alt.StrokeDash(
            "of:N", title=None, scale=alt.Scale(domain=names, range=[[1, 0], [5, 3]][: len(names)])
        ),
        tooltip=[
            alt.Tooltip("of:N", title=" "),
            alt.Tooltip("s:Q", title="s", format=".1f"),
            alt.Tooltip("value:Q", title=unit, format=".0%" if share else ",.3~f"),
        ],
    )
    layers: list[alt.Chart] = [base.mark_line(interpolate="step-before", strokeWidth=1.6, clip=True)]
    if warmup_s > 0:
        warm = chart_of("warmup")
        band = warm.encode(x=alt.X("from:Q"), x2=alt.X2("to:Q")).mark_rect(color=palette.warm, opacity=1)
        name = warm.mark_text(y=0, align="left", dx=4, baseline="top", dy=4, color=palette.quiet)
        layers = [band, name.encode(x=alt.X("from:Q"), text=alt.Text("said:N")), *layers]
    return layers
