"""What a target is warmed up for, and when again: once, and where writes require it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from measuring.suites import suite

import loadline as package
from loadline.errors import InterruptedRun
from loadline.measuring import event
from loadline.measuring.intent import POINT_OVERHEAD_NS, plan
from loadline.measuring.preparing import Preparation
from loadline.measuring.target import locate
from loadline.measuring.warming import Warmth, WarmUp, planned
from loadline.workload.order import arranged
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

MINUTE_NS = 60 * 10**9

STATION = 'title = "One server"\n[[station]]\nname = "server"\nservice = { constant = "1ms" }\n'


def points(tmp_path: Path, *profiles: str, warmup: str = '"7min"', **keys: str) -> tuple[Point, ...]:
    return make_plan(load_suite(str(suite(tmp_path, *profiles, warmup=warmup, **keys)))[0], Options(), seed=1)


def minutes(found: Sequence[Point]) -> list[float]:
    return [point.warmup_ns / MINUTE_NS for point in found]


def whole(plan: Sequence[Point], targets: int = 1) -> list[float]:
    return minutes(planned(plan, targets, [()] * len(plan)))


def test_a_suite_that_only_reads_warms_its_target_up_once_however_often_it_is_repeated(tmp_path: Path) -> None:
    plan = arranged(points(tmp_path, "a 4k 100% 100%", "b 64k 100% 0%"), "random", repeats=3, targets=1, seed=1)
    assert whole(plan) == [7] + [1 / 6] * 5


def test_each_target_is_warmed_up_by_itself(tmp_path: Path) -> None:
    plan = arranged(points(tmp_path, "a 4k 100% 100%", "b 64k 100% 0%"), "interleaved", repeats=2, targets=2, seed=1)
    assert whole(plan, 2) == [7, 7] + [1 / 6] * 6


def test_what_writes_and_what_comes_after_it_is_warmed_up_again(tmp_path: Path) -> None:
    plan = points(
        tmp_path, "a 4k 100% 100%", "b 8k 100% 100%", "c 4k 0% 100%", "d 8k 0% 100%", "e 4k 100% 0%", "f 8k 100% 0%"
    )
    assert whole(plan) == [7, 1 / 6, 7, 7, 7, 1 / 6]


def test_writes_that_go_on_need_no_other_warm_up(tmp_path: Path) -> None:
    plan = arranged(points(tmp_path, "a 4k 30% 100%"), "suite", repeats=3, targets=1, seed=1)
    assert whole(plan) == [7, 1 / 6, 1 / 6]
    # Of targets in turn each rests meanwhile, and empties its cache.
    plan = arranged(points(tmp_path, "a 4k 30% 100%"), "interleaved", repeats=2, targets=2, seed=1)
    assert whole(plan, 2) == [7, 7, 7, 7]


def test_a_fill_is_writing(tmp_path: Path) -> None:
    plan = points(tmp_path, "a 4k 100% 100%", "b 64k 100% 0%", "c 8k 100% 0%")
    assert minutes(planned(plan, 1, [(), (0,), ()])) == [7, 7, 1 / 6]


def test_a_longer_warm_up_than_there_was_is_made(tmp_path: Path) -> None:
    first, second = points(tmp_path, "a 4k 100% 100%", "b 64k 100% 0%")
    plan = (first, replace(second, warmup_ns=9 * MINUTE_NS), first)
    assert whole(plan) == [7, 9, 1 / 6]


def test_a_target_whose_point_failed_is_cold(tmp_path: Path) -> None:
    warmth, (point, *_) = Warmth(1), points(tmp_path, "a 4k 100% 100%")
    warmth.after(warmth.before(point)[0], failed=True)
    again, why = warmth.before(point)
    assert (again.warmup_ns, why) == (7 * MINUTE_NS, WarmUp("target", "its target wasn't warm yet"))


def test_six_patterns_are_warmed_up_as_their_source_did_for_each_second_one_writes() -> None:
    plan = make_plan(load_suite("six-patterns")[0], Options(), seed=1)
    assert whole(plan) == [7] * 6
    shuffled = arranged(plan, "random", repeats=4, targets=1, seed=3)
    assert set(whole(shuffled)) == {7, 1 / 6}


def test_as_published_and_in_files_of_other_tools_each_point_has_its_own_warm_up(tmp_path: Path) -> None:
    published = make_plan(load_suite("block-size-sweep")[0], Options(as_published=True, only=("random-read",)), seed=1)
    assert {point.settle_ns for point in published} == {None}
    path = tmp_path / "two.fio"
    path.write_text("[global]\nruntime=60\nramp_time=60\ntime_based\nrw=randread\n[a]\nbs=4k\n[b]\nstonewall\nbs=8k\n")
    assert whole(make_plan(load_suite(str(path))[0], Options(), seed=1)) == [1, 1]


def test_settle_says_how_long_queues_take_and_no_warm_up_grows_by_it(tmp_path: Path) -> None:
    plan = points(tmp_path, "a 4k 100% 100%", "b 8k 100% 100%", settle='"30s"')
    assert whole(plan) == [7, 0.5]
    short = points(tmp_path, "a 4k 100% 100%", "b 8k 100% 100%", warmup='"6s"')
    assert whole(short) == [0.1, 0.1]
    found = load_suite(str(suite(tmp_path, "a 4k 100% 100%", warmup='"7min"')))[0]
    assert make_plan(found, Options(settle_ns=MINUTE_NS))[0].settle_ns == MINUTE_NS


def test_the_plan_counts_only_the_warm_ups_that_there_will_be(tmp_path: Path, filled_file: Path) -> None:
    turns = arranged(points(tmp_path, "a 4k 100% 100%", runtime="60s"), "suite", repeats=3, targets=1, seed=1)
    looked = [Preparation(False, "holds data", 0)]
    intended = plan("x", [locate(str(filled_file), None)], turns, looked, "suite", True, range(3))
    assert intended.expected_ns == (7 * 60 + 2 * 10 + 3 * 60) * 10**9 + 3 * POINT_OVERHEAD_NS


def test_rows_say_how_long_was_warmed_up_and_what_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(STATION)
    path = suite(
        tmp_path, "a 4k 100% 100%", "b 4k 0% 100%", runtime="300ms", warmup='"700ms"', settle='"100ms"', stop='"fixed"'
    )
    run = package.run(str(path), "emulated:one.toml", size_bytes=1 << 26, repeats=2, seed=1)
    assert [(row.point, row.warmup_ns, row.provenance["warm_up"]) for row in run.results()] == [
        ("a", 700_000_000, {"of": "target", "because": "its target wasn't warm yet"}),
        ("b", 700_000_000, {"of": "target", "because": "it writes"}),
        ("a", 700_000_000, {"of": "target", "because": "its target was written to before"}),
        ("b", 700_000_000, {"of": "target", "because": "it writes"}),
    ]
    path = suite(tmp_path, "a 4k 100% 100%", runtime="300ms", warmup='"700ms"', settle='"100ms"', stop='"fixed"')
    run = package.run(str(path), "emulated:one.toml", size_bytes=1 << 26, repeats=2, seed=1)
    first, second = run.results()
    assert (first.warmup_ns, second.warmup_ns) == (700_000_000, 100_000_000)
    assert second.provenance["warm_up"] == {"of": "queues", "because": "its target was warm"}
    assert "ramp_time=100ms" in (run.point_path(1) / "job.fio").read_text()


def test_probes_of_a_search_that_only_reads_warm_their_target_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(STATION)
    path = suite(tmp_path, "a 4k 100% 100%", runtime="300ms", warmup='"700ms"', settle='"100ms"', queue_depth="[1, 4]")
    path.write_text(path.read_text() + 'best = "rate"\n')
    run = package.run(str(path), "emulated:one.toml", size_bytes=1 << 26, seed=1)
    assert [probe.warmup_ns for probe in run.probes()] == [700_000_000, 100_000_000]


def test_a_run_that_goes_on_warms_its_target_up_again(tmp_path: Path, filled_file: Path) -> None:
    path = suite(tmp_path, "a 4k 100% 100%", "b 8k 100% 100%", runtime="200ms", warmup='"400ms"', settle='"100ms"')

    def stop(what: event.Event) -> None:
        if isinstance(what, event.PointStarted) and what.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun):
        package.run(str(path), str(filled_file), store=tmp_path / "runs", listen=stop)
    run = package.resume("last", store=tmp_path / "runs")
    assert [row.warmup_ns for row in run.results()] == [400_000_000, 400_000_000]
