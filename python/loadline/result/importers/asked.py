"""What was asked of an imported row, as far as it's known, and the parts of a row that say it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from loadline.errors import InputError
from loadline.result.schema import Result
from loadline.units import parse_bytes, parse_duration, parse_fraction, parse_rate
from loadline.workload.profile import Open, Workload, access_class
from loadline.workload.suite import load_suite, nearest


@dataclass(frozen=True, slots=True)
class Asked:
    """The load; None and empty where nobody says.

    Attributes:
        block: sizes in bytes with their shares.
        guests: machines that each make the load of `jobs` (virtual machines, say).
        outstanding: of all together; else `queue_depth` x `jobs` x `guests`.
    """

    block: tuple[tuple[int, float], ...] = ()
    read_fraction: float | None = None
    random_fraction: float | None = None
    working_set_bytes: int | None = None
    working_set_fraction: float | None = None
    queue_depth: int | None = None
    jobs: int | None = None
    guests: int | None = None
    outstanding: int | None = None
    rate_per_s: float | None = None
    think_time_ns: int | None = None
    flush_every: int | None = None
    runtime_ns: int | None = None
    warmup_ns: int | None = None
    hosts: int | None = None

    def over(self, other: Asked) -> Asked:
        """This, and where it says nothing `other`."""
        if other == NOTHING:
            return self
        pairs = ((item.name, getattr(self, item.name), getattr(other, item.name)) for item in fields(Asked))
        return Asked(**{name: theirs if mine in (None, ()) else mine for name, mine, theirs in pairs})

    def put(self, result: Result, **named: Any) -> Result:
        """The row with what was asked in its columns, and with its names; what the row says itself stays."""
        jobs = None if self.jobs is None else self.jobs * (self.guests or 1)
        outstanding = self.outstanding
        if outstanding is None and self.queue_depth is not None and self.rate_per_s is None:
            outstanding = self.queue_depth * (jobs or self.guests or 1)
        total = result.total
        # Reads and writes in one row may be two tests. Where a mix was asked for they are one, and make the whole.
        if self.read_fraction is not None and 0 < self.read_fraction < 1:
            total = replace(
                total,
                iops=_known(total.iops, _sum(result.read.iops, result.write.iops)),
                bytes_per_s=_known(total.bytes_per_s, _sum(result.read.bytes_per_s, result.write.bytes_per_s)),
            )
        return replace(
            result,
            total=total,
            workload=self._workload(result.profile),
            access_class=None if self.random_fraction is None else access_class(self.random_fraction),
            hosts=_known(self.guests or self.hosts, result.hosts),
            jobs=_known(jobs, result.jobs),
            queue_depth=_known(self.queue_depth, result.queue_depth),
            outstanding_asked=_known(outstanding, result.outstanding_asked),
            offered_per_s=_known(self.rate_per_s, result.offered_per_s),
            runtime_ns=_known(result.runtime_ns, self.runtime_ns),
            warmup_ns=_known(result.warmup_ns, self.warmup_ns),
            **named,
        )

    def _workload(self, name: str | None) -> dict[str, Any] | None:
        profile: dict[str, Any] = {
            "block": [{"size_bytes": size, "share_fraction": share} for size, share in self.block] or None,
            "read_fraction": self.read_fraction,
            "random_fraction": self.random_fraction,
            "working_set_bytes": self.working_set_bytes,
            "working_set_fraction": self.working_set_fraction,
            "think_time_ns": self.think_time_ns,
            "flush_every": self.flush_every,
        }
        arrival = {"queue_depth": self.queue_depth, "jobs": self.jobs, "rate_per_s": self.rate_per_s}
        profile = {key: value for key, value in profile.items() if value is not None}
        arrival = {key: value for key, value in arrival.items() if value is not None}
        if not profile and not arrival:
            return None
        return {"profile": {"name": name, **profile}, "arrival": arrival}


#: Nothing is said.
NOTHING = Asked()


def _sum(read: float | None, write: float | None) -> float | None:
    return None if read is None or write is None else read + write


def _known(value: Any, other: Any) -> Any:
    return other if value is None else value


_NUMBERS = {"queue_depth", "jobs", "guests", "outstanding", "hosts"}
_READERS: Mapping[str, Any] = {
    "read": ("read_fraction", lambda text: float(parse_fraction(text))),
    "random": ("random_fraction", lambda text: float(parse_fraction(text))),
    "working_set": ("working_set_bytes", parse_bytes),
    "rate": ("rate_per_s", parse_rate),
    "runtime": ("runtime_ns", parse_duration),
    "warmup": ("warmup_ns", parse_duration),
    "block": ("block", lambda text: ((parse_bytes(text), 1.0),)),
}
KEYS = (*_READERS, *sorted(_NUMBERS))


@dataclass(frozen=True, slots=True)
class Loads:
    """What was asked of all rows, and of those that are named after a suite's profiles."""

    whole: Asked = Asked()
    by_name: Mapping[str, Asked] = field(default_factory=dict)

    def of(self, profile: str | None) -> Asked:
        """For a row of that name: `File Server` is the profile `file-server`."""
        named = self.by_name.get(re.sub(r"[^a-z0-9]+", "-", (profile or "").lower()).strip("-"))
        return self.whole if named is None else self.whole.over(named)


def parse_loads(words: Sequence[str]) -> Loads:
    """What `--workload` says: `KEY=VALUE` words, or the name of a workload.

    A name is a suite's profile (`typical-12/oltp-db`), a suite, whose profiles are those of rows with their names, or
    HCIBench's.

    Raises:
        InputError: an unknown key or name, or a value that can't be.
    """
    whole, by_name = Asked(), dict[str, Asked]()
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            whole = _pair(key.strip(), value.strip(), word).over(whole)
            continue
        named = _named(word)
        if len(named) == 1:
            whole = whole.over(*named.values())
        else:
            by_name |= named
    return Loads(whole, by_name)


def _pair(key: str, value: str, word: str) -> Asked:
    if key in _NUMBERS:
        if not value.isdigit() or not 0 < int(value) < 10**7:
            raise InputError(f"--workload {word}: {value!r} is not a whole number from 1 on", "Write it like jobs=8.")
        number: Any = {key: int(value)}
        return Asked(**number)
    if key not in _READERS:
        remedy = nearest(key, list(KEYS), f"Keys: {', '.join(KEYS)}.")
        raise InputError(f"--workload {word}: {key!r} isn't known", remedy)
    name, read = _READERS[key]
    try:
        if key == "working_set" and value.endswith("%"):
            return Asked(working_set_fraction=float(parse_fraction(value)))
        return Asked(**{name: read(value)})
    except InputError as error:
        raise InputError(f"--workload {word}: {error.message}", error.remedy) from None


def _named(word: str) -> dict[str, Asked]:
    """A suite's profiles by their names, or the one behind a `/`."""
    name, slash, profile = word.partition("/")
    known = not Path(word).exists() and slash
    suite, _ = load_suite(name if known else word)
    entries = [entry for entry in suite.entries if not known or entry.name == profile]
    if not entries:
        names = [entry.name for entry in suite.entries]
        raise InputError(
            f"--workload {word}: no profile {profile!r} in it", nearest(profile, names, "Look at the suite.")
        )
    return {entry.name: of_workload(entry.loads[0][0]) for entry in entries if len(entry.loads[0]) == 1}


def of_workload(workload: Workload) -> Asked:
    """What a workload asks."""
    profile, arrival = workload.profile, workload.arrival
    return Asked(
        block=tuple((part.size_bytes, part.share_fraction) for part in profile.block),
        read_fraction=profile.read_fraction,
        random_fraction=profile.random_fraction,
        working_set_bytes=profile.working_set_bytes,
        working_set_fraction=profile.working_set_fraction,
        queue_depth=arrival.queue_depth,
        jobs=arrival.jobs,
        rate_per_s=arrival.rate_per_s if isinstance(arrival, Open) else None,
        think_time_ns=profile.think_time_ns,
        flush_every=profile.flush_every,
    )
