"""The house theme: colours that colour-blind people tell apart, quiet axes, the numbers in front.

Colours are looked up by their task, never written into a chart. On a page they are CSS variables, so that one drawing
serves light, dark and print; a picture gets their values.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by task. Reads, writes and the categories are Okabe and Ito's, lighter on dark paper.

    Source: M. Okabe, K. Ito, Color Universal Design, 2008.
    """

    paper: str
    ink: str
    quiet: str
    line: str
    read: str
    write: str
    warm: str
    alarm: str
    series1: str
    series2: str
    series3: str
    series4: str
    series5: str
    series6: str

    @property
    def series(self) -> list[str]:
        """Colours of categories, in order."""
        return [self.series1, self.series2, self.series3, self.series4, self.series5, self.series6]


LIGHT = Palette(
    paper="#ffffff",
    ink="#1c2126",
    quiet="#5b6570",
    line="#dfe3e8",
    read="#0072b2",
    write="#d55e00",
    warm="#eceff2",
    alarm="#b3261e",
    series1="#0072b2",
    series2="#d55e00",
    series3="#00795a",
    series4="#a8457f",
    series5="#8a6100",
    series6="#5b6570",
)

DARK = Palette(
    paper="#14181c",
    ink="#e8ebee",
    quiet="#9aa5b1",
    line="#333b44",
    read="#56b4e9",
    write="#f08c4a",
    warm="#232a31",
    alarm="#ff8a80",
    series1="#56b4e9",
    series2="#f08c4a",
    series3="#2fc39a",
    series4="#d98bbb",
    series5="#e3b341",
    series6="#9aa5b1",
)

#: On a page: the style sheet decides.
PAGE = Palette(**{item.name: f"var(--{item.name})" for item in fields(Palette)})

FONT = "system-ui, 'DejaVu Sans', sans-serif"

#: Shapes of categories, so that colour isn't all that tells them apart.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


def style_sheet(palette: Palette) -> str:
    """The palette as declarations of CSS."""
    return " ".join(f"--{item.name}: {getattr(palette, item.name)};" for item in fields(Palette))


def config(palette: Palette) -> dict[str, Any]:
    """Vega-Lite's configuration of every chart."""
    return {
        "background": None,
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            "labelColor": palette.quiet,
            "titleColor": palette.quiet,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "gridColor": palette.line,
            "domainColor": palette.line,
            "tickColor": palette.line,
            "labelLimit": 250,
            "titlePadding": 8,
        },
        "axisX": {"labelSeparation": 8},
        "axisY": {"ticks": False, "domain": False},
        "legend": {
            "labelColor": palette.ink,
            "titleColor": palette.quiet,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "top",
            "labelLimit": 220,
            "symbolStrokeWidth": 2,
        },
        "title": {
            "color": palette.ink,
            "subtitleColor": palette.quiet,
            "anchor": "start",
            "frame": "group",
            "fontSize": 13,
        },
        "text": {"color": palette.ink, "fontSize": 11},
        "line": {"strokeWidth": 2},
    }
