"""Where the kernel's trees are, and how single attributes are read from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_AS, getpagesize, getrlimit

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Roots:
    """The roots of the trees that describe a machine; other ones than the defaults are recorded trees.

    A recorded tree has no device nodes: there a name below `dev` stands for the device of that name.
    """

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")

    @property
    def recorded(self) -> bool:
        """Whether these are trees in files, not the running kernel's."""
        return self.sys != Path("/sys")


HERE = Roots()
"""This machine."""


def text(path: Path) -> str | None:
    """A sysfs or procfs attribute without its surrounding blanks; None when absent, empty or unreadable.

    Drivers answer attributes that they don't support with many error numbers (EINVAL, EIO, ENODATA, EPERM),
    so each of them means "not known".
    """
    try:
        return path.read_bytes().decode("utf-8", "replace").strip("\0 \t\r\n") or None
    except OSError:
        return None


def number(path: Path) -> int | None:
    """An attribute that is one whole number; None when absent or something else."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def available_bytes(roots: Roots = HERE) -> int | None:
    """Memory that this process can get without the machine's starting to swap, or its own limit (`ulimit -v`).

    None where neither is known.
    """
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text(roots.proc / "meminfo") or "", re.MULTILINE)
    free = [int(found[1]) * 1024] if found else []
    most_bytes, _ = getrlimit(RLIMIT_AS)
    pages = re.match(r"\d+", text(roots.proc / "self/statm") or "")
    if most_bytes != RLIM_INFINITY and pages:
        free.append(max(0, most_bytes - int(pages[0]) * getpagesize()))
    return min(free, default=None)


def names(path: Path) -> tuple[str, ...]:
    """The sorted names in a folder, none when it's absent or unreadable."""
    try:
        return tuple(sorted(entry.name for entry in path.iterdir()))
    except OSError:
        return ()


def unescape(field: str) -> str:
    r"""The text of a field of mountinfo or swaps, where the kernel writes blank, tab, newline and `\` as octal."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)
