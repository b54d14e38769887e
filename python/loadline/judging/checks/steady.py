"""Whether a figure stands for a state that lasts: drift, two modes, outliers, an unused SSD, too short a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import fmean, stdev

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject, like
from loadline.units import format_signed, short

NAME = "steady"

#: SNIA's limit on the slope over a window, which is also what one notices.
DRIFT = 0.1
#: Standard errors of the slope; ten block means leave eight degrees of freedom, one chance in some hundreds.
SURE = 4.0
#: Parts of a series that a trend is looked for in.
BLOCKS = 10
#: Two modes: their means differ so much, each has so much of the time, and the spread within is so much less.
MODES = 0.25
SHARE = 0.15
APART = 4.0
#: Few steps that move the mean: of at most so many, by so much.
FEW = 0.05
MOVED = 0.05
#: The beginning against the rest: the ramp is in it.
RAMP = 0.2
#: Fewer steps tell nothing.
STEPS = 20
#: Below, no tool's own start is over; SNIA's rounds take a minute.
SHORTEST_NS = 10 * 10**9
FEWEST = 1000
#: SNIA PTS: twice the capacity is written before an SSD is judged.
PRECONDITIONED = 2.0
#: The first of repeated runs against the others: by so much, and so many of their standard deviations.
FIRST = 0.05
DEVIATIONS = 5.0


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Rows with their series, where there are any; then repetitions."""
    for subject in subjects:
        if subject.measured and subject.row.error is None:
            yield from ((subject, doubt) for part in (_by_row, _fresh, _by_series) for doubt in part(subject))
    yield from _first(subjects)


def _by_row(subject: Subject) -> Iterator[Doubt]:
    row = subject.row
    if row.steady is False:
        yield Doubt("warning", "it wasn't steady when it ended", "Run longer, with a warm-up.")
    if row.runtime_ns is not None and not row.quick:
        if row.runtime_ns < SHORTEST_NS:
            message = f"it ran for {short(row.runtime_ns / 1e9)} s: too short to be steady"
            yield Doubt("warning", message, "Run for a minute at least.", {"runtime_ns": row.runtime_ns})
        if subject.ios is not None and 0 < subject.ios < FEWEST:
            message = f"{subject.ios:,.0f} I/Os in all: few enough for chance to show"
            yield Doubt("warning", message, f"Run until there are {FEWEST:,} at least.", {"ios": subject.ios})


def _fresh(subject: Subject) -> Iterator[Doubt]:
    setup, row = subject.setup, subject.row
    written, capacity = setup.written_bytes, setup.capacity_bytes
    if setup.medium != "ssd" or written is None or capacity is None or subject.read_fraction == 1 or setup.prepared:
        return
    if written < PRECONDITIONED * capacity and (row.write.iops or subject.read_fraction is not None):
        message = (
            f"{written / capacity:.2g} x its capacity were ever written to this SSD: it's fresh out of the box, and"
            " will write slower once it collects garbage"
        )
        numbers = {"written_bytes": written, "capacity_bytes": capacity}
        yield Doubt("warning", message, "Write twice the capacity first, then this load until it's steady.", numbers)


def _by_series(subject: Subject) -> Iterator[Doubt]:
    if subject.series is None or len(subject.series.iops) < STEPS:
        return
    iops = list(subject.series.iops)
    mean = fmean(iops)
    if mean <= 0:
        return
    for judge in (_ramp, _modes, _drift, _outliers):
        doubt = judge(iops, mean)
        if doubt is not None:
            # The first that fits explains the others: a ramp is a drift too.
            yield doubt
            return


def _ramp(iops: list[float], mean: float) -> Doubt | None:
    """A beginning apart from all that follows, which itself has no trend."""
    head = max(2, len(iops) // 10)
    rest = iops[2 * head :]
    level, spread = fmean(rest), stdev(rest)
    apart = fmean(iops[:head]) - level
    if abs(apart) > RAMP * level and abs(apart) > 4 * spread and abs(_trend(rest)[0]) < DRIFT:
        message = f"the first tenth runs at {1 + apart / level:.0%} of the rest: its ramp is in the figures"
        return Doubt("warning", message, "Give a warm-up.", {"first_iops": fmean(iops[:head]), "rest_iops": level})
    return None


def _modes(iops: list[float], mean: float) -> Doubt | None:
    """The split of the sorted steps that leaves the least spread within (Otsu's), if it's a clear one."""
    ordered = sorted(iops)
    number = len(ordered)
    sums, squares = list(accumulate(ordered)), list(accumulate(value * value for value in ordered))
    best: tuple[float, int] | None = None
    for at in range(max(2, math.ceil(SHARE * number)), number - max(2, math.ceil(SHARE * number)) + 1):
        low = squares[at - 1] - sums[at - 1] ** 2 / at
        high = squares[-1] - squares[at - 1] - (sums[-1] - sums[at - 1]) ** 2 / (number - at)
        if best is None or low + high < best[0]:
            best = low + high, at
    if best is None:
        return None
    within, at = math.sqrt(max(best[0], 0.0) / number), best[1]
    low, high = fmean(ordered[:at]), fmean(ordered[at:])
    # A trend spreads evenly; modes leave a gap between them.
    gap = ordered[at] - ordered[at - 1]
    if high - low > MODES * mean and high - low > APART * within and gap > (high - low) / 4:
        message = f"two modes: {short(low, 4)} IOPS for {at / number:.0%} of the time, {short(high, 4)} for the rest"
        numbers = {"low_iops": low, "high_iops": high, "low_share": at / number}
        return Doubt("warning", message, "Find out what changes between them; a mean stands for neither.", numbers)
    return None


def _drift(iops: list[float], mean: float) -> Doubt | None:
    slope, error = _trend(iops)
    if abs(slope) > DRIFT and abs(slope) > SURE * error:
        message = f"the rate drifts by {format_signed(slope, '+.0%')} from beginning to end"
        return Doubt("warning", message, "Run on until it doesn't; report its last part.", {"drift_fraction": slope})
    return None


def _trend(values: Sequence[float]) -> tuple[float, float]:
    """Least squares over block means: change from end to end as a share of the mean, and its standard error."""
    size = len(values) // BLOCKS
    if size == 0:
        return 0.0, math.inf
    means = [fmean(values[n * size : (n + 1) * size]) for n in range(BLOCKS)]
    level, middle = fmean(means), (BLOCKS - 1) / 2
    if level <= 0:
        return 0.0, math.inf
    spread = sum((n - middle) ** 2 for n in range(BLOCKS))
    slope = sum((n - middle) * value for n, value in enumerate(means)) / spread
    rest = sum((value - level - slope * (n - middle)) ** 2 for n, value in enumerate(means))
    error = math.sqrt(rest / (BLOCKS - 2) / spread)
    return slope * (BLOCKS - 1) / level, error * (BLOCKS - 1) / level


def _outliers(iops: list[float], mean: float) -> Doubt | None:
    few = max(1, int(FEW * len(iops)))
    middle = sorted(iops)[len(iops) // 2]
    apart = sorted(iops, key=lambda value: abs(value - middle))
    kept = fmean(apart[:-few])
    if abs(mean / kept - 1) > MOVED:
        message = f"{few} of {len(iops)} seconds or so move the mean by {format_signed(mean / kept - 1, '+.0%')}"
        return Doubt(
            "warning", message, "Look at what happened then; compare medians.", {"without_iops": kept, "iops": mean}
        )
    return None


def _first(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Of repetitions of one point the first, which alone found caches cold or an SSD fresh."""

    def key(subject: Subject) -> object:
        row = subject.row
        if not subject.measured or not row.total.iops or row.error or row.role != "point":
            return None
        return (
            row.target,
            row.profile or row.point,
            tuple(sorted(row.tags.items())),
            str(row.workload),
            row.outstanding_asked,
        )

    for group in like(subjects, key):
        repeats = sorted(group, key=lambda subject: subject.row.repeat)
        if len({subject.row.repeat for subject in repeats}) < len(repeats) or len(repeats) < 4:
            continue
        first, *others = [subject.row.total.iops or 0.0 for subject in repeats]
        level, spread = fmean(others), stdev(others)
        if abs(first - level) > max(FIRST * level, DEVIATIONS * spread):
            message = f"the first of {len(repeats)} repetitions stands apart: {first / level:.0%} of the others' mean"
            numbers = {"first_iops": first, "others_iops": level}
            yield repeats[0], Doubt("warning", message, "Leave the first out, or warm up.", numbers)
