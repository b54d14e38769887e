"""Probes of a search of which something was lost or damaged since: they count for nothing, and are measured again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from measuring.suites import ramp as ramp_suite
from results import measured as row_of
from results import run_of

from loadline._core import Histogram
from loadline.errors import StoreError
from loadline.measuring.point import Measured
from loadline.measuring.ramp import find
from loadline.result.point_folder import begin_ramp, commit_point, probe_paths, read_rows
from loadline.result.schema import Result
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import parse_suite

SUITE = ramp_suite("110ms", "60s")


class Server:
    """n outstanding take n times 20 ms: 5 keep the limit, and 6 don't."""

    def __init__(self) -> None:
        self.asked: list[Point] = []

    def __call__(self, point: Point, folder: Path) -> Measured:
        self.asked.append(point)
        (folder / "series.parquet").write_bytes(point.name.encode())
        outstanding = point.streams[0].outstanding
        row = row_of(point.name, 50.0, 20.0 * outstanding, outstanding_asked=outstanding, latency_mean_ci95_ns=1e6)
        return Measured(row, {"read": Histogram([10**6], [outstanding])})


def half(path: Path) -> None:
    path.write_text('{"fo')


DAMAGES: dict[str, Callable[[Path], None]] = {
    "half a row": lambda probe: half(probe / "point.json"),
    "a row that is none": lambda probe: (probe / "point.json").write_text('{"format": 1}') and None,
    "half the histograms": lambda probe: half(probe / "histograms.json"),
    "histograms of others": lambda probe: (
        (probe / "histograms.json").write_text('{"format": 1, "histograms": {}, "targets": [{}]}') and None
    ),
    "no series": lambda probe: (probe / "series.parquet").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_probe_is_measured_again_and_only_that(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    (point,) = make_plan(parse_suite(SUITE, "reads", "reads"), Options(), seed=1)
    first, again = Server(), Server()
    row = find(point, tmp_path, first).result
    damage(next(path for path in probe_paths(tmp_path) if path.name.endswith("-qd5")))
    found = find(point, tmp_path, again)
    assert (found.result, found.result.outstanding_asked) == (row, 5)
    assert [one.name for one in again.asked] == ["reads-qd5"]
    assert found.histograms["read"].count == 5 and (tmp_path / "series.parquet").read_text() == "reads-qd5"
    rows = [one for path in probe_paths(tmp_path) for one in read_rows(path)]
    assert sorted(one.point for one in rows) == sorted(one.name for one in first.asked)
    # The same blocks may still be in a cache.
    assert again.asked[0].seed not in {one.seed for one in first.asked}


def test_what_is_told_of_a_damaged_probe_hangs_on_whether_resume_would_measure_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, [row_of("reads")])
    folder = begin_ramp(run.point_path(0))
    find(make_plan(parse_suite(SUITE, "reads", "reads"), Options(), seed=1)[0], folder, Server())
    probe = probe_paths(folder)[0]
    half(probe / "point.json")
    assert run.kept() == len(probe_paths(folder)) - 1
    with pytest.raises(StoreError) as told:
        run.probes()
    assert "`loadline resume` measures it again" in told.value.remedy
    commit_point(folder, Result(point="reads"), {})
    with pytest.raises(StoreError) as told:
        run.probes()
    assert f"remove the folder {probe}, which the row of {folder.name} no longer needs" in told.value.remedy
    assert "resume" not in told.value.remedy and run.missing() == []
    shutil.rmtree(probe)
    assert len(run.probes()) == len(probe_paths(folder))


def test_a_ramp_that_begins_again_keeps_nothing_of_its_last_row(tmp_path: Path) -> None:
    run = run_of(tmp_path, [row_of("reads")])
    folder = run.point_path(0)
    (folder / "series.parquet").touch()
    half(folder / "histograms.json")
    begin_ramp(run.point_path(0))
    assert list(folder.iterdir()) == []
