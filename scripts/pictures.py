#!/usr/bin/env python3
"""Makes the pictures of README.md and docs/: pictures.py DIRECTORY. `make pictures`.

A report is measured on a scratch file below /tmp (about two minutes), and photographed in a browser, in light and dark;
a forecast is drawn without one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

PROGRAM = Path(sys.executable).with_name("loadline")

# Nothing of this machine shows in a picture but its figures, so the path is a plain one.
PLACE = Path("/tmp/loadline-demo")

WIDTH, HEIGHT = 1280, 1180

FORECAST = ("dl360-g6-p410i", "database-ramp", "--set", "volume.layout=raid5,raid10")


def main(folder: Path) -> None:
    """Writes all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    loadline("forecast", *FORECAST, "-o", str(folder / "forecast.svg"), "--chart", "load")
    page = PLACE / "report.html"
    (PLACE / "disk").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=PLACE) as store:
        loadline("run", "typical-12", str(PLACE / "disk"), "--quick", "--size", "1G", "--store", store)
        loadline("report", "last", "--store", store, "-o", str(page))
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=words)
        for scheme in ("light", "dark"):
            photograph(browser, page, scheme, folder / f"report-{scheme}.png")
        browser.close()
    shutil.rmtree(PLACE)


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
