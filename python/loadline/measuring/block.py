"""An emulated system as a block device: nbdfuse shows the server's export as a file, losetup makes a device of that.

A shell keeps both and takes them down when its standard input ends. The only writing end is ours, so it ends with us,
however that may be: after `kill -9` as well. What a program holds open can't be taken down: the shell waits for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from loadline import _core
from loadline.errors import InputError, TargetError, ToolError
from loadline.host.device import BlockDevice

_TOOLS = {"nbdfuse": "libnbd-bin", "losetup": "mount", "umount": "mount", "mountpoint": "util-linux"}
_FOLDER = "loadline-block-"
_ADDRESS = "address"
_PATIENCE_S = 3.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Says the device's name once it's there, then waits for the end of its input.
_KEEPER = """
folder=$1 uri=$2 loop=
down() {
    trap '' HUP INT TERM
    if [ -n "$loop" ]; then
        for node in "$loop"p* "$loop"; do
            umount -AR "$node" || umount -ARl "$node"
            swapoff "$node"
            delpart "$loop" "${node#"$loop"p}"
        done
        losetup -d "$loop"
    fi
    umount "$folder/mnt" || umount -l "$folder/mnt"
    wait
    rm -f "$folder/address"
    rmdir "$folder/mnt" "$folder"
}
trap 'down >/dev/null 2>&1' EXIT
mkdir "$folder/mnt" && printf %s "$uri" >"$folder/address" || exit 1
nbdfuse "$folder/mnt/disk" "$uri" </dev/null >/dev/null &
fuse=$!
until mountpoint -q "$folder/mnt"; do
    kill -0 "$fuse" 2>/dev/null || exit 1
    sleep 0.02
done
loop=$(losetup --find --show --direct-io=on "$folder/mnt/disk") || exit 1
echo "$loop"
read -r _
"""


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
def attached(uri: str, held: Callable[[str], None] = lambda _: None) -> Iterator[str]:
    """The name of a block device that is the server's export, until the end of the `with`.

    File systems that are mounted from it or its partitions are unmounted then. Whoever has it open is waited for;
    `held` is told its name when that takes seconds. An exception, such as Ctrl-C, ends the waiting: the device goes
    when it is let go.

    Raises:
        InputError, ToolError: as `check`. TargetError: the device can't be made.
    """
    check()
    folder = tempfile.mkdtemp(prefix=_FOLDER)
    keeper = subprocess.Popen(
        ["sh", "-c", _KEEPER, "sh", folder, uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}", "LC_ALL": "C"},
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C is for us
    )
    assert keeper.stdout is not None
    try:
        device = keeper.stdout.readline().strip()
        if not device:
            said = " ".join(keeper.communicate()[1].split())[:300]
            raise TargetError(f"no block device can be made of {uri}: {said or 'it ends at once'}", "See dmesg | tail.")
        yield device
    finally:
        with contextlib.suppress(BrokenPipeError):
            try:
                keeper.communicate(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                held(device)
                keeper.communicate()


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
        json.loads(_core.ask_emulator(address, "stats"))
    except (OSError, ValueError):
        return None
    return address
