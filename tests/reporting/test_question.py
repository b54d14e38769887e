"""Questions in SQL over run folders: types, and what is passed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from results import failed, measured, run_of

from loadline.errors import InputError
from loadline.reporting.question import RUN_COLUMNS, ask
from loadline.result.schema import COLUMNS
from loadline.result.series import SERIES_COLUMNS
from loadline.result.store import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    rows = [measured("good", tags={"raid": "10", "it's": 'quo"ted'}), failed("bad")]
    return run_of(tmp_path / "store", rows, seconds=4, tags={"raid": "10"})


def rows(store: Path, sql: str) -> list[tuple[object, ...]]:
    return list(ask(store, sql).rows)


def test_views_have_the_columns_and_types_of_the_schema_even_when_they_are_empty(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for view, expected in (
        ("results", {column.name: column.type for column in COLUMNS}),
        ("runs", {"run": "VARCHAR", **{name: kind for name, kind, *_ in RUN_COLUMNS}, "points": None, "path": None}),
        ("series", {"run": "VARCHAR", "point": "VARCHAR", **{column.name: None for column in SERIES_COLUMNS}}),
    ):
        full, empty = (ask(store, f"select * from {view}") for store in (run.path.parent, tmp_path / "empty"))
        assert full.columns == empty.columns == tuple(expected)
        for found, nothing, kind in zip(full.types, empty.types, expected.values(), strict=True):
            assert found == (kind or found)
            assert nothing in {found, "UBIGINT", "BIGINT"}, view
        assert full.rows
        assert not empty.rows


def test_values_are_those_that_were_stored_and_unknown_is_null(run: Run) -> None:
    question = "select iops, read_latency_p99_ns, quick, tags['it''s'], error from results order by point desc"
    assert rows(run.path.parent, question) == [
        (1000.0, 5_400_000, False, 'quo"ted', None),
        (None, None, False, None, "the device went away"),
    ]


def test_a_series_names_its_run_and_point(run: Run) -> None:
    question = "select distinct run, point, count(*) over () from series where source = 'io' and time_ns > 0"
    assert rows(run.path.parent, question) == [(run.id, "good", 4)]


def test_runs_and_results_join(run: Run) -> None:
    question = "select u.target, u.tags['raid'], r.point from runs u join results r using (run) where r.error is null"
    assert rows(run.path.parent, question) == [("/dev/sdx", "10", "good")]


def test_what_is_damaged_or_newer_is_passed_over(run: Run) -> None:
    good = run.path / "points/001-good/point.json"
    newer = run_of(run.path.parent, [measured("newer")])
    path = newer.path / "points/001-newer/point.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    (newer.path / "run.json").write_text("{")
    (run.path / "points/002-bad/point.json").write_bytes(good.read_bytes()[:100])
    assert rows(run.path.parent, "select point from results") == [("good",)]
    assert rows(run.path.parent, "select run from runs") == [(run.id,)]


@pytest.mark.parametrize("name", ["it's", "'; drop view results; --", 'a "b"', "*", "[ab]?", "a b\nc", "ü"])
def test_a_store_may_have_any_name(tmp_path: Path, name: str) -> None:
    run_of(tmp_path / name, [measured("good")], seconds=3)
    run_of(tmp_path / "other", [measured("elsewhere")])
    assert rows(tmp_path / name, "select point from results") == [("good",)]
    assert rows(tmp_path / name, "select distinct point from series") == [("good",)]
    assert rows(tmp_path / name, "select path from runs")[0][0].rstrip("/").startswith(str(tmp_path / name))  # type: ignore[attr-defined]


@pytest.mark.parametrize("sql", ["selec 1", "select nothing from results", "select * from elsewhere", ""])
def test_what_duckdb_refuses_is_said_with_the_views(run: Run, sql: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(run.path.parent, sql)
    assert "results, series, runs" in caught.value.remedy or "select" in caught.value.remedy


@pytest.mark.parametrize("sql", ["select point, limit from results", "select point from results order by Limit"])
def test_the_column_that_is_a_word_of_sql_is_said_to_stand_in_quotes(run: Run, sql: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(run.path.parent, sql)
    assert 'in double quotes, "limit"' in caught.value.remedy
    assert ask(run.path.parent, 'select "limit" from results limit 1').columns == ("limit",)


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store") as caught:
        ask(tmp_path / "missing", "select 1")
    assert "--store" in caught.value.remedy


def test_a_series_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    run = run_of(tmp_path, [measured("a", 100.0, 1.0), measured("b", 100.0, 1.0)], seconds=3)
    cut = run.point_path(0) / "series.parquet"
    cut.write_bytes(cut.read_bytes()[:300])
    (run.point_path(1).parent / "003-c").mkdir()
    (run.point_path(1).parent / "003-c" / "series.parquet").write_bytes(b"")
    assert ask(tmp_path, "select distinct point from series").rows == [("b",)]


@pytest.mark.parametrize("sql", ["select 1; select 2", "copy (select 1) to 'x.csv'", "create table t (a int)", ""])
def test_a_question_is_one_select(tmp_path: Path, sql: str) -> None:
    with pytest.raises(InputError, match="one select"):
        ask(tmp_path, sql)


def test_times_and_intervals_come_as_duckdb_writes_them(tmp_path: Path) -> None:
    said = ask(tmp_path, "select timestamptz '2026-01-01 00:00:00+00' = now(), interval 1 month, 'a'::blob").rows
    assert said == [(False, "1 month", "a")]
