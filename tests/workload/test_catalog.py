"""The suites of the catalog say what their sources say."""

from __future__ import annotations

from itertools import pairwise

import pytest

from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import Closed
from loadline.workload.suite import load_suite


def points(name: str, options: Options = Options()) -> tuple[Point, ...]:
    return make_plan(load_suite(name)[0], options)


def figures(point: Point) -> tuple[int, int, int]:
    """KiB, read % and random % of a point of one stream and one size."""
    profile = point.streams[0].profile
    (block,) = profile.block
    return block.size_bytes // 1024, round(profile.read_fraction * 100), round(profile.random_fraction * 100)


# Source: the field report on Vostok and Engine: KiB, read %, random %.
SIX_PATTERNS = [(4, 100, 100), (4, 0, 100), (4, 100, 0), (4, 0, 0), (128, 100, 0), (128, 0, 0)]


def test_six_patterns_are_the_sources_for_an_hour_each_after_7_minutes() -> None:
    found = points("six-patterns", Options(as_published=True))
    assert [figures(point) for point in found] == SIX_PATTERNS
    assert {point.streams[0].arrival for point in found} == {Closed(32, 8)}
    assert {(point.runtime_ns, point.warmup_ns) for point in found} == {(3600 * 10**9, 420 * 10**9)}


def test_the_sweep_over_block_sizes_is_every_size_in_every_pattern_at_every_depth() -> None:
    found = points("block-size-sweep")
    asked = {
        (p.streams[0].profile.block[0].size_bytes, *figures(p)[1:], p.streams[0].arrival.queue_depth) for p in found
    }
    patterns = {(100, 0), (100, 100), (0, 0), (0, 100), (33, 100)}
    assert asked == {(512 << n, *pattern, depth) for n in range(12) for pattern in patterns for depth in (1, 4, 32)}
    assert len(found) == len(asked)


# Source: the table of Tom's Hardware's hard disk charts of 2009, "IOMeter 2006.07.27": KiB, read %, random %.
@pytest.mark.parametrize(("name", "asked"), [("workstation", (8, 80, 80)), ("database", (8, 67, 100))])
def test_iometers_other_two_are_as_magazines_printed_them(name: str, asked: tuple[int, int, int]) -> None:
    (point,) = points("iometer-profiles", Options(only=(name,)))
    assert figures(point) == asked


def test_the_first_look_is_eight_points_in_a_minute() -> None:
    found = points("quick-look")
    assert len(found) == 8
    assert sum(point.runtime_ns + point.warmup_ns for point in found) == 60 * 10**9


def test_every_write_of_a_log_goes_to_the_medium_at_once_and_in_sequence() -> None:
    for point in points("log-writer", Options(variants=True)):
        (stream,) = point.streams
        assert (stream.profile.read_fraction, stream.profile.random_fraction) == (0, 0)
        assert stream.profile.dsync or stream.profile.flush_every == 1
        assert stream.arrival.queue_depth == 1


def test_the_zones_of_a_disk_cover_it_without_a_gap() -> None:
    size = 10**12
    ranges = [
        (p.streams[0].profile.start_of(size), p.streams[0].profile.working_set_of(size)) for p in points("zone-profile")
    ]
    step = 1 << 20
    assert ranges[0][0] == 0
    assert all(abs(start + length - after) < step for (start, length), (after, _) in pairwise(ranges))
    assert size - step < sum(ranges[-1]) <= size


def test_the_saturation_series_is_the_sources_five_hosts_and_its_cache_ranges() -> None:
    found = {point.name: point for point in points("saturation")}
    asked = {
        name: (
            *(point.streams[0].profile.block[0].size_bytes, figures(point)[1:], point.streams[0].arrival.jobs),
            *(point.streams[0].profile.working_set_bytes, point.best and (point.best.of, point.best.queue_depths)),
        )
        for name, point in found.items()
    }
    doublings = (1, 2, 4, 8, 16, 32, 64, 128)
    assert asked == {
        "sequential-read-64k": (65536, (100, 0), 5, None, ("rate", doublings)),
        "sequential-write-64k": (65536, (0, 0), 5, None, ("rate", doublings)),
        "cache-latency-512": (512, (100, 100), 1, 16 * 512, ("latency", (1, 2, 4))),
        "cache-latency-2k": (2048, (100, 100), 1, 16 * 512, ("latency", (1, 2, 4))),
        "cache-rate-512": (512, (100, 100), 4, 128 * 512, ("rate", (1, 2, 4, 8))),
    }


# Source: SNIA's Performance Test Specification 2.0.1, sections 6 to 9.
def test_snias_tests_are_its_mixes_and_sizes_in_its_order_for_a_minute_a_round() -> None:
    found = points("snia-pts")
    assert {(point.runtime_ns, point.warmup_ns) for point in found} == {(60 * 10**9, 0)}
    asked = {
        test: [figures(point)[:2] for point in found if point.rounds and point.rounds.name == test]
        for test in ("write-saturation", "iops", "throughput-1M", "throughput-128k", "latency")
    }
    mixes, sizes = (100, 95, 65, 50, 35, 5, 0), (1024, 128, 64, 32, 16, 8, 4, 0)
    assert asked == {
        "write-saturation": [(4, 0)],
        "iops": [(size, mix) for mix in mixes for size in sizes],
        "throughput-1M": [(1024, 100), (1024, 0)],
        "throughput-128k": [(128, 100), (128, 0)],
        "latency": [(size, mix) for mix in (100, 65, 0) for size in (8, 4, 0)],
    }
    rounds = {each.name: each for point in found if (each := point.rounds)}
    assert {(each.window, each.most, each.fill) for each in rounds.values()} == {(5, 25, 2), (5, 1440, 0)}
    assert rounds["iops"].track == ("iops-b4k-rd0", "iops-b64k-rd65", "iops-b1M-rd100")
    assert (rounds["latency"].figure, rounds["write-saturation"].written) == ("latency", 4)
