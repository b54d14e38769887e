"""Run folders: where results live.

    RUN/run.json                       plan, target, provenance, sessions; format version
    RUN/log.txt                        what loadline did
    RUN/points/001-oltp-db/            the job, the tool's raw output, series.parquet, histograms.json; last point.json
    RUN/points/002-ramp/probes/01-.../ the same of each probe of a ramp, whose own row is at the load line

A point's number is that of its turn: a repetition, or the same point on the next target, has a folder of its own. Of
several targets at once `point.json` has the row of all together, and `targets.json` beside it that of each.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from loadline._core import Histogram
from loadline.errors import InputError, LoadlineError, RefusedError, StoreError
from loadline.result.schema import FORMAT, Result
from loadline.workload.plan import Point

DEFAULT_STORE = "loadline-runs"

#: What to do when a run can't be written where it should be.
OTHER_STORE = "give another --store"


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
    def handle(self) -> str:
        """What names the run on a command line, whatever the store: its path, relative where that is shorter."""
        relative = os.path.relpath(self.path)
        return relative if len(relative) < len(str(self.path)) else str(self.path)

    @property
    def suite(self) -> str:
        """The suite's name."""
        return str(self.document["suite"]["name"])

    @property
    def target(self) -> str:
        """The target's path, as resolved; of several all of them."""
        return str(self.document["target"]["path"])

    @property
    def targets(self) -> list[Mapping[str, Any]]:
        """What run.json keeps of each target."""
        return list(self.document.get("targets") or [self.document["target"]])

    @property
    def started_at(self) -> str:
        """When the first session began, ISO 8601 in UTC."""
        return str(self.document["sessions"][0]["started_at"])

    @property
    def plan(self) -> tuple[Point, ...]:
        """The points that the run is to have."""
        try:
            return tuple(Point.from_json(point) for point in self.document["points"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self.path / 'run.json'}: points: not as loadline writes them ({error!r})") from None

    def point_path(self, index: int) -> Path:
        """The folder of point number `index` of the plan, from 0."""
        return self.path / "points" / f"{index + 1:03d}-{self.document['points'][index]['name']}"

    def result(self, index: int) -> Result | None:
        """The committed result of that point, None if there is none; of several targets the one of all together."""
        return next(iter(read_rows(self.point_path(index))), None)

    def results(self) -> list[Result]:
        """Every committed result, in the plan's order; of several targets at once that of all, then of each."""
        return [row for index in range(len(self.document["points"])) for row in read_rows(self.point_path(index))]

    def probes(self) -> list[Result]:
        """What its ramps asked on their way, in the order of asking; their own rows are among `results`."""
        folders = (self.point_path(index) for index in range(len(self.document["points"])))
        return [row for folder in folders for path in probe_paths(folder) for row in read_rows(path)]

    def kept(self) -> int:
        """How many probes of the points that have no result, or a failed one, `resume` needn't measure again."""

        def good(path: Path) -> bool:
            try:
                rows = read_probe(path)
            except StoreError:
                return False
            return bool(rows) and rows[0].error is None

        return sum(good(path) for index in self.missing() for path in probe_paths(self.point_path(index)))

    def histograms(self, index: int, target: str | None = None) -> dict[str, Histogram]:
        """The point's latency histograms: `read` and `write`; empty if the point failed before it had any.

        Args:
            target: which of several that were loaded at once; None: all together.
        """
        folder = self.point_path(index)
        names = [row.target for row in read_rows(folder)]
        return read_histograms(folder)[names.index(target) if target in names[1:] else 0]

    def missing(self) -> list[int]:
        """Numbers of the points that have no result, a damaged or a failed one, which another attempt may mend."""

        def good(index: int) -> bool:
            try:
                result = self.result(index)
            except StoreError:
                return False
            return result is not None and (result.error is None or result.over_limit)

        return [index for index in range(len(self.document["points"])) if not good(index)]

    def over_limit(self) -> list[Result]:
        """The rows of ramps that have no load line, because not even the lowest load keeps the limit."""
        return [found for found in self._read() if isinstance(found, Result) and found.over_limit]

    def damaged(self) -> list[StoreError]:
        """Why committed points can't be read."""
        return [found for found in self._read() if isinstance(found, StoreError)]

    def _read(self) -> Iterator[Result | StoreError]:
        for index in range(len(self.document["points"])):
            try:
                result = self.result(index)
            except StoreError as error:
                yield error
            else:
                if result is not None:
                    yield result

    def summary(self) -> dict[str, Any]:
        """What `ls` and `--json` say of a run; a damaged point is a failed one, for `resume` measures it again."""
        results = list(self._read())
        failed = sum(isinstance(found, StoreError) or found.error is not None for found in results)
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
        """Every run that can be read, oldest first. Folders that hold no run are passed over.

        Raises:
            InputError: the store is no directory. StoreError: it can't be read.
        """
        found = [run for run in map(_opened, self._folders()) if isinstance(run, Run)]
        return sorted(found, key=lambda run: (run.started_at, run.id))

    def damaged(self) -> list[StoreError]:
        """Why the other runs can't be read; folders of points are runs that lost their run.json."""
        lost = (path.parent for path in sorted(self.root.glob("*/points")) if not (path.parent / "run.json").exists())
        return [
            *(error for error in map(_opened, self._folders()) if isinstance(error, StoreError)),
            *(StoreError(f"{path} has no run.json", "It isn't a run of loadline, or it is damaged.") for path in lost),
        ]

    def _folders(self) -> list[Path]:
        try:
            self._check()
            return [path.parent for path in sorted(self.root.glob("*/run.json"))]
        except OSError as error:
            remedy = "Check its permissions, or name another one with --store."
            raise StoreError(f"the store {self.root} can't be read: {error.strerror}", remedy) from None

    def _check(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"the store {self.root} is not a directory", "Name another one with --store.")

    def find(self, text: str) -> Run:
        """The run of that id, unique part of one, or path; `last` is the newest.

        Raises:
            InputError: none, or several. StoreError: the store can't be read.
        """
        try:
            if text and (Path(text) / "run.json").exists():
                return open_run(Path(text))
        except OSError as error:
            remedy = "Check its permissions; `loadline ls` lists the runs."
            raise InputError(f"no run {text[:80]!r}: {error.strerror}", remedy) from None
        if text == "-":
            raise InputError("'-', standard input, isn't read", "Keep it in a file, and name that.")
        ids = [path.name for path in self._folders()]
        if text == "last" and ids:
            return open_run(self.root / ids[-1])
        matches = [text] if text in ids else [name for name in ids if text and text in name]
        if len(matches) == 1:
            return open_run(self.root / matches[0])
        if matches:
            listed = ", ".join(matches[:5]) + (", ..." if len(matches) > 5 else "")
            raise InputError(f"{text!r} is part of {len(matches)} runs: {listed}", "Give more of the id.")
        raise InputError(
            f"no run {text!r} in {self.root}", "`loadline ls` lists the runs; --store names another store."
        )

    def create(self, suite: str, target: str, document: Mapping[str, Any], now: datetime, more: str = "") -> Run:
        """A new run folder with its run.json; its id is `YYYYMMDD-HHMMSS-suite-target`, with `more` of other targets.

        Raises:
            InputError: the store is no directory. StoreError: it can't be written.
        """
        slug = re.sub(r"[^A-Za-z0-9._+-]+", "-", Path(target).name if "/" in target else target).strip("-.")[:40]
        base = f"{now:%Y%m%d-%H%M%S}-{suite[:64]}-{slug or 'root'}{more}"
        with writing(self.root):
            self._check()
            self.root.mkdir(parents=True, exist_ok=True)
            path, number = self.root / base, 2
            while True:
                try:
                    path.mkdir()
                    break
                except FileExistsError:
                    path, number = self.root / f"{base}-{number}", number + 1
        run = Run(path, {"format": FORMAT, **document})
        try:
            write_json(path / "run.json", run.document)
        except BaseException:
            # Without its run.json a folder would be no run, and in the way.
            with suppress(OSError):
                path.rmdir()
            raise
        return run


def open_run(path: Path) -> Run:
    """The run in the folder `path`.

    Raises:
        StoreError: no run, damaged, or of a newer format.
    """
    anew = "It's damaged: put a copy in its place, if there is one, or measure anew: loadline run."
    document = _read_json(path / "run.json", lambda: anew)
    fault = _fault(document)
    if fault is not None:
        raise StoreError(f"{path / 'run.json'}: {fault}", "It isn't a run of loadline, or it is damaged.")
    return Run(path.resolve(), document)


def _opened(path: Path) -> Run | StoreError:
    try:
        return open_run(path)
    except StoreError as error:
        return error


# A name becomes a folder's and a section's name; nothing else than these may.
_POINT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")

#: What must be in run.json and what may be, by place and type.
_REQUIRED: tuple[tuple[tuple[str, ...], type], ...] = (
    (("suite", "name"), str),
    (("suite", "title"), str),
    (("target", "path"), str),
    (("points",), list),
    (("sessions",), list),
)
_OPTIONAL: tuple[tuple[tuple[str, ...], type], ...] = (
    (("target", "given"), str),
    (("target", "kind"), str),
    (("target", "size_bytes"), int),
    (("target", "used_bytes"), int),
    (("target", "identity"), dict),
    (("targets",), list),
    (("options", "seed"), int),
    (("options", "prepare"), bool),
    (("tags",), dict),
    (("declared",), dict),
)


def _fault(document: Mapping[str, Any]) -> str | None:
    """What is wrong with a run's document, None if nothing is."""
    for places, required in ((_REQUIRED, True), (_OPTIONAL, False)):
        for keys, kind in places:
            node: Any = document
            for key in keys:
                node = node.get(key) if isinstance(node, dict) else None
            if not isinstance(node, kind) and (required or node is not None):
                return f"{'.'.join(keys)} is no {kind.__name__}"
    for point in document["points"]:
        if not isinstance(point, dict) or not _POINT_NAME.fullmatch(str(point.get("name"))):
            return "points: a point without a name that can be one"
    for one in document.get("targets") or ():
        if not isinstance(one, dict) or not isinstance(one.get("path"), str):
            return "targets: one without a path"
    sessions = document["sessions"]
    if not sessions or not all(isinstance(s, dict) and isinstance(s.get("started_at"), str) for s in sessions):
        return "sessions: one without a start"
    for key in ("tags", "declared"):
        if not all(isinstance(value, str) for value in (document.get(key) or {}).values()):
            return f"{key}: a value that is no text"
    return None


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
    rows: list[Any] = [_read_json(path, remedy).get("result")]
    try:
        rows += _read_json(others, remedy)["targets"] if others.exists() else []
        return [Result.from_row(row) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: {error}", remedy()) from None


def _remedy(folder: Path) -> str:
    """What helps where a file in a point's or probe's folder is damaged."""
    point = folder.parent.parent if folder.parent.name == "probes" else folder
    remedy = "`loadline resume` measures it again"
    with suppress(StoreError):
        whole = any(row.error is None for row in _rows(point, str)[:1])
        if "imported" in _read_json(point.parent.parent / "run.json", str):
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
    document = _read_json(path, lambda: _remedy(folder))
    try:
        return [
            {name: Histogram(bins["ns"], bins["counts"]) for name, bins in stored.items()}
            for stored in (document.get("histograms"), *document.get("targets", ()))
        ]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{path}: not as loadline writes it ({error!r})", _remedy(folder)) from None


def begin_ramp(run: Run, index: int) -> Path:
    """The folder of a ramp, whose probes of an earlier attempt stay."""
    path = run.point_path(index)
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
    return _emptied(folder / "probes" / f"{max(numbers, default=0) + 1:02d}-{name}")


def lose_probe(folder: Path) -> None:
    """Takes a damaged probe out of the run, as one that was never committed; its files stay for whoever looks."""
    with writing(folder):
        (folder / "point.json").replace(folder / "point.json.damaged")


def copy_series(probe: Path, folder: Path) -> None:
    """Puts a probe's series into the folder of its point. Raises StoreError if it can't be written."""
    with writing(folder / "series.parquet"):
        shutil.copyfile(probe / "series.parquet", folder / "series.parquet")


def begin_point(run: Run, index: int) -> Path:
    """An empty folder for the point; what a lost attempt left in it is removed, a failed attempt's result last."""
    return _emptied(run.point_path(index))


def _emptied(path: Path) -> Path:
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

    def bins(of: Mapping[str, Histogram]) -> dict[str, Any]:
        return {name: dict(zip(("ns", "counts"), one.columns(), strict=True)) for name, one in of.items()}

    if histograms:
        parts = {"targets": [bins(row.histograms) for row in targets]} if targets else {}
        write_json(path / "histograms.json", {"format": FORMAT, "histograms": bins(histograms), **parts})
    if targets:
        write_json(path / "targets.json", {"format": FORMAT, "targets": [row.result.row() for row in targets]})
    write_result(path, result)


def write_result(path: Path, result: Result) -> None:
    """Writes the row of a point whose other files are there already. Raises as `commit_point`."""
    write_json(path / "point.json", {"format": FORMAT, "result": result.row()})


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes `document` into a run, whole or not at all."""
    # A name that is not UTF-8 comes as lone surrogates; with a backslash they are what JSON writes for them.
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    write_bytes(path, text.encode("utf-8", "backslashreplace"), OTHER_STORE)


def check_place(path: Path) -> None:
    """Whether `write_bytes` may write a file there: to be asked before long work.

    Raises:
        InputError: a directory that isn't there, or what is no file, such as a device.
    """
    try:
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no directory {path.parent}", "Make it first.")
        _check_file(path)
        # What is written is put in its place by a rename.
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(
                f"{path} can't be written: no permission in {path.parent}", "Give another name, where you may write."
            )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} can't be written: {why}", "Give another name, where you may write.") from None


def _check_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is there, and no file", "Give the name of a file.")


def write_bytes(path: Path, data: bytes, elsewhere: str = "name another file") -> None:
    """Writes `data` to a temporary name beside `path`, makes it durable and renames it.

    Args:
        elsewhere: what else there is to do if it can't be written.

    Raises:
        InputError: there is something that is no file.
        StoreError: it can't be written; `path` is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writing(path, elsewhere):
        # A rename would put the file in the place of a device as well.
        _check_file(path)
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
def writing(path: Path, elsewhere: str = OTHER_STORE) -> Iterator[None]:
    """Turns what the system says of a failed write below `path` into a StoreError."""
    try:
        yield
    except LoadlineError:
        raise
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = "Free some space there" if full else "Check the path and its permissions"
        raise StoreError(f"{path} can't be written: {error.strerror}", f"{remedy}, or {elsewhere}.") from None


def _read_json(path: Path, remedy: Callable[[], str]) -> dict[str, Any]:
    """The object in a file of a run; `remedy` says what helps where it's damaged. Raises StoreError."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"there is no {path}", "`loadline ls` lists the runs.") from None
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}", "Check its permissions.") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} can't be read: {error}", remedy()) from None
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise StoreError(f"{path} has no format number", f"It isn't a file of loadline's, or: {remedy()}")
    if document["format"] > FORMAT:
        raise StoreError(
            f"{path} is of format {document['format']}, and this loadline reads formats up to {FORMAT}",
            "Read it with the newer loadline that wrote it.",
        )
    return document
