"""Fixtures that several rooms' tests share; its presence also puts this folder on the path."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.program import Loadline
from devices import loop_device
from hypothesis import HealthCheck, settings

MIB = 1024**2

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", parent=settings.get_profile("default"), max_examples=20_000)
settings.load_profile("default")

# Whoever starts tests in the background leaves Ctrl-C ignored, and programs that are started here would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests that name no store would find the runs of whoever starts them, and leave theirs among these.
os.environ.pop("LOADLINE_STORE", None)


@pytest.fixture
def loadline(tmp_path: Path) -> Loadline:
    """The program, in an empty directory with a store of its own."""
    return Loadline(tmp_path)


@pytest.fixture
def empty_loop(tmp_path: Path) -> Iterator[Path]:
    """A loop device of 64 MiB that was never written."""
    with loop_device(tmp_path / "loop.backing", 64 * MIB) as device:
        yield device


@pytest.fixture
def filled_file(tmp_path: Path) -> Path:
    """A file of 16 MiB whose content doesn't compress."""
    path = tmp_path / "filled.bin"
    with path.open("wb") as file:
        subprocess.run(["head", "-c", str(16 * MIB), "/dev/urandom"], stdout=file, check=True)
    return path
