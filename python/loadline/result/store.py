"""Run folders: where results live.

    RUN/run.json                       plan, target, provenance, sessions; format version
    RUN/log.txt                        what loadline did
    RUN/points/001-oltp-db/            the job, the tool's raw output, series.parquet, and last point.json

`point.json` appears by a rename; that is the commit of a point. A folder without it is a point in progress or a lost
one, and counts for nothing. Whatever instant a process dies at, every committed point is whole.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.errors import InputError, LoadlineError, RefusedError, StoreError
from loadline.result.schema import FORMAT, Result
from loadline.workload.plan import Point

DEFAULT_STORE = "loadline-runs"


@dataclass(frozen=True, slots=True)
class Run:
    """One run folder, read when asked."""

    path: Path
    document: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The run's id, which is its folder's name."""
        return self.path.name

    @property
    def suite(self) -> str:
        """The suite's name."""
        return str(self.document["suite"]["name"])

    @property
    def target(self) -> str:
        """The target's path, as resolved."""
        return str(self.document["target"]["path"])

    @property
    def started_at(self) -> str:
        """When the first session began, ISO 8601 in UTC."""
        return str(self.document["sessions"][0]["started_at"])

    @property
    def plan(self) -> tuple[Point, ...]:
        """The points that the run is to have."""
        try:
            return tuple(Point.from_json(point) for point in self.document["points"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self.path / 'run.json'}: points: not as loadline writes them ({error!r})") from None

    def point_path(self, index: int) -> Path:
        """The folder of point number `index` of the plan, from 0."""
        return self.path / "points" / f"{index + 1:03d}-{self.document['points'][index]['name']}"

    def result(self, index: int) -> Result | None:
        """The committed result of that point, None if there is none."""
        path = self.point_path(index) / "point.json"
        if not path.exists():
            return None
        return Result.from_row(_read_json(path)["result"])

    def results(self) -> list[Result]:
        """Every committed result, in the plan's order."""
        found = (self.result(index) for index in range(len(self.document["points"])))
        return [result for result in found if result is not None]

    def histograms(self, index: int) -> dict[str, Histogram]:
        """The point's latency histograms: `read` and `write`; empty if the point failed before it had any."""
        stored = _read_json(self.point_path(index) / "point.json").get("histograms") or {}
        return {name: Histogram(bins["ns"], bins["counts"]) for name, bins in stored.items()}

    def missing(self) -> list[int]:
        """Numbers of the points that have no result, or a failed one."""
        results = [self.result(index) for index in range(len(self.document["points"]))]
        return [index for index, result in enumerate(results) if result is None or result.error]

    def summary(self) -> dict[str, Any]:
        """What `ls` and `--json` say of a run."""
        results = self.results()
        failed = sum(result.error is not None for result in results)
        return {
            "run": self.id,
            "path": str(self.path),
            "suite": self.suite,
            "target": self.target,
            "started_at": self.started_at,
            "points": len(self.document["points"]),
            "done": len(results) - failed,
            "failed": failed,
            "tags": dict(self.document.get("tags") or {}),
        }


class Store:
    """A directory of run folders."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @staticmethod
    def locate(option: str | None, environment: Mapping[str, str]) -> Store:
        """`--store`, else `$LOADLINE_STORE`, else `./loadline-runs`."""
        return Store(Path(option or environment.get("LOADLINE_STORE") or DEFAULT_STORE))

    def runs(self) -> list[Run]:
        """Every run, oldest first. Folders that hold no run are passed over.

        Raises:
            StoreError: a run that can't be read, or was written in a newer format.
        """
        found = [open_run(path.parent) for path in sorted(self.root.glob("*/run.json"))]
        return sorted(found, key=lambda run: (run.started_at, run.id))

    def find(self, text: str) -> Run:
        """The run of that id, unique part of one, or path.

        Raises:
            InputError: none, or several.
        """
        if (Path(text) / "run.json").exists():
            return open_run(Path(text))
        ids = sorted(path.parent.name for path in self.root.glob("*/run.json"))
        matches = [text] if text in ids else [name for name in ids if text and text in name]
        if len(matches) == 1:
            return open_run(self.root / matches[0])
        if matches:
            listed = ", ".join(matches[:5]) + (", ..." if len(matches) > 5 else "")
            raise InputError(f"{text!r} is part of {len(matches)} runs: {listed}", "Give more of the id.")
        raise InputError(
            f"no run {text!r} in {self.root}", "`loadline ls` lists the runs; --store names another store."
        )

    def create(self, suite: str, target: str, document: Mapping[str, Any], now: datetime) -> Run:
        """A new run folder with its run.json; its id is `YYYYMMDD-HHMMSS-suite-target`.

        Raises:
            StoreError: the store can't be written.
        """
        slug = re.sub(r"[^A-Za-z0-9._+-]+", "-", Path(target).name if "/" in target else target).strip("-.")[:40]
        base = f"{now:%Y%m%d-%H%M%S}-{suite}-{slug or 'root'}"
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            path, number = self.root / base, 2
            while True:
                try:
                    path.mkdir()
                    break
                except FileExistsError:
                    path, number = self.root / f"{base}-{number}", number + 1
        run = Run(path, {"format": FORMAT, **document})
        write_json(path / "run.json", run.document)
        return run


def open_run(path: Path) -> Run:
    """The run in the folder `path`.

    Raises:
        StoreError: no run, damaged, or of a newer format.
    """
    document = _read_json(path / "run.json")
    for key in ("suite", "target", "points", "sessions"):
        if key not in document:
            raise StoreError(f"{path / 'run.json'} has no {key!r}", "It isn't a run of loadline, or it is damaged.")
    return Run(path.resolve(), document)


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Holds the run, so that no second process measures into it.

    Raises:
        RefusedError: another process holds it.
    """
    with writing(run.path):
        lock = (run.path / "lock").open("a")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedError(f"run {run.id} is being measured by another process", "Wait until it ends.") from None
        yield


def begin_point(run: Run, index: int) -> Path:
    """An empty folder for the point; what a lost attempt left in it is removed, a failed attempt's result last."""
    path = run.point_path(index)
    with writing(path):
        if path.exists():
            # Renamed away first, so that a half-removed folder never looks like a result.
            doomed = path.with_name(f".{path.name}.old")
            shutil.rmtree(doomed, ignore_errors=True)
            path.rename(doomed)
            shutil.rmtree(doomed)
        path.mkdir(parents=True)
    return path


def commit_point(path: Path, result: Result, histograms: Mapping[str, Histogram]) -> None:
    """Makes the point part of the run, by one rename.

    Raises:
        StoreError: it can't be written; then the point doesn't exist.
    """
    bins = {
        name: dict(zip(("ns", "counts"), histogram.columns(), strict=True)) for name, histogram in histograms.items()
    }
    write_json(path / "point.json", {"format": FORMAT, "result": result.row(), "histograms": bins})


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes `document` whole or not at all."""
    write_bytes(path, json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")


def write_bytes(path: Path, data: bytes) -> None:
    """Writes `data` to a temporary name beside `path`, makes it durable and renames it.

    Raises:
        StoreError: it can't be written; `path` is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writing(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the system says of a failed write below `path` into a StoreError."""
    try:
        yield
    except LoadlineError:
        raise
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = "Free some space there" if full else "Check the path and its permissions"
        raise StoreError(f"{path} can't be written: {error.strerror}", f"{remedy}, or give another --store.") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"there is no {path}", "`loadline ls` lists the runs.") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} can't be read: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise StoreError(f"{path} has no format number", "It isn't a file of loadline's, or it is damaged.")
    if document["format"] > FORMAT:
        raise StoreError(
            f"{path} is of format {document['format']}, and this loadline reads formats up to {FORMAT}",
            "Read it with the newer loadline that wrote it.",
        )
    return document
