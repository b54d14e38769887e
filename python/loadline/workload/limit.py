"""What a point may search for: the load line, the highest load under a limit; or the best of some depths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from loadline.errors import InputError
from loadline.units import parse_duration, quoted

Statistic: TypeAlias = Literal["mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max"]
Direction: TypeAlias = Literal["all", "reads", "writes"]

_REMEDY = f"Write it like 'mean<=30ms' or 'p99<=5ms of reads'. Known: {', '.join(get_args(Statistic))}."
# What people write instead: without a unit or a bound, `p99.9`, another sign.
_NEAR = re.compile(
    r"([a-z]+[0-9]*(?:\.[0-9]+)?)?\s*([<=≤:]*)\s*(?:([0-9]+(?:\.[0-9]+)?)\s*([a-zµ]*))?\s*(of\s+[a-z]+)?"
)
_ALIKE = {"avg": "mean", "average": "mean", "median": "p50", "maximum": "max", "p100": "max"}
_FORM = re.compile(r"\s*(?:([a-z0-9]+)\s*(<=|<))?\s*([0-9][0-9.]*\s*[a-zµ]+)(?:\s+of\s+([a-z]+))?\s*")


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition on response time: a statistic that may be at most `bound_ns`, or only below it where `strict`."""

    statistic: Statistic
    bound_ns: int
    of: Direction = "all"
    strict: bool = False

    def holds(self, response_ns: float) -> bool:
        """Whether the statistic's value, in ns, keeps the limit."""
        return response_ns < self.bound_ns if self.strict else response_ns <= self.bound_ns

    @property
    def figure(self) -> str:
        """The column of a row that it limits."""
        way = {"all": "", "reads": "read_", "writes": "write_"}[self.of]
        return f"{way}latency_{self.statistic}_ns"

    def __str__(self) -> str:
        """The text that `parse_limit` reads back: `mean<=30ms`, `p99<5ms of reads`."""
        factors = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
        unit, factor = next(pair for pair in factors if self.bound_ns % pair[1] == 0)
        of = "" if self.of == "all" else f" of {self.of}"
        return f"{self.statistic}{'<' if self.strict else '<='}{self.bound_ns // factor}{unit}{of}"


@dataclass(frozen=True, slots=True)
class Ramp:
    """The search for the highest load, from `low` to `high`, at which `limit` holds.

    Loads are whole numbers of outstanding I/Os of a closed arrival, or I/Os a second of an open one (`rate`).
    """

    limit: Limit
    axis: Literal["outstanding", "rate"]
    low: float
    high: float

    @staticmethod
    def from_json(data: dict[str, Any]) -> Ramp:
        """The ramp whose `asdict` this is. KeyError and TypeError mean that something else wrote it."""
        return Ramp(**{**data, "limit": Limit(**data["limit"])})

    def __str__(self) -> str:
        """For people: `1 to 4096 while mean<=30ms`; the numbers of an open ramp are rates."""
        per = "/s" if self.axis == "rate" else ""
        return f"{self.low:g}{per} to {self.high:g}{per} while {self.limit}"


@dataclass(frozen=True, slots=True)
class Best:
    """Several queue depths of which the best counts: the highest rate, or the lowest mean latency.

    Response is ignored where the rate counts, so that is saturation.
    """

    of: Literal["rate", "latency"]
    queue_depths: tuple[int, ...]

    @staticmethod
    def from_json(data: dict[str, Any]) -> Best:
        """The one whose `asdict` this is. KeyError and TypeError mean that something else wrote it."""
        return Best(data["of"], tuple(data["queue_depths"]))

    def __str__(self) -> str:
        """For people: `best rate of 1, 2, 4 ... 128`, of depths that double; of others all of them."""
        shown = list(map(str, self.queue_depths))
        if len(shown) > 4 and all(b == 2 * a for a, b in pairwise(self.queue_depths)):
            shown[2:] = [f"{shown[2]} ... {shown[-1]}"]
        return f"best {self.of} of {', '.join(shown)}"


def parse_limit(text: object) -> Limit:
    """The limit that a text such as `mean<=30ms`, `p99<5ms of reads` or `30ms` (the mean) says.

    Raises:
        InputError: not a limit, an unknown statistic, a time without a unit, or one of 0.
    """
    match = _FORM.fullmatch(text) if isinstance(text, str) and len(text) <= 64 else None
    if match is None:
        raise InputError(f"{quoted(text)} is not a limit on response time", _meant(text))
    statistic, sign, time, of = match.groups()
    if statistic not in (None, *get_args(Statistic)):
        raise InputError(f"{text!r}: {statistic!r} is not a statistic of response time", _meant(text))
    if of not in (None, "reads", "writes"):
        raise InputError(f"{text!r}: a limit is of reads, of writes or of both, not of {of!r}", _meant(text))
    bound_ns = parse_duration(time)
    if bound_ns == 0:
        raise InputError(f"{text!r} can hold for no load: every response takes time", _REMEDY)
    return Limit(statistic or "mean", bound_ns, of or "all", sign == "<")  # type: ignore[arg-type]


def _meant(text: object) -> str:
    """The remedy for what is no limit, with the limit that is nearest to it if there is one."""
    match = _NEAR.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if match is None or not (match[1] or match[3]):
        return _REMEDY
    said, sign, number, unit, of = match.groups()
    statistic = _ALIKE.get(said or "", (said or "").replace(".", ""))
    if statistic and statistic not in get_args(Statistic):
        near = get_close_matches(statistic, get_args(Statistic), 1)
        if not near:
            return _REMEDY
        statistic = near[0]
    left = f"{statistic}{'<' if sign == '<' else '<='}" if statistic else ""
    way = f" of {of.split()[-1].removesuffix('s')}s" if of else ""
    limit = f"{left}{number or 30}{unit or 'ms'}{way}"
    return f"Did you mean '{limit}'? {_REMEDY}" if limit != text and _is_limit(limit) else _REMEDY


def _is_limit(text: str) -> bool:
    form = _FORM.fullmatch(text)
    try:
        return form is not None and form[4] in (None, "reads", "writes") and parse_duration(form[3]) > 0
    except InputError:
        return False
