"""Points of open loads, of which fio tells seldom: its statuses are made up, as it printed them of jobs that slept."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import loadline
from loadline._core import StatusStream
from loadline.measuring.fio import Fio, Outcome
from loadline.result.intervals import counted_intervals
from loadline.result.schema import Result
from loadline.result.store import Run
from loadline.workload.suite import parse_suite

SUITE = """
title = "Reads at a rate"
runtime = "10s"
warmup = "5s"
rate = "714/s"
jobs = {jobs}
queue_depth = {depth}
[[profile]]
name = "reads"
block = "4k"
read = "100%"
random = "100%"
"""

#: How often fio was asked for a status, in s.
asked: list[int] = []

#: At what time (ms since fio was started) a status came of what run time (ms), with how many I/Os.
Status = tuple[int, int, int]


def told(statuses: Sequence[Status], started_ms: int, levels: Mapping[str, float]) -> str:
    return "".join(
        json.dumps(
            {
                "fio version": "fio-3.33",
                "timestamp_ms": started_ms + at_ms,
                "jobs": [
                    {
                        "jobname": "reads",
                        "read": {
                            "total_ios": ios,
                            "io_bytes": 4096 * ios,
                            "runtime": runtime_ms,
                            "iops": 1000 * ios / max(1, runtime_ms),
                            "bw_bytes": 0,
                            "lat_ns": {"mean": 4e6, "stddev": 1e6, "max": 9e6, "N": ios, "bins": {"4000000": ios}},
                        },
                        "iodepth_level": levels,
                    }
                ],
            },
            indent=1,
        )
        + "\n"
        for at_ms, runtime_ms, ios in statuses
    )


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures an open load of that many jobs of that depth, of which fio prints that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text('title = "a"\n[[station]]\nname = "a"\nservice = { constant = "1ms" }\n')

    def one(statuses: Sequence[Status], jobs: int = 714, depth: int = 1, **levels: float) -> tuple[Run, Result]:
        named = {name.removeprefix("d").replace("more", ">=64"): share for name, share in levels.items()}

        def execute(fio: Fio, job: str, target: str, folder: Path, *_: Any, **words: Any) -> Outcome:
            asked.append(words["status_s"])
            started_ns = time.time_ns() // 10**6 * 10**6
            text = told(statuses, started_ns // 10**6, named).encode()
            (folder / "fio.json.gz").write_bytes(gzip.compress(text))
            stream = StatusStream(warmup_ns=words["warmup_ns"], started_ns=started_ns)
            intervals = stream.feed(text)
            return Outcome(stream.jobs, intervals, ended_at_ns=started_ns + statuses[-1][0] * 10**6)

        monkeypatch.setattr(Fio, "execute", execute)
        suite = parse_suite(SUITE.format(jobs=jobs, depth=depth), "reads", "reads")
        run = loadline.run(suite, f"emulated:{tmp_path / 'one.toml'}", size_bytes=1 << 26)
        (row,) = run.results()
        return run, row

    return one


def checks(row: Result, check: str) -> list[Mapping[str, Any]]:
    return [one for one in row.findings if one["check"] == check]


def test_what_came_after_the_warm_up_is_counted_however_late_fio_told_of_it(measure: Any) -> None:
    """714 jobs at 1/s that took 0.5 s to start: the first status waited for the one that slept longest."""
    run, row = measure([(9_186, 545, 7_086), (15_643, 8_733, 11_619), (15_708, 15_208, 11_619)])
    assert (row.error, row.runtime_ns, row.total.iops) == (None, 6_457_000_000, pytest.approx(4_533 / 6.457))
    assert row.warmup_ns == 9_186_000_000
    assert checks(row, "measured-time") == []
    again = counted_intervals(run.point_path(0), row)
    assert [(one.duration_ns, one.read.ios) for one in again] == [(6_457_000_000, 4_533)]


def test_what_comes_when_the_time_of_sleeping_jobs_is_over_is_not_counted(measure: Any) -> None:
    """They run for 5 s, 10 s and one status more, 9 s; then each sends one request more than is due."""
    run, row = measure(
        [(9_186, 545, 7_086), (15_643, 8_733, 11_619), (22_900, 15_208, 16_800), (25_100, 24_500, 18_900)]
    )
    assert (row.error, row.runtime_ns, row.total.iops) == (None, 13_714_000_000, pytest.approx(9_714 / 13.714))
    again = counted_intervals(run.point_path(0), row)
    assert [one.read.ios for one in again] == [4_533, 5_181]


def test_a_point_of_which_nothing_is_counted_fails_without_figures(measure: Any) -> None:
    _, row = measure([(15_700, 545, 11_000)])
    assert row.error is not None and row.error.startswith("nothing of the 10 s asked for is counted: fio's jobs slept")
    assert (row.total.iops, row.total.latency_mean_ns, row.runtime_ns, row.ended_by) == (None, None, 0, "error")


def test_a_point_of_which_less_than_half_is_counted_says_so(measure: Any) -> None:
    _, row = measure([(12_000, 545, 8_000), (15_643, 8_733, 11_619), (15_700, 15_200, 11_619)])
    (found,) = checks(row, "measured-time")
    assert found["message"].startswith("3.64 s of the 10 s asked for is counted")
    assert (found["severity"], found["numbers"]["counted_ns"]) == ("warning", 3_643_000_000)
    assert (row.error, row.total.iops) == (None, pytest.approx(3_619 / 3.643))


SECONDS = [(1_000 * n, 1_000 * n - 300, 714 * n) for n in range(1, 17)]


@pytest.mark.parametrize(
    ("jobs", "depth", "levels", "capped"),
    [
        (1, 4, {"d1": 0.6, "d2": 5.6, "d4": 93.8}, 0.938),
        (1, 4, {"d1": 70.0, "d2": 29.5, "d4": 0.5}, None),
        # 714/s of 4 ms are 2.9 outstanding: seldom 6, never 40 or 100, though a level holds fewer, too.
        (1, 6, {"d1": 50.0, "d4": 50.0}, 0.075),
        (1, 40, {"d1": 50.0, "d32": 50.0}, None),
        (1, 100, {"d1": 50.0, "dmore": 50.0}, None),
        # A job with one at most is at its cap as long as that takes.
        (357, 1, {"d1": 100.0}, None),
        (51, 1, {"d1": 100.0}, 0.057),
    ],
)
def test_an_open_load_whose_depth_was_reached_is_called_none(
    measure: Any, jobs: int, depth: int, levels: dict[str, float], capped: float | None
) -> None:
    _, row = measure(SECONDS, jobs, depth, **levels)
    (found,) = checks(row, "open-load")
    if capped is None:
        assert (found["severity"], "response counts from submission" in found["message"]) == ("note", True)
        return
    assert (found["severity"], found["numbers"]["capped_fraction"]) == ("warning", pytest.approx(capped, abs=0.005))
    assert found["message"].startswith(f"not an open load: {found['numbers']['capped_fraction']:.1%} of the requests")


@pytest.mark.parametrize(("jobs", "status_s"), [(2, 1), (357, 1), (714, 2)])
def test_fio_is_not_asked_for_a_status_while_it_starts_many_jobs(measure: Any, jobs: int, status_s: int) -> None:
    measure(SECONDS, jobs)
    assert asked[-1] == status_s
