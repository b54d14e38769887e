"""How fast are results doubted, and fio's output read? Ten thousand points, and JSON+ beside Python's own json."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from compared import Compared, spread

from loadline.judging.audit import audit
from loadline.result.importers.importing import read_files
from loadline.result.schema import Result

POINTS = 10_000
LONGEST_S = 2.0
SLOWEST_MB_PER_S = 50.0

GOLDEN = Path(__file__).parents[1] / "tests/golden/fio-3.33/two-groups.json"
GROUPS = 200


def compare(folder: Path, repeats: int) -> list[Compared]:
    whole = json.loads(_last())
    return [
        _audit(folder, repeats),
        _import("JSON+", whole, folder, repeats),
        _import("JSON without bins", _without_bins(whole), folder, repeats),
    ]


def _audit(folder: Path, repeats: int) -> Compared:
    """Rows as fio gives them, with every figure that there is."""
    rows = _rows(folder)
    took = _seconds(lambda: audit(rows), repeats)
    best = statistics.median(took)
    return Compared(
        f"audit of {POINTS:,} points",
        f"{best:.2f} s",
        "",
        "",
        spread(took, " s"),
        f"<= {LONGEST_S:g} s",
        best <= LONGEST_S,
    )


def _rows(folder: Path) -> list[Result]:
    path = folder / "rows.json"
    path.write_bytes(_last())
    found = read_files([path]).results
    return [replace(found[n % len(found)], run="bench", point=f"p{n}") for n in range(POINTS)]


def _without_bins(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_bins(one) for key, one in value.items() if key != "bins"}
    return [_without_bins(one) for one in value] if isinstance(value, list) else value


def _import(form: str, whole: dict[str, Any], folder: Path, repeats: int) -> Compared:
    """A file of many groups, each a row; json.loads of the same bytes is what Python's own parser takes alone."""
    jobs = whole["jobs"]
    status = {**whole, "jobs": [{**jobs[n % len(jobs)], "groupid": n} for n in range(GROUPS)]}
    path = folder / "large.json"
    # As fio writes it.
    path.write_text(json.dumps(status, indent=2, separators=(",", " : ")))
    data = path.read_bytes()
    ours, peers = [], []
    for _ in range(repeats):
        ours += _seconds(lambda: read_files([path]), 1)
        peers += _seconds(lambda: json.loads(data), 1)
    speeds, bare = ([len(data) / 1e6 / one for one in took] for took in (ours, peers))
    speed = statistics.median(speeds)
    return Compared(
        f"import of fio {form}, {len(data) / 1e6:.0f} MB",
        f"{speed:.0f} MB/s",
        f"{statistics.median(bare):.0f} MB/s (json.loads)",
        f"x {speed / statistics.median(bare):.2f}",
        spread(speeds, " MB/s"),
        f">= {SLOWEST_MB_PER_S:g} MB/s",
        speed >= SLOWEST_MB_PER_S,
    )


def _last() -> bytes:
    """The last status of the golden file."""
    text, decoder, last, at = GOLDEN.read_text(), json.JSONDecoder(), "", 0
    while (at := text.find("{", at)) >= 0:
        _, end = decoder.raw_decode(text, at)
        last, at = text[at:end], end
    return last.encode()


def _seconds(work: Callable[[], object], repeats: int) -> list[float]:
    took = []
    for _ in range(repeats):
        before = time.perf_counter()
        work()
        took.append(time.perf_counter() - before)
    return took
