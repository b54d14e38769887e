"""What readers and writers of foreign text share: places in a file, notes about it, names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from loadline.errors import InputError
from loadline.workload.plan import Point

# No number in these files is longer.
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: line and column count from 1."""

    file: str
    line: int
    column: int = 1

    def fault(self, message: str, remedy: str = "") -> InputError:
        """The error that stands there."""
        return InputError(f"{self.file}:{self.line}:{self.column}: {message}", remedy)


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of text and where it begins."""

    text: str
    place: Place

    def number(self, what: str, low: int, high: int) -> Fraction:
        """The exact number that it is.

        Raises:
            InputError: none, or outside of the bounds.
        """
        if not _NUMBER.fullmatch(self.text) or not low <= Fraction(self.text) <= high:
            raise self.place.fault(f"{what}: {self.text[:40]!r} is not a number from {low} to {high}", "Change it.")
        return Fraction(self.text)

    def whole(self, what: str, low: int, high: int) -> int:
        """The same of a whole number."""
        value = self.number(what, low, high)
        if value.denominator != 1:
            raise self.place.fault(f"{what}: {self.text[:40]!r} is not a whole number", "Round it.")
        return int(value)


class Notes:
    """What is read or written otherwise than it was said: each sentence once, with the points that it concerns."""

    def __init__(self) -> None:
        self._concerned: dict[str, dict[str, None]] = {}

    def add(self, message: str, name: str = "") -> None:
        """A note, about the point or profile of that name or about all of the file."""
        names = self._concerned.setdefault(message, {})
        if name:
            names[name] = None

    def about(self, message: str) -> list[str] | None:
        """The names that a note concerns; None if it wasn't made."""
        names = self._concerned.get(message)
        return None if names is None else list(names)

    def items(self) -> list[tuple[tuple[str, ...], str]]:
        """The names that each note concerns, none for the file as a whole, and the note."""
        return [(tuple(names), message) for message, names in self._concerned.items()]

    def lines(self, file: str) -> list[str]:
        """Each note as a line that begins with the file's name."""
        return [
            ": ".join([file, *([few(list(names))] if names else []), message])
            for message, names in self._concerned.items()
        ]


def few(names: Sequence[str]) -> str:
    """The names, or the first of many and how many more there are."""
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def slug(name: str) -> str:
    """The name with only those letters that a point's name may have."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name).lstrip("-.+_") or "job"


def unique(name: str, taken: set[str], key: Callable[[str], str] = str) -> str:
    """The name, with a number if it is taken; then it is taken too. `taken` holds what `key` makes of names."""

    def free(number: int) -> bool:
        return key(f"{name}-{number}") not in taken

    result = name
    if key(name) in taken:
        # Files may have thousands of one name: numbers up to the free one are taken.
        most = next(number for number in (2 << n for n in count()) if free(number))
        result = f"{name}-{bisect_left(range(2, most), True, key=free) + 2}"
    taken.add(key(result))
    return result


def one_line(title: str) -> str:
    """The beginning of a title, without what a terminal would obey."""
    return "".join(letter for letter in " ".join(title.split()) if letter.isprintable())[:200]


def fixed(points: Sequence[Point]) -> Sequence[Point]:
    """The points, all of a fixed load.

    Raises:
        InputError: one is a ramp, which no other tool knows.
    """
    for point in points:
        if point.searches:
            raise InputError(
                f"{point.name}: a search ({point.ramp or point.best}) can't be written for another tool",
                "Give fixed depths with --queue-depth 1,2,4,8, or leave it out with --profile.",
            )
    return points


def seconds(duration_ns: int) -> int:
    """Whole seconds, rounded up."""
    return -(-duration_ns // 10**9)
