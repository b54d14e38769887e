"""Devices as recorded machines describe them."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees import recorded

from loadline.errors import InputError
from loadline.host.device import (
    BlockDevice,
    all_devices,
    block_device,
    device_of_name,
    device_of_number,
    device_under,
    identity,
    parse_mount,
    still_there,
)
from loadline.host.roots import Roots


def named(name: str, roots: Roots) -> BlockDevice:
    device = device_of_name(name, roots)
    assert device is not None
    return device


def test_a_sata_disk_is_described(tmp_path: Path) -> None:
    roots = recorded("lvm", tmp_path)
    disk = block_device("/dev/sda", roots)
    assert (disk.major, disk.minor, disk.size_bytes) == (8, 0, 468862128 * 512)
    assert (disk.vendor, disk.model, disk.firmware) == ("ATA", "KINGSTON SH103S3", "BBF0")
    assert disk.serial == "SERIAL0000000000"  # From the binary page 80h.
    assert disk.wwid == "t10.ATA KINGSTON SH103S3240G SERIAL0000000000"
    assert (disk.rotational, disk.scheduler, disk.queue_depth, disk.write_cache) == (
        False,
        "cfq",
        31,
        "write back",
    )
    assert disk.partitions == ("sda1", "sda2", "sda3", "sda4", "sda5", "sda6")
    assert disk.whole is None
    assert disk.diskseq is None  # Linux 4.16 has none.


def test_a_partition_has_its_disks_attributes(tmp_path: Path) -> None:
    part = block_device("/dev/nvme0n1p2", recorded("lvm", tmp_path))
    assert (part.whole, part.partition, part.start_bytes) == ("nvme0n1", 2, 16320512 * 512)
    assert part.model == "KINGSTON SKC1000240G"
    assert part.firmware == "E7FT04.6"
    assert identity(part) == {
        "serial": "SERIAL0000000000",
        "wwid": "nvme.1987-53455249414c30303030303030303030-4b494e4753544f4e20534b433130303032343047-00000001",
        "partition": 2,
        "start_bytes": 16320512 * 512,
        "model": "KINGSTON SKC1000240G",
        "size_bytes": 419430400 * 512,
    }


def test_a_logical_volume_and_its_loop_devices_are_described(tmp_path: Path) -> None:
    roots = recorded("lvm", tmp_path)
    volume = named("dm-0", roots)
    assert volume.slaves == ("loop0", "loop1", "loop2", "loop3")
    assert volume.dm_name == "vg_foo.4059-lv_foo.4059"
    assert identity(volume)["dm_uuid"] == volume.dm_uuid
    loop = named("loop0", roots)
    assert loop.loop is not None
    assert (loop.loop.path, loop.loop.autoclear) == ("/tmp/foo.4059-0.img", False)
    assert loop.holders == ("dm-0",)


def test_a_name_with_a_slash_has_an_exclamation_mark_in_sysfs(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    disk = block_device("/dev/cciss/c0d0", roots)
    assert disk.name == "cciss!c0d0"
    assert disk.path == roots.dev / "cciss/c0d0"
    assert disk.partitions == ("cciss!c0d0p1",)
    assert identity(disk)["wwid"] == "600508B1001030394130433346300000"
    assert named("cciss!c0d0p1", roots).whole == "cciss!c0d0"


def test_links_lead_to_their_device(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    assert block_device("/dev/mapper/mpatha", roots).name == "dm-0"
    assert block_device("/dev/mapper/mpatha", roots).slaves == ("sda", "sdb")


def test_the_uuid_of_an_array_comes_from_udevs_link_when_sysfs_has_none(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    assert named("md1", roots).md_uuid == "a1b2c3d4:e5f60718:293a4b5c:6d7e8f90"
    assert named("md0", roots).md_uuid is None


def test_hidden_paths_of_nvme_are_no_devices(tmp_path: Path) -> None:
    found = [device.name for device in all_devices(recorded("server", tmp_path))]
    assert "nvme0n1" in found
    assert not [name for name in found if "c0n1" in name or "c1n1" in name]


def test_a_device_without_anything_of_its_own_is_known_by_its_name(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    assert identity(named("md0", roots)) == {"name": "md0", "size_bytes": 1953262592 * 512}


def test_a_wwid_of_zeros_names_nothing(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    (wwid,) = roots.sys.rglob("0:0:0:3/wwid")
    wwid.write_text("naa.5000000000000000\n")
    assert named("sdf", roots).wwid is None


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/dev/null", "is a character device"),
        ("/", "is not a block device"),
        ("/dev/no-such-device", "No such file"),
        ("/dev/loop-control/x", "Not a directory"),
    ],
)
def test_what_is_no_block_device_is_bad_input(path: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        block_device(path)


def test_a_number_unknown_to_the_kernel_is_no_device(tmp_path: Path) -> None:
    assert device_of_number(8, 255, recorded("lvm", tmp_path)) is None


def test_nothing_to_name_lies_under_proc() -> None:
    assert device_under("/proc") is None
    with pytest.raises(InputError, match="No such file"):
        device_under("/no/such/file")


def test_a_mount_point_with_blanks_and_backslashes_is_read() -> None:
    mount = parse_mount(r"36 35 98:0 /a /mnt/a\040b\011\134 rw shared:1 master:2 - ext4 /dev/my\040disk rw")
    assert mount is not None
    assert mount.point == "/mnt/a b\t\\"
    assert (mount.id, mount.number, mount.fstype, mount.source) == (36, (98, 0), "ext4", "/dev/my disk")


@pytest.mark.parametrize("line", ["", "36 35 98:0 /", "a b c d e f - g h", "36 35 x:y / /m rw - ext4 /dev/sda rw"])
def test_a_line_that_is_no_mount_is_none(line: str) -> None:
    assert parse_mount(line) is None


def change(roots: Roots, pattern: str, content: str) -> None:
    (found,) = (roots.sys / "devices").rglob(pattern)
    found.write_text(content)


@pytest.mark.parametrize(
    ("attribute", "content", "said"),
    [
        ("block/sdf/size", "1", "changed its size"),
        ("block/sdf/diskseq", "999", "another device now"),
        ("block/sdf/dev", "8:99", "is gone"),
        ("0:0:0:3/state", "offline", "is offline"),
        ("0:0:0:3/state", "transport-offline", "is transport-offline"),
    ],
)
def test_a_device_that_goes_is_noticed(tmp_path: Path, attribute: str, content: str, said: str) -> None:
    roots = recorded("san", tmp_path)
    disk = named("sdf", roots)
    assert still_there(disk, roots) is None
    change(roots, attribute, content)
    assert said in (still_there(disk, roots) or "")


def test_a_stopped_array_and_a_vanished_device_are_noticed(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    array, disk = named("md1", roots), named("sdg", roots)
    assert still_there(array, roots) is None
    change(roots, "block/md1/md/array_state", "inactive")
    assert "is inactive" in (still_there(array, roots) or "")
    (roots.sys / "dev/block" / f"{disk.major}:{disk.minor}").unlink()
    assert "is gone" in (still_there(disk, roots) or "")
