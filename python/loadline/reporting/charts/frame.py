"""What every chart needs of the rows: names that tell them apart, and scales that fit their range."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

from loadline.reporting.apart import source
from loadline.reporting.compared import MOST_SIDES
from loadline.result.schema import Result
from loadline.workload.profile import CLASSES

#: Between a point's name and what tells it from others of that name; a label breaks there.
SEPARATOR = " · "

#: Letters of a line of a label, and the most lines of one.
LETTERS, LINES = 30, 6

# From there on a linear scale hides the small ones.
_WIDE = 30.0

# No scale reaches farther.
_MOST = 1e300

# Around the values of a logarithmic scale.
_MARGIN = 1.4


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
    return [results[number] for number in _together(results)]


def _together(results: Sequence[Result]) -> list[int]:
    order = {point: place for place, point in enumerate(dict.fromkeys(result.point for result in results))}
    return sorted(range(len(results)), key=lambda number: order[results[number].point])


def names(results: Sequence[Result]) -> list[str]:
    """A label for each row, no two alike: the point, a star if quick, and what tells it from others of its name.

    What is too long for a line goes on behind the next separator.
    """
    labels: list[str] = []
    for result, origin in zip(results, source(results), strict=True):
        parts = [result.point + ("*" if result.quick else ""), _in_lines(origin)]
        label = SEPARATOR.join(filter(None, parts))
        if label in labels:
            parts[1] = _in_lines(", ".join(filter(None, [origin, "at the load line" if result.limit else ""])))
            label = SEPARATOR.join(filter(None, parts))
        number = 2
        unlike = label
        while unlike in labels:
            unlike, number = f"{label} ({number})", number + 1
        labels.append(unlike)
    return labels


def _in_lines(told: str) -> str:
    lines = [""]
    for part in told.split(", "):
        longer = ", ".join(filter(None, [lines[-1], part]))
        if lines[-1] and len(longer) > LETTERS and len(lines) < LINES - 1:
            lines.append(part)
        else:
            lines[-1] = longer
    return SEPARATOR.join(lines)


def parted(labels: Sequence[str], compared: Collection[str] = ()) -> list[tuple[str, dict[int, str]]]:
    """Numbers and labels of what is told apart in one panel, six at most, and what its title says of the part.

    More are parted by a setting or two that lines share, which leave their labels, but not by what is `compared`; else
    evenly.
    """
    if len(labels) <= MOST_SIDES:
        return [("", dict(enumerate(labels)))] if labels else []
    split = [label.split(", ") for label in labels]
    words = list(zip(*split, strict=True)) if len({len(one) for one in split}) == 1 else []
    places = [place for place, said in enumerate(words) if not set(said) <= set(compared)]
    for several in (1, 2)[: max(0, len(words) - 1)]:
        ways = [_alike(split, chosen) for chosen in combinations(places, several)]
        fit = [way for way in ways if all(1 < len(numbers) <= MOST_SIDES for numbers in way.values())]
        if fit:
            return [(f", {', '.join(shared)}", numbers) for shared, numbers in min(fit, key=len).items()]
    parts = -(-len(labels) // MOST_SIDES)
    edges = [len(labels) * part // parts for part in range(parts + 1)]
    return [
        (f", {first + 1} to {last}", {number: labels[number] for number in range(first, last)})
        for first, last in pairwise(edges)
    ]


def _alike(labels: Sequence[Sequence[str]], places: Sequence[int]) -> dict[tuple[str, ...], dict[int, str]]:
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for number, words in enumerate(labels):
        rest = ", ".join(word for place, word in enumerate(words) if place not in places)
        found.setdefault(tuple(words[place] for place in places), {})[number] = rest
    return found


def by_class(results: Sequence[Result]) -> dict[str, list[int]]:
    """Numbers of the rows by access class, classes in the house's order, those of one name behind each other."""
    found: dict[str, list[int]] = {}
    for number in _together(results):
        found.setdefault(results[number].access_class or "", []).append(number)
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
