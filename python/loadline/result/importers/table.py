"""Plain tables of other people's results: each row becomes a result, each column what its head says."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any, get_args

from loadline.errors import InputError
from loadline.result.importers.asked import Asked
from loadline.result.importers.cell import Cell, cell, decimal_of
from loadline.result.importers.column import COUNT, RATE, SHARE, SIZE, TIME, UNITS, Meaning, meaning
from loadline.result.importers.grid import Grid, grids
from loadline.result.importers.row import Imported, ImportedRow, Mapped, can_be, no_figures, of_cells
from loadline.result.schema import COLUMNS, Flow, Origin, Result
from loadline.result.series import PointSeries

#: Endings that say that there are tables, whatever else there is.
ENDINGS = frozenset({".csv", ".tsv", ".md", ".markdown", ".html", ".htm"})

_SCHEMA = {column.name: column for column in COLUMNS}

#: What a number without a unit is taken to be in, and by what a unit multiplies it, by the end of the column's name.
_KINDS: tuple[tuple[str, Mapping[str, float], str], ...] = (
    ("bytes_per_s", RATE, "MB/s"),
    ("latency_mean_ns", TIME, "ms"),
    ("runtime_ns", TIME, "s"),
    ("warmup_ns", TIME, "s"),
    ("_ns", TIME, "ms"),
    ("iops", COUNT, ""),
    ("_per_s", COUNT, ""),
    ("_fraction", SHARE, "%"),
    ("block", SIZE, ""),
)

#: Heads of a first column that may name what was run.
_NAMES = re.compile(r"(?:test|load|case|scenario|benchmark|operation|type|pattern|test name)s?", re.IGNORECASE)

#: Stands in `--map` for every figure of a table whose columns are systems.
EVERY = "*"

_NAN = float("nan")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_RESULTS = frozenset({"iops", "bytes_per_s", "latency_mean_ns"})

# Columns whose values importing gives a row itself: what a table says there is a tag.
_GIVEN = ("run", "point", "target", "role")


def looks_so(data: bytes) -> bool:
    """Any text may hold a table."""
    return data.startswith(_UTF_16) or b"\0" not in data[:4096]


def _text(data: bytes) -> str:
    """As spreadsheets write it: UTF-8, UTF-16 with its mark, else Windows' own 8 bits, in which a µ is a byte."""
    if data.startswith(_UTF_16):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def read(data: bytes, name: str, maps: Mapping[str, Meaning | None]) -> Imported:
    """The rows of every table in a file.

    Args:
        maps: what `--map` says of heads.

    Raises:
        InputError: no table, or a head in `maps` that no table has.
    """
    ending = "." + name.rpartition(".")[2].lower() if "." in name else ""
    found = grids(_text(data), ending, name)
    heads = {head for grid in found for head in grid.heads}
    for head in maps:
        if head not in {*heads, EVERY}:
            raise InputError(
                f"--map: {name} has no column {head!r}", f"Its columns: {', '.join(sorted(filter(None, heads)))}."
            )
    rows: list[ImportedRow] = []
    mapping: list[Mapped] = []
    warnings: list[str] = []
    series = None
    parted = [(number, part) for number, grid in enumerate(found, 1) for part in _by_access(grid, maps)]
    for number, part in parted:
        meanings, mapped = _understood(part, maps)
        grid = replace(part, decimal=_decimal(part, meanings))
        if series is None and (series := _series(grid, meanings)) is not None:
            mapping += mapped
            rows.append(_of_series(series, name, grid))
            continue
        shown = grid if _tells(meanings) else _melted(grid, maps.get(EVERY))
        if shown is None:
            continue
        if shown is not grid:
            meanings, mapped = _understood(shown, maps)
        mapping += [one for one in mapped if one not in mapping]
        extra = {"table": str(number)} if len(found) > 1 else {}
        rows += [_row(shown, meanings, mapped, line, extra) for line in shown.rows if any(line)]
        warnings += _doubts(shown, meanings)
        if grid.longer:
            warnings.append(
                f"row {grid.longer[0]} has more cells than there are heads, and these are left out"
                f"{f'; so in {len(grid.longer) - 1} more' if len(grid.longer) > 1 else ''}: is a comma within a number?"
            )
        warnings += [one for one in _assumed(shown, meanings, maps) if one not in warnings]
    if not rows:
        raise InputError(
            f"{name}: no column of its tables is a rate, throughput, latency or part of a load",
            "Say what they are: --map 'HEAD=iops', --map 'HEAD=latency_mean_ns:ms'; of all figures: --map '*=iops'.",
        )
    return Imported(tuple(rows), tuple(mapping), tuple(warnings), series if len(rows) == 1 else None)


def _by_access(grid: Grid, maps: Mapping[str, Meaning | None]) -> list[Grid]:
    """A table with figures of random and of sequential loads side by side, as a table of each."""
    figures = {n for n, head in enumerate(grid.heads) if head not in maps and _is_figure(meaning(head))}
    of = {way: {n for n in figures if re.search(rf"\b{way}", grid.heads[n], re.IGNORECASE)} for way in ("rand", "seq")}
    if not of["rand"] or not of["seq"]:
        return [grid]
    parts = []
    for way, access in (("rand", "random"), ("seq", "sequential")):
        kept = [n for n in range(len(grid.heads)) if n not in figures or n in of[way]]
        heads = (*(grid.heads[n] for n in kept), "access")
        parts.append(Grid(heads, tuple((*(row[n] for n in kept), access) for row in grid.rows), grid.line))
    return parts


def _is_figure(one: Meaning | None) -> bool:
    return one is not None and (one.to.endswith(("iops", "bytes_per_s")) or "latency" in one.to)


def _understood(grid: Grid, maps: Mapping[str, Meaning | None]) -> tuple[list[Meaning | None], list[Mapped]]:
    """What each column is, and how that is known; None: a tag."""
    found: list[Meaning | None] = []
    why: list[str] = []
    for head in grid.heads:
        said = maps.get(head)
        if said is not None:
            found.append(None if said.to == "tag" else said)
            why.append("--map")
        elif head in _SCHEMA:
            found.append(Meaning(head, "1"))
            why.append("loadline's own name")
        else:
            found.append(meaning(head))
            why.append("its head")
    _once(found)
    if not any(one is not None and one.to == "profile" for one in found):
        first = next((n for n, head in enumerate(grid.heads) if found[n] is None and _NAMES.fullmatch(head)), None)
        if first is not None and not all(re.fullmatch(r"[\d. #-]*", row[first]) for row in grid.rows):
            found[first], why[first] = Meaning("profile"), "the first column of names"
    _inherit_units(found, why)
    mapped = []
    for head, one, reason in zip(grid.heads, found, why, strict=True):
        if head or one:
            to = f"tag {head}" if one is None else one.to
            mapped.append(
                Mapped(head, to, "" if one is None else _unit_of(one), "no figure" if one is None else reason)
            )
    return found, mapped


def _once(found: list[Meaning | None]) -> None:
    """Of several columns with one meaning the first keeps it."""
    seen: set[str] = set()
    for number, one in enumerate(found):
        if one is not None and one.to:
            if one.to in seen:
                found[number] = None
            seen.add(one.to)


def _inherit_units(found: list[Meaning | None], why: list[str]) -> None:
    """Latencies without a unit have that of the first one that has one."""
    known = next((one.unit for one in found if one is not None and "latency" in one.to and one.unit in TIME), "")
    for number, one in enumerate(found):
        if one is not None and "latency" in one.to and not one.unit and known:
            found[number], why[number] = replace(one, unit=known), "its head; unit of the other latencies"


def _unit_of(one: Meaning) -> str:
    return one.unit or next((default for ending, _, default in _KINDS if one.to.endswith(ending)), "")


def _assumed(grid: Grid, meanings: Sequence[Meaning | None], maps: Mapping[str, Meaning | None]) -> Iterator[str]:
    """What nobody says and is taken for granted: which of two columns is a figure, and in what unit one is."""
    first: dict[str, str] = {}
    for number, (head, one) in enumerate(zip(grid.heads, meanings, strict=True)):
        other = meaning(head) if one is None and head not in maps else None
        if other is not None and _is_figure(other) and other.to in first:
            yield f"{head!r} is {other.to} as {first[other.to]!r} before it, and is left out as a tag: --map chooses"
        if one is None or not _is_figure(one):
            continue
        first.setdefault(one.to, head)
        bare = any((found := cell(row[number], grid.decimal)).value is not None and not found.unit for row in grid.rows)
        if bare and not one.unit and _unit_of(one):
            said = shlex.quote(f"{head}={one.to}:{_unit_of(one)}")
            yield f"{head!r} has no unit and is taken as {_unit_of(one)}: --map {said} says which"


def _tells(meanings: Sequence[Meaning | None]) -> bool:
    """Whether a table says what came out, or at least two parts of what was asked."""
    to = [one.to for one in meanings if one is not None]
    outcome = any(name.removeprefix("read_").removeprefix("write_") in _RESULTS or "latency" in name for name in to)
    return outcome or sum(name in {"block", "mix", "read_fraction", "random_fraction", "access"} for name in to) >= 2


def _melted(grid: Grid, every: Meaning | None = None) -> Grid | None:
    """A table whose rows are loads and whose columns are systems: each cell is a result.

    The unit stands behind the load's name (`64 KB seq. read, MB/s`), else in `every`. Rows that say none are left out.
    What is said of one load in several rows (`4k read, IOPS` and `4k read, latency ms`) is one result.
    """
    names = list(grid.heads[1:])
    match = [re.fullmatch(r"(\D+?)\s*(\d+)", name) for name in names]
    common = {found[1].strip() for found in match if found}
    factor, values = (
        (common.pop(), [found[2] for found in match if found]) if len(common) == 1 and all(match) else ("system", names)
    )
    said = [(*_figure_of_row(label, every), label, cells) for label, *cells in grid.rows]
    told = [(what, load, label, cells) for what, load, label, cells in said if what is not None]
    kinds = Counter(load for _, load, _, _ in told)
    alike = Counter((load, what.to) for what, load, _, _ in told)
    # Of two rows with the same figure of a load nobody knows which of them the others belong to.
    twice = {load for (load, _), number in alike.items() if number > 1}
    heads = {"iops": "IOPS", "bytes_per_s": "throughput", "latency_mean_ns": "latency"}
    heads |= {what.to: what.to for what, _, _, _ in told if what.to not in heads}
    rows: dict[tuple[int, str, str], dict[str, str]] = {}
    for number, (what, load, label, cells) in enumerate(told):
        joined = kinds[load] > 1 and load not in twice
        for value, text in zip(values, cells, strict=True):
            if cell(text, grid.decimal).value is not None or text.startswith(("<", ">")):
                key = (-1, load, value) if joined else (number, label, value)
                rows.setdefault(key, {})[what.to] = f"{text} {_unit_of(what)}".strip()
    lines = tuple((load, value, *(figures.get(to, "") for to in heads)) for (_, load, value), figures in rows.items())
    return Grid(("profile", factor, *heads.values()), lines, grid.line, decimal=grid.decimal) if lines else None


def _figure_of_row(label: str, every: Meaning | None) -> tuple[Meaning | None, str]:
    """What the name of a row says of its cells, and the load that is left of the name."""
    # Units may stand in brackets, which else hold remarks: `read cache rate, requests/s (4 hosts)`.
    text = re.sub(
        r"\(([^)]*)\)", lambda found: f", {found[1]}" if re.fullmatch(r"[A-Za-zµμ/]+", found[1]) else "", label
    )
    parts = [part.strip() for part in text.split(",")]
    of = {part: one for part in (*reversed(parts), label) if (one := meaning(part)) is not None}
    what = next((one for one in of.values() if one.to in _RESULTS), every)
    if what is not None and what.to == "latency_mean_ns":
        # `p99 latency, ms`: the unit alone would be that of a mean. A shortest one is no figure.
        whole = meaning(" ".join(parts))
        what = None if whole is None else replace(what, to=re.sub(r"^(?:read|write)_", "", whole.to))
        what = what if what is None or "latency" in what.to else Meaning("latency_mean_ns", what.unit)
    return what, ", ".join(part for part in parts if not _is_figure(of.get(part)))


_INEXACT = "is inexact, and counts as it stands"
_UNSETTLED = {
    ".": "is read with decimals, but nothing in the table settles it: if dots part thousands, write numbers without",
    ",": "is read with thousands, but nothing in the table settles it: if commas part decimals, write dots",
}


def _doubts(grid: Grid, meanings: Sequence[Meaning | None]) -> list[str]:
    """Warnings of cells that aren't what their column holds, or may be another number; a dash says nothing."""
    wrong, inexact, unsettled = (dict[str, list[tuple[int, str]]]() for _ in range(3))
    for number, line in enumerate(grid.rows, 1):
        for head, one, text in zip(grid.heads, meanings, line, strict=True):
            found = cell(text, grid.decimal)
            if _is_no_time(one, found) and _is_idle(one, grid, meanings, line):
                continue
            if re.search(r"\w", text) and not _can_be(one, found):
                wrong.setdefault(head, []).append((number, text))
            elif _is_number(one) and found.inexact:
                inexact.setdefault(head, []).append((number, text))
            elif _is_number(one) and found.unsettled:
                unsettled.setdefault(head, []).append((number, text))
    by_mark = [
        of_cells({head: places}, _UNSETTLED["." if "." in places[0][1] else ","]) for head, places in unsettled.items()
    ]
    return [*no_figures(wrong), *of_cells(inexact, _INEXACT), *(warning for of in by_mark for warning in of)]


def _is_number(one: Meaning | None) -> bool:
    """Whether a column holds numbers, figures or of the load."""
    column = None if one is None else _SCHEMA.get(one.to)
    if one is None or not one.to or one.to in {"mix", "access"}:
        return False
    return column is None or column.type in {"BIGINT", "DOUBLE"}


def _decimal(grid: Grid, meanings: Sequence[Meaning | None]) -> str:
    """The mark before decimals in the table's figures; all but the first column are, where no head is one's."""
    tells = _tells(meanings)
    kept = [n for n, one in enumerate(meanings) if (_is_figure(one) if tells else n > 0)]
    return decimal_of([row[n] for row in grid.rows for n in kept])


def _can_be(one: Meaning | None, found: Cell) -> bool:
    """Whether a cell says what its column holds, as far as that is a figure or a number of the load.

    Nothing is answered in no time: a latency of 0 is one that wasn't measured.
    """
    if one is not None and one.to == "block":
        return bool(found.size_bytes(SIZE.get(one.unit)))
    if one is not None and one.to in {"read_fraction", "random_fraction"}:
        return found.value is not None and 0 <= found.value * _factor(one, found) <= 1
    if not _is_figure(one):
        return not (_is_number(one) and found.text.startswith(("<", ">")))
    return can_be(_NAN if found.value is None else found.value) and not _is_no_time(one, found)


def _is_no_time(one: Meaning | None, found: Cell) -> bool:
    return found.value == 0 and one is not None and "latency" in one.to and "stddev" not in one.to


def _row(
    grid: Grid,
    meanings: Sequence[Meaning | None],
    mapped: Sequence[Mapped],
    line: Sequence[str],
    extra: Mapping[str, str],
) -> ImportedRow:
    flows: dict[str, dict[str, Any]] = {"total": {}, "read": {}, "write": {}}
    plain: dict[str, Any] = {}
    asked: dict[str, Any] = {}
    tags, steps, two = dict(extra), dict[str, float](), dict[str, str]()
    for head, one, text in zip(grid.heads, meanings, line, strict=True):
        if one is None:
            if head and text:
                tags[_tag(head)] = text
            continue
        if not one.to or not text:
            continue
        found = cell(text, grid.decimal)
        if found.second is not None:
            two[head] = text
        # vdbench's queue depth is a mean that was measured, of all together.
        mean = one.to == "queue_depth" and found.step < 1
        _put(Meaning("outstanding_achieved") if mean else one, found, flows, plain, asked, steps)
    origin = plain.pop("origin", "imported")
    if origin not in get_args(Origin):
        tags["origin"], origin = origin, "imported"
    tags |= {name: plain.pop(name) for name in _GIVEN if name in plain}
    if (guests := _guests(tags)) is not None:
        asked.setdefault("guests", guests)
    columns = {one.to: head.column for one, head in zip(meanings, mapped, strict=False) if one is not None and one.to}
    provenance = {"columns": columns, **({"steps": steps} if steps else {}), **({"two_values": two} if two else {})}
    outstanding = asked.pop("outstanding_said", None)
    if outstanding is not None and _is_asked(grid, meanings):
        asked["outstanding"] = int(outstanding)
    elif outstanding is not None:
        plain["outstanding_achieved"] = outstanding
    result = Result(
        origin=origin,
        total=Flow(**flows["total"]),
        read=Flow(**flows["read"]),
        write=Flow(**flows["write"]),
        tags=tags,
        provenance=provenance,
        **plain,
    )
    return ImportedRow(result, Asked(**asked))


def _is_asked(grid: Grid, meanings: Sequence[Meaning | None]) -> bool:
    """Whether a column of numbers outstanding holds what was asked for: a mean is printed with decimals."""
    at = next(n for n, one in enumerate(meanings) if one is not None and one.to == "outstanding")
    cells = [cell(line[at], grid.decimal) for line in grid.rows]
    return all(one.value is None or one.step >= 1 for one in cells)


def _is_idle(one: Meaning | None, grid: Grid, meanings: Sequence[Meaning | None], line: Sequence[str]) -> bool:
    """Whether the row says that of a latency's direction there were no I/Os."""
    rate = "" if one is None else f"{one.to.partition('latency')[0]}iops"
    there = (text for other, text in zip(meanings, line, strict=True) if other is not None and other.to == rate)
    return any(cell(text, grid.decimal).value == 0 for text in there)


def _put(
    one: Meaning,
    found: Cell,
    flows: dict[str, dict[str, Any]],
    plain: dict[str, Any],
    asked: dict[str, Any],
    steps: dict[str, float],
) -> None:
    """One cell to where its column goes."""
    if one.to in {"mix", "access", "block"}:
        asked.update(_part_of_load(one, found))
        return
    column = _SCHEMA.get(one.to)
    if column is not None and column.type not in {"BIGINT", "DOUBLE"}:
        if column.type == "VARCHAR":
            plain[column.attribute] = found.text
        return
    if found.value is None or not can_be(found.value) or _is_no_time(one, found):
        return
    factor = _factor(one, found)
    value = found.value * factor
    whole = column is not None and column.type == "BIGINT"
    if one.to == "outstanding":
        asked["outstanding_said"] = value
    elif one.to in {"read_fraction", "random_fraction"}:
        if value <= 1:
            asked[one.to] = value
    elif one.to in {"queue_depth", "jobs", "hosts", "guests"}:
        asked[one.to] = int(value)
    elif one.to == "offered_per_s":
        asked["rate_per_s"] = value
    elif column is not None:
        (flows[column.flow] if column.flow else plain)[column.attribute] = round(value) if whole else value
        steps[one.to] = found.step * factor


def _part_of_load(one: Meaning, found: Cell) -> dict[str, Any]:
    if one.to == "mix":
        return {} if found.mix is None else {"read_fraction": found.mix}
    if one.to == "block":
        size = found.size_bytes(SIZE.get(one.unit))
        return {"block": ((size, 1.0),)} if size else {}
    for word, share in (("rand", 1.0), ("seq", 0.0)):
        if word in found.text.lower():
            return {"random_fraction": share}
    return {}


def _factor(one: Meaning, found: Cell) -> float:
    """By what a cell's number becomes the column's unit: its own unit counts, then the head's."""
    units, default = next(((units, unit) for ending, units, unit in _KINDS if one.to.endswith(ending)), (COUNT, ""))
    unit = found.unit if found.unit in units and found.unit else one.unit or default
    if one.to.endswith("_fraction") and not one.unit and not found.unit and (found.value or 0.0) <= 1:
        return 1.0
    return units.get(unit, UNITS.get(unit, 1.0))


def _tag(head: str) -> str:
    return " ".join(head.split())[:80]


def _guests(tags: Mapping[str, str]) -> int | None:
    """`FTT 0, 64 VMs` in a cell: that row's own number."""
    found = [int(match[1]) for text in tags.values() if (match := re.search(r"\b(\d{1,5}) (?:VMs|guests)\b", text))]
    return found[0] if len(found) == 1 else None


_TIME_HEAD = re.compile(r"(?:time|timestamp|interval|second|sec|elapsed|t)\b.*", re.IGNORECASE)


def _series(grid: Grid, meanings: Sequence[Meaning | None]) -> PointSeries | None:
    """A table whose first column is a time that grows by equal steps, beside a rate."""
    if len(grid.rows) < 10 or not _TIME_HEAD.fullmatch(grid.heads[0]):
        return None
    times = [_moment(row[0]) for row in grid.rows]
    rate = next((n for n, one in enumerate(meanings) if one is not None and one.to == "iops"), None)
    if rate is None or any(time is None for time in times):
        return None
    steps = [after - before for before, after in pairwise(times) if after is not None and before is not None]
    step = median(steps)
    if step <= 0 or any(abs(one - step) > 0.25 * step for one in steps):
        return None

    def figures(to: str) -> list[float]:
        at = next((n for n, one in enumerate(meanings) if one is not None and one.to == to), None)
        one = None if at is None else meanings[at]
        if at is None or one is None:
            return []
        units, default = next(((units, unit) for ending, units, unit in _KINDS if to.endswith(ending)), (COUNT, ""))
        values = [cell(row[at], grid.decimal).value for row in grid.rows]
        factor = units.get(one.unit or default, 1.0)
        return [] if any(value is None for value in values) else [(value or 0.0) * factor for value in values]

    iops = figures("iops")
    return PointSeries(step, iops, figures("cpu_fraction"), figures("latency_mean_ns")) if iops else None


def _moment(text: str) -> float | None:
    clock = re.fullmatch(r"(?:\S+[ T])?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", text)
    if clock:
        return int(clock[1]) * 3600.0 + int(clock[2]) * 60.0 + float(clock[3] or 0)
    return cell(text).value


def _of_series(series: PointSeries, name: str, grid: Grid) -> ImportedRow:
    """The one row of a series: means, of latencies weighted by I/Os."""
    ios = sum(series.iops)
    mean = (
        sum(n * ns for n, ns in zip(series.iops, series.latency_ns, strict=True)) / ios
        if series.latency_ns and ios
        else None
    )
    result = Result(
        origin="imported",
        profile=name.rpartition("/")[2].rpartition(".")[0] or name,
        total=Flow(iops=ios / len(series.iops), latency_mean_ns=mean),
        cpu_fraction=sum(series.cpu) / len(series.cpu) if series.cpu else None,
        runtime_ns=round(series.step_s * len(series.iops) * 1e9),
        provenance={"series_of": len(grid.rows)},
    )
    return ImportedRow(result)
