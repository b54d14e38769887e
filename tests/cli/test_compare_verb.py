"""The verb: what it prints, writes and ends with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from cli.program import PROGRAM, Loadline
from core.golden import FOLDER
from judging.test_compare import run
from results import failed, run_of

from loadline.cli import output
from loadline.reporting.table import Group, Table

TABLE = """system,profile,IOPS,latency ms
old,read,100000,2.5
new,read,200000,1.2
old,write,50000,5.1
new,write,50500,5.0
"""


@pytest.fixture
def table(loadline: Loadline) -> Path:
    path = loadline.folder / "two.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def two_runs(loadline: Loadline) -> list[str]:
    rows = (run("", 1000.0).rows[0], run("", 900.0).rows[0])
    return [run_of(loadline.store, [row]).id for row in rows]


def test_two_runs_of_the_store_are_compared(loadline: Loadline, two_runs: list[str]) -> None:
    said = loadline("compare", *two_runs)
    assert said.code == 0, said.err
    assert "▼ worse" in said.out
    said = loadline("compare", *two_runs, "--baseline", two_runs[1], "--figures", "iops")
    assert "▲ better" in said.out


def test_a_run_against_itself_is_the_same(loadline: Loadline, two_runs: list[str]) -> None:
    said = loadline("compare", two_runs[0], two_runs[0], "--json", "--figures", "iops,latency")
    assert {cell["verdict"] for cell in said.json["comparison"]["cells"]} == {"same"}


def test_a_table_is_compared_by_its_columns(loadline: Loadline, table: Path) -> None:
    said = loadline("compare", table, "--by", "system")
    assert said.code == 0, said.err
    assert "100,000 −" in said.out
    assert "200,000 +" in said.out
    assert "isn't known: repeat them" in said.out


def test_thresholds_end_it_with_1_and_typing_errors_with_2(loadline: Loadline, two_runs: list[str]) -> None:
    assert loadline("compare", *two_runs, "--fail-if", "oltp-db.iops < 0.95 * baseline").code == 1
    assert loadline("compare", *two_runs, "--fail-if", "oltp-db.iops < 0.85 * baseline").code == 0
    for wrong in ("oltp.iops < 5", "oltp-db.iops", "oltp-db.speed < 5"):
        said = loadline("compare", *two_runs, "--fail-if", wrong, "--json")
        assert (said.code, said.json["error"]["kind"]) == (2, "input")


def test_what_is_not_sure_fails_only_if_that_is_asked_for(loadline: Loadline) -> None:
    rows = (run("", 1000.0, ci95=50.0).rows[0], run("", 940.0, ci95=50.0).rows[0])
    runs = [run_of(loadline.store, [row]).id for row in rows]
    threshold = ("--fail-if", "oltp-db.iops < 0.95 * baseline")
    assert loadline("compare", *runs, *threshold).code == 0
    assert loadline("compare", *runs, *threshold, "--fail-unsure").code == 1


def test_a_failed_point_fails_its_threshold(loadline: Loadline, two_runs: list[str]) -> None:
    row = run("").rows[0]
    lost = replace(failed("oltp-db"), workload=row.workload, outstanding_asked=row.outstanding_asked)
    broken = run_of(loadline.store, [lost]).id
    said = loadline("compare", two_runs[0], broken, "--fail-if", "oltp-db.iops < 0.5 * baseline")
    assert said.code == 1
    assert "can't be judged" in said.out


def test_what_prevents_most_verdicts_is_said_first(loadline: Loadline, two_runs: list[str]) -> None:
    quick = run_of(loadline.store, [replace(run("", 900.0).rows[0], quick=True)]).id
    first, *_ = loadline("compare", two_runs[0], quick).out.splitlines()
    assert re.match(r"(\d+) of \1 figures can't be told, because", first)
    assert "quick run" in first
    assert not loadline("compare", *two_runs, "--figures", "iops").out.startswith("1 of 1")


def test_a_table_that_is_written_is_not_printed_too(loadline: Loadline, two_runs: list[str]) -> None:
    said = loadline("compare", *two_runs, "-o", "out.md").out
    assert "figures against" in said
    assert "wrote out.md" in said
    assert "verdict" not in said


def test_files_are_of_their_endings(loadline: Loadline, two_runs: list[str]) -> None:
    threshold = ("--fail-if", "*.iops < 0.95 * baseline")
    for ending in ("csv", "md", "json", "xml"):
        assert loadline("compare", *two_runs, "-o", f"out.{ending}", *threshold).code == 1
    text = {path.suffix: path.read_text() for path in loadline.folder.glob("out.*")}
    assert text[".csv"].startswith("point,figure,side,baseline_value,value,ratio,low,high,verdict")
    assert "| ▼ worse |" in text[".md"]
    assert json.loads(text[".json"])["comparison"]["thresholds"][0]["state"] == "fails"
    assert ET.fromstring(text[".xml"]).get("failures") == "1"
    assert loadline("compare", *two_runs, "-o", "out.doc").code == 2


def test_one_side_alone_is_refused_with_what_varies(loadline: Loadline, table: Path) -> None:
    said = loadline("compare", table)
    assert said.code == 2
    assert "system" in said.err


@pytest.mark.parametrize("column", ["origin", "target", "run"])
def test_a_table_is_compared_by_a_column_that_loadline_has_too(loadline: Loadline, table: Path, column: str) -> None:
    table.write_text(TABLE.replace("system", column))
    said = loadline("compare", table, "--by", column, "--json")
    assert [side["name"] for side in said.json["comparison"]["sides"]] == ["old", "new"]


def test_a_terminal_shows_titles_that_are_wider_than_all_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    output.show(Table(("point", "IOPS"), (Group("mean latency, ms", (("p", "1"),)),)))
    assert "mean latency, ms" in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_threshold_fails_though_nobody_reads_what_is_printed(
    loadline: Loadline, two_runs: list[str], more: tuple[str, ...]
) -> None:
    read, write = os.pipe()
    os.close(read)
    words = [PROGRAM, "compare", *two_runs, "--fail-if", "*.iops < 0.95 * baseline", *more]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, cwd=loadline.folder, env=loadline.environment)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("verb", ["compare", "report"])
def test_a_file_that_is_read_is_not_overwritten(loadline: Loadline, table: Path, verb: str) -> None:
    said = loadline(verb, table, "-o", f"../{loadline.folder.name}/two.csv")
    assert (said.code, table.read_text()) == (2, TABLE)
    assert "would be overwritten" in said.err


def test_sides_with_nothing_in_common_are_refused_with_what_each_has(loadline: Loadline, table: Path) -> None:
    table.write_text("system,profile,IOPS\nold,a,100\nnew,b,200\n")
    said = loadline("compare", table, "--by", "system")
    assert (said.code, said.out) == (2, "")
    assert "old has a; new has b" in said.err
    assert "--workload" in said.err
    table.write_text("system,profile,IOPS\nold,a,100\nnew,a,n/a\n")
    said = loadline("compare", table, "--by", "system")
    assert said.code == 2
    assert "old iops; new none" in said.err


def test_a_resolution_is_a_share_in_percent_or_plain(loadline: Loadline, table: Path) -> None:
    said = [loadline("compare", table, "--by", "system", "--resolution", text, "--json") for text in ("5%", "0.05")]
    assert [one.json["comparison"]["resolution"] for one in said] == [0.05, 0.05]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--resolution", "100%"), "--resolution 100%"),
        (("--resolution", "much"), "--resolution"),
        (("--figures", ","), "--figures names nothing"),
        (("--by", ""), "--by names nothing"),
        (("--chart", "bars"), "-o FILE.png"),
        (("--fail-unsure",), "--fail-if"),
    ],
)
def test_an_option_that_can_mean_nothing_is_refused(
    loadline: Loadline, table: Path, options: tuple[str, ...], words: str
) -> None:
    said = loadline("compare", table, *(() if "--by" in options else ("--by", "system")), *options)
    assert said.code == 2
    assert words in said.err


def test_a_figure_that_is_named_twice_is_compared_once(loadline: Loadline, table: Path) -> None:
    said = loadline("compare", table, "--by", "system", "--figures", "latency,iops,latency_mean_ns", "--json")
    assert len(said.json["comparison"]["cells"]) == 4


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("nosuch.json", "there is no file 'nosuch.json' and no run"),
        ("folder", "neither a file nor the folder of a run"),
        ("-", "'-', standard input, isn't read"),
        ("x" * 300, "xx': File name too long"),
        ("/dev/null", "neither a file nor the folder of a run"),
        ("broken.json", "not valid JSON: Expecting value in line 2, column 2"),
        ("other.json", "neither fio nor loadline"),
    ],
)
def test_what_is_no_source_is_said_as_what_it_is(loadline: Loadline, table: Path, word: str, words: str) -> None:
    (loadline.folder / "folder").mkdir()
    (loadline.folder / "broken.json").write_text('{"a":\n ')
    (loadline.folder / "other.json").write_text('{"a": 1}')
    said = loadline("compare", table, word)
    assert said.code == 2
    assert words in said.err


def test_fios_files_at_two_depths_are_compared_as_the_refusal_says(loadline: Loadline) -> None:
    text = (FOLDER / "two-groups.json").read_text()
    for depth in (4, 16):
        deeper = re.sub(r'"iodepth" : "\d+"', f'"iodepth" : "{depth}"', text)
        (loadline.folder / f"depth{depth}.json").write_text(deeper)
    said = loadline("compare", "depth4.json", "depth16.json")
    assert said.code == 2
    assert "--by queue_depth" in said.err
    said = loadline("compare", "depth4.json", "depth16.json", "--by", "queue_depth")
    assert said.code == 0, said.err
    assert "queue_depth=16" in said.out
    assert "good for" not in said.out
