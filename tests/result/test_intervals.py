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


LOG = "".join(f"{1_795_617_210_000 + ms}, 1000, 0, 4096, 0\n" for ms in range(0, 6000, 10))
LOGGED = {"started_at": "2026-11-25T14:33:32.000+00:00", "runtime_ns": 3_000_000_000, "offered_per_s": 100.0}


def test_a_row_of_an_open_load_has_the_seconds_of_its_log(run: Run) -> None:
    (run.point_path(0) / "fio_lat.log.gz").write_bytes(gzip.compress(LOG.encode()))
    (row,) = run.results()
    found = intervals_in([run])(replace(row, **LOGGED))
    assert [one.read.ios for one in found] == [100, 100, 100]
    assert found[0].end_ns == 1_795_617_213_000_000_000


@pytest.mark.parametrize("damage", [b"", b"no gzip", gzip.compress(b"1, x\n"), gzip.compress(LOG.encode())[:-9]])
def test_a_damaged_log_gives_none(run: Run, damage: bytes) -> None:
    (run.point_path(0) / "fio_lat.log.gz").write_bytes(damage)
    assert seconds(run, **LOGGED) == 0


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
