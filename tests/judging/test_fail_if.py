"""Thresholds: how they are read, where they hold, and what CI servers are told."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest
from judging.test_compare import run
from results import failed

from loadline import compare
from loadline.errors import InputError
from loadline.judging.compare import Comparison
from loadline.judging.fail_if import judge_thresholds, parse_threshold
from loadline.judging.matching import Source
from loadline.reporting.compare_table import comparison_table
from loadline.reporting.junit import junit
from loadline.result.schema import Flow


def states(comparison: Comparison, *texts: str) -> list[str]:
    return [one.state for one in judge_thresholds(comparison, [parse_threshold(text) for text in texts])]


@pytest.mark.parametrize(
    ("text", "figure", "bound", "relative"),
    [
        ("oltp-db.iops < 0.95 * baseline", "iops", 0.95, True),
        ("oltp-db.iops<baseline*0.95", "iops", 0.95, True),
        ("*.p99 >= 110% of baseline", "latency_p99_ns", 1.1, True),
        ("a.b.iops < baseline", "iops", 1.0, True),
        ("p.read_p99 > 5ms", "read_latency_p99_ns", 5e6, False),
        ("p.bandwidth < 1.2GB/s", "bytes_per_s", 1.2e9, False),
        ("p.iops < 20k/s", "iops", 20e3, False),
    ],
)
def test_a_threshold_says_figure_and_bound(text: str, figure: str, bound: float, relative: bool) -> None:
    found = parse_threshold(text)
    assert (found.figure.name, found.relative) == (figure, relative)
    assert found.bound == pytest.approx(bound)
    assert found.above == (">" in text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no < or >"),
        ("oltp-db.iops", "no < or >"),
        ("oltp-db.iops < ", "character 15"),
        ("iops < 5", "POINT.FIGURE"),
        ("p.speed < 5", "character 3"),
        ("p.iops == 5", "character 8"),
        ("p.latency > 5", "no unit of time"),
        ("p.iops < 5ms", "character 9"),
        ("p.iops < 0 * baseline", "above 0"),
        ("p.iops < 2 * 3 * baseline", "no factor"),
        ("p.iops < baseline - 5", "no factor"),
        ("1 < p.iops < 2", "several signs"),
    ],
)
def test_what_is_no_threshold_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_threshold(text)
    assert said in caught.value.message
    assert caught.value.remedy


def test_a_threshold_fails_only_where_it_is_sure() -> None:
    by_much, by_little = compare([run("a"), run("b", 900.0)]), compare([run("a", ci95=20), run("b", 949.0, ci95=20)])
    assert states(by_much, "oltp-db.iops < 0.95 * baseline") == ["fails"]
    assert states(by_little, "oltp-db.iops < 0.95 * baseline") == ["unsure"]
    assert states(by_much, "oltp-db.iops < 0.85 * baseline") == ["passes"]


def test_a_fixed_bound_is_for_every_side_but_the_baseline() -> None:
    found = compare([run("a", 500.0), run("b", 900.0), run("c", 1500.0)])
    assert states(found, "oltp-db.iops < 1k/s") == ["fails", "passes"]


def test_a_figure_of_unknown_error_counts_as_it_stands() -> None:
    found = compare([run("a", ci95=None), run("b", 800.0, ci95=None)])
    assert states(found, "*.iops < 0.95 * baseline", "*.iops < 0.7 * baseline") == ["fails", "passes"]


@pytest.mark.parametrize("changes", [{"steady": False}, {"quick": True}, {"iops_ci95": 400.0}])
def test_one_run_that_is_no_measurement_fails_no_threshold(changes: dict[str, Any]) -> None:
    assert states(compare([run("a"), run("b", 500.0, **changes)]), "*.iops < baseline") == ["unsure"]


def test_a_point_that_failed_or_is_not_there_can_not_pass() -> None:
    lost = replace(failed("oltp-db"), run="b", workload=run("b").rows[0].workload, outstanding_asked=32)
    assert states(compare([run("a"), Source("b", (lost,))]), "oltp-db.iops < 0.5 * baseline") == ["missing"]
    other = run("b", point="other", profile="other")
    assert states(compare([run("a"), other]), "oltp-db.iops < 0.5 * baseline") == ["missing"]


def test_a_threshold_of_no_point_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as caught:
        states(compare([run("a"), run("b")]), "oltp.iops < 5")
    assert "oltp-db" in caught.value.remedy


def test_junit_has_a_case_a_cell_and_of_thresholds_a_case_a_point() -> None:
    found = compare([run("a"), run("b", 900.0), run("c\x01<&")], figures=["iops", "p99"])
    cells = ET.fromstring(junit(found))
    assert [len(case.findall("failure")) for case in cells.iter("testcase")] == [1, 0, 0, 0]
    assert [len(case.findall("skipped")) for case in cells.iter("testcase")] == [0, 0, 1, 1]
    assert (cells.get("tests"), cells.get("failures"), cells.get("skipped")) == ("4", "1", "2")
    tried = judge_thresholds(found, [parse_threshold("*.iops < 0.95 * baseline")])
    cases = list(ET.fromstring(junit(found, tried)).iter("testcase"))
    assert [(case.get("classname"), len(case)) for case in cases] == [("b", 1), ("c?<&", 1)]
    assert cases[0].find("failure") is not None


def test_a_profile_stands_for_its_load_line_where_the_figure_is_the_lines() -> None:
    def side(name: str, load: int) -> Source:
        line = {
            "limit": "mean<=3ms",
            "outstanding_asked": load,
            "provenance": {"load_line": {"low": load, "high": load}},
        }
        return Source(name, (*run(name).rows, *run(name, **line).rows))

    found = compare([side("a", 40), side("b", 20)])
    assert states(found, "oltp-db.load < 0.9 * baseline") == ["fails"]


def test_a_fixed_bound_is_judged_where_the_baseline_has_no_such_point() -> None:
    new = Source("b", (*run("b").rows, *run("b", 10.0, None, point="other", outstanding_asked=8).rows))
    found = compare([run("a"), new])
    assert states(found, "other.iops < 1k/s", "other.iops < 5", "other.iops < baseline") == [
        "fails",
        "passes",
        "missing",
    ]


def test_a_rate_of_nothing_is_known_and_below_every_bound() -> None:
    found = compare([run("a"), run("b", total=Flow(iops=0.0))])
    assert states(found, "*.iops < 1k/s", "*.iops < 0.5 * baseline", "*.iops > 1k/s") == ["fails", "fails", "passes"]
    assert "IOPS" in comparison_table(found).plain()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("*.iops < 0.9 * base", "0.95 * baseline"),
        ("*.IOPS < 5", "Did you mean 'iops'?"),
        ("*.read_P99 > 5ms", "Did you mean 'read_p99'?"),
        ("OLTP-db.iops < 5", "Did you mean 'oltp-db'?"),
    ],
)
def test_what_is_nearly_right_is_refused_with_what_was_meant(text: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        states(compare([run("a"), run("b")]), text)
    assert hint in caught.value.remedy
