"""IOPS and MB/s over block size, where sizes were swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from loadline.reporting.apart import source
from loadline.reporting.charts.frame import scale, ticks
from loadline.reporting.charts.panel import Panel, chart_of, told_apart
from loadline.reporting.charts.theme import Palette
from loadline.reporting.compared import MOST_SIDES
from loadline.reporting.contents import Contents
from loadline.result.schema import Result
from loadline.units import format_bytes

# Two sizes make no sweep.
_SWEEP = 3

_FIGURES = (("iops", "IOPS over block size", "I/Os a second", "~s"), ("mb", "MB/s over block size", "MB/s", ",~r"))


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """Two panels a load: a line a pattern of access that has answers at three sizes or more, at most six of them."""
    lines: dict[tuple[str, str, str], dict[int, Result]] = {}
    points = contents.means
    for result, origin in zip(points, source(points), strict=True):
        asked = _asked(result)
        if asked is not None and result.total.iops and result.total.bytes_per_s:
            size, pattern, load = asked
            lines.setdefault((pattern, origin, load), {})[size] = result
    panels = []
    swept = {key: rows for key, rows in lines.items() if len(rows) >= _SWEEP}
    patterns, origins = ({key[n] for key in swept} for n in (0, 1))
    for load in dict.fromkeys(load for *_, load in swept):
        several = [key for key in swept if key[2] == load]
        note = ", ".join([*(patterns if len(patterns) == 1 else ()), load])
        for first in range(0, len(several), MOST_SIDES):
            shown = several[first : first + MOST_SIDES]
            part = f", {first + 1} to {first + len(shown)}" if len(several) > MOST_SIDES else ""
            values = [
                {
                    "line": ", ".join([pattern] * (len(patterns) > 1) + [origin] * (len(origins) > 1)),
                    "bytes": size,
                    "size": format_bytes(size),
                    "iops": row.total.iops,
                    "mb": (row.total.bytes_per_s or 0.0) / 1e6,
                }
                for pattern, origin, _ in shown
                for size, row in sorted(swept[pattern, origin, load].items())
            ]
            for field, title, unit, form in _FIGURES:
                layers = _panel(values, field, unit, form, palette)
                panels.append(Panel(f"{title}{part}", layers, {"points": values}, 280, note))
    return panels


def _asked(result: Result) -> tuple[int, str, str] | None:
    """Size in bytes, pattern and load of a row that asks for blocks of one size."""
    workload = result.workload
    if not isinstance(workload, Mapping) or not isinstance(workload.get("profile"), Mapping):
        return None
    profile: Mapping[str, Any] = workload["profile"]
    blocks: Sequence[Mapping[str, Any]] = profile.get("block") or ()
    if len(blocks) != 1:
        return None
    read, random = float(profile.get("read_fraction", 1)), float(profile.get("random_fraction", 1))
    way = {0.0: "sequential", 1.0: "random"}.get(random, f"{100 * random:.0f} % random")
    what = {0.0: "write", 1.0: "read"}.get(read, f"{100 * read:.0f} % read")
    load = f"{result.outstanding_asked} outstanding" if result.offered_per_s is None else f"{result.offered_per_s:g}/s"
    return int(blocks[0]["size_bytes"]), f"{way} {what}", load


def _panel(values: list[dict[str, Any]], field: str, unit: str, form: str, palette: Palette) -> list[alt.Chart]:
    known = [value[field] for value in values]
    sizes = sorted({value["bytes"] for value in values})
    labels = {size: format_bytes(size) for size in sizes}
    expression = " : ".join(f"datum.value == {size} ? '{label}'" for size, label in labels.items()) + " : ''"
    base = chart_of("points").encode(
        x=alt.X(
            "bytes:Q",
            title="block size",
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=sizes, labelExpr=expression, labelOverlap="greedy"),
        ),
        y=alt.Y(f"{field}:Q", title=unit, scale=alt.Scale(**scale(known)), axis=alt.Axis(**ticks(known, 5, form))),
        tooltip=[
            alt.Tooltip("line:N", title=" "),
            alt.Tooltip("size:N"),
            alt.Tooltip(f"{field}:Q", title=unit, format=",.0f"),
        ],
    )
    named = [value["line"] for value in values]
    base = (
        told_apart(base, "line", named, palette)
        if len(set(named)) > 1
        else base.encode(color=alt.ColorValue(palette.read))
    )
    return [base.mark_line().encode(shape=alt.Undefined), base.mark_point(filled=True, size=55, opacity=1)]
