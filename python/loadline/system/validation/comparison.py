"""A comparison: what was measured, what is forecast, and whether that is near enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from loadline.system.description import System
from loadline.system.drive import drive_figures

Verdict: TypeAlias = Literal["agrees", "differs", "in part", "not judged"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure, measured and forecast, both in `unit`.

    Attributes:
        what: the load, and what answered it.
        measured: None where nobody has measured.
        bar_fraction: the largest relative error that is near enough; None where there is no such bar.
        span: the least and the most that was measured, where repeats are the bar.
        most: the most that the forecast itself may be, where it is a distance from what was measured.
    """

    what: str
    unit: str
    measured: float | None
    forecast: float
    bar_fraction: float | None = None
    span: tuple[float, float] | None = None
    most: float | None = None
    note: str = ""

    @property
    def error_fraction(self) -> float | None:
        """How far the forecast is above what was measured, relative to that; None without a measurement."""
        if not self.measured or self.most is not None:
            return None
        return self.forecast / self.measured - 1

    @property
    def within(self) -> bool | None:
        """Whether the forecast is near enough; None where nothing says what is."""
        if self.most is not None:
            return self.forecast <= self.most
        if self.span is not None:
            return self.span[0] <= self.forecast <= self.span[1]
        if self.bar_fraction is None or self.error_fraction is None:
            return None
        return abs(self.error_fraction) <= self.bar_fraction

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON types, what is derived too."""
        return {**asdict(self), "error_fraction": self.error_fraction, "within": self.within}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a report concludes without a figure, and what the models say of it."""

    said: str
    verdict: Verdict
    numbers: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Comparisons that belong together, the systems that were asked, and what the reader has to know.

    `files` are the data's names with their SHA-256, so that another record can tell whether it used the same.
    """

    name: str
    title: str
    about: str
    systems: tuple[System, ...]
    comparisons: tuple[Comparison, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON types; systems by name and settings."""
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "systems": [{"name": system.name, "settings": dict(system.settings)} for system in self.systems],
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "conclusions": [asdict(conclusion) for conclusion in self.conclusions],
            "files": [{"name": name, "sha256": digest} for name, digest in self.files],
        }


@dataclass(frozen=True, slots=True)
class Assumption:
    """A figure of a description that no source states: the description's name, the key, its value and the reason."""

    description: str
    key: str
    value: str
    reason: str


def assumptions(sections: Sequence[Section]) -> list[Assumption]:
    """Every assumed figure of the systems and their drives, each once, in order of use."""
    found: dict[Assumption, None] = {}
    for section in sections:
        for system in section.systems:
            found |= dict.fromkeys(_assumed(system))
    return list(found)


def _assumed(system: System) -> Iterator[Assumption]:
    figures = [(system.name, figure) for figure in system.figures()]
    if system.drive is not None:
        figures += [(system.drive, figure) for figure in drive_figures(system.drive, system.path.parent)]
    for name, (key, value, source) in figures:
        if source is not None and "assumed" in source:
            yield Assumption(name, key, value, source)
