"""A chart as a picture, PNG or SVG: no browser, no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from textwrap import wrap
from typing import Any

from loadline.errors import InputError
from loadline.reporting.compared import Compared
from loadline.reporting.contents import Contents
from loadline.reporting.full import needs
from loadline.reporting.junit import xml_text
from loadline.reporting.table import listed
from loadline.workload.suite import nearest

_WIDTH = 600

# Letters of a note that fit in a line of that width.
_LETTERS = 95

_PIXELS = 2

# Pixels of a picture's height, before they are doubled: few programs show more, and nobody scrolls so far.
_HIGHEST = 8000

# Of them what a panel's title, note, axes and legend take, about.
_AROUND = 200

# Panels from which on they stand in two columns, and in three: below each other they'd be many screens high.
_COLUMNS = (4, 9)

# Points that a message names.
_MOST_NAMES = 20


def picture(contents: Contents, chart: str | None, point: str | None, *, as_svg: bool, dark: bool = False) -> bytes:
    """The panels of one chart, under what they are of; of a chart of single points, those of `point`.

    Few stand below each other, many in two or three columns. Where they would be too high together, the first of them,
    or of their rows: the first one's note says so.

    Raises:
        InputError: no such chart or point, nothing to be drawn, or `loadline[full]` isn't installed.
    """

    def panels(palette: Any) -> list[Any]:
        found = _panels(contents, chart, point, palette)
        if all(panel.height <= _HIGHEST for panel in found):
            return found
        rows = contents.repeats
        room = _HIGHEST - _AROUND * len(found)
        kept = max(1, len(rows) * room // sum(panel.height for panel in found))
        some = replace(contents, results=[row for one in rows[:kept] for row in one.rows])
        return _noted(_panels(some, chart, point, palette), f"the first {kept:,} of {len(rows):,} points")

    return _stacked(panels, contents.title, as_svg=as_svg, dark=dark)


def comparison_picture(compared: Compared, chart: str | None, *, as_svg: bool, dark: bool = False) -> bytes:
    """The same of a chart of a comparison; without its name of the first that has something to show."""

    def panels(palette: Any) -> list[Any]:
        from loadline.reporting.charts import OF_COMPARISON

        names = [one.name for one in OF_COMPARISON]
        if chart is not None and chart not in names:
            raise InputError(f"there is no chart {chart!r} of a comparison", f"Charts: {', '.join(names)}.")
        for one in OF_COMPARISON:
            if chart in (one.name, None):
                found = one.draw(compared, palette)
                if found:
                    return found
                if chart is not None:
                    raise InputError(f"chart {chart}: {one.lacks}", "Take another chart.")
        raise InputError("nothing can be drawn of this comparison", "Look at the table: a .md or .csv file.")

    return _stacked(panels, "", as_svg=as_svg, dark=dark)


def _stacked(panels: Callable[[Any], list[Any]], heading: str, *, as_svg: bool, dark: bool) -> bytes:
    vl_convert: Any = needs("vl_convert", "a picture")
    needs("altair", "a picture")
    from loadline.reporting.charts import theme
    from loadline.reporting.charts.panel import ROOM

    palette = theme.DARK if dark else theme.LIGHT
    stacked = []
    found = [replace(one, note=one.note if one.pictured is None else one.pictured) for one in panels(palette)]
    columns = _columns(found)
    for panel in _first(found, columns):
        title = {"text": panel.title, "offset": 12, **({"subtitle": wrap(panel.note, _LETTERS)} if panel.note else {})}
        spec = panel.spec(_WIDTH)
        # Data sets are found at the top of a specification only, and a picture stacks several.
        layers = [{**layer, "data": {"values": spec["datasets"][layer["data"]["name"]]}} for layer in spec["layer"]]
        stacked.append({"layer": layers, "width": spec["width"], "height": spec["height"], "title": title})
    # What it is of stands above all panels, which may be shown without the text around them.
    above = {"text": wrap(heading, _LETTERS), "anchor": "start", "fontSize": 12, "fontWeight": "normal", "offset": 10}
    whole = {
        **({"title": above} if heading else {}),
        "params": [{"name": ROOM, "value": _WIDTH}],
        "concat": stacked,
        "columns": columns,
        "spacing": 28,
        "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash", "opacity"), "independent")},
        "config": {**theme.config(palette), "background": palette.paper, "padding": 16, "font": "DejaVu Sans"},
    }
    # What a name holds of control characters ends the renderer.
    whole = _drawable(whole)
    if as_svg:
        svg: str = vl_convert.vegalite_to_svg(whole, allowed_base_urls=[])
        return svg.encode()
    png: bytes = vl_convert.vegalite_to_png(whole, scale=_PIXELS, allowed_base_urls=[])
    return png


def _columns(panels: list[Any]) -> int:
    """Fewer where else those of one profile would be parted."""
    most = 1 + sum(len(panels) >= many for many in _COLUMNS)
    sizes = Counter(panel.of for panel in panels if panel.of).values()
    fit = (columns for columns in range(most, 1, -1) if not any(columns % size and size % columns for size in sizes))
    return next(fit, most)


def _first(panels: list[Any], columns: int) -> list[Any]:
    """As many of the panels as a picture holds, one at least."""
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    high = accumulate(max(panel.height for panel in row) + _AROUND for row in rows)
    fit = columns * max(1, sum(height <= _HIGHEST for height in high))
    return panels if fit >= len(panels) else _noted(panels[:fit], f"the first {fit} of {len(panels)} panels")


def _noted(panels: list[Any], shown: str) -> list[Any]:
    first, *others = panels
    note = f"{shown}, a picture holds no more: write .html for all of them"
    return [replace(first, note="; ".join(filter(None, (note, first.note)))), *others]


def _drawable(part: Any) -> Any:
    """The same without characters that no SVG can hold."""
    if isinstance(part, dict):
        return {_drawable(key): _drawable(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_drawable(one) for one in part]
    return xml_text(part) if isinstance(part, str) else part


def check_drawing(chart: str | None, point: str | None, points: Sequence[str]) -> None:
    """Refuses a chart that doesn't exist, and a point that isn't among `points` or that the chart has no use for.

    Raises:
        InputError: with those that there are.
    """
    from loadline.reporting.charts import NAMES, OF_POINT

    if chart is not None and chart not in NAMES:
        raise InputError(f"there is no chart {chart!r}", f"Charts: {', '.join(NAMES)}.")
    if point is None:
        return
    if point not in points:
        named = listed(list(dict.fromkeys(points)), _MOST_NAMES)
        raise InputError(f"there is no point {point!r}", nearest(point, points, f"Points: {named}."))
    of_point = [one.name for one in OF_POINT]
    if chart is not None and chart not in of_point:
        raise InputError(
            f"chart {chart} shows all points, so --point {point} chooses nothing",
            f"Leave it out, or take a chart of one point: {', '.join(of_point)}.",
        )


def _panels(contents: Contents, chart: str | None, point: str | None, palette: Any) -> list[Any]:
    from loadline.reporting.charts import OF_ALL, OF_POINT
    from loadline.reporting.detail import details

    check_drawing(chart, point, [row.point for row in contents.points])
    if not contents.points:
        raise InputError("there are no results to draw", "Runs that were interrupted go on with `resume`.")
    for of_all in OF_ALL:
        if chart in (of_all.name, None) and point is None:
            panels = of_all.draw(contents, palette)
            if panels:
                return panels
            if chart is not None:
                raise InputError(f"chart {chart}: {of_all.lacks}", "Take another chart.")
    for of_point in OF_POINT:
        if chart in (of_point.name, None):
            rows = [row for row in contents.points if point in (row.point, None)]
            named = listed(list(dict.fromkeys(row.point for row in rows or contents.points)), _MOST_NAMES)
            if len(rows) > 1:
                raise InputError(
                    f"chart {of_point.name} shows one point, and there are {len(rows)}: {named}",
                    "Name one with --point, and give only one run.",
                )
            panels = of_point.draw(details(contents.runs, rows)[0], palette)
            if not panels and chart is None and point is not None:
                continue
            if not panels:
                raise InputError(f"chart {of_point.name} of {rows[0].point}: {of_point.lacks}", "Take another chart.")
            return panels
    raise InputError("nothing can be drawn of these results", "Look at the table: a .md or .csv file.")
