"""The installed `loadline`, run as a person would, from a directory of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).with_name("loadline"))


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass(frozen=True)
class Loadline:
    """Runs `loadline` in `folder` with its store in `folder/runs`."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "runs"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "LOADLINE_STORE": str(self.store), "HOME": str(self.folder / "home")}

    def __call__(
        self, *words: str | Path, stdin: str | None = None, environment: Mapping[str, str] | None = None
    ) -> Said:
        done = subprocess.run(
            [PROGRAM, *map(str, words)],
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAM, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def runs(self) -> list[Path]:
        return sorted(path.parent for path in self.store.glob("*/run.json"))
