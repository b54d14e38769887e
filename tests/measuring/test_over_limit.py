"""Ramps of which not even the lowest load keeps the limit: that is their answer, and nothing is left to measure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli.program import Loadline
from measuring.suites import STATION
from measuring.suites import ramp as ramp_suite
from results import measured, run_of

from loadline.measuring.point import Measured
from loadline.measuring.ramp import find
from loadline.result.schema import Flow, Result
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import parse_suite

SUITE = ramp_suite("1ms")


def test_run_says_what_to_change_and_resume_that_there_is_nothing_to_do(loadline: Loadline) -> None:
    for name, text in (("station.toml", STATION), ("suite.toml", SUITE)):
        (loadline.folder / name).write_text(text)
    said = loadline("run", "suite.toml", "emulated:station.toml", "--size", "64M", "--seed", "1")
    found = re.search(r"loadline: (1 point of 1 has no load line: reads: (.* ms there))\n(.*)\n\Z", said.err)
    assert said.code == 3 and found is not None and found[3] == "Change the load, the limit or the system."
    assert found[2].startswith("not even the lowest load, 1, keeps mean<=1ms: it's 20")
    assert "reads has no load line: not even the lowest load, 1, keeps mean<=1ms" in said.out
    assert "may lie" not in said.out and "resume" not in said.out + said.err
    assert "resume" not in loadline("show", "last").out
    again = loadline("resume", "last", "--json")
    assert again.code == 3 and again.err.endswith(found[0]) and "nothing to resume" in again.err
    assert again.json["error"]["message"] == found[1]


def lowest(findings: tuple[dict[str, Any], ...], folder: Path) -> Result:
    (point,) = make_plan(parse_suite(SUITE, "reads", "reads"), Options(), seed=1)

    def measure(point: Point, place: Path) -> Measured:
        (place / "series.parquet").touch()
        outstanding = point.streams[0].outstanding
        total = Flow(iops=50.0, latency_mean_ns=20e6 * outstanding)
        told = findings if outstanding == 1 else ()
        row = Result(point=point.name, total=total, outstanding_asked=outstanding, findings=told)
        return Measured(replace(row, latency_mean_ci95_ns=1e5), {})

    return find(point, folder, measure).result


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("emulation", "the lowest load, 1 outstanding, had late answers, as this machine is too slow or busy"),
        ("other-run", "the lowest load, 1 outstanding, had another run beside it: alone it may keep mean<=1ms"),
        ("steady", None),
        ("percentiles", None),
        ("write-cache", None),
    ],
)
def test_such_a_row_tells_only_what_may_have_kept_the_lowest_load_from_the_limit(
    tmp_path: Path, check: str, said: str | None
) -> None:
    """Figures, of which other findings of that probe are, it has none."""
    row = lowest(({"check": check, "severity": "warning", "message": "x", "numbers": {}},), tmp_path)
    assert row.over_limit and row.error == "not even the lowest load, 1, keeps mean<=1ms: it's 20 ms there"
    messages = [one["message"] for one in row.findings]
    assert not messages if said is None else [said in message for message in messages] == [True]


def test_points_that_failed_beside_such_a_ramp_are_told_apart(loadline: Loadline) -> None:
    over = {"load_line": {"load": None, "kept": False}}
    rows = [measured("a"), measured("b", error="gone"), measured("c", error="not even 1", provenance=over)]
    run = run_of(loadline.store, rows)
    assert (run.missing(), [row.point for row in run.over_limit()]) == ([1], ["c"])
    assert (run.summary()["done"], run.summary()["failed"]) == (2, 1)
    said = loadline("watch", "last")
    assert said.code == 3
    assert "loadline: 1 of 3 points failed; 1 point of 3 has no load line: c: not even 1\n" in said.err
    assert f"resume runs/{run.id}; of the latter: change the load" in said.err
