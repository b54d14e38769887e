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
from loadline.measuring.presence import Presence
from loadline.measuring.target import Target, locate


def on(path: Path) -> Target:
    """A directory, as if on a file system of its own without a disk."""
    path.mkdir(exist_ok=True)
    return replace(locate(str(path), None), device=None, identity={"st_dev": path.stat().st_ino})


def test_a_run_sees_others_of_the_same_thing_while_they_last_and_warns_of_each_once(tmp_path: Path) -> None:
    same, other = on(tmp_path / "a"), on(tmp_path / "b")
    warned: list[str] = []
    one, two, three = Presence([same], warned.append), Presence([same, same]), Presence([other])
    with one.announced("first"):
        assert one.others() == ()
        with two.announced("second"), three.announced("third"):
            (message,) = one.others()
            assert message == (
                f"run second (process {os.getpid()}) is being measured on the same file system:"
                " each disturbs the other, and the figures are those of both"
            )
            assert one.others() == (message,) and warned == [message]
            assert [said.split()[1] for said in two.others()] == ["first"]
        assert one.others() == ()


def test_files_on_partitions_of_one_disk_are_on_the_same_disk(tmp_path: Path) -> None:
    roots = recorded("lvm", tmp_path)
    whole = f"disk of {tmp_path}"
    one, other = (
        Presence([replace(on(tmp_path / name), device=replace(block_device(f"/dev/{name}", roots), whole=whole))])
        for name in ("sda1", "sda2")
    )
    with other.announced("x" * 200):
        (message,) = one.others()
    assert f"on the same disk, {whole}: " in message and message.startswith("run xxxxxx")


def test_an_emulated_system_is_its_own_and_a_name_of_another_form_is_none(tmp_path: Path) -> None:
    place = on(tmp_path / "a")
    emulated = Presence([locate("emulated:dl360-g6-p410i", None)])
    with Presence([place]).announced("run"), emulated.announced("other"):
        assert emulated.others() == ()
        names = Path("/proc/net/unix").read_text().splitlines()
    (tmp_path / "net").mkdir()
    (tmp_path / "net/unix").write_text("\n".join(names))
    assert len(Presence([place], roots=Roots(proc=tmp_path)).others()) == 1
    odd = [line.replace("@loadline-run/", "@loadline-ran/") for line in names] + ["@loadline-run/x", "loadline-run/"]
    (tmp_path / "net/unix").write_text("\n".join(odd))
    assert Presence([place], roots=Roots(proc=tmp_path)).others() == ()


def test_a_point_beside_another_run_has_a_finding_whatever_the_store(loadline: Loadline) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    first = loadline.start("run", reads(loadline.folder, "60s"), disk, "--size", "16M", "--progress", "json")
    until(first, "progress")
    second = loadline("run", reads(loadline.folder), disk, "--size", "16M", "--json", "--store", "elsewhere")
    first.terminate()
    first.communicate()
    assert second.code == 0
    said = f"run {loadline.runs()[0].name} (process {first.pid}) is being measured on the same "
    assert sum(line.startswith(said) for line in second.err.splitlines()) == 1
    (found,) = [one for one in second.json["findings"] if one["check"] == "other-run" and said in one["message"]]
    assert (found["severity"], found["point"]) == ("warning", "reads")
