"""Comparison: the points that sides have in common, figure by figure, each with its ratio, interval and verdict.

Start reading at `compare`, then `_judged`. Cells before their verdicts are in cell.py, what is compared with what in
matching.py, the statistics in interval.py; docs/background/compare.md has the equations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadline.errors import InputError
from loadline.judging.audit import audit, each_of, no_result
from loadline.judging.cell import (
    MOST_LONGER,
    Cell,
    Estimates,
    Known,
    Pending,
    Verdict,
    give_or_take,
    pending,
    times_longer,
)
from loadline.judging.figure import FIGURES, Figure, figure_named, figures_of
from loadline.judging.interval import Error, Estimate, Ratio
from loadline.judging.matching import LOADS, Match, Matching, Side, Source, match, source_of
from loadline.judging.student import holm, quantile
from loadline.result.schema import Result
from loadline.result.store import Run
from loadline.units import format_signed

#: Differences of at most so much are none, unless somebody says otherwise.
RESOLUTION = 0.01

_CHANCE = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out.

    Attributes:
        sides: the baseline first; `baseline` is its name.
        by: what makes the sides, empty where each source is one.
        cells: by point, figure, side, in the order of the baseline's rows.
        matches: the points behind them, with all rows.
        single: what only one side has.
        notes: sentences about the whole.
        results: every row, with its findings.
        estimates: by (point, figure, side), the baseline's too, of what the cells compare.
        known: what lies beside the rows, for `estimate_of` of others.
    """

    sides: tuple[Side, ...]
    baseline: str
    by: tuple[str, ...]
    resolution: float
    cells: tuple[Cell, ...]
    matches: tuple[Match, ...]
    single: tuple[Match, ...]
    notes: tuple[str, ...]
    results: tuple[Result, ...]
    estimates: Mapping[tuple[str, str, str], Estimate]
    known: Known

    @property
    def ranked(self) -> bool:
        """Whether a side can be better than another."""
        return _ranked(self.by)

    @property
    def alone(self) -> tuple[tuple[str, str], ...]:
        """(point, side) of what only one side has."""
        return tuple((one.point, side) for one in self.single for side in one.rows)

    @property
    def tested(self) -> int:
        """How many cells were tested, which is what chances are corrected for."""
        return sum(cell.chance is not None for cell in self.cells)


def compare(
    results: Sequence[Result | Run | Source],
    *,
    by: str | Sequence[str] = (),
    baseline: str | None = None,
    resolution: float = RESOLUTION,
    figures: Sequence[str] = (),
) -> Comparison:
    """Compares rows of any origin, measured with forecast ones as well.

    Args:
        results: runs, or sources, each of which is a side; or rows, which are sides by their run.
        by: tags or columns (system, target, origin, suite, profile, run) whose values are the sides instead.
        baseline: what the others are compared with, a side's name or a unique part of it; else the first.
        resolution: differences of at most that share are none.
        figures: names such as `iops`, `read_p99`, `latency_mean_ns`; else the usual ones.

    Raises:
        InputError: what is no result, fewer than two sides, or an unknown tag, side or figure.
    """
    if not 0 <= resolution < 1:
        raise InputError(f"a resolution of {resolution:g} can't be", "Give a share below 1, such as 0.01.")
    for name in figures:
        figure_named(name)
    tags = tuple(filter(None, dict.fromkeys([by] if isinstance(by, str) else by)))
    sources = _audited(_sources(results))
    matching = match(sources, tags, baseline)
    runs = [source.run for source in sources if source.run is not None]
    known = Known.of(runs)
    table = Estimates(known, {})
    cells = tuple(_verdicts(list(_cells(matching, figures, table)), resolution, ranked=_ranked(tags)))
    return Comparison(
        sides=matching.sides,
        baseline=matching.sides[0].name,
        by=tags,
        resolution=resolution,
        cells=cells,
        matches=matching.matches,
        single=matching.single,
        notes=matching.notes,
        estimates={key: one for key, one in table.estimates.items() if one is not None},
        known=known,
        results=tuple(row for source in sources for row in source.rows),
    )


def check_common(comparison: Comparison) -> None:
    """Whether anything is compared.

    Raises:
        InputError: no point that the baseline and another side have, or no figure that both know.
    """
    if comparison.cells:
        return
    if any(comparison.baseline in one.rows for one in comparison.matches):
        known = [f"{side.name} {_some([name for name in FIGURES if any(map(FIGURES[name].of, side.rows))])}"
                 for side in comparison.sides]  # fmt: skip
        message = f"the sides know no figure in common: {'; '.join(known[:4])}"
        raise InputError(message, "Say what columns mean (--map), or which figures are compared (--figures).")
    points: dict[str, list[str]] = {}
    for one in (*comparison.matches, *comparison.single):
        for side in one.rows:
            points.setdefault(side, []).append(one.point)
    has = "; ".join(f"{side} has {_some(names)}" for side, names in list(points.items())[:4])
    apart = ",".join((*comparison.by, load)) if (load := _load_apart(comparison)) else ""
    raise InputError(
        f"{comparison.baseline} has no point in common with another side: {has}",
        f"They differ in their load: --by {apart} makes its values the sides."
        if apart
        else "No load is in both: compare runs of one suite, or say what makes the sides (--by), what was asked"
        " (--workload), or what columns mean (--map).",
    )


def _load_apart(comparison: Comparison) -> str | None:
    """The column of the load by whose values something of several sides could be compared."""
    sides: dict[tuple[object, ...], set[str]] = {}
    for side in comparison.sides:
        for row in side.rows:
            sides.setdefault(_who(row), set()).add(side.name)
    for name in LOADS:
        try:
            found = compare(comparison.results, by=(*comparison.by, name))
            together = ([row for rows in one.rows.values() for row in rows] for one in found.matches)
            if found.cells and any(
                len(set().union(*(sides.get(_who(row), ()) for row in rows))) > 1 for rows in together
            ):
                return name
        except InputError:
            # It's the same everywhere, or unknown.
            continue
    return None


def _who(row: Result) -> tuple[object, ...]:
    """What a row is known by, whatever was found about it."""
    return row.run, row.system, row.point, row.repeat, row.target, row.limit, row.total


def _some(names: Sequence[str]) -> str:
    return (", ".join(names[:4]) or "none") + (", ..." if len(names) > 4 else "")


def _sources(results: Sequence[Result | Run | Source]) -> list[Source]:
    found: dict[str, list[Result]] = {}
    sources = []
    for one in each_of(results):
        match one:
            case Result():
                found.setdefault(one.run or one.system or "results", []).append(one)
            case Source():
                sources.append(one)
            case Run():
                sources.append(source_of(one))
            case _:
                raise no_result(one)
    return sources + [Source(name, tuple(rows)) for name, rows in found.items()]


def _audited(sources: Sequence[Source]) -> list[Source]:
    """The same with what an audit of all rows together says of each."""
    documents = {source.run.id: source.run.document for source in sources if source.run is not None}
    rows = iter(audit([row for source in sources for row in source.rows], documents))
    return [replace(source, rows=tuple(next(rows) for _ in source.rows)) for source in sources]


def _cells(matching: Matching, figures: Sequence[str], table: Estimates) -> Iterator[Pending]:
    baseline, *others = (side.name for side in matching.sides)
    for point in matching.matches:
        if baseline not in point.rows:
            continue
        wanted = figures_of(point.rows[baseline][0], figures)
        for figure in wanted:
            for side in others:
                if side in point.rows:
                    found = pending(point, figure, baseline, side, table, asked=bool(figures))
                    if found is not None:
                        yield found


def _ranked(by: Sequence[str]) -> bool:
    """A forecast beside its measurement is off, higher or lower: nobody wins by that."""
    return tuple(by) != ("origin",)


def _verdicts(cells: Sequence[Pending], resolution: float, *, ranked: bool) -> Iterator[Cell]:
    """The cells with their verdicts: a difference must be beyond chance in view of all of them."""
    chances = [one.ratio.chance(grain=one.grain) for one in cells if one.tested and one.ratio is not None]
    corrected = iter(holm(chances))
    for one in cells:
        if one.judged and one.ratio is not None:
            change = _change(one.ratio, one.figure, ranked=ranked)
            yield _judged(one, one.ratio, next(corrected) if one.tested else None, resolution, len(chances), change)
        else:
            yield one.cell


def _change(found: Ratio, figure: Figure, *, ranked: bool) -> Verdict:
    if not ranked:
        return "higher" if found.value > 1 else "lower"
    return "better" if (found.value > 1) == figure.rate else "worse"


def _judged(one: Pending, found: Ratio, chance: float | None, resolution: float, tests: int, change: Verdict) -> Cell:
    """The cell with its verdict, which is `change` if there is one that's told from chance."""
    error: Error | None = found.error
    assert error is not None, "what is tested has an error"
    cell = replace(one.cell, chance=chance)
    away, half = abs(math.log(found.value)), error.half_width
    room = max(math.log1p(resolution), one.grain)
    if away + half <= room + 1e-12:
        return replace(cell, verdict="same")
    if away > room and (chance is None or chance <= _CHANCE):
        return replace(cell, verdict=change)
    several = max(cell.runs, cell.baseline_runs) > 1
    if away > room:
        longer = _longer(error, away - one.grain, _CHANCE / tests, more_runs=several)
        why = f"a change of {format_signed(found.value - 1, '+.1%')} may be chance: it's known to {give_or_take(error)}"
        if half < away - one.grain:
            why = f"beyond chance by itself, not among {tests} tests"
    else:
        longer = _longer(error, room - away, _CHANCE, more_runs=several)
        why = f"within the resolution, but known to {give_or_take(error)} only"
    return replace(cell, why="; ".join(filter(None, (why, cell.why))), longer=longer)


def _longer(error: Error, room: float, chance: float, *, more_runs: bool) -> float | None:
    """How many times as long, or as often, to run until the half-width at that chance fits into `room`.

    More runs bring more degrees of freedom, longer ones don't: their batches grow with them.
    """
    times = 1.1
    while times <= MOST_LONGER:
        freedom = error.freedom * times if more_runs else error.freedom
        if quantile(chance, freedom) * error.log <= room * math.sqrt(times):
            return times_longer(times)
        times *= 1.1
    return None
