"""kill -9 at random instants: nothing is left on the target, nothing finished is lost, resume completes the run."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from cli.program import Loadline
from measuring.processes import fio_pids, until, wait_until_gone
from measuring.suites import suite


def _killed_at_random_instants(loadline: Loadline, target: Path, times: int, seed: int) -> None:
    drawn = random.Random(seed)
    path = suite(
        loadline.folder, "one 4k 70% 100%", "two 8k 100% 50%", "three 16k 0% 0%", runtime="100ms", queue_depth="4"
    )
    for _ in range(times):
        process = loadline.start("run", path, target, "--destroy", target, "--progress", "none")
        instant = drawn.uniform(0.3, 2.6)
        try:
            process.communicate(timeout=instant)  # the random instant; whatever was reached by then is right
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        wait_until_gone(fio_pids(target))
        for run in loadline.runs():
            plan = json.loads((run / "run.json").read_text())
            kept = {file: file.read_bytes() for file in run.glob("points/*/point.json")}
            for content in kept.values():
                assert json.loads(content)["result"]["error"] is None
            said = loadline("resume", run, "--json", "--progress", "none")
            assert said.code == 0, (instant, said.err)
            assert [row["point"] for row in said.json["results"]] == [point["name"] for point in plan["points"]]
            assert {file: file.read_bytes() for file in kept} == kept
            subprocess.run(["rm", "-r", str(run)], check=True)
        assert not fio_pids(target)


def test_kill_9_leaves_no_fio_and_loses_only_the_point_in_progress(loadline: Loadline, filled_file: Path) -> None:
    _killed_at_random_instants(loadline, filled_file, times=20, seed=20261121)


@pytest.mark.soak
def test_a_thousand_kills_lose_nothing_either(loadline: Loadline, filled_file: Path) -> None:
    _killed_at_random_instants(loadline, filled_file, times=1000, seed=1)


def test_resume_takes_the_scratch_file_of_a_killed_run_away(loadline: Loadline) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    path = suite(loadline.folder, "one 4k 100% 100%", "two 4k 0% 100%", runtime="500ms")
    process = loadline.start("run", path, disk, "--size", "16M", "--progress", "json")
    until(process, "point-finished")
    (scratch,) = disk.iterdir()
    pids = fio_pids(scratch)
    process.kill()
    process.communicate()
    wait_until_gone(pids)
    assert list(disk.iterdir()) == [scratch]
    (run,) = loadline.runs()
    assert loadline("resume", run.name).code == 0
    assert list(disk.iterdir()) == []
