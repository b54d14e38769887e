"""Response against load: what gets the room, what lies beyond, and that no label lies on anything."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from results import flow, measured

from loadline.reporting.charts.labels import PICTURE, ROOMS, Box, Spot, anywhere, text_width
from loadline.reporting.charts.load import draw
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.paper import Paper, paper_for
from loadline.reporting.charts.theme import LIGHT
from loadline.reporting.contents import Contents
from loadline.result.schema import Result
from loadline.workload.profile import BlockShare, Closed, Distribution, Profile, Workload


def searched(pairs: Sequence[tuple[int, float, float]], at: int | None = None, **changes: Any) -> list[Result]:
    """Probes of (outstanding, IOPS, ms) for a mean of 30 ms at most; that of the number `at` is the load line."""
    rows = [
        measured(f"p-{n}", iops, ms, profile="p", outstanding_asked=n, role="probe", limit="mean<=30ms")
        for n, iops, ms in pairs
    ]
    rows = [dataclasses.replace(row, **changes) for row in rows]
    known = {"role": "point", "saturation_iops": max(iops for _, iops, _ in pairs), "saturation_outstanding": 512}
    return [dataclasses.replace(row, **known) if number == at else row for number, row in enumerate(rows)]


def panel_of(rows: Sequence[Result]) -> Panel:
    (panel,) = draw(Contents("t", (), rows, ()), LIGHT)
    return panel


def domain(panel: Panel, axis: str) -> tuple[float, float]:
    low, high = panel.spec(600)["layer"][0]["encoding"][axis]["scale"]["domain"]
    return low, high


HOCKEY = [(1, 180.0, 5.6), (64, 8600.0, 7.5), (256, 12500.0, 20.0), (387, 12900.0, 29.9), (388, 12905.0, 30.1)]


def test_answers_far_beyond_the_limit_leave_it_most_of_the_height_and_are_told() -> None:
    far = [(1024, 12910.0, 79.0), (65536, 12920.0, 5041.0)]
    panel = panel_of(searched([*HOCKEY, *far], at=3))
    assert 0.5 < 30 / domain(panel, "y")[1] < 0.7
    (mark,) = panel.data["beyond"]
    assert (mark["number"], mark["up"]) == ("2 beyond", True)
    assert mark["which"] == "1,024: 12,910 IOPS, 79 ms; 65,536: 12,920 IOPS, 5,041 ms"
    assert panel.note.endswith("beyond the chart: 1,024 outstanding at 79 ms, 65,536 at 5,041 ms")
    assert [row["load"] for row in panel.data["answers"] if row["beyond"]] == ["1,024", "65,536"]


def test_each_block_size_has_a_curve_of_its_own() -> None:
    rows = [
        dataclasses.replace(row, workload={"profile": {"block": [{"size_bytes": size, "share_fraction": 1.0}]}})
        for size, faster in ((4096, 4), (65536, 1))
        for row in searched([(n, faster * iops, ms / faster) for n, iops, ms in HOCKEY])
    ]
    answers = panel_of(rows).data["answers"]
    assert [row["source"] for row in answers] == ["4k"] * len(HOCKEY) + ["64k"] * len(HOCKEY)


def swept(
    profile: Profile, arrivals: Sequence[tuple[int, int]] = ((1, 1), (4, 1)), faster: float = 1.0
) -> list[Result]:
    """Points of a profile at some (queue depth, jobs)."""
    return [
        measured(
            f"p-qd{depth}-j{jobs}",
            faster * 100 * (depth + jobs / 10),
            5.0 * depth * jobs / faster,
            profile="p",
            workload=Workload(profile, Closed(depth, jobs)).to_json(),
            queue_depth=depth,
            jobs=jobs,
            outstanding_asked=depth * jobs,
        )
        for depth, jobs in arrivals
    ]


PROFILE = Profile("p", (BlockShare(8192, 1.0),), 0.7, 1.0, "random")

#: Another value of each parameter, and what the line is called then.
OTHERWISE: dict[str, tuple[Any, str]] = {
    "block": ((BlockShare(4096, 0.5), BlockShare(8192, 0.5)), "mixed blocks, 4k 50%/8k 50%"),
    "read_fraction": (0.5, "50% read"),
    "random_fraction": (0.5, "50% random"),
    "distribution": (Distribution("zipf", 1.2), "zipf 1.2"),
    "working_set_fraction": (0.1, "working set 10%"),
    "working_set_bytes": (10**10, "working set 10 GB"),
    "start_fraction": (0.9, "from 90% on"),
    "start_bytes": (10**9, "from 1 GB on"),
    "compressible_fraction": (0.5, "50% compressible"),
    "duplicate_fraction": (0.5, "50% duplicate"),
    "flush_every": (8, "a flush every 8 writes"),
    "dsync": (True, "dsync"),
    "think_time_ns": (10**6, "pauses of 1 ms"),
}


@pytest.mark.parametrize("key", OTHERWISE)
def test_whatever_else_is_asked_of_a_profile_makes_a_line_of_its_own_that_says_so(key: str) -> None:
    value, called = OTHERWISE[key]
    other: Profile = dataclasses.replace(PROFILE, **{key: value})
    answers = panel_of([*swept(PROFILE), *swept(other, faster=2)]).data["answers"]
    assert len(answers) == 4
    assert {row["source"] for row in answers[2:]} == {called}
    assert {row["source"] for row in answers[:2]} != {called}


def test_every_parameter_of_a_profile_is_told_apart() -> None:
    # A burst is that between pauses; the others say nothing of the load.
    known = {*OTHERWISE, "burst", "name", "access_class", "analysis"}
    assert {field.name for field in dataclasses.fields(Profile)} == known


def test_streams_in_order_have_a_line_for_each_number_of_them() -> None:
    grid = [(depth, jobs) for jobs in (1, 4) for depth in (1, 4, 16)]
    in_order = dataclasses.replace(PROFILE, random_fraction=0.0)
    answers = panel_of(swept(in_order, grid)).data["answers"]
    assert [(row["source"], row["load"]) for row in answers] == [
        *(("1 job", load) for load in ("1", "4", "16")),
        *(("4 jobs", load) for load in ("4", "16", "64")),
    ]
    # Where only their number is swept it is the load.
    panel = panel_of(swept(in_order, [(1, 1), (1, 2), (1, 4)]))
    assert [row["load"] for row in panel.data["answers"]] == ["1", "2", "4"]


def test_random_points_that_come_to_one_load_by_depth_and_by_jobs_are_all_dots_of_one_line() -> None:
    grid = [(depth, jobs) for jobs in (1, 4) for depth in (1, 4, 16)]
    answers = panel_of(swept(PROFILE, grid)).data["answers"]
    assert [row["load"] for row in answers] == ["1", "4", "4", "16", "16", "64"]
    assert len({row["source"] for row in answers}) == 1


def test_above_several_lines_stand_the_loads_that_all_have_and_the_numbers_of_knees_that_there_are() -> None:
    other = dataclasses.replace(PROFILE, start_fraction=0.9)
    assert panel_of([*swept(PROFILE), *swept(other)]).note == "dots along each line: 1 and 4 I/Os outstanding"
    assert panel_of([*swept(PROFILE), *swept(other, [(1, 1), (8, 1)])]).note == ""
    bent = [(depth, 1) for depth in (1, 2, 4, 8, 16)]
    rows = [
        dataclasses.replace(row, total=flow(1000 * n / (n + 3), n + 3))
        for profile in (PROFILE, other)
        for row in swept(profile, bent)
        for n in [row.outstanding_asked or 0]
    ]
    assert "; ◇ knee: from 0% on: ~500, from 90% on: ~500 IOPS, ~: about, by a curve" in panel_of(rows).note


def test_nothing_lies_beyond_where_nothing_is_far_or_nothing_is_asked() -> None:
    assert "beyond" not in panel_of(searched(HOCKEY, at=3)).data
    unasked = searched([*HOCKEY, (65536, 12920.0, 5041.0)], limit=None)
    assert "beyond" not in panel_of(unasked).data


def test_a_load_line_far_below_saturation_has_its_part_of_the_width() -> None:
    early = [(1, 180.0, 10.0), (2, 350.0, 29.0), (3, 500.0, 31.0), (512, 12900.0, 45.0)]
    panel = panel_of(searched(early, at=1))
    assert 0.25 < 350 / domain(panel, "x")[1] < 0.35
    (mark,) = panel.data["beyond"]
    assert (mark["number"], mark["up"]) == ("1 beyond", False)
    assert [mark["said"] for mark in panel.data["saturation"]] == ["highest rate seen 12,900 at 512 outstanding ▶"]


def test_a_search_that_finds_no_load_line_shows_its_limit_and_its_curve() -> None:
    panel = panel_of(searched([(1, 25.0, 40.0), (2, 49.0, 41.0), (512, 600.0, 850.0)]))
    assert [mark["said"] for mark in panel.data["limit"]] == ["limit mean<=30ms"]
    assert [row["load"] for row in panel.data["answers"] if not row["beyond"]] == ["1", "2"]


def test_the_response_is_logarithmic_where_the_way_to_the_limit_spans_much() -> None:
    fast = searched([(1, 11000.0, 0.09), (32, 220000.0, 0.15), (7900, 280000.0, 28.0), (9000, 280001.0, 32.0)], at=2)
    assert panel_of(fast).spec(600)["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"
    assert panel_of(searched(HOCKEY, at=3)).spec(600)["layer"][0]["encoding"]["y"]["scale"]["type"] == "linear"


def test_a_limit_on_a_percentile_is_drawn_over_that_percentile_and_else_said() -> None:
    # The 99th percentile of these rows is three times their mean.
    rows = searched(HOCKEY, at=2, limit="p99<=70ms")
    panel = panel_of(rows)
    assert panel.spec(600)["layer"][0]["encoding"]["y"]["title"] == "p99 response, ms"
    assert [mark["ms"] for mark in panel.data["limit"]] == [70.0]
    assert [mark["ms"] for mark in panel.data["line"]] == [60.0]
    unknown = dataclasses.replace(rows[0], total=dataclasses.replace(rows[0].total, latency_p99_ns=None))
    panel = panel_of([unknown, *rows[1:]])
    assert panel.spec(600)["layer"][0]["encoding"]["y"]["title"] == "mean response, ms"
    assert "limit" not in panel.data and "not drawn: limit p99<=70ms" in panel.note


def test_lines_without_room_for_their_names_are_named_above_and_not_told_as_beyond_the_chart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("loadline.reporting.charts.load.placed", lambda labels, *_: [None] * len(labels))
    told = panel_of(searched([*HOCKEY, (1024, 12910.0, 79.0)], at=3)).note.split("; ")
    assert {
        "load line 12,900 IOPS, 100% of the highest rate seen",
        "highest rate seen 12,910 at 512 outstanding",
    } <= set(told)
    assert told[-1] == "beyond the chart: 1,024 outstanding at 79 ms"


def test_where_several_curves_leave_no_room_their_load_lines_are_named_above() -> None:
    rows = [
        row
        for number in range(6)
        for row in searched([(n, iops - 60 * number, ms) for n, iops, ms in HOCKEY], at=3, system=f"s{number}")
    ]
    assert "s5: 12,600 IOPS" in panel_of(rows).note


def boxes(panel: Panel, width: float) -> list[Box]:
    """Where texts stand on a plot of that width, in pixels, found from what Vega is given."""
    room = sum(width >= low for low in ROOMS[1:])
    found = []
    for label in panel.data["labels"]:
        if label["room"] == room:
            x, y = pixel(panel, label["iops"], label["ms"], width)
            long = text_width(label["said"], label["size"], bold=label["bold"])
            left = x + label["dx"] - {"left": 0, "center": 0.5, "right": 1}[label["align"]] * long
            middle = y + label["dy"]
            found.append(Box(left, middle - label["size"] / 2, left + long, middle + label["size"] / 2))
    return found


def pixel(panel: Panel, iops: float, ms: float, width: float) -> tuple[float, float]:
    def part(axis: str, value: float) -> float:
        encoding = panel.spec(600)["layer"][0]["encoding"][axis]["scale"]
        low, high = encoding["domain"]
        return math.log(value / low) / math.log(high / low) if encoding["type"] == "log" else value / high

    return part("x", iops) * width, (1 - part("y", ms)) * panel.height


def offered(triples: Sequence[tuple[float, float, float]], at: int | None = None) -> list[Result]:
    """Probes of (offered a second, IOPS, ms) of a ramp over rates; more than 2 % missing piled up."""
    rows = searched([(number, iops, ms) for number, (_, iops, ms) in enumerate(triples)], at, outstanding_asked=None)
    return [
        dataclasses.replace(
            row,
            offered_per_s=rate,
            saturation_iops=row.saturation_iops and 1151.0,
            saturation_outstanding=row.saturation_outstanding and 128,
            provenance={"open": {"overloaded": iops < 0.98 * rate}},
        )
        for row, (rate, iops, _) in zip(rows, triples, strict=True)
    ]


NOISY = [
    (691.0, 695.0, 13.1),
    (880.0, 911.0, 25.0),
    (904.0, 902.0, 29.2),
    (907.0, 899.0, 31.0),
    (1100.0, 1030.0, 410.0),
]


def test_dots_of_offered_rates_say_the_rate_done_that_the_axis_shows() -> None:
    panel = panel_of(offered(NOISY, at=2))
    assert panel.data["answers"][0]["load"] == "691 offered"
    said = {label["said"] for label in panel.data["labels"] if label["quiet"]}
    assert "902 IOPS" in said and said <= {"695", "911", "902", "902 IOPS", "899"}
    assert panel.note.startswith("each dot is a load, numbered by I/Os done a second")
    assert panel.note.endswith("beyond the chart: 1,030 IOPS at 410 ms")
    assert panel.data["beyond"][0]["which"] == "1,100 offered: 1,030 IOPS, 410 ms"


def test_the_line_through_offered_rates_goes_right_until_they_pile_up() -> None:
    panel = panel_of(offered([*NOISY, (1200.0, 980.0, 900.0)], at=2))
    line = sorted(panel.data["answers"], key=lambda row: row["order"])
    assert [row["iops"] for row in line] == [695.0, 899.0, 902.0, 911.0, 980.0, 1030.0]


def test_a_load_line_at_the_highest_rate_is_named_on_a_wide_chart_though_lines_pass_it_on_all_sides() -> None:
    turned = [(8, 884.0, 9.06), (49, 1701.0, 29.1), (51, 1790.0, 28.8), (52, 1436.0, 36.5)]
    turned += [(56, 1598.0, 36.4), (64, 1687.0, 38.4), (104, 917.0, 117.0)]
    assert "load line 1,790, 100%" in {
        label["said"] for label in panel_of(searched(turned, at=2)).data["labels"] if label["room"] == len(ROOMS) - 1
    }


def test_where_dots_crowd_the_load_line_its_neighbours_and_the_highest_keep_their_numbers() -> None:
    crowd = [(80, 955.0, 28.0), (85, 956.0, 29.0), (86, 956.5, 29.9), (87, 957.0, 30.1), (88, 957.2, 30.6)]
    panel = panel_of(searched([(1, 180.0, 5.6), (64, 948.0, 17.0), *crowd, (100, 958.0, 34.0)], at=4))
    for room in range(len(ROOMS)):
        said = {label["said"] for label in panel.data["labels"] if label["room"] == room}
        assert {"85", "100"} <= said and said & {"86", "86 outstanding"}
        # On a phone not even the dot can be seen between its neighbours.
        assert "87" in said or "on narrow screens without their number: 64, 80, 87, 88" in panel.note.split("; ")
    assert "86 outstanding" in said
    # A picture's width is known, and it says of which dots it has no number, if of any.
    in_picture = {label["said"] for label in panel.data["labels"] if label["room"] == PICTURE}
    bare = [one for one in ("64", "80", "87", "88") if one not in in_picture]
    assert 0 < len(bare) < 4 and (panel.pictured or "").endswith(f"; without their number: {', '.join(bare)}")


@st.composite
def probes(draw: st.DrawFn) -> list[Result]:
    """Of one search: in a queue's order or not, with its load line among them or without."""
    loads = sorted(draw(st.sets(st.integers(1, 70_000), min_size=2, max_size=14)))
    if draw(st.booleans()):
        top, base = draw(st.floats(50, 1e6)), draw(st.floats(0.05, 50))
        pairs = [(n, n / (base + 1000 * n / top) * 1000, base + 1000 * n / top) for n in loads]
    else:
        figures = st.tuples(st.floats(10, 20_000), st.floats(0.1, 500))
        pairs = [(n, *draw(figures)) for n in loads]
    return searched(pairs, draw(st.one_of(st.none(), st.integers(0, len(loads) - 1))))


@settings(max_examples=60, deadline=None)
@given(probes(), st.floats(ROOMS[0], 1000))
def test_no_label_lies_on_another_on_a_line_or_a_mark_or_outside(rows: list[Result], width: float) -> None:
    panel = panel_of(rows)
    shown = boxes(panel, width)
    assert not any(one.meets(other) for one, other in combinations(shown, 2))
    assert all(box.left >= -0.5 and box.right <= width + 0.5 for box in shown)
    assert all(box.top >= 0 and box.bottom <= panel.height for box in shown)
    dots = [pixel(panel, row["iops"], row["ms"], width) for row in panel.data["answers"]]
    rules = [(0.0, y, width, y) for limit in panel.data.get("limit", ()) for _, y in [pixel(panel, 1, limit["ms"], 1)]]
    for box in shown:
        assert not any(box.crossed(*one, *other) for one, other in pairwise(dots))
        assert not any(box.crossed(*rule) for rule in rules)
        assert not any(box.left < x < box.right and box.top < y < box.bottom for x, y in dots)


@given(
    st.lists(st.tuples(st.floats(1, 1e6), st.floats(0.01, 1e5)), min_size=1, max_size=20),
    st.lists(st.floats(0.01, 1e3), max_size=2),
)
def test_every_answer_is_on_the_paper_or_in_one_stretch_beyond(
    places: list[tuple[float, float]], limits: list[float]
) -> None:
    paper: Paper = paper_for([places], limits)
    beyond = [number for leaving in paper.leaving(places) for number in leaving.beyond]
    assert beyond == [number for number, place in enumerate(places) if not paper.holds(place)]
    assert all(0 <= leaving.x <= 1 and 0 <= leaving.y <= 1 for leaving in paper.leaving(places))
    assert all(paper.y.at(limit) <= 1 for limit in limits)
    assert any(paper.holds(place) for place in places)


@pytest.mark.parametrize("height", [200.0, 320.0])
def test_spots_anywhere_lie_on_the_chart(height: float) -> None:
    spots: list[Spot] = anywhere(height)
    assert all(0 <= spot.x <= 1 and 0 < spot.y < height for spot in spots)


def test_a_number_stands_nearer_to_its_own_dot_than_to_a_ring_beside_it() -> None:
    """Of a search whose load line is at 10 outstanding, and 11 just beyond: 11 stood above the ring."""
    rows = searched([(2, 230.0, 12.0), (10, 601.0, 29.4), (11, 630.0, 31.3), (16, 732.0, 42.0)], at=1)
    panel = panel_of(rows)
    paper = paper_for(
        [[(row.total.iops or 0.0, (row.total.latency_mean_ns or 0.0) / 1e6) for row in rows]], [30.0], [732.0]
    )
    for room, low in enumerate(ROOMS):
        (label,) = [one for one in panel.data["labels"] if one["room"] == room and one["said"] == "11"]
        width = max(low, 300)
        at = {row["load"]: paper.at((row["iops"], row["ms"])) for row in panel.data["answers"]}
        x, y = paper.at((label["iops"], label["ms"]))
        left, down = x * width + label["dx"], (1 - y) * 320 + label["dy"]
        left += {"left": 6, "center": 0, "right": -6}[label["align"]]
        own, ring = (math.hypot(at[load][0] * width - left, (1 - at[load][1]) * 320 - down) for load in ("11", "10"))
        assert own < ring - 5


def test_a_load_line_where_the_curve_doubles_back_is_named_at_its_ring_or_above_the_chart() -> None:
    """It stood beside the dot of 256 outstanding."""
    curve = [(64, 5280.0, 12.1), (128, 5470.0, 23.4), (187, 6521.0, 28.7), (188, 6230.0, 30.2), (256, 6620.0, 38.6)]
    low = [(1, 940.0, 1.1), (2, 1869.0, 1.1), (8, 2300.0, 3.5), (16, 1870.0, 8.6), (32, 2374.0, 13.5)]
    panel = panel_of(searched([*low, *curve, (376, 6050.0, 62.0)], at=7))
    assert "load line 6,521 IOPS, 99% of the highest rate seen" in panel.note
    for room, width in enumerate(ROOMS):
        said = [label["said"] for label in panel.data["labels"] if label["room"] == room]
        for label, box in zip(said, boxes(panel, width), strict=True):
            if label.startswith("load line"):
                ring, dot = (box.off(*pixel(panel, *place, width)) for place in ((6521.0, 28.7), (6620.0, 38.6)))
                assert ring < 40 or ring < dot


def test_parts_of_many_curves_are_on_one_paper() -> None:
    rows = [
        row
        for drives in range(4, 36, 4)
        for row in searched([(n, drives * iops, ms) for n, iops, ms in HOCKEY], at=3, tags={"pool.drives": str(drives)})
    ]
    one, other = draw(Contents("t", (), rows, ()), LIGHT)
    assert (one.title[-8:], other.title[-8:]) == (", 1 to 4", ", 5 to 8")
    assert all(domain(one, axis) == domain(other, axis) for axis in "xy")


def test_a_dot_that_kept_the_limit_beyond_the_load_line_is_said_to_be_luck() -> None:
    rows = offered([*NOISY[:3], (907.0, 899.0, 28.0), (950.0, 940.0, 35.0), NOISY[4]], at=2)
    found = {"load": 904.0, "next": 950.0, "against": [907.0]}
    rows[2] = dataclasses.replace(rows[2], provenance={"load_line": found})
    assert "by luck on that side of the limit: 899;" in panel_of(rows).note
