"""Block devices as the kernel describes them. Start at `block_device`.

Source: Linux Documentation/ABI/stable/sysfs-block and Documentation/ABI/testing/sysfs-block-*.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadline.errors import InputError
from loadline.host.roots import HERE, Roots, names, number, text, unescape

SECTOR_BYTES = 512
"""The unit of sysfs' `size` and of diskstats, whatever the device's own sector is."""

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64_BYTES = 232

_MOUNT_ID = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)

_EMPTY_WWIDS = ("naa.5000000000000000", "eui.0000000000000000", "naa.0000000000000000")


@dataclass(frozen=True, slots=True)
class LoopBacking:
    """The file or block device behind a loop device.

    Its path is a text only: it may lead elsewhere by now, or nowhere. `st_dev`, `inode` and `number` are the driver's
    where it could be asked (`asked`), otherwise what is found at the path, if anything.
    """

    path: str
    st_dev: int | None
    inode: int | None
    number: tuple[int, int] | None
    """Major and minor of the block device behind it; None when that's a file."""
    asked: bool
    autoclear: bool
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One block device: a disk, a partition, or a map (loop, dm, md).

    Attributes that the driver doesn't give are None. For a partition, what belongs to the disk (model, serial,
    scheduler, ...) is the whole disk's.
    """

    name: str
    """As in sysfs: `cciss!c0d0` for /dev/cciss/c0d0."""
    path: Path
    major: int
    minor: int
    size_bytes: int
    logical_block_bytes: int
    physical_block_bytes: int
    read_only: bool
    rotational: bool | None
    whole: str | None
    """The sysfs name of the whole disk, for a partition."""
    partition: int | None
    start_bytes: int
    partitions: tuple[str, ...]
    holders: tuple[str, ...]
    slaves: tuple[str, ...]
    model: str | None
    vendor: str | None
    serial: str | None
    wwid: str | None
    firmware: str | None
    diskseq: int | None
    loop: LoopBacking | None
    dm_name: str | None
    dm_uuid: str | None
    md_level: str | None
    md_uuid: str | None
    scheduler: str | None
    nr_requests: int | None
    queue_depth: int | None
    write_cache: str | None

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor."""
        return self.major, self.minor


def block_device(path: str | os.PathLike[str], roots: Roots = HERE) -> BlockDevice:
    """The block device that a path names, symbolic links followed.

    Raises:
        InputError: the path is missing or is no block device, or the kernel doesn't describe the device.
    """
    numbers = device_number(path, roots)
    if numbers is None:
        raise _no_block_device(Path(path))
    device = device_of_number(*numbers, roots)
    if device is None:
        raise InputError(
            f"{path}: no device {numbers[0]}:{numbers[1]} in {roots.sys / 'dev/block'}",
            "The node is a leftover, or /sys isn't mounted here; check with: lsblk",
        )
    if not roots.recorded and _node_number(device.path) != numbers:
        # In a container the kernel's name may lack its node, or be another device's.
        return _described(_sysfs_folder(numbers, roots), Path(os.path.realpath(path)), roots)
    return device


def device_number(path: str | os.PathLike[str], roots: Roots = HERE) -> tuple[int, int] | None:
    """Major and minor of the block device that a path names, links followed; None when it names none."""
    if not roots.recorded:
        return _node_number(Path(path))
    try:
        below = Path(path).relative_to("/dev")
    except ValueError:
        below = Path(path)
    real = Path(os.path.realpath(roots.dev / below))
    root = Path(os.path.realpath(roots.dev))
    if not real.is_relative_to(root):
        return None
    name = str(real.relative_to(root)).replace("/", "!")
    return _numbers(text(roots.sys / "class/block" / name / "dev"))


def device_of_number(major: int, minor: int, roots: Roots = HERE) -> BlockDevice | None:
    """The device with these numbers, None when the kernel knows none."""
    folder = _sysfs_folder((major, minor), roots)
    return _described(folder, None, roots) if folder.is_dir() else None


def device_of_name(name: str, roots: Roots = HERE) -> BlockDevice | None:
    """The device of a sysfs name (`sda1`, `dm-0`, `cciss!c0d0`), None when there is none."""
    folder = roots.sys / "class/block" / name
    return _described(folder, None, roots) if folder.is_dir() else None


def all_devices(roots: Roots = HERE) -> tuple[BlockDevice, ...]:
    """Every block device and partition, sorted by name, but for hidden paths of NVMe multipath: they have no node."""
    folder = roots.sys / "class/block"
    found = (_described(folder / name, None, roots) for name in names(folder) if (folder / name / "dev").exists())
    return tuple(device for device in found if device is not None)


def loops(roots: Roots = HERE) -> Iterator[tuple[str, LoopBacking]]:
    """The name of each loop device that has something behind it, with that."""
    folder = roots.sys / "class/block"
    for name in names(folder):
        disk = folder / name
        if name.startswith("loop") and not (disk / "partition").exists():
            backing = _loop(disk, roots.dev / name, roots)
            if backing is not None:
                yield name, backing


def device_under(path: str | os.PathLike[str], roots: Roots = HERE) -> BlockDevice | None:
    """The block device that carries the file system of a file or folder.

    None when there is none to name (tmpfs, overlay, network, ZFS). For btrfs it's the source of the mount: one of
    the devices, when there are several.

    Raises:
        InputError: the path can't be reached.
    """
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "Name an existing file or directory.") from error
    try:
        # Not by st_dev: btrfs gives each subvolume one that no mount shows.
        told = _MOUNT_ID.search(text(roots.proc / f"self/fdinfo/{descriptor}") or "")
    finally:
        os.close(descriptor)
    for mount in mount_table(roots.proc / "self/mountinfo"):
        if told is not None and mount.id == int(told[1]):
            device = device_of_number(*mount.number, roots)
            source = device_number(mount.source, roots) if mount.source.startswith("/") else None
            return device_of_number(*source, roots) if device is None and source else device
    return None


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of mountinfo: device number of the mounted file system, where it is, its type and source."""

    id: int
    number: tuple[int, int]
    point: str
    fstype: str
    source: str


def parse_mount(line: str) -> Mount | None:
    """One line of /proc/PID/mountinfo, None when it isn't one. Source: proc(5)."""
    fields = line.split(" ")
    try:
        dash = fields.index("-", 6)
        numbers = _numbers(fields[2])
        if numbers is None:
            return None
        return Mount(
            int(fields[0]), numbers, unescape(fields[4]), unescape(fields[dash + 1]), unescape(fields[dash + 2])
        )
    except (ValueError, IndexError):
        return None


def mount_table(path: Path) -> tuple[Mount, ...]:
    """The mounts in a mountinfo file; none when it can't be read."""
    # Not splitlines: a mount point may hold any of the other characters that Unicode ends a line with.
    lines = (text(path) or "").split("\n")
    return tuple(mount for line in lines if (mount := parse_mount(line)) is not None)


def identity(device: BlockDevice) -> dict[str, str | int]:
    """What makes it the same device tomorrow; names such as sda are not part of it unless there is nothing else."""
    known: dict[str, str | int | None] = {
        "serial": device.serial,
        "wwid": device.wwid,
        "dm_uuid": device.dm_uuid,
        "md_uuid": device.md_uuid,
    }
    if device.loop is not None:
        known |= {
            "loop_file": device.loop.path,
            "loop_inode": device.loop.inode,
            "loop_offset_bytes": device.loop.offset_bytes or None,
        }
    if not any(known.values()):
        known["name"] = device.whole or device.name
    if device.partition is not None:
        known |= {"partition": device.partition, "start_bytes": device.start_bytes}
    known |= {"model": device.model, "size_bytes": device.size_bytes}
    return {key: value for key, value in known.items() if value is not None}


def still_there(device: BlockDevice, roots: Roots = HERE) -> str | None:
    """Why the device of a running measurement is gone or going, None when it's fine.

    A handful of small reads of sysfs, no I/O to the device: cheap enough for once a second.
    `losetup -d` on an open loop device only marks it (autoclear); the kernel detaches it on the last close.
    """
    folder = _sysfs_folder(device.number, roots)
    if _numbers(text(folder / "dev")) != device.number:
        return f"{device.path} is gone: the kernel no longer has the device {device.major}:{device.minor}"
    if not roots.recorded and _node_number(device.path) != device.number:
        return f"the node {device.path} is gone, or is another device now"
    disk = folder.resolve().parent if device.whole else folder
    diskseq = number(disk / "diskseq")
    if diskseq != device.diskseq:
        return f"{device.path} is another device now (diskseq {device.diskseq} became {diskseq})"
    size_bytes = (number(folder / "size") or 0) * SECTOR_BYTES
    if size_bytes != device.size_bytes:
        return f"{device.path} changed its size from {device.size_bytes} to {size_bytes} bytes"
    return _going(device, disk)


def _going(device: BlockDevice, disk: Path) -> str | None:
    """What the driver of a device that still has its node says about its end."""
    if device.loop is not None:
        backing = text(disk / "loop/backing_file") or ""
        if not (disk / "loop").is_dir():
            return f"{device.path} was detached from {device.loop.path}"
        if backing.removesuffix(" (deleted)") != device.loop.path.removesuffix(" (deleted)"):
            return f"{device.path} has another file behind it now: {backing}"
        if not device.loop.autoclear and text(disk / "loop/autoclear") == "1":
            return f"{device.path} is being detached: it goes when it is closed (losetup -d was called)"
    state = text(disk / "device/state")
    if state in ("offline", "transport-offline", "cancel", "deleted", "deleting", "dead"):
        return f"{device.path} is {state}, says its driver"
    array = text(disk / "md/array_state")
    if array in ("clear", "inactive"):
        return f"the array {device.path} is {array}"
    return None


def _no_block_device(path: Path) -> InputError:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return InputError(f"{path}: {error.strerror}", "Name an existing block device; lsblk lists them.")
    if stat.S_ISCHR(mode):
        return InputError(f"{path} is a character device", "Name the block device; lsblk lists them.")
    return InputError(f"{path} is not a block device", "Name a block device; lsblk lists them.")


def _node_number(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return (os.major(status.st_rdev), os.minor(status.st_rdev)) if stat.S_ISBLK(status.st_mode) else None


def _numbers(pair: str | None) -> tuple[int, int] | None:
    major, colon, minor = (pair or "").partition(":")
    return (int(major), int(minor)) if colon and major.isdecimal() and minor.isdecimal() else None


def _sysfs_folder(numbers: tuple[int, int], roots: Roots) -> Path:
    return roots.sys / "dev/block" / f"{numbers[0]}:{numbers[1]}"


def _described(folder: Path, node: Path | None, roots: Roots) -> BlockDevice:
    folder = Path(os.path.realpath(folder))
    name = folder.name
    major, minor = _numbers(text(folder / "dev")) or (0, 0)
    partition = number(folder / "partition")
    disk = folder if partition is None else folder.parent
    rotational = text(disk / "queue/rotational")
    logical_bytes = number(disk / "queue/logical_block_size") or SECTOR_BYTES
    return BlockDevice(
        name=name,
        path=node or roots.dev / name.replace("!", "/"),
        major=major,
        minor=minor,
        size_bytes=(number(folder / "size") or 0) * SECTOR_BYTES,
        logical_block_bytes=logical_bytes,
        physical_block_bytes=number(disk / "queue/physical_block_size") or logical_bytes,
        read_only="1" in (text(folder / "ro"), text(disk / "ro")),
        rotational=None if rotational is None else rotational == "1",
        whole=None if partition is None else disk.name,
        partition=partition,
        start_bytes=(number(folder / "start") or 0) * SECTOR_BYTES,
        partitions=tuple(entry for entry in names(folder) if (folder / entry / "partition").is_file()),
        holders=names(folder / "holders"),
        slaves=names(folder / "slaves"),
        model=text(disk / "device/model") or text(disk / "device/name"),
        vendor=_vendor(disk),
        serial=_serial(disk),
        wwid=_wwid(disk),
        firmware=_firstof(disk, "device/firmware_rev", "device/rev", "device/fwrev"),
        diskseq=number(disk / "diskseq"),
        loop=_loop(disk, roots.dev / disk.name, roots),
        dm_name=text(folder / "dm/name"),
        dm_uuid=text(folder / "dm/uuid"),
        md_level=text(disk / "md/level"),
        md_uuid=_md_uuid(disk, roots),
        scheduler=_scheduler(text(disk / "queue/scheduler")),
        nr_requests=number(disk / "queue/nr_requests"),
        queue_depth=number(disk / "device/queue_depth"),
        write_cache=text(disk / "queue/write_cache"),
    )


def _firstof(disk: Path, *attributes: str) -> str | None:
    return next((value for attribute in attributes if (value := text(disk / attribute))), None)


def _vendor(disk: Path) -> str | None:
    vendor = text(disk / "device/vendor")
    # virtio and PCI-like buses have a number there (0x1af4), which isn't a name.
    return None if vendor is None or vendor.startswith("0x") else vendor


def _serial(disk: Path) -> str | None:
    plain = _firstof(disk, "device/serial", "serial")
    if plain is not None:
        return plain
    try:
        page = (disk / "device/vpd_pg80").read_bytes()
    except OSError:
        return None
    # SPC-4, 7.8.15 unit serial number page: four bytes of header, length in the last two.
    length = int.from_bytes(page[2:4], "big")
    return page[4 : 4 + length].decode("ascii", "replace").strip("\0 ") or None


def _wwid(disk: Path) -> str | None:
    wwid = _firstof(disk, "wwid", "device/wwid", "device/unique_id")
    # Drives without a name of their own answer with zeros, all the same.
    return None if wwid is None or wwid in _EMPTY_WWIDS or not wwid.strip("0") else " ".join(wwid.split())


def _loop(disk: Path, node: Path, roots: Roots) -> LoopBacking | None:
    # The folder is there for as long as something is behind it; a path too long for sysfs can't be read.
    if not (disk / "loop").is_dir():
        return None
    path = text(disk / "loop/backing_file") or ""
    told = None if roots.recorded else _asked_loop(node, _numbers(text(disk / "dev")))
    st_dev, inode, number_behind = told or _found_at(path, roots)
    autoclear = text(disk / "loop/autoclear") == "1"
    offset_bytes = number(disk / "loop/offset") or 0
    return LoopBacking(path, st_dev, inode, number_behind, told is not None, autoclear, offset_bytes)


Place = tuple[int | None, int | None, tuple[int, int] | None]
"""st_dev and inode of a file, and the number of the block device that it's the node of."""


def _asked_loop(node: Path, numbers: tuple[int, int] | None) -> Place | None:
    """What the loop driver has open, None when it can't be asked. Source: Linux, uapi/linux/loop.h, loop_info64."""
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISBLK(status.st_mode) or (os.major(status.st_rdev), os.minor(status.st_rdev)) != numbers:
            return None
        answer = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_LOOP_INFO64_BYTES))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    st_dev, inode, rdev = struct.unpack_from("=3Q", answer)
    return st_dev, inode, (os.major(rdev), os.minor(rdev)) if rdev else None


def _found_at(path: str, roots: Roots) -> Place:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None, None, device_number(path, roots)
    return status.st_dev, status.st_ino, device_number(path, roots)


def _md_uuid(disk: Path, roots: Roots) -> str | None:
    if not (disk / "md").is_dir():
        return None
    uuid = text(disk / "md/uuid")
    if uuid is not None:
        return uuid
    # Kernels before md/uuid leave it to udev's links.
    folder = roots.dev / "disk/by-id"
    for name in names(folder):
        if name.startswith("md-uuid-") and Path(os.path.realpath(folder / name)).name == disk.name:
            return name.removeprefix("md-uuid-")
    return None


def _scheduler(line: str | None) -> str | None:
    if line is None:
        return None
    chosen = [word.strip("[]") for word in line.split() if word.startswith("[")]
    return chosen[0] if chosen else line
