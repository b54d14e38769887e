"""What an importer gives: rows with what was asked of each, how columns were understood, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from loadline._core import Histogram
from loadline.result.importers.asked import Asked
from loadline.result.schema import Result
from loadline.result.series import PointSeries


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
