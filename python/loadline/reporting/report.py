"""A report: results of runs, written to a file whose ending names the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from loadline.errors import InputError
from loadline.reporting import export
from loadline.reporting.export import Contents
from loadline.reporting.table import results_table
from loadline.result.store import Run, check_place, write_bytes
from loadline.units import format_size

#: A format is a line here and a function in export.py.
FORMATS: dict[str, Callable[[Contents], str]] = {
    ".csv": export.as_csv,
    ".json": export.as_json,
    ".md": export.as_markdown,
}


def report(runs: Sequence[Run], output: str | Path) -> Path:
    """Writes the results of `runs` to `output`, whole or not at all. Raises as `write`."""
    return write(of_runs(runs), output)


def write(contents: Contents, output: str | Path) -> Path:
    """Writes a report to `output`, whole or not at all.

    Raises:
        InputError: an ending that names no format, or a directory that isn't there.
        StoreError: it can't be written.
    """
    path = writable(output)
    write_bytes(path, FORMATS[path.suffix.lower()](contents).encode("utf-8", "backslashreplace"))
    return path


def writable(output: str | Path) -> Path:
    """The path of a report, if it can be one: to be asked before long work. Raises as `write`."""
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path}: a report can't be written as {path.suffix or 'a file without ending'!r}",
            f"Known endings: {', '.join(FORMATS)}.",
        )
    check_place(path)
    return path


def of_runs(runs: Sequence[Run]) -> Contents:
    """What was measured on what, and the table of all of it."""
    summaries = tuple(run.summary() for run in runs)
    about = []
    for run, summary in zip(runs, summaries, strict=True):
        target = run.document["target"]
        what = f"{run.document['suite']['title']}, on {target['path']} ({format_size(target['size_bytes'])})"
        failed = f", {summary['failed']} failed" if summary["failed"] else ""
        done = f"{summary['done']} of {summary['points']} points{failed}"
        about.append(f"`{run.id}`: {what}, {run.started_at}; {done}")
    results = [result for run in runs for result in run.results()]
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    return Contents(f"{runs[0].suite}{more}", tuple(about), results, (results_table(results),), summaries)
