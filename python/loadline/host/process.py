"""What processes have open and mounted, as /proc shows it. Start at `processes` and `mounts`.

Descriptors of other PID namespaces, and those kept only by io_uring or on their way through a socket, don't show there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadline.host.device import Mount, mount_table
from loadline.host.roots import HERE, Roots, names, text, unescape

_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "lustre", "afs", "glusterfs", "beegfs", "gpfs")


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
        folder = roots.proc / str(pid)
        try:
            entries = list((folder / "fd").iterdir())
        except PermissionError:
            yield Process(pid, text(folder / "comm") or "?", None)
            continue
        except OSError:
            continue  # It ended while we looked.
        tasks = _tasks(pid, roots)
        for task in tasks[1:]:
            with contextlib.suppress(OSError):
                entries += (roots.proc / str(task) / "fd").iterdir()
        opened = [Open(entry, link) for entry in entries if (link := _link(entry))]
        # Sockets, pipes and the like are named socket:[1]; only paths can be devices or files.
        files = tuple(
            each
            for each in (*opened, *_mapped(tasks, roots))
            if each.link.startswith("/") and not each.link.startswith(remote)
        )
        if files:
            yield Process(pid, text(folder / "comm") or "?", files)


_KCMP_FILES = 2
_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}.get(os.uname().machine)
_LIBC = ctypes.CDLL(None)


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


def _mapped(tasks: Sequence[int], roots: Roots) -> list[Open]:
    """The shared mappings of a process; its first thread has none when it has ended before the others."""
    for task in tasks:
        folder = roots.proc / str(task)
        lines = (text(folder / "maps") or "").split("\n")
        # Range, permissions, offset, device, inode, path. Source: proc(5). The link in map_files leads to the file
        # itself, whose device and inode in these lines are not those of stat for btrfs and overlay.
        fields = [line.split(maxsplit=5) for line in lines]
        shared = [field for field in fields if len(field) == 6 and field[1].endswith("s")]
        if lines != [""]:
            # The link has no leading zeros.
            return [Open(_map_file(folder, each[0], each[5]), unescape(each[5]), each[1]) for each in shared]
    return []


def _map_file(folder: Path, place: str, path: str) -> Path:
    """The link to a mapped file, or its path where we may not follow the link."""
    link = folder / "map_files" / "-".join(f"{int(end, 16):x}" for end in place.split("-"))
    return link if os.access(link, os.F_OK) else Path(unescape(path))


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
