"""The guard against real loop devices: what it refuses, names and leaves untouched."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from devices import (
    EXCLUSIVE_OPENER,
    FOREIGN_MOUNTER,
    LOCKER,
    MAPPER,
    MIB,
    OPENER,
    ORPHAN_THREAD_OPENER,
    THREAD_OPENER,
    another_loop_device,
    command,
    loop_device,
    mounted,
    needs_root,
    partition,
    process,
    sha256,
    swap,
    write_lvm_label,
    write_partition_table,
    write_zfs_labels,
)

from loadline.errors import InputError, RefusedError, ToolError
from loadline.host.device import block_device, device_under, identity, still_there
from loadline.host.use import file_uses, uses
from loadline.measuring.guard import check_directory, check_file, hold, take

pytestmark = needs_root


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    with loop_device(tmp_path / "disk.img", 128 * MIB) as made:
        yield made


def refusal(target: Path, content: Path | None = None) -> str:
    """How the guard refuses a target for reading and for writing alike, with its content unchanged."""
    content = content or target
    before = sha256(content)
    with pytest.raises(RefusedError) as read, take(target, write=False):
        pass
    with pytest.raises(RefusedError) as write, take(target, write=True):
        pass
    assert sha256(content) == before
    assert read.value.exit_code == 4
    assert read.value.message == write.value.message
    assert "never overrides" in read.value.remedy
    return f"{read.value.message}\n{read.value.remedy}"


def mkfs(kind: str, *options: str) -> Callable[[Path], object]:
    return lambda device: command(f"mkfs.{kind}", "-q", *options, device)


@pytest.mark.parametrize(
    ("put", "named"),
    [
        (mkfs("ext4"), "signature: ext4"),
        (mkfs("xfs", "-f", "-m", "crc=1"), "signature: xfs"),
        (mkfs("btrfs", "-f"), "signature: btrfs"),
        (lambda device: command("mkswap", device), "signature: swap"),
        (write_partition_table, "partition table: dos"),
        (write_lvm_label, "signature: LVM2_member"),
        (write_zfs_labels, "signature: zfs_member"),
    ],
    ids=["ext4", "xfs", "btrfs", "swap", "partition-table", "lvm", "zfs"],
)
def test_a_device_with_a_signature_is_refused(tmp_path: Path, put: Callable[[Path], object], named: str) -> None:
    with loop_device(tmp_path / "disk.img", 320 * MIB) as device:
        put(device)
        said = refusal(device)
        assert f"{device} has a {named}" in said
        assert f"wipefs -a {device}" in said


def test_two_signatures_are_both_named(device: Path) -> None:
    mkfs("ext4")(device)
    write_zfs_labels(device)
    said = refusal(device)
    assert "ext4" in said
    assert "zfs_member at byte" in said
    assert " more" in said


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_mounted_device_is_refused(tmp_path: Path, kind: str) -> None:
    with loop_device(tmp_path / "disk.img", 320 * MIB) as device:
        mkfs(kind)(device)
        with mounted(device, tmp_path / "a b", ["-o", "ro"]) as point:
            said = refusal(device)
            assert f"{device} is mounted at {point}" in said
            assert f"umount '{point}'" in said
            under = device_under(point)
            assert under is not None
            assert under.path == device


def test_each_member_of_a_mounted_btrfs_is_refused(tmp_path: Path) -> None:
    with (
        loop_device(tmp_path / "one.img", 256 * MIB) as one,
        loop_device(tmp_path / "two.img", 256 * MIB) as two,
    ):
        command("mkfs.btrfs", "-q", "-f", "-L", "pair", one, two)
        with mounted(one, tmp_path / "point", ["-o", f"ro,device={one},device={two}"]) as point:
            for member in (one, two):
                assert f"{member} is part of the mounted btrfs pair" in refusal(member)
            assert f"mounted at {point}" in refusal(one) + refusal(two)
            under = device_under(point)
            assert under is not None
            assert under.path in (one, two)


def test_a_bind_mount_is_named_too(device: Path, tmp_path: Path) -> None:
    mkfs("ext4")(device)
    with (
        mounted(device, tmp_path / "point", ["-o", "ro"]) as point,
        mounted(point / "lost+found", tmp_path / "bound", ["--bind"]) as bound,
    ):
        assert f"mounted at {bound}" in refusal(device)


def test_a_mount_in_another_mount_namespace_is_seen(device: Path, tmp_path: Path) -> None:
    mkfs("ext4")(device)
    point = tmp_path / "point"
    point.mkdir()
    with process(FOREIGN_MOUNTER, device, point) as pid:
        assert str(point) not in Path("/proc/self/mountinfo").read_text()
        said = refusal(device)
        assert f"{device} is mounted at {point} in the mount namespace of process {pid}" in said
        assert f"nsenter -t {pid} -m umount {point}" in said


def test_swap_in_use_is_refused(device: Path) -> None:
    with swap(device):
        assert f"{device} is swap" in refusal(device)


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_device_opened_by_another_process_is_refused(device: Path, mode: str) -> None:
    with process(OPENER, device, mode) as pid:
        said = refusal(device)
        assert f"(process {pid}), for {'writing' if mode == 'write' else 'reading'}" in said
    with take(device, write=True):
        pass


def test_a_device_held_exclusively_elsewhere_cannot_be_held(device: Path) -> None:
    with process(EXCLUSIVE_OPENER, device) as pid:
        assert f"(process {pid})" in refusal(device)
        with pytest.raises(RefusedError, match="can't be opened exclusively"):
            hold(device, write=False)


def test_a_device_locked_by_another_program_cannot_be_held(device: Path) -> None:
    with process(LOCKER, device), pytest.raises(RefusedError, match="locked by another program"):
        hold(device, write=False)


def test_a_device_under_another_run_is_refused(device: Path) -> None:
    run = """
from loadline.measuring.guard import take
with take(sys.argv[1], write=True):
    print("ready", flush=True)
    sys.stdin.read()
"""
    with process(run, device) as pid:
        assert f"(process {pid}), for writing" in refusal(device)
        with pytest.raises(RefusedError, match="under another run"):
            hold(device, write=True)
    with take(device, write=True), pytest.raises(RefusedError, match="under another run"):
        hold(device, write=True)


def test_a_disk_whose_partition_is_mounted_is_refused(device: Path, tmp_path: Path) -> None:
    with partition(device, 1, 1 * MIB, 64 * MIB) as part:
        mkfs("ext4")(part)
        with mounted(part, tmp_path / "point", ["-o", "ro"]) as point:
            said = refusal(device)
            assert f"{part} is mounted at {point}" in said
            assert f"{device} has partitions: {part.name}" in said
            assert f"{part} is mounted" in refusal(part)


def test_a_disk_with_an_empty_partition_is_refused_but_the_partition_is_accepted(device: Path) -> None:
    write_partition_table(device)
    with partition(device, 1, 1 * MIB, 16 * MIB) as part:
        assert "has partitions" in refusal(device)
        with take(part, write=True) as (taken, _):
            assert (taken.whole, taken.start_bytes, taken.size_bytes) == (device.name, MIB, 16 * MIB)
            assert still_there(taken) is None


def test_a_partition_is_refused_when_the_whole_disk_is_used(device: Path, tmp_path: Path) -> None:
    with partition(device, 1, 64 * MIB, 32 * MIB) as part:
        with process(OPENER, device, "write") as pid:
            assert f"{device} is open in" in (said := refusal(part))
            assert f"process {pid}" in said
        with process(OPENER, device, "read"), take(part, write=True):
            pass
        command("mkfs.ext4", "-q", "-F", device)
        assert f"{device} has a signature: ext4" in refusal(part)
        with mounted(device, tmp_path / "point", ["-o", "ro"]) as point:
            assert f"{device} is mounted at {point}" in refusal(part)


def test_a_symbolic_link_to_a_mounted_device_is_refused(device: Path, tmp_path: Path) -> None:
    mkfs("ext4")(device)
    link = tmp_path / "link"
    link.symlink_to(device)
    with mounted(device, tmp_path / "point", ["-o", "ro"]):
        assert f"{device} is mounted" in refusal(link)


def test_names_with_a_colon_lead_to_their_device(device: Path, tmp_path: Path) -> None:
    link = tmp_path / "pci-0000:00:1f.2-ata-1"
    link.symlink_to(device)
    with take(link, write=True) as (taken, _):
        assert taken.path == device
    mkfs("ext4")(device)
    with mounted(link, tmp_path / "point", ["-o", "ro"]):
        assert f"{device} is mounted" in refusal(link)


def test_a_node_in_a_folder_is_the_device_of_its_number(device: Path, tmp_path: Path) -> None:
    (tmp_path / "cciss").mkdir()
    node = tmp_path / "cciss/c0d0"
    os.mknod(node, 0o60600, device.stat().st_rdev)
    assert block_device(node).path == device
    mkfs("ext4")(device)
    assert f"{device} has a signature: ext4" in refusal(node)


def test_a_device_behind_a_loop_device_is_refused(device: Path, tmp_path: Path) -> None:
    below = Path(command("losetup", "-f", "--show", device).strip())
    try:
        said = refusal(device)
        assert f"{device} is behind the loop device {below}" in said
    finally:
        command("losetup", "-d", below)


def refused_file(file: Path) -> str:
    """How the guard refuses a file, with its content unchanged."""
    before = sha256(file)
    with pytest.raises(RefusedError) as refused:
        check_file(file)
    assert sha256(file) == before
    assert refused.value.exit_code == 4
    return refused.value.message


def test_a_loop_device_over_a_mounted_device_is_refused(device: Path, tmp_path: Path) -> None:
    mkfs("ext4")(device)
    with (
        mounted(device, tmp_path / "point", ["-o", "ro"]) as point,
        another_loop_device(device, "-o", str(20 * MIB), "--sizelimit", str(3 * MIB)) as above,
        another_loop_device(above) as top,
    ):
        for target in (above, top):
            assert f"{device} is mounted at {point}" in refusal(target)


def test_a_loop_device_over_an_opened_device_is_refused(device: Path) -> None:
    with another_loop_device(device, "-o", str(MIB)) as above:
        with process(OPENER, device, "write") as pid:
            assert f"{device} is open in" in (said := refusal(above))
            assert f"process {pid}" in said
        with take(above, write=True):
            pass


def test_a_loop_device_over_part_of_what_is_on_a_device_is_refused(device: Path) -> None:
    with another_loop_device(device, "-o", str(20 * MIB)) as above:
        mkfs("ext4")(device)
        assert f"{device} has a signature: ext4" in refusal(above)


@pytest.mark.parametrize("kind", ["file", "device"])
def test_two_loop_devices_over_one_thing_are_refused(tmp_path: Path, kind: str) -> None:
    with loop_device(tmp_path / "disk.img") as made:
        shared = made if kind == "device" else tmp_path / "shared.img"
        if kind == "file":
            shared.write_bytes(bytes(48 * MIB))
        with (
            another_loop_device(shared, "--sizelimit", str(16 * MIB)) as one,
            another_loop_device(shared, "-o", str(8 * MIB), "--sizelimit", str(32 * MIB)) as two,
        ):
            mkfs("ext4")(two)
            with mounted(two, tmp_path / "point", ["-o", "ro"]):
                assert f"{shared} is behind the loop device {two}" in (said := refusal(one))
            assert f"losetup -d {two}" in said
            assert f"behind the loop device {one}" not in said


def test_a_loop_device_whose_file_is_open_elsewhere_is_refused(device: Path, tmp_path: Path) -> None:
    backing = tmp_path / "disk.img"
    with process(OPENER, backing, "write") as pid:
        said = refusal(device)
        assert f"{backing} is open in" in said
        assert f"(process {pid}), for writing" in said
        with partition(device, 1, MIB, 16 * MIB) as part:
            assert f"{backing} is open in" in refusal(part)
    with take(device, write=True):
        pass


def test_a_file_is_known_behind_a_loop_device_without_its_path(tmp_path: Path) -> None:
    backing, second = tmp_path / "disk.img", tmp_path / "second.img"
    with loop_device(backing) as device:
        mkfs("ext4")(device)
        with mounted(device, tmp_path / "point", ["-o", "ro"]):
            first = identity(block_device(device))
            second.hardlink_to(backing)
            backing.unlink()
            assert f"the file behind {device}" in refused_file(second)
            backing.write_bytes(b"another file with the name of the first")
            assert f"the file behind {device}" in refused_file(second)
            check_file(backing)
            assert identity(block_device(device))["loop_inode"] == first["loop_inode"]


def test_a_file_is_known_behind_a_loop_device_when_its_folder_is_hidden(tmp_path: Path) -> None:
    folder, second = tmp_path / "folder", tmp_path / "second.img"
    folder.mkdir()
    with loop_device(folder / "disk.img") as device:
        second.hardlink_to(folder / "disk.img")
        with mounted(Path("none"), folder, ["-t", "tmpfs"]):
            assert f"the file behind {device}" in refused_file(second)


def test_a_loop_device_that_we_may_not_ask_is_a_fact(device: Path) -> None:
    groups = os.getgroups()
    with tempfile.NamedTemporaryFile() as file:
        os.fchmod(file.fileno(), 0o644)
        os.setgroups([])
        os.seteuid(65534)
        try:
            said = [use.detail for use in file_uses(file.name) if use.kind == "unseen"]
            backing = block_device(device).loop
        finally:
            os.seteuid(0)
            os.setgroups(groups)
        assert [detail for detail in said if "loop devices" in detail]
        assert backing is not None
        assert not backing.asked
        assert not [use for use in file_uses(file.name) if "loop devices" in use.detail]


def test_a_device_is_known_behind_a_loop_device_without_its_node(device: Path, tmp_path: Path) -> None:
    node = tmp_path / "node"
    os.mknod(node, 0o60600, device.stat().st_rdev)
    with another_loop_device(node, "-o", str(8 * MIB)) as above:
        node.unlink()
        mkfs("ext4")(above)
        with mounted(above, tmp_path / "point", ["-o", "ro"]):
            assert f"{device} is behind the loop device {above}" in refusal(device)


@pytest.mark.parametrize("code", [THREAD_OPENER, ORPHAN_THREAD_OPENER], ids=["own-table", "first-thread-ended"])
def test_a_device_or_file_that_only_a_thread_has_open_is_refused(device: Path, tmp_path: Path, code: str) -> None:
    with process(code, device) as pid:
        assert f"(process {pid}), for writing" in refusal(device)
    with take(device, write=True):
        pass
    file = tmp_path / "file"
    file.write_bytes(b"kept")
    with process(code, file) as pid:
        assert f"(process {pid}), for writing" in refused_file(file)
    check_file(file)


def test_a_device_that_is_only_mapped_is_refused(device: Path) -> None:
    with process(MAPPER, device, "shared") as pid:
        assert f"(process {pid}), mapped for writing" in refusal(device)
    with process(MAPPER, device, "private"), take(device, write=True):
        pass


def test_a_mount_point_is_refused_as_a_directory_and_one_below_it_is_not(device: Path, tmp_path: Path) -> None:
    mkfs("ext4")(device)
    with mounted(device, tmp_path / "point") as point:
        (point / "loadline").mkdir()
        link = tmp_path / "link"
        link.symlink_to(point)
        for name in (point, link, point / "."):
            with pytest.raises(RefusedError, match="is a mount point") as refused:
                check_directory(name)
            assert refused.value.exit_code == 4
            assert f"mkdir {point}/loadline" in refused.value.remedy
        check_directory(point / "loadline")
        bound = mounted(point / "loadline", tmp_path / "bound", ["--bind"])
        with bound as part, pytest.raises(RefusedError, match="is a mount point"):
            check_directory(part)


def test_a_mount_point_without_a_device_is_an_ordinary_directory(tmp_path: Path) -> None:
    with mounted(Path("none"), tmp_path / "memory", ["-t", "tmpfs"]) as memory:
        check_directory(memory)
        for folder in ("lower", "upper", "work"):
            (memory / folder).mkdir()
        layers = f"lowerdir={memory}/lower,upperdir={memory}/upper,workdir={memory}/work"
        with mounted(Path("overlay"), tmp_path / "layered", ["-t", "overlay", "-o", layers]) as layered:
            check_directory(layered)


def test_an_empty_device_is_accepted_held_and_free_again(device: Path) -> None:
    before = sha256(device)
    for write in (False, True):
        with take(device, write=write) as (taken, held):
            assert taken.path == device
            assert held.locked
            assert not os.get_inheritable(held.fileno())
            with device.open("r+b") as beside:  # As fio does.
                assert beside.read(1) == b"\0"
    assert sha256(device) == before
    hold(device, write=True).close()


def test_a_read_only_device_can_be_read_but_not_written(tmp_path: Path) -> None:
    with loop_device(tmp_path / "disk.img", options=["-r"]) as device:
        with take(device, write=False) as (taken, _):
            assert taken.read_only
        with pytest.raises(InputError, match="read-only"), take(device, write=True):
            pass


def test_a_loop_device_without_a_file_is_bad_input(tmp_path: Path) -> None:
    free = Path(command("losetup", "-f").strip())
    with pytest.raises(InputError, match="size of 0"), take(free, write=False):
        pass


def test_our_own_open_files_count_only_when_they_are_not_said_to_be_ours(device: Path) -> None:
    found = uses(block_device(device), ours=frozenset())
    with device.open("rb"):
        opened = uses(block_device(device), ours=frozenset())
    assert found == ()
    assert [use.kind for use in opened] == ["opened"]
    assert opened[0].pid == os.getpid()


def test_a_device_being_detached_is_noticed(device: Path) -> None:
    with take(device, write=True) as (taken, _):
        assert still_there(taken) is None
        command("losetup", "-d", device)
        assert "is being detached" in (still_there(taken) or "")
    assert still_there(taken) is not None


def test_another_file_behind_the_same_name_is_noticed(device: Path, tmp_path: Path) -> None:
    taken = block_device(device)
    command("losetup", "-d", device)
    (tmp_path / "other.img").write_bytes(bytes(taken.size_bytes))
    command("losetup", device, tmp_path / "other.img")
    assert "another device now" in (still_there(taken) or "")
    assert identity(block_device(device)) != identity(taken)


def test_a_changed_size_is_noticed(device: Path, tmp_path: Path) -> None:
    taken = block_device(device)
    os.truncate(tmp_path / "disk.img", 256 * MIB)
    command("losetup", "-c", device)
    assert "changed its size" in (still_there(taken) or "")


def test_the_identity_of_a_loop_device_is_its_file(tmp_path: Path) -> None:
    backing = tmp_path / "disk.img"
    with loop_device(backing) as device:
        first = identity(block_device(device))
        command("losetup", "-d", device)
        again = Path(command("losetup", "-f", "--show", backing).strip())
        try:
            assert identity(block_device(again)) == first
        finally:
            command("losetup", "-d", again)
    assert first["loop_file"] == str(backing)


def test_a_file_behind_a_loop_device_is_refused(tmp_path: Path) -> None:
    backing = tmp_path / "disk.img"
    with loop_device(backing) as device:
        with pytest.raises(RefusedError, match=f"the file behind {device}") as refused:
            check_file(backing)
        assert refused.value.exit_code == 4
        assert f"losetup -d {device}" in refused.value.remedy


def test_a_swap_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "swap file"
    file.write_bytes(bytes(4 * MIB))
    file.chmod(0o600)
    with swap(file), pytest.raises(RefusedError, match="it is swap"):
        check_file(file)


def test_a_missing_tool_is_named_not_passed_over(device: Path) -> None:
    with pytest.raises(ToolError, match="not installed") as failed:
        uses(block_device(device), run=lambda command: None)
    assert "util-linux" in failed.value.remedy
