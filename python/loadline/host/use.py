"""What lives on a device or a file, as facts without judgement. Start at `uses`.

What can't be seen from here: processes of other PID namespaces, and mount namespaces that no visible process is
in; the exclusive open of `measuring.guard` catches the mounts among them. A descriptor kept only by io_uring or on
its way through a socket shows nowhere, nor does a mapping when we may not read the process' maps. What is behind a
loop device is known by its path only, where its node is missing (containers). Swap and exports to other hosts are
known by their paths only, and files among the exports not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadline.errors import InputError, LoadlineError
from loadline.host.device import (
    BlockDevice,
    Mount,
    all_devices,
    device_number,
    device_of_name,
    device_of_number,
    loops,
    mount_table,
)
from loadline.host.process import Open, Process, family, mounts, processes
from loadline.host.reservation import Reservation, reservation_of
from loadline.host.roots import HERE, Roots, names, text, unescape
from loadline.host.signature import probed, signatures
from loadline.host.tool import Run, run_tool

Kind = Literal[
    "mounted",
    "swap",
    "btrfs",
    "zfs",
    "bcache",
    "holder",
    "loop",
    "exported",
    "opened",
    "other path",
    "reservation",
    "partitions",
    "partition table",
    "signature",
    "unseen",
]


@dataclass(frozen=True, slots=True)
class Use:
    """One fact: the device (or file) named is used in this way.

    `kind` `unseen` is the fact that something could not be looked at. `pid` names the process, where one does it.
    """

    kind: Kind
    device: str
    detail: str
    pid: int | None = None


AskReservation = Callable[[Path], Reservation | None]


def uses(
    device: BlockDevice,
    roots: Roots = HERE,
    run: Run = run_tool,
    ours: Collection[int] | None = None,
    ask_reservation: AskReservation = reservation_of,
) -> tuple[Use, ...]:
    """Everything that lives on a device, its partitions and what is stacked on them.

    A partition's whole disk counts where it is used as a whole. The slaves of a map are no use of the map; other
    paths to the same LUN are looked at too. A loop device claims nothing of what is behind it, so whatever else uses
    that counts as well.

    Args:
        device: from `device.block_device`.
        roots: the machine.
        run: runs blkid, wipefs and zpool.
        ours: processes whose open files don't count; by default this one and its children.
        ask_reservation: asks a node for its persistent reservation.

    Raises:
        ToolError: no other use is known, and blkid or wipefs is missing or failed.
        TargetError: no other use is known, and the device can't be read.
        InputError: no other use is known, and we may not read the device.
    """
    ours = family(os.getpid(), roots) if ours is None else ours
    whole = device_of_name(device.whole, roots) if device.whole else None
    found: list[Use] = []
    found += _kernel_uses(device, whole, roots, run)
    found += _opened(device, whole, roots, ours)
    found += _other_paths(device, roots, run, ours)
    found += _unasked_loops(device.name, roots)
    if not roots.recorded or ask_reservation is not reservation_of:
        found += _reservations(device, roots, ask_reservation)
    if device.partitions:
        found.append(Use("partitions", device.name, ", ".join(device.partitions)))
    try:
        found += _behind_loops(device, roots, run, ours, ask_reservation)
        if device.size_bytes:
            found += [Use(each.kind, device.name, each.detail) for each in signatures(device, roots, run)]
            if whole is not None:
                # The table of the whole disk is what makes the partition; anything else there covers it.
                found += [Use(s.kind, whole.name, s.detail) for s in probed(whole, run) if s.kind == "signature"]
    except LoadlineError:
        # What is known suffices to say that it's in use; only a device that looks free must be read.
        if all(use.kind == "unseen" for use in found):
            raise
    return tuple(dict.fromkeys(found))


def file_uses(
    path: str | os.PathLike[str], roots: Roots = HERE, ours: Collection[int] | None = None
) -> tuple[Use, ...]:
    """What uses a regular file: a loop device on it, swap, other processes that have it open.

    Raises:
        InputError: the file can't be reached.
    """
    try:
        status = Path(path).stat()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "Name an existing file.") from error
    ours = family(os.getpid(), roots) if ours is None else ours
    return tuple(_uses_of_file(os.path.realpath(path), str(path), (status.st_dev, status.st_ino), roots, ours))


def _uses_of_file(real: str, name: str, key: tuple[int, int], roots: Roots, ours: Collection[int]) -> list[Use]:
    found = [
        Use("loop", name, f"/dev/{loop}") for loop, backing in loops(roots) if (backing.st_dev, backing.inode) == key
    ]
    found += [Use("swap", name, area) for area in _swap_areas(roots) if _same_file(area, key)]
    found += _unasked_loops(name, roots)
    unseen = 0
    for process in processes(roots, ours, real):
        if process.files is None:
            unseen += 1
            continue
        for opened in process.files:
            if _same_file(opened.entry, key):
                found.append(_use_of(process, opened, name))
                break
    if unseen:
        found.append(_unseen(name, unseen))
    return found


def _behind_loops(
    device: BlockDevice, roots: Roots, run: Run, ours: Collection[int], ask_reservation: AskReservation
) -> list[Use]:
    """Other uses of what is behind the loop devices that a device is, is a partition of, or is made of."""
    below = {device.name: device}
    names_below = [device.name]
    for name in names_below:
        more = (below[name].whole, *below[name].slaves)
        found_below = {each: known for each in more if each and (known := device_of_name(each, roots))}
        names_below += found_below.keys() - below.keys()
        below |= found_below
    backings = {each.whole or each.name: each.loop for each in below.values() if each.loop is not None}
    found: list[Use] = []
    for loop, backing in backings.items():
        behind = device_of_number(*backing.number, roots) if backing.number else None
        others: Collection[Use] = ()
        if behind is not None:
            others = uses(behind, roots, run, ours, ask_reservation)
        elif backing.st_dev is not None and backing.inode is not None:
            others = _uses_of_file(backing.path, backing.path, (backing.st_dev, backing.inode), roots, ours)
        # Each use that is out of sight here is out of sight for the device itself, too.
        found += [use for use in others if use.kind != "unseen" and (use.kind, use.detail) != ("loop", f"/dev/{loop}")]
    return found


def device_is_mounted_at(point: str, roots: Roots = HERE) -> bool:
    """Whether the file system of a block device, or a part of it, is mounted at a path without symbolic links."""
    return any(
        # Major 0 is for what has no device: tmpfs, overlay, network file systems.
        major != 0
        for mount in mount_table(roots.proc / "self/mountinfo")
        if mount.point == point
        for major, _ in _numbers_of(mount, roots)
    )


def _stack(devices: Sequence[BlockDevice], roots: Roots) -> list[BlockDevice]:
    """The devices and all that is stacked on them, each once."""
    stack = list(devices)
    seen = {device.name for device in stack}
    for device in stack:
        for name in (*device.partitions, *device.holders):
            above = device_of_name(name, roots) if name not in seen else None
            seen.add(name)
            if above is not None:
                stack.append(above)
    return stack


def _kernel_uses(device: BlockDevice, whole: BlockDevice | None, roots: Roots, run: Run) -> list[Use]:
    stack = _stack([device], roots)
    if whole is not None:
        stack.append(whole)
    by_number = {each.number: each for each in stack}
    found = _mounted(by_number, roots)
    for area in _swap_areas(roots):
        swapped = by_number.get(device_number(area, roots) or (-1, -1))
        if swapped is not None:
            found.append(Use("swap", swapped.name, area))
    by_name = {each.name: each for each in stack}
    found += _btrfs(by_name, roots)
    found += _zfs(by_number, roots, run)
    for each in stack:
        if (roots.sys / "class/block" / each.name / "bcache").is_dir():
            found.append(Use("bcache", each.name, "registered with bcache"))
        for name in each.holders:
            holder = device_of_name(name, roots)
            found.append(Use("holder", each.name, _holder(holder) if holder else name))
    found += _stacked_on_node(by_number, roots)
    return found


def _mounted(by_number: dict[tuple[int, int], BlockDevice], roots: Roots) -> list[Use]:
    found: list[Use] = []
    seen: set[tuple[str, str]] = set()
    for mount, pid in mounts(roots):
        for number in _numbers_of(mount, roots):
            device = by_number.get(number)
            if device is not None and (device.name, mount.point) not in seen:
                seen.add((device.name, mount.point))
                found.append(Use("mounted", device.name, mount.point, pid))
    return found


def _numbers_of(mount: Mount, roots: Roots) -> list[tuple[int, int]]:
    """The devices of a mount.

    btrfs gives its files an anonymous number, so there the source counts. bcachefs joins the sources of one mount
    with colons. Elsewhere the source is only the name that was used, and the name may be another device's by now.
    """
    found = [mount.number]
    if mount.source.startswith("/") and (mount.number[0] == 0 or ":" in mount.source):
        sources = (mount.source, *mount.source.split(":"))
        numbers = (device_number(source, roots) for source in sources if source.startswith("/"))
        found += [number for number in numbers if number is not None]
    return found


def _swap_areas(roots: Roots) -> list[str]:
    lines = (text(roots.proc / "swaps") or "").split("\n")[1:]
    return [unescape(line.split()[0]) for line in lines if line.split()]


def _btrfs(by_name: dict[str, BlockDevice], roots: Roots) -> list[Use]:
    found: list[Use] = []
    folder = roots.sys / "fs/btrfs"
    for uuid in names(folder):
        for name in names(folder / uuid / "devices"):
            if name in by_name:
                label = text(folder / uuid / "label")
                found.append(Use("btrfs", name, f"{label} ({uuid})" if label else uuid))
    return found


def _zfs(by_number: dict[tuple[int, int], BlockDevice], roots: Roots, run: Run) -> list[Use]:
    listed = run(["zpool", "list", "-vHPL"])
    found: list[Use] = []
    pool = ""
    for line in (listed.stdout if listed is not None and listed.code == 0 else "").splitlines():
        name = line.split("\t")[1] if line.startswith("\t") and "\t" in line[1:] else line.split("\t")[0]
        name = name.strip()
        if not line.startswith("\t"):
            pool = name
        device = by_number.get(device_number(name, roots) or (-1, -1)) if name.startswith("/") else None
        if device is not None:
            found.append(Use("zfs", device.name, pool))
    return found


def _holder(holder: BlockDevice) -> str:
    family = (holder.dm_uuid or "").partition("-")[0]
    kind = {
        "LVM": "LVM",
        "CRYPT": "dm-crypt",
        "mpath": "multipath",
        "": holder.md_level or "",
    }.get(family, "device mapper")
    inside = ", ".join(part for part in (holder.dm_name, kind) if part)
    return f"{holder.name} ({inside})" if inside else holder.name


def _stacked_on_node(by_number: dict[tuple[int, int], BlockDevice], roots: Roots) -> list[Use]:
    """Users inside the kernel that neither show as holders nor claim the device: loop, and exports to other hosts."""
    found: list[Use] = []
    for loop, backing in loops(roots):
        under = by_number.get(backing.number or (-1, -1))
        if under is not None:
            found.append(Use("loop", under.name, f"/dev/{loop}"))
    config = roots.sys / "kernel/config"
    for pattern in ("nvmet/subsystems/*/namespaces/*/device_path", "target/core/*/*/udev_path"):
        for attribute in sorted(config.glob(pattern)) if config.is_dir() else ():
            exported = by_number.get(device_number(text(attribute) or "", roots) or (-1, -1))
            if exported is not None:
                found.append(Use("exported", exported.name, str(attribute.parent.relative_to(config))))
    return found


def _unasked_loops(name: str, roots: Roots) -> list[Use]:
    """That we may not ask some loop devices what is behind them: a path may have another file by now."""
    if roots.recorded or os.geteuid() == 0:
        return []
    unasked = sum(not backing.asked for _, backing in loops(roots))
    return [Use("unseen", name, f"what is behind {unasked} loop devices")] if unasked else []


def _other_paths(device: BlockDevice, roots: Roots, run: Run, ours: Collection[int]) -> list[Use]:
    """Uses of the same LUN under its other names; a partition is compared with the one at the same place."""
    paths = [slave for name in device.slaves if (slave := device_of_name(name, roots))]
    is_multipath = (device.dm_uuid or "").startswith("mpath-")
    known = paths if is_multipath else [device]
    wwids = {path.wwid for path in known if path.wwid}
    if not wwids:
        return []
    ours_by_name = {device.name, device.whole, *device.slaves}
    serials = {path.serial for path in known if path.serial}
    found: list[Use] = []
    for other in all_devices(roots):
        if (
            other.wwid not in wwids
            or other.name in ours_by_name
            or (other.partition is None) != (device.partition is None)
            or (other.start_bytes, other.size_bytes) != (device.start_bytes, device.size_bytes)
            or (other.serial and serials and other.serial not in serials)
        ):
            continue
        whole = device_of_name(other.whole, roots) if other.whole else None
        used = _kernel_uses(other, whole, roots, run) + _opened(other, whole, roots, ours)
        found += [
            Use(
                "other path",
                other.name,
                f"the same LUN ({other.wwid}), and {use.device} is {use.kind}: {use.detail}",
                use.pid,
            )
            for use in used
            if use.kind != "unseen"
        ]
    return found


def _reservations(device: BlockDevice, roots: Roots, ask: AskReservation) -> list[Use]:
    found: list[Use] = []
    for name in (device.whole or device.name, *device.slaves):
        disk = device_of_name(name, roots)
        folder = roots.sys / "class/block" / name / "device"
        if disk is None or not (name.startswith("nvme") or (folder / "scsi_device").is_dir()):
            continue
        held = ask(disk.path)
        if held is not None:
            key = "" if held.key is None else f", key {held.key:#x}"
            found.append(Use("reservation", name, f"{held.kind}{key}"))
    return found


def _opened(device: BlockDevice, whole: BlockDevice | None, roots: Roots, ours: Collection[int]) -> list[Use]:
    by_number = {each.number: each for each in _stack([device], roots)}
    if whole is not None:
        by_number[whole.number] = whole
    found: list[Use] = []
    unseen = 0
    for process in processes(roots, ours):
        if process.files is None:
            unseen += 1
            continue
        for opened in process.files:
            held = by_number.get(device_number(opened.link if roots.recorded else opened.entry, roots) or (-1, -1))
            if held is None:
                continue
            use = _use_of(process, opened, held.name)
            if whole is None or held.number != whole.number or "writing" in use.detail:
                found.append(use)
    if unseen:
        found.append(_unseen(device.name, unseen))
    return list(dict.fromkeys(found))


def _use_of(process: Process, opened: Open, name: str) -> Use:
    how = f"{'mapped ' if opened.mapped else ''}for {'writing' if opened.for_writing else 'reading'}"
    return Use("opened", name, f"{process.command} (process {process.pid}), {how}", process.pid)


def _unseen(name: str, processes: int) -> Use:
    return Use("unseen", name, f"the open files of {processes} processes of other users")


def _same_file(path: str | Path, key: tuple[int, int]) -> bool:
    try:
        status = Path(path).stat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == key
