"""Files that are whole or not there, whatever instant a process dies at; what is said where one can't be written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loadline.errors import InputError, LoadlineError, StoreError
from loadline.result.schema import FORMAT

#: What to do when a run can't be written where it should be.
OTHER_STORE = "give another --store"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes `document` into a run, whole or not at all."""
    # A name that is not UTF-8 comes as lone surrogates; with a backslash they are what JSON writes for them.
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    write_bytes(path, text.encode("utf-8", "backslashreplace"), OTHER_STORE)


def check_place(path: Path) -> None:
    """Whether `write_bytes` may write a file there: to be asked before long work.

    Raises:
        InputError: a directory that isn't there, or what is no file, such as a device.
    """
    try:
        if path.parent.exists() and not path.parent.is_dir():
            raise InputError(f"{path.parent} is there, and no directory", "Give the name of a directory.")
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no directory {path.parent}", "Make it first.")
        _check_file(path)
        # What is written is put in its place by a rename.
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(
                f"{path} can't be written: no permission in {path.parent}", "Give another name, where you may write."
            )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} can't be written: {why}", "Give another name, where you may write.") from None


def _check_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is there, and no file", "Give the name of a file.")


def write_bytes(path: Path, data: bytes, elsewhere: str = "name another file") -> None:
    """Writes `data` to a temporary name beside `path`, makes it durable and renames it.

    Args:
        elsewhere: what else there is to do if it can't be written.

    Raises:
        InputError: there is something that is no file.
        StoreError: it can't be written; `path` is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writing(path, elsewhere):
        # A rename would put the file in the place of a device as well.
        _check_file(path)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path, elsewhere: str = OTHER_STORE) -> Iterator[None]:
    """Turns what the system says of a failed write below `path` into a StoreError."""
    try:
        yield
    except LoadlineError:
        raise
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = "Free some space there" if full else "Check the path and its permissions"
        raise StoreError(f"{path} can't be written: {error.strerror}", f"{remedy}, or {elsewhere}.") from None


def read_json(path: Path, remedy: Callable[[], str]) -> dict[str, Any]:
    """The object in a file of a run; `remedy` says what helps where it's damaged. Raises StoreError."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"there is no {path}", "`loadline ls` lists the runs.") from None
    except OSError as error:
        helps = remedy() if isinstance(error, IsADirectoryError) else "Check its permissions."
        raise StoreError(f"{path} can't be read: {error.strerror}", helps) from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} can't be read: {error}", remedy()) from None
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise StoreError(f"{path} has no format number", f"It isn't a file of loadline's, or: {remedy()}")
    if document["format"] > FORMAT:
        raise StoreError(
            f"{path} is of format {document['format']}, and this loadline reads formats up to {FORMAT}",
            "Read it with the newer loadline that wrote it.",
        )
    return document


def fault(error: Exception) -> str:
    """What is wrong in a file of a run, by what Python says of it."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return str(error) if isinstance(error, ValueError) else f"not as loadline writes it ({error})"
