"""What loadline itself wrote: the object of `--json`, and `report -o FILE.{json,csv}`."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from loadline.errors import InputError
from loadline.result.importers.row import Imported, ImportedRow
from loadline.result.schema import COLUMNS, FORMAT, Result

_CSV_HEAD = ",".join(column.name for column in COLUMNS[:6]).encode()
_NUMBERS = {"BIGINT": int, "DOUBLE": float}


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
        return Imported(tuple(ImportedRow(Result.from_row(row)) for row in rows))
    except (TypeError, ValueError, KeyError, RecursionError, csv.Error) as error:
        raise InputError(f"{name}: not as loadline writes it: {error}", "Write the report again.") from None


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
        rows.append({name: _value(types[name], text or "") for name, text in line.items() if name in types})
    return rows


def _value(kind: str, text: str) -> Any:
    if not text:
        return {} if kind.startswith("MAP") else None
    if kind == "BOOLEAN":
        return text == "true"
    if kind == "JSON" or kind.startswith("MAP"):
        return json.loads(text)
    return _NUMBERS[kind](text) if kind in _NUMBERS else text
