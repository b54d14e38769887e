"""Curves of response against load: the answers of a profile whose load was swept or searched, in order of load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

from loadline.reporting.apart import source
from loadline.reporting.charts.asked import CALLED_BY, asked, follows
from loadline.result.schema import Result
from loadline.system.knee import Knee, fitted, rising, seen
from loadline.workload.limit import Limit, parse_limit

# From so many answers on a curve has a knee.
_KNEE = 4


@dataclass(frozen=True)
class Curve:
    """Rows of one profile from one source, in order of load; `line` is the one at the load line.

    `variant` says what other curves of the profile ask for otherwise: the block size of a sweep, the number of streams.
    """

    profile: str
    variant: str
    source: str
    rows: tuple[Result, ...]
    line: Result | None

    @cached_property
    def drawn(self) -> Sequence[Result]:
        """The rows in order of the line through them: by luck less may be done of a higher rate that was offered.

        Where more was offered than could be done the line turns back.
        """
        if self.rows[0].offered_per_s is None:
            return self.rows
        return sorted(self.rows, key=lambda row: (_overloaded(row), row.total.iops))

    @cached_property
    def knee(self) -> Knee | None:
        """Where throughput over response is largest, beyond which more load mostly waits; of too few rows unknown.

        By a curve through the rows; where that says nothing of it, the row where it is, if others are near it.
        """
        # Of points at one load, one: a curve has one response to it.
        rows = rising(list({load_of(row): row for row in self.rows}.values()))
        if len(rows) < _KNEE:
            return None
        top = saturated(self)
        return fitted(rows, None if top is None else top.saturation_iops) or seen(rows)

    @property
    def limits(self) -> list[Limit]:
        """What was asked of the response; known of a search that found no load line, too."""
        return [parse_limit(text) for text in dict.fromkeys(row.limit for row in self.rows if row.limit)]


def curves(results: Sequence[Result]) -> list[Curve]:
    """A curve for each profile, what else is asked of it, and source that has answers at two loads or more."""
    return curves_by(zip(results, source(results), strict=True))


def curves_by(told: Iterable[tuple[Result, str]]) -> list[Curve]:
    """The same of rows with the names of their sources."""
    alike: dict[tuple[str, str, str], list[tuple[Result, tuple[str, ...]]]] = {}
    for result, origin in told:
        if result.total.iops and result.total.latency_mean_ns and result.error is None:
            axis = "rate" if result.offered_per_s is not None else "outstanding"
            alike.setdefault((result.profile or result.point, origin, axis), []).append((result, asked(result)))
    differs = _differs(alike)
    kept = []
    for (profile, origin, _), rows in alike.items():
        found: dict[tuple[str, ...], list[Result]] = {}
        for row, words in rows:
            found.setdefault(words, []).append(row)
        for words, those in found.items():
            variant = ", ".join(compress(words, differs[profile]))
            for streams, dots in _by_streams(those).items():
                loads = _dots(dots)
                if len({load_of(row) for row in loads}) > 1:
                    line = next((row for row in dots if row.limit and row.role == "point"), None)
                    said = ", ".join(filter(None, (variant, streams)))
                    kept.append(Curve(profile, said, origin, tuple(loads), line))
    return kept


def _differs(alike: Mapping[tuple[str, str, str], list[tuple[Result, tuple[str, ...]]]]) -> dict[str, list[bool]]:
    """Of each profile which words tell its curves apart.

    Sources may call one working set in two ways: most words count only where one source has several.
    """
    found: dict[str, list[bool]] = {}
    everywhere: dict[str, list[tuple[str, ...]]] = {}
    for (profile, _, _), rows in alike.items():
        everywhere.setdefault(profile, []).extend(words for _, words in rows)
        within = [len(set(values)) > 1 for values in zip(*(words for _, words in rows), strict=True)]
        found[profile] = [one or other for one, other in zip(within, found.get(profile, within), strict=True)]
    for profile, several in everywhere.items():
        called = [len(set(values)) > 1 for values in zip(*several, strict=True)][:CALLED_BY]
        found[profile] = [*called, *found[profile][CALLED_BY:]]
    return found


def _by_streams(rows: Sequence[Result]) -> dict[str, list[Result]]:
    """The rows; where streams in order are asked for at several depths, by the number of streams.

    For requests at random places depth times jobs is the load, whichever of the two it comes from. Four streams are
    another load than one with four requests outstanding: the way between them is long.
    """
    depths: dict[int | None, set[int | None]] = {}
    for row in rows:
        depths.setdefault(row.jobs, set()).add(row.outstanding_asked)
    if len(depths) == 1 or not any(map(follows, rows)) or all(len(those) == 1 for those in depths.values()):
        return {"": list(rows)}
    found: dict[str, list[Result]] = {}
    for row in rows:
        found.setdefault("" if row.jobs is None else f"{row.jobs} job{'s' * (row.jobs > 1)}", []).append(row)
    return found


def _dots(rows: Sequence[Result]) -> list[Result]:
    """The rows in order of load, once: of a search the row that is its answer is among the probes too.

    Points that come to the same load by depth and by jobs are each a dot.
    """
    searched = {load_of(row): row for row in rows if row.role == "probe"}
    searched |= {load_of(row): row for row in rows if row.role == "point" and row.limit}
    points = {(load_of(row), row.total): row for row in rows if row.role == "point" and not row.limit}
    lines = {load for load, row in searched.items() if row.role == "point"}
    swept = [row for row in points.values() if load_of(row) not in lines]
    for row in swept:
        searched.pop(load_of(row), None)
    return sorted((*swept, *searched.values()), key=load_of)


def load_of(row: Result) -> float:
    """The load of a row on its axis: the rate offered, or the outstanding I/Os asked for."""
    return row.offered_per_s if row.offered_per_s is not None else float(row.outstanding_asked or 0)


def saturated(curve: Curve) -> Result | None:
    """The row that knows where saturation is."""
    return next((row for row in (curve.line, *curve.rows) if row and row.saturation_iops), None)


def _overloaded(row: Result) -> bool:
    """Whether a measured row was offered more than was done."""
    return bool((row.provenance.get("open") or {}).get("overloaded"))
