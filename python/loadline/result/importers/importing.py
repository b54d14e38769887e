"""`import`: files of results become rows, and rows a run of origin `imported` in the store."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.errors import InputError
from loadline.result.importers import fio, own, table
from loadline.result.importers.asked import Loads
from loadline.result.importers.column import Meaning
from loadline.result.importers.row import Imported, Mapped
from loadline.result.point_folder import begin_point, commit_point
from loadline.result.schema import Result
from loadline.result.series import PointSeries
from loadline.result.store import Run, Store
from loadline.workload.suite import is_file

_NOTHING = Loads()

#: A file that is larger is no output of a benchmark's end.
MOST_BYTES = 4 * 1024**3

SUITE = "import"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that were read, with what lies beside them.

    Attributes:
        histograms: by point.
        series: by run and point.
        mapping: by file.
    """

    results: tuple[Result, ...]
    histograms: Mapping[str, Mapping[str, Histogram]]
    series: Mapping[tuple[str, str], PointSeries]
    mapping: Mapping[str, tuple[Mapped, ...]]
    warnings: tuple[str, ...]


def read_files(
    paths: Sequence[str | Path],
    *,
    maps: Mapping[str, Meaning | None] | None = None,
    loads: Loads = _NOTHING,
    tags: Mapping[str, str] | None = None,
) -> Rows:
    """The rows of files, each with a name of its own.

    Args:
        maps: what columns of tables mean, by their heads.
        loads: what was asked, where files don't say it.
        tags: what is said of all rows.

    Raises:
        InputError: a file that can't be read, or holds no results.
    """
    results: list[Result] = []
    histograms: dict[str, Mapping[str, Histogram]] = {}
    series: dict[tuple[str, str], PointSeries] = {}
    mapping: dict[str, tuple[Mapped, ...]] = {}
    warnings: list[str] = []
    taken: dict[str, int] = {}
    for path in map(Path, paths):
        found = _read(path, maps or {})
        warnings += [f"{path}: {warning}" for warning in found.warnings]
        if found.mapping:
            mapping[str(path)] = found.mapping
        for row in found.rows:
            result = row.result
            # What loadline wrote has its names, its load and its origin already.
            if not result.point:
                result = row.asked.over(loads.of(result.profile)).put(
                    result,
                    run=path.name,
                    target=path.name,
                    point=_name(result, taken),
                    tags={**result.tags, **(tags or {})},
                )
            results.append(result)
            if row.histograms:
                histograms[result.point] = row.histograms
            if found.series is not None:
                series[result.run, result.point] = found.series
    return Rows(tuple(results), histograms, series, mapping, tuple(warnings))


def _read(path: Path, maps: Mapping[str, Meaning | None]) -> Imported:
    data = _bytes(path)
    if not data.strip():
        raise InputError(f"{path} is empty", "Write it again, or name another file of results.")
    if fio.looks_so(data):
        return fio.read(data, str(path))
    if own.looks_so(data):
        return own.read(data, str(path))
    if data.startswith(b"PAR1"):
        remedy = "Write the report as .json or .csv as well (-o FILE.json), and give that."
        raise InputError(f"{path}: Parquet is written for other programs, and not read back", remedy)
    if not table.looks_so(data):
        raise InputError(f"{path}: no text", "Files are fio's JSON, CSV, TSV, Markdown or HTML tables.")
    if path.suffix.lower() not in table.ENDINGS and fio.is_text(data):
        raise InputError(f"{path}: fio's text, which is for people", "Write it with fio --output-format=json+.")
    if path.suffix.lower() == ".json":
        raise _no_json(data, path)
    return table.read(data, str(path), maps)


def _no_json(data: bytes, path: Path) -> InputError:
    """Why JSON isn't results."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        where = f"{error.msg} in line {error.lineno}, column {error.colno}"
        return InputError(f"{path}: not valid JSON: {where}", "Write it again, whole.")
    except (ValueError, RecursionError) as error:
        return InputError(f"{path}: not valid JSON: {error}", "Write it again, whole.")
    return InputError(f"{path}: JSON of neither fio nor loadline", "Give the tool's own JSON, or a table.")


def _bytes(path: Path) -> bytes:
    try:
        if not is_file(path):
            what = "a directory" if path.is_dir() else "no regular file" if path.exists() else ""
            raise InputError(
                f"{path} is {what}" if what else f"{path}: there is no such file", "Name a file of results."
            )
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES >> 30} GiB", "Give the tool's summary, not its log.")
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (OSError, EOFError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} can't be read: {why}", "Check the file and its permissions.") from None


def _name(result: Result, taken: dict[str, int]) -> str:
    """A name that can be a folder's, from what the row is called, unlike all others."""
    # Tags that are figures, such as a share of memory, name nothing.
    words = [
        result.profile,
        result.system,
        *(text for text in result.tags.values() if not re.fullmatch(r"[\d.,%]{4,}|[\d,]*\.[\d,]+", text)),
    ]
    slug = re.sub(r"[^A-Za-z0-9._+-]+", "-", "-".join(filter(None, words))).strip("-._+")[:80] or "row"
    while True:
        taken[slug] = taken.get(slug, 0) + 1
        if taken[slug] == 1:
            return slug
        slug = f"{slug}-{taken[slug]}"


def store_rows(
    store: Store,
    rows: Rows,
    files: Sequence[str | Path],
    document: Mapping[str, Any],
    now: datetime,
    judge: Callable[[Sequence[Result], Run], Sequence[Result]] = lambda results, _: results,
) -> Run:
    """Keeps rows as a run of their own; it's complete at once.

    Args:
        document: `tags` and `sessions` of run.json.
        judge: is given the rows with their run, and gives them with findings.

    Raises:
        InputError: rows without a result. StoreError: the store can't be written.
    """
    points: list[dict[str, Any]] = [
        {"name": result.point, "streams": [], "runtime_ns": result.runtime_ns or 0, "warmup_ns": result.warmup_ns or 0,
         "seed": None, "quick": False, "ramp": None}
        for result in rows.results
    ]  # fmt: skip
    mapping = {file: [one.to_json() for one in mapped] for file, mapped in rows.mapping.items()}
    whole = {
        "suite": {"name": SUITE, "title": f"Imported from {', '.join(Path(file).name for file in files)}"},
        "target": {"path": Path(files[0]).name, "given": Path(files[0]).name, "kind": "import"},
        "points": points,
        "imported": {"files": [str(file) for file in files], "mapping": mapping, "warnings": list(rows.warnings)},
        "sessions": [{"started_at": datetime.now(UTC).isoformat(timespec="milliseconds"), "command": []}],
        **document,
    }
    run = store.create(SUITE, Path(files[0]).stem, whole, now)
    try:
        for number, result in enumerate(judge([replace(result, run=run.id) for result in rows.results], run)):
            commit_point(begin_point(run.point_path(number)), result, rows.histograms.get(result.point, {}))
    except BaseException:
        # Unlike a measurement, half an import is worth nothing.
        shutil.rmtree(run.path, ignore_errors=True)
        raise
    return run
