"""Results as files for other programs: one function a format."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from loadline.reporting.contents import Contents
from loadline.reporting.full import needs
from loadline.result.schema import COLUMNS, FORMAT, Result


def envelope(
    results: Sequence[Result] = (),
    runs: Sequence[Mapping[str, Any]] = (),
    error: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The object that every verb prints under `--json`; `more` holds what only one verb has (`suites`, say).

    JSON has no numbers that aren't finite: they are null.
    """
    # Row by row, for there may be hundreds of thousands.
    rows = [_finite(result.row()) for result in results]
    return {
        "format": FORMAT,
        "results": [row for row in rows if row["role"] == "point"],
        "probes": [row for row in rows if row["role"] == "probe"],
        "runs": _finite(list(runs)),
        "findings": [finding for row in rows for finding in row["findings"]],
        "error": _finite(error),
        **_finite(more),
    }


def _finite(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {key: _finite(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_finite(one) for one in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def as_json(contents: Contents) -> bytes:
    """The envelope of the results."""
    return (
        json.dumps(envelope(contents.results, contents.summaries), ensure_ascii=False, indent=1).encode(
            "utf-8", "backslashreplace"
        )
        + b"\n"
    )


def as_csv(contents: Contents) -> bytes:
    """Every column of every result; maps, lists and workloads as JSON, unknown as nothing.

    Histograms are left out: with them a cell may have more characters than spreadsheets take.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    for result in contents.results:
        facts = {key: value for key, value in result.provenance.items() if key != "histograms"}
        row = replace(result, provenance=facts).row()
        writer.writerow([_cell(value) for value in row.values()])
    return out.getvalue().encode("utf-8", "backslashreplace")


def as_markdown(contents: Contents) -> bytes:
    """A page for people: what was asked of what, and the tables."""
    lines = [f"# {contents.title}", "", *(f"- {about}" for about in contents.about)]
    text = "\n".join([*lines, "", "\n".join(table.markdown() for table in contents.tables)])
    return text.encode("utf-8", "backslashreplace")


def as_parquet(contents: Contents) -> bytes:
    """Every column of every result, in DuckDB's types.

    Raises:
        InputError: `loadline[full]` isn't installed.
    """
    duckdb = needs("duckdb", "a .parquet file")
    shape = json.dumps({column.name: column.type for column in COLUMNS})
    rows = [json.dumps(result.row()) for result in contents.results]
    with TemporaryDirectory() as folder, closing(duckdb.connect()) as connection:
        path = Path(folder) / "results.parquet"
        table = connection.sql(
            "select unnest(from_json(row, $shape)) from (select unnest($rows) as row)",
            params={"shape": shape, "rows": rows},
        )
        table.write_parquet(str(path), compression="zstd")
        return path.read_bytes()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value
