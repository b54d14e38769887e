"""Series taken by different clocks: what follows the load comes at the same time, or one of them is shifted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, pstdev

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.units import short

NAME = "clock"

#: Steps that are needed, and how far apart series are looked for.
STEPS = 20
FARTHEST = 5
#: At their best place they belong together, and clearly more so than where they stand.
TOGETHER = 0.7
BETTER = 0.2
#: With less variation there is nothing to see.
VARIES = 0.03


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """The host's CPU against the rate, by cross-correlation."""
    for subject in subjects:
        if subject.series is None:
            continue
        lag = lag_steps(subject.series.iops, subject.series.cpu)
        if lag:
            seconds = lag * subject.series.step_s
            when = "behind" if lag > 0 else "ahead of"
            message = f"the CPU's series is {short(abs(seconds))} s ({abs(lag)} steps) {when} the rate's"
            remedy = "Shift it back before you read one beside the other; charts of this row do."
            yield subject, Doubt("warning", message, remedy, {"lag_s": seconds, "lag_steps": lag})


def lag_steps(leads: Sequence[float], follows: Sequence[float]) -> int:
    """By how many steps `follows` comes after `leads` (negative: before); 0 where nothing clear is seen."""
    number = len(leads)
    if number < STEPS or len(follows) != number or not (_varies(leads) and _varies(follows)):
        return 0
    at = {lag: _correlation(leads, follows, lag) for lag in range(-FARTHEST, FARTHEST + 1)}
    best = max(at, key=lambda lag: (at[lag], -abs(lag)))
    return best if at[best] >= TOGETHER and at[best] - at[0] >= BETTER else 0


def _varies(values: Sequence[float]) -> bool:
    mean = fmean(values)
    return mean > 0 and pstdev(values) > VARIES * mean


def _correlation(leads: Sequence[float], follows: Sequence[float], lag: int) -> float:
    a = leads[: len(leads) - lag] if lag >= 0 else leads[-lag:]
    b = follows[lag:] if lag >= 0 else follows[: len(follows) + lag]
    mean_a, mean_b = fmean(a), fmean(b)
    spread = pstdev(a) * pstdev(b)
    if spread == 0:
        return 0.0
    return fmean((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / spread
