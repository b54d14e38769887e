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

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.errors import InputError, RefusedError, StoreError
from loadline.result.file import fault, read_json, write_json, writing
from loadline.result.point_folder import probe_paths, read_histograms, read_probe, read_rows
from loadline.result.schema import FORMAT, Result
from loadline.workload.plan import Point

DEFAULT_STORE = "loadline-runs"

_ANEW = "put a copy in its place, if there is one, or measure anew: loadline run."
_NO_RUN = f"It isn't a run of loadline, or it's damaged: {_ANEW}"


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
        points = []
        for number, point in enumerate(self.document["points"], 1):
            try:
                points.append(Point.from_json(point))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise StoreError(f"{self.path / 'run.json'}: points: {number}: {fault(error)}", _NO_RUN) from None
        return tuple(points)

    def check_resumable(self) -> None:
        """Whether its document has what `resume` goes by.

        Raises:
            StoreError: it lacks something of it.
        """
        options = self.document.get("options") or {}
        lost = [f"options.{key}" for key in ("engine", "prepare") if key not in options]
        lost += [
            f"target.{key}" for one in self.targets for key in ("given", "identity", "used_bytes") if key not in one
        ]
        if lost:
            raise StoreError(f"{self.path / 'run.json'}: {lost[0]} is missing", _NO_RUN)

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
        """What `ls` and `--json` say of a run; those that `resume` measures again failed, such as a damaged point."""
        results = list(self._read())
        failed = sum(
            isinstance(found, StoreError) or (found.error is not None and not found.over_limit) for found in results
        )
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
            *(StoreError(f"{path} has no run.json", _NO_RUN) for path in lost),
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
    document = read_json(path / "run.json", lambda: f"It's damaged: {_ANEW}")
    found = _fault(document)
    if found is not None:
        raise StoreError(f"{path / 'run.json'}: {found}", _NO_RUN)
    run = Run(path.resolve(), document)
    if "imported" not in document:
        _ = run.plan
    return run


def _opened(path: Path) -> Run | StoreError:
    try:
        return open_run(path)
    except StoreError as error:
        return error


# A name becomes a folder's and a section's name; nothing else than these may.
_POINT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")

# What is said of a value that isn't of a type.
_NO = {str: "no text", list: "no list", dict: "no object", int: "no whole number", bool: "neither true nor false"}

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
    (("options",), dict),
    (("options", "seed"), int),
    (("options", "prepare"), bool),
    (("options", "engine"), str),
    (("options", "order"), str),
    (("options", "repeats"), int),
    (("tags",), dict),
    (("declared",), dict),
)
_OF_SESSIONS: tuple[tuple[str, type], ...] = (
    ("machine", dict),
    ("devices", list),
    ("fio", dict),
    ("command", list),
    ("loadline", str),
)


def _fault(document: Mapping[str, Any]) -> str | None:
    """What is wrong with a run's document, None if nothing is."""
    for places, required in ((_REQUIRED, True), (_OPTIONAL, False)):
        for keys, kind in places:
            node: Any = document
            for key in keys:
                node = node.get(key) if isinstance(node, dict) else None
            if not isinstance(node, kind) and (required or node is not None):
                return f"{'.'.join(keys)} is {'missing' if node is None else _NO[kind]}"
    for point in document["points"]:
        if not isinstance(point, dict) or not _POINT_NAME.fullmatch(str(point.get("name"))):
            return "points: a point without a name that can be one"
    for one in document.get("targets") or ():
        if not isinstance(one, dict) or not isinstance(one.get("path"), str):
            return "targets: one without a path"
    for key in ("tags", "declared"):
        if not all(isinstance(value, str) for value in (document.get(key) or {}).values()):
            return f"{key}: a value that is no text"
    return _fault_of_sessions(document["sessions"])


def _fault_of_sessions(sessions: list[Any]) -> str | None:
    if not sessions or not all(isinstance(s, dict) and isinstance(s.get("started_at"), str) for s in sessions):
        return "sessions: one without a start"
    for key, kind in _OF_SESSIONS:
        if not all(session.get(key) is None or isinstance(session[key], kind) for session in sessions):
            return f"sessions: {key} is {_NO[kind]}"
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
