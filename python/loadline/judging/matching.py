"""Which rows are compared with which: sides, and the points that they have in common.

A point is everything that was asked. What varies within a side (tags, target, system, origin, suite) belongs to the
point as well, so that rows of unlike set-ups are never taken for repetitions; what is constant within each side is
what is compared. Start reading at `match`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadline.errors import InputError
from loadline.result.schema import Result
from loadline.result.store import Run
from loadline.units import format_bytes, format_percent, format_size

#: Columns that `--by` takes beside tags.
COLUMNS = ("system", "target", "origin", "suite", "profile", "run", "access_class")

#: Columns of the load that `--by` takes, too, and what of the question they are, or decide: that isn't matched then.
LOADS: Mapping[str, tuple[str, ...]] = {
    "queue_depth": ("stream_queue_depth", "outstanding"),
    "jobs": ("jobs", "outstanding"),
    "outstanding_asked": ("stream_queue_depth", "jobs", "outstanding"),
    "offered_per_s": ("stream_rate_per_s", "rate"),
}

# Of these only what varies within a side belongs to the point; a run is a repetition, a profile is in what was asked.
_CONTEXT = ("system", "target", "origin", "suite")

# An imported table's own figures, such as a share of memory, are no set-up.
_FIGURE = re.compile(r"[\d,]*\.\d+\s*%?|[\d.,]+\s*%")


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that were given together: those of `run`, of a file, or a sequence."""

    name: str
    rows: tuple[Result, ...]
    run: Run | None = None

    @property
    def declared(self) -> Mapping[str, str]:
        """What was declared of all of them."""
        return {} if self.run is None else self.run.document.get("declared") or {}

    @property
    def size(self) -> str | None:
        """How much of its target a run used. Of an emulated one that's a setting, and a tag."""
        target = {} if self.run is None else self.run.document.get("target") or {}
        used_bytes = target.get("used_bytes") if target.get("kind") != "emulated" else None
        return format_size(used_bytes) if isinstance(used_bytes, int) else None


def source_of(run: Run) -> Source:
    """The rows of a run, probes of its searches included."""
    return Source(run.id, tuple(run.results() + run.probes()), run)


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared.

    Attributes:
        name: unlike all others'.
        labels: what all of its rows have in common: tags, system, target, size, origin, suite.
        rows: points and probes.
        said: the names of all that any of its rows says, also of what varies.
    """

    name: str
    labels: Mapping[str, str]
    rows: tuple[Result, ...]
    said: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Match:
    """A point with its rows on each side that has it; several rows of a side are repetitions.

    Attributes:
        point: its name in the comparison.
        labels: what varies within sides and was matched, too.
        assumed: by side, what had to be assumed because one side doesn't say it.
    """

    point: str
    labels: Mapping[str, str]
    rows: Mapping[str, tuple[Result, ...]]
    assumed: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> Result:
        """One of its rows."""
        return next(iter(self.rows.values()))[0]


@dataclass(frozen=True, slots=True)
class Matching:
    """Sides, the points of at least two of them, and those of one alone. `notes` are sentences."""

    sides: tuple[Side, ...]
    matches: tuple[Match, ...]
    single: tuple[Match, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    row: Result
    labels: Mapping[str, str]
    asked: Mapping[str, Any]
    size: str | None = None


def match(sources: Sequence[Source], by: Sequence[str] = (), baseline: str | None = None) -> Matching:
    """The sides and their common points.

    Args:
        by: tags or columns whose values are the sides; without any each source is one.
        baseline: the side that the others are matched with; else the first.

    Raises:
        InputError: fewer than two sides, no such tag, or no such side.
    """
    rows = [
        (source, _Row(row, labels_of(row, source.declared) | _loads(row, by), _asked(row, by), source.size))
        for source in sources
        for row in source.rows
    ]
    empty = [source.name for source in sources if not source.rows]
    if empty and not by:
        raise InputError(
            f"{empty[0]} holds no results", "Give a run that has been measured, or a file that holds some."
        )
    grouped: dict[str, list[_Row]] = {}
    notes: list[str] = []
    if by:
        missing = 0
        for _, one in rows:
            values = [one.labels.get(name) for name in by]
            # Several targets together are no target beside each of them.
            if "target" in by and one.row.target == "*":
                continue
            if None in values:
                missing += 1
                continue
            grouped.setdefault(_side_name(by, [str(value) for value in values]), []).append(one)
        if missing:
            notes.append(f"{missing} of {len(rows)} rows don't say {' and '.join(by)} and are left out")
    else:
        for source, one in rows:
            grouped.setdefault(source.name, []).append(one)
    _check_sides(grouped, [one for _, one in rows], by)
    first = side_named(list(grouped), baseline) if baseline is not None else next(iter(grouped))
    grouped = {first: grouped[first], **grouped}
    varying = _varying(grouped.values(), by)
    sides = tuple(_side(name, each) for name, each in grouped.items())
    matches = _points(grouped, varying, by, notes)
    common = tuple(one for one in matches if len(one.rows) > 1)
    return Matching(sides, common, tuple(one for one in matches if len(one.rows) == 1), tuple(notes))


def side_named(names: Sequence[str], text: str) -> str:
    """The side of that name, or whose name has it as a unique part.

    Raises:
        InputError: none, or several.
    """
    found = [text] if text in names else [name for name in names if text and text in name]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    what = f"is part of {len(found)} sides" if found else "is no side"
    raise InputError(f"--baseline {text!r} {what}", f"Sides: {listed}.")


def _side_name(by: Sequence[str], values: Sequence[str]) -> str:
    if len(by) == 1 and not re.fullmatch(r"[\d.,]+|on|off|yes|no|true|false", values[0]):
        return values[0]
    return ", ".join(f"{name}={value}" for name, value in zip(by, values, strict=True))


def _check_sides(grouped: Mapping[str, Sequence[_Row]], rows: Sequence[_Row], by: Sequence[str]) -> None:
    if len(grouped) > 1:
        return
    every = [{**_loads(one.row, LOADS), **one.labels} for one in rows]
    names = sorted({name for one in every for name in one})
    known = ", ".join([name for name in names if len({one.get(name) for one in every}) > 1][:12])
    if not rows:
        raise InputError("there are no results to compare", "Give runs or files that hold some.")
    unknown = [name for name in by if name not in names]
    if unknown:
        raise InputError(f"--by: no row says {unknown[0]!r}", f"What varies: {known or 'nothing'}.")
    what = f"--by {','.join(by)} makes" if by else "this is"
    raise InputError(f"{what} one side only, and nothing to compare it with",
                     f"Give another run or file, or --by what varies in it: {known or 'nothing does'}.")  # fmt: skip


def labels_of(row: Result, declared: Mapping[str, str]) -> dict[str, str]:
    """What says of which set-up a row is: tags, what was declared of its run, and columns such as its system."""
    columns = {name: getattr(row, name) for name in COLUMNS}
    if row.origin == "imported":
        # The target is the file's name, which is the run's; and what a table says of a column comes before that.
        columns = {name: value for name, value in columns.items() if name != "target" and name not in row.tags}
    return {**declared, **row.tags, **{name: str(value) for name, value in columns.items() if value}}


def _loads(row: Result, names: Iterable[str]) -> dict[str, str]:
    """Those of `names` that are columns of the load, of a row that was asked for it: a search answers with it."""
    if row.limit or row.provenance.get("best"):
        return {}
    asked = {name: getattr(row, name) for name in names if name in LOADS and name not in row.tags}
    return {name: f"{value:.15g}" for name, value in asked.items() if value is not None}


def _asked(row: Result, by: Sequence[str]) -> dict[str, Any]:
    """Everything that was asked, flat; what isn't known, and what is compared, is left out.

    Of a search the load is the answer, so it isn't asked.
    """
    streams = [stream for stream in _streams(row.workload) if stream]
    search = "limit" if row.limit else "best" if row.provenance.get("best") else None
    found: dict[str, Any] = {"profile": None if "profile" in by else row.profile, "limit": row.limit}
    if search == "best":
        best = row.provenance["best"]
        found["best"] = best.get("of") if isinstance(best, Mapping) else str(best)
    if len(streams) == 1:
        found |= _stream(streams[0], search is not None)
    elif streams:
        found["streams"] = [_stream(stream, search is not None) for stream in streams]
    if search is None:
        found |= {"hosts": row.hosts, "jobs": row.jobs, "rate": row.offered_per_s}
        if row.offered_per_s is None:
            found["outstanding"] = row.outstanding_asked
    elif row.limit:
        found["axis"] = "rate" if row.offered_per_s is not None else None
    compared = {part for name in by for part in LOADS.get(name, ()) if name not in row.tags}
    _leave_out(found, compared)
    return {name: value for name, value in found.items() if value is not None and value != ()}


def _leave_out(asked: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        for one in (asked, *asked.get("streams", ())):
            one.pop(name, None)


def _streams(workload: Any) -> list[Mapping[str, Any]]:
    found = workload if isinstance(workload, list) else [workload]
    return [stream for stream in found if isinstance(stream, Mapping)]


def _stream(stream: Mapping[str, Any], searched: bool) -> dict[str, Any]:
    profile, arrival = stream.get("profile"), stream.get("arrival")
    found = dict(profile) if isinstance(profile, Mapping) else {}
    for prose in ("name", "analysis", "access_class"):
        found.pop(prose, None)
    if isinstance(arrival, Mapping) and not searched:
        # Of an open load the queue depth is only a cap that the load generator needs.
        names = ("queue_depth", "rate_per_s") if arrival.get("rate_per_s") is None else ("rate_per_s", "bursts")
        found |= {f"stream_{name}": arrival.get(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _varying(sides: Iterable[Sequence[_Row]], by: Sequence[str]) -> tuple[str, ...]:
    """What differs between rows of one side, and so belongs to the point."""
    found: dict[str, None] = {}
    for rows in sides:
        names = dict.fromkeys(name for one in rows for name in one.labels)
        for name in names:
            if name in found or name in by or (name in COLUMNS and name not in _CONTEXT):
                continue
            values = {one.labels.get(name) for one in rows}
            if len(values) > 1 and not _is_figure(rows, name, values):
                found[name] = None
    return tuple(found)


def _is_figure(rows: Sequence[_Row], name: str, values: Iterable[str | None]) -> bool:
    of_table = all(one.row.origin == "imported" for one in rows if name in one.labels)
    return of_table and any(_FIGURE.fullmatch(value) for value in values if value) and name not in COLUMNS


def _side(name: str, rows: Sequence[_Row]) -> Side:
    labels = {} if rows[0].size is None or any(one.size != rows[0].size for one in rows) else {"size": rows[0].size}
    for label, value in rows[0].labels.items():
        if all(one.labels.get(label) == value for one in rows):
            labels[label] = value
    return Side(name, labels, tuple(one.row for one in rows), frozenset(label for one in rows for label in one.labels))


def _points(
    grouped: Mapping[str, Sequence[_Row]], varying: Sequence[str], by: Sequence[str], notes: list[str]
) -> list[Match]:
    points = _by_key(grouped, varying)
    if any(_several_names(rows) for sides in points.values() for rows in sides.values()):
        points = _by_key(grouped, varying, named=True)
    baseline = next(iter(grouped))
    assumed = _matched_by_name(points, baseline, varying, notes)
    names = _named([next(iter(sides.values()))[0] for sides in points.values()], varying, by)
    matches = []
    for name, (key, sides) in zip(names, points.items(), strict=True):
        if baseline not in sides and len(sides) > 1:
            notes.append(f"{name} isn't compared: {baseline}, the baseline, doesn't have it")
        first = next(iter(sides.values()))[0]
        labels = {label: first.labels[label] for label in varying if label in first.labels}
        rows_of = {side: tuple(one.row for one in rows) for side, rows in sides.items()}
        matches.append(Match(name, labels, rows_of, assumed.get(key, {})))
    return matches


def _by_key(
    grouped: Mapping[str, Sequence[_Row]], varying: Sequence[str], *, named: bool = False
) -> dict[str, dict[str, list[_Row]]]:
    """The points, by all that was asked and what varies, and their rows by side."""
    points: dict[str, dict[str, list[_Row]]] = {}
    seen: dict[str, set[object]] = {}
    for side, rows in grouped.items():
        for one in rows:
            if one.row.role == "point" and _told(one.row) not in seen.setdefault(side, set()):
                seen[side].add(_told(one.row))
                name = one.row.point if named and one.row.origin != "imported" else None
                labels = [one.labels.get(label) for label in varying]
                key = json.dumps([one.asked, labels, name], sort_keys=True)
                points.setdefault(key, {}).setdefault(side, []).append(one)
    return points


def _told(row: Result) -> object:
    """What tells rows apart: one that was given twice is no repetition of itself."""
    tags, figures = tuple(sorted(row.tags.items())), (row.total, row.read, row.write)
    return (
        row.run,
        row.point,
        row.target,
        row.repeat,
        row.origin,
        row.system,
        tags,
        row.limit,
        row.started_at,
        figures,
    )


def _several_names(rows: Sequence[_Row]) -> bool:
    """Whether points that were asked alike are no repetitions, for they have names of their own."""
    return len({one.row.point for one in rows if one.row.origin != "imported"}) > 1


def _matched_by_name(
    points: dict[str, dict[str, list[_Row]]], baseline: str, varying: Sequence[str], notes: list[str]
) -> dict[str, dict[str, str]]:
    """Puts points of other sides to the baseline's of their name that contradict them in nothing that both say."""

    def place(one: _Row) -> tuple[object, ...]:
        return (one.asked.get("profile"), one.asked.get("limit"), *(one.labels.get(name) for name in varying))

    at: dict[tuple[object, ...], list[str]] = {}
    for key, sides in points.items():
        if baseline in sides:
            at.setdefault(place(sides[baseline][0]), []).append(key)
    assumed: dict[str, dict[str, str]] = {}
    for key in [key for key, sides in points.items() if baseline not in sides]:
        for side, rows in list(points[key].items()):
            one = rows[0]
            near = [other for other in at.get(place(one), ()) if side not in points[other]]
            unlike = [_contradiction(one.asked, points[other][baseline][0].asked) for other in near]
            fitting = [other for other, why in zip(near, unlike, strict=True) if why is None]
            if len(fitting) == 1:
                theirs = points[fitting[0]][baseline][0].asked
                assumed.setdefault(fitting[0], {})[side] = _unsaid(one.asked, theirs)
                points[fitting[0]][side] = points[key].pop(side)
            elif near:
                why = f"fits {len(fitting)} points of {baseline}" if fitting else f"{unlike[0]} in {baseline}"
                notes.append(f"{one.row.point} of {side} isn't compared: {why}")
        if not points[key]:
            del points[key]
    return assumed


def _contradiction(asked: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    for name in asked.keys() & other.keys():
        if not _equal(asked[name], other[name]):
            return f"{_words(name)} is {_said(name, asked[name])}, and {_said(name, other[name])}"
    return None


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def _unsaid(asked: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """What one of two doesn't say, of what counts most."""
    only = asked.keys() ^ other.keys()
    counted = [name for name in ("block", "read_fraction", "random_fraction", "jobs", "outstanding") if name in only]
    return f"one side doesn't say its {', '.join(_words(name) for name in counted)}" if counted else ""


def _words(name: str) -> str:
    return {"read_fraction": "share of reads", "random_fraction": "random share", "block": "block size"}.get(
        name, name.removesuffix("_bytes").removesuffix("_ns").removesuffix("_fraction").replace("_", " ")
    )


def _said(name: str, value: Any) -> str:
    try:
        if name == "block":
            return " + ".join(format_bytes(int(part["size_bytes"])) for part in value)
        if name.endswith("_fraction"):
            return format_percent(float(value))
        return format_bytes(int(value)) if name.endswith("_bytes") else str(value)
    except (KeyError, TypeError, ValueError):
        # Whoever wrote it, it isn't as loadline writes it.
        return str(value)


def _named(rows: Sequence[_Row], varying: Sequence[str], by: Sequence[str]) -> list[str]:
    """A name for each point, unlike all others: the row's, then its limit, what varies, its load, its number."""

    def plain(one: _Row) -> str:
        row = one.row
        name = row.point
        if row.origin == "imported":
            # The point's name is of its tags, which may be what makes the sides; so may its profile.
            name = ("" if "profile" in by else row.profile) or _load_text(one.asked) or ("load" if by else row.point)
        elif not LOADS.keys().isdisjoint(by):
            # So is the point's name of a sweep.
            name = row.profile or row.point
        return f"{name} ({row.limit})" if row.limit else name

    ways = (
        plain,
        lambda one: ", ".join(one.labels[name] for name in varying if name in one.labels),
        lambda one: f"{one.asked['outstanding']} outstanding" if "outstanding" in one.asked else "",
        lambda one: _load_text(one.asked),
    )
    names = ["" for _ in rows]
    for way in ways:
        times: dict[str, int] = {}
        for name in names:
            times[name] = times.get(name, 0) + 1
        names = [
            ", ".join(filter(None, (name, way(one)))) if times[name] > 1 or way is plain else name
            for name, one in zip(names, rows, strict=True)
        ]
    seen: dict[str, int] = {}
    for number, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        names[number] = name if seen[name] == 1 else f"{name} #{seen[name]}"
    return names


def _load_text(asked: Mapping[str, Any]) -> str:
    """`4k, 70% reads, 30% random` as far as it's said."""
    parts = [
        _said("block", asked["block"]) if "block" in asked else "",
        f"{_said('read_fraction', asked['read_fraction'])} reads" if "read_fraction" in asked else "",
        f"{_said('random_fraction', asked['random_fraction'])} random" if "random_fraction" in asked else "",
    ]
    return ", ".join(filter(None, parts))
