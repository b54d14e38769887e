"""When a point ends: at its run time, or before it once its figures are good enough and no write cache hides the rest.

The statistics are in `judging.precision`. Start reading at `Stopping`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadline import _core
from loadline.judging.precision import Judgement, Looks, Observed, judge
from loadline.measuring.target import Target
from loadline.result.figures import completed
from loadline.units import format_percent, format_size
from loadline.workload.plan import Point
from loadline.workload.profile import Closed

# A write cache counts as left behind once so many times its size has been written.
_TIMES = 2

# With less than that at random addresses a load moves over its target.
_RANDOM = 0.5


class Stopping:
    """Follows a point by its measured intervals.

    Args:
        cache_bytes: the targets' write cache, if it's known; 0 for none.
        cut: whether a beginning of another kind may be left out.
        targets: how many are loaded at once.
        early: whether it may end before its run time, if its precision allows; else it's told of at its end only.
    """

    def __init__(
        self, point: Point, cache_bytes: int | None, *, cut: bool = True, targets: int = 1, early: bool = True
    ) -> None:
        self._point = point
        closed = all(isinstance(stream.arrival, Closed) for stream in point.streams)
        self._outstanding = sum(stream.outstanding for stream in point.streams) if closed else None
        self._targets = targets
        self._cache_bytes = cache_bytes if point.writes else 0
        self._moving = all(stream.profile.random_fraction < _RANDOM for stream in point.streams)
        wanted = point.precision_fraction
        self._looks = Looks(wanted, cut=cut, moving=self._moving) if wanted is not None and early else None
        self._cut = cut and self._looks is not None
        self._early = early
        self._good: Judgement | None = None
        self._written_bytes = 0
        self._elapsed_ns = 0

    @property
    def ended_by(self) -> str:
        """The rule that ended the point, if nothing failed: `precision` or `runtime`."""
        return "runtime" if self._good is None else "precision"

    @property
    def ci95_fraction(self) -> float | None:
        """The wider of the two half-widths as a share of its mean, at the last look."""
        known = math.inf if self._looks is None else self._looks.last.ci95_fraction
        return known if math.isfinite(known) else None

    def enough(self, interval: _core.Interval) -> bool:
        """Takes the next interval; True once, when the point may end before its run time."""
        if interval.warmup or self._good is not None:
            return False
        self._written_bytes += interval.write.bytes
        self._elapsed_ns += interval.duration_ns
        if self._looks is not None:
            self._good = self._looks.add(self._observed(interval, self._targets), may_end=self._may_end())
        return self._good is not None

    def judged(self, measured: Sequence[_core.Interval]) -> Judgement:
        """What the point's intervals say at its end; of a fixed time nothing is left out."""
        if not self._early:
            self._written_bytes = sum(one.write.bytes for one in measured)
        series = [self._observed(one, self._targets) for one in measured]
        return self._good or judge(series, cut=self._cut, moving=self._moving)

    def judged_alone(self, measured: Sequence[_core.Interval]) -> Judgement:
        """What the intervals of one of several targets say at the end."""
        return judge([self._observed(one, 1) for one in measured])

    def _observed(self, interval: _core.Interval, targets: int) -> Observed:
        flows = (interval.read, interval.write)
        return Observed(
            interval.duration_ns,
            sum(map(completed, flows)),
            sum(completed(flow) * (flow.latency_mean_ns or 0.0) for flow in flows),
            None if self._outstanding is None else targets * self._outstanding,
        )

    def _may_end(self) -> bool:
        """Whether no write cache stands against it.

        One that couldn't be filled once until the run time hides what is behind it for the whole of it, so nothing is
        won by going on.
        """
        if not self._cache_bytes or self._written_bytes >= _TIMES * self._cache_bytes:
            return True
        return self._written_bytes * self._point.runtime_ns < self._cache_bytes * self._elapsed_ns

    def findings(self, judged: Judgement) -> Iterator[tuple[str, str, str, dict[str, float], str]]:
        """What is doubtful of its length: check, severity, message, numbers, remedy.

        Of what isn't steady the audit speaks, too.
        """
        wanted = self._point.precision_fraction
        if wanted is not None and self._good is None and judged.ci95_fraction > wanted:
            message = f"its run time ended before IOPS and mean latency were known to ±{format_percent(wanted)}"
            numbers = {"ci95_fraction": round(judged.ci95_fraction, 4)}
            yield "precision", "note", message, numbers, "Give it a longer --runtime, or ask for less: --precision."
        yield from self._of_cache()

    def _of_cache(self) -> Iterator[tuple[str, str, str, dict[str, float], str]]:
        cache_bytes = self._cache_bytes
        if cache_bytes is None and self._good is not None:
            message = "may be inside a write cache, whose size isn't known: it ended before its run time"
            yield "write-cache", "note", message, {}, "Say how large it is: --cache 1G (0 for none), or --stop fixed."
        elif cache_bytes is not None and self._written_bytes < _TIMES * cache_bytes:
            message = f"may be inside the write cache of {format_size(cache_bytes)}: not twice as much was written"
            numbers: dict[str, float] = {"written_bytes": self._written_bytes, "cache_bytes": cache_bytes}
            yield "write-cache", "note", message, numbers, "Give it a longer --runtime, or switch the cache off."


def cache_of(targets: Sequence[Target], declared_bytes: int | None) -> int | None:
    """The write cache of all targets together, each as declared, or as its description says; None: unknown."""
    known = [
        one.emulated.write_cache_bytes if declared_bytes is None and one.emulated is not None else declared_bytes
        for one in targets
    ]
    return None if None in known else sum(each for each in known if each is not None)
