"""What goes wrong around a run: the run says so, keeps what is finished, and can go on."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from cli.program import Loadline
from devices import command, loop_device, needs_root
from measuring.processes import fio_pids, kill, until, wait_until_gone
from measuring.suites import reads, suite, three

from loadline.errors import TargetError
from loadline.measuring import event
from loadline.measuring.run import run
from loadline.result.store import open_run

MIB = 1024**2


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_ctrl_c_keeps_finished_points_and_resume_completes_the_run(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", "two 4k 100% 100%", "three 4k 100% 0%", runtime="2s")
    process = loadline.start("run", path, filled_file, "--progress", "json", "--json")
    until(process, "point-started", 2)
    pids = fio_pids(filled_file)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    wait_until_gone(pids)
    said = json.loads(out)
    assert said["error"]["kind"] == "interrupted"
    assert "loadline resume" in said["error"]["remedy"]
    (run,) = loadline.runs()
    assert [row["point"] for row in said["results"]] == ["one"]
    assert [(told["run"], told["done"], told["points"]) for told in said["runs"]] == [(run.name, 1, 3)]
    point = run / "points/001-one/point.json"
    before = json.loads(point.read_text())["result"]
    again = loadline("resume", run.name, "--json")
    assert again.code == 0, again.err
    assert [row["point"] for row in again.json["results"]] == ["one", "two", "three"]
    after = json.loads(point.read_text())["result"]
    # What the points say of each other is known once all are there.
    assert {**after, "findings": None} == {**before, "findings": None}
    assert len(json.loads((run / "run.json").read_text())["sessions"]) == 2
    assert "nothing to resume" in loadline("resume", run.name).err


def test_sigterm_takes_the_scratch_file_away(loadline: Loadline) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    process = loadline.start("run", three(loadline.folder, "60s"), disk, "--size", "16M", "--progress", "json")
    until(process, "progress")
    assert list(disk.iterdir()) != []
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert list(disk.iterdir()) == []


def test_a_killed_fio_costs_its_point_only(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", "two 4k 100% 100%", runtime="3s")
    process = loadline.start("run", path, filled_file, "--progress", "json", "--json")
    until(process, "progress")
    (pid,) = fio_pids(filled_file)
    kill(pid)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    said = json.loads(out)
    assert said["error"]["message"] == "1 of 2 points failed"
    first, second = said["results"]
    assert first["error"] == "fio was killed by SIGKILL"
    assert (first["ended_by"], second["error"], second["ended_by"]) == ("error", None, "runtime")
    (run,) = loadline.runs()
    again = loadline("resume", run.name, "--json")
    assert again.code == 0
    assert [row["error"] for row in again.json["results"]] == [None, None]


def test_resume_refuses_another_target(loadline: Loadline, filled_file: Path) -> None:
    words = ("--destroy", filled_file, "--progress", "json")
    process = loadline.start("run", three(loadline.folder, "2s"), filled_file, *words)
    until(process, "point-started", 2)
    process.kill()
    process.communicate()
    (run,) = loadline.runs()
    kept = filled_file.rename(filled_file.with_name("kept"))
    assert loadline("resume", run.name).code == 4
    shutil.copy(kept, filled_file)
    said = loadline("resume", run.name)
    assert said.code == 4
    assert "is not the target that run" in said.err
    filled_file.unlink()
    kept.rename(filled_file)
    assert loadline("resume", run.name).code == 0


def test_two_processes_never_measure_into_one_run(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", "two 4k 100% 100%", runtime="60s")
    process = loadline.start("run", path, filled_file, "--progress", "json")
    until(process, "progress")
    (run,) = loadline.runs()
    said = loadline("resume", run.name)
    process.terminate()
    process.communicate()
    assert said.code == 4


def test_without_fio_the_message_says_how_to_get_it(loadline: Loadline, filled_file: Path) -> None:
    said = loadline("run", reads(loadline.folder), filled_file, environment={"PATH": "/nonexistent"})
    assert said.code == 3
    assert "fio is not installed" in said.err
    assert "apt install fio" in said.err
    assert loadline.runs() == []


@pytest.mark.parametrize(
    ("answer", "message"), [("fio-2.1.3", "is version 2.1; loadline needs"), ("hello", "not a version")]
)
def test_a_fio_that_is_too_old_or_none_is_named(
    loadline: Loadline, filled_file: Path, answer: str, message: str
) -> None:
    tools = loadline.folder / "tools"
    tools.mkdir()
    (tools / "fio").write_text(f"#!/bin/sh\necho {answer}\n")
    (tools / "fio").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    said = loadline("run", reads(loadline.folder), filled_file, environment={"PATH": path})
    assert said.code == 3
    assert message in said.err


def test_a_target_that_cannot_be_one_is_named(loadline: Loadline, filled_file: Path) -> None:
    empty = loadline.folder / "empty"
    empty.touch()
    cases = {
        "nothing/here": "No such file",
        "/dev/null": "is a character device",
        "empty": "is empty",
        "nbd+unix:///?socket=x": "is no address of an NBD server",
        "http://storage": "is no address of an NBD server",
        "emulated:no-such-array": "no system is named 'no-such-array'",
        "emulated:station-mm1": "which have no size",
    }
    for target, message in cases.items():
        said = loadline("run", reads(loadline.folder), target, "--json")
        assert (said.code, said.json["error"]["kind"]) == (2, "input"), target
        assert message in said.err
    large = suite(loadline.folder, "large 64M 100% 100%", name="large")
    assert "doesn't fit" in loadline("run", large, filled_file).err
    said = loadline("run", reads(loadline.folder), filled_file, "--size", "1G")
    assert said.code == 2
    assert "less than --size 1G" in said.err


def test_a_working_set_beyond_the_target_is_named(loadline: Loadline, filled_file: Path) -> None:
    path = loadline.folder / "wide.toml"
    path.write_text(reads(loadline.folder).read_text() + 'working_set = "1G"\n')
    said = loadline("run", path, filled_file)
    assert said.code == 2
    assert "its working set of 1G is larger than the target" in said.err


def test_a_directory_without_room_is_named_with_its_room(loadline: Loadline) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    said = loadline("run", reads(loadline.folder), disk, "--size", "900T")
    assert said.code == 3
    assert "free; the scratch file needs" in said.err


def test_a_store_that_cannot_be_written_is_named_before_anything_is_measured(
    loadline: Loadline, filled_file: Path
) -> None:
    blocked = loadline.folder / "blocked"
    blocked.write_text("a file, not a directory")
    said = loadline("run", reads(loadline.folder), filled_file, "--store", blocked)
    assert said.code == 2
    assert f"the store {blocked} is not a directory" in said.err
    said = loadline("run", reads(loadline.folder), filled_file, "--store", blocked / "under")
    assert said.code == 3
    assert f"{blocked / 'under'} can't be written" in said.err


class TestOnDevices:
    pytestmark = needs_root

    def test_a_device_that_is_detached_fails_its_points_and_ends_the_run_with_3(
        self, loadline: Loadline, tmp_path: Path
    ) -> None:
        path = suite(tmp_path, "one 4k 100% 100%", "two 4k 100% 100%", "three 4k 100% 100%", runtime="60s")
        with loop_device(tmp_path / "backing") as device:
            process = loadline.start("run", path, device, "--destroy", device, "--progress", "json", "--json")
            until(process, "progress")
            command("losetup", "-d", device)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 3, err
        errors = [row["error"] for row in json.loads(out)["results"]]
        assert len(errors) == 3
        assert all("detached" in error for error in errors)

    def test_errors_of_the_device_fail_the_point(self, loadline: Loadline, tmp_path: Path) -> None:
        path = suite(tmp_path, "one 4k 100% 100%", runtime="60s")
        with loop_device(tmp_path / "backing") as device:
            process = loadline.start("run", path, device, "--destroy", device, "--progress", "json", "--json")
            until(process, "progress")
            with (tmp_path / "backing").open("r+b") as backing:
                backing.truncate(4096)
            out, _ = process.communicate(timeout=60)
        assert process.returncode == 3
        (row,) = json.loads(out)["results"]
        assert "Input/output error" in row["error"]
        assert row["iops"] > 0

    def test_a_read_only_device_is_named(self, loadline: Loadline, tmp_path: Path) -> None:
        with loop_device(tmp_path / "backing", options=["--read-only"]) as device:
            said = loadline("run", three(tmp_path), device, "--destroy", device)
        assert said.code == 2
        assert "read-only" in said.err

    def test_a_full_store_loses_the_point_in_progress_only(
        self, loadline: Loadline, filled_file: Path, tmp_path: Path
    ) -> None:
        path = suite(tmp_path, "one 4k 100% 100%", "two 4k 100% 100%", "three 4k 100% 0%", runtime="2s")
        store = tmp_path / "small"
        store.mkdir()
        command("mount", "-t", "tmpfs", "-o", "size=2m", "none", store)
        try:
            process = loadline.start("run", path, filled_file, "--store", store, "--progress", "json")
            until(process, "point-started", 2)
            subprocess.run(["dd", "if=/dev/zero", f"of={store}/ballast", "bs=64k"], capture_output=True)
            _, err = process.communicate(timeout=60)
            assert process.returncode == 3
            assert "No space left" in err
            assert "Traceback" not in err
            (run,) = (path.parent for path in store.glob("*/run.json"))
            assert names(run / "points/001-one") >= {"point.json", "job.fio", "fio.json.gz", "series.parquet"}
            assert not list(run.glob("points/*/.*.tmp"))
            (store / "ballast").unlink()
            said = loadline("resume", run, "--store", store, "--json")
            assert said.code == 0, said.err
            assert [row["error"] for row in said.json["results"]] == [None] * 3
        finally:
            command("umount", store)


def test_a_run_that_the_system_ends_keeps_its_points_and_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filled_file: Path
) -> None:
    """What it refuses where nobody foresaw it, as of a log that can't be opened."""
    monkeypatch.chdir(tmp_path)

    def listen(what: event.Event) -> None:
        if isinstance(what, event.PointStarted) and what.number == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO), "some/file")

    with pytest.raises(TargetError, match=r"^some/file: Input/output error\n") as told:
        run(str(three(tmp_path)), str(filled_file), listen=listen, destroy=str(filled_file))
    assert told.value.run is not None and "loadline resume" in told.value.remedy
    assert [row.point for row in open_run(told.value.run).results()] == ["mixed"]
