"""A comparison as a file whose ending names the format, and as the object of `--json`."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

from loadline.errors import InputError
from loadline.judging.cell import Cell
from loadline.judging.compare import Comparison
from loadline.judging.fail_if import Tried
from loadline.reporting.compare_page import comparison_page
from loadline.reporting.compare_table import comparison_table, threshold_lines
from loadline.reporting.compare_words import good_for, paragraphs, what_matters
from loadline.reporting.compared import Compared
from loadline.reporting.effect_words import effects_object, effects_table
from loadline.reporting.junit import junit
from loadline.reporting.picture import comparison_picture
from loadline.reporting.report import PICTURES, Drawing
from loadline.reporting.table import harmless
from loadline.result.file import check_place, write_bytes


def comparison_object(comparison: Comparison, tried: Sequence[Tried] = ()) -> dict[str, Any]:
    """`comparison` of the JSON object: sides, cells, what has no counterpart, thresholds at each point."""
    return {
        "baseline": comparison.baseline,
        "by": list(comparison.by),
        "resolution": comparison.resolution,
        "tested": comparison.tested,
        "sides": [
            {"name": side.name, "labels": dict(side.labels), "rows": len(side.rows)} for side in comparison.sides
        ],
        "cells": [asdict(cell) for cell in comparison.cells],
        "alone": [{"point": point, "side": side} for point, side in comparison.alone],
        "notes": list(comparison.notes),
        "thresholds": [
            {"threshold": one.threshold.text, "figure": one.threshold.figure.name, "relative": one.threshold.relative}
            | {"bound": one.threshold.bound, "point": one.point, "side": one.side, "state": one.state}
            | {"value": one.value, "why": one.why}
            for one in tried
        ],
    }


def conclusions_object(compared: Compared) -> dict[str, Any]:
    """`conclusions` of the JSON object: what each side is good for, what matters, both with their numbers."""
    return {
        "good_for": {side: list(said) for side, said in good_for(compared).items()},
        "what_matters": {figure: list(said) for figure, said in what_matters(compared).items()},
        "effects": [effects_object(effects) for several in compared.effects.values() for effects in several],
    }


def _json(compared: Compared) -> bytes:
    from loadline.reporting.export import envelope

    comparison = compared.comparison
    body = envelope(
        comparison.results,
        comparison=comparison_object(comparison, compared.tried),
        conclusions=conclusions_object(compared),
    )
    return json.dumps(body, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"


def _csv(comparison: Comparison) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [item.name for item in fields(Cell)]
    writer.writerow(names)
    for cell in comparison.cells:
        writer.writerow([_plain(getattr(cell, name)) for name in names])
    return out.getvalue().encode("utf-8", "backslashreplace")


def _plain(value: Any) -> Any:
    """A number without the noise of its last bit."""
    if isinstance(value, tuple):
        return " ".join(value)
    return float(f"{value:.15g}") if isinstance(value, float) else value


def _markdown(compared: Compared) -> bytes:
    lines = [f"# {compared.title}", ""]
    if compared.command:
        lines += [f"`{shlex.join(compared.command)}`", ""]
    lines += [*(f"- {line}" for line in threshold_lines(compared.tried)), ""] if compared.tried else []
    for paragraph in paragraphs(compared):
        lines += [f"## {paragraph.head}", "", *(f"- {sentence}" for sentence in paragraph.sentences), ""]
    tables = [comparison_table(compared.comparison, stands=compared.stands or None)] if compared.listed else []
    tables += map(effects_table, compared.effects.values())
    text = "\n".join([*map(harmless, lines), "## Tables", "", "\n".join(table.markdown() for table in tables)])
    return text.encode("utf-8", "backslashreplace")


def _html(compared: Compared, _: Drawing) -> bytes:
    return comparison_page(compared).encode("utf-8", "backslashreplace")


def _picture(compared: Compared, drawing: Drawing, *, as_svg: bool) -> bytes:
    return comparison_picture(compared, drawing.chart, as_svg=as_svg, dark=drawing.dark)


#: Of what is no picture.
NO_DRAWING = Drawing()

#: A format is a line here and a function that makes its bytes.
FORMATS: dict[str, Callable[[Compared, Drawing], bytes]] = {
    ".html": _html,
    ".png": partial(_picture, as_svg=False),
    ".svg": partial(_picture, as_svg=True),
    ".csv": lambda compared, _: _csv(compared.comparison),
    ".md": lambda compared, _: _markdown(compared),
    ".json": lambda compared, _: _json(compared),
    ".xml": lambda compared, _: junit(compared.comparison, compared.tried),
}


def writable(output: str | Path, drawing: Drawing = NO_DRAWING) -> Path:
    """The path of a comparison's file, if it can be one.

    Raises:
        InputError: an ending that names no format, a chart of what is no picture, or a place that can't be written.
    """
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        ending = path.suffix or "a file without ending"
        raise InputError(f"{path}: a comparison can't be written as {ending}", f"Known endings: {', '.join(FORMATS)}.")
    if drawing != NO_DRAWING and path.suffix.lower() not in PICTURES:
        raise InputError(
            f"{path}: a chart is chosen for pictures only", f"Their endings: {', '.join(sorted(PICTURES))}."
        )
    check_place(path)
    return path


def write(compared: Compared, output: str | Path, drawing: Drawing = NO_DRAWING) -> Path:
    """Writes a comparison, whole or not at all.

    Raises:
        InputError: as of `writable`, a chart that can't be drawn, or `loadline[full]` that isn't installed.
        StoreError: it can't be written.
    """
    path = writable(output, drawing)
    write_bytes(path, FORMATS[path.suffix.lower()](compared, drawing))
    return path
