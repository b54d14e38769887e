"""What lives on the devices of recorded machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from trees import recorded

from loadline.errors import ToolError
from loadline.host.device import device_of_name
from loadline.host.process import family
from loadline.host.reservation import Reservation
from loadline.host.roots import Roots
from loadline.host.tool import Run, ToolOutput
from loadline.host.use import Use, file_uses, uses

NOTHING = {"blkid": ToolOutput(2, ""), "wipefs": ToolOutput(0, '{"signatures": []}')}

ZPOOL = ToolOutput(
    0,
    "tank\t928G\t432K\t928G\t-\t-\t0%\t0%\t1.00x\tONLINE\t-\n"
    "\tmirror-0\t928G\t432K\t928G\t-\t-\t0%\t0.00%\t-\tONLINE\n"
    "\t/dev/sdd1\t931G\t-\t-\t-\t-\t-\t-\t-\tONLINE\n"
    "\t/dev/missing\t-\t-\t-\t-\t-\t-\t-\t-\tUNAVAIL\n",
)


def tools(**answers: ToolOutput) -> Run:
    def run(command: Sequence[str]) -> ToolOutput | None:
        return {**NOTHING, **answers}.get(command[0])

    return run


def found(name: str, roots: Roots, **answers: ToolOutput) -> list[Use]:
    device = device_of_name(name, roots)
    assert device is not None
    return list(uses(device, roots, tools(**answers)))


@pytest.mark.parametrize(
    ("tree", "name", "expected"),
    [
        # Recorded: LVM over loop devices, and disks with mounted partitions.
        ("lvm", "loop2", [Use("holder", "loop2", "dm-0 (vg_foo.4059-lv_foo.4059, LVM)")]),
        ("lvm", "dm-0", []),
        ("lvm", "sdb1", [Use("mounted", "sdb1", "/home/archive")]),
        ("lvm", "sdb", [Use("mounted", "sdb1", "/home/archive"), Use("partitions", "sdb", "sdb1")]),
        ("lvm", "sda3", []),
        # Recorded: the second device of a bcachefs, which only the source names.
        ("bcachefs", "sdc2", [Use("mounted", "sdc2", "/mnt/test")]),
        # Multipath: a path is refused, its unused map is not.
        ("san", "dm-0", []),
        ("san", "sdf", []),
        # md, cciss and the rest.
        ("server", "sda", [Use("mounted", "md0", "/srv"), Use("holder", "sda", "md0 (raid1)")]),
        ("server", "sdc", [Use("holder", "sdc", "md1 (raid1)")]),
        ("server", "md1", []),
        ("server", "md0", [Use("mounted", "md0", "/srv")]),
        (
            "server",
            "cciss!c0d0",
            [Use("mounted", "cciss!c0d0p1", "/"), Use("partitions", "cciss!c0d0", "cciss!c0d0p1")],
        ),
        ("server", "cciss!c0d1", []),
        (
            "server",
            "sde",
            [Use("swap", "dm-3", "/dev/dm-3"), Use("holder", "sde", "dm-3 (swap crypt, dm-crypt)")],
        ),
        ("server", "sdf", [Use("bcache", "sdf", "registered with bcache")]),
        ("server", "sdg", [Use("opened", "sdg", "dd (process 77), for writing", 77)]),
        ("server", "sdh", [Use("loop", "sdh", "/dev/loop0")]),
        ("server", "sdi", [Use("mounted", "sdi", "/var/lib/data", 88)]),
        ("server", "nvme0n1", [Use("exported", "nvme0n1", "nvmet/subsystems/nqn.test/namespaces/1")]),
    ],
)
def test_uses_of_recorded_machines(tmp_path: Path, tree: str, name: str, expected: list[Use]) -> None:
    assert found(name, recorded(tree, tmp_path)) == expected


@pytest.mark.parametrize("name", ["sdd", "sdd1"])
def test_a_member_of_a_zfs_pool_is_found(tmp_path: Path, name: str) -> None:
    roots = recorded("server", tmp_path)
    assert Use("zfs", "sdd1", "tank") in found(name, roots, zpool=ZPOOL)
    assert "zfs" not in [use.kind for use in found("sdd9", roots, zpool=ZPOOL)]
    assert "zfs" not in [use.kind for use in found(name, roots, zpool=ToolOutput(1, "", "no modules"))]


def test_another_path_to_the_same_lun_counts(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    (path,) = [use for use in found("sdc", roots) if use.kind == "other path"]
    assert path.device == "sdd"
    assert path.detail.endswith("and sdd1 is mounted: /oracle data")
    assert [use.device for use in found("sdc1", roots)] == ["sdd1"]
    assert {use.device for use in found("sde", roots) if use.kind == "other path"} == {"sda", "sdb"}


def test_two_drives_with_one_wwid_but_different_serials_are_two_drives(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    (page,) = roots.sys.rglob("1:0:0:2/vpd_pg80")
    page.write_bytes(b"\x00\x80\x00\x05OTHER")
    assert [use.kind for use in found("sdc", roots)] == ["partitions"]


def test_members_of_a_mounted_btrfs_are_found_without_a_mount_that_names_them(tmp_path: Path) -> None:
    roots = recorded("lvm", tmp_path)
    (roots.sys / "fs/btrfs/0b5f/devices").mkdir(parents=True)
    (roots.sys / "fs/btrfs/features").mkdir()
    (roots.sys / "fs/btrfs/0b5f/devices/sda3").symlink_to("../../../../class/block/sda3")
    (roots.sys / "fs/btrfs/0b5f/label").write_text("pool\n")
    assert found("sda3", roots) == [Use("btrfs", "sda3", "pool (0b5f)")]


def put_behind(roots: Roots, loop: str, path: str | Path) -> None:
    (roots.sys / "class/block" / loop / "loop/backing_file").write_text(f"{path}\n")


def test_what_uses_the_device_behind_a_loop_device_counts(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    put_behind(roots, "loop0", "/dev/sda")
    assert Use("mounted", "md0", "/srv") in found("loop0", roots)
    put_behind(roots, "loop0", "/dev/md1")
    assert found("loop0", roots) == []


def test_what_uses_the_file_behind_a_loop_device_counts_for_maps_over_it_too(tmp_path: Path) -> None:
    roots = recorded("lvm", tmp_path)
    file = tmp_path / "file"
    file.touch()
    put_behind(roots, "loop0", file)
    assert found("dm-0", roots) == []
    (roots.proc / "77/fd").mkdir(parents=True)
    (roots.proc / "77/comm").write_text("dd\n")
    (roots.proc / "77/fd/3").symlink_to(file)
    opened = Use("opened", str(file), "dd (process 77), for reading", 77)
    assert found("dm-0", roots) == [opened]
    assert opened in found("loop0", roots)


def test_a_reservation_is_a_fact_asked_of_the_whole_disk(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    asked: list[str] = []

    def ask(node: Path) -> Reservation | None:
        asked.append(node.name)
        return Reservation("write exclusive", 0xABC) if node.name == "sdf" else None

    for name in ("sdf", "dm-0", "sdc1"):
        device = device_of_name(name, roots)
        assert device is not None
        kinds = [use for use in uses(device, roots, tools(), ask_reservation=ask) if use.kind == "reservation"]
        expected = [Use("reservation", "sdf", "write exclusive, key 0xabc")] if name == "sdf" else []
        assert kinds == expected
    assert asked == ["sdf", "sda", "sdb", "sdc"]


def test_signatures_of_both_tools_are_joined(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    wipefs = ToolOutput(
        0,
        '{"signatures": [{"offset": "0x200", "type": "gpt", "usage": "partition-table", "label": null},'
        '{"offset": "0x1fe", "type": "PMBR", "usage": "partition-table", "label": null},'
        '{"offset": "0x438", "type": "ext4", "usage": "filesystem", "label": "data"}]}',
    )
    blkid = ToolOutput(0, "DEVNAME=/dev/sdf\nTYPE=ext4\nUSAGE=filesystem\nPTTYPE=gpt\n")
    assert found("sdf", roots, wipefs=wipefs, blkid=blkid) == [
        Use("partition table", "sdf", "gpt at byte 512"),
        Use("partition table", "sdf", "PMBR at byte 510"),
        Use("signature", "sdf", "ext4, label data at byte 1080"),
    ]
    # A signature without magic bytes is blkid's alone.
    assert found("sdf", roots, blkid=ToolOutput(0, "TYPE=ddf_raid_member\nUSAGE=raid\n")) == [
        Use("signature", "sdf", "ddf_raid_member")
    ]


def test_ambivalent_signatures_are_signatures(tmp_path: Path) -> None:
    (use,) = found("sdf", recorded("san", tmp_path), blkid=ToolOutput(8, ""))
    assert use.kind == "signature"


@pytest.mark.parametrize(
    ("tool", "answer", "said"),
    [
        ("blkid", ToolOutput(2, "", "error: /dev/sdf: Input/output error"), "Input/output error"),
        ("blkid", ToolOutput(None, ""), "ran out of time"),
        ("wipefs", ToolOutput(1, "", "probing failed"), "probing failed"),
        ("wipefs", ToolOutput(0, "not json"), "failed"),
    ],
)
def test_a_tool_that_fails_is_an_error_not_an_empty_device(
    tmp_path: Path, tool: str, answer: ToolOutput, said: str
) -> None:
    with pytest.raises(ToolError, match=said) as failed:
        found("sdf", recorded("san", tmp_path), **{tool: answer})
    assert failed.value.exit_code == 3


def test_a_device_known_to_be_used_needs_no_tool(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    device = device_of_name("sdc", roots)
    assert device is not None
    assert [use.kind for use in uses(device, roots, lambda command: None)] == ["holder"]
    free = device_of_name("md1", roots)
    assert free is not None
    with pytest.raises(ToolError, match="is not installed"):
        uses(free, roots, lambda command: None)


def test_a_process_and_its_descendants_are_ours(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    assert family(77, roots) == {77, 78}
    assert {1, 77, 78, 88} <= family(1, roots)
    device = device_of_name("sdg", roots)
    assert device is not None
    assert uses(device, roots, tools(), ours=family(77, roots)) == ()


def test_processes_that_cannot_be_looked_at_are_a_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = recorded("server", tmp_path)
    forbidden = roots.proc / "88/fd"
    iterdir = Path.iterdir

    def refuse(self: Path) -> object:
        if self == forbidden:
            raise PermissionError
        return iterdir(self)

    monkeypatch.setattr(Path, "iterdir", refuse)
    (use,) = found("md1", roots)
    assert (use.kind, use.device) == ("unseen", "md1")
    file = tmp_path / "file"
    file.touch()
    assert [use.kind for use in file_uses(file, roots)] == ["unseen"]


def test_files_on_remote_file_systems_are_not_looked_at(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "file").touch()
    (there / "file").hardlink_to(here / "file")
    (roots.proc / "78/fd/3").symlink_to(there / "file")
    assert [use.pid for use in file_uses(here / "file", roots)] == [78]
    (roots.proc / "self/mountinfo").write_text(f"27 1 0:50 / {there} rw - nfs4 server:/ rw\n")
    assert file_uses(here / "file", roots) == ()
    assert [use.pid for use in file_uses(there / "file", roots)] == [78]


def test_a_mount_point_with_any_character_is_one_line(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    (roots.proc / "self/mountinfo").write_text("27 1 8:96 / /a\x0c\u2028b rw - ext4 /dev/sdg rw\n")
    assert found("sdg", roots)[0] == Use("mounted", "sdg", "/a\x0c\u2028b")
