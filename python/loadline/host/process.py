"""What processes have open and mounted, as /proc shows it. Start at `processes` and `mounts`.

Descriptors of other PID namespaces, mappings that outlive their descriptor, and descriptors kept only by io_uring don't
show there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadline.host.device import Mount, mount_table
from loadline.host.roots import HERE, Roots, names, text

_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "lustre", "afs", "glusterfs", "beegfs", "gpfs")


@dataclass(frozen=True, slots=True)
class Open:
    """An open file: its entry in /proc/PID/fd, and the path that this names."""

    entry: Path
    link: str

    @property
    def for_writing(self) -> bool:
        """Whether it was opened for writing; False when that can't be read."""
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
        opened = ((entry, _link(entry)) for entry in entries)
        # Sockets, pipes and the like are named socket:[1]; only paths can be devices or files.
        files = tuple(
            Open(entry, link) for entry, link in opened if link and link.startswith("/") and not link.startswith(remote)
        )
        if files:
            yield Process(pid, text(folder / "comm") or "?", files)


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
