"""What every chart needs of the rows: names that tell them apart, and scales that fit their range."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from loadline.reporting.compared import MOST_SIDES
from loadline.reporting.model_table import swept_keys
from loadline.result.schema import Result
from loadline.workload.profile import CLASSES

#: Between a point's name and what tells it from others of that name; a label breaks there.
SEPARATOR = " · "

# From there on a linear scale hides the small ones.
_WIDE = 30.0

# No scale reaches farther.
_MOST = 1e300

# Around the values of a logarithmic scale.
_MARGIN = 1.4


def source(results: Sequence[Result]) -> list[str]:
    """For each row what tells its origin from the others': system, settings that differ, or run; empty if nothing."""
    keys = swept_keys(results)
    several = {
        name: len({getattr(result, name) for result in results}) > 1
        for name in ("origin", "system", "target", "run", "repeat")
    }
    shorter = _places({result.target for result in results})
    told = [
        [result.origin] * several["origin"]
        + [result.system or ""] * several["system"]
        + [shorter[result.target]] * (several["target"] and not result.system)
        + [f"{key.rpartition('.')[2]} {result.tags[key]}" for key in keys if key in result.tags]
        for result in results
    ]
    if several["repeat"]:
        told = [[*parts, f"repetition {result.repeat}"] for parts, result in zip(told, results, strict=True)]
    runs: dict[tuple[str, ...], set[str]] = {}
    for parts, result in zip(told, results, strict=True):
        runs.setdefault(tuple(parts), set()).add(result.run)
    # The run's id is long; it is named only where nothing else tells rows apart.
    short = short_runs({result.run for result in results})
    return [
        ", ".join(filter(None, [*parts, short[result.run] if len(runs[tuple(parts)]) > 1 else ""]))
        for parts, result in zip(told, results, strict=True)
    ]


def set_beside(results: Sequence[Result]) -> tuple[list[dict[str, str]], list[str]]:
    """For each row its `name`, and its `side` where rows of one name can stand beside each other; and the sides."""
    origins = source(results)
    sides = list(dict.fromkeys(origins))
    asked = {result.point for result in results if not result.limit}
    lines = [SEPARATOR + "at the load line" if one.limit and one.point in asked else "" for one in results]
    points = [result.point + line for result, line in zip(results, lines, strict=True)]
    pairs = Counter(zip(points, origins, strict=True))
    few = 1 < len(sides) <= MOST_SIDES and all(sides) and max(pairs.values()) == 1
    if not few or len(set(points)) == len(pairs):
        return [{"name": name} for name in names(results)], []
    starred = {result.point for result in results if result.quick}
    named = (one.point + "*" * (one.point in starred) + line for one, line in zip(results, lines, strict=True))
    return [{"name": name, "side": side} for name, side in zip(named, origins, strict=True)], sides


def together(results: Sequence[Result]) -> list[Result]:
    """The rows, those of one name behind each other."""
    order = {point: place for place, point in enumerate(dict.fromkeys(result.point for result in results))}
    return sorted(results, key=lambda result: order[result.point])


def _places(targets: set[str]) -> dict[str, str]:
    """Targets in words; of files and directories the last part of the path, where it tells them apart."""
    last = {target: target if target.startswith("/dev/") else target.rpartition("/")[2] or target for target in targets}
    times = Counter(last.values())
    said = {target: part if times[part] == 1 else target for target, part in last.items()}
    return {target: "all together" if target == "*" else word for target, word in said.items()}


# Of a run's id what says when it began.
_STAMP = re.compile(r"\d{8}-\d{6}-")


def cut_runs(sides: Sequence[str]) -> dict[str, str]:
    """Shorter names of sides that all are stored runs; of others nothing."""
    short = short_runs(set(sides)) if all(map(_STAMP.match, sides)) else {}
    # In the sides' order: a page of the same results has the same bytes.
    return {side: short[side] for side in dict.fromkeys(sides) if side in short}


def short_runs(runs: set[str]) -> dict[str, str]:
    """The ids without when they began, if they differ in more, and without the words that all begin and end with."""
    told = {run: _STAMP.sub("", run, count=1) for run in runs}
    words = {run: (told if len(set(told.values())) == len(runs) else {run: run})[run].split("-") for run in runs}
    first = next((n for n, at in enumerate(zip(*words.values(), strict=False)) if len(set(at)) > 1), 0)
    backwards = zip(*(reversed(parts) for parts in words.values()), strict=False)
    last = next((n for n, at in enumerate(backwards) if len(set(at)) > 1), 0)
    return {run: "-".join(parts[first : len(parts) - last]) or run for run, parts in words.items()}


def names(results: Sequence[Result]) -> list[str]:
    """A label for each row, no two alike: the point, a star if quick, and what tells it from others of its name."""
    labels: list[str] = []
    for result, origin in zip(results, source(results), strict=True):
        parts = [result.point + ("*" if result.quick else ""), origin]
        label = SEPARATOR.join(filter(None, parts))
        if label in labels:
            parts[1] = ", ".join(filter(None, [origin, "at the load line" if result.limit else ""]))
            label = SEPARATOR.join(filter(None, parts))
        number = 2
        unlike = label
        while unlike in labels:
            unlike, number = f"{label} ({number})", number + 1
        labels.append(unlike)
    return labels


def by_class(results: Sequence[Result]) -> dict[str, list[int]]:
    """Numbers of the rows by access class, classes in the house's order."""
    found: dict[str, list[int]] = {}
    for number, result in enumerate(results):
        found.setdefault(result.access_class or "", []).append(number)
    order = {name: place for place, name in enumerate(CLASSES)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


def scale(values: Iterable[float | None]) -> dict[str, Any]:
    """A logarithmic scale where the values range widely, else a linear one from 0."""
    low, high = _range(values)
    if high > _WIDE * low > 0:
        return {"type": "log", "nice": False, "domain": [low / _MARGIN, high * _MARGIN]}
    return {"type": "linear", "zero": True, "nice": True}


def far(value: float, values: Iterable[float | None]) -> bool:
    """Whether a value lies in the far half of their scale: there its label finds more room before it than behind."""
    low, high = _range(values)
    return value > (math.sqrt(low * high) if high > _WIDE * low > 0 else high / 2)


def ticks(values: Iterable[float | None], number: int = 5, form: str = "~s") -> dict[str, Any]:
    """An axis for that scale; a logarithmic one has lines at powers of ten, between them only where there are few."""
    low, high = _range(values)
    axis: dict[str, Any] = {"tickCount": number, "labelExpr": f"format(datum.value, '{form}')", "labelFlush": False}
    if high > _WIDE * low > 0:
        first, last = math.floor(math.log10(low / _MARGIN)), math.ceil(math.log10(high * _MARGIN))
        steps = (1,) if last - first > 3 else (1, 3)
        axis |= {"values": [step * 10.0**power for power in range(first, last + 1) for step in steps]}
    return axis


# Rows that a screen holds.
_SCREEN = 24


def axis_side(rows: int) -> dict[str, Any]:
    """An axis below so many rows, or above them where it would be off the screen."""
    return {"orient": "top"} if rows > _SCREEN else {}


def _range(values: Iterable[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None and 0 < value < _MOST]
    return min(known, default=0.0), max(known, default=0.0)
