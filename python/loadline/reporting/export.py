"""Results as files for other programs: one function a format, each a text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadline.reporting.table import Table
from loadline.result.schema import COLUMNS, FORMAT, Result


@dataclass(frozen=True, slots=True)
class Contents:
    """What a report is to hold: rows as they are, and for people a title, what they are about, and tables of them."""

    title: str
    about: tuple[str, ...]
    results: Sequence[Result]
    tables: tuple[Table, ...]
    runs: tuple[Mapping[str, Any], ...] = ()


def envelope(
    results: Sequence[Result] = (),
    runs: Sequence[Mapping[str, Any]] = (),
    error: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The object that every verb prints under `--json`; `more` holds what only one verb has (`suites`, say)."""
    rows = [result.row() for result in results]
    return {
        "format": FORMAT,
        "results": [row for row in rows if row["role"] == "point"],
        "probes": [row for row in rows if row["role"] == "probe"],
        "runs": list(runs),
        "findings": [finding for row in rows for finding in row["findings"]],
        "error": error,
        **more,
    }


def as_json(contents: Contents) -> str:
    """The envelope of the results."""
    return json.dumps(envelope(contents.results, contents.runs), ensure_ascii=False, indent=1) + "\n"


def as_csv(contents: Contents) -> str:
    """Every column of every result; maps, lists and workloads as JSON, unknown as nothing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    for result in contents.results:
        writer.writerow([_cell(value) for value in result.row().values()])
    return out.getvalue()


def as_markdown(contents: Contents) -> str:
    """A page for people: what was asked of what, and the tables."""
    lines = [f"# {contents.title}", "", *(f"- {about}" for about in contents.about)]
    return "\n".join([*lines, "", "\n".join(table.markdown() for table in contents.tables)])


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value
