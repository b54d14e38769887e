"""Drives: a TOML file each, in the catalog or of the user's, or made out of a DiskSim parameter file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from loadline import _core
from loadline.errors import InputError
from loadline.system import file
from loadline.system.refusal import refusal

CATALOG = Path(__file__).parent.parent / "catalog" / "drives"

# A measured disk with all its defects takes some 100 kB.
_FILE_BYTES = 8 * 1024**2


def drive_names() -> list[str]:
    """The names of the catalog's drives, sorted."""
    return file.names(CATALOG)


def drive_text(name: str, beside: Path | None = None) -> tuple[Path, str]:
    """The drive file of that name or path, and its text.

    Raises:
        InputError: no such drive (with the nearest name), or no text.
    """
    path = file.locate(name, CATALOG, "drive", beside)
    return path, file.read(path, "drive", _FILE_BYTES)


def load_drive(name: str, beside: Path | None = None) -> _core.Drive:
    """The drive of that name, or at that path, which may be relative to `beside`, else to the working directory.

    Raises:
        InputError: no such drive (with the nearest name), or a fault in its file.
    """
    path, text = drive_text(name, beside)
    return _parsed(path, text)


def drive_figures(name: str, beside: Path | None = None) -> list[tuple[str, str, str | None]]:
    """Key, value and source of every figure of a drive, in order; defaults have no source. Raises as `load_drive`."""
    path, text = drive_text(name, beside)
    _parsed(path, text)
    return _core.drive_figures(text)


@lru_cache(maxsize=64)
def _parsed(path: Path, text: str) -> _core.Drive:
    try:
        return _core.Drive(text)
    except ValueError as error:
        raise refusal(str(path), error) from None


def convert_drive(path: Path) -> tuple[str, list[str]]:
    """The drive file (TOML) that a DiskSim `.model` or `.diskspecs` file becomes, and warnings about what is lost.

    Files that it names are looked for beside it; of a `.model` file the `.diskspecs` file of the same name is used too.

    Raises:
        InputError: it can't be read, or describes no disk that could be.
    """
    file.read(path, "parameter file", _FILE_BYTES)

    def read(name: str) -> str | None:
        near = path.parent / name
        return file.read(near, "parameter file", _FILE_BYTES) if near.is_file() else None

    try:
        return _core.convert_drive(path.name, read)
    except InputError:
        raise
    except ValueError as error:
        # Keys of what was built of it, or a place in one of its files, which lie beside it.
        at, why = error.args
        near = (path.parent / at.partition(":")[0]).is_file()
        refused = refusal(str(path.parent / at if near else path), ValueError("" if near else at, why))
        remedy = refused.remedy or "Give a DiskSim parameter file of one disk, as its own tools write them."
        raise InputError(refused.message, remedy) from None
