"""Reports as files: every column, every row, in every format."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import loadline
from loadline.errors import InputError
from loadline.reporting.report import FORMATS, Drawing, report
from loadline.result.point_folder import begin_point, commit_point
from loadline.result.schema import COLUMNS, Flow, Result
from loadline.result.store import Run, Store


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two points: one with figures and a hostile tag, one failed."""
    document = {
        "suite": {"name": "s", "title": "A | title"},
        "target": {"path": "/dev/sdx", "size_bytes": 10**9},
        "points": [{"name": "good"}, {"name": "bad"}],
        "sessions": [{"started_at": "2026-01-01T00:00:00+00:00"}],
    }
    made = Store(tmp_path / "runs").create("s", "sdx", document, datetime(2026, 1, 1))
    good = Result(
        run=made.id,
        point="good",
        access_class="random",
        quick=True,
        total=Flow(iops=1234.5, bytes_per_s=2e6),
        read=Flow(iops=1234.5, latency_mean_ns=1.5e6, latency_p99_ns=2_000_000),
        tags={"comma,": 'quo"te\nline'},
    )
    commit_point(begin_point(made.point_path(0)), good, {})
    commit_point(
        begin_point(made.point_path(1)), Result(run=made.id, point="bad", access_class="random", error="gone"), {}
    )
    return made


def test_a_csv_has_every_column_and_unknown_is_empty_not_zero(run: Run, tmp_path: Path) -> None:
    path = report([run], tmp_path / "x.csv")
    with path.open(newline="") as file:
        good, bad = csv.DictReader(file)
    assert list(good) == [column.name for column in COLUMNS]
    assert (good["iops"], good["quick"], good["read_latency_p99_ns"]) == ("1234.5", "true", "2000000")
    assert good["write_iops"] == ""
    assert json.loads(good["tags"]) == {"comma,": 'quo"te\nline'}
    assert (bad["error"], bad["iops"]) == ("gone", "")
    ((rows,),) = duckdb.sql(f"select count(*) from read_csv('{path}')").fetchall()
    assert rows == 2


def test_a_json_is_the_object_that_every_verb_prints(run: Run, tmp_path: Path) -> None:
    body = json.loads(report([run], tmp_path / "x.json").read_text())
    assert list(body) == ["format", "results", "probes", "runs", "findings", "error"]
    assert [Result.from_row(row) for row in body["results"]] == run.results()
    assert body["runs"][0]["failed"] == 1


def test_a_markdown_page_marks_quick_and_failed_points(run: Run, tmp_path: Path) -> None:
    text = report([run], tmp_path / "x.md").read_text()
    assert "| good* | 1,234 | 2.00 | 1.50 | – | 2.00 | – |" in text
    assert "| bad (failed) | – |" in text
    assert "bad failed: gone" in text


def test_rows_of_models_are_reported_as_runs_are(run: Run, tmp_path: Path) -> None:
    rows = loadline.solve("hdd-7k2", "database-ramp")
    text = loadline.report(rows, tmp_path / "x.md").read_text()
    assert "saturation IOPS" in text and "| database | disks 92" in text
    body = json.loads(report([*rows, run], tmp_path / "x.json").read_text())
    assert len(body["results"]) == 3 and len(body["probes"]) == 1 and len(body["runs"]) == 1
    assert report(rows[0], tmp_path / "one.html").stat().st_size > 10_000  # type: ignore[arg-type]
    for wrong, said in (
        (["hdd-7k2"], "'hdd-7k2' is no result"),
        ([None], "None is no result"),
        ([], "nothing to report"),
    ):
        with pytest.raises(InputError, match=said):
            report(wrong, tmp_path / "wrong.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"output": 5}, "output: 5 can't be"),
        ({"output": b"x.csv"}, "output: b'x.csv' can't be"),
        ({"drawing": "load"}, "drawing: 'load' can't be"),
        ({"drawing": Drawing(point=5)}, "drawing: point: 5 can't be"),  # type: ignore[arg-type]
        ({"command": None}, "command: None can't be"),
        ({"command": "loadline report last"}, "command: 'loadline report last' can't be"),
        ({"command": [1]}, r"command: \[1\] can't be"),
    ],
)
def test_what_can_be_no_argument_of_a_report_is_told_with_its_name(
    run: Run, tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        report(**{"results": [run], "output": tmp_path / "x.png", **wrong})
    assert caught.value.remedy


def test_an_unknown_ending_names_the_known_ones(run: Run, tmp_path: Path) -> None:
    for name in ("x.pdf", "x"):
        with pytest.raises(InputError) as caught:
            report([run], tmp_path / name)
        assert all(ending in caught.value.remedy for ending in FORMATS)
    with pytest.raises(InputError, match="no directory"):
        report([run], tmp_path / "missing" / "x.csv")
