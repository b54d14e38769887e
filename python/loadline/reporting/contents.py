"""What a report holds: the rows as they are, what they are about, tables of them, and the runs that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadline.reporting.table import Table
from loadline.result.repeats import Repeats, histograms_in, repeats_of
from loadline.result.schema import Result
from loadline.result.store import Run


@dataclass(frozen=True, slots=True)
class Contents:
    """What a report is to hold; of results that lie in no run folder, such as forecasts, `runs` is empty."""

    title: str
    about: tuple[str, ...]
    results: Sequence[Result]
    tables: tuple[Table, ...]
    runs: tuple[Run, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def points(self) -> list[Result]:
        """The rows without the probes of searches."""
        return [result for result in self.results if result.role == "point"]

    @property
    def repeats(self) -> list[Repeats]:
        """The points, the repetitions of each put together."""
        return repeats_of(self.points, histograms_in(self.runs))

    @property
    def means(self) -> list[Result]:
        """The points, those that were repeated as their means."""
        return [one.mean for one in self.repeats]

    @property
    def summaries(self) -> list[Mapping[str, Any]]:
        """What `--json` says of each run."""
        return [run.summary() for run in self.runs]
