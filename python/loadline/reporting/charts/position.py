"""The rate over the position on a target, where places were swept: MB/s of what is in sequence, IOPS of the rest."""

from __future__ import annotations

from itertools import compress

from loadline.reporting.apart import source
from loadline.reporting.charts.asked import START, asked, follows, streams
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.swept import IOPS, MEGABYTES, Axis, load_said, panels_of
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.result.schema import Result
from loadline.units import format_percent, format_size


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a load: a line for whatever else is asked that has answers at three places or more."""
    points = contents.means
    rows = [(row, place, origin) for row, origin in zip(points, source(points), strict=True) for place in _places(row)]
    besides = {(row.profile, *(*asked(row)[:START], *asked(row)[START + 1 :])) for row, *_ in rows}
    differs = [len(set(words)) > 1 for words in zip(*besides, strict=True)]
    found: dict[tuple[str, str, bool], dict[str, dict[float, Result]]] = {}
    for row, (unit, at), origin in rows:
        words = compress((row.profile, *asked(row)[:START], *asked(row)[START + 1 :]), differs)
        name = ", ".join(filter(None, (*words, origin)))
        found.setdefault((load_said(row), unit, follows(row)), {}).setdefault(name, {})[at] = row
    panels = []
    for (load, unit, in_order), lines in found.items():
        said = {
            at: format_size(at) if unit == "bytes" else format_percent(at) for rows in lines.values() for at in rows
        }
        figure = MEGABYTES if in_order else IOPS
        panels += panels_of("position", lines, Axis("position on the target", said), (figure,), palette, load)
    return panels


def _places(row: Result) -> list[tuple[str, float]]:
    """Where a row's one stream begins: `bytes` or `fraction` of the target, and how many; at 0 both.

    No row knows how large its target is, so shares and sizes have panels of their own.
    """
    profile = several[0].get("profile") if len(several := streams(row)) == 1 else None
    for unit in ("bytes", "fraction"):
        if (at := (profile or {}).get(f"start_{unit}")) is not None:
            return [(unit, float(at))] if at else [("fraction", 0.0), ("bytes", 0.0)]
    return []
