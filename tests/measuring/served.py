"""`loadline emulate` in a process of its own, and fio as its client."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.program import Loadline

MIB = 1024**2

FAST = """
title = "Eight servers of 20 us"

[[station]]
name = "servers"
servers = 8
service = { constant = "20us" }
"""

SLOW = FAST.replace("20us", "2ms")


def described(folder: Path, text: str = FAST, name: str = "fast") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


@contextmanager
def served(loadline: Loadline, *words: str | Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`loadline emulate`, and the address that it prints, until the end of the `with`."""
    process = loadline.start("emulate", *words)
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        yield address, process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def fio(address: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = ["fio", "--name=job", "--ioengine=nbd", f"--uri={address}", "--thread=1", "--eta=never", *options]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
