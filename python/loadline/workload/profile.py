"""A Workload: a profile (what each request looks like) and an arrival (when requests come)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from loadline.units import format_bytes, format_percent, format_size

AccessClass: TypeAlias = Literal["combined", "random", "sequential"]

#: The order in which tables, charts and sentences have them.
CLASSES: tuple[str, ...] = ("random", "combined", "sequential")


@dataclass(frozen=True, slots=True)
class BlockShare:
    """One size of a mix: the share of requests that have it."""

    size_bytes: int
    share_fraction: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """How random addresses spread over the working set.

    `uniform`; `zipf` (theta) and `pareto` (h), skew as fio defines them; `normal` (standard deviation in percent
    of the range); `zoned` (`zones`: (share of accesses, share of space) in order of address). Except for `zoned`,
    how often blocks are asked for is skewed, while fio scatters the popular ones over the whole range.
    """

    kind: Literal["uniform", "zipf", "pareto", "normal", "zoned"] = "uniform"
    parameter: float | None = None
    zones: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """What requests look like.

    Attributes:
        block: sizes and their shares; the shares add up to 1.
        read_fraction: reads among all requests.
        random_fraction: requests at a random address; the others follow the last one of their direction.
        working_set_fraction, working_set_bytes: the part of the target that is touched; both None: all from the start.
        start_fraction, start_bytes: where that part begins; bytes, if given, count.
        compressible_fraction, duplicate_fraction: of the data written; 0 means incompressible and unique.
        flush_every: a flush (fdatasync) after that many writes; 0 for none.
        dsync: every write is O_DSYNC: complete only when it is on the medium.
        think_time_ns, burst: a pause of each job after `burst` of its requests, once none is outstanding.
    """

    name: str
    block: tuple[BlockShare, ...]
    read_fraction: float
    random_fraction: float
    access_class: AccessClass
    distribution: Distribution = Distribution()
    working_set_fraction: float | None = None
    working_set_bytes: int | None = None
    start_fraction: float = 0.0
    start_bytes: int | None = None
    compressible_fraction: float = 0.0
    duplicate_fraction: float = 0.0
    flush_every: int = 0
    dsync: bool = False
    think_time_ns: int = 0
    burst: int = 1
    analysis: str = ""

    @property
    def writes(self) -> bool:
        """Whether any request is a write."""
        return self.read_fraction < 1

    def block_text(self) -> str:
        """`8k`, or a mix as `512 10%, 4k 90%`."""
        if len(self.block) == 1:
            return format_bytes(self.block[0].size_bytes)
        return ", ".join(f"{format_bytes(b.size_bytes)} {format_percent(b.share_fraction)}" for b in self.block)

    def working_set_text(self) -> str:
        """`25%`, `1 TB from 50% on`, or nothing if all of the target is touched."""
        size = "" if self.working_set_fraction is None else format_percent(self.working_set_fraction)
        if self.working_set_bytes is not None:
            size = format_size(self.working_set_bytes)
        start = format_percent(self.start_fraction) if self.start_bytes is None else format_size(self.start_bytes)
        return f"{size or 'all'} from {start} on" if self.start_bytes or self.start_fraction else size

    def start_of(self, size_bytes: int) -> int:
        """Where on a target of that size the working set begins, in bytes: a share in whole blocks of the largest."""
        if self.start_bytes is not None:
            return self.start_bytes
        step = max(share.size_bytes for share in self.block)
        return round(size_bytes * self.start_fraction) // step * step

    def working_set_of(self, size_bytes: int) -> int:
        """Bytes of a target of that size that are meant to be touched, maybe more than there are behind the start."""
        if self.working_set_bytes is not None:
            return self.working_set_bytes
        if self.working_set_fraction is not None:
            return round(size_bytes * self.working_set_fraction)
        return max(0, size_bytes - self.start_of(size_bytes))

    def mix_text(self) -> str:
        """`70/30`: reads to writes, in percent."""
        shares = (self.read_fraction, 1 - self.read_fraction)
        return "/".join(format_percent(share).removesuffix("%") for share in shares)


@dataclass(frozen=True, slots=True)
class Closed:
    """Each of `jobs` keeps `queue_depth` requests outstanding: a new one is sent when one completes."""

    queue_depth: int
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Bursts:
    """How an open load swings between bursts at `times` its mean rate and the rest.

    A burst takes `length_ns` on average, from one to the next it is `every_ns`; bursts and what lies between them
    are exponentially distributed. Only models can be loaded so; fio can't.
    """

    times: float
    length_ns: int
    every_ns: int


@dataclass(frozen=True, slots=True)
class Open:
    """Requests come at random instants (Poisson), `rate_per_s` over all jobs, whatever is still outstanding.

    `queue_depth` a job is only the cap that the load generator needs. A job of fio sleeps between its requests, and
    waits for those that are outstanding before it does: the more jobs share the rate, the closer to an open load.
    """

    rate_per_s: float
    queue_depth: int
    jobs: int = 1
    bursts: Bursts | None = None


Arrival: TypeAlias = Closed | Open


@lru_cache(maxsize=256)
def _plain(profile: Profile) -> dict[str, Any]:
    """A profile as plain JSON types, worked out once: the rows of a sweep all have it."""
    return asdict(profile)


@dataclass(frozen=True, slots=True)
class Workload:
    """A profile with its arrival."""

    profile: Profile
    arrival: Arrival

    @property
    def outstanding(self) -> int:
        """Requests that may be outstanding at once."""
        return self.arrival.queue_depth * self.arrival.jobs

    @property
    def unshared(self) -> str | None:
        """Why many jobs can't share its rate on a target, so that each of its own has to send what is asked of it."""
        profile, arrival = self.profile, self.arrival
        if profile.random_fraction < 1:
            return "random is below 100%: each of many jobs would go in a sequence of its own"
        if profile.think_time_ns > 0:
            return "think_time: its jobs come when they are due"
        if profile.flush_every > 0:
            return "flush_every: each of many jobs would count its own writes"
        return "bursts: fio has none" if isinstance(arrival, Open) and arrival.bursts is not None else None

    def to_json(self) -> dict[str, Any]:
        """All parameters as plain JSON types; `from_json` is the inverse."""
        arrival = self.arrival
        if isinstance(arrival, Open):
            asked = {"kind": "open", **asdict(arrival)}
        else:
            asked = {"kind": "closed", "queue_depth": arrival.queue_depth, "jobs": arrival.jobs}
        return {"profile": dict(_plain(self.profile)), "arrival": asked}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Workload:
        """The workload that `to_json` wrote. KeyError, TypeError and ValueError mean that something else wrote it."""
        profile = dict(data["profile"])
        distribution = dict(profile["distribution"])
        distribution["zones"] = tuple((a, s) for a, s in distribution["zones"])
        profile["distribution"] = Distribution(**distribution)
        profile["block"] = tuple(BlockShare(**share) for share in profile["block"])
        arrival = dict(data["arrival"])
        kind, kinds = arrival.pop("kind"), {"open": Open, "closed": Closed}
        if kind not in kinds:
            raise ValueError(f"an arrival of kind {kind!r} can't be")
        if arrival.get("bursts") is not None:
            arrival["bursts"] = Bursts(**arrival["bursts"])
        return Workload(Profile(**profile), kinds[kind](**arrival))


def access_class(random_fraction: float) -> AccessClass:
    """The class that a share of random requests makes: all, none, or both kinds."""
    if random_fraction >= 1:
        return "random"
    return "combined" if random_fraction > 0 else "sequential"
