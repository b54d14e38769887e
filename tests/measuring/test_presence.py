"""Other runs that load the same: each is seen by the others, under whatever name, for as long as it lasts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from cli.program import Loadline
from measuring.processes import until
from measuring.suites import reads
from trees import recorded

from loadline.host.device import block_device
from loadline.host.roots import Roots
from loadline.measuring.presence import announced
from loadline.measuring.target import Target, locate


def on(path: Path) -> Target:
    """A directory, as if on a file system of its own without a disk."""
    path.mkdir(exist_ok=True)
    return replace(locate(str(path), None), device=None, identity={"st_dev": path.stat().st_ino})


def test_a_run_sees_others_of_the_same_thing_while_they_last(tmp_path: Path) -> None:
    same, other = on(tmp_path / "a"), on(tmp_path / "b")
    with announced([same]) as others:
        assert others() == ()
        with announced([other]), announced([same, same]) as seen:
            (message,) = others()
            assert message == (
                f"another run of loadline (process {os.getpid()}) loads the file system of {same.given} too:"
                " they slow each other down"
            )
            assert seen() == others()
        assert others() == ()


def test_files_on_partitions_of_one_disk_are_on_the_same_disk(tmp_path: Path) -> None:
    roots = recorded("lvm", tmp_path)
    whole = f"disk of {tmp_path}"
    parts = [
        replace(on(tmp_path / name), device=replace(block_device(f"/dev/{name}", roots), whole=whole))
        for name in ("sda1", "sda2")
    ]
    with announced(parts[:1]) as others, announced(parts[1:]):
        assert [f"loads the disk {whole} too" in message for message in others()] == [True]


def test_an_emulated_system_is_its_own_and_a_name_of_another_form_is_none(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    lines = ("@loadline-run/x", "@loadline-run/a/b/c/d", "/run/loadline-run/a/b/c", "")
    (tmp_path / "net/unix").write_text("Num Path\n" + "".join(f"0: 1 {line}\n" for line in lines))
    with announced([locate("emulated:dl360-g6-p410i", None)]) as others, announced([on(tmp_path / "a")]):
        assert others() == ()
    with announced([on(tmp_path / "a")], Roots(proc=tmp_path)) as others:
        assert others() == ()


def test_two_runs_in_one_directory_say_so_and_go_on(loadline: Loadline) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    first = loadline.start("run", reads(loadline.folder, "60s"), disk, "--size", "16M", "--progress", "json")
    until(first, "progress")
    second = loadline("run", reads(loadline.folder), disk, "--size", "16M", "--json")
    first.terminate()
    first.communicate()
    assert second.code == 0
    said = f"another run of loadline (process {first.pid}) loads "
    assert sum(line.startswith(said) for line in second.err.splitlines()) == 1
    (found,) = [one for one in second.json["findings"] if one["check"] == "other-run" and said in one["message"]]
    assert (found["severity"], found["point"]) == ("warning", "reads")
