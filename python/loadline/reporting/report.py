"""A report: results of runs, written to a file whose ending names the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from loadline.errors import InputError
from loadline.reporting import export
from loadline.result.store import Run, write_bytes

#: A format is a line here and a function in export.py.
FORMATS: dict[str, Callable[[Sequence[Run]], str]] = {
    ".csv": export.as_csv,
    ".json": export.as_json,
    ".md": export.as_markdown,
}


def report(runs: Sequence[Run], output: str | Path) -> Path:
    """Writes the results of `runs` to `output`, whole or not at all.

    Raises:
        InputError: an ending that names no format, or a directory that isn't there.
        StoreError: it can't be written.
    """
    path = Path(output)
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise InputError(
            f"{path}: a report can't be written as {path.suffix or 'a file without ending'!r}",
            f"Known endings: {', '.join(FORMATS)}.",
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no directory {path.parent}", "Make it first.")
    if path.is_dir():
        raise InputError(f"{path} is a directory", "Give the name of a file.")
    write_bytes(path, write(runs).encode("utf-8", "backslashreplace"))
    return path
