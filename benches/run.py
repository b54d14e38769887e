"""loadline's own speed, side by side with bare fio, Python and event loops, an empty page, NBD servers. `make bench`.

Every comparison is a ratio of two things measured alternately in one run, as its median and its spread. A machine that
does other work meanwhile shows it in the spread. Nothing here is a test: `--strict` makes a missed bar an exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import audits
import emulate
import load_lines
import models
import pages
import precise
import rates
import searches
import start
import wall
from compared import Compared

from loadline.reporting.table import Group, Table

HEADS = ("what", "ours", "peer", "compared", "spread", "bar", "met")


class Others:
    """What the rest of the machine computed since this was made: the more, the less the ratios say."""

    def __init__(self) -> None:
        self._began = time.monotonic(), self._busy_s()

    def cores(self) -> float:
        wall_s, busy_s = (now - then for now, then in zip((time.monotonic(), self._busy_s()), self._began, strict=True))
        return max(0.0, busy_s / wall_s)

    @staticmethod
    def _busy_s() -> float:
        """CPU time of all programs but this one and those that it has run."""
        user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of each comparison (5)")
    parser.add_argument("--runtime", default="2s", help="run time of a point of the IOPS comparisons (2s)")
    parser.add_argument(
        "--directory", type=Path, default=Path("target/bench"), help="where files are made, on a disk (target/bench)"
    )
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    rows: list[Compared] = []
    others = Others()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        folder = Path(name).resolve()
        rows += models.compare(options.pairs)
        rows += load_lines.compare()
        rows += searches.compare()
        rows.append(precise.compare())
        rows += emulate.compare(folder, options.pairs)
        rows += audits.compare(folder, options.pairs)
        rows += start.compare(pairs=4 * options.pairs)
        rows += pages.compare(folder, options.pairs)
        rows += wall.compare(folder, points=2 * options.pairs)
        rows += rates.compare(folder, options.pairs, options.runtime)
    cells = tuple((row.what, row.ours, row.peer, row.figure, row.spread, row.bar, row.verdict) for row in rows)
    notes = (f"other programs used {others.cores():.2f} of {os.cpu_count()} cores meanwhile",)
    print(Table(HEADS, (Group("", cells),), frozenset({0}), notes).plain(), end="")
    return 1 if options.strict and any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
