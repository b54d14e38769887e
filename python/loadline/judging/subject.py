"""A row as checks see it: its figures, what was asked, its set-up, how finely its figures are known."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from loadline.judging.setup import Setup
from loadline.result.schema import COLUMNS, Result
from loadline.result.series import PointSeries

MODELS = frozenset({"simulated", "solved", "rule"})


@dataclass(frozen=True)
class Subject:
    """One row, in its table.

    Attributes:
        number: place in the table.
        setup: what is known of what answered.
        series: by the second or so, if it's at hand.
        facts: of the run that the row is of, its run.json.
    """

    row: Result
    number: int
    setup: Setup = Setup()
    series: PointSeries | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def streams(self) -> list[Mapping[str, Any]]:
        """What was asked for, stream by stream; parts may be missing."""
        asked = self.row.workload
        found = asked if isinstance(asked, list) else [asked]
        return [
            stream
            for stream in found
            if isinstance(stream, Mapping) and isinstance(stream.get("profile") or {}, Mapping)
        ]

    def _profile(self, name: str) -> Any:
        values = [(stream.get("profile") or {}).get(name) for stream in self.streams]
        return values[0] if values and all(value == values[0] for value in values) else None

    @cached_property
    def sizes(self) -> list[tuple[int, float]]:
        """Block sizes in bytes with their shares; empty where they aren't known, or streams differ."""
        block = self._profile("block") or ()
        try:
            return [(int(part["size_bytes"]), float(part["share_fraction"])) for part in block]
        except (KeyError, TypeError, ValueError):
            return []

    @cached_property
    def size_bytes(self) -> float | None:
        """Mean size of a request."""
        return sum(size * share for size, share in self.sizes) or None

    @cached_property
    def read_fraction(self) -> float | None:
        """Asked share of reads."""
        return _real(self._profile("read_fraction"))

    @cached_property
    def random_fraction(self) -> float | None:
        """Asked share of random requests."""
        return _real(self._profile("random_fraction"))

    @cached_property
    def working_set_bytes(self) -> float | None:
        """What is touched, where it's asked for in bytes or the capacity is known."""
        size, share = _real(self._profile("working_set_bytes")), _real(self._profile("working_set_fraction"))
        if size is None and share is not None and self.setup.capacity_bytes:
            return share * self.setup.capacity_bytes
        return size

    @cached_property
    def start(self) -> tuple[str, float] | None:
        """Where it begins: `bytes` or `fraction` of the target, and how many; None where that isn't asked."""
        for unit in ("bytes", "fraction"):
            if self._profile(f"start_{unit}") is not None:
                value = _real(self._profile(f"start_{unit}"))
                return None if value is None else (unit, value)
        return None

    @cached_property
    def waits(self) -> bool:
        """Whether something beside I/Os takes time: pauses, flushes that latency leaves out."""
        return any(self._any(name) for name in ("think_time_ns", "flush_every"))

    def _any(self, name: str) -> bool:
        return any((stream.get("profile") or {}).get(name) for stream in self.streams)

    @cached_property
    def closed(self) -> int | None:
        """Outstanding I/Os asked of a closed load; 0 ask for nothing, so they say nothing."""
        return (self.row.outstanding_asked or None) if self.row.offered_per_s is None else None

    @property
    def measured(self) -> bool:
        """Whether it happened, rather than was computed."""
        return self.row.origin not in MODELS

    @property
    def derived(self) -> bool:
        """Whether the rate is only told in bytes, so that I/Os a second follow from the block size."""
        return self.row.total.iops is None and bool(self.row.total.bytes_per_s) and self.size_bytes is not None

    @cached_property
    def iops(self) -> float | None:
        """I/Os a second, derived where they aren't told; None where nothing tells them."""
        if self.derived:
            return (self.row.total.bytes_per_s or 0.0) / (self.size_bytes or 1.0)
        return self.row.total.iops

    @cached_property
    def ios(self) -> float | None:
        """I/Os counted."""
        if self.iops is None or self.row.runtime_ns is None:
            return None
        return self.iops * self.row.runtime_ns / 1e9

    @cached_property
    def latency_ns(self) -> float | None:
        """Mean response of all, from its parts if it isn't told; None where that takes more than is known."""
        row = self.row
        if row.total.latency_mean_ns is not None:
            return row.total.latency_mean_ns
        parts = [
            (flow.iops, flow.latency_mean_ns)
            for flow, share in ((row.read, self.read_fraction), (row.write, _rest(self.read_fraction)))
            if share != 0
        ]
        known = [(rate, mean) for rate, mean in parts if rate is not None and mean is not None]
        if len(known) < len(parts) or not sum(rate for rate, _ in known):
            return None
        return sum(rate * mean for rate, mean in known) / sum(rate for rate, _ in known)

    def coarseness(self, *columns: str) -> float:
        """Half a step of the last printed digit, relative and summed: by how much a product may be off by rounding."""
        steps: Any = self.row.provenance.get("steps")
        found = 0.0
        for column in columns if steps else ():
            value, step = _FIGURES[column].of(self.row), steps.get(column)
            if value and isinstance(step, int | float):
                found += step / 2 / abs(value)
        return found


_FIGURES = {column.name: column for column in COLUMNS}


def like(subjects: Sequence[Subject], key: Any) -> list[list[Subject]]:
    """Subjects with the same `key`, of which there are several, in the table's order; a key of None is like none."""
    groups: dict[Any, list[Subject]] = {}
    for subject in subjects:
        of = key(subject)
        if of is not None:
            groups.setdefault(of, []).append(subject)
    return [group for group in groups.values() if len(group) > 1]


def _real(value: object) -> float | None:
    """What is a finite number of 0 or above."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= sys.float_info.max:
        return None
    return float(value)


def _rest(share: float | None) -> float | None:
    return None if share is None else 1 - share
