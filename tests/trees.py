"""Unpacks recorded /sys, /proc and /dev trees; the format is in golden/sys/README.md."""

from __future__ import annotations

import os
import re
from pathlib import Path

from loadline.host.roots import Roots

GOLDEN = Path(__file__).parent / "golden/sys"
_ESCAPE = re.compile(rb"\\(\\|n|t|x[0-9a-f]{2})")


def _bytes_of(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    return bytes([int(code[1:], 16)]) if code[:1] == b"x" else {b"\\": b"\\", b"n": b"\n", b"t": b"\t"}[code]


def recorded(name: str, folder: Path) -> Roots:
    """The machine of golden/sys/NAME.tree, unpacked into an empty folder."""
    roots = Roots(folder / "sys", folder / "proc", folder / "dev")
    for root in (roots.sys, roots.proc, roots.dev):
        root.mkdir()
    for line in (GOLDEN / f"{name}.tree").read_text().splitlines():
        if line.startswith("#"):
            continue
        path, tab, content = line.partition("\t")
        link, arrow, target = path.partition(" -> ")
        entry = folder / link
        if not tab and link.endswith("/"):
            entry.mkdir(parents=True, exist_ok=True)
            continue
        entry.parent.mkdir(parents=True, exist_ok=True)
        if tab:
            entry.write_bytes(_ESCAPE.sub(_bytes_of, content.encode()))
        else:
            assert arrow, f"{name}.tree: {line}"
            entry.symlink_to(target)
    for dev in sorted((roots.sys / "devices").rglob("dev")):
        if (dev.parent / "size").is_file():
            for place in (roots.sys / "class/block" / dev.parent.name, roots.sys / "dev/block" / dev.read_text()):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(os.path.relpath(dev.parent, place.parent))
    return roots
