"""Results as files for other programs: one function a format, each a text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from loadline.reporting.table import results_table
from loadline.result.schema import COLUMNS, FORMAT, Result
from loadline.result.store import Run
from loadline.units import format_size


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


def as_json(runs: Sequence[Run]) -> str:
    """The envelope of the runs' results."""
    results = [result for run in runs for result in run.results()]
    return json.dumps(envelope(results, [run.summary() for run in runs]), ensure_ascii=False, indent=1) + "\n"


def as_csv(runs: Sequence[Run]) -> str:
    """Every column of every result; maps, lists and workloads as JSON, unknown as nothing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    for run in runs:
        for result in run.results():
            writer.writerow([_cell(value) for value in result.row().values()])
    return out.getvalue()


def as_markdown(runs: Sequence[Run]) -> str:
    """A page for people: what was measured on what, and the table."""
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    lines = [f"# {runs[0].suite}{more}", ""]
    for run in runs:
        summary, target = run.summary(), run.document["target"]
        about = f"{run.document['suite']['title']}, on {target['path']} ({format_size(target['size_bytes'])})"
        failed = f", {summary['failed']} failed" if summary["failed"] else ""
        done = f"{summary['done']} of {summary['points']} points{failed}"
        lines.append(f"- `{run.id}`: {about}, {run.started_at}; {done}")
    results = [result for run in runs for result in run.results()]
    return "\n".join([*lines, "", results_table(results).markdown()])


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value
