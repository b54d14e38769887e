"""The seconds of a measured point, out of what fio printed."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from results import measured, run_of

from loadline.result.intervals import intervals_in
from loadline.result.schema import Result
from loadline.result.store import Run

STATUSES = (Path(__file__).parent.parent / "golden/fio-3.33/ramp.json").read_bytes()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run whose point has two intervals of warm-up and three measured ones, 3.004 s together."""
    found = run_of(tmp_path, [measured("p")])
    (found.point_path(0) / "fio.json.gz").write_bytes(gzip.compress(STATUSES))
    return found


def seconds(run: Run, **changes: object) -> int:
    (row,) = run.results()
    changed: Result = replace(row, **changes)  # type: ignore[arg-type]
    return len(intervals_in([run])(changed))


def test_a_row_has_the_intervals_that_make_up_its_run_time_warm_up_left_out(run: Run) -> None:
    assert seconds(run, runtime_ns=3_004_000_000) == 3
    assert seconds(run, runtime_ns=2_000_000_000) == 2


def test_rows_that_the_intervals_are_not_of_have_none(run: Run) -> None:
    assert seconds(run, runtime_ns=10_000_000_000) == 0
    assert seconds(run, runtime_ns=3_004_000_000, origin="imported") == 0
    assert seconds(run, runtime_ns=3_004_000_000, role="probe") == 0
    assert seconds(run, runtime_ns=3_004_000_000, target="/dev/sdy", point="q") == 0


@pytest.mark.parametrize(
    "damage", [b"", b"no gzip", gzip.compress(STATUSES)[:-2000], gzip.compress(STATUSES)[:200] + b"x" * 99]
)
def test_damaged_output_gives_none(run: Run, damage: bytes) -> None:
    (run.point_path(0) / "fio.json.gz").write_bytes(damage)
    assert seconds(run, runtime_ns=3_004_000_000) == 0
