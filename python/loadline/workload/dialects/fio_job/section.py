"""A job file's text: its sections, each with its options, their places, and their values as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from loadline.errors import InputError
from loadline.units import parse_bytes
from loadline.workload.dialects.fio_job import option
from loadline.workload.dialects.text import Place, Word
from loadline.workload.suite import MOST_POINTS

T = TypeVar("T")

# Units of time that fio knows; it takes any other, `min` or `sec` too, for microseconds or seconds without saying so.
_TIME_NS = {
    "us": 10**3,
    "usec": 10**3,
    "ms": 10**6,
    "msec": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}


@dataclass(slots=True)
class Section:
    """One section with what it inherits from [global]; `options`: key -> value and place. `notes` gathers warnings."""

    name: str
    place: Place
    options: dict[str, Word]
    notes: list[str] = field(default_factory=list)

    def text(self, *names: str) -> str | None:
        """The value of an option that has several names: the last one given counts."""
        name = self.last(*names)
        return None if name is None else self.options[name].text

    def last(self, *names: str) -> str | None:
        """Which of these options was given last."""
        given = [name for name in names if name in self.options]
        return max(given, key=lambda name: self.options[name].place.line, default=None)

    def fault(self, name: str, message: str, remedy: str = "") -> InputError:
        """The error that an option's value is."""
        place = self.options[name].place if name in self.options else self.place
        return place.fault(f"{name}: {message}", remedy)

    def choice(self, name: str, known: Mapping[str, T], default: str) -> T:
        """One of several words."""
        text = self.text(name) or default
        if text not in known:
            raise self.fault(name, f"{text[:80]!r} is not one of {', '.join(known)}")
        return known[text]

    def flag(self, name: str) -> bool:
        """0 or 1."""
        return self.choice(name, {"0": False, "1": True}, "0")

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds."""
        return self.bounded(name, self.text(name) or str(default), low, high)

    def bounded(self, name: str, text: str, low: int, high: int) -> int:
        """`text` as a whole number within bounds."""
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise self.fault(name, f"{text[:80]!r} is not a whole number from {low} to {high}")
        return int(text)

    def percent(self, name: str, text: str) -> float:
        """A share as fio writes it, without the sign."""
        if text.endswith("%"):
            raise self.fault(name, f"{text[:80]!r}: fio misreads the percent sign here", "Write the number alone.")
        return self.bounded(name, text, 0, 100) / 100

    def of_direction(
        self, name: str, text: str, *, reads: bool, writes: bool, default: str, parse: Callable[[str], T]
    ) -> T:
        """A value that fio takes as `reads,writes,trims`; those that the section uses must be the same."""
        parts = text.removesuffix(",").split(",")
        if len(parts) > 3:
            raise self.fault(name, f"{text[:80]!r} has more than three parts")
        both = [parts[0] or default, (parts[1] if len(parts) > 1 else parts[0]) or default]
        used = {parse(part) for part, use in zip(both, (reads, writes), strict=True) if use}
        if len(used) > 1:
            raise self.fault(name, f"{text[:80]!r} differs for reads and writes", "Write two sections instead.")
        return used.pop()

    def size(self, name: str, text: str) -> int:
        """Bytes above 0, with fio's units: k is 1,024, and so is kb."""
        if "i" in text.lower():
            raise self.fault(name, f"{text[:80]!r}: fio takes KiB for 1,000 bytes", "Write 4k for 4,096 bytes.")
        match = re.fullmatch(r"([0-9]{1,18})([kmgtp]?)b?", text, re.IGNORECASE)
        if match is None:
            raise self.fault(name, f"{text[:80]!r} is not a size", "Write it like 4k or 10g, in whole numbers.")
        try:
            size = parse_bytes(match[1] + match[2])
        except InputError as error:
            raise self.fault(name, error.message, error.remedy) from None
        if size == 0:
            raise self.fault(name, "is 0", "A size is above 0.")
        return size

    def duration_ns(self, default_unit: str, *names: str) -> int:
        """A time; 0 if it isn't given."""
        name = self.last(*names)
        if name is None:
            return 0
        text = self.options[name].text
        match = re.fullmatch(r"([0-9]{1,12})\s*([a-z]*)", text.lower())
        factor = _TIME_NS.get(match[2] or default_unit) if match else None
        if match is None or factor is None:
            units = ", ".join(_TIME_NS)
            raise self.fault(name, f"{text[:80]!r} is not a time", f"Write a whole number and one of {units}.")
        return int(match[1]) * factor


def sections(text: str, file: str) -> list[Section]:
    """The sections of a job file. As in fio, a [global] section changes the defaults of those after it.

    Raises:
        InputError: a line that can't be, or an option that may not be read.
    """
    defaults: dict[str, Word] = {}
    found: list[Section] = []
    options: dict[str, Word] | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
        place = Place(file, number, raw.find(line) + 1)
        if line.startswith("["):
            name = line[1:-1].strip()
            if not line.endswith("]") or not name:
                raise place.fault(f"{line[:80]!r} is not a section head", "Write it like [name].")
            if name.startswith("global"):  # fio compares no more than that
                options = defaults
            else:
                if len(found) == MOST_POINTS:
                    raise place.fault(f"more than {MOST_POINTS} sections", "Part the file.")
                found.append(Section(name, place, dict(defaults)))
                options = found[-1].options
        elif line.startswith("include"):
            raise option.past_the_target("include", place)
        elif line:
            if options is None:
                raise place.fault(f"{line[:80]!r} is before any section", "Begin with [global].")
            key, equals, value = (part.strip() for part in line.partition("="))
            checked = option.check(key, value if equals else None, place)
            column = place.column + (len(line) - len(value) if equals else 0)
            options[key] = Word(checked, Place(file, number, column))
    if not found:
        raise Place(file, 1).fault("no job section", "A fio job file has at least one section: [name].")
    return found
