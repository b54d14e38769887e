#!/usr/bin/env python3
"""Makes the pictures of README.md and docs/: pictures.py DIRECTORY. `make pictures`.

A report is measured on a scratch file below /tmp (about two minutes), and photographed in a browser, in light and dark;
the live display is drawn as it stood in the middle of that. A forecast is drawn without a browser.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from loadline import run
from loadline.cli.live import State, lines, told
from loadline.measuring import event
from loadline.workload.plan import Options

PROGRAM = Path(sys.executable).with_name("loadline")

# Nothing of this machine shows in a picture but its figures, so the path is a plain one.
PLACE = Path("/tmp/loadline-demo")

WIDTH, HEIGHT = 1280, 1180

# The terminal of the live display, and the point in whose last second it is drawn.
COLUMNS, ROWS, SHOWN = 96, 28, 8

FORECAST = ("dl360-g6-p410i", "database-ramp", "--set", "volume.layout=raid5,raid10")


def main(folder: Path) -> None:
    """Writes all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    loadline("forecast", *FORECAST, "-o", str(folder / "forecast.svg"), "--chart", "load")
    page = PLACE / "report.html"
    (PLACE / "disk").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=PLACE) as store:
        measure(PLACE / "disk", Path(store), folder / "live.svg")
        loadline("report", "last", "--store", store, "-o", str(page))
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=words)
        for scheme in ("light", "dark"):
            photograph(browser, page, scheme, folder / f"report-{scheme}.png")
        browser.close()
    shutil.rmtree(PLACE)


def measure(disk: Path, store: Path, picture: Path) -> None:
    """Runs the twelve profiles, and draws the live display at the last moment of the eighth."""
    state, began_ns = State(""), time.monotonic_ns()

    def listen(what: event.Event) -> None:
        if isinstance(what, event.PointFinished) and what.number == SHOWN:
            state.elapsed_ns = time.monotonic_ns() - began_ns
            screen(lines(state, COLUMNS, ROWS, plain=False), picture)
        told(state, what)

    options = Options(quick=True)
    run("typical-12", str(disk), options=options, size_bytes=1024**3, store=store, listen=listen)


def screen(drawn: list[Text], picture: Path) -> None:
    """A terminal with these lines, as SVG in the reader's own fonts: nothing is loaded from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text("\n").join(drawn))
    form = re.sub(r"@font-face \{\{.*?\}\}|<!--.*?-->", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("Fira Code, ", "")
    picture.write_text(console.export_svg(title="loadline run typical-12", code_format=form, unique_id="live"))


def loadline(*words: str) -> None:
    """Runs the program."""
    subprocess.run([PROGRAM, *words], stdout=subprocess.DEVNULL, check=True)


def photograph(browser: Browser, page: Path, scheme: str, picture: Path) -> None:
    """The page's first charts, at a desktop's width."""
    tab = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark" if scheme == "dark" else "light"
    )
    tab.goto(f"file://{page}")
    tab.wait_for_function(
        "[...document.querySelectorAll('#iops .chart, #latency .chart')].every(c => c.dataset.drawn === 'done')"
    )
    tab.screenshot(path=picture)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
