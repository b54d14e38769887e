"""When a target is filled again: on flash, where random writes would have a sequential point meet another device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from cli.program import Loadline
from devices import loop_device, needs_root
from measuring.suites import suite

from loadline.host.device import BlockDevice, block_device
from loadline.measuring.preparing import refills
from loadline.measuring.target import Target
from loadline.workload.order import arranged
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import load_suite

MIB = 1024**2


class Disk:
    """All of a device that the rule looks at."""

    def __init__(self, rotational: bool | None) -> None:
        self.rotational = rotational


def target(rotational: bool | None = False, kind: Literal["device", "nbd"] = "device") -> Target:
    device: BlockDevice | None = Disk(rotational) if kind == "device" else None  # type: ignore[assignment]
    return Target("x", kind, Path("/dev/x"), MIB, MIB, 512, device, {})


def points(tmp_path: Path, *profiles: str) -> tuple[Point, ...]:
    return make_plan(load_suite(str(suite(tmp_path, *profiles)))[0], Options(), seed=1)


def before(plan: tuple[Point, ...], one: Target, *, filled: bool = True) -> list[int]:
    return refills(plan, range(len(plan)), 0, one, filled=filled)


def test_flash_is_filled_again_before_a_sequential_point_that_random_writes_precede(tmp_path: Path) -> None:
    plan = points(tmp_path, "scatter 4k 0% 100%", "stream 64k 100% 0%", "again 64k 100% 50%", "log 4k 0% 0%")
    assert before(plan, target()) == [1]
    twice = arranged(plan, "suite", repeats=2, targets=1, seed=1)
    assert before(twice, target()) == [1, 5]


def test_what_isnt_known_to_lie_in_order_is_filled_before_the_first_sequential_point(tmp_path: Path) -> None:
    plan = points(tmp_path, "stream 64k 100% 0%", "scatter 4k 0% 100%")
    assert before(plan, target(), filled=True) == []
    assert before(plan, target(), filled=False) == [0]


def test_without_random_writes_or_sequential_points_nothing_is_filled_again(tmp_path: Path) -> None:
    assert before(points(tmp_path, "a 4k 100% 100%", "b 64k 100% 0%", "c 64k 0% 0%"), target(), filled=False) == []
    assert before(points(tmp_path, "a 4k 0% 100%", "b 4k 70% 100%"), target(), filled=False) == []


def test_disks_that_rotate_and_what_nothing_is_known_of_are_left_alone(tmp_path: Path) -> None:
    plan = points(tmp_path, "scatter 4k 0% 100%", "stream 64k 100% 0%")
    for one in (
        target(rotational=True),
        target(rotational=None),
        target(kind="nbd"),
        replace(target(), shows="nbd://h"),
    ):
        assert before(plan, one, filled=False) == []


def test_targets_in_turn_are_counted_apart(tmp_path: Path) -> None:
    plan = arranged(
        points(tmp_path, "scatter 4k 0% 100%", "stream 64k 100% 0%"), "interleaved", repeats=1, targets=2, seed=1
    )
    assert [refills(plan, range(4), number, target(), filled=True) for number in (0, 1)] == [[2], [3]]


@pytest.mark.root
class TestOnDevices:
    pytestmark = needs_root

    def test_the_plan_says_how_often_and_the_device_is_filled_so_often(
        self, loadline: Loadline, tmp_path: Path
    ) -> None:
        path = suite(tmp_path, "scatter 4k 0% 100%", "stream 64k 100% 0%", runtime="200ms")
        with loop_device(tmp_path / "backing", 16 * MIB) as device:
            Path(f"/sys/block/{device.name}/queue/rotational").write_text("0")
            assert block_device(device).rotational is False
            once = loadline("run", path, device, "--destroy", device)
            twice = loadline("run", path, device, "--destroy", device, "--repeat", "2")
        assert (once.code, twice.code) == (0, 0), twice.err
        assert "refill" not in once.err
        assert "refill   16.8 MB before 2 points with a sequential part" in twice.err
        assert twice.err.count("filled   ") == 2

    def test_rounds_begin_on_a_device_that_was_never_written_and_other_points_on_a_filled_one(
        self, loadline: Loadline, tmp_path: Path
    ) -> None:
        with loop_device(tmp_path / "backing", 16 * MIB) as device:
            fast = ("run", "snia-pts", device, "--destroy", device, "--runtime", "200ms", "--warmup", "0s")
            fresh = loadline(*fast, "--profile", "write-saturation", "--no-prepare")
            blocks = (tmp_path / "backing").stat().st_blocks
        with loop_device(tmp_path / "other", 16 * MIB) as device:
            path = suite(tmp_path, "scatter 4k 0% 100%", runtime="200ms")
            filled = loadline("run", path, device, "--destroy", device)
        assert fresh.code == 0, fresh.err
        assert blocks and "prepare" not in fresh.err and "filled" not in fresh.err
        assert "prepare" in filled.err and "filled" in filled.err
