"""What lies in the folder of a point or a probe, and when it counts: see `store`.

Start reading at `begin_point`, then `commit_point` and `read_rows`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from loadline._core import Histogram
from loadline.errors import StoreError
from loadline.result.figures import bins_of, histograms_from
from loadline.result.file import fault, read_json, write_json, writing
from loadline.result.schema import FORMAT, Result


def read_rows(folder: Path) -> list[Result]:
    """The rows that are committed in a point's or probe's folder: the point's, then each one's of several targets.

    Raises:
        StoreError: they are damaged.
    """
    return _rows(folder, lambda: _remedy(folder))


def _rows(folder: Path, remedy: Callable[[], str]) -> list[Result]:
    path, others = folder / "point.json", folder / "targets.json"
    if not path.exists():
        return []
    rows: list[Result] = []
    for file, key in ((path, "result"), (others, "targets")):
        try:
            found: Any = read_json(file, remedy)[key] if file.exists() else []
            rows += [Result.from_row(row) for row in ([found] if file == path else found)]
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{file}: {fault(error)}", remedy()) from None
    return rows


def _remedy(folder: Path) -> str:
    """What helps where a file in a point's or probe's folder is damaged."""
    point = folder.parent.parent if folder.parent.name == "probes" else folder
    remedy = "`loadline resume` measures it again"
    with suppress(StoreError):
        whole = any(row.error is None for row in _rows(point, str)[:1])
        if "imported" in read_json(point.parent.parent / "run.json", str):
            remedy = "or import its files again"
        elif whole and point == folder:
            remedy = f"or remove {folder / 'point.json'}, and `loadline resume` measures the point again"
        elif whole:
            remedy = f"or remove the folder {folder}, which the row of {point.name} no longer needs"
    return f"It's damaged: take a copy of it, if there is one; {remedy}."


def read_probe(folder: Path) -> list[Result]:
    """As `read_rows`, of a probe's folder, if all that its search may take from there is whole.

    Raises:
        StoreError: the rows are damaged, or what lies beside a row without an error is.
    """
    rows = read_rows(folder)
    if rows and rows[0].error is None:
        stored, series = len(read_histograms(folder)), folder / "series.parquet"
        if stored != len(rows):
            raise StoreError(f"{folder / 'histograms.json'} is of {stored} rows, not {len(rows)}", _remedy(folder))
        if not series.exists():
            raise StoreError(f"there is no {series}", _remedy(folder))
    return rows


def read_histograms(folder: Path) -> list[dict[str, Histogram]]:
    """The latency histograms of each of those rows: `read` and `write`, if there are any.

    Raises:
        StoreError: they are damaged.
    """
    path = folder / "histograms.json"
    if not path.exists():
        return [{} for _ in read_rows(folder)] or [{}]
    document = read_json(path, lambda: _remedy(folder))
    try:
        return [histograms_from(stored) for stored in (document.get("histograms"), *document.get("targets", ()))]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{path}: {fault(error)}", _remedy(folder)) from None


def begin_ramp(path: Path) -> Path:
    """The folder of a ramp, made or emptied; its probes of an earlier attempt stay."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        # The row first: what it leaves behind would seem to be the next one's.
        for name in ("point.json", "targets.json", "histograms.json", "series.parquet"):
            (path / name).unlink(missing_ok=True)
    return path


def probe_paths(folder: Path) -> list[Path]:
    """The folders of a ramp's probes, in the order of asking; none of another point."""
    return sorted(folder.glob("probes/*-*"))


def begin_probe(folder: Path, name: str) -> Path:
    """An empty folder for the next probe of the ramp in `folder`."""
    numbers = [int(path.name.partition("-")[0]) for path in probe_paths(folder)]
    return begin_point(folder / "probes" / f"{max(numbers, default=0) + 1:02d}-{name}")


def lose_probe(folder: Path) -> None:
    """Takes a damaged probe out of the run, as one that was never committed; its files stay for whoever looks."""
    with writing(folder):
        (folder / "point.json").replace(folder / "point.json.damaged")


def copy_series(probe: Path, folder: Path) -> None:
    """Puts a probe's series into the folder of its point. Raises StoreError if it can't be written."""
    with writing(folder / "series.parquet"):
        shutil.copyfile(probe / "series.parquet", folder / "series.parquet")


def begin_point(path: Path) -> Path:
    """An empty folder for the point; what a lost attempt left in it is removed, a failed attempt's result last."""
    with writing(path):
        if path.exists():
            # Renamed away first, so that a half-removed folder never looks like a result.
            doomed = path.with_name(f".{path.name}.old")
            shutil.rmtree(doomed, ignore_errors=True)
            path.rename(doomed)
            shutil.rmtree(doomed)
        path.mkdir(parents=True)
    return path


class Row(NamedTuple):
    """A row, and the latency histograms behind it."""

    result: Result
    histograms: Mapping[str, Histogram]


def commit_point(path: Path, result: Result, histograms: Mapping[str, Histogram], targets: Sequence[Row] = ()) -> None:
    """Makes the point part of the run, by one rename: that of its row. Histograms, much larger, lie beside it.

    So do the rows of each target; both are written before, and count with it only.

    Args:
        targets: the rows of each of several targets, where `result` is that of all together.

    Raises:
        StoreError: it can't be written; then the point doesn't exist.
    """
    if histograms:
        parts = {"targets": [bins_of(row.histograms) for row in targets]} if targets else {}
        write_json(path / "histograms.json", {"format": FORMAT, "histograms": bins_of(histograms), **parts})
    if targets:
        write_json(path / "targets.json", {"format": FORMAT, "targets": [row.result.row() for row in targets]})
    write_result(path, result)


def write_result(path: Path, result: Result) -> None:
    """Writes the row of a point whose other files are there already. Raises as `commit_point`."""
    write_json(path / "point.json", {"format": FORMAT, "result": result.row()})
