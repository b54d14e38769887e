"""Charts over what was swept: the position on a target, a setting in numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from results import flow, measured, solved

from loadline.errors import InputError
from loadline.reporting.charts import position, setting
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.theme import LIGHT
from loadline.reporting.contents import Contents
from loadline.reporting.picture import picture
from loadline.result.schema import Flow, Result


def contents(rows: Sequence[Result]) -> Contents:
    return Contents("t", (), rows, ())


def dots(panel: Panel) -> list[tuple[str, str, float]]:
    return [(row["line"], row["said"], row["figure"]) for row in panel.data["points"]]


def places(*shares: float, random: float = 0.0, **changes: Any) -> list[Result]:
    """Points that begin at these shares of their target, the slower the further in."""

    def asked(share: float) -> dict[str, Any]:
        profile = {"read_fraction": 1.0, "random_fraction": random, "start_fraction": share}
        return {"profile": profile, "arrival": {"kind": "closed", "queue_depth": 2, "jobs": 1}}

    named = {"profile": "zone", "outstanding_asked": 2, **changes}
    return [measured(f"zone-at{100 * share:g}", 1e6 * (2 - share) / 8192, workload=asked(share), **named)
            for share in shares]  # fmt: skip


def drives(*numbers: int, **changes: Any) -> list[Result]:
    tags = changes.pop("tags", {})
    return [
        dataclasses.replace(solved("p", tags={"pool.drives": str(number), **tags}, **changes), total=flow(number, 5.0))
        for number in numbers
    ]


def test_a_sequential_load_at_three_places_is_drawn_in_bytes_over_them() -> None:
    (panel,) = position.draw(contents(places(0.5, 0.0, 0.95)), LIGHT)
    assert (panel.title, panel.note) == ("MB/s over position", "2 outstanding")
    assert dots(panel) == [("", "0%", 2.0), ("", "50%", 1.5), ("", "95%", pytest.approx(1.05))]
    assert position.draw(contents(places(0.0, 0.5)), LIGHT) == []


def test_the_begin_of_a_target_is_a_place_among_shares_and_among_sizes() -> None:
    begins = {size: {"random_fraction": 0.0, "start_bytes": size} for size in (10**9, 2 * 10**9)}
    sizes = [
        measured(f"zone-at{size}", workload={"profile": profile}, profile="zone", outstanding_asked=2)
        for size, profile in begins.items()
    ]
    of_shares, of_sizes = position.draw(contents([*places(0.0, 0.5, 0.95), *sizes]), LIGHT)
    assert [said for _, said, _ in dots(of_shares)] == ["0%", "50%", "95%"]
    assert [said for _, said, _ in dots(of_sizes)] == ["0 B", "1 GB", "2 GB"]


def test_a_random_load_over_position_is_drawn_in_ios() -> None:
    (panel,) = position.draw(contents(places(0.0, 0.5, 0.95, random=1.0)), LIGHT)
    assert panel.title == "IOPS over position"


def test_of_a_forecast_the_load_line_over_position_has_a_panel_of_its_own() -> None:
    rows = [
        row
        for changes in ({}, {"limit": "mean<=30ms", "outstanding_asked": 15}, {"role": "probe"})
        for row in places(0.0, 0.5, 0.95, origin="solved", **changes)
    ]
    panels = position.draw(contents(rows), LIGHT)
    assert [panel.note for panel in panels] == ["2 outstanding", "at the load line, mean<=30ms"]


def test_targets_and_what_else_is_asked_are_lines_over_position() -> None:
    two = [*places(0.0, 0.5, 0.95, target="/dev/sdx"), *places(0.0, 0.5, 0.95, target="/dev/sdy")]
    (panel,) = position.draw(contents(two), LIGHT)
    assert {line for line, *_ in dots(panel)} == {"/dev/sdx", "/dev/sdy"}
    mixed = [row for profile in ("zone", "other") for row in places(0.0, 0.5, 0.95, origin="solved", profile=profile)]
    (panel,) = position.draw(contents(mixed), LIGHT)
    assert {line for line, *_ in dots(panel)} == {"zone", "other"}


def test_a_place_that_failed_is_named_above_the_chart() -> None:
    rows = places(0.0, 0.5, 0.75, 0.95)
    rows[1] = dataclasses.replace(rows[1], error="the device went away", total=Flow())
    (panel,) = position.draw(contents(rows), LIGHT)
    assert panel.note == "2 outstanding; failed: zone-at50"
    assert [said for _, said, _ in dots(panel)] == ["0%", "75%", "95%"]


@pytest.mark.parametrize(("chart", "rows"), [("position", places(0.0, 0.5, 0.95)), ("setting", drives(4, 6, 8))])
def test_where_too_few_of_what_was_swept_have_answers_the_reason_is_answers(chart: str, rows: list[Result]) -> None:
    rows[1] = dataclasses.replace(rows[1], error="the device went away", total=Flow())
    with pytest.raises(InputError, match=r"has answers.* at three (places|numbers)"):
        picture(contents(rows), chart, None, as_svg=True)


def test_places_of_a_profile_are_what_a_picture_of_it_shows() -> None:
    assert b"MB/s over position" in picture(contents(places(0.0, 0.5, 0.95)), None, None, as_svg=True)


def test_the_load_line_over_a_setting_has_a_line_for_each_other_one() -> None:
    rows = [
        row
        for layout in ("vraid1", "vraid5")
        for changes in ({}, {"limit": "mean<=30ms"})
        for row in drives(336, 84, 168, tags={"volume.layout": layout}, **changes)
    ]
    (panel,) = setting.draw(contents(rows), LIGHT)
    assert (panel.title, panel.note) == ("Load line over pool.drives: p", "at the load line, mean<=30ms")
    assert dots(panel) == [
        (f"layout {layout}", str(number), number) for layout in ("vraid1", "vraid5") for number in (84, 168, 336)
    ]


def test_without_a_load_line_the_rate_of_what_was_asked_is_drawn_over_a_setting() -> None:
    (panel,) = setting.draw(contents(drives(4, 6, 8)), LIGHT)
    assert (panel.title, panel.note) == ("IOPS over pool.drives: p", "32 outstanding")


def test_two_numbers_and_words_are_no_sweep_of_a_setting() -> None:
    words = [solved("p", tags={"volume.layout": layout}) for layout in ("raid5", "raid6", "raid10")]
    assert setting.draw(contents([*drives(4, 6)]), LIGHT) == []
    assert setting.draw(contents(words), LIGHT) == []


def test_sizes_in_their_units_are_in_the_order_of_their_sizes_and_far_ones_on_a_logarithmic_axis() -> None:
    sizes = [solved("p", tags={"cache.read": size}) for size in ("1GiB", "512k", "64MiB")]
    (panel,) = setting.draw(contents(sizes), LIGHT)
    assert [said for _, said, _ in dots(panel)] == ["512k", "64MiB", "1GiB"]
    assert panel.spec(600)["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_of_many_values_of_a_setting_some_have_a_line_and_of_few_all() -> None:
    def lines(*numbers: int) -> list[float]:
        (panel,) = setting.draw(contents(drives(*numbers)), LIGHT)
        found: list[float] = panel.spec(600)["layer"][0]["encoding"]["x"]["axis"]["values"]
        return found

    assert lines(*range(2, 201)) == list(range(2, 201, 13))
    assert lines(4, 8, 16) == [4, 8, 16]


def test_tagged_runs_are_a_sweep_unless_two_have_the_same_tag() -> None:
    runs = [dataclasses.replace(measured("p", tags={"drives": str(n)}), run=f"r{n}") for n in (4, 6, 8)]
    (panel,) = setting.draw(contents(runs), LIGHT)
    assert dots(panel) == [("", str(n), 1000.0) for n in (4, 6, 8)]
    assert setting.draw(contents([*runs, dataclasses.replace(runs[0], run="r-again")]), LIGHT) == []


def test_parts_of_many_lines_over_a_setting_are_on_one_axis() -> None:
    rows = [
        dataclasses.replace(row, total=flow(number * row.total.iops, 5.0))
        for number, layout in enumerate(("vraid1", "vraid5"), 1)
        for read in ("1GiB", "2GiB", "4GiB", "none")
        for row in drives(84, 168, 336, tags={"volume.layout": layout, "cache.read": read})
    ]
    one, other = setting.draw(contents(rows), LIGHT)
    assert [panel.title[-15:] for panel in (one, other)] == [", layout vraid1", ", layout vraid5"]
    assert {line for line, *_ in dots(one)} == {"read 1GiB", "read 2GiB", "read 4GiB", "read none"}
    scales = [panel.spec(600)["layer"][0]["encoding"]["y"]["scale"] for panel in (one, other)]
    assert scales[0] == scales[1] and scales[0]["domain"] == [0, 672]
