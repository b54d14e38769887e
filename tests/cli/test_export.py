"""`loadline export`, and other tools' files in the place of suites."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cli.program import Loadline

from loadline.workload.suite import load_suite

GOLDEN = Path(__file__).parent.parent / "golden"
FOREIGN = [
    GOLDEN / "icf/iometer-1.1.0.icf",
    GOLDEN / "vdbench/vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads",
]


@pytest.mark.parametrize("ending", ["fio", "icf", "vdbench", "hcibench"])
def test_a_suite_is_written_in_other_tools_words_and_read_back(loadline: Loadline, ending: str) -> None:
    said = loadline("export", "typical-12", "-o", f"out.{ending}")
    assert (said.code, said.out) == (0, f"wrote out.{ending}\n")
    back = loadline("suites", f"out.{ending}", "--json")
    assert len(back.json["suites"][0]["points"]) == 12
    if ending == "fio":
        words = ["fio", "--parse-only", "--filename=x", "out.fio"]
        assert subprocess.run(words, cwd=loadline.folder, capture_output=True).returncode == 0


def test_what_is_lost_is_said_on_standard_error_and_is_a_finding_of_each_point(loadline: Loadline) -> None:
    said = loadline("export", "log-writer", "-o", "out.icf", "--profile", "log", "--json")
    lines = said.err.splitlines()
    assert len(lines) == 2 and "Iometer has no O_DSYNC" in lines[0] and "not once they're precise" in lines[1]
    found = {(one["check"], one["severity"], one["point"]) for one in said.json["findings"]}
    assert found == {("export", "warning", f"log-b{size}") for size in ("4k", "8k", "16k", "64k")}
    assert said.json["file"] == "out.icf" and said.json["error"] is None
    fixed = loadline("export", "log-writer", "-o", "out.icf", "--profile", "log", "--stop", "fixed")
    assert len(fixed.err.splitlines()) == 1


def test_a_suite_is_not_written_over_itself(loadline: Loadline) -> None:
    loadline("export", "typical-12", "-o", "out.fio")
    before = (loadline.folder / "out.fio").read_bytes()
    said = loadline("export", "out.fio", "-o", "./out.fio")
    assert said.code == 2 and "is the suite itself" in said.err
    assert (loadline.folder / "out.fio").read_bytes() == before


def test_an_option_of_run_changes_what_is_written(loadline: Loadline) -> None:
    loadline("export", "database-ramp", "--queue-depth", "2,4", "--runtime", "9s", "-o", "out.vdbench")
    text = (loadline.folder / "out.vdbench").read_text()
    assert text.count("elapsed=9,") == 2 and "forthreads=(4)" in text


@pytest.mark.parametrize("ending", ["fio", "icf", "vdbench"])
@pytest.mark.parametrize(
    ("more", "start", "used"),
    [("", 0, 512), ('start = "25%"', 128, 384), ('start = "25%"\nworking_set = "64M"', 128, 64)],
)
def test_the_size_that_is_asked_for_is_written_and_read_back(
    loadline: Loadline, ending: str, more: str, start: int, used: int
) -> None:
    (loadline.folder / "one.toml").write_text(f"""
title = "One"
runtime = "60s"
warmup = "10s"
[[profile]]
name = "one"
block = "4k"
read = "70%"
random = "100%"
queue_depth = 4
{more}
""")
    assert loadline("export", "one.toml", "-o", f"out.{ending}", "--size", "512M").code == 0
    (point,) = load_suite(str(loadline.folder / f"out.{ending}"))[0].entries
    profile = point.loads[0][0].profile
    assert (profile.start_of(1 << 40) >> 20, profile.working_set_of(1 << 40) >> 20) == (start, used)


@pytest.mark.parametrize("ending", ["fio", "icf", "vdbench", "hcibench"])
def test_a_working_set_that_is_larger_than_the_size_is_refused(loadline: Loadline, ending: str) -> None:
    (loadline.folder / "one.fio").write_text("[one]\nrw=randread\nsize=1g\nruntime=9\ntime_based\n")
    said = loadline("export", "one.fio", "-o", f"out.{ending}", "--size", "512M")
    assert said.code == 2 and "is larger than the target (512M)" in said.err


def test_the_engine_of_a_job_file_is_said_where_nobody_named_it(loadline: Loadline) -> None:
    loadline("export", "log-writer", "-o", "out.fio")
    text = (loadline.folder / "out.fio").read_text()
    assert text.startswith("; ioengine=libaio works")
    assert "export --engine io_uring" in text
    loadline("export", "log-writer", "-o", "out.fio", "--engine", "io_uring")
    text = (loadline.folder / "out.fio").read_text()
    assert text.startswith("[global]\nioengine=io_uring\n")


@pytest.mark.parametrize(
    ("verb", "form"), [("suites", ("--fio",)), ("suites", ("--point", "oltp-db-qd5")), ("export", ("-o", "out.fio"))]
)
def test_an_engine_that_rounds_the_queue_depths_is_refused_in_job_files_as_in_runs(
    loadline: Loadline, verb: str, form: tuple[str, ...]
) -> None:
    options = (verb, "typical-12", "--profile", "oltp-db", "--queue-depth", "4,5", *form, "--engine")
    said = loadline(*options, "io_uring")
    assert said.code == 2 and "round queue depths up" in said.err
    assert loadline(*options, "libaio").code == 0


def test_a_job_file_that_shows_a_search_has_the_engine_that_the_search_takes(loadline: Loadline) -> None:
    assert "ioengine=libaio\n" in loadline("suites", "database-ramp", "--fio").out


def test_a_name_that_vdbench_cannot_have_is_told(loadline: Loadline) -> None:
    said = loadline("export", "typical-12", "--profile", "oltp-db", "--profile", "workstation", "-o", "out.vdbench")
    assert "out.vdbench: oltp-db: names have only letters, digits and _ there" in said.err


def test_a_search_is_written_as_plain_points_and_that_is_said(loadline: Loadline) -> None:
    done = loadline("export", "database-ramp", "-o", "out.fio")
    assert "out.fio can't search (1 to 65536 while mean<=30ms): written as qd1, qd2, qd4" in done.err
    depths = [line for line in (loadline.folder / "out.fio").read_text().splitlines() if line.startswith("iodepth=")]
    assert depths == [f"iodepth={1 << n}" for n in range(8)]


def test_rounds_are_written_once_and_that_is_said(loadline: Loadline) -> None:
    for ending in ("fio", "icf", "vdbench", "hcibench"):
        done = loadline("export", "snia-pts", "--profile", "throughput-1M", "-o", f"out.{ending}")
        assert done.code == 0
        said = f"throughput-1M: out.{ending} has no rounds until it's steady: each point is in it once"
        assert f"{said}, and the target isn't written twice before." in done.err


def test_a_target_that_is_written_once_before_rounds_is_said_to_be_so(loadline: Loadline) -> None:
    rounds = "[[rounds]]\nname = 'r'\nmost = 10\nwindow = 3\nfill = 1\ntrack = ['p']\n"
    profile = "[[profile]]\nname = 'p'\nblock = '4k'\nread = '0%'\nrandom = '100%'\nrounds = 'r'\n"
    (loadline.folder / "own.toml").write_text(f"title = 't'\nruntime = '10s'\n{rounds}{profile}")
    done = loadline("export", "own.toml", "-o", "out.fio")
    assert "and the target isn't written once before." in done.err


@pytest.mark.parametrize(("suite", "part"), [("six-patterns", "12%"), ("hci", "1%")])
def test_parts_of_a_target_become_whole_percents_for_fio_and_that_is_said(
    loadline: Loadline, suite: str, part: str
) -> None:
    done = loadline("export", suite, "-o", "out.fio")
    assert done.code == 0 and f"the part of each job is {part} of the target instead of" in done.err
    assert f"size={part}\noffset_increment={part}\n" in (loadline.folder / "out.fio").read_text()
    exact = loadline("export", suite, "-o", "out.fio", "--size", "80G")
    assert (exact.code, "whole percents" in exact.err) == (0, False)


def test_a_rate_that_fio_misses_is_written_as_near_as_it_can_and_refused_where_nothing_is_rounded(
    loadline: Loadline,
) -> None:
    profile = "[[profile]]\nname = 'p'\nblock = '4k'\nread = '100%'\nrandom = '0%'\nrate = 100\njobs = 8\n"
    (loadline.folder / "own.toml").write_text(f"title = 't'\nruntime = '60s'\nwarmup = '10s'\n{profile}")
    done = loadline("export", "own.toml", "-o", "out.fio")
    assert done.code == 0 and "100/s over 8 jobs become 96/s" in done.err
    assert "rate_iops=12\n" in (loadline.folder / "out.fio").read_text()
    refused = loadline("suites", "own.toml", "--fio")
    assert refused.code == 2 and "fio would miss by more than 1%" in refused.err
    # What is all random many jobs share, on whatever `jobs` says; an export has the suite's, and says so.
    (loadline.folder / "own.toml").write_text(
        f"title = 't'\nruntime = '60s'\nwarmup = '10s'\n{profile}".replace("'0%'", "'100%'")
    )
    printed = loadline("suites", "own.toml", "--point", "p")
    assert printed.code == 0 and "iodepth=1\nnumjobs=50\nrate_iops=2\n" in printed.out
    assert "`suites --point` prints the job that `run` sends" in loadline("export", "own.toml", "-o", "out.fio").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["typical-12", "-o", "out.doc"], "out.doc: its ending names no form"),
        (["typical-12", "-o", "nowhere/out.fio"], "there is no directory nowhere"),
        (["typical12", "-o", "out.fio"], "no suite is named 'typical12'"),
    ],
)
def test_what_can_t_be_written_is_an_input_error_and_leaves_nothing(
    loadline: Loadline, words: list[str], said: str
) -> None:
    done = loadline("export", *words)
    assert done.code == 2 and said in done.err
    assert not list(loadline.folder.glob("out*"))


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_another_tools_file_is_forecast(loadline: Loadline, path: Path) -> None:
    shutil.copy(path, loadline.folder)
    done = loadline("forecast", "hdd-7k2", f"./{path.name}", "--json")
    assert done.code == 0 and done.json["results"]
    # What its reader should know is a line, and a finding of the suite.
    (note,) = [line for line in done.err.splitlines() if line.startswith(path.name)]
    found = loadline("suites", f"./{path.name}", "--json").json["findings"]
    assert [(one["check"], one["message"]) for one in found] == [("suite", note)]


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_another_tools_file_runs(loadline: Loadline, path: Path) -> None:
    (loadline.folder / "disk").mkdir()
    words = ["--quick", "--runtime", "200ms", "--warmup", "0s", "--queue-depth", "1", "--json"]
    done = loadline("run", path, "disk", *words, "--size", "128M")
    assert done.code == 0
    assert all(row["iops"] > 0 for row in done.json["results"])


def test_a_name_of_hcibench_runs_and_is_forecast(loadline: Loadline) -> None:
    (loadline.folder / "disk").mkdir()
    name = "vdb-2vmdk-100ws-4k-70rdpct-100randompct-2threads"
    done = loadline("run", name, "disk", "--quick", "--runtime", "200ms", "--size", "16M", "--json")
    assert done.code == 0 and done.json["results"][0]["outstanding_asked"] == 4
    assert loadline("forecast", "hdd-7k2", name).code == 0


def test_a_job_that_parts_a_target_is_shown_for_one_of_1_tib_and_says_so(loadline: Loadline) -> None:
    shown = loadline("suites", "six-patterns", "--fio")
    assert shown.code == 0 and "written for one of 1 TiB" in shown.err
    assert shown.out.startswith("; for a target of 1 TiB; --size says another\n") and "size=128G\n" in shown.out
    given = loadline("suites", "six-patterns", "--fio", "--size", "80G")
    assert not given.err and "size=10G\n" in given.out
    for said in (shown, given):
        words = ["fio", "--parse-only", "--filename=x", "-"]
        assert subprocess.run(words, input=said.out, text=True, capture_output=True).returncode == 0
