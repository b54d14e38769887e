"""The nearest points that a job file can say: for `export`. `run` never rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from loadline.workload.dialects.fio_job.write import share_of_each, whole_percent
from loadline.workload.dialects.text import Notes
from loadline.workload.plan import Point
from loadline.workload.profile import Workload

_SHARES = {
    "read_fraction": "reads",
    "random_fraction": "random requests",
    "compressible_fraction": "compressible data",
    "duplicate_fraction": "repeated data",
}


def nearest(points: Sequence[Point], size_bytes: int | None) -> tuple[tuple[Point, ...], Notes]:
    """Points whose shares, also those of a target of unknown size, are whole percents, and notes of what was rounded.

    Args:
        size_bytes: of the target, where it's known: parts of it are then said in bytes.
    """
    notes = Notes()
    rounded = tuple(
        replace(point, streams=tuple(_nearest(stream, size_bytes, point.name, notes) for stream in point.streams))
        for point in points
    )
    return rounded, notes


def _nearest(stream: Workload, size_bytes: int | None, name: str, notes: Notes) -> Workload:
    profile, changes = stream.profile, dict[str, Any]()
    for key, what in _SHARES.items():
        share = getattr(profile, key)
        if abs(share * 100 - round(share * 100)) > 1e-6:
            changes[key] = round(share * 100) / 100
            notes.add(f"fio takes whole percents: the share of {what} is rounded", name)
    share = share_of_each(stream)
    in_percent = size_bytes is None and profile.working_set_bytes is None and share is not None
    if in_percent and share is not None and share >= 0.01 and whole_percent(share) is None:
        jobs = stream.arrival.jobs if profile.random_fraction < 1 else 1
        changes["working_set_fraction"] = math.floor(share * 100) * jobs / 100
        each = " of each job" * (jobs > 1)
        notes.add(
            f"fio takes whole percents: the part{each} is {math.floor(share * 100)}% of the target instead of"
            f" {share * 100:.4g}% (--size says it in bytes)",
            name,
        )
    return replace(stream, profile=replace(profile, **changes)) if changes else stream
