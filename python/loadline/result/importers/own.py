"""What loadline itself wrote: the object of `--json`, and `report -o FILE.{json,csv}`."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from loadline.errors import InputError
from loadline.result.importers.row import Imported, ImportedRow, can_be, no_figures
from loadline.result.schema import COLUMNS, FORMAT, Result

_CSV_HEAD = ",".join(column.name for column in COLUMNS[:6]).encode()
_NUMBERS = {"BIGINT": int, "DOUBLE": float}
# What isn't null though nothing is written of it: a text, a map or a list that is empty.
_EMPTY = {name: value for name, value in Result().row().items() if value in ("", {}, [])}
_FIGURES = {column.name for column in COLUMNS if column.type in _NUMBERS} - {"repeat"}


def looks_so(data: bytes) -> bool:
    """Whether these bytes are loadline's."""
    head = data[:4000].lstrip()
    return head.startswith(_CSV_HEAD) or (head.startswith(b"{") and b'"format"' in head and b'"results"' in head)


def read(data: bytes, name: str) -> Imported:
    """The rows as they were written, with their origins.

    Raises:
        InputError: damaged, or of a newer format.
    """
    try:
        rows = _of_json(data, name) if data.lstrip().startswith(b"{") else _of_csv(data)
        wrong: dict[str, list[tuple[int, str]]] = {}
        known = [_known(row, number, wrong) for number, row in enumerate(rows, 1)]
        return Imported(tuple(ImportedRow(Result.from_row(row)) for row in known), (), no_figures(wrong))
    except (TypeError, ValueError, KeyError, RecursionError, csv.Error) as error:
        raise InputError(f"{name}: not as loadline writes it: {error}", "Write the report again.") from None


def _known(row: Any, number: int, wrong: dict[str, list[tuple[int, str]]]) -> Any:
    """The row without numbers that no figure can be; `wrong` takes them by column."""
    if not isinstance(row, dict):
        return row
    known = dict(row)
    for name in _FIGURES & row.keys():
        if isinstance(row[name], int | float) and not can_be(row[name]):
            known[name] = None
            wrong.setdefault(name, []).append((number, f"{row[name]:.3g}"))
    return known


def _of_json(data: bytes, name: str) -> list[dict[str, Any]]:
    document = json.loads(data)
    if document["format"] > FORMAT:
        raise InputError(
            f"{name} is of format {document['format']}, and this loadline reads formats up to {FORMAT}",
            "Read it with the newer loadline that wrote it.",
        )
    return [*document["results"], *document.get("probes", ())]


def _of_csv(data: bytes) -> list[dict[str, Any]]:
    types = {column.name: column.type for column in COLUMNS}
    rows = []
    for line in csv.DictReader(io.StringIO(data.decode("utf-8-sig"))):
        rows.append(
            {
                name: _value(types[name], text) if text else _EMPTY.get(name)
                for name, text in line.items()
                if name in types
            }
        )
    return rows


def _value(kind: str, text: str) -> Any:
    if kind == "BOOLEAN":
        return text == "true"
    if kind == "JSON" or kind.startswith("MAP"):
        return json.loads(text)
    return _NUMBERS[kind](text) if kind in _NUMBERS else text
