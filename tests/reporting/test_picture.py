"""Pictures of charts: PNG and SVG, without browser or network."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from results import failed, measured, run_of, solved

from loadline.errors import InputError
from loadline.reporting.contents import Contents
from loadline.reporting.detail import details
from loadline.reporting.picture import picture
from loadline.reporting.report import Drawing, of_runs, report, write

TWO = Contents("t", (), [measured("a", 100.0), measured("b", 70.0)], ())


def words(svg: bytes) -> str:
    return " ".join("".join(node.itertext()) for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


def test_an_svg_shows_the_chart_that_was_asked_for() -> None:
    svg = words(picture(TWO, "latency", None, as_svg=True))
    assert "Read latency, random" in svg
    assert "Write latency, random" in svg
    assert "IOPS" not in svg


def test_without_a_name_the_first_chart_that_can_be_drawn_is_drawn() -> None:
    assert "IOPS, random" in words(picture(TWO, None, None, as_svg=True))


def test_control_characters_of_names_are_drawn_as_question_marks() -> None:
    names = [measured("a\x02", 100.0), measured("b\x1b", 70.0)]
    assert "a? b?" in words(picture(Contents("t", (), names, ()), "iops", None, as_svg=True))


def test_a_png_has_two_pixels_for_one_of_the_svg() -> None:
    png, svg = (picture(TWO, "iops", None, as_svg=as_svg) for as_svg in (False, True))
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width = int.from_bytes(png[16:20], "big")
    assert width == pytest.approx(2 * float(ET.fromstring(svg).attrib["width"]), abs=2)


def test_dark_paper_is_dark() -> None:
    assert b"#14181c" in picture(TWO, "iops", None, as_svg=True, dark=True)
    assert b"#14181c" not in picture(TWO, "iops", None, as_svg=True)


def test_a_chart_of_one_point_takes_the_point_that_is_named(tmp_path: Path) -> None:
    contents = of_runs([run_of(tmp_path, [measured("a"), measured("b")], seconds=5)])
    assert "IOPS over time" in words(picture(contents, "over-time", "b", as_svg=True))
    assert "Latency by percentile" in words(picture(contents, "distribution", "b", as_svg=True))


def test_a_simulation_of_a_given_length_is_drawn_over_its_time_warm_up_and_all() -> None:
    series = {"interval_ns": 10**9, "write_iops": [5.0, 7.0, 0.0], "write_latency_mean_ns": [1e6, 2e6, None]}
    row = replace(
        measured("a"), origin="simulated", warmup_ns=2 * 10**9, provenance={"replications": 2, "series": series}
    )
    [detail] = details((), [row])
    assert detail.warmup_s == 1
    assert [(dot["from_s"], dot["s"], dot["write_iops"], dot["write_ms"]) for dot in detail.io] == [
        (-1, 0, 5, 1),
        (0, 1, 7, 2),
        (1, 2, 0, None),
    ]
    assert "IOPS over time" in words(picture(Contents("t", (), [row], ()), "over-time", "a", as_svg=True))


def test_no_dot_of_a_distribution_lies_on_the_labels_of_the_axis(tmp_path: Path) -> None:
    contents = of_runs([run_of(tmp_path, [measured("a")])])
    svg = picture(contents, "distribution", "a", as_svg=True).decode()
    dots = re.findall(r'aria-roledescription="point" transform="translate\(([\d.e-]+),', svg)
    assert dots and min(map(float, dots)) > 4


@pytest.mark.parametrize(
    ("chart", "point", "message", "remedy"),
    [
        ("pie", None, "there is no chart 'pie'", "Charts: position, setting, load, iops"),
        ("components", None, "only models have components, and emulated ones .* of two seconds", "another chart"),
        ("over-time", None, "shows one point, and there are 2", "--point"),
        ("over-time", "c", "there is no point 'c'", "Points: a and b."),
        ("over-time", "a", "there is no series of it", "another chart"),
    ],
)
def test_what_cannot_be_drawn_is_said(chart: str, point: str | None, message: str, remedy: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        picture(TWO, chart, point, as_svg=True)
    assert remedy in caught.value.remedy


def test_of_failed_points_alone_no_picture_is_made() -> None:
    with pytest.raises(InputError, match=r"there is no series of it"):
        picture(Contents("t", (), [failed("a")], ()), None, None, as_svg=True)


def test_of_no_points_no_picture_is_made() -> None:
    with pytest.raises(InputError, match="there are no results to draw"):
        picture(Contents("t", (), [], ()), None, None, as_svg=True)


def test_a_chart_is_chosen_for_pictures_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a chart is chosen for pictures only"):
        write(TWO, tmp_path / "x.csv", Drawing(chart="iops"))
    assert not (tmp_path / "x.csv").exists()


def test_several_panels_and_curves_stand_in_one_picture(tmp_path: Path) -> None:
    rows = [
        solved(f"{layout}{n}", profile="p", outstanding_asked=n, tags={"layout": layout})
        for layout in ("raid5", "raid10")
        for n in (1, 2)
    ]
    svg = words(picture(Contents("t", (), rows, ()), "load", None, as_svg=True))
    assert "layout raid5" in svg
    assert "layout raid10" in svg


@pytest.mark.parametrize(
    ("chart", "shown"), [("iops", "the first 354 of 400 points"), ("load", "the first 45 of 200 panels")]
)
def test_of_a_large_sweep_a_picture_has_what_can_be_looked_at_and_says_so(chart: str, shown: str) -> None:
    rows = [solved(f"p{n}", profile=f"p{n // 2}", outstanding_asked=1 + n % 2) for n in range(400)]
    svg = picture(Contents("t", (), rows, ()), chart, None, as_svg=True)
    assert 4000 < float(ET.fromstring(svg).attrib["height"]) < 10_000
    assert f"{shown}, a picture holds no more: write .html for all of them" in words(svg)


@pytest.mark.parametrize(("panels", "columns", "rows"), [(3, 1, 3), (4, 2, 2), (12, 3, 4)])
def test_many_panels_stand_in_columns(panels: int, columns: int, rows: int) -> None:
    answers = [solved(f"p{n}", profile=f"p{n // 2}", outstanding_asked=1 + n % 2) for n in range(2 * panels)]
    svg = ET.fromstring(picture(Contents("t", (), answers, ()), "load", None, as_svg=True))
    width, height = (float(svg.attrib[side]) for side in ("width", "height"))
    assert 600 * columns < width < 720 * columns
    assert 320 * rows < height < 460 * rows


def test_the_parts_of_a_profile_stand_beside_each_other_in_a_picture_of_many_panels() -> None:
    rows = [
        solved(f"{profile}{depth}", profile=profile, outstanding_asked=depth, tags={"drives": drives, "layout": layout})
        for profile in "abcde"
        for drives in ("1", "2", "3", "4")
        for layout in ("raid5", "raid10")
        for depth in (1, 2)
    ]
    svg = ET.fromstring(picture(Contents("t", (), rows, ()), "load", None, as_svg=True))
    assert 1200 < float(svg.attrib["width"]) < 1440


def test_a_report_with_the_ending_of_a_picture_is_one(tmp_path: Path) -> None:
    run = run_of(tmp_path, [measured("a")])
    assert report([run], tmp_path / "x.PNG").read_bytes().startswith(b"\x89PNG")
    assert report([run], tmp_path / "x.svg").read_bytes().startswith(b"<svg")


def test_a_picture_says_what_it_is_of() -> None:
    rows = TWO.results
    assert "eva under a suite, solved" in words(
        picture(Contents("eva under a suite, solved", (), rows, ()), "iops", None, as_svg=True)
    )
