"""Points of open loads: what fio says of them and its log of their I/Os are made up."""

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
random = "0%"
"""

#: The jobs that fio got, and how often it was asked for a status, in s.
asked: list[tuple[str, int | None]] = []

#: When an I/O completed (ms since the jobs began), and how long that took (ns).
Io = tuple[int, int]

#: A request every 2 ms for 16 s.
EVEN: Sequence[Io] = [(ms, 4_000_000) for ms in range(4, 16_000, 2)]


def told(at_ms: int, levels: Mapping[str, float]) -> str:
    ios = 16 * 714
    latency = {"mean": 4e6, "stddev": 1e6, "max": 9e6, "N": ios, "bins": {"4000000": ios}}
    read = {"total_ios": ios, "io_bytes": 4096 * ios, "runtime": 16_000, "iops": 714, "bw_bytes": 0}
    one = {"jobname": "reads", "read": {**read, "lat_ns": latency}, "iodepth_level": levels}
    return json.dumps({"fio version": "fio-3.33", "timestamp_ms": at_ms, "jobs": [one]}, indent=1) + "\n"


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures an open load of that many jobs of that depth, of which fio logs that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text('title = "a"\n[[station]]\nname = "a"\nservice = { constant = "1ms" }\n')

    def one(
        ios: Sequence[Io] = EVEN, jobs: int = 714, depth: int = 2, junk: str = "", **levels: float
    ) -> tuple[Run, Result]:
        named = {name.removeprefix("d").replace("more", ">=64"): share for name, share in levels.items()}

        def execute(fio: Fio, job: str, target: str, folder: Path, *_: Any, **words: Any) -> Outcome:
            asked.append((job, words["status_s"]))
            began_ms = time.time_ns() // 10**6 + 300
            text = told(began_ms + 16_000, named).encode()
            (folder / "fio.json.gz").write_bytes(gzip.compress(text))
            if "write_lat_log=fio\n" in job:
                lines = [f"{began_ms + ms}, {latency_ns}, 0, 4096, 0\n" for ms, latency_ns in ios]
                (folder / "fio_lat.log").write_text("".join(lines) + junk)
            stream = StatusStream()
            intervals = stream.feed(text)
            return Outcome(stream.jobs, intervals, ended_at_ns=(began_ms + 16_000) * 10**6)

        monkeypatch.setattr(Fio, "execute", execute)
        suite = parse_suite(SUITE.format(jobs=jobs, depth=depth), "reads", "reads")
        run = loadline.run(suite, f"emulated:{tmp_path / 'one.toml'}", size_bytes=1 << 26)
        (row,) = run.results()
        return run, row

    return one


def checks(row: Result, check: str) -> list[Mapping[str, Any]]:
    return [one for one in row.findings if one["check"] == check]


def test_of_jobs_that_sleep_what_completed_in_the_measured_time_is_counted_to_the_millisecond(measure: Any) -> None:
    """Their first request was sent as they began; the warm-up's last and the first after the end are left out."""
    warm, late = [(4, 4_000_000), (4_999, 9_000_000)], [(15_000, 900_000_000), (15_900, 900_000_000)]
    ios = [(5_000, 6_000_000), *[(ms, 2_000_000) for ms in range(5_010, 14_990, 10)], (14_999, 40_000_000)]
    run, row = measure([*ios, *late, *warm])
    assert (row.error, row.runtime_ns, row.warmup_ns) == (None, 10**10, 5 * 10**9)
    assert (row.total.iops, row.total.bytes_per_s) == (len(ios) / 10, 4096 * len(ios) / 10)
    assert row.total.latency_max_ns == 40_000_000
    assert row.total.latency_mean_ns == pytest.approx(sum(ns for _, ns in ios) / len(ios))
    assert [one.read.ios for one in counted_intervals(run.point_path(0), row)] == [100] * 10
    assert sorted(path.name for path in run.point_path(0).glob("*.log*")) == ["fio_lat.log.gz"]


def test_ten_seconds_of_jobs_that_sleep_have_a_confidence_interval_and_are_judged(measure: Any) -> None:
    _, row = measure([(ms, 4_000_000 + ms % 7 * 100_000) for ms in range(4, 16_000, 3)])
    assert row.steady is True and row.ended_by == "runtime"
    assert 0 < row.iops_ci95 < 0.01 * row.total.iops
    assert 0 < row.latency_mean_ci95_ns < 0.01 * row.total.latency_mean_ns


@pytest.mark.parametrize(
    ("ios", "junk", "said"),
    [
        ([(4, 4_000_000), (15_000, 4_000_000)], "", "no I/O completed in the measured time"),
        (EVEN, "1, 2", "fio's log of its I/Os can't be read: line 7999, column 4: the log ends inside a line"),
        ([], "x\n", "fio's log of its I/Os can't be read: line 1, column 1: a whole number or a comma belongs here"),
    ],
)
def test_a_log_that_says_nothing_of_the_measured_time_fails_the_point(
    measure: Any, ios: Sequence[Io], junk: str, said: str
) -> None:
    _, row = measure(ios, junk=junk)
    assert (row.error, row.ended_by) == (said, "error")


@pytest.mark.parametrize(("jobs", "logged"), [(1, False), (2, False), (3, True), (714, True)])
def test_of_jobs_that_do_much_fio_logs_nothing_and_keeps_the_warm_up(measure: Any, jobs: int, logged: bool) -> None:
    measure(EVEN, jobs)
    job, _ = asked[-1]
    assert ("write_lat_log=fio\n" in job, "ramp_time=5s" in job) == (logged, not logged)
    assert f"runtime={15 if logged else 10}s" in job


@pytest.mark.parametrize(
    ("jobs", "depth", "levels", "capped"),
    [
        (1, 4, {"d1": 0.6, "d2": 5.6, "d4": 93.8}, 0.938),
        (1, 4, {"d1": 70.0, "d2": 29.5, "d4": 0.5}, None),
        # 714/s of 4 ms are 2.9 outstanding: seldom 6, never 40 or 100, though a level holds fewer, too.
        (1, 6, {"d1": 50.0, "d4": 50.0}, 0.075),
        (1, 40, {"d1": 50.0, "d32": 50.0}, None),
        (1, 100, {"d1": 50.0, "dmore": 50.0}, None),
        (357, 4, {"d1": 100.0}, None),
    ],
)
def test_an_open_load_whose_depth_was_reached_is_called_none(
    measure: Any, jobs: int, depth: int, levels: dict[str, float], capped: float | None
) -> None:
    _, row = measure(EVEN, jobs, depth, **levels)
    (found,) = checks(row, "open-load")
    if capped is None:
        # One job of 714/s of 4 ms is never without a request, and fio waits for all of them before it sleeps.
        expected = ("warning", "not an open load: fio had requests") if jobs == 1 else ("note", "response counts from")
        assert (found["severity"], found["message"].startswith(expected[1])) == (expected[0], True)
        return
    assert (found["severity"], found["numbers"]["capped_fraction"]) == ("warning", pytest.approx(capped, abs=0.005))
    assert found["message"].startswith(f"not an open load: {found['numbers']['capped_fraction']:.1%} of the requests")


@pytest.mark.parametrize(("jobs", "severity"), [(250, "note"), (50, "note"), (10, "warning")])
def test_of_jobs_in_sequence_that_send_one_at_a_time_the_response_counts_from_when_it_was_due(
    measure: Any, monkeypatch: pytest.MonkeyPatch, jobs: int, severity: str
) -> None:
    """Of 500/s of 4 ms a job of 50 is busy for 4 % of its time: one server with a constant service, M/D/1."""
    monkeypatch.setattr(f"{__name__}.SUITE", SUITE.replace("714/s", "500/s"))
    _, row = measure(EVEN, jobs, 1, d1=100.0)
    (found,) = checks(row, "open-load")
    busy = 500 / jobs * 4e-3
    assert (found["severity"], found["numbers"]["late_fraction"]) == (severity, pytest.approx(busy, abs=1e-4))
    waits_ns = busy / (2 * (1 - busy)) * 4e6
    assert row.total.latency_mean_ns == row.read.latency_mean_ns == pytest.approx(4e6 + waits_ns)


def test_a_job_of_reads_and_writes_with_one_outstanding_is_at_its_cap_as_long_as_that_takes(
    measure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.SUITE", SUITE.replace('read = "100%"', 'read = "50%"'))
    _, row = measure(EVEN, 51, 1, d1=100.0)
    (found,) = checks(row, "open-load")
    assert (found["severity"], found["numbers"]["capped_fraction"]) == ("warning", pytest.approx(0.057, abs=0.005))


@pytest.mark.parametrize(
    ("jobs", "rate", "status_s"), [(2, 714, 1), (357, 714, None), (714, 714, None), (714, 357_000, 2)]
)
def test_fio_is_not_asked_for_a_status_of_jobs_that_sleep_or_while_it_starts_many(
    measure: Any, monkeypatch: pytest.MonkeyPatch, jobs: int, rate: int, status_s: int | None
) -> None:
    monkeypatch.setattr(f"{__name__}.SUITE", SUITE.replace("714/s", f"{rate}/s"))
    measure(EVEN, jobs)
    assert asked[-1][1] == status_s
