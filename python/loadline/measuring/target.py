"""The target: what a name on the command line stands for, and whether it's still the same thing later."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from loadline.errors import InputError, RefusedError, TargetError
from loadline.host.device import SECTOR_BYTES, BlockDevice, block_device, device_under, identity, still_there
from loadline.host.roots import HERE, Roots
from loadline.measuring import block, emulate, guard, nbd, open_load
from loadline.system.description import system_names
from loadline.units import format_bytes, format_size
from loadline.workload.dialects import fio_job
from loadline.workload.plan import Point
from loadline.workload.profile import Open

SCRATCH_BYTES = 4 * 1024**3

# What a file system may need for itself beside the scratch file.
_ROOM_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class Target:
    """What is loaded.

    Attributes:
        given: as the user wrote it; path: links resolved; for a directory, the scratch file's place once it's made;
            for a server's export, its Unix socket if it has one.
        size_bytes: of the whole target; used_bytes: the part that is loaded, from its start.
        device: the block device itself, or the one below the file; None where there is none to name.
        uri: of an NBD server's export; of an emulated system once it's served.
        emulated: the system that is emulated; emulator: what serves it, while it does.
        shows: of a device that shows an emulated system, the address of its server.
    """

    given: str
    kind: Literal["device", "file", "directory", "nbd", "emulated"]
    path: Path
    size_bytes: int
    used_bytes: int
    logical_block_bytes: int
    device: BlockDevice | None
    identity: Mapping[str, str | int]
    uri: str | None = None
    emulated: emulate.Emulated | None = None
    emulator: emulate.Emulator | None = field(default=None, compare=False)
    shows: str | None = None

    @property
    def name(self) -> str:
        """As results and messages name it: path, address, or `emulated:` and the system's name."""
        if self.kind in {"nbd", "emulated"}:
            return str(self.identity["path"])
        return str(self.path)

    @property
    def label(self) -> str:
        """As its rows name it: `name`, but of a directory that one, not the scratch file in it."""
        return str(self.identity["path"]) if self.kind == "directory" else self.name

    @property
    def scratch(self) -> bool:
        """Whether what is written to is made for the run, so that nobody loses anything."""
        return self.kind in {"directory", "emulated"} or self.shows is not None

    @property
    def confirmation(self) -> str | None:
        """What must be typed before it's written to: serial number, path, address; None where nobody loses anything."""
        if self.scratch:
            return None
        if self.kind == "nbd":
            return self.uri
        if self.kind == "device" and self.device is not None and self.device.serial:
            return self.device.serial
        return str(self.path)

    @property
    def limited_bytes(self) -> int | None:
        """What fio is told of the size: None when all of the target is used."""
        return None if self.used_bytes == self.size_bytes else self.used_bytes

    def lost(self, roots: Roots) -> str | None:
        """Why the target is no longer what it was when the run began, None while it's fine. Cheap: once a second."""
        if self.kind == "device":
            return still_there(self.device, roots) if self.device else None
        if self.kind in {"nbd", "emulated"}:
            # fio notices when a server goes away.
            return None
        try:
            status = self.path.stat()
        except OSError as error:
            return f"{self.path} is gone: {error.strerror}"
        known = tuple(self.identity.get(key) for key in ("st_dev", "inode", "size_bytes"))
        if (status.st_dev, status.st_ino, status.st_size) != known:
            return f"{self.path} is another file now, or has another size"
        return None

    def to_json(self) -> dict[str, Any]:
        """What run.json keeps of it."""
        return {
            "given": self.given,
            "kind": self.kind,
            "path": self.name,
            "size_bytes": self.size_bytes,
            "used_bytes": self.used_bytes,
            "logical_block_bytes": self.logical_block_bytes,
            "device": None if self.device is None else str(self.device.path),
            "identity": dict(self.identity),
        }


def locate(given: str, size_bytes: int | None, roots: Roots = HERE, settings: Sequence[str] = ()) -> Target:
    """The target that a name stands for. Nothing is opened for writing.

    Args:
        given: a block device, a regular file, a directory (then a scratch file is used), an NBD server's address, or
            `emulated:SYSTEM`.
        size_bytes: how much of it to use; None: all, or 4 GiB of scratch file. Of an emulated system, its size.
        settings: what to set in an emulated system, such as `cache.mode=off`.

    Raises:
        InputError: missing, of another kind, a description, smaller than `size_bytes`, or an emulated system that
            can't be.
        TargetError: a directory without room for the scratch file, or no server at the address.
    """
    if not given:
        raise InputError("the target has no name", "Name a block device, a file or a directory; is a variable unset?")
    if given.startswith(emulate.PREFIX):
        return _emulated(given, size_bytes, settings)
    if Path(given).suffix == ".toml" or (given in system_names() and not os.path.lexists(given)):
        raise InputError(
            f"target {given} is a description, nothing that can be loaded",
            f"A described system is emulated as {emulate.PREFIX}{given}; a suite comes before the targets.",
        )
    if settings:
        raise InputError(
            f"--set changes emulated systems, and {given} is none", f"Name a system: {emulate.PREFIX}dl360-g6-p410i."
        )
    if "://" in given:
        return _served(given, size_bytes)
    path = Path(os.path.realpath(given))
    try:
        mode = path.stat().st_mode
    except OSError as error:
        what = "its directory's permissions" if error.errno == errno.EACCES else "the name"
        remedy = f"Check {what}{'; `lsblk` lists the block devices' if '/dev/' in given else ''}."
        raise InputError(f"target {given}: {error.strerror}", remedy) from None
    if stat.S_ISBLK(mode):
        return _device(given, path, size_bytes, roots)
    if stat.S_ISREG(mode):
        return _file(given, path, size_bytes, roots)
    if stat.S_ISDIR(mode):
        return _directory(given, path, size_bytes or SCRATCH_BYTES, roots)
    kind = {stat.S_IFCHR: "a character device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    what = kind.get(stat.S_IFMT(mode), "not a thing that can be loaded")
    raise InputError(f"target {given} is {what}", "Name a block device, a regular file, or a directory.")


def _emulated(given: str, size_bytes: int | None, settings: Sequence[str]) -> Target:
    emulated = emulate.describe(given.removeprefix(emulate.PREFIX), settings, size_bytes)
    size = emulated.size_bytes
    return Target(given, "emulated", Path(), size, size, SECTOR_BYTES, None, emulated.identity, emulated=emulated)


def _served(given: str, size_bytes: int | None) -> Target:
    address = nbd.parse(given)
    export = nbd.ask(address)
    if export.size_bytes == 0:
        raise InputError(f"target {given} has no size", "Serve something that has one.")
    used = _used(given, export.size_bytes, size_bytes)
    known: dict[str, str | int] = {"path": given, "size_bytes": export.size_bytes}
    step = max(SECTOR_BYTES, export.block_bytes)
    return Target(given, "nbd", Path(address.path or ""), export.size_bytes, used, step, None, known, uri=given)


def _device(given: str, path: Path, size_bytes: int | None, roots: Roots) -> Target:
    device = block_device(path, roots)
    if device.size_bytes == 0:
        raise InputError(f"target {given} has no size", "A device without a medium, or a loop device without a file.")
    used = _used(given, device.size_bytes, size_bytes)
    block_bytes, shows = device.logical_block_bytes, block.emulator_of(device)
    known = identity(device)
    return Target(given, "device", device.path, device.size_bytes, used, block_bytes, device, known, shows=shows)


def _file(given: str, path: Path, size_bytes: int | None, roots: Roots) -> Target:
    status = path.stat()
    below = device_under(path, roots)
    known: dict[str, str | int] = {
        "path": str(path),
        "st_dev": status.st_dev,
        "inode": status.st_ino,
        "size_bytes": status.st_size,
    }
    used = _used(given, status.st_size, size_bytes)
    return Target(given, "file", path, status.st_size, used, _block_bytes(below), below, known)


def _directory(given: str, path: Path, size_bytes: int, roots: Roots) -> Target:
    below = device_under(path, roots)
    known: dict[str, str | int] = {"path": str(path), "st_dev": path.stat().st_dev}
    return Target(given, "directory", path, size_bytes, size_bytes, _block_bytes(below), below, known)


def _block_bytes(below: BlockDevice | None) -> int:
    return below.logical_block_bytes if below else SECTOR_BYTES


def _used(given: str, whole_bytes: int, wanted_bytes: int | None) -> int:
    if wanted_bytes is not None and wanted_bytes > whole_bytes:
        raise InputError(
            f"target {given} has {whole_bytes} bytes, less than --size {format_bytes(wanted_bytes)}",
            "Give a smaller --size.",
        )
    if whole_bytes == 0:
        raise InputError(f"target {given} is empty", "Name a file that has its size already, or a directory.")
    return whole_bytes if wanted_bytes is None else wanted_bytes


def check_fits(points: tuple[Point, ...], target: Target, several: int = 1) -> None:
    """Whether every point can run on the target, one of `several` that are loaded at once, before anything is touched.

    Raises:
        InputError: a block that is no multiple of the logical block, a working set that doesn't fit, or a point that
            fio can't express, on this target; a directory that can't be written.
        TargetError: a directory without room for the scratch file.
    """
    if target.kind == "directory":
        _check_room(target)
    points = tuple(probe for point in points for probe in _probes(point, several))
    try:
        fio_job.write(points, size_bytes=target.used_bytes)
    except InputError as error:
        raise InputError(f"target {target.given}: {error.message}", error.remedy) from None
    for point in points:
        for stream in point.streams:
            served = target.kind in {"nbd", "emulated"}
            if (
                served
                and stream.profile.flush_every
                and stream.profile.read_fraction == 0
                and isinstance(stream.arrival, Open)
            ):
                raise InputError(
                    f"point {point.name}: fio's nbd engine dies by a rate of writes with flushes between them",
                    "Add reads, or leave out rate or flush_every.",
                )
            if target.kind == "nbd" and stream.profile.dsync:
                raise InputError(
                    f"point {point.name}: fio's nbd engine doesn't know dsync", "Use flush_every = 1, or a device."
                )
            for share in stream.profile.block:
                if share.size_bytes % target.logical_block_bytes:
                    raise InputError(
                        f"point {point.name}: a block of {share.size_bytes} bytes is no multiple of the logical block"
                        f" of {target.given} ({target.logical_block_bytes} bytes)",
                        f"Direct I/O needs multiples of it; change `block` of profile {stream.profile.name}.",
                    )


def _probes(point: Point, several: int) -> tuple[Point, ...]:
    """What of a search, or of a plain point, must fit. Raises InputError."""
    ramp = point.ramp
    if point.shared:
        return (open_load.as_sent(point, several).logged,)
    if ramp is None or ramp.axis == "outstanding":
        return point.grid()
    open_load.check(point)
    return tuple(open_load.spread(point.at(load), ramp.limit.bound_ns) for load in (ramp.low, ramp.high))


def _check_room(target: Target) -> None:
    room = os.statvfs(target.path)
    if not os.access(target.path, os.W_OK | os.X_OK) or room.f_flag & os.ST_RDONLY:
        raise InputError(f"directory {target.given} can't be written", "Choose a directory that you may write to.")
    free_bytes = room.f_bavail * room.f_frsize
    if free_bytes < target.used_bytes + _ROOM_BYTES:
        raise TargetError(
            f"directory {target.given} has {format_size(free_bytes)} free;"
            f" the scratch file needs {format_size(target.used_bytes)}",
            "Give a smaller --size, or another directory.",
        )


@contextmanager
def held(target: Target, *, writes: bool, run_id: str, seed: int = 1, roots: Roots = HERE) -> Iterator[Target]:
    """The target, exclusively ours until the end; of a directory, with its scratch file made and removed.

    An emulated system is served as long, with the luck of `seed`.

    The guard looks again once we hold it: from then on nobody can mount it, and what happened while the user was
    asked is seen.

    Raises:
        RefusedError: the guard says no.
        TargetError: the scratch file can't be made, or the emulated system can't be served.
    """
    if target.emulated is not None:
        with emulate.serve(target.emulated, seed=seed) as emulator:
            yield replace(target, uri=emulator.address, emulator=emulator)
        return
    if target.kind == "nbd":
        yield target
        return
    if target.kind == "directory":
        with _scratch(target, run_id) as scratch, guard.hold(scratch.path, write=True):
            yield scratch
        return
    if target.kind == "device":
        with guard.take(target.path, write=writes, roots=roots):
            _check_same(target, roots)
            yield target
        return
    with guard.hold(target.path, write=writes):
        check(target, roots)
        _check_same(target, roots)
        yield target


def _check_same(target: Target, roots: Roots) -> None:
    """What is held now must be what was shown and confirmed before."""
    lost = target.lost(roots)
    if lost is not None:
        raise RefusedError(f"{target.given} is no longer what it was when it was looked at: {lost}", "Start again.")


def check(target: Target, roots: Roots = HERE) -> tuple[str, ...]:
    """Lets the guard judge the target; returns only if it may be used, with what could not be looked at, as sentences.

    Raises:
        RefusedError: with every reason.
    """
    if target.kind == "file":
        return guard.check_file(target.path, roots)
    if target.kind == "emulated":
        return ()
    if target.kind == "nbd":
        return (f"{target.given}: who else uses it, and whether it holds data, its server doesn't say",)
    if target.kind == "device" and target.device is not None:
        guard.check_device(target.device, roots)
    else:
        guard.check_directory(target.path, roots)
    return ()


def confirmed_by(target: Target) -> str:
    """What it is that must be typed."""
    if target.confirmation == target.uri:
        return "address"
    return "path" if target.confirmation == str(target.path) else "serial number"


def confirm(target: Target, typed: tuple[str, ...]) -> None:
    """Looks for what must be typed among what the user typed.

    Raises:
        RefusedError: nothing or something else was typed.
    """
    wanted = target.confirmation
    by_path = wanted in {str(target.path), target.uri}
    if wanted is None or wanted in typed or (by_path and target.given in typed):
        return
    what = confirmed_by(target)
    said = f"is not {' or '.join(map(repr, typed))}" if any(typed) else "was not given"
    raise RefusedError(
        f"{target.given} would be overwritten, and its {what} {said}",
        f"If everything on it may be lost: --destroy {shlex.quote(wanted)}",
    )


@contextmanager
def _scratch(target: Target, run_id: str) -> Iterator[Target]:
    path = target.path / f"loadline-scratch-{run_id}"
    path.unlink(missing_ok=True)  # of an attempt that was killed; the name holds the run's id, so it's ours
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TargetError(f"{path} can't be made: {error.strerror}", "Choose another directory.") from None
    try:
        try:
            os.posix_fallocate(descriptor, 0, target.used_bytes)
        except OSError as error:
            raise TargetError(
                f"{path}: {format_size(target.used_bytes)} can't be had: {error.strerror}", "Give a smaller --size."
            ) from None
        status = os.fstat(descriptor)
        known = {"st_dev": status.st_dev, "inode": status.st_ino, "size_bytes": status.st_size}
        yield replace(target, path=path, identity={**target.identity, **known})
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)
