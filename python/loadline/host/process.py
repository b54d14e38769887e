"""What processes have open and mounted, as /proc shows it. Start at `processes` and `mounts`.

Descriptors of other PID namespaces, and those kept only by io_uring or on their way through a socket, don't show there.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadline.host.device import Mount, mount_table
from loadline.host.roots import HERE, Roots, names, text, unescape

_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "lustre", "afs", "glusterfs", "beegfs", "gpfs")

_KCMP_FILES = 2
_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}.get(os.uname().machine)
"""The number of the system call, which libc has no function for."""
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class Open:
    """A file that is open, or mapped and shared: the entry in /proc that leads to it, and the path this names."""

    entry: Path
    link: str
    mapped: str | None = None
    """The permissions of a mapping (`rw-s`), which needs no descriptor any more."""

    @property
    def for_writing(self) -> bool:
        """Whether it was opened or mapped for writing; False when that can't be read."""
        if self.mapped is not None:
            return "w" in self.mapped
        for line in (text(self.entry.parent.parent / "fdinfo" / self.entry.name) or "").splitlines():
            if line.startswith("flags:"):
                return bool(int(line.split()[1], 8) & os.O_ACCMODE)
        return False


@dataclass(frozen=True, slots=True)
class Process:
    """A process and its open files."""

    pid: int
    command: str
    files: tuple[Open, ...] | None
    """None when we may not look."""


def _pids(roots: Roots) -> list[int]:
    return sorted(int(name) for name in names(roots.proc) if name.isdecimal())


def _link(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:
        return None


def _remote_points(roots: Roots) -> tuple[str, ...]:
    """Where network and user-space file systems are mounted, with a slash at the end."""
    return tuple(
        f"{mount.point}/"
        for mount, _ in mounts(roots)
        if mount.point != "/" and (mount.fstype in _REMOTE or mount.fstype.startswith("fuse"))
    )


def processes(roots: Roots, ours: Collection[int], wanted: str = "") -> Iterator[Process]:
    """The processes with their open paths.

    Files on remote file systems are left out, for looking at them hangs when the server doesn't answer; but not
    those of the file system that the `wanted` file is on.
    """
    remote = tuple(point for point in _remote_points(roots) if not wanted.startswith(point))
    for pid in _pids(roots):
        if pid in ours:
            continue
        command = text(roots.proc / str(pid) / "comm") or "?"
        tasks = _tasks(pid, roots)
        try:
            entries = [entry for task in tasks for entry in _descriptors(task, roots)]
        except PermissionError:
            yield Process(pid, command, None)
            continue
        opened = [Open(entry, link) for entry in entries if (link := _link(entry))]
        # Sockets, pipes and the like are named socket:[1]; only paths can be devices or files.
        files = tuple(
            each
            for each in (*opened, *_mapped(tasks, roots))
            if each.link.startswith("/") and not each.link.startswith(remote)
        )
        if files:
            yield Process(pid, command, files)


def _tasks(pid: int, roots: Roots) -> list[int]:
    """A process' first thread, and those others that may have a table of open files of their own.

    Threads share one, unless they called unshare or the first one has ended. One system call tells (kcmp(2)), where
    reading the table again for thousands of threads would take minutes. Where it can't be asked, each counts.
    """
    found = [pid]
    for task in sorted(int(name) for name in names(roots.proc / str(pid) / "task") if name.isdecimal()):
        shared = _KCMP is not None and any(
            _LIBC.syscall(_KCMP, task, known, _KCMP_FILES, 0, 0) == 0 for known in {found[0], found[-1]}
        )
        if task != pid and not shared:
            found.append(task)
    return found


def _descriptors(task: int, roots: Roots) -> list[Path]:
    try:
        return list((roots.proc / str(task) / "fd").iterdir())
    except PermissionError:
        raise
    except OSError:
        return []  # It ended while we looked.


def _mapped(tasks: Sequence[int], roots: Roots) -> list[Open]:
    """The shared mappings of a process, from the first of its threads that has not ended.

    The entries in map_files lead to the mapped files themselves; maps' own device and inode are not those of stat for
    btrfs and overlay.
    """
    for task in tasks:
        lines = text(roots.proc / str(task) / "maps")
        if lines is not None:
            # Range, permissions, offset, device, inode, path. Source: proc(5).
            fields = [line.split(maxsplit=5) for line in lines.split("\n")]
            shared = [field for field in fields if len(field) == 6 and field[1].endswith("s")]
            return [_mapping(roots.proc / str(task), unescape(path), place, how) for place, how, *_, path in shared]
    return []


def _mapping(folder: Path, path: str, place: str, permissions: str) -> Open:
    # Unlike in maps, the range has no leading zeros. Looking at the link only can't hang on a remote file.
    entry = folder / "map_files" / "-".join(f"{int(end, 16):x}" for end in place.split("-"))
    return Open(entry if _link(entry) else Path(path), path, permissions)


def family(pid: int, roots: Roots = HERE) -> frozenset[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for child in _pids(roots):
        # The command between the brackets may hold anything, brackets too. Source: proc(5).
        fields = (text(roots.proc / str(child) / "stat") or "").rpartition(")")[2].split()
        if len(fields) > 1:
            parents[child] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return frozenset(found)


def mounts(roots: Roots = HERE) -> Iterator[tuple[Mount, int | None]]:
    """The mounts of every mount namespace that a visible process is in.

    Our own come first, with None; those of the others with the process that they were seen through.
    """
    seen = {_link(roots.proc / "self/ns/mnt")}
    for mount in mount_table(roots.proc / "self/mountinfo"):
        yield mount, None
    for pid in _pids(roots):
        namespace = _link(roots.proc / str(pid) / "ns/mnt")
        # When the namespace may not be read, its mounts still may; they repeat then, which does no harm.
        if namespace is not None and namespace in seen:
            continue
        seen.add(namespace)
        for mount in mount_table(roots.proc / str(pid) / "mountinfo"):
            yield mount, pid
