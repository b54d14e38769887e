"""Rounds: until what is tracked is steady, the size was written often enough, or there were too many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import loadline
from loadline._core import Histogram
from loadline.measuring import event
from loadline.measuring.point import Measured
from loadline.measuring.rounds import Member, find
from loadline.result.point_folder import probe_paths, read_histograms
from loadline.result.schema import Flow, Result
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import Suite, parse_suite

GIB = 1 << 30

SUITE = """
title = "Rounds"
runtime = "200ms"
queue_depth = 2
[[rounds]]
name = "both"
most = 6
window = 3
fill = 2
track = ["a-b4k"]
[[profile]]
name = "a"
block = ["4k", "8k"]
read = "0%"
random = "100%"
rounds = "both"
"""


def suite(text: str = SUITE) -> Suite:
    return parse_suite(text, "rounds", "rounds.toml")


class Fake:
    """Measures nothing: the rate of each round is given, and every write takes 1 ms."""

    def __init__(self, folder: Path, rates: Callable[[int], float], text: str = SUITE, stop_at: int = 0) -> None:
        self.points = make_plan(suite(text), Options(), seed=1)
        self.members = [Member(point, folder / point.name, self.measure) for point in self.points]
        for member in self.members:
            member.folder.mkdir(exist_ok=True)
        self.rates, self.stop_at = rates, stop_at
        self.asked: list[Point] = []
        self.fills: list[int] = []

    def measure(self, point: Point, folder: Path) -> Measured:
        if len(self.asked) + 1 == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(point)
        number = int(point.name.rpartition("round")[2])
        rate = self.rates(number)
        (folder / "series.parquet").write_bytes(b"")
        flow = Flow(
            iops=rate, bytes_per_s=rate * 4096, latency_mean_ns=1e6, latency_stddev_ns=0.0, latency_max_ns=10**6
        )
        row = Result(point=point.name, total=flow, write=flow, runtime_ns=10**9, findings=({"message": "same"},))
        return Measured(row, {"write": Histogram([10**6], [int(rate)])})

    def find(self, size_bytes: int = GIB) -> list[Result]:
        return [row for row, _ in find(self.members, self.fills.append, size_bytes)]


def test_rounds_end_when_a_window_is_steady_and_their_row_is_its_mean(tmp_path: Path) -> None:
    fake = Fake(tmp_path, lambda number: {1: 900, 2: 300}.get(number, 100 + number))
    row, other = fake.find()
    assert (row.point, row.role, row.ended_by, row.steady) == ("a-b4k", "point", "steady", True)
    assert row.total.iops == pytest.approx(104) and row.runtime_ns == 3 * 10**9
    assert (row.total.latency_p50_ns, row.total.latency_stddev_ns) == (pytest.approx(10**6, rel=0.01), 0.0)
    tracked = row.provenance["rounds"]["tracked"]["a-b4k"]
    assert tracked["figures"] == [900, 300, 103, 104, 105]
    assert tracked["excursion_fraction"] == pytest.approx(2 / 104)
    assert other.point == "a-b8k" and other.provenance["rounds"] == row.provenance["rounds"]
    assert [point.name for point in fake.asked[:3]] == ["a-b4k-round1", "a-b8k-round1", "a-b4k-round2"]
    assert len({point.seed for point in fake.asked}) == len(fake.asked) == 10
    assert (fake.fills, len(probe_paths(fake.members[0].folder))) == ([2], 5)
    assert [finding.get("check") for finding in row.findings] == [None, "purge"]


def test_each_round_is_told(tmp_path: Path) -> None:
    fake = Fake(tmp_path, lambda number: 100.0)
    told: list[Result] = []
    fake.members = [replace(member, tell=told.append) for member in fake.members]
    fake.find()
    assert [row.point for row in told] == [point.name for point in fake.asked] and told


def test_rounds_that_never_become_steady_end_at_the_most_and_say_so(tmp_path: Path) -> None:
    row = Fake(tmp_path, lambda number: 1000.0 / number).find()[0]
    assert (row.ended_by, row.steady, row.provenance["rounds"]["rounds"]) == ("rounds", False, 6)
    assert any("not steady after 6 rounds" in finding["message"] for finding in row.findings)


def test_rounds_end_when_the_size_was_written_often_enough(tmp_path: Path) -> None:
    fake = Fake(tmp_path, lambda number: 1000.0 / number, SUITE.replace("fill = 2", "written = 2.5"))
    # Two points of 1000 writes of 4 KiB in the first second, half of it in the next, a third, and so on.
    row = fake.find(size_bytes=2 * 1000 * 4096 * 7 // 10)[0]
    assert (row.ended_by, row.provenance["rounds"]["rounds"], fake.fills) == ("written", 3, [])


def test_a_round_that_fails_fails_the_points_of_its_group_with_what_they_were_asked(tmp_path: Path) -> None:
    fake = Fake(tmp_path, lambda number: 100.0)
    measure = fake.measure

    def fails(point: Point, folder: Path) -> Measured:
        measured = measure(point, folder)
        return Measured(Result(point=point.name, error="gone"), {}) if "8k-round2" in point.name else measured

    fake.members = [Member(one.point, one.folder, fails) for one in fake.members]
    rows = fake.find()
    assert [(row.point, row.error, row.total.iops) for row in rows] == [
        ("a-b4k", "a-b8k-round2: gone", None),
        ("a-b8k", "a-b8k-round2: gone", None),
    ]


def test_rounds_go_on_where_they_were_interrupted_without_another_fill(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Fake(tmp_path, lambda number: 100.0, stop_at=4).find()
    again = Fake(tmp_path, lambda number: 100.0)
    rows = again.find()
    assert [point.name for point in again.asked] == ["a-b8k-round2", "a-b4k-round3", "a-b8k-round3"]
    assert (again.fills, [row.total.iops for row in rows]) == ([], [100, 100])


def test_a_target_is_filled_as_often_as_is_asked_and_then_measured_in_rounds(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    short = suite(SUITE.replace("most = 6", "most = 3").replace("200ms", "100ms"))
    fills: list[event.Event] = []

    def note(what: event.Event) -> None:
        if isinstance(what, event.Preparing) and what.remaining_ns == 0:
            fills.append(what)

    run = loadline.run(short, str(tmp_path / "disk"), store=tmp_path / "runs", size_bytes=1 << 24, listen=note)
    assert [row.error for row in run.results()] == [None, None]
    names = [f"a-b{size}-round{number}" for size in ("4k", "8k") for number in (1, 2, 3)]
    assert [probe.point for probe in run.probes()] == names
    # The scratch file is new, so it's filled once before.
    assert len(fills) == 3
    assert "bs=131072" in (run.path / "preparation" / "job.fio").read_text()
    probes = [read_histograms(probe)[0]["write"] for probe in probe_paths(run.point_path(0))]
    assert run.histograms(0)["write"].count == sum(probe.count for probe in probes)
