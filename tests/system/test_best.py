"""The best of several depths, as models answer it."""

from __future__ import annotations

import pytest

from loadline.result.schema import Flow, Result
from loadline.system.forecast import forecast
from loadline.system.row import best_rows
from loadline.system.simulate import simulate
from loadline.workload.limit import Best
from loadline.workload.plan import Point


def answer(depth: int, iops: float, mean_ns: float = 1.0, error: str | None = None) -> Result:
    flow = Flow() if error else Flow(iops=iops, latency_mean_ns=mean_ns)
    return Result(point=f"p-qd{depth}", queue_depth=depth, outstanding_asked=4 * depth, total=flow, error=error)


def asked(of: str) -> Point:
    return Point("p", (), 1, 0, best=Best(of, (1, 2, 4, 8)))  # type: ignore[arg-type]


def test_the_highest_rate_counts_and_the_fewest_outstanding_that_give_95_percent_of_it_are_named() -> None:
    answers = [answer(1, 500), answer(2, 960), answer(4, 1000), answer(8, 990)]
    row, *probes = best_rows(asked("rate"), answers)
    assert (row.point, row.role, row.outstanding_asked, row.saturation_iops) == ("p", "point", 16, 1000)
    assert (row.saturation_outstanding, row.saturation_95_outstanding, row.findings) == (16, 8, ())
    assert [(probe.point, probe.role) for probe in probes] == [(f"p-qd{d}", "probe") for d in (1, 2, 8)]


def test_a_rate_that_still_rises_at_the_last_depth_is_said_to_rise() -> None:
    row = best_rows(asked("rate"), [answer(1, 500), answer(2, 700), answer(4, 800), answer(8, 1000)])[0]
    (found,) = row.findings
    assert (found["check"], "still rose up to 32 outstanding" in found["message"]) == ("saturation", True)


def test_the_lowest_latency_counts_whatever_its_rate() -> None:
    answers = [answer(1, 500, 9.0), answer(2, 700, 8.0), answer(4, 1000, 8.5), answer(8, 1, error="gone")]
    row = best_rows(asked("latency"), answers)[0]
    assert (row.outstanding_asked, row.total.latency_mean_ns, row.saturation_iops, row.error) == (8, 8.0, None, None)


def test_of_rates_that_rounding_alone_tells_apart_the_first_counts() -> None:
    answers = [answer(1, 500), answer(2, 1000), answer(4, 1000 * (1 + 1e-15)), answer(8, 1000 * (1 - 1e-15))]
    row = best_rows(asked("rate"), answers)[0]
    assert (row.outstanding_asked, row.saturation_outstanding) == (8, 8)


def test_if_no_depth_has_an_answer_the_row_says_why() -> None:
    answers = [answer(depth, 0, error=f"{depth} gone") for depth in (1, 2, 4, 8)]
    assert best_rows(asked("rate"), answers)[0].error == "1 gone"


# The field report on the EVA v.2: 527 to 529 MB/s read, 155 to 173 written with a mirrored cache.
def test_saturation_is_forecast_and_simulated_alike() -> None:
    for rows in (forecast("eva-v2-10k", "saturation"), simulate("eva-v2-10k", "saturation", ios=20_000)):
        found = {row.point: row for row in rows if row.role == "point"}
        assert found["sequential-read-64k"].total.bytes_per_s == pytest.approx(527e6, rel=0.03)
        assert found["sequential-write-64k"].total.bytes_per_s == pytest.approx(164e6, rel=0.08)
        assert len(rows) == 8 + 8 + 3 + 3 + 4


def test_where_a_solution_knows_what_no_load_exceeds_that_is_saturation_and_not_the_highest_of_the_depths_tried() -> (
    None
):
    rows = forecast("sas-10k-jbod", "saturation", explain=True)
    found = {row.point: row for row in rows if row.role == "point"}
    for row in found.values():
        (line,) = [line for line in row.provenance["working"] if line.startswith("saturation = ")]
        assert f"{row.saturation_iops:.0f}" in line.rpartition("=")[2].replace(",", "") or row.saturation_iops < 1000
    short, reached = found["cache-rate-512"], found["sequential-read-64k"]
    assert short.saturation_iops > 1.05 * short.total.iops
    assert (short.saturation_outstanding, short.saturation_95_outstanding) == (None, None)
    assert ["still rose up to 32" in one["message"] for one in short.findings] == [True]
    highest = max(row.total.iops for row in rows if row.point.startswith("sequential-read-64k"))
    assert (reached.total.iops, reached.saturation_iops) == (highest, pytest.approx(highest, rel=1e-6))
    assert (reached.saturation_outstanding, reached.findings) == (reached.outstanding_asked, ())
