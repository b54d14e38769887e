"""What the report of a comparison holds: the comparison, and what is concluded from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadline.judging.compare import Comparison
from loadline.judging.effects import Effects, effects_of, trials_of
from loadline.judging.fail_if import Tried
from loadline.judging.suitability import Claim, ReadsAhead, Stand, claims, reads_ahead, standings
from loadline.result.store import Run

#: More sides aren't told apart by colours, and a paragraph on each would be none.
MOST_SIDES = 6

# What has more values, such as runs, is no setting of a matrix.
_MOST_LEVELS = 40

# Lines of a table for people.
_MOST_LINES = 200

# Of those that are compared the first that are there, and whose effects are worth a page: rates, then response times.
_RATES = ("load", "iops", "bytes_per_s")
_TIMES = ("read_latency_mean_ns", "write_latency_mean_ns")


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with its conclusions.

    Attributes:
        effects: by figure, over all workloads and in each class; empty without `by`.
        stands, claims, reads: of few sides, what each is good for.
        tried: thresholds at each point.
        runs: the stored ones among what is compared.
    """

    comparison: Comparison
    effects: Mapping[str, Sequence[Effects]]
    stands: Sequence[Stand]
    claims: Sequence[Claim]
    reads: Sequence[ReadsAhead]
    tried: Sequence[Tried] = ()
    runs: Sequence[Run] = ()
    command: Sequence[str] = ()

    @property
    def listed(self) -> bool:
        """Whether single figures are worth a table: where settings are told for themselves nobody reads hundreds."""
        return len(self.comparison.cells) <= _MOST_LINES or not self.effects

    @property
    def title(self) -> str:
        """Few sides by name, many by number and by what makes them."""
        names = [side.name for side in self.comparison.sides]
        if len(names) <= MOST_SIDES:
            # Names may have commas of their own.
            return f"{'; '.join(names[1:])} against {names[0]}"
        return f"{len(names)} sides by {', '.join(self.comparison.by)}" if self.comparison.by else f"{len(names)} sides"


def compared_of(
    comparison: Comparison, tried: Sequence[Tried] = (), runs: Sequence[Run] = (), command: Sequence[str] = ()
) -> Compared:
    """The conclusions of a comparison."""
    few = len(comparison.sides) <= MOST_SIDES
    stands = standings(comparison) if few else []
    return Compared(
        comparison,
        factor_effects(comparison),
        stands,
        claims(comparison, stands),
        reads_ahead(comparison) if few else [],
        tried,
        runs,
        command,
    )


def factor_effects(comparison: Comparison) -> dict[str, list[Effects]]:
    """The effects of what the sides are made by, on the rate and on the response of reads and of writes."""
    levels = [{side.labels[name] for side in comparison.sides} for name in comparison.by]
    if not levels or max(map(len, levels)) > _MOST_LEVELS:
        return {}
    known = {cell.figure for cell in comparison.cells}
    rate = next((name for name in _RATES if name in known), None)
    times = [name for name in _TIMES if name in known] or [name for name in ("latency_mean_ns",) if name in known]
    found = {}
    for figure in [*([rate] if rate else []), *times]:
        trials = trials_of(comparison, figure)
        effects = effects_of(trials, comparison.by, figure, resolution=comparison.resolution) if trials else []
        # One factor of which nothing can be told is the comparison of its sides over again.
        if len(comparison.by) > 1 or any(one.sure for part in effects for one in part.contrasts):
            found[figure] = effects
    return found
