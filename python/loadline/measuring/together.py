"""The targets of a run: found, told apart, judged before anything is touched, and held until the end.

Start reading at `locate`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from loadline.errors import InputError, RefusedError, TargetError
from loadline.host.roots import HERE, Roots
from loadline.measuring import emulate, target
from loadline.measuring.target import Target
from loadline.units import format_size
from loadline.workload.plan import Point

#: What a row of several targets together has for its target.
ALL = "*"

# More can only be a slip: a pattern of the shell's that matched too much.
_MOST = 256

# fio says 4,096, and needs some for itself.
_MOST_JOBS = 4000


def locate(
    names: Sequence[str], size_bytes: int | None, roots: Roots = HERE, settings: Sequence[str] = ()
) -> tuple[Target, ...]:
    """The targets of those names, each another one. Nothing is opened for writing.

    Args:
        size_bytes: how much of each is used; as of `target.locate`.
        settings: what to set in those that are emulated systems.

    Raises:
        InputError: none, too many, one twice, or one that `target.locate` doesn't take. TargetError: as there.
    """
    if not 1 <= len(names) <= _MOST:
        raise InputError(f"{len(names)} targets, and a run has from 1 to {_MOST}", "Name what is to be loaded.")
    emulated = any(name.startswith(emulate.PREFIX) for name in names)
    found = tuple(
        target.locate(name, size_bytes, roots, settings if name.startswith(emulate.PREFIX) or not emulated else ())
        for name in names
    )
    _check_apart(found)
    return found


def _check_apart(targets: Sequence[Target]) -> None:
    """Refuses what is one thing under two names, or a part of another target.

    Raises:
        InputError: with both names.
    """
    known: dict[object, Target] = {}
    for one in targets:
        for key in _keys(one):
            other = known.setdefault(key, one)
            if other is not one:
                again = "is named twice" if other.given == one.given else f"is the same as {other.given}"
                raise InputError(
                    f"target {one.given} {again}", "Name each target once; a run tells them apart by that."
                )
    disks = {one.device.name: one for one in targets if one.kind == "device" and one.device is not None}
    for one in targets:
        device = one.device
        above = None if device is None else disks.get(device.name if one.kind != "device" else device.whole or "")
        if above is not None and above is not one:
            what = "is a partition of" if one.kind == "device" else "lies on"
            raise InputError(f"target {one.given} {what} {above.given}, which is a target too", "Name one of the two.")


def _keys(one: Target) -> Iterator[object]:
    """What a thing is known by, under whatever name."""
    yield "label", one.label
    device = one.device
    if one.kind == "device" and device is not None:
        yield "number", device.number
        if device.wwid is not None:
            # Another path to the same unit.
            yield "wwid", device.wwid, device.partition, device.size_bytes
        if one.shows is not None:
            yield "server", one.shows
    elif one.kind in {"file", "directory"}:
        status = one.path.stat()
        yield "inode", status.st_dev, status.st_ino
    elif one.kind == "nbd":
        yield "server", one.uri


def check(targets: Sequence[Target], roots: Roots = HERE) -> list[str]:
    """Lets the guard judge every target; returns only if all may be used, with what could not be looked at.

    Raises:
        RefusedError: with the reasons against each one that is refused.
    """
    said: list[str] = []
    refused: list[RefusedError] = []
    for one in targets:
        try:
            said += target.check(one, roots)
        except RefusedError as error:
            refused.append(error)
    if refused:
        remedies = dict.fromkeys(line for error in refused for line in error.remedy.split("\n"))
        raise RefusedError("\n".join(error.message for error in refused), "\n".join(remedies))
    return said


def check_fits(points: Sequence[Point], targets: Sequence[Target]) -> None:
    """Whether every point can run on each target that it loads, and scratch files have room beside each other.

    Raises:
        InputError, TargetError: as of `target.check_fits`, which knows of one target only; rounds of several at once.
    """
    for point in points:
        if point.rounds is not None and point.target is None and len(targets) > 1:
            raise InputError(
                f"{point.name}: rounds are measured until one target is steady, and several are loaded at once",
                "Load them one after the other: --order interleaved.",
            )
        jobs = sum(stream.arrival.jobs for stream in point.streams) * (1 if point.target is not None else len(targets))
        if jobs > _MOST_JOBS and not point.shared:
            raise InputError(
                f"{point.name}: {jobs:,} jobs in all, and fio runs {_MOST_JOBS:,} at most",
                "Give fewer jobs and a larger queue_depth.",
            )
    for number, one in enumerate(targets):
        target.check_fits(tuple(point for point in points if point.target in {None, number}), one, len(targets))
    wanted: dict[int, list[Target]] = defaultdict(list)
    for one in targets:
        if one.kind == "directory":
            wanted[one.path.stat().st_dev].append(one)
    for several in wanted.values():
        room = os.statvfs(several[0].path)
        need_bytes = sum(one.used_bytes for one in several)
        if room.f_bavail * room.f_frsize < need_bytes:
            raise TargetError(
                f"directories {', '.join(one.given for one in several)} share a file system with"
                f" {format_size(room.f_bavail * room.f_frsize)} free; their scratch files need"
                f" {format_size(need_bytes)}",
                "Give a smaller --size, or other directories.",
            )


@contextmanager
def held(
    targets: Sequence[Target], *, writes: Sequence[bool], run_id: str, seed: int, roots: Roots = HERE
) -> Iterator[tuple[Target, ...]]:
    """The targets, exclusively ours until the end; each as `target.held` says, which may raise.

    Args:
        writes: of each target whether it will be written to.
    """
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(target.held(one, writes=write, run_id=run_id, seed=seed + number, roots=roots))
            for number, (one, write) in enumerate(zip(targets, writes, strict=True))
        )


def to_json(targets: Sequence[Target]) -> dict[str, Any]:
    """What run.json keeps: of several a summary under `target`, and each under `targets`."""
    each = [one.to_json() for one in targets]
    if len(each) == 1:
        return {"target": each[0]}
    sums = {key: sum(one[key] for one in each) for key in ("size_bytes", "used_bytes")}
    joined = {key: ", ".join(one[key] for one in each) for key in ("given", "path")}
    return {"target": {"kind": "several", **joined, **sums}, "targets": each}


def settings_of(targets: Sequence[Target]) -> Mapping[str, str]:
    """What was set in emulated systems, for the run's tags."""
    return {key: value for one in targets if one.emulated is not None for key, value in one.emulated.system.settings}
