"""How long until a report is made and seen, and a question answered?

A browser opens a report of 200 points, five minutes of seconds each, and an empty page. DuckDB answers a question over
10,000 points.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from compared import Compared, spread

from loadline.reporting.question import ask
from loadline.reporting.report import report

if TYPE_CHECKING:
    from loadline.result.store import Run

POINTS, SECONDS, RUNS = 200, 300, 50
OPEN_BAR_S, ANSWER_BAR_S = 2.0, 1.0

QUESTION = "select access_class, median(iops), max(read_latency_p99_ns) from results group by all"


def compare(folder: Path, pairs: int) -> list[Compared]:
    run = _run(folder / "store")
    page = folder / "report.html"
    made = _seconds(lambda: report([run], page))
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    rows = [Compared(f"making a report of {POINTS} points", f"{made:.1f} s", "", "", "", "")]
    rows += [_opening(folder, page, pairs, size), _answering(folder, run, pairs)]
    return rows


def _run(store: Path) -> Run:
    # The tests make up results and runs.
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    from results import measured, run_of

    return run_of(store, [measured(f"point-{n}", 500.0 + n) for n in range(POINTS)], seconds=SECONDS)


def _opening(folder: Path, page: Path, pairs: int, size: str) -> Compared:
    from playwright.sync_api import sync_playwright

    what = f"opening a report of {POINTS} points, {size}"
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        return Compared(what, "", "", "no Chromium: scripts/tools test", "")
    empty = folder / "empty.html"
    empty.write_text("<!doctype html><title>empty</title>")
    ours: list[float] = []
    peers: list[float] = []
    with sync_playwright() as playwright:
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=words)
        for path, found in [(page, ours), (empty, peers)] * pairs:
            tab = browser.new_page()
            found.append(_seconds(partial(tab.goto, f"file://{path}")))
            tab.close()
        browser.close()
    median = statistics.median(ours)
    return Compared(
        what,
        f"{median:.2f} s",
        f"{statistics.median(peers):.2f} s (an empty page)",
        f"x {median / statistics.median(peers):.0f}",
        spread(ours, " s"),
        f"<= {OPEN_BAR_S:g} s",
        median <= OPEN_BAR_S,
    )


def _answering(folder: Path, run: Run, pairs: int) -> Compared:
    store = folder / "many"
    for number in range(RUNS):
        shutil.copytree(run.path, store / f"{run.id}-{number}", ignore=shutil.ignore_patterns("*.parquet"))
    ask(store, "select 1")
    files = list(store.glob("*/points/*/point.json"))
    ours = [_seconds(lambda: ask(store, QUESTION)) for _ in range(pairs)]
    peers = [_seconds(lambda: [path.read_bytes() for path in files]) for _ in range(pairs)]
    median = statistics.median(ours)
    return Compared(
        f"a question over {POINTS * RUNS:,} points",
        f"{median:.2f} s",
        f"{statistics.median(peers):.2f} s (reading the files)",
        f"x {median / statistics.median(peers):.1f}",
        spread(ours, " s"),
        f"<= {ANSWER_BAR_S:g} s",
        median <= ANSWER_BAR_S,
    )


def _seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before
