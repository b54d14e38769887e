"""Watching the processes that a run starts, by pid, without waiting for a fixed time."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE_MS = 30_000


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """The events that `--progress json` writes, as they come."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("{"):
            yield json.loads(line)


def until(process: subprocess.Popen[str], event: str, count: int = 1) -> dict[str, Any]:
    """The `count`-th event of that name."""
    for found in events(process):
        if found["event"] == event:
            count -= 1
            if count == 0:
                return found
    raise AssertionError(f"the run ended ({process.wait()}) before {event}: {process.stderr}")


def fio_pids(target: Path) -> list[int]:
    """Processes of fio that were told to use `target`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if Path(os.fsdecode(words[0])).name == "fio" and f"--filename={target}".encode() in words:
            found.append(int(entry.name))
    return found


def wait_until_gone(pids: list[int]) -> None:
    """Returns once none of `pids` runs; fails if one is still there after a long time."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            assert poll.poll(PATIENCE_MS), f"process {pid} still runs"
        finally:
            os.close(descriptor)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
