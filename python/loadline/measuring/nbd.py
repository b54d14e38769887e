"""What an NBD server says of its export: size and blocks, by the protocol's own question, without a byte of data.

Source: the NBD protocol, fixed newstyle negotiation and NBD_OPT_INFO (NetworkBlockDevice/nbd, doc/proto.md).
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from loadline.errors import InputError, TargetError

_PORT = 10809
_GREETING = struct.Struct(">8s8sH")
_OPTION = struct.Struct(">8sII")
_REPLY = struct.Struct(">QIII")
_REPLY_MAGIC = 0x3E889045565A9
_INFO, _ABORT = 6, 2
_ACK, _TELLS = 1, 3
_EXPORT, _BLOCKS = 0, 3
_ERROR = 1 << 31
_READ_ONLY = 1 << 1
_LONGEST_REPLY = 1 << 16

_FORMS = "Write nbd+unix:///?socket=/path/of/socket or nbd://HOST:PORT."


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens: the path of a Unix socket, or host and port; and which of its exports is meant."""

    uri: str
    path: str | None
    host: str
    port: int
    export: str


@dataclass(frozen=True, slots=True)
class Export:
    """What is served. `block_bytes`: what addresses and sizes are multiples of."""

    size_bytes: int
    block_bytes: int
    read_only: bool


def parse(uri: str) -> Address:
    """The parts of an NBD URI.

    Raises:
        InputError: it's none that loadline and fio take.
    """
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORT
    except ValueError:
        raise InputError(f"{uri[:100]!r} is no address of an NBD server", _FORMS) from None
    sockets = parse_qs(parts.query).get("socket", [])
    plain = uri.isascii() and uri.isprintable() and " " not in uri
    unix = parts.scheme == "nbd+unix" and len(sockets) == 1 and sockets[0].startswith("/") and not parts.netloc
    tcp = parts.scheme == "nbd" and parts.hostname is not None and not parts.query
    if not plain or not (unix or tcp):
        raise InputError(f"{uri[:100]!r} is no address of an NBD server", _FORMS)
    path = sockets[0] if unix else None
    return Address(uri, path, parts.hostname or "", port, unquote(parts.path.removeprefix("/")))


def ask(address: Address, timeout_s: float = 10.0) -> Export:
    """Asks a server what it serves.

    Raises:
        TargetError: nobody answers there, or not as an NBD server does. InputError: it has no such export.
    """
    try:
        with _connected(address, timeout_s) as connection:
            return _negotiated(connection, address)
    except OSError as error:
        raise TargetError(
            f"{address.uri}: {error.strerror or error}", "Is a server running there? See: loadline emulate --help"
        ) from None


def _connected(address: Address, timeout_s: float) -> socket.socket:
    if address.path is None:
        return socket.create_connection((address.host, address.port), timeout_s)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout_s)
    try:
        connection.connect(address.path)
    except OSError:
        connection.close()
        raise
    return connection


def _negotiated(connection: socket.socket, address: Address) -> Export:
    strange = TargetError(f"{address.uri} doesn't answer as an NBD server of today does", "Is it one?")
    magic, option, flags = _GREETING.unpack(_received(connection, _GREETING.size, strange))
    if (magic, option) != (b"NBDMAGIC", b"IHAVEOPT") or not flags & 1:
        raise strange
    name = address.export.encode()
    asked = struct.pack(">I", len(name)) + name + struct.pack(">HH", 1, _BLOCKS)
    connection.sendall(struct.pack(">I", flags & 3) + _OPTION.pack(b"IHAVEOPT", _INFO, len(asked)) + asked)
    size_bytes, block_bytes, sent = None, 1, 0
    while True:
        head = _REPLY.unpack(_received(connection, _REPLY.size, strange))
        if head[0] != _REPLY_MAGIC or head[1] != _INFO or head[3] > _LONGEST_REPLY:
            raise strange
        body = _received(connection, head[3], strange)
        if head[2] & _ERROR:
            said = body.decode("utf-8", "replace")[:200]
            raise InputError(f"{address.uri}: the server refuses export {address.export!r} {said}".rstrip(), _FORMS)
        if head[2] == _ACK:
            break
        kind = int.from_bytes(body[:2], "big")
        if head[2] == _TELLS and kind == _EXPORT and len(body) == 12:
            size_bytes, sent = struct.unpack(">QH", body[2:])
        elif head[2] == _TELLS and kind == _BLOCKS and len(body) == 14:
            block_bytes = struct.unpack(">I", body[2:6])[0]
    connection.sendall(_OPTION.pack(b"IHAVEOPT", _ABORT, 0))
    if size_bytes is None:
        raise strange
    return Export(size_bytes, block_bytes, bool(sent & _READ_ONLY))


def _received(connection: socket.socket, count: int, strange: TargetError) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            raise strange
        found += part
    return bytes(found)
