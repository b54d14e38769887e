"""Repetitions of a point: their mean as one row, and how far they lie apart."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from loadline._core import Histogram
from loadline.result.figures import histograms_from, pooled
from loadline.result.schema import Flow, Result
from loadline.result.store import Run

#: The latency histograms behind a row: `read` and `write`, if they are kept.
Histograms = Callable[[Result], Mapping[str, Histogram]]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The repetitions of a point on a target, without failed ones if any is good.

    Attributes:
        mean: as one row. Rates are means; response times are means weighted by I/Os; percentiles are those of the
            merged histograms, unknown where these aren't kept.
        spread_fraction: standard deviation of their IOPS as a share of the mean; None of one alone.
        rows: each repetition, in the order of measuring.
    """

    mean: Result
    spread_fraction: float | None
    rows: tuple[Result, ...]


def repeats_of(results: Iterable[Result], histograms: Histograms = lambda _: {}) -> list[Repeats]:
    """The rows of each point on each target put together, in the order of their first."""
    groups: dict[object, list[Result]] = {}
    for row in results:
        tags = tuple(sorted(row.tags.items()))
        load = (row.outstanding_asked, row.offered_per_s) if row.role == "probe" else None
        key = (row.run, row.point, row.target, row.role, row.origin, row.system, tags, load)
        groups.setdefault(key if row.origin == "measured" else id(row), []).append(row)
    return [_repeats(rows, histograms) for rows in groups.values()]


def _repeats(rows: Sequence[Result], histograms: Histograms) -> Repeats:
    good = [row for row in rows if row.error is None] or rows[:1]
    if len(rows) == 1 or len(good) == 1:
        return Repeats(good[0], None, tuple(rows))
    kept = [histograms(row) for row in good]
    rates = [row.total.iops for row in good if row.total.iops is not None]
    spread = statistics.stdev(rates) / statistics.mean(rates) if len(rates) > 1 and any(rates) else None

    def together(name: str, ways: Sequence[str]) -> Flow:
        found = [one[way] for one in kept for way in ways if way in one]
        return pooled([getattr(row, name) for row in good], found if all(kept) else [])

    mean = replace(
        good[0],
        total=together("total", ("read", "write")),
        read=together("read", ("read",)),
        write=together("write", ("write",)),
        iops_ci95=None,
        latency_mean_ci95_ns=None,
        outstanding_achieved=_plain_mean([row.outstanding_achieved for row in good]),
        cpu_fraction=_plain_mean([row.cpu_fraction for row in good]),
        busy_fraction=_plain_mean([row.busy_fraction for row in good]),
        findings=tuple(finding for row in good for finding in row.findings),
    )
    return Repeats(mean, spread, tuple(rows))


def _plain_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def histograms_in(runs: Sequence[Run]) -> Histograms:
    """Finds the histograms of a row of those runs, or of a simulated one, which has them in its provenance."""
    place = places_in(runs)

    def find(row: Result) -> Mapping[str, Histogram]:
        at = place(row)
        if at is not None:
            return at[0].histograms(at[1], row.target)
        try:
            return histograms_from(row.provenance.get("histograms", {}))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            return {}

    return find


def places_in(runs: Sequence[Run]) -> Callable[[Result], tuple[Run, int] | None]:
    """Finds a row's run and the number of its point in the plan; None of probes, and of rows of other runs."""
    by_id = {run.id: run for run in runs}

    @cache
    def places(run_id: str) -> Mapping[tuple[str, int, int | None], int]:
        plan = by_id[run_id].plan
        return {(point.name, point.repeat, point.target): index for index, point in enumerate(plan)}

    def find(row: Result) -> tuple[Run, int] | None:
        run = by_id.get(row.run)
        if run is None or row.role != "point":
            return None
        paths = [one["path"] for one in run.targets]
        number = paths.index(row.target) if row.target in paths else None
        for target in (None, number):
            index = places(row.run).get((row.point, row.repeat, target))
            if index is not None:
                return run, index
        return None

    return find
