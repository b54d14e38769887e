"""What an importer gives: rows with what was asked of each, how columns were understood, and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from loadline._core import Histogram
from loadline.result.importers.asked import Asked
from loadline.result.schema import Result
from loadline.result.series import PointSeries

# No rate, time or amount is beyond: 1e18 ns are 31 years.
_BEYOND = 1e18


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One row; `asked` isn't in its columns yet."""

    result: Result
    asked: Asked = Asked()
    histograms: Mapping[str, Histogram] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mapped:
    """How one column was understood.

    Attributes:
        column: the head as it stands in the file.
        to: a column of the schema, a part of the workload, `tag:NAME`, or empty: left out.
        unit: what its numbers are in.
        why: how that is known: `head`, `map`, or what it was inferred from.
    """

    column: str
    to: str
    unit: str = ""
    why: str = "head"

    def to_json(self) -> dict[str, str]:
        """For `--json` and run.json."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Imported:
    """The rows of one file. `series` are by the second, of a table with a column of times."""

    rows: tuple[ImportedRow, ...]
    mapping: tuple[Mapped, ...] = ()
    warnings: tuple[str, ...] = ()
    series: PointSeries | None = None


def can_be(value: float) -> bool:
    """Whether a number can be a figure: no NaN, not below 0, not beyond all measure, nor next to nothing."""
    return value == 0 or 1 / _BEYOND < value < _BEYOND


def no_figures(found: Mapping[str, Sequence[tuple[int, str]]]) -> tuple[str, ...]:
    """Warnings of what stands where a figure should: by column, (row from 1, what stands there)."""
    return of_cells(found, "is no figure and counts as unknown")


def of_cells(found: Mapping[str, Sequence[tuple[int, str]]], what: str) -> tuple[str, ...]:
    """Warnings of cells of which the same is to be said: by column, (row from 1, what stands there)."""
    warnings = []
    for column, places in found.items():
        row, text = places[0]
        more = f"; so in {len(places) - 1} more" if len(places) > 1 else ""
        warnings.append(f"column {column!r}: {text[:40]!r} in row {row} {what}{more}")
    return tuple(warnings)
