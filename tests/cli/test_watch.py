"""`watch`: a run seen from another process."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from cli.program import Loadline
from measuring.processes import events, until
from measuring.suites import reads


def test_a_run_is_watched_to_its_end_from_another_process(loadline: Loadline, filled_file: Path) -> None:
    run = loadline.start("run", reads(loadline.folder, "3s"), filled_file, "--progress", "json")
    until(run, "progress")
    (folder,) = loadline.runs()
    watch = loadline("watch", "last", "--progress", "json", "--json")
    run.communicate()
    assert (run.returncode, watch.code) == (0, 0), watch.err
    events = [json.loads(line) for line in watch.err.splitlines()]
    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("started", "finished")
    assert [event["number"] for event in events if event["event"] == "point-finished"] == [1]
    seen = [event for event in events if event["event"] == "progress"]
    assert seen
    assert all(event["total"] == 1 and "read_iops" in event for event in seen)
    assert watch.json["runs"][0]["done"] == 1
    assert not (folder / "live.jsonl").exists()


def test_a_run_in_progress_is_listed_as_one_and_told_to_another_on_its_target(
    loadline: Loadline, filled_file: Path
) -> None:
    place = filled_file.parent
    run = loadline.start("run", reads(place, "60s"), place, "--stop", "fixed", "--size", "16M", "--progress", "json")
    until(run, "progress")
    (folder,) = loadline.runs()
    assert ", in progress" in loadline("ls").out
    (listed,) = loadline("ls", "--json").json["runs"]
    assert listed["in_progress"] is True
    shown = loadline("show", "last").out
    assert "in progress, 1 of 1 points to go: loadline watch" in shown
    assert "resume" not in shown
    same = loadline("run", reads(place), place, "--quick", "--size", "16M")
    assert same.code == 0
    said = f"run {folder.name} (process {run.pid}) is being measured on the same "
    assert said in same.err
    beside = loadline("run", reads(place), filled_file, "--quick")
    assert said in beside.err
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert "in progress" not in loadline("ls").out
    again = loadline("run", reads(loadline.folder), filled_file, "--quick")
    assert "being measured" not in again.err


def test_a_run_that_nobody_measures_is_shown_as_it_is(loadline: Loadline, filled_file: Path) -> None:
    assert loadline("run", reads(loadline.folder), filled_file, "--quick").code == 0
    said = loadline("watch", "last")
    assert said.code == 0
    assert "isn't being measured" in said.err
    assert "reads*" in said.out


def test_what_a_lost_run_left_of_its_journal_is_no_progress(loadline: Loadline, filled_file: Path) -> None:
    assert loadline("run", reads(loadline.folder), filled_file, "--quick").code == 0
    (folder,) = loadline.runs()
    (folder / "live.jsonl").write_text('{"event": "progress", "number": 1\n')
    assert loadline("watch", "last", "--json").json["runs"][0]["done"] == 1


def test_of_a_search_each_probe_is_told_to_whoever_runs_it_or_watches_it(loadline: Loadline, filled_file: Path) -> None:
    suite = loadline.folder / "best.toml"
    suite.write_text(
        'title = "Best"\nruntime = "2s"\n[[profile]]\nname = "reads"\nblock = "4k"\nread = "100%"\nrandom = "100%"\n'
        'best = "rate"\nqueue_depth = [1, 2]\n'
    )
    run = loadline.start("run", suite, filled_file, "--progress", "json")
    until(run, "progress")
    watch = loadline("watch", "last", "--progress", "lines", "--json")
    rest = list(events(run))
    run.communicate()
    names = [event["result"]["point"] for event in rest if event["event"] in {"probe-finished", "point-finished"}]
    assert names == ["reads-qd1", "reads-qd2", "reads"]
    said = [line.partition(":")[0] for line in watch.err.splitlines() if line.startswith("[")]
    assert said == [f"[1/1] {name}" for name in names]
