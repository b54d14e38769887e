"""Response against load of the sides of a comparison, over each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from loadline.judging.matching import Side
from loadline.reporting.charts.curve import Curve, curves_by
from loadline.reporting.charts.load import panels_of
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.theme import Palette
from loadline.reporting.compared import Compared
from loadline.result.schema import Result


def draw(compared: Compared, palette: Palette) -> list[Panel]:
    """A panel a profile, and block size, that at least two sides answered at two loads or more."""
    found = curves_by(_told(compared.comparison.sides))
    curves = [replace(one, profile=", ".join(filter(None, (one.profile, one.variant)))) for one in found]
    several = Counter(curve.profile for curve in curves)
    kept: list[Curve] = [curve for curve in curves if several[curve.profile] > 1]
    return panels_of(kept, palette, compared=[side.name for side in compared.comparison.sides])


def _told(sides: Sequence[Side]) -> Iterator[tuple[Result, str]]:
    """Rows with their side, and with what varies within it: curves of unlike set-ups are different ones."""
    for side in sides:
        tags = dict.fromkeys(name for row in side.rows for name in row.tags)
        varying = [name for name in tags if len({row.tags.get(name) for row in side.rows}) > 1]
        for row in side.rows:
            yield row, ", ".join([side.name, *(row.tags[name] for name in varying if name in row.tags)])
