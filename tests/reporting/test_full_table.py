"""The full table of a page: what is shown, how it is said, and the raw value beside it."""

from __future__ import annotations

import dataclasses

import pytest
from results import failed, measured, solved

from loadline.reporting.full_table import MAIN, full_table
from loadline.result.schema import COLUMNS


def test_the_point_comes_first_and_then_the_main_columns() -> None:
    heads, _ = full_table([measured("a", run="r")])
    main = [head.name for head in heads if head.main]
    assert main[0] == "point"
    assert main == [name for name in MAIN if name in main]


def test_the_run_is_a_main_column_only_where_there_are_several() -> None:
    for runs, shown in ((("r", "r"), False), (("r", "s"), True)):
        heads, _ = full_table([measured("a", run=run) for run in runs])
        assert [head.main for head in heads if head.name == "run"] == [shown]


@pytest.mark.parametrize(
    ("column", "unit", "said"),
    [
        ("bytes_per_s", "MB/s", "8.19"),
        ("latency_mean_ns", "ms", "2.00"),
        ("read_latency_p99_ns", "ms", "5.40"),
        ("cpu_fraction", "%", "25.0"),
        ("runtime_ns", "s", "300"),
        ("iops", "/s", "1,000"),
        ("outstanding_asked", "", "32"),
        ("quick", "", "no"),
        ("repeat", "", "1"),
    ],
)
def test_a_value_is_said_in_the_unit_of_its_head(column: str, unit: str, said: str) -> None:
    heads, (row,) = full_table([measured("a")])
    ((head, cell),) = [pair for pair in zip(heads, row.cells, strict=True) if pair[0].name == column]
    assert (head.unit, cell.said) == (unit, said)


def test_every_head_of_a_time_a_rate_or_a_share_has_its_unit() -> None:
    full = measured("a", offered_per_s=1.0, latency_mean_ci95_ns=1.0, iops_ci95=1.0, outstanding_achieved=1.0)
    heads, _ = full_table([full])
    bare = {head.name for head in heads if not head.unit and head.name.endswith(("_ns", "_per_s", "_fraction", "iops"))}
    assert not bare
    assert all("_" not in head.head for head in heads)


def test_a_column_of_which_nothing_is_known_is_left_out_and_a_gap_has_no_value() -> None:
    heads, (good, bad) = full_table([measured("good"), failed("bad")])
    names = [head.name for head in heads]
    assert "saturation_iops" not in names
    at = names.index("iops")
    assert (good.cells[at].raw, bad.cells[at].raw, bad.cells[at].said) == ("1000.0", None, "–")


def test_failed_and_quick_rows_are_marked_and_named_so() -> None:
    _, (quick, bad) = full_table([measured("a", quick=True), failed("b")])
    assert (quick.quick, quick.failed, quick.cells[0].said) == (True, False, "a*")
    assert (bad.quick, bad.failed, bad.cells[0].said) == (False, True, "b (failed)")


def test_what_a_failed_row_saw_before_its_failure_is_no_figure_of_it() -> None:
    heads, (bad, _) = full_table([measured("a", error="the device went away", iops_ci95=1.0), measured("b")])
    cells = {head.name: cell for head, cell in zip(heads, bad.cells, strict=True)}
    assert {cells[name].raw for name in ("iops", "latency_mean_ns", "cpu_fraction")} == {None}
    assert cells["error"].said == "the device went away"


def test_a_half_width_beyond_its_figure_is_said_to_be_just_that() -> None:
    heads, (wide, narrow) = full_table([measured("a", iops_ci95=5060.0), measured("b", iops_ci95=12.0)])
    at = [head.name for head in heads].index("iops_ci95")
    assert (wide.cells[at].said, wide.cells[at].raw, narrow.cells[at].said) == (">1,000", "5060.0", "12.0")


def test_maps_are_said_in_words_and_kept_as_json() -> None:
    heads, (row,) = full_table([solved("a", {"disks": 0.5, "bus": 0.25}, tags={"raid": "10"})])
    cells = {head.name: cell for head, cell in zip(heads, row.cells, strict=True)}
    assert (cells["components"].said, cells["components"].raw) == (
        "disks 0.500, bus 0.250",
        '{"disks": 0.5, "bus": 0.25}',
    )
    assert cells["tags"].said == "raid 10"


def test_every_column_but_what_each_point_tells_can_stand_in_the_table() -> None:
    values = {"VARCHAR": "x", "BIGINT": 1, "DOUBLE": 1.0, "BOOLEAN": True, "JSON": [{"a": 1}]}
    plain = {
        column.attribute: values.get(column.type, {"a": "b"} if column.name == "tags" else {"a": 1.0})
        for column in COLUMNS
        if column.flow is None and column.name != "error"
    }
    heads, _ = full_table([dataclasses.replace(measured("p"), **plain, error=None), failed("q")])
    shown = {head.name for head in heads}
    left_out = {column.name for column in COLUMNS if column.flow is None} - shown
    assert left_out == {"workload", "findings", "provenance"}


def test_rows_that_are_compared_have_their_side_behind_their_point() -> None:
    heads, rows = full_table([measured("a"), measured("a")], ["old", "new"])
    assert [head.name for head in heads[:2]] == ["point", "side"]
    assert [row.cells[1].said for row in rows] == ["old", "new"]


def test_figures_come_before_what_a_row_comes_from() -> None:
    heads, _ = full_table([measured("a", run="r", tags={"a": "b"}), measured("a", run="s", target="/dev/sdy")])
    main = [head.name for head in heads if head.main]
    assert main[:3] == ["point", "iops", "bytes_per_s"]
    assert main[-3:] == ["target", "tags", "run"]


def test_what_all_rows_were_asked_for_alike_is_no_main_column() -> None:
    for depths, shown in (((32, 32), False), ((1, 32), True), ((32,), True)):
        heads, _ = full_table([measured("a", outstanding_asked=depth) for depth in depths])
        assert [head.main for head in heads if head.name == "outstanding_asked"] == [shown]


def test_ids_of_runs_are_cut_to_what_tells_them_apart_and_kept_whole_beside_it() -> None:
    runs = ("20260101-120000-typical-12-disk", "20260101-130000-typical-12-emulated-dl360")
    heads, rows = full_table([measured("a", run=run) for run in runs], runs)
    assert [(row.cells[1].said, row.cells[1].raw, row.cells[1].whole) for row in rows] == [
        ("disk", runs[0], runs[0]),
        ("emulated-dl360", runs[1], runs[1]),
    ]
    assert "run" not in {head.name for head in heads if head.main}
