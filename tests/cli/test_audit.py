"""`import` and `audit` as scripts and people meet them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import Loadline
from results import measured, run_of

TABLE = "configuration,IOPS,MB/s,latency ms,outstanding\nA,32000,131.072,1.0,32\nB,64000,262.144,1.0,32\n"


def table(loadline: Loadline) -> Path:
    (loadline.folder / "t.csv").write_text(TABLE)
    return loadline.folder / "t.csv"


def test_an_error_ends_an_audit_with_1_and_is_told_with_its_remedy(loadline: Loadline) -> None:
    said = loadline("audit", table(loadline), "--workload", "block=4k")
    assert said.code == 1
    assert "error    littles-law     B: IOPS x mean latency is 64" in said.out
    assert "2 rows: 1 holds what cannot be, 1 without contradiction" in said.out
    assert "Check the unit" in said.out or "check unit and load" in said.out


def test_an_audit_without_an_error_ends_with_0(loadline: Loadline) -> None:
    (loadline.folder / "t.csv").write_text("\n".join(TABLE.splitlines()[:2]))
    assert loadline("audit", "t.csv", "--workload", "block=4k").code == 0


def test_json_has_each_finding_once_with_its_numbers(loadline: Loadline) -> None:
    said = loadline("audit", table(loadline), "--workload", "block=4k", "--json")
    assert said.code == 1
    errors = [one for one in said.json["findings"] if one["severity"] == "error"]
    assert [(one["check"], one["point"]) for one in errors] == [("littles-law", "B")]
    assert set(errors[0]) == {"check", "severity", "run", "point", "message", "numbers", "remedy"}
    assert errors[0]["numbers"]["share"] == 2.0
    assert said.json["error"] is None


def test_an_import_shows_how_it_understood_the_columns_and_is_a_run_like_others(loadline: Loadline) -> None:
    said = loadline("import", table(loadline), "--workload", "block=4k", "--tag", "source=report")
    assert said.code == 0, said.err
    assert "latency ms" in said.out and "latency_mean_ns" in said.out
    (run,) = loadline.runs()
    shown = loadline("show", "last", "--json").json
    assert [row["origin"] for row in shown["results"]] == ["imported", "imported"]
    assert shown["results"][0]["tags"] == {"configuration": "A", "source": "report"}
    assert {one["run"] for one in shown["findings"]} == {run.name}
    assert loadline("report", "last", "-o", "x.md").code == 0
    assert loadline("audit", "last").code == 1
    resumed = loadline("resume", "last")
    assert (resumed.code, "was imported" in resumed.err) == (2, True)


def test_what_report_writes_is_read_again(loadline: Loadline) -> None:
    loadline("import", table(loadline), "--workload", "block=4k")
    for name in ("x.csv", "x.json"):
        assert loadline("report", "last", "-o", name).code == 0
        again = loadline("audit", name, "--json").json["results"]
        assert [row["iops"] for row in again] == [32000.0, 64000.0]
        assert {row["run"] for row in again} == {loadline.runs()[0].name}


def test_runs_and_files_are_judged_together(loadline: Loadline) -> None:
    run = run_of(loadline.store, [measured("oltp-db", 16_000.0, 2.0)])
    said = loadline("audit", run.id, table(loadline), "--json").json
    assert [row["origin"] for row in said["results"]] == ["measured", "imported", "imported"]
    assert [one["run"] for one in said["runs"]] == [run.id]


def test_what_is_neither_run_nor_file_is_bad_input(loadline: Loadline) -> None:
    assert loadline("audit", "nothing").code == 2
    assert loadline("import", "nothing.csv").code == 2
    assert loadline("import", table(loadline), "--map", "IOPS=speed").code == 2
    assert loadline("import", table(loadline), "--workload", "block=4x").code == 2


def test_a_report_of_a_file_is_audited_and_stores_nothing(loadline: Loadline) -> None:
    said = loadline("report", table(loadline), "--workload", "block=4k", "-o", "x.md", "--json")
    assert said.code == 0, said.err
    assert [one["check"] for one in said.json["findings"] if one["severity"] == "error"] == ["littles-law"]
    page = (loadline.folder / "x.md").read_text()
    assert "| A | 32,000 | 131 | 1.00 |" in page
    assert "littles-law" in page
    assert loadline.runs() == []


def test_runs_and_files_stand_side_by_side_in_a_report(loadline: Loadline) -> None:
    loadline("import", table(loadline), "--workload", "block=4k")
    (run,) = loadline.runs()
    said = loadline("report", run.name, "t.csv", "t.csv", "--workload", "block=4k", "-o", "x.json")
    assert said.code == 0, said.err
    rows = loadline("audit", "x.json", "--json").json["results"]
    assert len(rows) == 4


def test_a_question_tells_of_runs_that_cannot_be_read_in_the_words_of_the_list(loadline: Loadline) -> None:
    pytest.importorskip("duckdb")
    whole, lost, newer, hurt = (run_of(loadline.store, [measured(name)], seconds=4).path for name in "abcd")
    assert loadline("query", "select * from series").err == ""
    (lost / "run.json").unlink()
    (newer / "run.json").write_text('{"format": 99}')
    (hurt / "points/001-d/point.json").write_text("{")
    listed, asked = loadline("ls"), loadline("query", "select point from results")
    assert (listed.code, asked.code) == (0, 0)
    for path in (f"{lost} has no run.json", newer / "run.json", hurt / "points/001-d/point.json"):
        assert str(path) in " ".join(listed.err.split())
    assert f"{whole}/" not in asked.err
    assert set(listed.err.splitlines()) < set(asked.err.splitlines())


def test_a_series_that_was_cut_off_is_told_of_by_a_question_and_a_report(loadline: Loadline) -> None:
    pytest.importorskip("duckdb")
    run = run_of(loadline.store, [measured("a"), measured("b")], seconds=4)
    cut = run.point_path(1) / "series.parquet"
    cut.write_bytes(cut.read_bytes()[:300])
    for words in (["query", "select point from series"], ["report", run.id, "-o", "page.html"]):
        said = loadline(*words)
        assert said.code == 0
        assert f"{cut} was cut off" in " ".join(said.err.split())
    (run.point_path(1) / "point.json").unlink()
    assert loadline("query", "select point from series").err == ""
