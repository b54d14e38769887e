"""Charts: which panels which results make, and words where there is nothing to be drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import altair as alt
import pytest
from results import failed, measured, run_of, solved

from loadline.reporting.charts import NAMES, OF_ALL, OF_POINT
from loadline.reporting.charts.frame import far, names, parted, scale
from loadline.reporting.charts.panel import Panel, looks
from loadline.reporting.charts.theme import DARK, LIGHT, Palette
from loadline.reporting.contents import Contents
from loadline.reporting.detail import Detail, details
from loadline.reporting.picture import picture
from loadline.result.schema import Flow, Result

CHARTS = {chart.name: chart for chart in OF_ALL}


def panels(chart: str, results: Sequence[Result]) -> list[Panel]:
    return CHARTS[chart].draw(Contents("t", (), results, ()), LIGHT)


def titles(chart: str, results: Sequence[Result]) -> list[str]:
    return [panel.title for panel in panels(chart, results)]


def of_sizes(*sizes: int, random: float = 1.0) -> list[Result]:
    def asked(size: int) -> dict[str, object]:
        profile = {"block": [{"size_bytes": size}], "read_fraction": 0.7, "random_fraction": random}
        return {"profile": profile}

    return [measured(f"b{size}", workload=asked(size)) for size in sizes]


def of_depths(*depths: int, **changes: object) -> list[Result]:
    return [
        measured(f"d{depth}", 100.0 * depth, 1.0 + depth, profile="p", outstanding_asked=depth, **changes)
        for depth in depths
    ]


@pytest.mark.parametrize("chart", [*OF_ALL, *OF_POINT], ids=lambda chart: chart.name)
def test_of_nothing_no_chart_is_drawn_and_all_say_what_they_lack(chart: object) -> None:
    nothing = Contents("t", (), [failed("gone")], ()) if chart in OF_ALL else Detail()
    assert chart.draw(nothing, LIGHT) == []  # type: ignore[attr-defined]
    assert chart.lacks  # type: ignore[attr-defined]


def test_names_on_the_command_line_are_those_of_the_charts() -> None:
    of_all = ("position", "setting", "load", "iops", "latency", "block-size", "components", "utilisation")
    assert (*of_all, "over-time", "distribution") == NAMES


def test_iops_and_latency_have_a_panel_a_class_in_the_house_order() -> None:
    rows = [measured("s", access_class="sequential"), measured("c", access_class="combined"), measured("r")]
    assert titles("iops", rows) == ["IOPS, random", "IOPS, combined", "IOPS, sequential"]
    assert titles("latency", rows)[:2] == ["Read latency, random", "Write latency, random"]


def test_reads_alone_have_no_panel_of_writes() -> None:
    assert titles("latency", [measured("reads", write=Flow())]) == ["Read latency, random"]


def test_a_failed_point_keeps_its_row_among_the_rates() -> None:
    (panel,) = panels("iops", [measured("good"), failed("gone")])
    assert [row["name"] for row in panel.data["points"]] == ["good"]
    assert panel.data["failed"] == [{"name": "gone", "fate": "failed"}]


def test_a_profile_at_two_loads_is_a_curve_and_at_one_it_is_none() -> None:
    assert titles("load", of_depths(1, 8)) == ["Response against load: p"]
    assert titles("load", of_depths(8)) == []


def test_a_load_that_has_no_answer_is_told_above_the_curve_of_its_profile() -> None:
    (panel,) = panels("load", [*of_depths(1, 8), replace(failed("p-qd64"), profile="p"), failed("other")])
    assert panel.note.endswith("; failed: p-qd64")


def test_a_few_answers_have_no_knee() -> None:
    def rows(*loads: int) -> list[Result]:
        return [measured(f"d{n}", 1e3 * n / (10 + n), 10.0 + n, profile="p", outstanding_asked=n) for n in loads]

    (few,), (far,), (many,) = (panels("load", rows(*loads)) for loads in ((4, 16), (2, 25, 26, 27), (1, 4, 16, 64)))
    assert "knee" not in few.data and "knee" not in far.data
    assert "knee" in many.data


def test_a_knee_lies_where_rate_over_response_is_largest() -> None:
    pairs = ((1, 100.0, 1.0), (2, 190.0, 1.1), (4, 200.0, 4.0), (8, 201.0, 9.0))
    rows = [measured(f"d{n}", iops, ms, profile="p", outstanding_asked=n) for n, iops, ms in pairs]
    (panel,) = panels("load", rows)
    assert [mark["iops"] for mark in panel.data["knee"]] == [190.0]


def test_a_knee_between_two_answers_is_one_of_a_curve_through_them_and_says_so() -> None:
    """A response of 10 ms and 1 ms more for each that is outstanding: N / R^2 is largest at 10."""
    loads = (1, 4, 16, 64)
    rows = [measured(f"d{n}", 1e3 * n / (10 + n), 10.0 + n, profile="p", outstanding_asked=n) for n in loads]
    (panel,) = panels("load", rows)
    (knee,) = panel.data["knee"]
    assert (knee["iops"], knee["ms"]) == (pytest.approx(500, rel=0.05), pytest.approx(20, rel=0.05))
    assert knee["said"].startswith("knee ~") and "knee ~: about, by a curve through the dots" in (panel.note or "")


def test_a_fitted_knee_on_a_curve_of_percentiles_lies_between_its_neighbours() -> None:
    loads, limit = (1, 4, 16, 64), "p99<=90ms"
    rows = [
        measured(f"d{n}", 1e3 * n / (10 + n), 10.0 + n, profile="p", outstanding_asked=n, limit=limit) for n in loads
    ]
    rows = [
        dataclasses.replace(row, total=dataclasses.replace(row.total, latency_p99_ns=int(n * 1e6)))
        for n, row in zip(loads, rows, strict=True)
    ]
    (panel,) = panels("load", rows)
    (knee,) = panel.data["knee"]
    assert knee["ms"] == pytest.approx(10, rel=0.1)


def test_a_saturation_stands_where_it_was_found_though_its_probe_is_there_too() -> None:
    (best,) = of_depths(8, saturation_iops=800.0, saturation_outstanding=8)
    probes = [dataclasses.replace(row, role="probe") for row in of_depths(1, 2, 8)]
    (panel,) = panels("load", [best, *probes])
    assert [mark["said"] for mark in panel.data["saturation"]] == ["highest rate seen 800 at 8 outstanding"]


def test_a_load_line_is_marked_with_its_limit_and_its_saturation() -> None:
    line = of_depths(6, limit="mean<=30ms", saturation_iops=900.0)
    (panel,) = panels("load", [*of_depths(1, 2, 4, 8), *line])
    assert [mark["said"] for mark in panel.data["limit"]] == ["limit mean<=30ms"]
    assert [mark["said"] for mark in panel.data["saturation"]] == ["highest rate seen 900"]
    assert [mark["said"] for mark in panel.data["line"]] == ["load line 600 IOPS, 67% of the highest rate seen"]


def test_a_label_at_the_left_edge_stands_right_of_its_dot() -> None:
    rows = of_depths(1, 2, 4, 8)
    rates = [row.total.iops or 0.0 for row in rows]
    for rate, side in ((max(rates), "right"), (0.1 * max(rates), "left")):
        line = dataclasses.replace(rows[0], limit="mean<=30ms", total=dataclasses.replace(rows[0].total, iops=rate))
        (panel,) = panels("load", [*rows, line])
        assert {label["align"] for label in panel.data["labels"] if "load line" in label["said"]} == {side}


def test_more_curves_than_can_be_told_apart_are_spread_over_panels() -> None:
    rows = [row for n in range(8) for row in of_depths(1, 2, tags={"drives": str(n)}, system="a", origin="solved")]
    assert titles("load", rows) == ["Response against load: p, 1 to 4", "Response against load: p, 5 to 8"]


def test_many_curves_are_parted_by_a_setting_that_some_share() -> None:
    rows = [
        row
        for number in ("84", "168", "252", "336")
        for layout in ("vraid1", "vraid5")
        for row in of_depths(1, 2, tags={"pool.drives": number, "volume.layout": layout}, system="a", origin="solved")
    ]
    drawn = panels("load", rows)
    assert [panel.title for panel in drawn] == [f"Response against load: p, layout vraid{n}" for n in (1, 5)]
    for panel in drawn:
        named = list(dict.fromkeys(row["source"] for row in panel.data["answers"]))
        assert named == ["drives 84", "drives 168", "drives 252", "drives 336"]


def test_so_many_curves_that_one_setting_leaves_too_many_are_parted_by_two() -> None:
    labels = [f"drives {n}, layout {layout}, mode {mode}" for n in range(4) for layout in range(4) for mode in range(3)]
    parts = parted(labels)
    assert [part for part, _ in parts][:2] == [", drives 0, mode 0", ", drives 0, mode 1"]
    assert list(parts[0][1].values()) == ["layout 0", "layout 1", "layout 2", "layout 3"]
    assert sorted(number for _, shown in parts for number in shown) == list(range(48))


def test_what_is_compared_stays_in_one_panel_of_many_curves() -> None:
    labels = [f"{side}, drives {n}" for side in ("old", "new") for n in range(4)]
    assert [part for part, _ in parted(labels)] == [", old", ", new"]
    assert parted(labels, ("old", "new"))[0] == (", drives 0", {0: "old", 4: "new"})


def test_a_legend_of_curves_says_all_of_a_sweep_over_several_settings() -> None:
    of_modes = {mode: {"volume.layout": "vraid5", "cache.mode": mode} for mode in ("write-back", "write-through")}
    tags = [{"pool.drives": "84", "pool.scheduling": "sptf", **said} for said in of_modes.values()]
    rows = [row for said in (*tags, {"pool.drives": "8", "pool.scheduling": "fifo", "volume.layout": "vraid1"})
            for row in of_depths(1, 2, tags=said, system="a", origin="solved")]  # fmt: skip
    svg = picture(Contents("t", (), rows, ()), "load", None, as_svg=True).decode()
    for mode in of_modes:
        assert f">drives 84, scheduling sptf, layout vraid5, mode {mode}<" in svg


def test_three_sizes_are_a_sweep_and_two_are_none() -> None:
    assert titles("block-size", of_sizes(4096, 8192, 65536)) == ["IOPS over block size", "MB/s over block size"]
    assert titles("block-size", of_sizes(4096, 8192)) == []
    assert titles("block-size", [*of_sizes(4096, 8192), *of_sizes(65536, random=0.0)]) == []


def test_load_lines_over_block_size_are_one_sweep_whatever_load_each_is_at() -> None:
    rows = [
        dataclasses.replace(row, origin="solved", limit="mean<=30ms", outstanding_asked=100 - number)
        for number, row in enumerate(of_sizes(4096, 8192, 65536))
    ]
    assert {panel.note for panel in panels("block-size", rows)} == {"random 70 % read, at the load line, mean<=30ms"}


def test_more_patterns_than_can_be_told_apart_are_spread_over_panels() -> None:
    rows = [
        dataclasses.replace(row, point=f"{row.point}-{n}")
        for n in range(7)
        for row in of_sizes(4096, 8192, 65536, random=n / 10)
    ]
    iops, mb, more, _ = panels("block-size", rows)
    assert [panel.title for panel in (iops, mb, more)] == [
        "IOPS over block size, 1 to 3",
        "MB/s over block size, 1 to 3",
        "IOPS over block size, 4 to 7",
    ]
    assert len({row["line"] for row in iops.data["points"]}) == 3
    assert "60 % random 70 % read" in {row["line"] for row in more.data["points"]}


def test_components_come_with_the_busiest_first_and_idle_ones_not_at_all() -> None:
    rows = [solved("a", {"bus": 0.4, "disks": 0.2, "links": 0.001}), solved("b", {"bus": 0.3, "disks": 0.9})]
    (panel,) = panels("components", rows)
    assert [(row["name"], row["component"], row["said"]) for row in panel.data["points"]] == [
        ("a", "disks", "20"),
        ("a", "bus", "40 ▲"),
        ("b", "disks", "90 ▲"),
        ("b", "bus", "30"),
    ]


def test_a_detail_without_host_or_writes_draws_what_it_has() -> None:
    dots = [{"from_s": n, "s": n + 1, "read_iops": 5.0, "write_iops": 0.0, "read_ms": 1.0} for n in range(3)]
    over_time, distribution = OF_POINT
    drawn = over_time.draw(Detail(io=dots, warmup_s=1.0), LIGHT)
    assert [panel.title for panel in drawn] == ["IOPS over time", "Mean latency over time"]
    assert {dot["of"] for dot in drawn[0].data["dots"]} == {"reads"}
    assert distribution.draw(Detail(io=dots), LIGHT) == []


def test_rows_of_one_name_are_told_apart_by_what_differs() -> None:
    rows = [measured("p"), measured("p", quick=True), solved("p"), measured("p", target="/dev/sdy")]
    assert len(set(names(rows))) == 4
    of_layouts = [solved("p", tags={"volume.layout": layout}) for layout in ("raid5", "raid10")]
    assert names(of_layouts) == ["p · layout raid5", "p · layout raid10"]
    assert names([measured("p", run="a-1-x"), measured("p", run="a-2-x")]) == ["p · 1", "p · 2"]
    assert names([measured("p"), measured("p")]) == ["p", "p (2)"]
    long = [measured("p", run="20260101-120000-s-disk"), measured("p", run="20260101-130000-s-array")]
    assert names(long) == ["p · disk", "p · array"]
    assert names([measured("p", target="/mnt/a/disk"), measured("p", target="/dev/sdy")]) == [
        "p · disk",
        "p · /dev/sdy",
    ]
    same = [measured("p", target="/mnt/a/disk"), measured("p", target="/mnt/b/disk")]
    assert names(same) == ["p · /mnt/a/disk", "p · /mnt/b/disk"]


def test_labels_of_a_sweep_over_several_settings_have_lines_enough_to_say_all(tmp_path: Path) -> None:
    rows = [
        solved("p", system="eva", tags={"pool.drives": drives, "volume.layout": layout, "cache.mode": mode})
        for drives in ("84", "168")
        for layout in ("vraid1", "vraid5")
        for mode in ("write-back", "write-through")
    ]
    assert names(rows)[0] == "p · drives 84, layout vraid1 · mode write-back"
    (panel,) = panels("iops", rows)
    assert panel.height == 8 * 48
    svg = picture(Contents("t", (), rows, ()), "iops", None, as_svg=True).decode()
    assert "layout vraid5<" in svg and "mode write-through<" in svg and "…" not in svg


def test_a_wide_range_asks_for_a_logarithmic_scale() -> None:
    assert scale([1.0, 29.0])["type"] == "linear"
    assert scale([1.0, 31.0])["type"] == "log"
    assert scale([0.0, None])["type"] == "linear"
    assert [far(value, [1.0, 100.0]) for value in (9.0, 11.0)] == [False, True]


def test_a_point_of_zero_iops_is_drawn_and_breaks_nothing() -> None:
    stuck = dataclasses.replace(measured("stuck"), total=Flow(iops=0.0))
    assert len(panels("iops", [stuck])) == 1


def _luminance(colour: str) -> float:
    """Source: WCAG 2.1, relative luminance."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_marks_stand_out_as_wcag_asks(palette: Palette) -> None:
    for text in ("ink", "quiet", "alarm"):
        for paper in (palette.paper, palette.warm):
            assert _contrast(getattr(palette, text), paper) >= 4.5, text
    for mark in ("write", *(f"series{n}" for n in range(1, 7))):
        assert _contrast(getattr(palette, mark), palette.paper) >= 3.0, mark
    # Links are in the colour of reads, and a bar's number stands in its bar.
    assert _contrast(palette.paper, palette.read) >= 4.5


def test_a_host_whose_clock_was_found_behind_is_put_back(tmp_path: Path) -> None:
    clock = {"check": "clock", "severity": "warning", "message": "m", "numbers": {"lag_s": 2.0}, "remedy": "r"}
    run = run_of(tmp_path, [measured("late", findings=(clock,)), measured("right")], seconds=60)
    late, right = details([run], run.results())
    assert [dot["s"] + 2 for dot in late.host] == pytest.approx([dot["s"] for dot in right.host])
    assert [dot["s"] for dot in late.io] == [dot["s"] for dot in right.io]
    (panel,) = (one for one in OF_POINT[0].draw(late, LIGHT) if one.title.startswith("Host CPU"))
    assert panel.note == "host put back by 2 s: its clock lags"


def test_a_repeated_point_is_a_bar_of_its_mean_with_a_stroke_at_each() -> None:
    rows = [measured("oltp-db", rate, run="r", repeat=number) for number, rate in ((1, 900.0), (2, 1100.0))]
    (panel,) = panels("iops", [*rows, measured("other", 500.0, run="r")])
    assert [(bar["name"], bar["iops"]) for bar in panel.data["points"]] == [("oltp-db", 1000.0), ("other", 500.0)]
    assert panel.data["each"] == [{"name": "oltp-db", "iops": 900.0}, {"name": "oltp-db", "iops": 1100.0}]


def test_repetitions_and_targets_are_named_where_they_differ() -> None:
    rows = [measured("p", run="r", repeat=number, target=name) for number in (1, 2) for name in ("*", "/dev/sdx")]
    assert names(rows) == [
        f"p · {target}, repetition {number}" for number in (1, 2) for target in ("all together", "/dev/sdx")
    ]


def of_two_systems(*points: str) -> list[Result]:
    rates = {"old": 100.0, "new": 300.0}
    return [
        dataclasses.replace(solved(point, system=system), total=Flow(iops=rate))
        for system, rate in rates.items()
        for point in points
    ]


@pytest.mark.parametrize("chart", ["iops", "latency"])
def test_points_of_one_name_stand_beside_each_other_in_a_colour_a_side(chart: str) -> None:
    panel, *_ = panels(chart, of_two_systems("log", "mail"))
    assert [(row["name"], row["side"]) for row in panel.data["points"]] == [
        (name, side) for name in ("log", "mail") for side in ("old", "new")
    ]
    layers = panel.spec(400)["layer"]
    assert all(layer["encoding"]["yOffset"]["scale"]["domain"] == ["old", "new"] for layer in layers)
    assert layers[0]["encoding"]["color"]["scale"]["range"] == [LIGHT.series1, LIGHT.series2]


def test_load_lines_stand_beside_each_other_too_behind_the_loads_that_were_asked_for() -> None:
    asked = of_two_systems("log")
    lines = [dataclasses.replace(row, limit="mean<=30ms") for row in asked]
    panel, *_ = panels("iops", [row for pair in zip(asked, lines, strict=True) for row in pair])
    assert {(row["name"], row["side"]) for row in panel.data["points"]} == {
        (name, side) for side in ("old", "new") for name in ("log", "log · at the load line")
    }


def test_rows_without_their_like_or_of_too_many_sides_have_names_of_their_own() -> None:
    for rows in (
        [solved("log", system="old"), solved("mail", system="new")],
        [solved("log", tags={"drives": str(number)}) for number in range(7)],
    ):
        (panel,) = panels("iops", rows)
        assert all("side" not in row and " · " in row["name"] for row in panel.data["points"])


@pytest.mark.parametrize("chart", ["iops", "latency"])
def test_of_more_sides_than_have_a_colour_those_of_one_point_are_below_each_other(chart: str) -> None:
    rows = [solved(point, tags={"drives": str(number)}) for number in range(7) for point in ("log", "mail")]
    panel, *_ = panels(chart, rows)
    assert [row["name"][:4] for row in panel.data["points"]] == ["log "] * 7 + ["mail"] * 7


def test_rows_of_components_and_hosts_are_in_the_order_of_their_names() -> None:
    (panel,) = panels("components", of_two_systems("log", "mail"))
    assert [row["name"] for row in panel.data["points"]][::2] == ["log · old", "log · new", "mail · old", "mail · new"]


def test_a_legend_of_runs_says_what_tells_their_ids_apart() -> None:
    runs = ["20260101-120000-s-disk", "20260101-130000-s-array"]
    legend = looks(alt.Color, "side", runs, LIGHT.series).to_dict()["legend"]
    assert legend["labelExpr"] == f'{{"{runs[0]}": "disk", "{runs[1]}": "array"}}[datum.label]'
    assert "labelExpr" not in looks(alt.Color, "side", ["old", "new"], LIGHT.series).to_dict()["legend"]
