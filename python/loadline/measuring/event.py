"""What a run says of itself while it goes on; a display or a log takes these one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from loadline.measuring.preparing import Preparation
from loadline.measuring.target import Target
from loadline.result.schema import Result
from loadline.workload.plan import Point


@dataclass(frozen=True, slots=True)
class Planned:
    """Before anything is touched: what will be done to the target.

    `written_at_most_bytes` is a ceiling by the link's rate, or by an assumed one where sysfs names none.
    """

    suite: str
    target: Target
    points: tuple[Point, ...]
    expected_ns: int
    preparation: Preparation
    destroys: bool
    written_at_most_bytes: int
    ceiling_bytes_per_s: float
    ceiling_assumed: bool


@dataclass(frozen=True, slots=True)
class Started:
    """The run folder exists."""

    run: str
    path: Path
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Preparing:
    """The target is being filled; `remaining_ns` is None until a rate is known."""

    done_bytes: int
    total_bytes: int
    remaining_ns: int | None


@dataclass(frozen=True, slots=True)
class PointStarted:
    """Point `number` (from 1) of `total` begins."""

    number: int
    total: int
    name: str
    expected_ns: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The last interval of the point in progress; figures are None while nothing has completed."""

    number: int
    total: int
    name: str
    elapsed_ns: int
    expected_ns: int
    warmup: bool
    iops: float | None
    bytes_per_s: float | None
    latency_mean_ns: float | None


@dataclass(frozen=True, slots=True)
class PointFinished:
    """The point is committed; a failed one has `result.error`."""

    number: int
    total: int
    result: Result


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that the user should know, as a sentence."""

    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The session is over."""

    run: str
    path: Path
    failed: int


Event: TypeAlias = Planned | Started | Preparing | PointStarted | Progress | PointFinished | Warned | Finished
Listener: TypeAlias = Callable[[Event], None]
