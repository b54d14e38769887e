"""Strong and weak cells, and what a side is good for: on the table of two systems, and at the bounds of chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from results import measured

from loadline.judging.compare import Comparison, compare
from loadline.judging.sources import sources_of
from loadline.judging.suitability import Claim, Standing, claims, reads_ahead, standings, use_of
from loadline.reporting.suitability_words import suitability_sentences
from loadline.result.schema import Flow, Result

TABLE = Path(__file__).parents[1] / "golden/published/two-systems.csv"


@pytest.fixture(scope="module")
def table() -> Comparison:
    return compare(sources_of([str(TABLE)]).sources, by="system")


def standing(comparison: Comparison, point: str, figure: str, side: str) -> Standing:
    found = [one for one in standings(comparison) if (one.point, one.figure, one.side) == (point, figure, side)]
    assert len(found) == 1
    return found[0].standing


def claim(comparison: Comparison, point: str, side: str) -> Claim:
    found = claims(comparison, standings(comparison))
    return next(one for one in found if (one.point, one.side) == (point, side))


def test_one_sides_strong_cell_is_the_others_weak_one(table: Comparison) -> None:
    assert standing(table, "4k random read", "iops", "Engine N2") == "strong"
    assert standing(table, "4k random read", "iops", "Vostok 2-E12") == "weak"
    assert standing(table, "4k random read", "latency_mean_ns", "Engine N2") == "strong"
    assert standing(table, "4k random write", "iops", "Vostok 2-E12") == "even"


def test_the_slower_system_is_as_good_for_writing_at_random_and_not_for_reading(table: Comparison) -> None:
    assert claim(table, "4k random read", "Vostok 2-E12").verdict == "bad"
    assert claim(table, "4k random write", "Vostok 2-E12").verdict == "level"
    assert claim(table, "4k random read", "Engine N2").use == "databases and desktops that mostly read"


def test_a_latency_that_cannot_be_makes_nobody_good_for_streaming(table: Comparison) -> None:
    for point in ("128k sequential read", "128k sequential write"):
        found = claim(table, point, "Vostok 2-E12")
        assert (found.verdict, found.left_out, found.latency) == ("level", True, None)
        assert "link-limit" in found.doubts


def test_a_latency_that_load_and_rate_contradict_is_praised_nowhere(tmp_path: Path) -> None:
    table = tmp_path / "systems.csv"
    rows = ("old,128k read,128k,32,8,6200,5.1", "new,128k read,128k,32,8,6100,0.4")
    table.write_text("\n".join(("system,profile,block size,queue depth,jobs,MB/s,latency ms", *rows)))
    comparison = compare(sources_of([str(table)]).sources, by="system")
    found = [claim(comparison, "128k read", side) for side in ("old", "new")]
    assert [(one.verdict, one.left_out) for one in found] == [("level", True), ("level", True)]
    said = suitability_sentences(found, [])["new"]
    assert "contradict the latency, which is left out" in said[1]


def test_reads_of_a_pattern_are_set_against_its_writes(table: Comparison) -> None:
    ahead = {(one.side, one.read): one.ratio for one in reads_ahead(table)}
    assert ahead["Engine N2", "4k sequential read"] == pytest.approx(560 / 373)
    assert ahead["Vostok 2-E12", "4k sequential read"] == pytest.approx(280 / 215)
    assert len(ahead) == 6


def pair(iops: float, other: float, ci95: float | None, *, steady: bool = True, quick: bool = False) -> Comparison:
    def row(side: str, rate: float) -> Result:
        figures = {"read": Flow(), "write": Flow(), "total": Flow(iops=rate)}
        return replace(
            measured("p", **figures), run=side, system=side, target="", iops_ci95=ci95, steady=steady, quick=quick
        )

    return compare([row("a", iops), row("b", other)], by="system")


def test_up_to_ten_percent_decides_nothing_however_sure() -> None:
    assert standing(pair(1000.0, 1099.0, 0.1), "p", "iops", "b") == "even"
    assert standing(pair(1000.0, 1110.0, 0.1), "p", "iops", "b") == "strong"


def test_what_chance_may_have_made_is_no_strength() -> None:
    assert standing(pair(1000.0, 1200.0, 200.0), "p", "iops", "b") == "unknown"
    assert standing(pair(1000.0, 1200.0, 20.0), "p", "iops", "b") == "strong"
    assert standing(pair(1000.0, 1050.0, 60.0), "p", "iops", "b") == "unknown"


def test_a_tables_figure_of_which_nobody_says_how_sure_it_is_is_taken_as_it_is_printed(tmp_path: Path) -> None:
    table = tmp_path / "systems.csv"
    table.write_text("system,profile,IOPS\na,p,1000\nb,p,1200\n")
    found = compare(sources_of([str(table)]).sources, by="system")
    stands = standings(found)
    assert [(one.standing, one.printed) for one in stands] == [("weak", True), ("strong", True)]
    said = suitability_sentences(claims(found, stands), [])
    assert said["b"][0].startswith("If the figures hold as they were printed")


def test_a_measurement_of_which_nobody_knows_how_sure_it_is_is_praised_for_nothing() -> None:
    found = pair(1000.0, 1200.0, None)
    stands = standings(found)
    assert [(one.standing, one.printed) for one in stands] == [("unknown", False), ("unknown", False)]
    assert suitability_sentences(claims(found, stands), []) == {}


@pytest.mark.parametrize(
    ("size", "read", "random", "use"),
    [
        (4096, 1.0, 1.0, "databases and desktops that mostly read"),
        (8192, 0.7, 1.0, "databases and mail"),
        (4096, 0.0, 1.0, "write-heavy databases"),
        (1 << 20, 1.0, 1.0, "media on demand and decision support"),
        (8192, 0.8, 0.8, "file and web servers"),
        (65536, 0.98, 0.0, "streaming and media"),
        (131072, 0.0, 0.0, "backup, recording and video surveillance"),
        (8192, 0.0, 0.0, "logs"),
    ],
)
def test_a_load_stands_for_a_use_by_its_size_reads_and_randomness(
    size: int, read: float, random: float, use: str
) -> None:
    block = [{"size_bytes": size, "share_fraction": 1.0}]
    profile = {"block": block, "read_fraction": read, "random_fraction": random}
    assert use_of(Result(workload={"profile": profile})) == use


def test_of_an_unknown_load_no_use_is_claimed() -> None:
    assert use_of(Result(workload=None)) == ""


def test_one_run_that_was_not_steady_or_quick_or_is_noise_shows_no_strength() -> None:
    assert standing(pair(1000.0, 2000.0, 20.0, steady=False), "p", "iops", "b") == "unknown"
    assert standing(pair(1000.0, 2000.0, 20.0, quick=True), "p", "iops", "b") == "unknown"
    assert standing(pair(1000.0, 2000.0, 150.0), "p", "iops", "b") == "unknown"
