"""Forecasts and simulations of described systems, as people and scripts meet them."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.program import PROGRAM, Loadline

from loadline.cli import progress

QUICK = ["--profile", "oltp-db", "--ios", "500"]


def test_a_simulation_prints_its_points_and_how_busy_all_components_were(loadline: Loadline) -> None:
    said = loadline("simulate", "dl360-g6-p410i", "typical-12", *QUICK, "--set", "volume.layout=raid5,raid10")
    assert said.code == 0, said.err
    head, *rows = said.out.splitlines()
    assert head.split()[:4] == ["point", "volume.layout", "outstanding", "IOPS"]
    assert [row.split()[1] for row in rows if row.startswith("oltp-db")] == ["raid5", "raid10"] * 2
    assert any(row.endswith("busy, %") for row in rows) and any("disks 100.0, controllers " in row for row in rows)


def test_a_simulated_search_says_that_its_saturation_is_what_was_seen_and_a_solution_does_not(
    loadline: Loadline,
) -> None:
    said = "saturation: of a simulated search the highest rate that was seen"
    assert said in loadline("simulate", "hdd-7k2", "database-ramp", "--ios", "1000").out
    assert said not in loadline("forecast", "hdd-7k2", "database-ramp").out


def test_a_simulation_is_one_object_and_the_same_again(loadline: Loadline) -> None:
    words = ["simulate", "hdd-7k2", "database-ramp", "--ios", "1000", "--json"]
    said = loadline(*words)
    assert said.code == 0
    body = said.json
    assert list(body) == ["format", "results", "probes", "runs", "findings", "error"]
    [line] = body["results"]
    assert line["limit"] == "mean<=30ms" and line["saturation_iops"] >= line["iops"]
    assert line["outstanding_asked"] + 1 in [probe["outstanding_asked"] for probe in body["probes"]]
    assert loadline(*words).out == said.out


@pytest.mark.parametrize("ending", ["csv", "json", "md"])
def test_rows_are_written_in_every_format(loadline: Loadline, ending: str) -> None:
    path = loadline.folder / f"rows.{ending}"
    said = loadline("simulate", "hdd-7k2", "typical-12", *QUICK, "--set", "pool.tags=1,4", "-o", path)
    assert said.code == 0 and f"wrote {path}" in said.out
    text = path.read_text()
    if ending == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert [json.loads(row["tags"]) for row in rows] == [{"pool.tags": "1"}, {"pool.tags": "4"}]
        assert all(row["origin"] == "simulated" and float(row["iops"]) > 0 for row in rows)
    elif ending == "json":
        assert len(json.loads(text)["results"]) == 2
    else:
        assert "| oltp-db |" in text


def test_a_forecast_shows_asked_load_saturation_and_load_line(loadline: Loadline) -> None:
    said = loadline(
        "forecast", "eva-v2-10k", "database-ramp", "--limit", "30ms", "--set", "volume.layout=vraid1,vraid5"
    )
    assert said.code == 0, said.err
    head, vraid1, vraid5, note, *_ = said.out.splitlines()
    assert head.split()[:3] == ["point", "volume.layout", "outstanding"] and "saturation IOPS" in head
    assert "vraid1" in vraid1 and ", not " in vraid1 and "vraid5" in vraid5
    assert "mean<=30ms" in note


def test_a_forecast_explains_itself(loadline: Loadline) -> None:
    said = loadline("forecast", "eva-v2-10k", "database-ramp", "--explain")
    assert said.code == 0, said.err
    assert any(line.startswith("  ") and " = " in line for line in said.out.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        ["station-mm1", "typical-12", "--profile", "oltp-db", "--jobs", "8"],
        ["dl360-g6-p410i", "database-ramp"],
    ],
)
def test_a_limit_that_no_load_reaches_is_told_with_the_highest_load(loadline: Loadline, words: list[str]) -> None:
    said = loadline("forecast", *words, "--limit", "1000h")
    assert said.code == 0 and "is not reached within 16,384 outstanding" in said.out


@pytest.mark.parametrize("verb", [["systems", "hdd-7k2"], ["forecast", "hdd-7k2", "typical-12", *QUICK[:2]]])
def test_a_setting_that_changes_nothing_is_told(loadline: Loadline, verb: list[str]) -> None:
    said = loadline(*verb, "--set", "pool.drives=2", "--set", "pool.spares=1", "--set", "volume.layout=raid0,vraid0")
    assert said.code == 0
    assert said.err.splitlines()[0] == "--set pool.spares changes nothing in 1 of 2 systems: raid0 has no spare space"
    assert "changes nothing" not in loadline(*verb, "--set", "volume.chunk=128KiB,1MiB").out


def test_a_setting_that_the_rule_of_thumb_does_not_know_is_told(loadline: Loadline) -> None:
    settings = "pool.drives=8", "rule.bandwidth=1GB/s", "cache.read=1MiB", "hosts.link.rate=1GB/s"
    words = [word for setting in settings for word in ("--set", setting)]
    said = loadline("forecast", "dl360-g6-p410i", "database-ramp", "--method", "rule", *words)
    assert said.err.splitlines() == [
        f"--set {key} changes nothing: the rule of thumb knows drives, layout and [rule] only"
        for key in ("cache.read", "hosts.link.rate")
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "hdd-7k2", "typical-12", "--ios", "50000000000"],
        ["forecast", "md-raid5-8x2tb", "typical-12", "--set", "pool.drives=64:2048:64"],
    ],
)
def test_an_interruption_ends_a_long_computation_soon(loadline: Loadline, words: list[str]) -> None:
    running = loadline.start(*words)
    assert running.poll() is None
    # Python and the core are up once the process has threads beside its first.
    while running.poll() is None and len(list(Path(f"/proc/{running.pid}/task").iterdir())) < 2:
        os.sched_yield()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in err


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_a_terminal(loadline: Loadline, columns: int) -> None:
    words = [PROGRAM, "forecast", "eva-v2-10k", "typical-12", "--profile", "oltp-db", "--profile", "os-paging"]
    ours, theirs = pty.openpty()
    done = subprocess.run(
        words,
        stdout=theirs,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**loadline.environment, "COLUMNS": str(columns), "TERM": "xterm"},
        cwd=loadline.folder,
        timeout=120,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass
    finally:
        os.close(ours)
    assert done.returncode == 0, done.stderr
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert any("oltp-db" in line for line in lines)
    assert max(map(len, lines)) <= columns


def test_piped_tables_are_as_wide_as_columns_says(loadline: Loadline) -> None:
    words = ["forecast", "eva-v2-10k", "typical-12", "--profile", "os-paging", "--set", "volume.layout=vraid1,vraid5"]
    wide, narrow = loadline(*words), loadline(*words, environment={"COLUMNS": "80"})
    assert max(map(len, wide.out.splitlines())) > 100
    assert max(map(len, narrow.out.splitlines())) <= 80
    assert sorted(set(re.findall(r"[\d.,]{3,}", wide.out))) == sorted(set(re.findall(r"[\d.,]{3,}", narrow.out)))
    assert loadline(*words, environment={"COLUMNS": "0"}).out == wide.out


def test_a_forecast_of_many_points_says_where_it_says_how_busy_components_are(loadline: Loadline) -> None:
    words = ["forecast", "hdd-7k2", "database-ramp"]
    few, many = (loadline(*words, "--set", f"pool.tags=1:{most}:1").out for most in (3, 25))
    assert "busy, %" in few and "how busy" not in few
    assert "busy, %" not in many and "(-o FILE.html, .csv or .json)" in many.splitlines()[-1]


def test_an_explained_point_without_a_load_line_says_why(loadline: Loadline) -> None:
    words = ["forecast", "hdd-7k2", "typical-12", "--profile", "oltp-db", "--limit", "1ms", "--explain"]
    named, why = loadline(*words).out.splitlines()[-2:]
    assert named == "oltp-db at the load line"
    assert why.startswith("  not even the lowest load, 1, keeps mean<=1ms: it's ") and why.endswith(" ms there")


@pytest.mark.parametrize("suite", ["database-ramp", "typical-12"])
def test_that_there_is_no_load_line_is_told_alike_of_a_ramp_and_beside_an_asked_load(
    loadline: Loadline, suite: str
) -> None:
    only = ["--profile", "oltp-db"] if suite == "typical-12" else []
    said = loadline("forecast", "hdd-7k2", suite, *only, "--limit", "1ms", "-o", "report.md")
    name = only[-1] if only else "database"
    why = f"{name}{{}}: not even the lowest load, 1, keeps mean<=1ms"
    assert said.code == 2 and said.err.startswith("loadline: 1 point of 1 has no load line\nChange the load")
    for text in (said.out, (loadline.folder / "report.md").read_text()):
        assert f"{name} (has no load line)" in text and why.format(" has no load line") in text
        assert "failed" not in text and "none" not in text


def test_many_points_without_a_load_line_are_told_in_one_line_with_the_response_of_the_first(
    loadline: Loadline,
) -> None:
    said = loadline("forecast", "hdd-7k2", "database-ramp", "--limit", "1ms", "--set", "pool.tags=1,2,3")
    told = [line for line in said.out.splitlines() if "not even" in line]
    assert len(told) == 1
    assert "database pool.tags=1 and 2 more have no load line" in told[0] and "; of the first it's " in told[0]


@pytest.mark.parametrize("place", [pty.openpty, os.pipe])
def test_a_long_sweep_says_how_long_it_is_before_it_begins(
    loadline: Loadline, place: Callable[[], tuple[int, int]]
) -> None:
    words = [PROGRAM, "forecast", "hdd-7k2", "typical-12", "--profile", "oltp-db"]
    words += ["--set", "pool.tags=1:100:1", "--set", "volume.size=1GB:90GB:1GB"]
    ours, theirs = place()
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=theirs, env=loadline.environment, cwd=loadline.folder
    ) as running:
        os.close(theirs)
        shown = b""
        while b"\n" not in shown:
            shown += os.read(ours, 65536)
        running.send_signal(signal.SIGINT)
        try:
            while os.read(ours, 65536):
                pass
        except OSError:  # how a terminal ends
            pass
        os.close(ours)
        assert running.wait(timeout=60) == 130
    assert shown.startswith(b"9,000 points: 9,000 systems, each under 1 of typical-12")


def test_an_imported_forecast_tells_its_load_line_from_the_asked_load(loadline: Loadline) -> None:
    loadline("forecast", "hdd-7k2", "typical-12", "--profile", "oltp-db", "--limit", "200ms", "-o", "f.csv")
    said = loadline("import", "f.csv")
    named = [re.split(r"  +", line)[0] for line in said.out.splitlines() if line.startswith("oltp-db")]
    assert named[:2] == ["oltp-db", "oltp-db at its load line"] and len(set(named)) == len(named)


def test_progress_that_nobody_watches_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.counted("solving x") as listen:
        listen(1, 3000, ())
        monkeypatch.setattr(progress, "_SILENT_S", 0)
        listen(2000, 3000, ())
        listen(3000, 3000, ())
    assert capsys.readouterr().err == "solving x: 2,000 of 3,000\n"


@pytest.mark.parametrize("verb", ["simulate", "forecast"])
def test_what_a_model_wrote_as_csv_is_read_as_its_json(verb: str, tmp_path: Path, loadline: Loadline) -> None:
    files = tmp_path / "model.csv", tmp_path / "model.json"
    for file in files:
        loadline(verb, "hdd-7k2", "typical-12", *(QUICK if verb == "simulate" else QUICK[:2]), "-o", file)
    one, other = (loadline("audit", file, "--json").json["results"] for file in files)
    for row in other:
        # CSV leaves them out.
        assert ("histograms" in row["provenance"]) == (verb == "simulate")
        row["provenance"].pop("histograms", None)
    assert one and one == other
    for words in (["compare", *files], ["report", files[0], "-o", "page.html"], ["import", files[0]]):
        assert loadline(*words).code == 0, words
