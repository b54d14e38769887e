"""A figure over what was swept: a line for whatever else differs. Which rows make a line is the charts' business."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loadline.reporting.charts.frame import parted, scale, ticks
from loadline.reporting.charts.panel import Panel, chart_of, told_apart
from loadline.reporting.charts.theme import Palette
from loadline.reporting.table import lacking
from loadline.result.schema import Flow, Result

#: Two make no sweep.
SWEEP = 3

# Of what failed, so many are named.
_FEW = 6

# Values that have a line of the grid, and a label where there is room.
_LINES = 16


@dataclass(frozen=True, slots=True)
class Figure:
    """What is drawn of a row, its unit, and how ticks write it."""

    title: str
    unit: str
    form: str
    of: Callable[[Flow], float | None]


IOPS = Figure("IOPS", "I/Os a second", "~s", lambda flow: flow.iops)
MEGABYTES = Figure("MB/s", "MB/s", ",~r", lambda flow: flow.bytes_per_s and flow.bytes_per_s / 1e6)


@dataclass(frozen=True, slots=True)
class Axis:
    """What was swept; `said` has its values in words, and `log` is the base of a logarithmic scale."""

    title: str
    said: Mapping[float, str]
    log: int | None = None


def panels_of(
    of: str,
    lines: Mapping[str, Mapping[float, Result]],
    axis: Axis,
    figures: Sequence[Figure],
    palette: Palette,
    note: str = "",
) -> list[Panel]:
    """Panels of lines by name, each with its rows by what was swept, that have answers at three values or more."""
    known = {
        name: {at: row for at, row in sorted(rows.items()) if all(figure.of(row.total) for figure in figures)}
        for name, rows in lines.items()
    }
    kept = [name for name, rows in known.items() if len(rows) >= SWEEP]
    panels = []
    # Parts of many lines have one axis: they are to be compared.
    every = {
        figure.title: [figure.of(row.total) for name in kept for row in known[name].values()] for figure in figures
    }
    for part, shown in parted(kept):
        failed = lacking([row for number in shown for row in lines[kept[number]].values()], _FEW)
        for figure in figures:
            values = [
                {"line": name, "at": at, "said": axis.said[at], "figure": figure.of(row.total)}
                for number, name in shown.items()
                for at, row in known[kept[number]].items()
            ]
            title, said = f"{figure.title} over {of}{part}", "; ".join(filter(None, (note, failed)))
            panels.append(
                Panel(
                    title,
                    _layers(values, axis, figure, every[figure.title], palette),
                    {"points": values},
                    280,
                    said,
                    of,
                )
            )
    return panels


def load_said(row: Result) -> str:
    """The load of a row in words."""
    if row.limit:
        return f"at the load line, {row.limit}"
    if row.offered_per_s is not None:
        return f"{row.offered_per_s:g}/s"
    return f"{row.outstanding_asked} outstanding" + (f" of {row.jobs} jobs" if (row.jobs or 1) > 1 else "")


def _layers(
    values: list[dict[str, Any]], axis: Axis, figure: Figure, every: list[float | None], palette: Palette
) -> list[alt.Chart]:
    at = sorted({value["at"] for value in values})
    said = f"{json.dumps([axis.said[one] for one in at])}[indexof({json.dumps(at)}, datum.value)]"
    some = at[:: -(-len(at) // _LINES)]
    across: dict[str, Any] = {"type": "log", "base": axis.log} if axis.log else {"type": "linear", "zero": False}
    up = {"domain": [0, max(filter(None, every))], **scale(every)}
    base = chart_of("points").encode(
        x=alt.X(
            "at:Q",
            title=axis.title,
            scale=alt.Scale(**across, nice=False, padding=12),
            axis=alt.Axis(values=some, labelExpr=said, labelOverlap="greedy" if axis.log else "parity"),
        ),
        y=alt.Y(
            "figure:Q",
            title=figure.unit,
            scale=alt.Scale(**up),
            axis=alt.Axis(**ticks(every, 5, figure.form)),
        ),
        tooltip=[
            alt.Tooltip("line:N", title=" "),
            alt.Tooltip("said:N", title=axis.title),
            alt.Tooltip("figure:Q", title=figure.unit, format=",.0f"),
        ],
    )
    named = [value["line"] for value in values]
    base = (
        told_apart(base, "line", named, palette)
        if len(set(named)) > 1
        else base.encode(color=alt.ColorValue(palette.read))
    )
    return [base.mark_line().encode(shape=alt.Undefined), base.mark_point(filled=True, size=55, opacity=1)]
