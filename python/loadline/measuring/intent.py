"""What a run intends to do, before anything is touched: how long it takes, what it writes, and what is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from loadline.host import provenance
from loadline.host.link import ceiling_bytes_per_s
from loadline.measuring import event, preparing, warming
from loadline.measuring.open_load import as_sent
from loadline.measuring.target import Target
from loadline.workload.order import Order
from loadline.workload.plan import Point
from loadline.workload.profile import Open

#: Assumed where sysfs names no link rate: four lanes of PCIe 4.
ASSUMED_CEILING_BYTES_PER_S = 8e9

#: Ours a point, beside its run time and warm-up: fio's start and end.
POINT_OVERHEAD_NS = 500_000_000


def plan(
    suite: str,
    aims: Sequence[Target],
    points: tuple[Point, ...],
    looked: Sequence[preparing.Preparation],
    order: Order,
    again: bool,
    turns: Sequence[int],
) -> event.Planned:
    """What is intended, of the points of the numbers `turns`; `again`: targets may have to be filled more than once."""

    def refills(number: int) -> tuple[int, ...]:
        if not again:
            return ()
        return tuple(preparing.refills(points, turns, number, aims[number], filled=looked[number].needed))

    again_at = [refills(number) for number in range(len(aims))]
    fills = [[number for number, before in enumerate(again_at) if index in before] for index in turns]
    left = warming.planned([points[index] for index in turns], len(aims), fills)
    sent = [as_sent(points[index], len(aims)) for index in turns]
    timed = warming.planned(sent, len(aims), fills)
    intended = tuple(
        _intended(aim, preparation, again_at[number], [point for point in timed if point.target in {None, number}])
        for number, (aim, preparation) in enumerate(zip(aims, looked, strict=True))
    )
    overhead_ns = POINT_OVERHEAD_NS * len(left)
    return event.Planned(
        suite=suite,
        targets=intended,
        points=left,
        order=order,
        least_ns=sum(point.least_ns for point in timed) + overhead_ns,
        expected_ns=sum(point.expected_ns for point in timed) + overhead_ns,
    )


def _intended(
    aim: Target, preparation: preparing.Preparation, refills: tuple[int, ...], points: Sequence[Point]
) -> event.Intended:
    ceiling = None if aim.device is None else ceiling_bytes_per_s(provenance.links(aim.device))
    rate = ceiling or ASSUMED_CEILING_BYTES_PER_S
    asked = [_asked_bytes_per_s(point) for point in points if point.writes]
    if asked and max(asked) < rate and not preparation.needed:
        ceiling, rate = None, max(asked)
    writing = sum(point.expected_ns / 1e9 * _written_bytes_per_s(point, rate) for point in points)
    whole = len(refills) + sum(each.fill for each in {point.rounds for point in points if point.rounds is not None})
    return event.Intended(
        target=aim,
        preparation=preparation,
        refills=refills,
        destroys=not aim.scratch and (preparation.needed or any(point.writes or fills(point) for point in points)),
        written_at_most_bytes=preparation.fill_bytes + whole * aim.used_bytes + int(writing),
        ceiling_bytes_per_s=rate,
        ceiling_assumed=ceiling is None,
    )


def fills(point: Point) -> bool:
    """Whether its rounds write the target before they begin."""
    return point.rounds is not None and point.rounds.fill > 0


def _written_bytes_per_s(point: Point, rate: float) -> float:
    """The most that the point can write over a link of that rate.

    Reads can't pass the link faster than its rate either, so a mix of 98/2 writes at most 2/98 of it.
    """
    reads = min(stream.profile.read_fraction for stream in point.streams)
    share = 1.0 if reads <= 0.5 else (1 - reads) / reads
    return min(rate * share, _asked_bytes_per_s(point))


def _asked_bytes_per_s(point: Point) -> float:
    """What the point's rates ask to be written; without bound of others."""
    if point.searches or not all(isinstance(stream.arrival, Open) for stream in point.streams):
        return math.inf
    return sum(
        stream.arrival.rate_per_s * (1 - stream.profile.read_fraction) * share.size_bytes * share.share_fraction
        for stream in point.streams
        for share in stream.profile.block
        if isinstance(stream.arrival, Open)
    )
