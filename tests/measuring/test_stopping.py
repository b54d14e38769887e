"""When points end: by their precision, by their run time, and what a write cache has to do with it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cli.program import Loadline
from measuring.suites import reads

from loadline.errors import InputError
from loadline.measuring import emulate
from loadline.measuring.stopping import Stopping
from loadline.system.description import load_system
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

#: Always the same service, one after the other: what is measured is as steady as the clock.
STATION = """
title = "One server that takes 5 ms"
[[station]]
name = "server"
service = { constant = "5ms" }
"""


@dataclass(frozen=True)
class Way:
    ios: int
    bytes: int
    latency_mean_ns: float | None = 1e6
    latency_samples: int = 0


@dataclass(frozen=True)
class Second:
    """What an interval of the core has, as far as a point's end hangs on it."""

    read: Way
    write: Way
    warmup: bool = False
    duration_ns: int = 10**9
    end_ns: int = field(default=0)


def second(ios: int = 1000, written_bytes: int = 0) -> Any:
    return Second(Way(ios, ios * 4096), Way(0, written_bytes, None))


def oltp(runtime_s: int = 300) -> Point:
    (point,) = make_plan(load_suite("typical-12")[0], Options(only=("oltp-db",), runtime_ns=runtime_s * 10**9))
    return point


@pytest.mark.parametrize(("name", "moves"), [("os-paging", True), ("oltp-db", False)])
def test_a_load_in_sequence_has_to_show_what_it_ends_at_too(name: str, moves: bool) -> None:
    """The rate falls by 2 % a minute, in noise that leaves a plain mean alone for long."""
    (point,) = make_plan(load_suite("typical-12")[0], Options(only=(name,)))
    stopping, chance = Stopping(point, 0), random.Random(1)
    series = [second(round(3400 * (1 - 0.02 * now / 60) * chance.gauss(1, 0.01))) for now in range(300)]
    ended = next((now for now, one in enumerate(series, 1) if stopping.enough(one)), len(series))
    assert (ended > 30) is moves


def ended_after(point: Point, cache_bytes: int | None, written_bytes: int) -> tuple[int, Stopping]:
    """Seconds until a point that is steady to the last I/O ends, writing so much each second."""
    stopping = Stopping(point, cache_bytes)
    for now in range(1, point.runtime_ns // 10**9):
        if stopping.enough(second(written_bytes=written_bytes)):
            return now, stopping
    return point.runtime_ns // 10**9, stopping


def checks(stopping: Stopping, seconds: int = 20) -> list[str]:
    return [check for check, *_ in stopping.findings(stopping.judged([second()] * seconds))]


def test_a_point_that_writes_goes_on_until_twice_the_cache_is_written() -> None:
    seconds, stopping = ended_after(oltp(), cache_bytes=50_000, written_bytes=1000)
    assert (seconds, stopping.ended_by) == (100, "precision")
    assert checks(stopping) == []


def test_a_cache_that_the_run_time_is_too_short_to_fill_doesnt_keep_a_point_going_but_is_said() -> None:
    seconds, stopping = ended_after(oltp(), cache_bytes=10**6, written_bytes=1000)
    assert (seconds, stopping.ended_by) == (12, "precision")
    assert checks(stopping) == ["write-cache"]


def test_a_cache_that_is_filled_once_but_not_twice_keeps_a_point_going_to_its_run_time() -> None:
    seconds, stopping = ended_after(oltp(), cache_bytes=200_000, written_bytes=1000)
    assert (seconds, stopping.ended_by) == (300, "runtime")
    assert checks(stopping) == ["write-cache"]


def test_an_unknown_cache_is_said_of_points_that_write_and_end_before_their_time() -> None:
    assert checks(ended_after(oltp(), None, 1000)[1]) == ["write-cache"]
    assert checks(ended_after(replace(oltp(), precision_fraction=None), None, 1000)[1]) == []


def test_no_cache_keeps_nothing_going() -> None:
    seconds, stopping = ended_after(oltp(), 0, 1000)
    assert (seconds, checks(stopping)) == (12, [])


def test_warm_up_doesnt_count() -> None:
    stopping = Stopping(oltp(), 0)
    assert not any(stopping.enough(replace(second(), warmup=True)) for _ in range(100))
    assert stopping.ci95_fraction is None


def test_a_point_that_isnt_steady_runs_to_its_end_and_is_judged_so() -> None:
    stopping = Stopping(oltp(), 0)
    falling = [second(1000 - 5 * now) for now in range(150)]
    assert not any(stopping.enough(one) for one in falling)
    judged = stopping.judged(falling)
    assert judged.steady is False
    assert [check for check, *_ in stopping.findings(judged)] == ["precision"]


def test_a_fixed_time_is_judged_too_and_leaves_nothing_out() -> None:
    stopping = Stopping(replace(oltp(), precision_fraction=None), 0)
    cliff = [second(1000 if now < 10 else 500) for now in range(60)]
    assert not any(stopping.enough(one) for one in cliff)
    judged = stopping.judged(cliff)
    assert (judged.skipped, judged.steady) == (0, False)
    assert Stopping(oltp(), 0).judged(cliff).skipped > 10


@pytest.mark.parametrize(
    ("settings", "cache_bytes"),
    [((), 108 << 20), (("cache.mode=off",), 0), (("cache.write=1MiB",), 1 << 20), (("pool.write_cache=true",), None)],
)
def test_the_write_cache_of_an_emulated_array_is_known_from_its_description(
    settings: tuple[str, ...], cache_bytes: int | None
) -> None:
    assert emulate.describe("dl360-g6-p410i", settings).write_cache_bytes == cache_bytes


def test_where_an_array_does_not_say_whether_its_drives_buffer_writes_the_drive_does(tmp_path: Path) -> None:
    text = load_system("dl360-g6-p410i").text
    assert "write_cache = false\n" in text
    path = tmp_path / "array.toml"
    path.write_text(text.replace("write_cache = false\n", ""))
    assert emulate.describe(str(path)).write_cache_bytes == 108 << 20
    assert emulate.describe(str(path), ("pool.drive=sata-7k2-1tb",)).write_cache_bytes is None


def test_a_cache_that_is_no_size_is_refused(loadline: Loadline) -> None:
    said = loadline("run", reads(loadline.folder), loadline.folder, "--cache", "much")
    assert said.code == InputError.exit_code
    assert "--cache: 'much'" in said.err


def test_fio_is_ended_once_the_figures_are_good_enough_and_they_are_kept(loadline: Loadline) -> None:
    station = loadline.folder / "server.toml"
    station.write_text(STATION)
    path = reads(loadline.folder, runtime="100s")
    said = loadline("run", path, f"emulated:{station}", "--size", "64M", "--precision", "20%", "--json")
    assert said.code == 0, said.err
    (row,) = said.json["results"]
    assert (row["ended_by"], row["steady"], row["error"]) == ("precision", True, None)
    assert 10e9 < row["runtime_ns"] < 100e9
    assert 0 < row["iops_ci95"] < 0.2 * row["iops"]
    assert 0 < row["latency_mean_ci95_ns"] < 0.2 * row["latency_mean_ns"]
    assert not [finding for finding in row["findings"] if finding["check"] == "tool-output"]
    assert "about 12 s to 1 min 40 s" in said.err
    (plan,) = json.loads((loadline.runs()[0] / "run.json").read_text())["points"]
    assert plan["precision_fraction"] == 0.2
