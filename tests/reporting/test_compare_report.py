"""The report of a comparison: its charts, its sentences, and its files."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from results import measured

from loadline.errors import InputError
from loadline.judging.compare import compare
from loadline.judging.fail_if import judge_thresholds, parse_threshold
from loadline.judging.sources import sources_of
from loadline.reporting.charts import OF_COMPARISON
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.ratios import ratio_axis
from loadline.reporting.charts.theme import LIGHT
from loadline.reporting.compare_files import FORMATS, write
from loadline.reporting.compare_page import comparison_page
from loadline.reporting.compare_table import comparison_table
from loadline.reporting.compare_words import good_for, paragraphs, what_matters
from loadline.reporting.compared import Compared, compared_of
from loadline.reporting.effect_words import more
from loadline.reporting.report import Drawing
from loadline.result.schema import Flow, Result

TABLE = Path(__file__).parents[1] / "golden/published/two-systems.csv"
CHARTS = {chart.name: chart for chart in OF_COMPARISON}


def row(point: str, iops: float, **changes: object) -> Result:
    """A measurement of reads, known to 0.5 %."""
    known = {"iops_ci95": 0.005 * iops, "total": Flow(iops=iops, latency_mean_ns=32e9 / iops)}
    return replace(measured(point), read=Flow(), write=Flow(), **known, **changes)  # type: ignore[arg-type]


def matrix(**options: float) -> Compared:
    """A cache that gives 1.5 times, RAID 10 that gives 2 % more, and servers that are alike."""
    times = {"on": 1.5, "off": 1.0, "raid10": 1.02, "raid5": 1.0, "g6": 1.0, "g7": 1.0}
    rows = [
        row(
            point,
            rate * times[cache] * times[raid],
            access_class=access,
            tags={"cache": cache, "raid": raid},
            run=server,
        )
        for (point, rate, access), cache, raid, server in product(
            (("oltp", 900.0, "random"), ("log", 5000.0, "sequential")), ("off", "on"), ("raid5", "raid10"), ("g6", "g7")
        )
    ]
    return compared_of(compare(rows, by=("cache", "raid", "run"), **options))


def pair(iops: float = 1200.0, **changes: object) -> Compared:
    rows = [row("p", 1000.0, run="a"), row("p", iops, run="b", **changes)]
    return compared_of(compare(rows))


@pytest.fixture(scope="module")
def table() -> Compared:
    return compared_of(compare(sources_of([str(TABLE)]).sources, by="system"))


def titles(chart: str, compared: Compared) -> list[str]:
    return [panel.title for panel in CHARTS[chart].draw(compared, LIGHT)]


def test_sides_stand_beside_each_other_by_figure_and_class(table: Compared) -> None:
    assert titles("bars", table)[:3] == ["IOPS, random", "IOPS, sequential", "MB/s, sequential"]


def test_bars_have_the_interval_of_each_side() -> None:
    panel = next(panel for panel in CHARTS["bars"].draw(pair(), LIGHT) if panel.title.startswith("IOPS"))
    assert [value["side"] for value in panel.data["cells"]] == ["a", "b"]
    low, high = (panel.data["cells"][0][end] for end in ("low", "high"))
    assert (low, high) == (pytest.approx(995, abs=0.1), pytest.approx(1005, abs=0.1))


def test_changes_are_marked_by_their_verdict() -> None:
    panel = next(panel for panel in CHARTS["ratios"].draw(pair(), LIGHT) if panel.title == "Change of IOPS")
    (cell,) = panel.data["cells"]
    assert (cell["said"], cell["verdict"]) == ("+20 %", "better")


def test_lines_of_changes_keep_their_distance_and_no_change_is_always_among_them() -> None:
    for known in ([0.99, 1.02], [0.2, 1.1], [1.0, 400.0], [0.5, 13.0], [1.0]):
        values: Sequence[float] = ratio_axis(known)["values"]
        assert 1.0 in values
        assert 1 <= len(values) <= 9


def test_curves_of_sides_lie_over_each_other() -> None:
    rows = [
        row(f"p-qd{depth}", rate * times, run=run, profile="p", outstanding_asked=depth)
        for run, times in (("a", 1.0), ("b", 1.2))
        for depth, rate in ((1, 100.0), (8, 500.0))
    ]
    workload = {"profile": {}, "arrival": {}}
    rows = [replace(one, workload={**workload, "arrival": {"queue_depth": one.outstanding_asked}}) for one in rows]
    (panel,) = CHARTS["curves"].draw(compared_of(compare(rows)), LIGHT)
    assert {value["source"] for value in panel.data["answers"]} == {"a", "b"}
    assert titles("curves", pair()) == []


def test_main_effects_stand_over_their_lowest_level_the_one_that_matters_most_first() -> None:
    panels: list[Panel] = CHARTS["effects"].draw(matrix(), LIGHT)
    assert [panel.title for panel in panels][:2] == ["Main effects on IOPS", "Main effects on IOPS, random"]
    levels = [(level["factor"], level["said"]) for level in panels[0].data["levels"]]
    assert levels == [
        *(("cache", "±0 %"), ("cache", "+50 %")),
        *(("raid", "±0 %"), ("raid", "+2 %")),
        *(("run", "±0 %"), ("run", "±0 %")),
    ]


def test_what_matters_is_said_with_its_numbers_and_what_does_not_too() -> None:
    cache, raid, run = what_matters(matrix())["IOPS"]
    assert cache.startswith("cache matters most (100 % of what differs): on has 50 % more IOPS than off (95 % interval")
    assert "By class: random +50 %, sequential +50 %." in cache
    assert raid.startswith("raid (under 1 % of what differs): raid10 has 2 % more IOPS than raid5")
    assert run.startswith("run does nothing")


def test_in_short_only_settings_are_named_that_do_more_than_the_resolution() -> None:
    for compared, named in ((matrix(), ["cache +50 %, raid +2 %."]), (matrix(resolution=0.05), ["cache +50 %."])):
        short = next(one.sentences for one in paragraphs(compared) if one.head == "In short")
        assert [said.partition("lowest: ")[2] for said in short if said.startswith("IOPS, each")] == named


def test_a_forecast_is_higher_or_lower_than_what_was_measured_and_not_worse() -> None:
    rows = [row("p", 1000.0), row("p", 800.0, origin="solved", system="s")]
    compared = compared_of(compare(rows, by="origin"))
    text = comparison_table(compared.comparison).markdown()
    assert "▼ lower" in text
    assert "against measured: 1 lower, 1 can't be told" in text
    said = " ".join(sentence for paragraph in paragraphs(compared) for sentence in paragraph.sentences)
    assert "IOPS, solved: lower at 1: −20 % (p)" in said
    (panel, *_) = CHARTS["ratios"].draw(compared, LIGHT)
    assert [value["verdict"] for value in panel.data["cells"]] == ["lower"]
    files = [FORMATS[ending](compared, Drawing()).decode() for ending in (".csv", ".json", ".xml", ".md")]
    assert all("lower" in file for file in files)
    assert not re.search("better|worse|<failure", "".join([text, said, json.dumps(panel.spec(400)), *files]))


def test_of_a_single_setting_no_rank_and_no_share_is_said() -> None:
    comparison = compare([row("p", 1000.0, tags={"raid": "5"}), row("p", 1200.0, tags={"raid": "10"})], by="raid")
    (sentence,) = what_matters(compared_of(comparison))["IOPS"]
    assert sentence.startswith("raid: 10 has 20 % more IOPS than 5 (95 %")


def test_the_short_answer_leaves_out_what_may_be_chance() -> None:
    short = next(paragraph for paragraph in paragraphs(matrix()) if paragraph.head == "In short")
    (effects,) = [said for said in short.sentences if said.startswith("IOPS, each")]
    assert "cache +50 %" in effects
    assert "run" not in effects


def test_settings_that_were_changed_together_have_no_effect_to_be_unsure_of() -> None:
    rows = [
        row("p", rate, repeat=n, tags={"raid": raid, "disks": disks})
        for raid, disks, middle in (("5", "a", 100.0), ("10", "b", 150.0))
        for n, rate in enumerate((middle, middle + 1))
    ]
    said = what_matters(compared_of(compare(rows, by=("raid", "disks"))))["IOPS"]
    assert any("changed together" in sentence for sentence in said)
    assert not any("nobody can tell" in sentence for sentence in said)


@pytest.mark.parametrize("by", ["profile", "origin"])
def test_nobody_chooses_between_workloads_or_between_a_forecast_and_its_measurement(by: str) -> None:
    sides = {"profile": ({"profile": "a"}, {"profile": "b"}), "origin": ({}, {"origin": "solved"})}[by]
    rows = [row("p", rate, system=side, **changes) for rate, side, changes in zip((1e3, 2e3), "xy", sides, strict=True)]
    compared = compared_of(compare(rows, by=by))
    assert compared.claims
    assert good_for(compared) == {}


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1.0, "±0 %"), (1.004, "+0.4 %"), (1.41, "+41 %"), (2.4, "2.40 times"), (0.5, "−50 %"), (0.0021, "−99.8 %")],
)
def test_ratios_are_said_as_changes_and_from_twice_on_as_times(ratio: float, said: str) -> None:
    assert more(ratio) == said


def test_what_a_system_is_good_for_is_said_with_both_numbers_and_with_what_the_audit_doubts(table: Compared) -> None:
    said = good_for(table)
    assert any(
        "mostly read: 4k random read, 200,000 IOPS against 400,000 of Engine N2 (−50 %), mean latency 1.28 ms" in one
        for one in said["Vostok 2-E12"]
    )
    assert any("4k sequential read the audit finds what cannot be (littles-law)" in one for one in said["Engine N2"])


def test_of_two_states_of_one_target_nobody_asks_what_they_are_good_for() -> None:
    assert good_for(pair()) == {}


def test_findings_stand_on_top_then_what_is_compared_then_the_short_answer(table: Compared) -> None:
    heads = [paragraph.head for paragraph in paragraphs(table)]
    assert heads[:3] == ["Audit", "What", "In short"]
    assert paragraphs(table)[0].grave
    assert "IOPS, b: better at 1: +20 % (p)." in paragraphs(pair())[1].sentences


def test_what_cannot_be_told_says_how_much_longer_to_run() -> None:
    said = {paragraph.head: paragraph.sentences for paragraph in paragraphs(pair(1008.0))}["What can't be told"]
    assert any("could be told by running" in sentence for sentence in said)


def test_files_hold_the_conclusions(tmp_path: Path) -> None:
    text = write(matrix(), tmp_path / "c.md").read_text()
    assert "## What matters for IOPS" in text
    assert "| cache | on | off | 1.50 |" in text
    found = json.loads(write(matrix(), tmp_path / "c.json").read_text())
    first = found["conclusions"]["effects"][0]["factors"][0]
    assert (first["factor"], first["contrasts"][0]["ratio"]) == ("cache", pytest.approx(1.5))


def test_the_page_has_what_thresholds_came_to_and_its_command_as_a_shell_takes_it() -> None:
    comparison = pair(800.0).comparison
    tried = judge_thresholds(comparison, [parse_threshold("*.iops < 0.95 * baseline")])
    command = ("loadline", "compare", "a b.json", "--fail-if", "*.iops < 0.95 * baseline")
    page = html.unescape(comparison_page(compared_of(comparison, tried, command=command)))
    assert "*.iops < 0.95 * baseline: fails at p of b" in page
    assert "loadline compare 'a b.json' --fail-if '*.iops < 0.95 * baseline'" in page


def test_pictures_are_of_a_chart_by_its_name(tmp_path: Path) -> None:
    assert "Main effects" in write(matrix(), tmp_path / "c.svg", Drawing("effects")).read_text()
    with pytest.raises(InputError, match="no chart 'load' of a comparison") as refused:
        write(matrix(), tmp_path / "c.png", Drawing("load"))
    assert refused.value.remedy == "Charts: bars, ratios, curves, effects."
    with pytest.raises(InputError, match="no two sides answered"):
        write(matrix(), tmp_path / "c.png", Drawing("curves"))
    with pytest.raises(InputError, match="for pictures only"):
        write(matrix(), tmp_path / "c.html", Drawing("effects"))


def test_values_of_csv_are_without_the_noise_of_their_last_bit(tmp_path: Path) -> None:
    said = write(pair(389_999.999_999_999_94), tmp_path / "c.csv").read_text()
    assert "390000.0," in said and "389999.99" not in said


def test_many_sides_are_told_by_their_values_in_charts_and_parted_in_titles() -> None:
    tags = [{"layout": layout, "drives": drives} for layout, drives in (("r1", "84"), ("r1", "168"), ("r5", "84"))]
    rows = [row("p", 1000.0 + 100 * number, tags=one) for number, one in enumerate(tags)]
    compared = compared_of(compare(rows, by=("layout", "drives")))
    assert compared.title == "layout=r1, drives=168; layout=r5, drives=84 against layout=r1, drives=84"
    (panel, *_) = CHARTS["ratios"].draw(compared, LIGHT)
    assert [cell["name"] for cell in panel.data["cells"]] == ["p · r1, 168", "p · r5, 84"]
