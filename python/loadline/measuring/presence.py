"""Whether other runs of loadline load the same thing meanwhile: each says so by a name that the others can read.

The names are abstract Unix sockets (unix(7)): they leave no file behind and go with their process, however that ends,
and every user's are seen, whatever the store. Those of another network namespace, another host or a disk below a volume
aren't. Anybody may make such a name, so it's reason for a warning, never for more: two loads at once may be meant.
Start reading at `Presence`.
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

# The kernel takes names of 107 bytes.
_ID_BYTES = 60


class Presence:
    """Of one run, by what its targets are; an emulated system is its own.

    Args:
        warn: is given a sentence for each other run, once.
    """

    def __init__(
        self, targets: Sequence[Target], warn: Callable[[str], None] = lambda _: None, roots: Roots = HERE
    ) -> None:
        self._things = [thing for target in targets if (thing := _thing(target)) is not None]
        self._whose = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._warn = warn
        self._warned: set[str] = set()
        self._roots = roots

    def others(self) -> tuple[str, ...]:
        """A sentence for each other run that loads any of it at this moment."""
        found = [name for name in _names(self._roots) if name[1] != self._whose]
        said = dict.fromkeys(
            f"run {run} (process {whose.partition('-')[0]}) is being measured on {what}: each disturbs the other, and"
            " the figures are those of both"
            for key, what in self._things
            for its, whose, run in found
            if its == key
        )
        for message in [message for message in said if message not in self._warned]:
            self._warned.add(message)
            self._warn(message)
        return tuple(said)

    @contextmanager
    def announced(self, run_id: str) -> Iterator[None]:
        """Lets others see it while it lasts."""
        with ExitStack() as stack:
            for key in dict.fromkeys(key for key, _ in self._things):
                one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                name = f"\0{_PREFIX}/{key}/{self._whose}/".encode()
                # Without it we aren't seen, but see.
                with suppress(OSError):
                    one.bind(name + run_id.encode(errors="surrogateescape")[:_ID_BYTES])
            yield


def _thing(target: Target) -> tuple[str, str] | None:
    """What is loaded by a target: a key that is the same under every name, and words; None of what is its own."""
    device = target.device
    if target.kind == "nbd" or target.shows is not None:
        server = target.uri or target.shows
        return _key("server", server), f"the same server, {server}"
    if device is not None:
        disk = device.whole or device.name
        return _key("disk", disk), f"the same disk, {disk}"
    if target.kind in {"file", "directory"}:
        return _key("file system", target.identity["st_dev"]), "the same file system"
    return None


def _key(kind: str, what: object) -> str:
    return hashlib.sha256(f"{kind} {what}".encode(errors="surrogateescape")).hexdigest()[:16]


def _names(roots: Roots) -> Iterator[tuple[str, str, str]]:
    """Key, process and run of each; the kernel shows the first zero of an abstract name as @."""
    for line in (text(roots.proc / "net" / "unix") or "").splitlines():
        prefix, *parts = line.rpartition("@")[2].split("/", 3)
        if prefix == _PREFIX and len(parts) == 3:
            key, whose, run = parts
            yield key, whose, run
