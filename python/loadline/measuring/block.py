"""An emulated system as a block device: nbdfuse shows the server's export as a file, losetup makes a device of that.

A shell keeps both and takes them down when its standard input ends. The only writing end is ours, so it ends with us,
however that may be: after `kill -9` as well. What a program holds open can't be taken down: the shell waits for it.
It heeds no signal but the one that can't be refused; what it leaves behind then is taken down by us, or who comes next.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadline.errors import InputError, TargetError, ToolError
from loadline.host.device import BlockDevice
from loadline.measuring import emulate

_TOOLS = {
    "nbdfuse": "libnbd-bin",
    "losetup": "mount",
    "umount": "mount",
    "mountpoint": "util-linux",
    "flock": "util-linux",
    "delpart": "util-linux",
}
_FOLDER = "loadline-block-"
_ADDRESS = "address"
_PATIENCE_S = 3.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Which loop device is ours says the file behind it, never a name that was noted: names are given anew. Its own name is
# the folder's, which is all of its path that is left when somebody has forced the mount away. A partition that is in
# use when its device is detached would stay, and be one of whatever has the device next.
_DOWN = """
folder=$1 name=${1##*/} waits=
ours() {
    case $(cat "$1/loop/backing_file") in
        "$folder/mnt/$name" | "$folder/mnt/$name (deleted)" | "/$name" | "/$name (deleted)") ;;
        *) false ;;
    esac
}
down() {
    for disk in /sys/block/loop*; do
        ours "$disk" || continue
        loop=/dev/${disk##*/}
        for part in "$disk/${disk##*/}"p* "$disk"; do
            [ -e "$part" ] || continue
            umount -AR "/dev/${part##*/}" || umount -ARl "/dev/${part##*/}"
            swapoff "/dev/${part##*/}"
        done
        for part in "$disk/${disk##*/}"p*; do
            while [ -e "$part" ] && ours "$disk" && ! delpart "$loop" "${part##*p}" && [ "$waits" ]; do sleep 0.1; done
        done
        ours "$disk" && losetup -d "$loop"
    done
    umount "$folder/mnt" || umount -l "$folder/mnt"
    wait
    rm -f "$folder/address" "$folder/said"
    rmdir "$folder/mnt" "$folder"
}
"""

# Says the device's name and nbdfuse's shell once it's there, then waits for the end of its input. It locks the address
# as we do, and nbdfuse doesn't, so that the lock ends with the last of those who take the device down. nbdfuse says
# something of every request that fails, and would stand still if nobody took it.
_KEEPER = (
    _DOWN
    + """
uri=$2 waits=yes
trap '' HUP INT TERM
trap 'down >/dev/null 2>&1' EXIT
exec 9<"$folder/address" && flock --shared --nonblock 9 && mkdir "$folder/mnt" || exit 1
{
    nbdfuse "$folder/mnt/$name" "$uri" 2>&1 >&3 | { head -c 300 >"$folder/said"; cat; }
} </dev/null >/dev/null 3>&1 2>&1 9>&- &
fuse=$!
until mountpoint -q "$folder/mnt"; do
    kill -0 "$fuse" 2>/dev/null || { cat "$folder/said" >&2; exit 1; }
    sleep 0.02
done
loop=$(losetup --find --show --direct-io=on "$folder/mnt/$name") || exit 1
echo "$loop $fuse"
read -r _
"""
)


@dataclass(frozen=True, slots=True)
class Attached:
    """A block device and who makes it: `keeper`, our shell; `fuse`, a descriptor of the process in which nbdfuse is."""

    name: str
    keeper: subprocess.Popen[str]
    fuse: int

    @property
    def is_kept(self) -> bool:
        """Whether the shell lives that takes it down after a kill of ours."""
        return self.keeper.poll() is None

    @property
    def works(self) -> bool:
        """Whether nbdfuse lives, without which it gives only I/O errors."""
        look = select.poll()
        look.register(self.fuse, select.POLLIN)
        return not look.poll(0)


def check() -> None:
    """Whether this machine can make a device of an emulated system.

    Raises:
        InputError: we aren't root. ToolError: a program is missing, or FUSE.
    """
    if os.geteuid() != 0:
        raise InputError("--block makes a block device, which needs root", "Run it as root, or leave out --block.")
    for tool, package in _TOOLS.items():
        if shutil.which(tool, path=f"{os.environ.get('PATH', '')}:{_PATH}") is None:
            raise ToolError(f"{tool} is not installed, which --block needs", f"Debian, Ubuntu: apt install {package}.")
    if not Path("/dev/fuse").exists():
        raise ToolError("the kernel has no FUSE (/dev/fuse), which --block needs", "Load it: modprobe fuse")


@contextmanager
def attached(uri: str, held: Callable[[str], None] = lambda _: None) -> Iterator[Attached]:
    """A block device that is the server's export, until the end of the `with`.

    File systems that are mounted from it or its partitions are unmounted then. Whoever has it open is waited for;
    `held` is told its name when that takes seconds. An exception, such as Ctrl-C, ends the waiting: the device goes
    when it is let go.

    Raises:
        InputError, ToolError: as `check`. TargetError: the device can't be made.
    """
    check()
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER)).resolve()  # as the kernel says it
    with _locked(folder, uri):
        keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "sh", str(folder), uri],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for us
        )
        assert keeper.stdout is not None
        try:
            device, _, fuse = keeper.stdout.readline().strip().rpartition(" ")
            if not device:
                said = " ".join(keeper.communicate()[1].split())[:300]
                why = f"no block device can be made of {uri}: {said or 'it ends at once'}"
                raise TargetError(why, "See dmesg | tail.")
            with _process(int(fuse)) as descriptor:
                yield Attached(device, keeper, descriptor)
        finally:
            with contextlib.suppress(BrokenPipeError):
                try:
                    keeper.communicate(timeout=_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    held(device)
                    keeper.communicate()
            if keeper.returncode < 0:
                _take_down(folder)


@contextmanager
def _process(number: int) -> Iterator[int]:
    """A descriptor of the process in which nbdfuse is, which can be read once that has ended."""
    try:
        descriptor = os.pidfd_open(number)
    except ProcessLookupError:
        raise TargetError("nbdfuse ended as soon as there was a block device", "See dmesg | tail.") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}", "LC_ALL": "C"}


def _sweep() -> None:
    """Takes down the devices whose server and keeper were killed: with the last of them the address's lock ended."""
    for folder in Path(tempfile.gettempdir()).resolve().glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _ADDRESS).open("r+b") as address:
                fcntl.flock(address, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _take_down(folder)


@contextmanager
def _locked(folder: Path, uri: str) -> Iterator[None]:
    """Has the address lie in the folder, whole and locked from the first moment, until the end of the `with`."""
    with (folder / f".{_ADDRESS}").open("w", encoding="utf-8") as address:
        fcntl.flock(address, fcntl.LOCK_SH)
        address.write(uri)
        address.flush()
        Path(address.name).replace(folder / _ADDRESS)
        yield


def _take_down(folder: Path) -> None:
    """Takes down what a keeper that was killed has left, even what is still in use."""
    words = ["sh", "-c", f"{_DOWN}down", "sh", str(folder)]
    subprocess.run(words, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)


def emulator_of(device: BlockDevice) -> str | None:
    """The address of the emulated system that a device shows; None of every other device.

    It is one when the file behind the loop device is where `attached` puts it, and the server whose address lies beside
    it says itself that it emulates.
    """
    if device.loop is None:
        return None
    folder = Path(device.loop.path).parent.parent
    if not folder.name.startswith(_FOLDER):
        return None
    try:
        address = (folder / _ADDRESS).read_text("utf-8")
        json.loads(emulate.ask(address, "stats"))
    except (OSError, ValueError):
        return None
    return address
