"""What an audit is given: runs of a store and files of others, as rows with what is known beside them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadline.errors import InputError
from loadline.judging.audit import audit
from loadline.judging.matching import Source, source_of
from loadline.result.importers.asked import Loads, parse_loads
from loadline.result.importers.column import parse_map
from loadline.result.importers.importing import Rows, read_files, store_rows
from loadline.result.schema import Result
from loadline.result.store import Run, Store
from loadline.workload.suite import is_file


@dataclass(frozen=True, slots=True)
class Audited:
    """Rows with their findings.

    Attributes:
        runs: those of them that lie in a store.
        read: what was read of files.
    """

    results: tuple[Result, ...]
    runs: tuple[Run, ...]
    read: Rows


def audit_sources(
    words: Sequence[str],
    *,
    store: str | Path | None = None,
    maps: Sequence[str] = (),
    workload: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
) -> Audited:
    """The rows of runs and files, judged together; nothing is stored.

    Args:
        words: each an existing file, else a run as `Store.find` takes it.
        maps, workload: of files: `HEAD=COLUMN[:UNIT]`, and what was asked, as `import_results` takes them.
        tags: of files: what is said of all rows.

    Raises:
        InputError: no such run or file, or no results in it.
    """
    place = Store.locate(None if store is None else str(store), os.environ)
    files = [word for word in words if is_file(word)]
    runs = tuple(_run(place, word) for word in words if word not in files)
    read = read_files(files, maps=parse_map(list(maps)), loads=parse_loads(workload), tags=tags)
    results = [result for run in runs for result in run.results() + run.probes()]
    documents = {run.id: run.document for run in runs}
    return Audited(tuple(audit([*results, *read.results], documents, read.series)), runs, read)


def _run(place: Store, word: str) -> Run:
    """The run of what is no file."""
    try:
        if Path(word).exists() and not (Path(word) / "run.json").exists():
            raise InputError(f"{word!r} is neither a file nor the folder of a run", "Name a file of results, or a run.")
        return place.find(word)
    except OSError as error:
        what = f"can't read the file or run {word[:80]!r}: {error.strerror}"
        raise InputError(what, "Check its name and permissions, or name another.") from None
    except InputError as error:
        if not error.message.startswith("no run"):
            raise
        raise InputError(f"there is no file {word[:80]!r} and {error.message}", error.remedy) from None


@dataclass(frozen=True, slots=True)
class Sources:
    """Runs and files as they were named, to be compared with each other."""

    sources: tuple[Source, ...]
    runs: tuple[Run, ...]
    warnings: tuple[str, ...]


def sources_of(
    words: Sequence[str],
    *,
    store: str | Path | None = None,
    maps: Sequence[str] = (),
    workload: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
) -> Sources:
    """The rows of each run or file, under a name of its own: a run's id, or as short a file's name as tells it apart.

    Args and errors as of `audit_sources`.
    """
    place = Store.locate(None if store is None else str(store), os.environ)
    meant, loads = parse_map(list(maps)), parse_loads(workload)
    found: list[Source] = []
    runs: list[Run] = []
    warnings: list[str] = []
    seen: set[Path] = set()
    for word, name in zip(words, _names(words), strict=True):
        run = None if is_file(word) else _run(place, word)
        path = (Path(word) if run is None else run.path).resolve()
        if path in seen:
            warnings.append(f"{word} is given a second time, and differs in nothing from itself")
        seen.add(path)
        if run is None:
            read = read_files([word], maps=meant, loads=loads, tags=tags)
            warnings += read.warnings
            found.append(Source(name, read.results))
            continue
        runs.append(run)
        found.append(source_of(run))
    return Sources(_told_apart(found), tuple(runs), tuple(warnings))


def _names(words: Sequence[str]) -> list[str]:
    """A file's name without its ending, its whole name where that is another's, too, else its path."""
    ways = (lambda word: Path(word).stem, lambda word: Path(word).name, str)
    return [
        next((name for way in ways if [way(other) for other in words].count(name := way(word)) == 1), word)
        for word in words
    ]


def _told_apart(sources: Sequence[Source]) -> tuple[Source, ...]:
    seen: dict[str, int] = {}
    found = []
    for source in sources:
        seen[source.name] = seen.get(source.name, 0) + 1
        number = seen[source.name]
        found.append(source if number == 1 else replace(source, name=f"{source.name} #{number}"))
    return tuple(found)


def import_results(
    files: Sequence[str | Path],
    *,
    store: str | Path | None = None,
    maps: Sequence[str] = (),
    workload: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
) -> tuple[Run, Rows]:
    """Keeps the results of files as a run of origin `imported`, audited.

    Args:
        files: fio's JSON, or CSV, TSV, Markdown and HTML tables.
        maps: what columns of tables mean: `HEAD=COLUMN[:UNIT]`; `HEAD=tag`, `HEAD=-`, `*=COLUMN`.
        workload: what was asked where files don't say it: `KEY=VALUE`, or a workload's name.
        tags: what is said of all rows.

    Returns:
        The run, and what was read: how columns were understood, and warnings.

    Raises:
        InputError: a file that can't be read or holds no results. StoreError: the store can't be written.
    """
    import loadline

    place = Store.locate(None if store is None else str(store), os.environ)
    loads: Loads = parse_loads(workload)
    rows = read_files(files, maps=parse_map(list(maps)), loads=loads, tags=tags)
    session = {
        "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "command": list(command),
        "loadline": loadline.__version__,
    }
    document: dict[str, Any] = {"tags": dict(tags or {}), "sessions": [session]}

    def judge(results: Sequence[Result], run: Run) -> Sequence[Result]:
        series = {(run.id, point): one for (_, point), one in rows.series.items()}
        return audit(results, {run.id: run.document}, series)

    return store_rows(place, rows, files, document, datetime.now(), judge), rows
