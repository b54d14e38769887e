"""The guard's verdict on recorded machines: dm, md, ZFS, multipath and cciss, which few test machines have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from trees import recorded

from loadline.errors import InputError, RefusedError
from loadline.host.device import block_device
from loadline.host.reservation import Reservation
from loadline.host.roots import Roots
from loadline.host.tool import ToolOutput
from loadline.measuring.guard import check_device


def run(command: Sequence[str]) -> ToolOutput | None:
    answers = {
        "blkid": ToolOutput(2, ""),
        "wipefs": ToolOutput(0, ""),
        "zpool": ToolOutput(0, "tank\t928G\n\t/dev/sdd1\t931G\n"),
    }
    return answers.get(command[0])


def refused(path: str, roots: Roots) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        check_device(block_device(path, roots), roots, run)
    assert caught.value.exit_code == 4
    return caught.value


@pytest.mark.parametrize(
    ("tree", "path", "what", "remedy"),
    [
        ("lvm", "/dev/loop0", "/dev/loop0 is held by dm-0 (vg_foo.4059-lv_foo.4059, LVM)", "Name /dev/dm-0"),
        ("bcachefs", "/dev/sdc2", "/dev/sdc2 is mounted at /mnt/test", "umount /mnt/test"),
        ("san", "/dev/sda", "/dev/sda is held by dm-0 (mpatha, multipath)", "Name /dev/dm-0"),
        ("san", "/dev/sdc1", "the same LUN", "Free /dev/sdd1 first"),
        ("san", "/dev/sde", "/dev/sda is the same LUN", "name another device"),
        ("server", "/dev/sda", "/dev/md0 is mounted at /srv", "umount /srv"),
        ("server", "/dev/sdc", "/dev/sdc is held by md1 (raid1)", "Name /dev/md1"),
        ("server", "/dev/sdd", "/dev/sdd1 is part of the ZFS pool tank", "zpool export tank"),
        ("server", "/dev/sde", "/dev/dm-3 is swap", "swapoff /dev/dm-3"),
        ("server", "/dev/cciss/c0d0", "/dev/cciss/c0d0p1 is mounted at /", "name another device"),
        ("server", "/dev/sdi", "in the mount namespace of process 88", "nsenter -t 88 -m umount /var/lib/data"),
    ],
)
def test_what_is_used_is_refused_with_reason_and_remedy(
    tmp_path: Path, tree: str, path: str, what: str, remedy: str
) -> None:
    error = refused(path, recorded(tree, tmp_path))
    assert what in error.message
    assert remedy in error.remedy
    assert "never overrides" in error.remedy


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ("lvm", "/dev/dm-0"),
        ("lvm", "/dev/sda6"),
        ("san", "/dev/mapper/mpatha"),
        ("san", "/dev/sdf"),
        ("server", "/dev/md1"),
        ("server", "/dev/cciss/c0d1"),
    ],
)
def test_an_unused_map_partition_or_disk_is_accepted(tmp_path: Path, tree: str, path: str) -> None:
    roots = recorded(tree, tmp_path)
    check_device(block_device(path, roots), roots, run)


def test_a_persistent_reservation_counts_as_in_use(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    held = Reservation("exclusive access", 1)
    with pytest.raises(RefusedError, match="persistent reservation \\(exclusive access, key 0x1\\)"):
        check_device(block_device("/dev/mapper/mpatha", roots), roots, run, ask_reservation=lambda node: held)


def test_udev_is_waited_for_and_then_looked_at_again(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    (roots.proc / "77/comm").write_text("(udev-worker)\n")
    asked: list[str] = []

    def settle(command: Sequence[str]) -> ToolOutput | None:
        asked.append(command[0])
        if command[0] == "udevadm":
            (roots.proc / "77/fd/5").unlink()
            return ToolOutput(0, "")
        return run(command)

    check_device(block_device("/dev/sdg", roots), roots, settle)
    assert asked.count("udevadm") == 1


def test_a_device_without_medium_is_bad_input(tmp_path: Path) -> None:
    roots = recorded("bcachefs", tmp_path)
    (roots.sys / "class/block/sr0/size").write_text("0\n")
    with pytest.raises(InputError, match="size of 0"):
        check_device(block_device("/dev/sr0", roots), roots, run)
