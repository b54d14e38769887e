"""The full table of a page: every column that has a value, units in the heads, raw values beside what is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from loadline.reporting.apart import cut_runs
from loadline.reporting.table import UNKNOWN, count, fate, without_figures
from loadline.result.schema import COLUMNS, Column, Result

#: Shown at once; the others when they are asked for.
MAIN = (
    *("point", "outstanding_asked", "offered_per_s", "iops", "iops_ci95", "bytes_per_s"),
    *(
        "latency_mean_ns",
        "read_latency_mean_ns",
        "write_latency_mean_ns",
        "read_latency_p99_ns",
        "write_latency_p99_ns",
    ),
    *("steady", "cpu_fraction", "busy_fraction", "saturation_iops", "limit", "bottleneck", "error"),
    *("repeat", "system", "target", "tags", "run"),
)

# Of what figure a half-width is.
_HALF_WIDTHS = {"iops_ci95": "iops", "latency_mean_ci95_ns": "latency_mean_ns"}

# These are told elsewhere on the page: in each point's section.
_ELSEWHERE = frozenset({"workload", "findings", "provenance"})

_Unit: TypeAlias = tuple[str, Callable[[float], str]]

#: By the end of a column's name: the unit in its head, and how a value is said in it.
_UNITS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("bytes_per_s", "MB/s", lambda value: count(value / 1e6)),
    ("_per_s", "/s", count),
    ("latency_ns", "ms", lambda value: count(value / 1e6)),
    ("runtime_ns", "s", lambda value: count(value / 1e9)),
    ("warmup_ns", "s", lambda value: count(value / 1e9)),
    ("_ns", "ms", lambda value: count(value / 1e6)),
    ("_fraction", "%", lambda value: f"{100 * value:.1f}"),
    ("iops", "/s", count),
    ("iops_ci95", "/s", count),
)


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: its words and unit; `main` ones are shown at once."""

    name: str
    head: str
    unit: str
    meaning: str
    main: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """What is said, the raw value (None: unknown), the classes of its style, and where it's cut, the whole."""

    said: str
    raw: str | None
    kind: str
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    cells: list[Cell]
    quick: bool
    failed: bool


def full_table(results: Sequence[Result], sides: Sequence[str] = ()) -> tuple[list[Head], list[Row]]:
    """Heads and rows; the point's name comes first, then its side, the main columns, and the others.

    Args:
        sides: of each row, where rows are compared or have several sources.
    """
    results = [without_figures(result) for result in results]
    # Of one run, system or target its name isn't needed in every row.
    alone = {
        name
        for name in ("run", "system", "target", "repeat", "outstanding_asked")
        if len({getattr(result, name) for result in results}) == 1 and (len(results) > 1 or name != "outstanding_asked")
    }
    several = "run" not in alone
    # The side tells runs and what was set apart, in fewer letters.
    alone |= {"run", "tags"} if sides else set()
    known = [
        column
        for column in COLUMNS
        if column.name not in _ELSEWHERE and any(column.of(result) not in (None, {}, "") for result in results)
    ]
    order = {name: place for place, name in enumerate(MAIN)}
    known.sort(key=lambda column: order.get(column.name, len(order)))
    heads = [_head(column, alone) for column in known]
    ways = [(column, _kind(column, head), _unit(column.name)) for column, head in zip(known, heads, strict=True)]
    rows = [Row([_cell(*way, result) for way in ways], *_marks(result)) for result in results]
    if sides:
        # Ids of runs are long, and take the width that the figures need.
        short = cut_runs(sides)
        heads.insert(1, Head("side", "side", "", "What tells the row from others of its name.", main=True))
        for row, side, result in zip(rows, sides, results, strict=True):
            whole = f"{side}, run {result.run}" if several and side != result.run else side
            row.cells.insert(1, Cell(short.get(side, side), side, "text side", whole))
    return heads, rows


def _marks(result: Result) -> tuple[bool, bool]:
    return result.quick, result.error is not None


def _kind(column: Column, head: Head) -> str:
    return " ".join(name for name, on in (("text", _is_text(column)), ("more", not head.main)) if on)


def _is_text(column: Column) -> bool:
    return column.type not in {"BIGINT", "DOUBLE"}


def _unit(name: str) -> _Unit | None:
    return next(((unit, say) for ending, unit, say in _UNITS if name.endswith(ending)), None)


def _head(column: Column, alone: set[str]) -> Head:
    unit = _unit(column.name)
    words = column.name
    for ending in ("_ns", "_fraction", "bytes_per_s", "_per_s"):
        words = words.removesuffix(ending) if ending != "bytes_per_s" else words.replace(ending, "bandwidth")
    words = words.replace("iops", "IOPS").replace("_", " ")
    main = column.name in MAIN and column.name not in alone
    return Head(column.name, words, unit[0] if unit else "", column.meaning, main)


def _cell(column: Column, kind: str, unit: _Unit | None, result: Result) -> Cell:
    value = column.of(result)
    if value is None or value == {}:
        return Cell(UNKNOWN, None, kind)
    if column.name == "point":
        ended = f" ({fate(result)})" if result.error else ""
        return Cell(f"{value}{'*' if result.quick else ''}{ended}", str(value), kind)
    if isinstance(value, Mapping):
        said = ", ".join(f"{key} {_say(part)}" for key, part in value.items())
        return Cell(said, json.dumps(value, ensure_ascii=False), kind)
    if isinstance(value, bool):
        return Cell("yes" if value else "no", str(value).lower(), kind)
    said = (
        _half_width(value, column.name, result, unit[1])
        if unit and column.name in _HALF_WIDTHS
        else str(value)
        if _is_text(column)
        else unit[1](value)
        if unit
        else f"{value:,}"
        if isinstance(value, int)
        else count(value)
    )
    return Cell(said, value if isinstance(value, str) else json.dumps(value), kind)


def _half_width(value: float, name: str, result: Result, say: Callable[[float], str]) -> str:
    """One that is wider than its figure says no more than that: even 0 lies within."""
    figure = getattr(result.total, _HALF_WIDTHS[name])
    return f">{say(figure)}" if figure and value > figure else say(value)


def _say(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
