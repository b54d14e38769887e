"""The knee of a curve of response against load: where throughput over response is largest; beyond it more load waits.

A ray from the origin touches the curve there (Kleinrock 1979, "Power and deterministic rules of thumb for
probabilistic problems in computer communications"). It is taken from a curve fitted to the answers, for searches put
theirs elsewhere. Start reading at `fitted`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadline.result.schema import Result
from loadline.system.curve import fit
from loadline.system.load_line import luck

# From so many answers on a curve has a knee; of more than that the one next to it is as good.
_LEAST, _MOST = 4, 32

# What is outstanding by Little's law may differ from what was asked for by so much, as a share.
_LITTLE = 0.1

# By so many standard errors a response surely is lower than one to less load.
_SURELY = 4.0

# The fit must know the response at the knee to that standard deviation, as a share.
_KNOWN = 0.1

# And answers on either side of it are at most so many times apart in load, as those at doublings are.
_FAR = 4

# What may be hidden between two answers is at most so many times the best power; at twice the load it's never more.
_HIDDEN = 2

# Depths that are looked at first, evenly in the logarithm, and again between the neighbours of the best.
_STEPS = 40


@dataclass(frozen=True, slots=True)
class Knee:
    """Where it is: the load, outstanding I/Os or offered rate, with the rate and mean response there.

    `row` is the answer that is nearest to it, where it isn't from a fit.
    """

    load: float
    iops: float
    latency_mean_ns: float
    row: Result | None = None


def fitted(rows: Sequence[Result], saturation_per_s: float | None = None) -> Knee | None:
    """The knee by the curve through all rows, which have loads of one kind, in order of load, and mean responses.

    Args:
        saturation_per_s: of offered rates, whose utilisation hangs on it.

    Returns:
        None where the fit says nothing of it: too few rows, or so many that none is needed; closed loads that don't
        keep outstanding what they should, such as those with pauses; responses that fall with load; rates without a
        saturation; a knee outside of the rows or where these are far apart, or a curve that isn't well known there.
    """
    open_ = [row.offered_per_s is not None for row in rows]
    if not _LEAST <= len(rows) <= _MOST or any(open_) != all(open_):
        return None
    if any(open_):
        top = saturation_per_s or 0.0
        rows = [row for row in rows if (row.offered_per_s or 0.0) < top]
        depths = [1 / (1 - (row.offered_per_s or 0.0) / top) for row in rows]
    else:
        if not all(_keeps_outstanding(row) for row in rows):
            return None
        top, depths = None, [float(row.outstanding_asked or 0) for row in rows]
    if len(rows) < _LEAST or any(_falls(row, above) for row, above in pairwise(rows)):
        return None
    return _touch(rows, depths, top)


def _touch(rows: Sequence[Result], depths: Sequence[float], top: float | None) -> Knee | None:
    """Where power is largest between the first and the last depth; `top` is the saturation of open loads."""
    curve = fit([(depth, _mean_ns(row), luck(row)) for depth, row in zip(depths, rows, strict=True)])

    def load(depth: float) -> float:
        return depth if top is None else top * (1 - 1 / depth)

    def power(depth: float) -> float:
        # Closed, the rate is the load over the response.
        response = curve.at(depth)[0]
        return math.log(load(depth)) - response * (2 if top is None else 1)

    def best(low: float, high: float) -> tuple[float, float, float]:
        tried = [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]
        at = max(range(_STEPS + 1), key=lambda step: power(tried[step]))
        return tried[max(0, at - 1)], tried[at], tried[min(_STEPS, at + 1)]

    below, depth, above = best(depths[0], depths[-1])
    if depth in {below, above}:
        return None
    _, depth, _ = best(below, above)
    response, deviation = curve.at(depth)
    near = [pair for pair in pairwise(depths) if pair[0] <= depth <= pair[1]]
    if deviation > _KNOWN or any(higher > _FAR * lower for lower, higher in near):
        return None
    found, mean_ns = load(depth), math.exp(response)
    return Knee(found, found / mean_ns * 1e9 if top is None else found, mean_ns)


def seen(rows: Sequence[Result]) -> Knee | None:
    """The knee as one of the rows, which are in order of load; None where they don't tell that it's about there.

    More load may be better beyond the last row, and less before the first one, unless that has a single I/O
    outstanding. Between two rows no rate is above that of the higher load and no response below that of the lower one:
    what these would have together must not be far above the best.
    """
    powers = [(row.total.iops or 0.0) / _mean_ns(row) for row in rows]
    at = max(range(len(rows)), key=powers.__getitem__)
    ends = {len(rows) - 1, *([] if rows[0].outstanding_asked == 1 else [0])}
    between = [(above.total.iops or 0.0) / _mean_ns(row) for row, above in pairwise(rows)]
    if at in ends or max(between) > _HIDDEN * powers[at]:
        return None
    best = rows[at]
    load = best.offered_per_s if best.offered_per_s is not None else float(best.outstanding_asked or 0)
    return Knee(load, best.total.iops or 0.0, _mean_ns(best), best)


def _mean_ns(row: Result) -> float:
    assert row.total.latency_mean_ns, "rows of a curve have responses"
    return row.total.latency_mean_ns


def _keeps_outstanding(row: Result) -> bool:
    held = (row.total.iops or 0.0) * _mean_ns(row) / 1e9
    return bool(row.outstanding_asked) and abs(held / (row.outstanding_asked or 1) - 1) <= _LITTLE


def rising(rows: Sequence[Result]) -> Sequence[Result]:
    """The rows below the first whose response by its interval is lower than that to less load.

    No queue's is: a cache that was empty answers so, and where it will be full there is another curve.
    """
    sure = (
        number
        for number, (row, above) in enumerate(pairwise(rows), 1)
        if row.latency_mean_ci95_ns is not None and above.latency_mean_ci95_ns is not None and _falls(row, above)
    )
    return rows[: next(sure, len(rows))]


def _falls(row: Result, above: Result) -> bool:
    """Whether the second response surely is lower."""
    return math.log(_mean_ns(above) / _mean_ns(row)) < -_SURELY * math.hypot(luck(row), luck(above))
