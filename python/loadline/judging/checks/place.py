"""Places of one target that are read in sequence: one that falls out, and where another disk begins."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt, short
from loadline.judging.subject import Subject, like

NAME = "place"

#: A place that falls out is so much slower than those beside it, another disk so much faster. One disk loses about half
#: of its rate from edge to edge, of which each of twenty places has some percent.
APART = 0.15
#: Places on each side of a place, which it's compared with.
BESIDE = 2
#: Fewer places say too little of what is usual.
FEWEST = 5


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Sequential rows of one run that differ in nothing but where they begin, of a disk or what is taken for one."""
    for group in like([subject for subject in subjects if subject.row.error is None and subject.iops], _load):
        places = sorted(group, key=lambda subject: _start(subject) or 0.0)
        if len({_start(subject) for subject in places}) < max(FEWEST, len(places)):
            continue
        usual = []
        for number, subject in enumerate(places):
            beside = _beside(places, number)
            if _iops(subject) + _half_width(subject) < (1 - APART) * beside:
                yield subject, _fallen_out(_iops(subject), beside)
            else:
                usual.append(subject)
        yield from _jumps(usual)


def _beside(places: Sequence[Subject], number: int) -> float:
    """What is usual at a place: of its two sides the slower, each as fast as the better of its places."""
    before, after = places[max(0, number - BESIDE) : number], places[number + 1 : number + 1 + BESIDE]
    if before and after:
        return min(max(map(_iops, before)), max(map(_iops, after)))
    return min(map(_iops, before or after))


def _fallen_out(iops: float, beside: float) -> Doubt:
    message = (
        f"{1 - iops / beside:.0%} slower than the places beside it: sectors that were moved, or others at work there"
    )
    remedy = "Measure it again, and look at the disk's own log (SMART) and at who else uses it."
    return Doubt("warning", message, remedy, {"iops": iops, "iops_beside": beside})


def _jumps(places: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Where it gets faster towards the inner edge, which one disk never does."""
    for number in range(BESIDE, len(places) - BESIDE + 1):
        before, after = places[number - BESIDE : number], places[number : number + BESIDE]
        slow, fast = max(map(_iops, before)), min(map(_iops, after))
        half_width = max(map(_half_width, [*before, *after]))
        if (1 - APART) * (fast - half_width) > slow:
            message = (
                f"{short(fast)} I/Os a second from here on, {short(slow)} before: another disk or partition begins"
            )
            numbers = {"iops_before": slow, "iops_from_here": fast}
            yield places[number], Doubt("note", message, "Measure each disk by itself.", numbers)


def _load(subject: Subject) -> str | None:
    """What the places of one target have in common; None of a row that is of none."""
    row, several = subject.row, (subject.setup.drives or 1) > 1
    # Of several drives the rate hangs on how they stand to each other, too; modelled systems have no such places.
    if several or row.system or len(subject.streams) != 1 or subject.random_fraction != 0 or _start(subject) is None:
        return None
    stream = subject.streams[0]
    same = {key: value for key, value in stream["profile"].items() if key not in _ITS_OWN}
    run = [row.run, row.target, row.repeat, row.role, dict(row.tags)]
    return json.dumps([run, same, stream.get("arrival")], sort_keys=True)


# Of a profile, what says which place it is.
_ITS_OWN = {"name", "analysis", "start_fraction", "start_bytes"}


def _start(subject: Subject) -> float | None:
    """Where it begins, in bytes or as a share of the target; None if that isn't known."""
    profile = subject.streams[0].get("profile") or {}
    start = profile.get("start_bytes")
    return profile.get("start_fraction") if start is None else start


def _iops(subject: Subject) -> float:
    return subject.iops or 0.0


def _half_width(subject: Subject) -> float:
    return subject.row.iops_ci95 or 0.0
