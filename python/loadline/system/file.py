"""Texts of descriptions, by name from the catalog or by path."""

from __future__ import annotations

from pathlib import Path

from loadline.errors import InputError
from loadline.workload.suite import is_file, nearest, nearest_file, suite_names


def locate(name: str, catalog: Path, what: str, beside: Path | None = None) -> Path:
    """The file of the catalog with that name, or the file at that path: something with a `/`, or ending in `.toml`.

    Args:
        what: `system` or `drive`, for messages.
        beside: the folder from which a relative path leads; None: the working directory.

    Raises:
        InputError: the catalog has no such name (with the file that has it, or the nearest name).
    """
    if "/" in name or name.endswith(".toml"):
        return Path(name) if beside is None else beside / name
    path = catalog / f"{name}.toml"
    if not is_file(path):
        if what == "system" and name in suite_names():
            raise InputError(
                f"{name} is a suite, not a system",
                f"The system comes first, as in: loadline forecast SYSTEM {name}. `loadline systems` lists them.",
            )
        listed = f"`loadline {what}s` lists them; a path to a .toml file works too."
        remedy = nearest_file(name, (".toml",), beside) or nearest(name, names(catalog), listed)
        raise InputError(f"no {what} is named {name[:100]!r}", remedy)
    return path


def names(catalog: Path) -> list[str]:
    """What the catalog has, sorted."""
    return sorted(path.stem for path in catalog.glob("*.toml"))


def read(path: Path, what: str, most_bytes: int = 1024**2) -> str:
    """The text of a file.

    Raises:
        InputError: it isn't there, too long, no text, or can't be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{str(path)!r} is no file, so no {what}", "Name a file.")
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except FileNotFoundError:
        listed = f"; `loadline {what}s` lists the {what}s by name" if what in {"system", "drive"} else ""
        raise InputError(f"there is no file {str(path)!r}", f"Check the path{listed}.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} can't be read: {why}", "Check the path and its permissions.") from None
    if len(data) > most_bytes:
        raise InputError(f"{str(path)!r} is longer than {most_bytes >> 20} MiB: no {what}", "Check the path.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not text in UTF-8 (byte {error.start})", "Check the path.") from None
