"""Whether other runs of loadline load the same thing meanwhile: each says so by a name that the others can read.

The names are abstract Unix sockets (unix(7)): they leave no file behind and go with their process, however that ends,
and every user's are seen. Those of another network namespace, another host or a disk below a volume aren't. Anybody
may make such a name, so it's reason for a warning, never for more. Start reading at `announced`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from loadline.host.roots import HERE, Roots, text
from loadline.measuring.target import Target

_PREFIX = "loadline-run"

#: What is said of each target that others load, none twice.
Others = Callable[[], tuple[str, ...]]


@contextmanager
def announced(targets: Sequence[Target], roots: Roots = HERE) -> Iterator[Others]:
    """Says to others what is loaded while it lasts; gives what asks who else loads any of it at that moment."""
    things = [thing for target in targets if (thing := _thing(target)) is not None]
    ours = {f"{_PREFIX}/{key}/{os.getpid()}/{secrets.token_hex(4)}": key for key, _ in things}

    def others() -> tuple[str, ...]:
        found = [name.split("/") for name in _names(roots) if name not in ours]
        return tuple(
            dict.fromkeys(
                f"another run of loadline (process {name[2]}) loads {said} too: they slow each other down"
                for key, said in things
                for name in found
                if name[1] == key
            )
        )

    with ExitStack() as stack:
        for name in ours:
            one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            # Without it we aren't seen, but see.
            with suppress(OSError):
                one.bind(f"\0{name}")
        yield others


def _thing(target: Target) -> tuple[str, str] | None:
    """What is loaded by a target: a key that is the same under every name, and words; None of what is its own."""
    device = target.device
    if target.kind == "nbd" or target.shows is not None:
        server = target.uri or target.shows
        return _key("server", server), f"the server {server}"
    if device is not None:
        disk = device.whole or device.name
        return _key("disk", disk), f"the disk {disk}"
    if target.kind in {"file", "directory"}:
        return _key("file system", target.identity["st_dev"]), f"the file system of {target.given}"
    return None


def _key(kind: str, what: object) -> str:
    return hashlib.sha256(f"{kind} {what}".encode(errors="surrogateescape")).hexdigest()[:16]


def _names(roots: Roots) -> Iterator[str]:
    """Those of all runs; the kernel shows the first zero of an abstract name as @."""
    for line in (text(roots.proc / "net" / "unix") or "").splitlines():
        name = line.rpartition("@")[2]
        if name.startswith(f"{_PREFIX}/") and name.count("/") == 3:
            yield name
