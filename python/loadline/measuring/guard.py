"""The verdict on the facts of `host`: what may be measured, and what is never touched.

No flag reaches this module: a device in use, or with anything on it, is refused, also for runs that only read.
Start at `take`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from loadline.errors import InputError, LoadlineError, RefusedError, TargetError
from loadline.host.device import BlockDevice, block_device
from loadline.host.reservation import reservation_of
from loadline.host.roots import HERE, Roots
from loadline.host.tool import Run, run_tool
from loadline.host.use import AskReservation, Kind, Use, device_is_mounted_at, file_uses, uses

NEVER = "loadline never overrides this, whatever the flags."

_BLKROGET = 0x125E

_UDEV = ("systemd-udevd", "(udev-worker)", "udevd", "udev-worker")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason to refuse: what it is, and what would remove it (may be empty beside another reason's)."""

    what: str
    remedy: str


def verdict(facts: Collection[Use]) -> tuple[Reason, ...]:
    """The reasons against measuring a device; none when it's free and empty. Every fact is a reason.

    What could not be looked at counts against it too: a guard that can't see says no. While it's in use, nothing
    in the remedies speaks of wiping it, and while the running system lives on it, nothing of freeing it.
    """
    if any(use.kind == "mounted" and use.pid is None and use.detail in _SYSTEM for use in facts):
        return tuple(dict.fromkeys(Reason(_reason(use).what, _ANOTHER) for use in facts))
    in_use = any(use.kind not in _CONTENT for use in facts)
    reasons = (_reason(use) for use in facts)
    return tuple(
        dict.fromkeys(
            Reason(reason.what, "") if in_use and use.kind in _CONTENT else reason
            for use, reason in zip(facts, reasons, strict=True)
        )
    )


def check_device(
    device: BlockDevice,
    roots: Roots = HERE,
    run: Run = run_tool,
    ours: Collection[int] | None = None,
    ask_reservation: AskReservation = reservation_of,
) -> None:
    """Do nothing when the device is free and empty.

    Args:
        device: from `host.device.block_device`.
        roots: the machine.
        run: runs blkid, wipefs, zpool, udevadm.
        ours: processes whose open files don't count; by default this one and its children.
        ask_reservation: asks a node for its persistent reservation.

    Raises:
        RefusedError: it's in use or carries something; all reasons are named.
        InputError: it has no size, or we may not read it.
        ToolError, TargetError: what decides could not be found out.
    """
    if not device.size_bytes:
        raise InputError(
            f"{device.path} has a size of 0: no medium, or nothing attached to it",
            "Attach something to it first, or name another device; lsblk lists them.",
        )
    facts = uses(device, roots, run, ours, ask_reservation)
    if any(use.kind == "opened" and use.detail.startswith(_UDEV) for use in facts):
        # udev reads every device that has just appeared or been written; that passes.
        run(["udevadm", "settle", "--timeout=10"])
        facts = uses(device, roots, run, ours, ask_reservation)
    _refuse(str(device.path), verdict(facts))


def check_file(
    path: str | os.PathLike[str], roots: Roots = HERE, ours: Collection[int] | None = None
) -> tuple[str, ...]:
    """Check that nobody else uses a regular file, and give what could not be looked at, as sentences.

    Raises:
        RefusedError: it backs a loop device, is swap, or is open in another process.
        InputError: it's missing, or no regular file.
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "Name an existing file.") from error
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is not a regular file", "Name a file, a directory or a block device.")
    facts = file_uses(path, roots, ours)
    _refuse(str(path), tuple(_file_reason(use) for use in facts if use.kind != "unseen"))
    return tuple(f"{path}: could not look at {use.detail}" for use in facts if use.kind == "unseen")


def check_directory(path: str | os.PathLike[str], roots: Roots = HERE) -> None:
    """Check that no block device is mounted at a directory, for then the device may be what is meant.

    Raises:
        RefusedError: one is.
        InputError: it's missing, or no directory.
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "Name an existing directory.") from error
    if not stat.S_ISDIR(mode):
        raise InputError(f"{path} is not a directory", "Name a directory, a file or a block device.")
    real = os.path.realpath(path)
    if device_is_mounted_at(real, roots):
        below = shlex.quote(f"{real.rstrip('/')}/loadline")
        reason = Reason(
            f"{real} is a mount point",
            f"To measure the file system, name a directory below it: mkdir {below} and use {below}. "
            "To measure the device under it, unmount it, wipe it and name the device.",
        )
        _refuse(str(path), (reason,))


class Hold:
    """The exclusive descriptor of a target, held until `close` or the end of a `with`."""

    __slots__ = ("_descriptor", "locked", "path")

    def __init__(self, path: Path, descriptor: int, locked: bool) -> None:
        self.path = path
        self.locked = locked
        """Whether the advisory lock is held as well; some network file systems have none."""
        self._descriptor: int | None = descriptor

    def fileno(self) -> int:
        """The descriptor, for as long as it's held."""
        assert self._descriptor is not None, "the hold is closed"
        return self._descriptor

    def close(self) -> None:
        """Let the target go; a second time does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Hold:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def hold(path: str | os.PathLike[str], *, write: bool) -> Hold:
    """Open a block device or regular file for this run alone.

    A device is opened with O_EXCL, so the kernel refuses it while it, its partitions or its whole disk are mounted,
    swap, or claimed by dm, md, ZFS or another run; and with a lock that keeps udev from probing it meanwhile
    (systemd.io/BLOCK_DEVICE_LOCKING). A file has the lock only. Programs started later don't inherit the
    descriptor. fio can open the target beside it.

    Raises:
        RefusedError: somebody else holds it.
        InputError: it's missing, or not writable when writing is wanted.
        TargetError: the device doesn't answer.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = real.stat().st_mode
        exclusive = os.O_EXCL if stat.S_ISBLK(mode) else 0
        if not (stat.S_ISBLK(mode) or stat.S_ISREG(mode)):
            raise InputError(f"{path} is neither a block device nor a regular file")
        descriptor = os.open(real, (os.O_RDWR if write else os.O_RDONLY) | exclusive | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_open(str(path), error, write) from error
    if write and exclusive and _is_read_only(descriptor):
        os.close(descriptor)
        raise _cannot_open(str(path), OSError(errno.EROFS, os.strerror(errno.EROFS)), write)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError as error:
        os.close(descriptor)
        raise RefusedError(
            f"{path} is refused: it is locked by another program, or under another run",
            f"Wait for it to end; see who it is with: lsof {path}. {NEVER}",
        ) from error
    except OSError:
        # Some network file systems have no locks, or none without write access.
        locked = False
    return Hold(real, descriptor, locked)


@contextmanager
def take(
    path: str | os.PathLike[str],
    *,
    write: bool,
    roots: Roots = HERE,
    run: Run = run_tool,
) -> Iterator[tuple[BlockDevice, Hold]]:
    """Check a device, open it exclusively, and check again with the door shut; held for the whole `with`.

    The first check names every reason; the second one closes the gap before the exclusive open.

    Raises:
        RefusedError, InputError, ToolError, TargetError: as in `check_device` and `hold`.
    """
    device = block_device(path, roots)
    check_device(device, roots, run)
    with hold(device.path, write=write) as held:
        rdev = os.fstat(held.fileno()).st_rdev
        now = block_device(device.path, roots)
        if (os.major(rdev), os.minor(rdev)) != device.number or now.diskseq != device.diskseq:
            raise TargetError(f"{device.path} became another device while it was opened", "Try again.")
        check_device(now, roots, run)
        yield now, held


def _refuse(target: str, reasons: tuple[Reason, ...]) -> None:
    if not reasons:
        return
    what = reasons[0].what if len(reasons) == 1 else "".join(f"\n  - {reason.what}" for reason in reasons)
    remedies = dict.fromkeys(reason.remedy for reason in reasons if reason.remedy)
    raise RefusedError(f"{target} is refused:{' ' if len(reasons) == 1 else ''}{what}", "\n".join([*remedies, NEVER]))


_CONTENT: tuple[Kind, ...] = ("partitions", "partition table", "signature")
"""Facts about what is on a device, apart from who uses it."""

_SYSTEM = ("/", "/boot", "/boot/efi", "/efi", "/etc", "/usr", "/var")
"""Where what is mounted is the running system's."""

_ANOTHER = "The running system lives on it: name another device (lsblk lists them), or a directory for a file."
_WIPE = "If nothing on it is needed, wipe it yourself: wipefs -a {node}"
_REASONS: dict[Kind, tuple[str, str]] = {
    "mounted": ("{node} is mounted at {detail}{where}", "Unmount it: {enter}umount {quoted}"),
    "swap": (
        "{node} is swap",
        "Name another device, or stop swapping to it if the machine can do without: swapoff {quoted}",
    ),
    "btrfs": ("{node} is part of the mounted btrfs {detail}", "Unmount that file system."),
    "zfs": ("{node} is part of the ZFS pool {detail}", "Give the pool up: zpool export {detail}"),
    "bcache": ("{node} is {detail}", "Stop the bcache device first."),
    "holder": ("{node} is held by {detail}", "Name /dev/{first} if that is meant, or take it apart first."),
    "loop": ("{node} is behind the loop device {detail}", "Detach it: losetup -d {detail}"),
    "exported": ("{node} is exported to other hosts ({detail})", "Remove the export first."),
    "opened": ("{node} is open in {detail}", "End that program first; see it with: ps {pid}"),
    "other path": ("{node} is {detail}", "Free {node} first, or name another device."),
    "reservation": (
        "{node} has a persistent reservation ({detail})",
        "A host holds it, so it is in use: release it there.",
    ),
    "partitions": ("{node} has partitions: {detail}", "Name one of them, if it is unused."),
    "partition table": ("{node} has a partition table: {detail}", _WIPE),
    "signature": ("{node} has a signature: {detail}", _WIPE),
    "unseen": ("whether {node} is open elsewhere can't be seen: {detail}", "Run it as root."),
}
"""What a fact is for a person, and what would remove it."""


def _reason(use: Use) -> Reason:
    what, remedy = _REASONS[use.kind]
    fields = {
        # A file is named by its path, the one behind a loop device.
        "node": use.device if use.device.startswith("/") else f"/dev/{use.device.replace('!', '/')}",
        "detail": use.detail,
        "quoted": shlex.quote(use.detail),
        "first": use.detail.partition(" ")[0],
        "pid": use.pid,
        "where": f" in the mount namespace of process {use.pid}" if use.pid else "",
        "enter": f"nsenter -t {use.pid} -m " if use.pid else "",
    }
    return Reason(what.format(**fields), remedy.format(**fields))


def _file_reason(use: Use) -> Reason:
    match use.kind:
        case "loop":
            return Reason(f"it is the file behind {use.detail}", f"Detach it: losetup -d {use.detail}")
        case "swap":
            return Reason("it is swap", f"Stop swapping to it: swapoff {shlex.quote(use.detail)}")
        case _:
            return Reason(f"it is open in {use.detail}", f"End that program first; see it with: ps {use.pid}")


def _is_read_only(descriptor: int) -> bool:
    """Whether a block device is set read-only; newer kernels open it for writing all the same."""
    answer = fcntl.ioctl(descriptor, _BLKROGET, bytes(4))
    return any(answer)


def _cannot_open(path: str, error: OSError, write: bool) -> LoadlineError:
    if error.errno in (errno.EBUSY, errno.ETXTBSY):
        return RefusedError(
            f"{path} is refused: it can't be opened exclusively, in use by the kernel or under another run",
            f"See what uses it: lsblk {path}; lsof {path}. {NEVER}",
        )
    said = f"{path}: {error.strerror}"
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        return InputError(said, "Name an existing file or block device; lsblk lists devices.")
    if error.errno in (errno.ENXIO, errno.ENODEV, errno.ENOMEDIUM):
        return InputError(f"{path} has no device or medium behind it", "Name another one; lsblk lists them.")
    if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
        return TargetError(f"{path} can't be opened: {error.strerror}", "See the kernel's log: dmesg | tail")
    if write and os.access(path, os.R_OK):
        return InputError(
            f"{path} is read-only, or we may not write to it",
            "Choose a suite that only reads, make it writable (blockdev --setrw for a device), or run it as root.",
        )
    return InputError(said, "Run it as root.")
