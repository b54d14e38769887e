"""Questions in SQL: DuckDB over the run folders as they lie there. Nothing is copied, nothing is kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from glob import escape, iglob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadline.errors import InputError, StoreError
from loadline.reporting.full import needs
from loadline.result.schema import COLUMNS, FORMAT
from loadline.result.series import SERIES_COLUMNS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Of the view `runs`: name, type, where it stands in run.json, meaning. The folder itself says where it is.
RUN_COLUMNS = (
    ("suite", "VARCHAR", "$.suite.name", "name of the suite"),
    ("title", "VARCHAR", "$.suite.title", "title of the suite"),
    ("target", "VARCHAR", "$.target.path", "what was loaded"),
    ("target_size_bytes", "BIGINT", "$.target.size_bytes", "size of the target"),
    ("started_at", "VARCHAR", "$.sessions[0].started_at", "when the first session began, ISO 8601 in UTC"),
    ("loadline", "VARCHAR", "$.sessions[0].loadline", "the version that measured it"),
    ("tags", "MAP(VARCHAR, VARCHAR)", "$.tags", "what the user said of the run"),
    ("declared", "MAP(VARCHAR, VARCHAR)", "$.declared", "what the user said of the target"),
)

# Points, and the probes of those that are ramps.
_PLACES = ("points/*", "points/*/probes/*")

# A Parquet file of nothing but its marks and lengths.
_LEAST_BYTES = 12

_SERIES_TYPES = {"int64": "BIGINT", "double": "DOUBLE", "utf8": "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question gave: names and DuckDB's types of the columns, and the rows as Python values."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def ask(store: Path, sql: str) -> Answer:
    """The answer to `sql` over the views `results`, `series` and `runs` of all runs in the folder `store`.

    Raises:
        InputError: no such folder, SQL that DuckDB doesn't take, or `loadline[full]` isn't installed.
        StoreError: the folder can't be read.
    """
    try:
        there = store.is_dir()
    except OSError as error:
        raise StoreError(f"the store {store} can't be read: {error.strerror}", "Check its permissions.") from None
    if not there:
        raise InputError(f"there is no store {store}", "Name another one with --store.")
    duckdb = needs("duckdb", "a question in SQL")
    with closing(connect([f"{escape(str(store))}/*"], series="series" in sql.lower())) as connection:
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError(
                    "a question is one select, and nothing else", "Views to select from: results, series, runs."
                )
            relation = connection.sql(sql)
            types = tuple(map(str, relation.types))
            # What Python has no like of comes as DuckDB itself writes it.
            told = [
                f"{_name(column)}::VARCHAR as {_name(column)}" if _is_foreign(kind) else _name(column)
                for column, kind in zip(relation.columns, types, strict=True)
            ]
            rows = (relation.project(", ".join(told)) if any(map(_is_foreign, types)) else relation).fetchall()
            return Answer(tuple(relation.columns), types, rows)
        except duckdb.Error as error:
            views = "Views: results, series, runs; their columns are in docs/reference/results.md."
            # Of our columns the only one that is a reserved word.
            if isinstance(error, duckdb.ParserException) and re.search(r'(?<!")\blimit\b(?!\s*\d)', sql, re.IGNORECASE):
                views = f'The column limit is a word of SQL, too: write it in double quotes, "limit". {views}'
            raise InputError(f"DuckDB says: {' '.join(str(error).split())}", views) from None
        except RuntimeError as error:
            # Its word for Ctrl-C.
            raise KeyboardInterrupt from error


def _is_foreign(kind: str) -> bool:
    return any(word in kind for word in ("TIME ZONE", "INTERVAL", "BLOB", "BIT"))


def connect(folders: Iterable[str], *, series: bool = True) -> DuckDBPyConnection:
    """A connection with the views over the run folders that match any of the patterns `folders`.

    What isn't whole is passed over, as a point in progress is, and so is what a newer format wrote. Without `series`
    that view is empty, for each of its files has to be looked at.

    Raises:
        InputError: `loadline[full]` isn't installed.
    """
    duckdb = needs("duckdb", "a question in SQL")
    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    connection: DuckDBPyConnection = duckdb.connect(config=config)

    def files(*names: str) -> str:
        """Those of that name as a list in SQL; empty if there are none, for DuckDB refuses to read no file."""
        patterns = [f"{folder}/{name}" for folder in folders for name in names]
        kept = [one for one in patterns if next(iglob(one), None)]  # noqa: PTH207 - a pattern of several folders
        return f"[{', '.join(map(_text, kept))}]" if kept else ""

    folders = list(folders)
    points, targets = (files(*(f"{place}/{name}.json" for place in _PLACES)) for name in ("point", "targets"))
    connection.execute(f"create view results as {_results(points, targets)}")
    connection.execute(f"create view series as {_series(_whole(connection, folders) if series else '')}")
    connection.execute(f"create view runs as {_runs(files('run.json'))}")
    return connection


def cut_off(folders: Iterable[str]) -> list[StoreError]:
    """Why series of committed points in the run folders that match the patterns are passed over."""
    patterns = [f"{folder}/{place}/series.parquet" for folder in folders for place in _PLACES]
    found = [Path(path) for one in patterns for path in iglob(one)]  # noqa: PTH207 - a pattern of several folders
    return [
        StoreError(f"{path} was cut off or is damaged", "Its point counts, and has no series.")
        for path in sorted(found)
        if (path.parent / "point.json").exists() and not _is_parquet(path)
    ]


def _whole(connection: DuckDBPyConnection, folders: Iterable[str]) -> str:
    """The series that were written to their end, as a list in SQL: one broken file would fail all the others."""
    patterns = [f"{folder}/{place}/series.parquet" for folder in folders for place in _PLACES]
    found = [path for one in patterns for (path,) in connection.execute("select file from glob(?)", [one]).fetchall()]
    kept = [path for path in found if _is_parquet(Path(path))]
    return f"[{', '.join(map(_text, kept))}]" if kept else ""


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(4)
            file.seek(-4, os.SEEK_END)
            return head == file.read(4) == b"PAR1" and file.tell() > _LEAST_BYTES
    except OSError:
        return False


def _results(files: str, targets: str) -> str:
    types = {column.name: column.type for column in COLUMNS}
    if not files:
        return _nothing(types)
    # Many small files: read as text they take a hundredth of the time that read_json takes.
    shape = _text(json.dumps({"format": "BIGINT", "result": types}))
    # The conditions ask the text, not what becomes of it, or DuckDB would make that twice. Named one by one, columns
    # that aren't asked for cost nothing; unnested, all of them do.
    good = f"try_cast(content->>'$.format' as BIGINT) <= {FORMAT} and json_type(content, '$.result') = 'OBJECT'"
    columns = ", ".join(f"row.{_name(name)} as {_name(name)}" for name in types)
    every = [f"select from_json(content, {shape}).result as row from {_valid(files)} where {good}"]
    if targets:
        # Of several targets at once each has a row too, in a file beside the point's, which counts with that one.
        shape = _text(json.dumps({"targets": [types]}))
        good = good.replace("'$.result') = 'OBJECT'", "'$.targets') = 'ARRAY'")
        whole = f"parse_dirpath(filename) in (select parse_dirpath(filename) from read_text({files}))"
        rows = f"from_json(content, {shape}).targets"
        every.append(f"select unnest({rows}) as row from {_valid(targets)} where {good} and {whole}")
    return f"select {columns} from ({' union all '.join(every)})"


def _series(files: str) -> str:
    types = {name: _SERIES_TYPES[kind] for name, kind, _ in SERIES_COLUMNS}
    if not files:
        return _nothing({"run": "VARCHAR", "point": "VARCHAR", **types})
    run = "parse_path(filename)[case when parse_path(filename)[-3] = 'probes' then -6 else -4 end] as run"
    # The folder of a point or probe is its number, a dash, and its name.
    point = "regexp_replace(parse_path(filename)[-2], '^[0-9]+-', '') as point"
    columns = ", ".join(f"{name}::{kind} as {name}" for name, kind in types.items())
    # Runs of before lack columns; the empty one has all.
    empty = _nothing(types)
    read = f"{empty} union all by name select * from read_parquet({files}, filename = true, union_by_name = true)"
    return f"select {run}, {point}, {columns} from ({read})"


def _runs(files: str) -> str:
    types = {name: kind for name, kind, *_ in RUN_COLUMNS}
    if not files:
        return _nothing({"run": "VARCHAR", **types, "points": "BIGINT", "path": "VARCHAR"})

    def column(name: str, kind: str, place: str) -> str:
        if kind.startswith("MAP"):
            return f"(from_json(content->{_text(place)}, {_text(json.dumps(kind))})) as {name}"
        return f"(content->>{_text(place)})::{kind} as {name}"

    columns = ", ".join(column(name, kind, place) for name, kind, place, _ in RUN_COLUMNS)
    return (
        f"select parse_path(filename)[-2] as run, {columns}, json_array_length(content->'$.points') as points,"
        f" parse_dirpath(filename) as path from {_valid(files)}"
        f" where try_cast(content->>'$.format' as BIGINT) <= {FORMAT}"
    )


def _valid(files: str) -> str:
    """The files, without what is in those that hold no JSON. A condition wouldn't do: DuckDB is free to ask it last."""
    return f"(select filename, case when json_valid(content) then content end as content from read_text({files}))"


def _nothing(types: Mapping[str, str]) -> str:
    """A relation of those types without rows."""
    return f"select {', '.join(f'null::{kind} as {_name(name)}' for name, kind in types.items())} where false"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
