"""Tables of a comparison: of two sides with intervals, of several side by side, strong and weak cells marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from loadline.judging.cell import Cell
from loadline.judging.compare import Comparison
from loadline.judging.fail_if import Tried
from loadline.judging.matching import COLUMNS, Side
from loadline.judging.suitability import DECIDES, Stand, standings
from loadline.reporting.table import UNKNOWN, Group, Table, Tone, count, listed
from loadline.units import format_signed

#: Stand before a change, so that colour isn't all that tells verdicts apart.
MARKS = {"better": "▲", "worse": "▼", "higher": "▲", "lower": "▼", "same": "=", "can't tell": "?"}

# More sides don't stand beside each other.
_MOST_COLUMNS = 8

# Reasons that are told below a table, the most frequent ones.
_FEW = 6

# From so many times on a change is told as a multiple.
_MANY = 10

# By point, figure and side: how it's marked.
_Signs: TypeAlias = Mapping[tuple[str, str, str], str]

_HEADS = {
    "load": ("load at the load line", 1.0),
    "saturation_iops": ("saturation, IOPS", 1.0),
    "iops": ("IOPS", 1.0),
    "bytes_per_s": ("MB/s", 1e6),
}


def head(figure: str) -> tuple[str, float]:
    """How a figure is called for people, with its unit, and what its values are divided by: `read p99, ms`."""
    if figure in _HEADS:
        return _HEADS[figure]
    for way in ("read_", "write_"):
        if figure.startswith(way):
            said, unit = head(figure.removeprefix(way))
            return f"{way.removesuffix('_')} {said}", unit
    statistic = figure.removeprefix("latency_").removesuffix("_ns")
    return f"{'mean' if statistic == 'mean' else statistic} latency, ms", 1e6


def comparison_table(comparison: Comparison, width: int | None = None, stands: Sequence[Stand] | None = None) -> Table:
    """Every cell, by figure: of two sides with the interval of each; of several sides beside each other.

    Args:
        width: in which sides must fit beside each other; else each has a row.
        stands: where each side stands, if that is known already.
    """
    several = len(comparison.sides) > 2
    if len(comparison.sides) > _MOST_COLUMNS:
        return _listed(comparison, {})
    signs = _strong_or_weak(comparison, stands)
    if not several:
        return _listed(comparison, signs)
    beside = _beside(comparison, signs)
    return beside if width is None or beside.fit(width) else _listed(comparison, {})


def _figures(comparison: Comparison) -> list[str]:
    """Those that have a verdict, an interval or a 0 somewhere; else all, for then figures are all there is."""
    every = list(dict.fromkeys(cell.figure for cell in comparison.cells))
    # A rate that broke down has no interval, and is no reason to hide it.
    known = {cell.figure for cell in comparison.cells if cell.low is not None or (cell.value == 0 and not cell.ratio)}
    return [figure for figure in every if figure in known] or every


def _strong_or_weak(comparison: Comparison, stands: Sequence[Stand] | None) -> _Signs:
    """`+` where a side is well ahead of the best of the others, `−` where it's well behind."""
    if not comparison.ranked:
        return {}
    signs = {"strong": " +", "weak": " −"}
    known = standings(comparison) if stands is None else stands
    return {(one.point, one.figure, one.side): signs.get(one.standing, "") for one in known}


def _listed(comparison: Comparison, signs: _Signs) -> Table:
    several = len(comparison.sides) > 2
    figures = _figures(comparison)
    advised = any(cell.longer is not None for cell in comparison.cells if cell.figure in figures)
    tones: dict[str, Tone] = {}
    groups = []
    for figure in figures:
        said, unit = head(figure)
        rows = []
        for cell in (cell for cell in comparison.cells if cell.figure == figure):
            verdict = f"{MARKS[cell.verdict]} {cell.verdict}"
            if cell.verdict in {"better", "worse"}:
                tones[verdict] = "good" if cell.verdict == "better" else "bad"
            side = (cell.side,) if several else ()
            longer = ("" if cell.longer is None else f"{count(cell.longer)} x",) if advised else ()
            values = (
                _signed(value_of(value, unit), signs.get((cell.point, figure, name), ""), tones)
                for name, value in ((comparison.baseline, cell.baseline_value), (cell.side, cell.value))
            )
            name = cell.point + ("!" if cell.doubts else "")
            rows.append((name, *side, *values, percent(cell.ratio), span(cell), verdict, *longer))
        groups.append(Group(said, tuple(rows)))
    sides = ("side", "baseline", "value") if several else (comparison.baseline, comparison.sides[1].name)
    heads = ("point", *sides, "change\n%", "95 %\ninterval\n%", "verdict", *(("run\nlonger",) if advised else ()))
    naming = 2 if several else 1
    text = frozenset({*range(naming), naming + 4})
    return Table(heads, tuple(groups), text, tuple(_notes(comparison, signs)), naming, tones)


def _beside(comparison: Comparison, signs: _Signs) -> Table:
    names = [side.name for side in comparison.sides]
    tones: dict[str, Tone] = {}
    groups = []
    for figure in _figures(comparison):
        said, unit = head(figure)
        points: dict[str, dict[str, Cell]] = {}
        for cell in comparison.cells:
            if cell.figure == figure:
                points.setdefault(cell.point, {})[cell.side] = cell
        rows = []
        for point, cells in points.items():
            first = next(iter(cells.values()))
            said_by = [value_of(first.baseline_value, unit)]
            said_by += [said_of(cells[name], unit) if name in cells else UNKNOWN for name in names[1:]]
            marked = (
                _signed(text, signs.get((point, figure, name), ""), tones)
                for name, text in zip(names, said_by, strict=True)
            )
            rows.append((point, *marked))
        groups.append(Group(said, tuple(rows)))
    return Table(("point", *names), tuple(groups), notes=tuple(_notes(comparison, signs)), tones=tones)


def _signed(text: str, sign: str, tones: dict[str, Tone]) -> str:
    """A cell's text with its sign, whose colour is kept by the text."""
    if sign:
        tones[text + sign] = "good" if sign == " +" else "bad"
    return text + sign


def said_of(cell: Cell, unit: float) -> str:
    """`21,094 ▲ +17.6%`: the value, the verdict's mark, the change."""
    mark = MARKS[cell.verdict]
    if cell.value is None:
        return f"{UNKNOWN} {mark}"
    change = f" {percent(cell.ratio)}%" if cell.ratio else ""
    return f"{value_of(cell.value, unit)} {mark}{change}{'!' if cell.doubts else ''}"


def value_of(value: float | None, unit: float) -> str:
    """A value in the unit of its head."""
    return count(None if value is None else value / unit)


def percent(times: float | None) -> str:
    """The change that a ratio is, in percent with its sign, which 0 has only one of; a ratio from 10 on as `11.2 x`."""
    if times is None:
        return UNKNOWN
    return f"{count(times)} x" if times >= _MANY else format_signed(100 * (times - 1), "+z.1f")


def span(cell: Cell) -> str:
    """The interval of a change."""
    if cell.low is None or cell.high is None:
        return UNKNOWN
    if cell.high >= _MANY:
        return f"{count(cell.low)} to {count(cell.high)} x"
    return f"{percent(cell.low)} to {percent(cell.high)}"


def _notes(comparison: Comparison, signs: _Signs) -> Iterator[str]:
    """What is to be said below a table: how many of what, why not, what was left out, what is doubtful."""
    cells, shown = comparison.cells, set(_figures(comparison))
    yield summary(comparison)
    yield from _differing(comparison)
    if any(len(rows) > 1 for match in comparison.matches for rows in match.rows.values()):
        # Tables of runs weight response times by I/Os, so they may say something else.
        yield "of repetitions: geometric means (show has means, of response times over all I/Os); percentiles of all"
    if any(sign for (_, figure, _), sign in signs.items() if figure in shown):
        yield f"+ strong, − weak: {DECIDES:.0%} or more ahead of the best of the others, or behind it"
    hidden = dict.fromkeys(cell.figure for cell in cells if cell.figure not in shown)
    if hidden:
        whose = ", ".join(head(figure)[0].partition(",")[0] for figure in hidden)
        yield f"nobody knows how sure these are, so they aren't shown (--json has them): {whose}"
    yield from _first(comparison.notes)
    yield from _reasons([cell for cell in cells if cell.figure not in hidden])
    alone: dict[str, list[str]] = {}
    for point, side in comparison.alone:
        alone.setdefault(side, []).append(point)
    yield from _first([f"only {side} has {listed(points, _FEW)}" for side, points in alone.items()])
    doubtful = Counter(check for cell in cells for check in cell.doubts)
    if doubtful:
        yield f"! an audit finds what cannot be in these rows ({', '.join(doubtful)}): see loadline audit"
    settings = [
        f"settings, {row.point}: {one.get('message')}"
        for row in comparison.results
        for one in row.findings
        if one.get("check") == "settings"
    ]
    yield from _first(settings)
    yield from _doubtful(comparison)


def _differing(comparison: Comparison) -> Iterator[str]:
    """In which tags and columns sides differ beside what makes them, and whose states they are.

    Of a tag that some sides don't have it's said that it is as described, or that they don't say it.
    """
    sides = comparison.sides
    matched = {*comparison.by, "run", "profile", "access_class"}
    names = [name for name in dict.fromkeys(name for side in sides for name in side.labels) if name not in matched]
    # What varies within a side was matched; and a model has no target, as a device has no system.
    known = [
        name
        for name in names
        if all(name in side.labels or not (name in side.said or name in {*COLUMNS, "size"}) for side in sides)
    ]
    values = {name: list(dict.fromkeys(_value(side, name) for side in sides)) for name in known}
    differing = [f"{name} {listed(of, _FEW)}" for name, of in values.items() if len(of) > 1]
    if differing:
        alike = [f"{name} ({of[0]})" for name, of in values.items() if len(of) == 1 and name in {"system", "target"}]
        yield f"differs in: {'; '.join(differing)}{''.join(f'; the same {one}' for one in alike)}"


def _value(side: Side, name: str) -> str:
    """Of a label; what a side doesn't say of a described system is as described."""
    unsaid = "as described" if "." in name and all(row.system for row in side.rows) else "not said"
    return side.labels.get(name, unsaid)


def _first(lines: Sequence[str]) -> Iterator[str]:
    """A few lines, and how many there are beyond them."""
    yield from lines[:_FEW]
    if len(lines) > _FEW:
        yield f"and {len(lines) - _FEW:,} more (--json has all)"


def _doubtful(comparison: Comparison) -> Iterator[str]:
    """What an audit doubts of the rows behind the cells, by check."""
    points: dict[str, set[str]] = {}
    for match in comparison.matches:
        for row in (row for rows in match.rows.values() for row in rows):
            for one in row.findings:
                if one.get("severity") == "warning" and one.get("check") != "settings":
                    points.setdefault(str(one.get("check")), set()).add(match.point)
    if points:
        said = ", ".join(f"{check} ({len(of)} point{'' if len(of) == 1 else 's'})" for check, of in points.items())
        yield f"an audit doubts {said}: see loadline audit"


def summary(comparison: Comparison) -> str:
    """`8 cells against A: 3 better, 1 worse, 2 the same within 1 %, 2 can't be told`."""
    found = Counter(cell.verdict for cell in comparison.cells)
    parts = [
        *((found[word], word) for word in ("better", "worse", "higher", "lower")),
        (found["same"], f"the same within {100 * comparison.resolution:g} %"),
        (found["can't tell"], "can't be told"),
    ]
    said = ", ".join(f"{number} {what}" for number, what in parts if number) or "none in common"
    tested = f"; corrected for {comparison.tested} tests" if comparison.tested > 1 else ""
    return f"{_figures_said(len(comparison.cells))} against {comparison.baseline}: {said}{tested}"


def untold(comparison: Comparison) -> str:
    """Why most of it can't be told, to be said before it; nothing if half of it can."""
    why = [
        "intervals are too wide" if _by_chance(cell) else cell.why
        for cell in comparison.cells
        if cell.verdict == "can't tell"
    ]
    if 2 * len(why) <= len(comparison.cells):
        return ""
    [(first, times)] = Counter(why).most_common(1)
    of = "" if times == len(why) else f" of {times}"
    said = f"{len(why)} of {_figures_said(len(comparison.cells))} can't be told"
    return f"{said}{f', because{of}: {first}' if first else ''}"


def threshold_lines(tried: Sequence[Tried]) -> Iterator[str]:
    """What thresholds came to: a line for each point that fails or isn't sure, and one for each that holds."""
    said = {"fails": "fails", "unsure": "isn't sure", "missing": "can't be judged"}
    for threshold in dict.fromkeys(one.threshold for one in tried):
        each = [one for one in tried if one.threshold == threshold]
        for one in each:
            if one.state != "passes":
                yield f"{threshold.text}: {said[one.state]} at {one.point} of {one.side}: {one.why}"
        passed = sum(one.state == "passes" for one in each)
        if passed == len(each):
            yield f"{threshold.text}: nowhere so, of {passed} point{'' if passed == 1 else 's'}"


def _by_chance(cell: Cell) -> bool:
    """Whether only its interval, which the table shows, prevents a verdict."""
    return cell.verdict == "can't tell" and cell.chance is not None


def _figures_said(number: int) -> str:
    return f"{number} figure{'' if number == 1 else 's'}"


def _reasons(cells: Sequence[Cell]) -> Iterator[str]:
    """Why figures have no verdict, or what was assumed; of those that may be chance only how many there are."""
    reasons: dict[str, list[str]] = {}
    by_chance = [cell for cell in cells if _by_chance(cell)]
    if by_chance:
        alone = sum((cell.low or 0) > 1 or (cell.high or 0) < 1 for cell in by_chance)
        more = f"; {alone} would be told if tested alone" if alone else ""
        yield f"{_figures_said(len(by_chance))} may differ or be the same: their intervals are too wide{more}"
    for cell in cells:
        if cell.why and not _by_chance(cell):
            reasons.setdefault(cell.why, []).append(f"{cell.point}, {head(cell.figure)[0].partition(',')[0]}")
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
    for why, whose in ordered[:_FEW]:
        yield f"{whose[0] if len(whose) == 1 else _figures_said(len(whose))}: {why}"
    if len(ordered) > _FEW:
        left = sum(len(whose) for _, whose in ordered[_FEW:])
        yield f"{left} more can't be told, each for its reason (--json has all)"
