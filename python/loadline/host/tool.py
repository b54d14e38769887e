"""Other people's programs, run for facts: with a time limit, no input, and an injectable runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_SYSTEM_PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a program said. `code` is its exit code, negative for a signal, None when it ran out of time."""

    code: int | None
    stdout: str
    stderr: str = ""


Run = Callable[[Sequence[str]], ToolOutput | None]
"""Runs a command; None when the program isn't installed."""


def run_tool(command: Sequence[str], timeout_s: float = 30.0) -> ToolOutput | None:
    """Run a program and give what it said; None when it isn't installed or can't be started.

    Programs are also looked for in the sbin folders, which a user's PATH often lacks. They run in a folder that
    is thrown away, for RAID tools leave logs in the current one, and in the C locale.
    """
    search = f"{os.environ.get('PATH', '')}:{_SYSTEM_PATHS}"
    program = shutil.which(command[0], path=search)
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="loadline-tool-") as folder:
        try:
            done = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=folder,
                env={**os.environ, "PATH": search, "LC_ALL": "C"},
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return ToolOutput(None, _decoded(late.stdout), _decoded(late.stderr))
        except OSError:
            return None
    return ToolOutput(done.returncode, _decoded(done.stdout), _decoded(done.stderr))


def _decoded(output: bytes | str | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else (output or "")
