"""The one tree of errors.

    LoadlineError
    ├── InputError        exit 2   what the user asked or wrote can't be used
    ├── TargetError       exit 3   the target or the machine under it failed
    ├── ToolError         exit 3   fio or another program is missing or failed
    ├── StoreError        exit 3   results can't be written or read
    ├── RefusedError      exit 4   the guard says no
    └── InterruptedRun    exit 130 the user stopped it; finished points are kept

Every message names the file, the key or the value; `remedy` says what to do about it. Standard exceptions
are turned into one of these where they arise; nothing else crosses a room's border.
"""

from __future__ import annotations

import os
from pathlib import Path


class LoadlineError(Exception):
    """An error that a person can act on.

    Args:
        message: what is wrong, with the file, key or value.
        remedy: what to do about it, as a sentence; may be empty.
        run: the folder of the run that it ended, with the points that are kept.
    """

    exit_code = 1
    kind = "error"

    def __init__(self, message: str, remedy: str = "", run: Path | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.run = run

    def __str__(self) -> str:
        """The message and, in a line of its own, the remedy, as the command line tells them."""
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


def unforeseen(error: OSError) -> TargetError:
    """What the system refused where nothing else is said of it: its own words, with the file if it names one."""
    named = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    remedy = "Check its permissions and the disk below it." if named else "See the kernel's log: dmesg | tail"
    return TargetError(f"{named}{error.strerror or error}", remedy)


class InputError(LoadlineError):
    """The command line, a file or a value can't be used."""

    exit_code = 2
    kind = "input"


class TargetError(LoadlineError):
    """The target, or the machine that it lives on, failed or can't carry the work."""

    exit_code = 3
    kind = "target"


class ToolError(LoadlineError):
    """A program that loadline drives is missing, too old, or failed."""

    exit_code = 3
    kind = "tool"


class StoreError(LoadlineError):
    """Results can't be written or read back."""

    exit_code = 3
    kind = "store"


class RefusedError(LoadlineError):
    """The guard refuses the target."""

    exit_code = 4
    kind = "refused"


class InterruptedRun(LoadlineError):
    """The user ended the run; the points finished so far are in the store."""

    exit_code = 130
    kind = "interrupted"
