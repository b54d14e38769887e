"""Loop devices, mounts and their like for tests, as context managers that clean up whatever happens.

All need root. `losetup -f` chooses the loop device; files are sparse.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

MIB = 2**20


def _loop_devices_work() -> bool:
    return os.geteuid() == 0 and Path("/dev/loop-control").exists()


needs_root = [
    pytest.mark.root,
    pytest.mark.skipif(not _loop_devices_work(), reason="needs root and /dev/loop-control for loop devices"),
]
"""For `pytestmark`: the marker, and the skip that says why."""


def command(*words: str | Path) -> str:
    """Run a program that must succeed; give what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def loop_device(backing: Path, size_bytes: int = 64 * MIB, options: Sequence[str] = ()) -> Iterator[Path]:
    """A loop device over `backing`, which is made sparse when it's absent, and removed at the end."""
    if not backing.exists():
        with backing.open("wb") as file:
            file.truncate(size_bytes)
    device = Path(command("losetup", "-f", "--show", *options, backing).strip())
    try:
        yield device
    finally:
        # A test may have detached it already.
        subprocess.run(["losetup", "-d", str(device)], capture_output=True, check=False)
        backing.unlink(missing_ok=True)


@contextlib.contextmanager
def another_loop_device(backing: Path, *options: str) -> Iterator[Path]:
    """A loop device over a file or device that is left as it is."""
    device = Path(command("losetup", "-f", "--show", *options, backing).strip())
    try:
        yield device
    finally:
        command("losetup", "-d", device)


@contextlib.contextmanager
def partition(device: Path, number: int, start_bytes: int, size_bytes: int) -> Iterator[Path]:
    """A partition that only the kernel knows (addpart): nothing is written to the device."""
    command("addpart", device, str(number), str(start_bytes // 512), str(size_bytes // 512))
    try:
        yield Path(f"{device}p{number}")
    finally:
        subprocess.run(["delpart", str(device), str(number)], capture_output=True, check=False)


@contextlib.contextmanager
def mounted(source: Path, point: Path, options: Sequence[str] = ()) -> Iterator[Path]:
    """A file system mounted at `point`, which is made."""
    point.mkdir(parents=True, exist_ok=True)
    command("mount", *options, source, point)
    try:
        yield point
    finally:
        command("umount", point)


@contextlib.contextmanager
def swap(device: Path) -> Iterator[None]:
    """A device or file used as swap."""
    command("mkswap", device)
    command("swapon", device)
    try:
        yield
    finally:
        command("swapoff", device)


@contextlib.contextmanager
def process(code: str, *arguments: str | Path) -> Iterator[int]:
    """A program in Python that is no descendant of ours, as other people's are not; gives its pid.

    It runs from when `code` has printed a line until its standard input ends (`sys.stdin.read()`).
    """
    detached = "import os, sys\nif os.fork():\n    os._exit(0)\nprint(os.getpid(), flush=True)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", detached + code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin and child.stdout and child.stderr
    child.wait()
    with child.stdin, child.stdout, child.stderr:
        pid = int(child.stdout.readline())
        assert child.stdout.readline(), child.stderr.read()
        try:
            yield pid
        finally:
            child.stdin.close()
            child.stdout.read()  # Until its end of the pipe is closed too.


OPENER = """
descriptor = os.open(sys.argv[1], os.O_RDWR if sys.argv[2] == "write" else os.O_RDONLY)
print("ready", flush=True)
sys.stdin.read()
"""
"""Opens a path, for `read` or `write`."""

THREAD_OPENER = """
import ctypes, threading
def hold():
    assert ctypes.CDLL(None).unshare(0x400) == 0  # CLONE_FILES
    os.close(0)
    os.open(sys.argv[1], os.O_RDWR)
    print("ready", flush=True)
    threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
sys.stdin.read()
"""
"""Opens a path in a thread with a table of descriptors of its own, under a number that the first thread has too."""

ORPHAN_THREAD_OPENER = """
import ctypes, threading
descriptor = os.open(sys.argv[1], os.O_RDWR)
def hold():
    while open(f"/proc/self/task/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] != "Z":
        pass
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)  # exit(2) ends this thread alone.
"""
"""Opens a path in a process whose first thread ends, so that /proc/PID/fd is empty."""

MAPPER = """
import ctypes
descriptor = os.open(sys.argv[1], os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
sharing = {"shared": 1, "private": 2}[sys.argv[2]]
place = libc.mmap(None, ctypes.c_size_t(4096), 3, sharing, descriptor, ctypes.c_long(0))
assert place not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
os.close(descriptor)
print("ready", flush=True)
sys.stdin.read()
"""
"""Maps a path for writing, `shared` or `private`, and closes its descriptor."""

EXCLUSIVE_OPENER = """
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)
print("ready", flush=True)
sys.stdin.read()
"""

LOCKER = """
import fcntl
descriptor = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
"""

FOREIGN_MOUNTER = """
import ctypes, subprocess
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
assert libc.unshare(CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
assert libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0, os.strerror(ctypes.get_errno())
subprocess.run(["mount", "-o", "ro", sys.argv[1], sys.argv[2]], check=True)
print("ready", flush=True)
sys.stdin.read()
subprocess.run(["umount", sys.argv[2]], check=True)
"""
"""Mounts a device in a mount namespace of its own, which ends with the process."""


def sha256(path: Path) -> str:
    """The checksum of a device's or file's whole content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(4 * MIB):
            digest.update(block)
    return digest.hexdigest()


def write_at(path: Path, offset: int, content: bytes) -> None:
    """Put bytes on a device or file, and have them on it."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(descriptor, content, offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Bytes by which libblkid knows things, written by hand so that no test needs the tools that make them.


def write_partition_table(device: Path) -> None:
    """An MBR with one Linux partition of 16 MiB."""
    entry = bytes([0, 0, 2, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (32768).to_bytes(4, "little")
    write_at(device, 440, bytes.fromhex("deadbeef0000") + entry + bytes(48) + b"\x55\xaa")


def write_lvm_label(device: Path) -> None:
    """The label of an LVM physical volume in sector 1. Source: lvm2, lib/format_text/layout.h and lib/label."""
    uuid = b"6cPd1ZuMIiDjHIyk6oUOXQxnpXvPW3wL"
    header = uuid + (64 * MIB).to_bytes(8, "little") + bytes(472 - 32 - 8 - 12)
    checked = (32).to_bytes(4, "little") + b"LVM2 001" + header
    checked += bytes(512 - 20 - len(checked))
    # LVM's CRC begins with its own value and isn't inverted at the end.
    crc = zlib.crc32(checked, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    label = b"LABELONE" + (1).to_bytes(8, "little") + crc.to_bytes(4, "little") + checked
    write_at(device, 512, label)


def write_zfs_labels(device: Path) -> None:
    """Uberblock magics in the first label of a ZFS vdev: libblkid wants four of them. Source: OpenZFS, vdev_impl.h."""
    for slot in range(8):
        write_at(device, (128 + slot) * 1024, (0x00BAB10C).to_bytes(8, "little") + (5000).to_bytes(8, "little"))
