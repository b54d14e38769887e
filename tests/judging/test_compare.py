"""What is compared with what, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from results import failed, flow, measured, solved

from loadline import compare
from loadline.errors import InputError
from loadline.judging.compare import Cell, Comparison
from loadline.judging.matching import Source
from loadline.result.schema import Flow, Result


def run(name: str, iops: float = 1000.0, ci95: float | None = 2.0, **changes: Any) -> Source:
    """A run of one point, whose IOPS and mean latency are known to 0.2 % unless something else is said."""
    row = measured("oltp-db", iops, 2000 / iops, run=name, steady=True)
    latency = None if ci95 is None else ci95 * 2e9 / iops**2
    known = {"iops_ci95": ci95, "latency_mean_ci95_ns": latency, **changes}
    return Source(name, (replace(row, **known),))


def cell(comparison: Comparison, figure: str = "iops") -> Cell:
    (found,) = [one for one in comparison.cells if one.figure == figure]
    return found


def test_more_iops_are_better_and_more_latency_is_worse() -> None:
    found = compare([run("a"), run("b", 900.0)])
    assert (cell(found).verdict, cell(found, "latency_mean_ns").verdict) == ("worse", "worse")
    assert cell(found).ratio == pytest.approx(0.9)
    found = compare([run("a"), run("b", 900.0)], baseline="b")
    assert (cell(found).verdict, cell(found, "latency_mean_ns").verdict) == ("better", "better")


def test_a_side_compared_with_itself_is_the_same() -> None:
    assert {one.verdict for one in compare([run("a"), run("b")], figures=["iops", "latency"]).cells} == {"same"}


def test_a_wide_interval_tells_nothing_and_says_how_much_longer_to_run() -> None:
    found = cell(compare([run("a", ci95=30.0), run("b", 1020.0, ci95=30.0)]))
    assert found.verdict == "can't tell"
    assert found.longer is not None
    assert found.low is not None
    assert found.low < 1
    assert (found.high or 0) > 1.02
    narrow = 30.0 / found.longer**0.5
    assert cell(compare([run("a", ci95=narrow), run("b", 1020.0, ci95=narrow)])).verdict == "better"


@pytest.mark.parametrize(
    "changes",
    [{"steady": False}, {"quick": True}, {"iops_ci95": 300.0}, {"iops_ci95": None}],
    ids=["unsteady", "quick", "noisy", "of unknown error"],
)
def test_one_run_that_is_no_measurement_carries_no_verdict(changes: dict[str, Any]) -> None:
    assert cell(compare([run("a"), run("b", 2000.0, **changes)])).verdict == "can't tell"


def test_repetitions_of_unknown_error_tell_by_their_spread() -> None:
    def side(name: str, *rates: float) -> Source:
        return Source(name, tuple(run(name, rate, None, repeat=n + 1).rows[0] for n, rate in enumerate(rates)))

    found = cell(compare([side("a", 1000, 1004, 998), side("b", 1100, 1103, 1101)]))
    assert (found.verdict, found.runs) == ("better", 3)
    assert cell(compare([side("a", 1000, 1100, 900), side("b", 1100, 1000, 1200)])).verdict == "can't tell"


def test_solutions_are_exact() -> None:
    a, b = (
        Source(name, (solved("p", run=name, **changes),))
        for name, changes in (("a", {}), ("b", {"total": flow(1011, 2)}))
    )
    assert cell(compare([a, b])).verdict == "better"
    assert cell(compare([a, b], resolution=0.02)).verdict == "same"
    assert cell(compare([a, b])).low == cell(compare([a, b])).ratio


def test_points_that_were_asked_differently_are_not_compared() -> None:
    other = run("b", outstanding_asked=64)
    found = compare([run("a"), other])
    assert not found.cells
    assert {side for _, side in found.alone} == {"a", "b"}
    assert any("outstanding is 64, and 32" in note for note in found.notes)


def test_what_one_side_does_not_say_of_a_point_of_the_same_name_is_assumed() -> None:
    said = Source("table", (Result(profile="oltp-db", point="oltp-db", origin="imported", total=Flow(iops=900.0)),))
    found = cell(compare([run("a"), said]))
    assert (found.ratio, found.verdict) == (pytest.approx(0.9), "can't tell")


def test_figures_over_all_ios_of_different_mixes_are_not_compared() -> None:
    other = run("b", read=flow(500, 1.8), write=flow(500, 2.4))
    found = compare([run("a"), other])
    assert cell(found).verdict == "can't tell"
    assert "reads" in cell(found).why


def test_a_failed_point_is_said_to_have_failed() -> None:
    lost = replace(failed("oltp-db"), run="b", workload=run("b").rows[0].workload, outstanding_asked=32)
    assert "the device went away" in cell(compare([run("a"), Source("b", (lost,))])).why


def test_tags_make_sides_and_what_else_varies_is_matched() -> None:
    rows = [
        run(f"{raid}-{cache}", iops, tags={"raid": raid, "cache": cache}).rows[0]
        for raid, cache, iops in (("10", "on", 1000), ("10", "off", 500), ("5", "on", 800), ("5", "off", 400))
    ]
    found = compare(rows, by=("raid",), figures=["iops"])
    assert [one.ratio for one in found.cells] == [pytest.approx(0.8)] * 2
    assert [side.name for side in found.sides] == ["raid=10", "raid=5"]
    assert [one.point for one in found.cells] == ["oltp-db, on", "oltp-db, off"]


def test_one_side_alone_is_refused_with_what_could_be_compared() -> None:
    with pytest.raises(InputError) as caught:
        compare([*run("a", tags={"raid": "5"}).rows, *run("a", tags={"raid": "10"}).rows])
    assert "raid" in caught.value.remedy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"by": "colour"}, "colour"),
        ({"baseline": "z"}, "z"),
        ({"figures": ["speed"]}, "speed"),
        ({"resolution": 2}, "2"),
    ],
)
def test_what_there_is_none_of_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        compare([run("a"), run("b")], **words)
    assert said in caught.value.message
