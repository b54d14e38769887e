"""One distribution: its percentiles come in order, the mean fits them, and enough I/Os lie beyond each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.result.figures import thin_percentiles
from loadline.result.schema import Flow
from loadline.units import short

NAME = "percentiles"

#: fio's bins are 1.6 % wide, and a percentile is a bin.
BIN = 0.02
#: Quantiles of the normal distribution: what is made up from mean and deviation is as exact as that.
_NORMAL = {"p90": 1.2815516, "p95": 1.6448536, "p99": 2.3263479}
_MADE_UP = 0.00002
#: Figures rounded more coarsely meet that by chance.
_COARSE = 0.002

_ORDER = ("p50", "p90", "p95", "p99", "p999", "p9999", "max")
_FLOWS = (("", "all"), ("read_", "reads"), ("write_", "writes"))


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Every row by itself."""
    for subject in subjects:
        yield from ((subject, doubt) for doubt in _of_row(subject))


def _of_row(subject: Subject) -> Iterator[Doubt]:
    apart = False
    counted = subject.measured and subject.row.error is None
    for prefix, of in _FLOWS:
        flow: Flow = getattr(subject.row, prefix.rstrip("_") or "total")
        known = [(name, value) for name in _ORDER if (value := getattr(flow, f"latency_{name}_ns")) is not None]
        for (low, below), (high, above) in pairwise(known):
            if below > above * (1 + BIN) + 1:
                message = f"{low} of {of} ({short(below / 1e6, 4)} ms) is above its {high} ({short(above / 1e6, 4)} ms)"
                numbers = {f"{low}_ns": below, f"{high}_ns": above}
                yield Doubt("error", message, "Percentiles were averaged or mixed up: ask for histograms.", numbers)
                break
        mean, most = flow.latency_mean_ns, flow.latency_max_ns
        if mean and most is not None and mean > most * (1 + BIN) + 1:
            message = f"the mean latency of {of} is above its maximum"
            yield Doubt("error", message, "Check the units of both.", {"mean_ns": mean, "max_ns": most})
        p99_ns = flow.latency_p99_ns
        if mean and p99_ns and mean > p99_ns and not apart and counted:
            apart = True
            message = f"the mean latency of {of} is above its p99: fewer than one in a hundred make the mean"
            numbers = {"latency_mean_ns": mean, "latency_p99_ns": p99_ns}
            yield Doubt("warning", message, "Look at the longest ones over time; compare medians.", numbers)
        yield from _made_up(subject, flow, prefix, of)
    simulated = subject.row.origin == "simulated" and subject.row.error is None
    if not subject.row.quick and (counted or simulated):
        thin = thin_percentiles(subject.row)
        if thin is not None:
            yield Doubt("note", thin, "Run longer, or leave them out.")


def _made_up(subject: Subject, flow: Flow, prefix: str, of: str) -> Iterator[Doubt]:
    mean, stddev = flow.latency_mean_ns, flow.latency_stddev_ns
    if not mean or not stddev or not subject.measured:
        return
    for name, quantile in _NORMAL.items():
        value = getattr(flow, f"latency_{name}_ns")
        if not value:
            continue
        normal = mean + quantile * stddev
        if abs(value / normal - 1) > 2 * _COARSE:
            continue
        # Of rounded figures chance makes it too, so a coarse one proves nothing.
        figures = (f"latency_{name}_ns", "latency_mean_ns", "latency_stddev_ns")
        rounding = subject.coarseness(*(prefix + figure for figure in figures))
        if rounding < _COARSE and abs(value / normal - 1) <= _MADE_UP + rounding:
            message = f"{name} of {of} is mean + {quantile:.3f} x standard deviation: computed, not counted"
            numbers = {f"{name}_ns": value, "mean_ns": mean, "stddev_ns": stddev}
            yield Doubt(
                "warning", message, "Response times aren't normal: ask for percentiles of a histogram.", numbers
            )
