"""What is compared with what, and what is said of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from results import failed, flow, measured, run_of, solved

from loadline import audit, compare
from loadline.errors import InputError
from loadline.judging.cell import Cell
from loadline.judging.compare import Comparison, check_common
from loadline.judging.matching import Source, source_of
from loadline.judging.sources import sources_of
from loadline.reporting.compare_files import comparison_object
from loadline.reporting.compare_table import comparison_table, percent
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


def test_where_both_sides_are_quick_none_is_named_alone() -> None:
    quick = [run("a", quick=True), run("b", 2000.0, quick=True)]
    assert cell(compare(quick)).why.startswith("one quick run of each")
    assert cell(compare([run("a"), quick[1]])).why.startswith("one quick run of b")


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


ODD = {
    "a workload of text": {"workload": "4k"},
    "a profile of text": {"workload": {"profile": "x"}},
    "a block of text": {"workload": {"profile": {"block": "8k", "read_fraction": "70%"}}},
    "a block without size": {"workload": {"profile": {"block": [{"share": 1}]}}},
    "an interval of NaN": {"iops_ci95": float("nan")},
    "an interval of everything": {"iops_ci95": 1e300},
    "an interval below nothing": {"iops_ci95": -1.0},
    "a rate of NaN": {"total": Flow(iops=float("nan"))},
    "a rate of infinity": {"total": Flow(iops=float("inf"))},
    "no rate": {"total": Flow(iops=0.0)},
    "a rate below nothing": {"total": Flow(iops=-5.0)},
    "a rate beyond all ratios": {"total": Flow(iops=1e-320)},
    "no figures": {"total": Flow(), "read": Flow(), "write": Flow()},
    "odd provenance": {"limit": "x", "provenance": {"load_line": [1], "best": 5, "errors": [1], "replications": "x"}},
    "odd findings": {"findings": ({"severity": "error"}, {"x": 1})},
}


@pytest.mark.parametrize("changes", ODD.values(), ids=ODD.keys())
def test_whatever_stands_in_rows_comes_to_cells_that_json_holds(changes: dict[str, Any]) -> None:
    for other in (run("b"), run("b", **changes)):
        for origin in ("measured", "imported"):
            found = compare([run("a", origin=origin, **changes), other], figures=["iops", "read_p99", "load"])
            json.dumps(comparison_object(found), allow_nan=False)
            assert comparison_table(found).plain()


def test_points_that_the_baseline_does_not_have_are_said() -> None:
    found = compare([run("a", point="z", profile="z"), run("b"), run("c")])
    assert not found.cells
    assert any("oltp-db isn't compared" in note for note in found.notes)


def test_points_asked_alike_under_names_of_their_own_are_no_repetitions() -> None:
    rows = [run(side, iops, point=point).rows[0] for side in "ab" for point, iops in (("p", 1000), ("q", 500))]
    found = compare(rows, figures=["iops"])
    assert [(one.point, one.verdict, one.runs) for one in found.cells] == [("p", "same", 1), ("q", "same", 1)]


def test_of_repetitions_that_failed_the_others_count_and_it_is_said() -> None:
    kept = Source("b", (*run("b", 900.0).rows, *run("b", repeat=2, error="lost").rows))
    found = cell(compare([run("a"), kept]))
    assert (found.verdict, found.runs) == ("worse", 1)
    assert "1 of 2 runs of b failed" in found.why


def test_percentiles_within_a_bin_are_the_same() -> None:
    def side(name: str, *p99_ms: float) -> Source:
        rows = (run(name, repeat=n + 1).rows[0] for n in range(len(p99_ms)))
        flows = (replace(flow(1000, 2), latency_p99_ns=round(ms * 1e6)) for ms in p99_ms)
        return Source(name, tuple(replace(row, total=one) for row, one in zip(rows, flows, strict=True)))

    near = compare([side("a", 5.0, 5.0, 5.0), side("b", 5.07, 5.07, 5.07)], figures=["p99"], resolution=0.001)
    far = compare([side("a", 5.0, 5.0, 5.0), side("b", 5.30, 5.31, 5.30)], figures=["p99"], resolution=0.001)
    assert (cell(near, "latency_p99_ns").verdict, cell(far, "latency_p99_ns").verdict) == ("same", "worse")


def test_a_row_that_was_given_twice_is_no_repetition_of_itself() -> None:
    once, twice = run("a"), Source("a", run("a").rows * 2)
    one, other = (cell(compare([side, run("b", 990.0)])) for side in (once, twice))
    assert (one.low, one.high) == (other.low, other.high)
    assert other.baseline_runs == 1


def test_where_profiles_are_the_sides_no_point_has_the_name_of_one(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("system,profile,IOPS\nold,mail,100\nold,oltp,200\nnew,mail,110\nnew,oltp,190\n")
    found = compare(sources_of([str(table)]).sources, by="profile")
    assert [match.point for match in found.matches] == ["load, old", "load, new"]


def test_a_file_that_is_given_twice_is_said_to_be(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("profile,IOPS\np,100\n")
    one, other = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    (said,) = sources_of([one, other, str(tmp_path / "." / "a.csv")]).warnings
    assert "a.csv is given a second time" in said
    assert sources_of([one, other]).warnings == ()


def test_several_targets_together_are_no_target_beside_each() -> None:
    rows = [
        run("a", iops, target=target).rows[0] for target, iops in (("*", 1500), ("/dev/sdb", 1000), ("/dev/sdc", 500))
    ]
    found = compare(rows, by="target", figures=["iops"])
    assert [side.name for side in found.sides] == ["/dev/sdb", "/dev/sdc"]
    assert cell(found).ratio == pytest.approx(0.5)


def test_a_source_without_results_is_named() -> None:
    with pytest.raises(InputError, match="nothing-yet holds no results"):
        compare([run("a"), Source("nothing-yet", ())])


def test_large_changes_are_told_as_multiples_with_both_ends() -> None:
    (line,) = [
        line
        for line in comparison_table(compare([run("a"), run("b", 50_000.0)], figures=["iops"])).plain().split("\n")
        if "oltp-db" in line and "better" in line
    ]
    assert "50.0 x" in line
    assert re.search(r"\d+\.\d to \d+\.\d x", line)


def test_sides_that_do_not_fit_beside_each_other_have_a_row_each() -> None:
    found = compare([run(name) for name in ("a", "b" * 30, "c" * 30)], figures=["iops"])
    assert comparison_table(found, 100).heads[1:] == ("a", "b" * 30, "c" * 30)
    narrow = comparison_table(found, 60)
    assert narrow.heads[1] == "side"
    assert [row[1] for row in narrow.groups[0].rows] == ["b" * 30, "c" * 30]


def test_what_differs_between_sides_beside_what_makes_them_is_said() -> None:
    sides = [run(name, tags={"layout": layout}) for name, layout in (("a", "raid1"), ("b", "raid5"))]
    assert any(note.startswith("differs in: layout raid1 and raid5") for note in comparison_table(compare(sides)).notes)
    by = compare(sides, by="layout")
    assert not any(note.startswith("differs in") for note in comparison_table(by).notes)


def test_of_repetitions_the_table_says_what_mean_it_shows() -> None:
    several = Source("b", tuple(run("b", rate, repeat=n).rows[0] for n, rate in ((1, 900.0), (2, 1100.0))))
    for sides, found in (((run("a"), several), True), ((run("a"), run("b")), False)):
        notes = comparison_table(compare(list(sides))).notes
        assert any(note.startswith("of repetitions: geometric means") for note in notes) == found


def differing(*sides: Source, by: str | None = None) -> str | None:
    notes = comparison_table(compare(list(sides), by=by or ())).notes
    return next((note for note in notes if note.startswith("differs in")), None)


def test_what_one_side_alone_says_differs_from_what_is_described_or_is_not_said_by_the_other() -> None:
    plain, said = run("a"), run("b", tags={"layout": "raid1"})
    assert (differing(plain, said) or "").startswith("differs in: layout not said and raid1; the same target")
    described, small = (
        run(name, system="hdd-7k2", origin="simulated", target="", tags=tags)
        for name, tags in (("a", {}), ("b", {"volume.size": "10G"}))
    )
    found = "differs in: volume.size as described and 10G; the same system (hdd-7k2)"
    assert differing(described, small) == found
    # What one side varies was matched, and what makes the sides isn't beside it.
    assert differing(said, Source("c", (*run("c", tags={"layout": "raid1"}).rows, *plain.rows))) is None
    assert differing(run("a", tags={"x": "1"}), run("b", tags={"x": "2"}), by="x") is None


def test_how_much_of_its_target_a_run_used_differs(tmp_path: Path) -> None:
    sides = []
    for name, used_bytes in (("a", 4 << 30), ("b", 10 << 30)):
        target = {"path": "/dev/sdx", "used_bytes": used_bytes}
        kept = run_of(tmp_path, [run(name).rows[0]], target=target, suite={"name": name, "title": name})
        sides.append(source_of(kept))
    assert (differing(*sides) or "").startswith("differs in: size 4.29 GB and 10.7 GB")


@pytest.mark.parametrize(
    ("times", "said"), [(1.0, "+0.0"), (0.9999, "+0.0"), (0.9, "−10.0"), (1.176, "+17.6"), (12.0, "12.0 x")]
)
def test_changes_in_tables_have_one_zero_and_a_minus_sign(times: float, said: str) -> None:
    assert percent(times) == said


def at_depth(name: str, depth: int, **changes: Any) -> Source:
    return run(name, 1000.0 * depth, queue_depth=depth, outstanding_asked=depth, point=f"oltp-db-qd{depth}", **changes)


def test_runs_at_other_depths_are_compared_by_their_depth_and_the_refusal_says_so() -> None:
    sides = [at_depth("a", 1), at_depth("b", 2)]
    with pytest.raises(InputError) as refused:
        check_common(compare(sides))
    assert "--by queue_depth" in str(refused.value.remedy)
    found = compare(sides, by="queue_depth")
    assert [side.name for side in found.sides] == ["queue_depth=1", "queue_depth=2"]
    assert (cell(found).point, cell(found).ratio) == ("oltp-db", pytest.approx(2.0))


def test_sides_of_other_suites_are_not_said_to_differ_in_their_depth() -> None:
    other = Source("b", tuple(at_depth("b", depth, profile="mail").rows[0] for depth in (2, 4)))
    with pytest.raises(InputError, match="a has oltp-db-qd1; b has oltp-db-qd2, oltp-db-qd4") as refused:
        check_common(compare([at_depth("a", 1, profile="web"), other]))
    assert refused.value.remedy.startswith("No load is in both: compare runs of one suite")


def test_what_else_was_asked_is_still_matched_by_depth() -> None:
    other = at_depth("b", 2, profile="mail")
    assert not compare([at_depth("a", 1), other], by="queue_depth").matches


def test_a_search_was_asked_for_no_depth() -> None:
    found = compare([at_depth("a", 1), at_depth("b", 2), at_depth("c", 4, limit="mean<=30ms")], by="queue_depth")
    assert len(found.sides) == 2
    assert found.notes == ("1 of 3 rows don't say queue_depth and are left out",)


@pytest.mark.parametrize("judge", [audit, compare])
@pytest.mark.parametrize("given", ["results.json", Path("results.json"), [Path("a.json"), Path("b.json")], None])
def test_a_path_is_no_result(judge: Callable[[Any], object], given: object) -> None:
    with pytest.raises(InputError, match="is no result") as refused:
        judge(given)
    assert "import_results" in (refused.value.remedy or "")
