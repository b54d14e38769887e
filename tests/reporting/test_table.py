"""Tables of text: aligned, grouped by access class, unknown never 0."""

from __future__ import annotations

import pytest

from loadline.reporting.table import UNKNOWN, Group, Table, count, milliseconds, results_table
from loadline.result.schema import Flow, Result


def result(point: str, access: str, **more: object) -> Result:
    flow = Flow(iops=1234.6, bytes_per_s=5e6, latency_mean_ns=2.5e6, latency_p99_ns=1_000_000_000)
    fields: dict[str, object] = {"total": flow, "read": flow, "access_class": access, **more}
    return Result(run="r", point=point, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"), [(None, UNKNOWN), (0, "0"), (1.234, "1.23"), (99.96, "100"), (17937.2, "17,937")]
)
def test_counts_have_three_digits_or_parted_thousands(value: float | None, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("value_ns", "text"), [(None, UNKNOWN), (2.5e6, "2.5"), (115_000, "0.115"), (1.2e9, "1,200"), (99_990_000, "100")]
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


def test_several_runs_get_a_column_of_their_own() -> None:
    one, other = result("p", "random"), Result(run="s", point="p", access_class="random")
    assert results_table([one]).heads[0] == "point"
    assert results_table([one, other]).heads[0] == "run"


def test_plain_text_is_aligned_and_markdown_keeps_its_bars() -> None:
    table = Table(("name", "n"), (Group("g", (("a|b", "1"), ("c", "22"))),))
    assert table.plain() == "name   n\ng:\na|b    1\nc     22\n"
    assert table.markdown() == "| name | n |\n| --- | ---: |\n| **g** |  |\n| a\\|b | 1 |\n| c | 22 |\n"


def test_no_results_make_an_empty_table() -> None:
    assert results_table([]).plain().startswith("point")
