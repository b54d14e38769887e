"""Places of one target that are read in sequence: one that falls out, and where it gets faster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from loadline.judging.checks.steady import SHORTEST_NS
from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject, like
from loadline.units import short

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
        at = {start: subject for subject in group if (start := subject.start)}
        # Those in bytes and those in shares of the target have no order.
        if len(at) < max(FEWEST, len(group)) or len({unit for unit, _ in at}) > 1:
            continue
        places = [at[start] for start in sorted(at)]
        usual: list[Subject] = []
        for number, subject in enumerate(places):
            beside = _beside((usual or places[:number])[-BESIDE:], places[number + 1 : number + 1 + BESIDE])
            if _iops(subject) + _half_width(subject) < (1 - APART) * beside:
                yield subject, _fallen_out(_iops(subject), beside)
            else:
                usual.append(subject)
        yield from _jumps(usual)


def _beside(before: Sequence[Subject], after: Sequence[Subject]) -> float:
    """What is usual at a place: what those after it are, or if that's slower, where those before it lead.

    After it the better one counts, for one of the two may have fallen out, too; where none is before it, the slower.
    Before it the straight line through two, unless it rises: a disk loses the more the nearer its inner edge.
    """
    if not before:
        return min(map(_iops, after))
    last = _iops(before[-1])
    return min([last, 2 * last - _iops(before[0]), *([max(map(_iops, after))] if after else [])])


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
                f"{short(fast)} I/Os a second from here on, {short(slow)} before: another disk or partition begins, or"
                " what lies before is slow"
            )
            numbers = {"iops_before": slow, "iops_from_here": fast}
            yield (
                places[number],
                Doubt(
                    "note", message, "Measure each disk by itself; on one disk, look at its own log (SMART).", numbers
                ),
            )


def _load(subject: Subject) -> str | None:
    """What the places of one target have in common; None of a row that is of none."""
    row, several = subject.row, (subject.setup.drives or 1) > 1
    # Of several drives the rate hangs on how they stand to each other, too; modelled systems have no such places.
    if several or row.system or len(subject.streams) != 1 or subject.random_fraction != 0 or subject.start is None:
        return None
    # Nobody knows how far so short a look is off.
    if row.iops_ci95 is None and (row.quick or (row.runtime_ns or SHORTEST_NS) < SHORTEST_NS):
        return None
    stream = subject.streams[0]
    same = {key: value for key, value in stream["profile"].items() if key not in _ITS_OWN}
    run = [row.run, row.target, row.repeat, row.role, dict(row.tags)]
    return json.dumps([run, same, stream.get("arrival")], sort_keys=True)


# Of a profile, what says which place it is.
_ITS_OWN = {"name", "analysis", "start_fraction", "start_bytes"}


def _iops(subject: Subject) -> float:
    return subject.iops or 0.0


def _half_width(subject: Subject) -> float:
    return subject.row.iops_ci95 or 0.0
