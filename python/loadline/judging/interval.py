"""How sure a figure is, and the ratio of two: on the log scale, where twice and half are as far from 1.

The equations, their sources and what is assumed are in docs/background/compare.md. Start reading at `Estimate`, then
`ratio`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadline.judging.student import quantile, two_sided
from loadline.result.schema import Flow, Result

# Of 32 batches or more, which a single simulation's intervals are from.
_BATCHES = 31

#: Of the intervals of measured seconds: overlapping batches of a tenth (judging/precision.py) have 1.5 (10 - 1).
MEASURED = 13.5

_CHANCE = 0.05

# A half-width of so many times its figure says that nothing is known of it.
_NOTHING = 10.0


@dataclass(frozen=True, slots=True)
class Error:
    """A standard error of a logarithm, which is about a relative error, with its degrees of freedom."""

    log: float
    freedom: float = math.inf

    @property
    def half_width(self) -> float:
        """Of the 95 % confidence interval, of the logarithm."""
        return quantile(_CHANCE, self.freedom) * self.log if self.log else 0.0


EXACT = Error(0.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure above 0; `error` None: nobody knows how sure it is. `runs` says how many rows it is of."""

    value: float
    error: Error | None
    runs: int = 1

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % confidence interval."""
        return None if self.error is None else self.value * math.exp(-self.error.half_width)

    @property
    def high(self) -> float | None:
        """Upper end of the 95 % confidence interval."""
        return None if self.error is None else self.value * math.exp(self.error.half_width)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two figures."""

    value: float
    error: Error | None

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % confidence interval."""
        return Estimate(self.value, self.error).low

    @property
    def high(self) -> float | None:
        """Upper end of the 95 % confidence interval."""
        return Estimate(self.value, self.error).high

    def chance(self, true: float = 1.0, grain: float = 0.0) -> float:
        """How likely chance alone takes the ratio so far from `true`, which is only known to `grain` of its log."""
        assert self.error is not None, "of what nobody knows there is no chance"
        away = max(0.0, abs(math.log(self.value / true)) - grain)
        # Of exact figures what differs beyond rounding differs.
        if away < 1e-9 or not self.error.log:
            return float(away < 1e-9)
        return two_sided(away / self.error.log, self.error.freedom)


def ratio(value: Estimate, baseline: Estimate) -> Ratio:
    """The ratio of two figures that know nothing of each other.

    Variances add; their degrees of freedom are those of B. L. Welch, The generalization of `Student's' problem when
    several different population variances are involved, Biometrika 34, 1947.
    """
    times = value.value / baseline.value
    if value.error is None or baseline.error is None:
        return Ratio(times, None)
    return Ratio(times, together([value.error, baseline.error]))


def together(errors: Sequence[Error]) -> Error:
    """The error of a sum or difference of logarithms that know nothing of each other."""
    parts = [(error.log**2, error.freedom) for error in errors]
    variance = sum(part for part, _ in parts)
    below = sum(part**2 / freedom for part, freedom in parts)
    return Error(math.sqrt(variance), variance**2 / below if below else math.inf)


def estimate(values: Sequence[float], errors: Sequence[Error | None]) -> Estimate:
    """The geometric mean of repetitions, each with what its own run knows of its error.

    What differs from run to run and what each run says of itself both count: the wider of the two intervals.
    Of one run there is only the latter; rows that are exact stay so however many there are.
    """
    number = len(values)
    logs = [math.log(value) for value in values]
    middle = math.fsum(logs) / number
    value = math.exp(middle)
    known = [error for error in errors if error is not None]
    within = None
    if len(known) == number:
        sum_of = together(known)
        within = Error(sum_of.log / number, sum_of.freedom)
    if number == 1 or (within is not None and not within.log and max(values) == min(values)):
        return Estimate(value, within, number)
    # statistics.stdev counts in fractions, ten times as long.
    variance = math.fsum((log - middle) ** 2 for log in logs) / (number - 1)
    between = Error(math.sqrt(variance / number), number - 1)
    if within is not None and within.half_width > between.half_width:
        return Estimate(value, within, number)
    return Estimate(value, between, number)


def row_error(row: Result, figure: str) -> Error | None:
    """What a row says of one of its figures; None where it says nothing.

    Solutions and rules have no sampling error.
    """
    if row.origin in {"solved", "rule"}:
        return EXACT
    if figure == "load":
        return _line_error(row)
    flow, spread = _flow(row, figure), _spread(row, figure)
    if spread is not None:
        return spread
    match figure.removeprefix("read_").removeprefix("write_"):
        case "iops" | "bytes_per_s":
            return _with_line(row, _rate_error(row, flow))
        case "latency_mean_ns" if flow is row.total or _alone(row, flow):
            return _relative(row, row.latency_mean_ci95_ns, row.total.latency_mean_ns)
    return None


def _spread(row: Result, figure: str) -> Error | None:
    """What replications of a simulation say of figures that have no column for it."""
    found: Any = row.provenance.get("errors")
    number: Any = row.provenance.get("replications")
    error = found.get(figure) if isinstance(found, dict) else None
    if not isinstance(error, int | float) or not isinstance(number, int) or number < 2 or not 0 <= error < _NOTHING:
        return None
    return Error(float(error), number - 1)


def _rate_error(row: Result, flow: Flow) -> Error | None:
    """Of the rate of all I/Os, or of one direction: then chance decides how many of them go there, too."""
    rate = _relative(row, row.iops_ci95, row.total.iops)
    if rate is None or flow is row.total:
        return rate
    if not flow.iops or not row.total.iops or not row.runtime_ns:
        return None
    draws = max(0.0, 1 - flow.iops / row.total.iops) / (flow.iops * row.runtime_ns / 1e9)
    return Error(math.hypot(rate.log, math.sqrt(draws)), rate.freedom)


def _flow(row: Result, figure: str) -> Flow:
    if figure.startswith("read_"):
        return row.read
    return row.write if figure.startswith("write_") else row.total


def _alone(row: Result, flow: Flow) -> bool:
    """Whether all I/Os went that way."""
    other = row.write if flow is row.read else row.read
    return not other.iops


def _relative(row: Result, half_width: float | None, value: float | None) -> Error | None:
    if half_width is None or not value or not 0 <= half_width / abs(value) < _NOTHING:
        return None
    replications: Any = row.provenance.get("replications", 1)
    freedom = MEASURED
    if row.origin == "simulated":
        freedom = replications - 1 if isinstance(replications, int) and replications > 1 else _BATCHES
    return Error(half_width / value / quantile(_CHANCE, freedom), freedom)


def _line_error(row: Result) -> Error | None:
    """Of where a load line is: between two loads, by the confidence of the probes around it."""
    found: Any = row.provenance.get("load_line")
    low, high = (found.get("low"), found.get("high")) if isinstance(found, dict) else (None, None)
    if not (isinstance(low, int | float) and isinstance(high, int | float) and 0 < low <= high):
        return None
    return Error(math.log(high / low) / 2 / quantile(_CHANCE, math.inf))


def _with_line(row: Result, error: Error | None) -> Error | None:
    """At a load line the rate is as unsure as the place of the line, if that is less sure."""
    line = _line_error(row) if row.limit else None
    return line if line is not None and error is not None and line.half_width > error.half_width else error
