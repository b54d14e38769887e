"""What a run says of itself while it goes on; a display or a log takes these one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from loadline.measuring.preparing import Preparation
from loadline.measuring.target import Target
from loadline.result.schema import Flow, Result
from loadline.workload.order import Order
from loadline.workload.plan import Point


@dataclass(frozen=True, slots=True)
class Intended:
    """What will be done to a target.

    `refills` are the numbers of the points, from 0, before which it is filled again. `written_at_most_bytes` is a
    ceiling by the link's rate, or by an assumed one where sysfs names none.
    """

    target: Target
    preparation: Preparation
    refills: tuple[int, ...]
    destroys: bool
    written_at_most_bytes: int
    ceiling_bytes_per_s: float
    ceiling_assumed: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """Before anything is touched: what will be measured, in which order, and what will be done to each target.

    It takes `least_ns` to `expected_ns`, as its points become precise.
    """

    suite: str
    targets: tuple[Intended, ...]
    points: tuple[Point, ...]
    order: Order
    least_ns: int
    expected_ns: int

    @property
    def in_turn(self) -> bool:
        """Whether the targets are loaded one after the other, not at once."""
        return self.order == "interleaved"


@dataclass(frozen=True, slots=True)
class Started:
    """The run folder exists."""

    run: str
    path: Path
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Preparing:
    """A target is being filled; `remaining_ns` is None until a rate is known."""

    target: str
    done_bytes: int
    total_bytes: int
    remaining_ns: int | None


@dataclass(frozen=True, slots=True)
class PointStarted:
    """Point `number` (from 1) of `total` begins: which repetition it is, and of targets in turn on which."""

    number: int
    total: int
    name: str
    expected_ns: int
    repeat: int = 1
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The last interval of the point in progress: both directions together and each apart, host and device.

    Figures are None while nothing has completed, or nothing was sampled, and of open loads whose jobs sleep, of which
    fio says nothing before its end. `ci95_fraction` is how well IOPS and mean latency are known so far, where a
    precision may end the point.
    """

    number: int
    total: int
    name: str
    elapsed_ns: int
    expected_ns: int
    warmup: bool
    all: Flow
    read: Flow
    write: Flow
    cpu_fraction: float | None = None
    busy_fraction: float | None = None
    ci95_fraction: float | None = None


@dataclass(frozen=True, slots=True)
class PointFinished:
    """The point is committed; a failed one has `result.error`. `target` is that of targets in turn."""

    number: int
    total: int
    result: Result
    target: str | None = None


@dataclass(frozen=True, slots=True)
class ProbeFinished:
    """A probe of a search, or a round, of point `number` is committed; a failed one has `result.error`."""

    number: int
    total: int
    result: Result
    target: str | None = None


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


Event: TypeAlias = (
    Planned | Started | Preparing | PointStarted | Progress | ProbeFinished | PointFinished | Warned | Finished
)
Listener: TypeAlias = Callable[[Event], None]


def to_json(what: Event) -> dict[str, Any]:
    """The event as plain JSON types: its name with dashes, and its fields; flows are flat, as in a row."""
    name = type(what).__name__
    body: dict[str, Any] = {"event": "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")}
    for item in fields(what):
        value = getattr(what, item.name)
        match value:
            case Flow():
                prefix = "" if item.name == "all" else f"{item.name}_"
                body |= {f"{prefix}{part.name}": getattr(value, part.name) for part in fields(value)}
            case Result():
                body[item.name] = value.row()
            case tuple():
                body[item.name] = [one.name if isinstance(one, Point) else _intended(one) for one in value]
            case Path():
                body[item.name] = str(value)
            case _:
                body[item.name] = value
    return body


def _intended(what: Intended) -> dict[str, Any]:
    plain = {item.name: getattr(what, item.name) for item in fields(what)}
    return {**plain, "target": what.target.to_json(), "preparation": asdict(what.preparation)}


def from_json(body: Mapping[str, Any]) -> PointStarted | Preparing | Progress:
    """The event that `to_json` wrote, of those that a point in progress makes. KeyError and TypeError: another."""

    def flow(prefix: str) -> Flow:
        return Flow(**{part.name: body[f"{prefix}{part.name}"] for part in fields(Flow)})

    def plain(kind: type[Any]) -> dict[str, Any]:
        return {item.name: body[item.name] for item in fields(kind) if item.name not in {"all", "read", "write"}}

    match body["event"]:
        case "point-started":
            return PointStarted(**plain(PointStarted))
        case "preparing":
            return Preparing(**plain(Preparing))
        case "progress":
            return Progress(**plain(Progress), all=flow(""), read=flow("read_"), write=flow("write_"))
        case other:
            raise KeyError(other)
