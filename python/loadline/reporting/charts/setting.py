"""The load line over a setting that was swept in numbers, such as how many drives; else the IOPS of what was asked."""

from __future__ import annotations

from dataclasses import replace

from loadline.reporting.apart import source, swept_keys
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.swept import IOPS, SWEEP, Axis, load_said, panels_of
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.result.schema import Result
from loadline.units import parse_alike

# From there on a linear axis hides the steps of its lower end.
_WIDE = 30.0


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a point: a line for whatever else differs. Of several settings that with the most numbers is the axis."""
    swept = {
        key: numbers for key in swept_keys(contents.means) if len(numbers := _numbers(contents.means, key)) >= SWEEP
    }
    if not swept:
        return []
    key = max(swept, key=lambda key: len(swept[key]))
    said = {number: text for text, number in swept[key].items()}
    low, high = min(said), max(said)
    axis = Axis(key, said, log=10 if high > _WIDE * low > 0 else None)
    points = [row for row in contents.means if key in row.tags]
    found: dict[str, dict[bool, list[tuple[str, float, Result]]]] = {}
    for row, name in zip(points, _beside(points, key), strict=True):
        found.setdefault(row.point, {}).setdefault(bool(row.limit), []).append((name, swept[key][row.tags[key]], row))
    panels = []
    for point, rows in found.items():
        lines: dict[str, dict[float, Result]] = {}
        for name, at, row in rows.get(True) or rows[False]:
            lines.setdefault(name, {})[at] = row
        figure = replace(IOPS, title="Load line") if True in rows else IOPS
        loads = dict.fromkeys(load_said(row) for several in lines.values() for row in several.values())
        panels += panels_of(f"{key}: {point}", lines, axis, (figure,), palette, ", ".join(loads))
    return panels


def _numbers(points: list[Result], key: str) -> dict[str, float]:
    """The values of a setting as numbers; none of one that has words."""
    texts = list(dict.fromkeys(row.tags[key] for row in points if key in row.tags))
    return dict(zip(texts, parse_alike(texts) or (), strict=False))


def _beside(points: list[Result], key: str) -> list[str]:
    """What tells rows apart besides the setting; runs only where two have the same value of it."""
    rest = [replace(row, tags={name: text for name, text in row.tags.items() if name != key}) for row in points]
    told = source([replace(row, run="") for row in rest])
    same = {(row.point, row.limit, row.tags[key], name) for row, name in zip(points, told, strict=True)}
    return told if len(same) == len(points) else source(rest)
