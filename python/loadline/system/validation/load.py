"""Loads of comparisons, and the rates that systems reach under them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadline.result.schema import Result
from loadline.system.description import System, load_system
from loadline.system.effort import Effort
from loadline.system.pool import Listener
from loadline.system.simulate import answers
from loadline.workload.plan import Point
from loadline.workload.profile import BlockShare, Closed, Profile, Workload, access_class


@dataclass(frozen=True, slots=True)
class Asking:
    """How simulations are asked: I/Os of a point, the seed, and who hears of the progress."""

    ios: int = 40_000
    seed: int = 1
    threads: int | None = None
    listen: Listener | None = None

    def rows(self, asked: Sequence[tuple[System, Point]], precision_fraction: float | None = None) -> list[Result]:
        """The rows of every pair, in order; with a precision, of fewer I/Os where these reach it."""
        return answers(asked, None, Effort(self.ios, precision_fraction), self.threads, self.listen)


def described(name: str, **settings: str) -> System:
    """A system of the catalog with settings; in a key `__` stands for the dot."""
    system = load_system(name)
    pairs = tuple((key.replace("__", "."), value) for key, value in settings.items())
    return System(system.name, system.text, system.path, pairs)


def point(
    block_bytes: int,
    read_fraction: float,
    random_fraction: float,
    outstanding: int,
    working_set_bytes: int | None = None,
    jobs: int = 1,
    seed: int = 1,
) -> Point:
    """A closed load of one block size over the first bytes of a volume, or over all of it."""
    name = f"{block_bytes}-{read_fraction:g}-{random_fraction:g}-{outstanding}"
    profile = Profile(
        name,
        (BlockShare(block_bytes, 1.0),),
        read_fraction,
        random_fraction,
        access_class(random_fraction),
        working_set_bytes=working_set_bytes,
    )
    return Point(name, (Workload(profile, Closed(outstanding, jobs)),), runtime_ns=0, warmup_ns=0, seed=seed)


def rate_at_mean(ask: Callable[[int], tuple[float, float]], limit_ns: float, first: int, most: int) -> float:
    """The rate at which the mean response reaches a limit, between the two depths that enclose it.

    `ask` gives rate and mean response in ns for a depth. Depths double from `first` until the limit is passed, then the
    interval is halved three times and the rate interpolated: the load line to about 1 %, in few questions.
    """
    low, high = (0, (0.0, 0.0)), (first, ask(first))
    while high[1][1] <= limit_ns and high[0] < most:
        low, high = high, (2 * high[0], ask(2 * high[0]))
    for _ in range(3):
        middle = (low[0] + high[0]) // 2
        if middle == low[0]:
            break
        answer = middle, ask(middle)
        low, high = (answer, high) if answer[1][1] <= limit_ns else (low, answer)
    return high[1][0] if high[1][1] <= limit_ns else rate_between(low[1], high[1], limit_ns)


def rate_between(low: tuple[float, float], high: tuple[float, float], limit_ns: float) -> float:
    """The rate at which the mean response is at the limit, on a straight line through two loads' rate and mean in ns.

    The line goes on beyond them. Where the mean doesn't rise it's the second one's rate.
    """
    (rate_low, mean_low), (rate_high, mean_high) = low, high
    if mean_high <= mean_low:
        return rate_high
    return rate_low + (limit_ns - mean_low) / (mean_high - mean_low) * (rate_high - rate_low)
