"""Bare fio: the job file that loadline wrote, without loadline."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def fio(job: Path, target: Path) -> dict[str, Any]:
    """fio's report of the job on the target."""
    command = ["fio", "--output-format=json", "--eta=never", f"--filename={target}", str(job)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return report


def iops(report: dict[str, Any]) -> float:
    """I/Os a second of all jobs, both directions."""
    return float(sum(job[way]["iops"] for job in report["jobs"] for way in ("read", "write")))
