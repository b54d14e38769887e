"""The log of each I/O that fio keeps of open loads whose jobs sleep: its statuses tell of those seconds late.

Why that is so, and what the log costs: docs/background/open-loads.md. It is kept of points that `sleeps` says so of.
Start reading at `IoLog`.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

from loadline._core import Interval
from loadline.measuring import job
from loadline.measuring.fio import Outcome
from loadline.result.intervals import first_sent_ns, log_of, read_logs
from loadline.workload.plan import Point

_MS_NS = 10**6


def job_with(text: str, targets: int) -> str:
    """The job that logs each I/O, each of so many targets in a log of its own."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if line == "[global]":
            lines += ["per_job_logs=0", "log_unix_epoch=1", "disable_slat=1", "disable_clat=1"]
        elif line.startswith("["):
            lines.append(f"write_lat_log={log_of(job.owner(line.strip('[]'), targets) if targets > 1 else None)}")
    return "\n".join(lines) + "\n"


class IoLog:
    """What fio logs of a point in a folder from the time at which it's started, ns since 1970."""

    def __init__(self, point: Point, folder: Path, started_ns: int) -> None:
        self._point = point
        self._folder = folder
        #: When the measured time begins, in ns since 1970; before `take` about that.
        self.began_ns = started_ns + point.warmup_ns

    @property
    def sent(self) -> Point:
        """The point as fio gets it: without a warm-up, after which it would begin each job anew."""
        return self._point.logged

    def take(self, outcome: Outcome) -> bool:
        """Keeps the logs compressed. If nothing failed, their seconds replace the statuses' intervals; says whether."""
        for path in self._folder.glob("*_lat.log"):
            with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb", compresslevel=1) as packed:
                shutil.copyfileobj(plain, packed)
            path.unlink()
        if outcome.error is not None:
            return False
        try:
            # Jobs begin with a request each. So the measured time ends when the first of them does, before those that
            # sleep send one more. Rows have whole ms.
            first_ns = first_sent_ns(self._folder) or self.began_ns
            self.began_ns = (first_ns + self._point.warmup_ns) // _MS_NS * _MS_NS
            outcome.intervals = list(self._read(None, self._point.warmup_ns))
        except ValueError as error:
            outcome.error, outcome.tool_failed = f"fio's log of its I/Os can't be read: {error}", True
            return False
        if not any(flow.ios for one in outcome.intervals if not one.warmup for flow in (one.read, one.write)):
            outcome.error = "no I/O completed in the measured time"
        return outcome.error is None

    def of_target(self, target: int) -> Sequence[Interval]:
        """The measured seconds of one of several targets, by its number from 0."""
        return self._read(target)

    def _read(self, target: int | None, warmup_ns: int = 0) -> Sequence[Interval]:
        return read_logs(self._folder, target, self.began_ns, self._point.runtime_ns, warmup_ns)
