"""Tables of text: aligned, grouped by access class, unknown never 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from loadline.reporting.export import envelope
from loadline.reporting.model_table import models_table
from loadline.reporting.table import UNKNOWN, Group, Table, count, listed, milliseconds, results_table
from loadline.result.schema import Flow, Result


def result(point: str, access: str, **more: object) -> Result:
    flow = Flow(iops=1234.6, bytes_per_s=5e6, latency_mean_ns=2.5e6, latency_p99_ns=1_000_000_000)
    fields: dict[str, object] = {"total": flow, "read": flow, "access_class": access, **more}
    return Result(run="r", point=point, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, UNKNOWN),
        (float("nan"), UNKNOWN),
        (float("inf"), UNKNOWN),
        (0, "0"),
        (1.234, "1.23"),
        (3, "3.00"),
        (99.96, "100"),
        (999.6, "1,000"),
        (17937.2, "17,937"),
    ],
)
def test_counts_have_three_digits_or_parted_thousands(value: float | None, text: str) -> None:
    assert count(value) == text


def test_the_json_object_has_null_where_a_number_is_not_finite() -> None:
    body = envelope([result("a", "random", iops_ci95=float("nan"))], more=[{"ratio": float("inf")}])
    assert (body["results"][0]["iops_ci95"], body["more"]) == (None, [{"ratio": None}])
    json.dumps(body, allow_nan=False)


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (None, UNKNOWN),
        (2.5e6, "2.50"),
        (18_999_000, "19.0"),
        (30, "0.0000300"),
        (115_000, "0.115"),
        (1.2e9, "1,200"),
        (99_990_000, "100"),
    ],
)
def test_milliseconds_have_three_digits(value_ns: float | None, text: str) -> None:
    assert milliseconds(value_ns) == text


def test_rows_are_grouped_by_access_class_in_the_order_of_the_source() -> None:
    rows = [result(name, name) for name in ("sequential", "combined", "random")]
    assert [group.title for group in results_table(rows).groups] == ["random", "combined", "sequential"]


def test_a_failed_point_has_no_figures_and_its_error_below() -> None:
    table = results_table([Result(run="r", point="p", access_class="random", error="gone")])
    assert set(table.groups[0].rows[0][1:]) == {UNKNOWN}
    assert any("p" in note and "gone" in note for note in table.notes)


def test_a_quick_point_is_marked_and_the_mark_explained() -> None:
    table = results_table([result("p", "random", quick=True)])
    assert "p*" in table.groups[0].rows[0]
    assert any(note.startswith("* quick") for note in table.notes)


def finding(check: str, message: str) -> dict[str, object]:
    return {"check": check, "severity": "warning", "message": message, "numbers": {}, "remedy": "r"}


def test_findings_stand_below_a_line_a_check() -> None:
    cpu, flush = finding("load-generator", "CPU use is 0.93"), finding("flush", "the flush\nisn't in it")
    other = finding("load-generator", "CPU use is 0.97")
    table = results_table([result("a", "random", findings=(cpu, flush)), result("b", "random", findings=(other,))])
    assert table.notes == (
        "load-generator, a: CPU use is 0.93",
        "load-generator, b: CPU use is 0.97",
        "flush, a: the flush isn't in it",
    )
    assert table.notes[0] in table.plain()
    assert table.notes[1] in table.markdown()


def test_a_check_with_one_message_says_it_once() -> None:
    same = finding("open-load", "from submission")
    table = results_table([result(name, "random", findings=(same,)) for name in "abc"])
    assert table.notes == ("open-load, 3 points, a for one: from submission",)


def test_a_warning_about_one_point_is_not_told_of_those_that_have_a_note() -> None:
    notes = [{**finding("open-load", f"{n}% late"), "severity": "note"} for n in range(1, 6)]
    rows = [result(f"p{n}", "random", findings=(note,)) for n, note in enumerate(notes)]
    bad = result("bad", "random", findings=({**finding("open-load", "not an open load"), "severity": "warning"},))
    table = results_table([*rows, bad])
    assert table.notes == ("open-load, 5 points, p0 for one: 1% late", "open-load, bad: not an open load")


def test_sentences_that_differ_in_more_than_figures_are_told_apart() -> None:
    short_ = [finding("steady", f"it ran for {n} s") for n in range(1, 5)]
    rows = [result(f"p{n}", "random", findings=(note,)) for n, note in enumerate(short_)]
    table = results_table([*rows, result("few", "random", findings=(finding("steady", "9 I/Os in all"),))])
    assert table.notes == ("steady, 4 points, p0 for one: it ran for 1 s", "steady, few: 9 I/Os in all")


def test_twelve_profiles_swept_fit_80_columns() -> None:
    table = results_table([result("decision-support-system-db-qd32", "random", quick=True)])
    widths = table.fit(80)
    assert widths is not None
    assert widths[0] == len("decision-support-system-db-qd32*")


def test_only_words_are_parted_where_room_is_short() -> None:
    table = Table(("name", "block"), (Group("", (("a-long-name", "8k 85%, 64k 15%"),)),))
    assert table.fit(80) == (11, 15)
    assert table.fit(20) == (11, 7)
    assert table.fit(16) is None


def test_a_path_may_be_folded_but_no_name() -> None:
    table = Table(("run", "target"), (Group("", (("2026-run", "/a/path/of/many/letters"),)),), frozenset({0, 1}))
    assert table.fit(22) == (8, 12)
    assert table.fit(21) is None


def test_a_stacked_table_has_names_on_lines_of_their_own() -> None:
    table = Table(("name", "IOPS", "p99\nms"), (Group("g", (("a-long-name", "1", "22"),)),))
    assert table.stacked() == "        p99\n  IOPS   ms\ng:\na-long-name\n     1   22\n"


def test_several_runs_get_a_column_of_their_own() -> None:
    one, other = result("p", "random"), Result(run="s", point="p", access_class="random")
    assert results_table([one]).heads[0] == "point"
    assert results_table([one, other]).heads[0] == "run"


def test_rows_of_models_name_what_tells_them_apart() -> None:
    def solved(drives: str, system: str = "array") -> Result:
        tags = {"pool.drives": drives, "volume.layout": "raid5"}
        line = {"role": "point", "limit": "mean<=30ms", "outstanding_asked": 8}
        return result("p", "random", origin="solved", system=system, tags=tags, **line)

    table = results_table([solved("8"), solved("16")])
    assert table.heads[:2] == ("point", "pool.drives")
    assert [row[1] for row in table.groups[0].rows] == ["8", "16"]
    assert [note.partition(":")[0] for note in table.notes] == ["p, drives 8", "p, drives 16"]
    assert results_table([solved("8"), solved("8", "other")]).heads[:2] == ("point", "system")


def test_plain_text_is_aligned_and_markdown_keeps_its_bars() -> None:
    table = Table(("name", "n"), (Group("g", (("a|b", "1"), ("c", "22"))),))
    assert table.plain() == "name   n\ng:\na|b    1\nc     22\n"
    assert table.markdown() == "| name | n |\n| --- | ---: |\n| **g** |  |\n| a\\|b | 1 |\n| c | 22 |\n"


def test_no_results_make_an_empty_table() -> None:
    assert results_table([]).plain().startswith("point")


@pytest.mark.parametrize(
    ("load", "said"),
    [({"offered_per_s": 2000.0}, "1,000 I/Os a second"), ({"outstanding_asked": 2000}, "1,000 outstanding")],
)
def test_the_load_line_of_several_targets_is_told_for_each(load: dict[str, object], said: str) -> None:
    line = {"load_line": {"axis": "", "load": 1000, "next": 1010, "targets": 2}}
    (note,) = results_table([result("p", "random", limit="mean<=30ms", provenance=line, **load)]).notes
    assert note.startswith(f"p: {said} on each of 2 targets keep mean<=30ms (2.50 ms), 1,010")


@pytest.mark.parametrize(
    ("found", "limit", "said"),
    [
        ({"low": 20.9, "high": 63.01}, "mean<=30ms", "by the confidence of the probes it lies between 20 and 63 outs"),
        ({"low": 27.2, "high": 27.9}, "mean<=30ms", "by the confidence of the probes it is 27 outstanding, no other"),
        ({"low": 20.9, "high": None}, "mean<=30ms", "it is 20 outstanding at least; the other end they don't tell"),
        ({"low": None, "high": 63.0}, "mean<=30ms", "it is 63 outstanding at most; the other end they don't tell"),
        ({}, "mean<=30ms", "how sure that is isn't known: a probe was too short for an interval"),
        ({}, "p99<=30ms", "how sure that is isn't known: a probe was too short for an interval"),
        ({}, "max<=30ms of reads", "how sure that is isn't known: a maximum has no interval"),
    ],
)
def test_a_load_line_is_told_with_how_sure_it_is(found: dict[str, float], limit: str, said: str) -> None:
    line = {"load_line": {"axis": "outstanding", "load": 27, "next": 28, **found}}
    asked = result("p", "random", limit=limit, provenance=line, outstanding_asked=27)
    (note,) = results_table([asked]).notes
    there = {"mean": " (2.50 ms)", "p99<": " (1,000 ms)"}.get(limit[:4], "")
    assert said in note and f"keep {limit}{there}, 28 don't" in note
    solved = replace(asked, origin="solved")
    assert not found or said in results_table([solved]).notes[0]
    assert found or "sure" not in results_table([solved]).notes[0]


@pytest.mark.parametrize(
    ("limit", "half_ns", "said"),
    [
        ("mean<=30ms", None, "; how sure that is isn't known: a probe was too short for an interval"),
        ("mean<=30ms", 1e5, ""),
        ("max<=30ms", 1e5, "; how sure that is isn't known: a maximum has no interval"),
    ],
)
def test_a_limit_that_all_loads_keep_is_told_with_how_sure_it_is(limit: str, half_ns: float | None, said: str) -> None:
    line = {"load_line": {"axis": "outstanding", "load": 27, "next": None}}
    there = " (2.50 ms)" if limit.startswith("mean") else ""
    held = result("p", "random", limit=limit, provenance=line, outstanding_asked=27, latency_mean_ci95_ns=half_ns)
    assert results_table([held]).notes == (f"p: 27 outstanding keep {limit}{there}, and more wasn't tried{said}",)


def test_a_probe_is_not_told_as_a_load_line() -> None:
    probe = result("p-qd64", "random", role="probe", limit="mean<=1ms", outstanding_asked=64)
    assert results_table([probe]).notes == ()


def test_the_confidence_of_a_load_line_over_rates_is_one_of_rates() -> None:
    line = {"load_line": {"axis": "rate", "load": 800.0, "next": 810.0, "low": 751.5, "high": 853.2}}
    asked = result("p", "random", limit="mean<=30ms", provenance=line, offered_per_s=800.0)
    assert results_table([asked]).notes[0].endswith("it lies between 752 and 853 I/Os a second offered")


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ([805.0], "that 805 I/Os a second kept it, too, is luck by the curve through all probes"),
        ([790.0], "that 790 I/Os a second failed is luck by the curve through all probes"),
        (
            [780.0, 790.0, 805.0],
            "that 780 and 790 I/Os a second failed and 805 I/Os a second kept it, too, is luck"
            " by the curve through all probes",
        ),
    ],
)
def test_where_luck_decides_the_probes_that_would_have_the_load_line_elsewhere_are_told(
    against: list[float], said: str
) -> None:
    line = {"load_line": {"axis": "rate", "load": 800.0, "next": 810.0, "against": against}}
    row = result("p", "random", limit="mean<=30ms", provenance=line, offered_per_s=800.0, latency_mean_ci95_ns=1.0)
    assert f"800 I/Os a second keep mean<=30ms (2.50 ms), 810 don't; {said}" in results_table([row]).notes[0]
    assert f"p: {said}" in models_table([replace(row, origin="simulated")]).notes


@pytest.mark.parametrize(
    ("load", "legend"),
    [
        ({"outstanding_asked": 27}, "load line: the highest load that keeps mean<=30ms; `not` names the next one"),
        ({"offered_per_s": 27.0}, "IOPS at the load line: the highest load that keeps mean<=30ms"),
    ],
)
def test_the_legend_of_a_forecast_tells_of_the_next_load_only_where_one_is_shown(
    load: dict[str, object], legend: str
) -> None:
    line = {"load_line": {"axis": "", "load": 27, "next": 28}}
    row = result("p", "random", origin="solved", limit="mean<=30ms", provenance=line, **load)
    table = models_table([row])
    assert table.notes[0].startswith(legend)
    assert ("27, not 28" in table.groups[0].rows[0]) == ("`not`" in table.notes[0])


def test_a_point_without_a_load_line_is_told_apart_from_one_whose_search_has_no_answer() -> None:
    line, over = {"limit": "mean<=1ms", "role": "point"}, {"load_line": {"load": None, "kept": False}}
    rows = [
        result("held", "random", origin="solved", outstanding_asked=1),
        result("held", "random", origin="solved", outstanding_asked=9, **line),
        result("over", "random", origin="solved", outstanding_asked=1),
        result("over", "random", origin="solved", error="not even 1", provenance=over, **line),
        result("failed", "random", origin="solved", error="means only", **{**line, "limit": "p95<=1ms"}),
    ]
    table = models_table(rows)
    at = table.heads.index("at out-\nstanding")
    assert [(row[0], row[at]) for row in table.groups[0].rows] == [
        ("held", "9"), ("over (has no load line)", UNKNOWN), ("failed (failed)", UNKNOWN),
    ]  # fmt: skip
    assert table.notes[:2] == ("over has no load line: not even 1", "failed: means only")
    assert "load line: the highest load that keeps mean<=1ms (held and over), p95<=1ms (failed)" in table.notes


def test_loads_of_which_any_is_a_rate_are_no_outstanding_requests() -> None:
    rate = result("rate", "random", origin="solved", offered_per_s=30.0)
    closed = result("closed", "random", origin="solved", outstanding_asked=4)
    assert [row[1] for row in models_table([rate, closed]).groups[0].rows] == ["30.0/s", "4"]
    assert (models_table([rate, closed]).heads[1], models_table([closed]).heads[1]) == ("load", "out-\nstanding")


def test_control_characters_of_names_reach_no_table() -> None:
    table = Table(("a\x1bb",), (Group("t\r", (("p\n\x1b[31m",),)),), notes=("n\n\x07",))
    for text in (table.plain(), table.markdown(), table.stacked()):
        assert not set(text) & set("\x1b\r\x07")
    assert table.groups[0].rows == (("p  [31m",),)


def test_long_lists_of_names_are_cut_and_names_with_commas_parted_by_semicolons() -> None:
    assert listed(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert listed(["oltp, 84", "log"], 2) == "oltp, 84; log"
    assert listed(["databases and mail", "logs", "files"], 2) == "databases and mail; logs and 1 more"
    assert (listed(["a"], 2), listed(["a", "b", "c"], 3), listed([], 3)) == ("a", "a, b and c", "nothing")


def test_what_is_known_only_of_parts_or_only_of_all_has_its_columns() -> None:
    parts = result("a", "random", total=Flow(), read=Flow(iops=7_000.0, bytes_per_s=28e6))
    whole = result("b", "random", total=Flow(iops=5.0, bytes_per_s=2e6, latency_p99_ns=3_000_000), read=Flow())
    table = results_table([parts, whole])
    heads = [head.replace("\n", " ") for head in table.heads]
    of_parts, of_whole = (dict(zip(heads, row, strict=True)) for row in table.groups[0].rows)
    assert (of_parts["IOPS"], of_parts["read IOPS"], of_parts["read MB/s"]) == (UNKNOWN, "7,000", "28.0")
    assert of_whole["p99 ms"] == "3.00"
    assert "read IOPS" not in [head.replace("\n", " ") for head in results_table([whole]).heads]


def test_columns_of_reads_and_writes_go_where_only_the_whole_is_known() -> None:
    whole = Flow(iops=5.0, latency_mean_ns=2e6, latency_p99_ns=3_000_000)
    heads = results_table([result("a", "random", total=whole, read=Flow(), write=Flow())]).heads
    assert [head.replace("\n", " ") for head in heads] == ["point", "IOPS", "MB/s", "mean ms", "p99 ms"]
    unknown = results_table([result("a", "random", total=Flow(iops=5.0), read=Flow(), write=Flow())]).heads
    assert {"read\nms", "write\nms"} <= set(unknown)


@pytest.mark.parametrize("way", [Table.plain, Table.markdown])
def test_a_rate_that_is_known_to_less_than_itself_isnt_said_to_be_known(way: Callable[[Table], str]) -> None:
    rows = [result("a", "random", iops_ci95=6247.0), result("b", "random", iops_ci95=12.3)]
    said = way(results_table(rows))
    assert "506" not in said
    assert ">100" in said
    assert "1.0" in said
    assert "± >100 %: a: as uncertain as this the rate isn't known" in said


def test_a_failed_row_has_its_error_and_no_figures() -> None:
    rows = [result("a", "random", error="the device went away", iops_ci95=12.3), result("b", "random")]
    table = results_table(rows)
    (failed, good) = table.groups[0].rows
    assert set(failed[1:]) == {UNKNOWN}
    assert "1,235" in good
    assert "a failed: the device went away" in table.notes
