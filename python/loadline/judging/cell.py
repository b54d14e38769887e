"""A cell of a comparison: a figure of a point on one side beside the baseline's, and whether it can carry a verdict.

Start reading at `pending`. Which cells there are is in matching.py and figure.py, the statistics are in interval.py,
and verdicts, which depend on all cells, in compare.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal, TypeAlias

from loadline.judging.certainty import Certainty
from loadline.judging.figure import BIN, Figure, figure_named
from loadline.judging.interval import Error, Estimate, Ratio, estimate, ratio
from loadline.judging.matching import Match
from loadline.judging.subject import MODELS
from loadline.result.figures import PERCENTILES, merged_percentile
from loadline.result.intervals import intervals_in
from loadline.result.repeats import Histograms, histograms_in
from loadline.result.schema import Result
from loadline.result.store import Run

Verdict: TypeAlias = Literal["better", "worse", "higher", "lower", "same", "can't tell"]

# The 95 % interval of a single run that is wider is noise: the next run may be elsewhere altogether.
_NOISY = 0.10

# Shares of reads that differ by more make another mix, beyond four standard deviations of chance.
_MIX = 0.01
_BEYOND_CHANCE = 4

#: Running longer than so many times isn't advised.
MOST_LONGER = 1000.0


@dataclass(frozen=True, slots=True)
class Known:
    """What lies beside the rows: how sure their figures are, and their histograms."""

    certainty: Certainty
    histograms: Histograms

    @staticmethod
    def of(runs: Sequence[Run]) -> Known:
        """What the folders of runs hold."""
        return Known(Certainty(intervals_in(runs)), histograms_in(runs))

    def merged(self, rows: Sequence[Result], figure: Figure) -> float | None:
        """The percentile of rows together, None where their histograms aren't kept."""
        kept = [self.histograms(row) for row in rows]
        ways = ("read", "write") if figure.way == "total" else (figure.way,)
        if not all(way in one for one in kept for way in ways):
            return None
        return merged_percentile([one[way] for one in kept for way in ways], PERCENTILES[figure.statistic])


#: Nothing beside the rows.
NOTHING = Known(Certainty(), lambda _: {})


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of one point on one side against the baseline.

    Attributes:
        point, figure, side: which; figures are named as in rows.
        baseline_value, value: of both, in the figure's unit; None where unknown.
        ratio, low, high: value / baseline_value with its 95 % interval.
        verdict: better, worse, the same within the resolution, or can't tell; higher or lower where nothing is ranked.
        why: what stands behind the verdict, or prevents one.
        longer: how many times as long both sides must run, or as often, to tell; None where that doesn't help.
        chance: that chance alone makes such a difference, corrected for all cells (Holm); None where it isn't tested.
        runs, baseline_runs: repetitions behind the figures.
        doubts: checks of the audit that found what cannot be, in rows of either side.
    """

    point: str
    figure: str
    side: str
    baseline_value: float | None = None
    value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "can't tell"
    why: str = ""
    longer: float | None = None
    chance: float | None = None
    runs: int = 0
    baseline_runs: int = 0
    doubts: tuple[str, ...] = ()

    @property
    def gain(self) -> float | None:
        """The ratio turned so that above 1 is better."""
        if not self.ratio:
            return None
        return self.ratio if figure_named(self.figure).rate else 1 / self.ratio


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates as they are needed, each once: the baseline's are in every column."""

    known: Known
    estimates: dict[tuple[str, str, str], Estimate | None]

    def estimate(self, point: Match, figure: Figure, side: str) -> Estimate | None:
        """That of a point's rows on a side."""
        key = (point.point, figure.name, side)
        if key not in self.estimates:
            self.estimates[key] = estimate_of(point.rows[side], figure, self.known)
        return self.estimates[key]


@dataclass(frozen=True, slots=True)
class Pending:
    """A cell that waits for its verdict.

    Attributes:
        ratio: None where there is none.
        grain: what of its logarithm isn't known, whatever the error: a bin, a step.
        fit: whether a verdict may be based on it, where its error is known.
    """

    cell: Cell
    figure: Figure
    ratio: Ratio | None = None
    grain: float = 0.0
    fit: bool = True

    @property
    def tested(self) -> bool:
        """Whether chance has a say in its verdict."""
        return self.judged and self.ratio is not None and self.ratio.error is not None and self.ratio.error.log > 0

    @property
    def judged(self) -> bool:
        """Whether there is a verdict."""
        return self.fit and self.ratio is not None and self.ratio.error is not None


def pending(
    point: Match, figure: Figure, baseline: str, side: str, table: Estimates, *, asked: bool = True
) -> Pending | None:
    """The cell, None where neither this figure nor a failure of its point is worth a line."""
    mine, theirs = point.rows[side], point.rows[baseline]
    failure = _failed(mine, side) or _failed(theirs, baseline)
    if failure is not None:
        first = figure.name == ("load" if mine[0].limit else "iops")
        failed = Cell(point.point, figure.name, side, why=failure, doubts=_impossible(mine, theirs))
        return Pending(failed, figure) if first or asked else None
    value, before = (table.estimate(point, figure, name) for name in (side, baseline))
    if (value is None or before is None) and not asked:
        return None
    cell = Cell(
        point.point,
        figure.name,
        side,
        value=None if value is None else value.value,
        baseline_value=None if before is None else before.value,
        runs=len(_good(mine)),
        baseline_runs=len(_good(theirs)),
        doubts=_impossible(mine, theirs),
    )
    if value is None or before is None:
        silent = [name for name, one in ((side, value), (baseline, before)) if one is None]
        return Pending(replace(cell, why=f"not known of {' and '.join(silent)}"), figure)
    if not value.value or not before.value or not 0 < value.value / before.value < math.inf:
        if not asked and not value.value and not before.value:
            return None
        none = [name for name, one in ((side, value), (baseline, before)) if not one.value]
        why = nothing(figure, none) if none else "they are too far from each other"
        return Pending(replace(cell, why=why), figure)
    return _compared(cell, figure, value, before, mine, theirs, point.assumed.get(side, ""), baseline)


def nothing(figure: Figure, sides: Sequence[str]) -> str:
    """What is to be said of a figure that is 0 on some sides."""
    if figure.rate:
        return f"it's 0 on {' and '.join(sides)}, so there is no ratio"
    return f"a latency of 0, as on {' and '.join(sides)}, is none: it wasn't taken, or its unit is too coarse"


def _impossible(mine: Sequence[Result], theirs: Sequence[Result]) -> tuple[str, ...]:
    """Checks of the audit that found what cannot be."""
    found = (one for row in (*mine, *theirs) for one in row.findings if one.get("severity") == "error")
    return tuple(dict.fromkeys(str(one.get("check")) for one in found))


def _good(rows: Sequence[Result]) -> list[Result]:
    return [row for row in rows if row.error is None]


def _failed(rows: Sequence[Result], side: str) -> str | None:
    if _good(rows):
        return None
    return f"{'no load line' if rows[0].over_limit else 'failed'} on {side}: {rows[0].error}"


def estimate_of(rows: Sequence[Result], figure: Figure, known: Known = NOTHING) -> Estimate | None:
    """The figure of a point on one side, by all of its rows that didn't fail; None where none knows it."""
    found = [(value, row) for row in _good(rows) if (value := figure.of(row)) is not None and math.isfinite(value)]
    if not found:
        return None
    if any(value <= 0 for value, _ in found):
        return Estimate(0.0, None)
    several = estimate([value for value, _ in found], [known.certainty.of(row, figure) for _, row in found])
    if not figure.percentile or len(found) == 1:
        return several
    # Percentiles are never averaged: that of all together, or the middle one.
    value = known.merged([row for _, row in found], figure)
    return replace(several, value=median(value for value, _ in found) if value is None else value)


def _compared(
    cell: Cell,
    figure: Figure,
    value: Estimate,
    before: Estimate,
    mine: Sequence[Result],
    theirs: Sequence[Result],
    assumed: str,
    baseline: str,
) -> Pending:
    found = ratio(value, before)
    # A closed load line lies at a whole number of outstanding I/Os.
    steps = figure.name == "load" and mine[0].offered_per_s is None
    grain = math.log1p(BIN) if figure.percentile else math.log1p(1 / before.value) if steps else 0.0
    low, high = found.low, found.high
    if figure.percentile and low is not None and high is not None:
        # Each may lie anywhere in its bin.
        low, high = low / math.sqrt(1 + BIN), high * math.sqrt(1 + BIN)
    lost = (_lost(mine, cell.side), _lost(theirs, baseline))
    cell = replace(cell, ratio=found.value, low=low, high=high, why="; ".join(filter(None, (assumed, *lost))))
    pair = ((cell.side, value), (baseline, before))
    for why in (other_mix(mine, theirs, figure), unfit(mine, cell.side, value), unfit(theirs, baseline, before)):
        if why is not None:
            both = why == _quick(cell.side) and unfit(theirs, baseline, before) == _quick(baseline)
            longer = max(_to_be_fit(one) for one in (value, before))
            cell = replace(cell, why=_BOTH_QUICK if both else why, longer=times_longer(longer) if longer > 1 else None)
            return Pending(cell, figure, found, grain, fit=False)
    if found.error is None:
        unknown = [name for name, one in pair if one.error is None]
        whose = f"{unknown[0]} is" if len(unknown) == 1 else "both are"
        them = "it" if len(unknown) == 1 else "them"
        how = f"simulate {them} with --replications 5" if _all_models(mine, theirs) else f"repeat {them}"
        why = f"how sure {whose} isn't known: {how}"
        return Pending(replace(cell, why=why), figure, found, grain)
    return Pending(cell, figure, found, grain)


def _lost(rows: Sequence[Result], side: str) -> str:
    """Of repetitions some may have failed."""
    good = len(_good(rows))
    return f"{len(rows) - good} of {len(rows)} runs of {side} failed" if good < len(rows) else ""


def _all_models(*sides: Sequence[Result]) -> bool:
    return all(row.origin in MODELS for rows in sides for row in rows)


def unfit(rows: Sequence[Result], side: str, estimate: Estimate | None = None) -> str | None:
    """Why the rows of a side can't carry a verdict: one run that wasn't steady, was quick, or is noise."""
    good = _good(rows)
    if len(good) > 1:
        return None
    if good[0].steady is False:
        return f"one run of {side}, which wasn't steady: run it longer, or repeat it"
    if good[0].quick:
        return _quick(side)
    if estimate is not None and estimate.error is not None and _to_be_fit(estimate) > 1:
        return f"one run of {side}, known to {give_or_take(estimate.error)} only"
    return None


_BOTH_QUICK = "one quick run of each, an impression: run them in full, or repeat them"


def _quick(side: str) -> str:
    return f"one quick run of {side}, an impression: run it in full, or repeat it"


def _to_be_fit(estimate: Estimate) -> float:
    """How many times as long one run must be to be no noise; 1 or less of what is none."""
    if estimate.runs > 1 or estimate.error is None:
        return 0.0
    return (estimate.error.half_width / math.log1p(_NOISY)) ** 2


def give_or_take(error: Error) -> str:
    """Half of an interval for people: `±1.5%`, or of wide ones `a factor of 3`."""
    wide = math.exp(min(error.half_width, 100.0))
    return f"±{wide - 1:.1%}" if wide < 2 else f"a factor of {wide:,.3g}"


def other_mix(mine: Sequence[Result], theirs: Sequence[Result], figure: Figure) -> str | None:
    """Why figures over all I/Os aren't comparable: the shares of reads differ by more than chance."""
    if figure.way != "total":
        return None
    mixes = [_mix(rows) for rows in (mine, theirs)]
    (share, ios), (other, others) = mixes
    if share is None or other is None:
        return None
    chance = math.sqrt(sum(s * (1 - s) / n for s, n in ((share, ios), (other, others)) if n))
    if abs(share - other) <= max(_MIX, _BEYOND_CHANCE * chance):
        return None
    return f"{share:.1%} of the I/Os are reads, and {other:.1%} in the baseline: compare reads and writes apart"


def _mix(rows: Sequence[Result]) -> tuple[float | None, float]:
    """The share of reads that was achieved, and of how many I/Os it is."""
    reads = writes = ios = 0.0
    for row in _good(rows):
        if row.read.iops is None or row.write.iops is None:
            return None, 0.0
        reads, writes = reads + row.read.iops, writes + row.write.iops
        ios += (row.read.iops + row.write.iops) * (row.runtime_ns or 0) / 1e9
    return (reads / (reads + writes), ios) if reads + writes else (None, 0.0)


def times_longer(times: float) -> float | None:
    """A number of times for people: tenths, upwards, from 1.1 on; None of more than is worth advising."""
    return math.ceil(10 * max(1.1, times)) / 10 if times <= MOST_LONGER else None
