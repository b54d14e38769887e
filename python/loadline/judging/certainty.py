"""What is known of how sure each figure of a row is: the row says it, or its run's intervals do.

Start reading at `Certainty.of`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from loadline.judging.bootstrap import LEAST, percentile_error
from loadline.judging.figure import Figure
from loadline.judging.interval import MEASURED, Error, row_error
from loadline.judging.precision import Mean, Observed, judge
from loadline.judging.student import quantile
from loadline.result.figures import PERCENTILES, completed
from loadline.result.schema import Result

#: The intervals of a row as `loadline.result.intervals` finds them.
Find = Callable[[Result], Sequence[Any]]


class Certainty:
    """Errors of figures; it keeps the intervals of the last rows, which take long to read."""

    def __init__(self, find: Find = lambda _: ()) -> None:
        self._find = find
        self._means = lru_cache(maxsize=64)(self._judged)

    def of(self, row: Result, figure: Figure) -> Error | None:
        """The error of a row's figure, None where nobody knows."""
        error = row_error(row, figure.name)
        if error is not None or row.origin != "measured":
            return error
        name = figure.statistic
        if figure.percentile:
            return self._percentile(row, figure, PERCENTILES[name])
        if figure.name == name or name not in {"iops", "bytes_per_s", "latency_mean_ns"}:
            return None
        return self._mean(row, figure.way, name)

    def _percentile(self, row: Result, figure: Figure, percent: float) -> Error | None:
        ways = ("read", "write") if figure.way == "total" else (figure.way,)
        spans = [_together([getattr(one, way).histogram.columns() for way in ways]) for one in self._find(row)]
        return percentile_error(spans, percent) if len(spans) >= LEAST else None

    def _mean(self, row: Result, way: str, name: str) -> Error | None:
        iops, latency = self._means(_Key(row), way)
        return latency if name == "latency_mean_ns" else iops

    def _judged(self, key: _Key, way: str) -> tuple[Error | None, Error | None]:
        flows = [(one.duration_ns, getattr(one, way)) for one in self._find(key.row)]
        series = [
            Observed(duration, completed(flow), flow.latency_samples * (flow.latency_mean_ns or 0.0))
            for duration, flow in flows
        ]
        if len(series) < LEAST:
            return None, None
        judged = judge(series)
        return _error(judged.iops), _error(judged.latency_mean_ns)


def _error(mean: Mean | None) -> Error | None:
    if mean is None or not mean.value:
        return None
    return Error(mean.ci95 / mean.value / quantile(0.05, MEASURED), MEASURED)


class _Key:
    """A row as a key: rows hold maps, which can't be one."""

    def __init__(self, row: Result) -> None:
        self.row = row
        self._named = (row.run, row.point, row.repeat, row.target)

    def __hash__(self) -> int:
        return hash(self._named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._named == other._named


def _together(columns: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[Sequence[int], Sequence[int]]:
    if len(columns) == 1:
        return columns[0]
    counts: dict[int, int] = {}
    for values, numbers in columns:
        for value, number in zip(values, numbers, strict=True):
            counts[value] = counts.get(value, 0) + number
    ordered = sorted(counts)
    return ordered, [counts[value] for value in ordered]
