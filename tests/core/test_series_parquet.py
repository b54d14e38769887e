"""Parquet files, read back with DuckDB."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadline._core import series_parquet

duckdb = pytest.importorskip("duckdb")


def read_back(path: Path, file: bytes) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    path.write_bytes(file)
    relation = duckdb.read_parquet(str(path))
    return list(zip(relation.columns, map(str, relation.types), strict=True)), relation.fetchall()


def test_values_nulls_and_unicode_come_back(tmp_path: Path) -> None:
    file = series_parquet(
        [
            ("end_ns", "int64", [0, -(2**63), 2**63 - 1, None]),
            ("iops", "double", [1.5, None, -0.0, 7]),
            ("näme, 名前", "utf8", ["", "µs \U0001f41f \0", None, "x" * 100_000]),
        ]
    )
    schema, rows = read_back(tmp_path / "series.parquet", file)
    assert schema == [("end_ns", "BIGINT"), ("iops", "DOUBLE"), ("näme, 名前", "VARCHAR")]
    assert rows == [
        (0, 1.5, ""),
        (-(2**63), None, "µs \U0001f41f \0"),
        (2**63 - 1, -0.0, None),
        (None, 7.0, "x" * 100_000),
    ]


def test_a_series_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    schema, rows = read_back(tmp_path / "empty.parquet", series_parquet([("a", "int64", []), ("b", "utf8", ())]))
    assert (schema, rows) == ([("a", "BIGINT"), ("b", "VARCHAR")], [])


def test_a_column_of_nulls_comes_back(tmp_path: Path) -> None:
    _, rows = read_back(tmp_path / "nulls.parquet", series_parquet([("a", "double", [None] * 3)]))
    assert rows == [(None,)] * 3


def test_numbers_that_are_none_stay_apart_from_null(tmp_path: Path) -> None:
    _, rows = read_back(tmp_path / "odd.parquet", series_parquet([("a", "double", [math.nan, math.inf, None])]))
    assert math.isnan(rows[0][0])
    assert rows[1:] == [(math.inf,), (None,)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.text()), max_size=50))
def test_any_rows_come_back(tmp_path: Path, expected: list[tuple[int | None, str | None]]) -> None:
    file = series_parquet(
        [("number", "int64", [row[0] for row in expected]), ("text", "utf8", [row[1] for row in expected])]
    )
    assert read_back(tmp_path / "any.parquet", file)[1] == expected


def test_the_same_columns_make_the_same_bytes() -> None:
    columns = [("a", "int64", [1, 2, None]), ("b", "utf8", ["x", None, "x"])]
    assert series_parquet(columns) == series_parquet(columns)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([("a", "float", [1])], "unknown type"),
        ([("a", "int64", [1]), ("b", "int64", [])], "'b' has 0 values|\"b\" has 0 values"),
        ([("a", "int64", [1, 2**63])], "row 1"),
        ([("a", "int64", [1.5])], "no int64"),
        ([("a", "int64", [True])], "no int64"),
        ([("a", "int64", ["1"])], "no int64"),
        ([("a", "double", ["1"])], "no double"),
        ([("a", "utf8", [1])], "no utf8"),
        ([("a", "utf8", [b"1"])], "no utf8"),
        ([("a", "utf8", ["\ud800"])], "no utf8"),
        ([("a", "int64", [1]), ("a", "int64", [2])], "two columns"),
        ([], "at least one column"),
    ],
)
def test_columns_that_do_not_fit_are_value_errors_with_the_place(
    columns: list[tuple[str, str, list[object]]], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        series_parquet(columns)
