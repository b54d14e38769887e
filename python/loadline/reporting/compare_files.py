"""A comparison as a file whose ending names the format, and as the object of `--json`."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from loadline.errors import InputError
from loadline.judging.compare import Cell, Comparison
from loadline.judging.fail_if import Tried
from loadline.reporting.compare_table import comparison_table, summary, threshold_lines
from loadline.reporting.junit import junit
from loadline.result.store import check_place, write_bytes


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


def _json(comparison: Comparison, tried: Sequence[Tried], _: Sequence[str]) -> bytes:
    from loadline.reporting.export import envelope

    body = envelope(comparison.results, comparison=comparison_object(comparison, tried))
    return json.dumps(body, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"


def _csv(comparison: Comparison, _: Sequence[Tried], __: Sequence[str]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [item.name for item in fields(Cell)]
    writer.writerow(names)
    for cell in comparison.cells:
        values = (getattr(cell, name) for name in names)
        writer.writerow([" ".join(value) if isinstance(value, tuple) else value for value in values])
    return out.getvalue().encode("utf-8", "backslashreplace")


def _markdown(comparison: Comparison, tried: Sequence[Tried], command: Sequence[str]) -> bytes:
    title = f"# {' and '.join(side.name for side in comparison.sides[1:6])} against {comparison.baseline}"
    said = f"\n`{shlex.join(command)}`\n" if command else ""
    held = "".join(f"- {line}\n" for line in threshold_lines(tried))
    text = f"{title}\n{said}\n{summary(comparison)}\n\n{held}\n{comparison_table(comparison).markdown()}"
    return text.encode("utf-8", "backslashreplace")


#: A format is a line here and a function that makes its bytes of a comparison, its thresholds, and the command.
FORMATS: dict[str, Callable[[Comparison, Sequence[Tried], Sequence[str]], bytes]] = {
    ".csv": _csv,
    ".md": _markdown,
    ".json": _json,
    ".xml": lambda comparison, tried, _: junit(comparison, tried),
}


def writable(output: str | Path) -> Path:
    """The path of a comparison's file, if it can be one.

    Raises:
        InputError: an ending that names no format, or a place that can't be written.
    """
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        ending = path.suffix or "a file without ending"
        raise InputError(f"{path}: a comparison can't be written as {ending}", f"Known endings: {', '.join(FORMATS)}.")
    check_place(path)
    return path


def write(comparison: Comparison, output: str | Path, tried: Sequence[Tried] = (), command: Sequence[str] = ()) -> Path:
    """Writes a comparison, whole or not at all. Raises as `writable`; StoreError if it can't be written."""
    path = writable(output)
    write_bytes(path, FORMATS[path.suffix.lower()](comparison, tried, command))
    return path
