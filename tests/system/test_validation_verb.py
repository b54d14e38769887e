"""`loadline validate`, as a person would run it, on a small table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import Loadline

FILE = "device_model,workload,block_size,iodepth,iops\n2TB,fio randread,4k,1,106.1\n"
WORDS = ("validate", "--only", "md-raid5", "--ios", "200")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "md-raid5-8x2tb.csv").write_text(FILE)
    return folder


def test_a_record_has_every_figure_and_every_assumption_and_is_never_overwritten(
    loadline: Loadline, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    said = [loadline(*WORDS, "--data", data, "-o", folder, "--json") for _ in range(2)]
    assert [one.code for one in said] == [0, 0]
    assert len({file for one in said for file in one.json["files"]}) == 4
    page, rows = (Path(file).read_text() for file in said[0].json["files"])
    (section,) = json.loads(rows)["sections"]
    assert section == said[0].json["sections"][0]
    assert section["comparisons"][0]["measured"] == 106.1
    assert all(one["reason"] in page for one in said[0].json["assumptions"])
    assert str(data) not in page


def test_a_table_for_people_has_measured_forecast_error_bar_and_verdict(loadline: Loadline, data: Path) -> None:
    said = loadline(*WORDS, "--data", data)
    assert said.code == 0
    head, row, *_ = said.out.splitlines()[1:]
    assert head.split() == ["what", "unit", "measured", "forecast", "error", "bar", "within?", "note"]
    assert row.startswith("random read, depth 1")
    assert "15%" in row


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "nothing"), "there is no section 'nothing'"),
        (("--only", "h730"), "section h730 needs measurements"),
        (("--data", "nowhere"), "nowhere is no folder"),
        (
            ("--data", ".", "--only", "single-hdd"),
            ". lacks files that sections need (single-hdd: single-hdd.csv)\nName the folder",
        ),
        (("--data", "."), "(traces: NAME.trace beside a NAME.diskspecs or NAME.model; md-raid5: md-raid5-8x2tb.csv; "),
        (("--data", ".", "--only", "eva", "-o", "table"), "table is there, and no directory\n"),
        (("-o", "nowhere", "--only", "dl360"), "there is no directory nowhere"),
    ],
)
def test_bad_use_is_told_with_code_2(loadline: Loadline, words: tuple[str, ...], said: str) -> None:
    (loadline.folder / "table").touch()
    answer = loadline("validate", *words)
    assert answer.code == 2
    assert said in answer.err
