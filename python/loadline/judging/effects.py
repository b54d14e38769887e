"""Which setting matters, and by how much: main effects and interactions over a matrix of tests.

On the scale of logarithms, so that an effect is a ratio. A figure is what its workload gives, times one ratio for each
setting; these are found by least squares within workloads (Box, Hunter and Hunter, Statistics for Experimenters, 2005,
chapters 4 to 6), so that a matrix needn't be complete. The equations and what they take for granted are in
docs/background/effects.md. Start reading at `effects_of`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from statistics import mean, variance

from loadline.judging.compare import RESOLUTION, Comparison
from loadline.judging.figure import figure_named
from loadline.judging.interval import Error, Ratio, together
from loadline.judging.least_squares import Factors, Fit, fit
from loadline.judging.matching import Match
from loadline.judging.student import holm
from loadline.workload.profile import CLASSES

#: What stands for the workload itself among the settings of an interaction.
WORKLOAD = "workload"

#: From there on a chance is none any more.
CHANCE = 0.05

# Of more levels than that not every two are compared.
_MOST_LEVELS = 12

# An effect that differs by less of its own logarithm between the levels of another isn't worth a sentence (a choice).
_LEAST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Trial:
    """A figure of one row of the matrix.

    Attributes:
        block: the workload; trials are only compared within one.
        levels: the value of every factor, in their order.
        value: the figure, above 0.
        error: of its logarithm; None if unknown.
        access: the workload's class.
        place: what makes the block: its `WORKLOAD`, and tags that vary beside the factors. Without it the block is one.
    """

    block: str
    levels: tuple[str, ...]
    value: float
    error: Error | None = None
    access: str | None = None
    place: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two trials that differ in one factor only."""

    ratio: float
    block: str
    others: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One level of a factor over another, all else equal.

    Attributes:
        ratio: geometric mean over the matrix.
        chance: that chance alone makes it so large, counted among all contrasts of the matrix; None if unknown.
        pairs: how many trials differ in nothing else.
        least, most: of these the extremes: an average hides them. None without a pair.
    """

    level: str
    over: str
    ratio: Ratio
    chance: float | None = None
    pairs: int = 0
    least: Pair | None = None
    most: Pair | None = None

    @property
    def sure(self) -> bool:
        """Whether it's beyond chance."""
        return self.chance is not None and self.chance < CHANCE


@dataclass(frozen=True, slots=True)
class Effect:
    """What a factor does.

    Attributes:
        levels: each level over the geometric mean of all of them; empty where it can't be told.
        contrasts: every two levels, the higher over the lower; of more than a dozen only the highest over the lowest.
        share_fraction: of what differs within workloads (squares of logarithms), how much goes with this factor.
        together: factors that were changed along with it, so that the effect may be theirs.
        lacks: why there is no effect, else empty.
    """

    factor: str
    levels: Mapping[str, Ratio] = field(default_factory=dict)
    contrasts: tuple[Contrast, ...] = ()
    share_fraction: float = 0.0
    together: tuple[str, ...] = ()
    lacks: str = ""

    @property
    def widest(self) -> Contrast | None:
        """The best level over the worst."""
        return max(self.contrasts, key=lambda one: one.ratio.value, default=None)


@dataclass(frozen=True, slots=True)
class Interaction:
    """That the effect of `factor` depends on `on`: a factor that matters more, a tag, or `WORKLOAD`.

    Attributes:
        level, over: the contrast of `factor`.
        at: that contrast by the level of `on`: geometric mean of pairs.
        apart: the largest of these over the smallest.
        chance: that chance alone makes them so different, counted among all of these; None if unknown.
        share_fraction: of what differs within workloads, beyond the main effects.
    """

    factor: str
    on: str
    level: str
    over: str
    at: Mapping[str, float]
    apart: Ratio
    chance: float | None
    share_fraction: float

    @property
    def sure(self) -> bool:
        """Whether it's beyond chance."""
        return self.chance is not None and self.chance < CHANCE


@dataclass(frozen=True, slots=True)
class Effects:
    """What the factors do to one figure, over the workloads of a class, or of all.

    Attributes:
        access: the class, None for all.
        figure: the column.
        effects: by share, the factor that matters most first.
        interactions: those that are large for the effect, by share.
        trials, cells: how many rows, and how many cells of the matrix they fill.
        missing: cells without a row: the workload, then the levels.
    """

    access: str | None
    figure: str
    factors: tuple[str, ...]
    effects: tuple[Effect, ...]
    interactions: tuple[Interaction, ...]
    trials: int
    cells: int
    missing: tuple[tuple[str, ...], ...]

    @property
    def contrasts(self) -> list[Contrast]:
        """Those of all factors."""
        return [one for effect in self.effects for one in effect.contrasts]


def trials_of(comparison: Comparison, figure: str) -> list[Trial]:
    """The rows of a comparison's sides as trials; its `by` are the factors. Rows without the figure are left out."""
    column = figure_named(figure)
    labels = {side.name: tuple(side.labels[name] for name in comparison.by) for side in comparison.sides}
    return [
        Trial(
            match.point,
            labels[side],
            value,
            comparison.known.certainty.of(row, column),
            row.access_class,
            _place(match),
        )
        for match in comparison.matches
        for side, rows in match.rows.items()
        for row in rows
        if row.error is None and (value := column.of(row))
    ]


def _place(match: Match) -> dict[str, str]:
    """The point without the tags that its name has of what varies."""
    tags = ", ".join(match.labels.values())
    return {**match.labels, WORKLOAD: match.point.replace(f", {tags}", "", 1) if tags else match.point}


def effects_of(
    trials: Sequence[Trial],
    factors: Sequence[str],
    figure: str,
    *,
    by_class: bool = True,
    resolution: float = RESOLUTION,
) -> list[Effects]:
    """The effects of `factors`: over all workloads first, then in each class where there are several.

    Errors are those of the trials, or how far repetitions lie apart if that is more. Where neither is known, what no
    factor and no two factors explain is taken for the error.
    """
    met = dict.fromkeys(trial.access for trial in trials)
    classes = [*(kind for kind in CLASSES if kind in met), *(kind for kind in met if kind not in CLASSES)]
    found = [_of(trials, tuple(factors), figure, None, resolution)]
    if by_class and len(classes) > 1:
        of_class = {kind: [one for one in trials if one.access == kind] for kind in classes}
        found += [_of(some, tuple(factors), figure, kind or "", resolution) for kind, some in of_class.items()]
    return found


@dataclass(frozen=True, slots=True)
class _Cell:
    """The trials of one workload at the same levels: mean of logarithms, and its error."""

    block: str
    levels: tuple[str, ...]
    log: float
    error: Error | None


def _of(
    trials: Sequence[Trial], factors: tuple[str, ...], figure: str, access: str | None, resolution: float
) -> Effects:
    cells, freedom = _cells(trials)
    design = Factors(tuple(cell.block for cell in cells), tuple(cell.levels for cell in cells))
    found = fit(design, [cell.log for cell in cells])
    sure = _sure(cells, found, freedom)
    pairs = [_Pairs(cells, n, factors) for n in range(len(factors))]
    effects = _corrected([_effect(n, factors, design, found, sure, pairs[n]) for n in range(len(factors))])
    effects.sort(key=lambda effect: -effect.share_fraction)
    places = {trial.block: {WORKLOAD: trial.block, **trial.place} for trial in trials}
    interactions = _interactions(effects, _keys(places, design, factors), found, sure, pairs) if found.total else []
    interactions = [one for one in interactions if _large(one, resolution)]
    have = {(cell.block, *cell.levels) for cell in cells}
    missing = tuple(cell for cell in product(dict.fromkeys(design.blocks), *design.values) if cell not in have)
    return Effects(access, figure, factors, tuple(effects), tuple(interactions), len(trials), len(cells), missing)


def _cells(trials: Sequence[Trial]) -> tuple[list[_Cell], float]:
    """Trials by cell, and on how many degrees of freedom the errors of cells stand at most."""
    groups: dict[tuple[str, tuple[str, ...]], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.block, trial.levels), []).append(trial)
    logs = {key: [math.log(one.value) for one in several] for key, several in groups.items()}
    repeated = [values for values in logs.values() if len(values) > 1]
    freedom = sum(len(values) - 1 for values in repeated)
    # Repetitions of few cells say how far those of all lie apart.
    spread = math.sqrt(sum(variance(values) * (len(values) - 1) for values in repeated) / freedom) if freedom else None
    cells, by_spread = [], False
    for (block, levels), several in groups.items():
        known = [one.error for one in several if one.error is not None]
        error = None
        if len(known) == len(several):
            sum_of = together(known)
            error = Error(sum_of.log / len(several), sum_of.freedom)
        if spread is not None:
            between = Error(spread / math.sqrt(len(several)), freedom)
            if error is None or between.log > error.log:
                error, by_spread = between, True
        cells.append(_Cell(block, levels, mean(logs[block, levels]), error))
    return cells, float(freedom) if by_spread else math.inf


@dataclass(frozen=True, slots=True)
class _Sure:
    """How sure a sum of weighted logarithms of cells is."""

    errors: Sequence[Error] | None
    freedom: float

    def ratio(self, log: float, weights: Mapping[int, float]) -> Ratio:
        """The ratio whose logarithm is that sum."""
        value = math.exp(min(log, 700.0))
        if self.errors is None:
            return Ratio(value, None)
        found = together(
            [Error(abs(weight) * self.errors[n].log, self.errors[n].freedom) for n, weight in weights.items()]
        )
        return Ratio(value, Error(found.log, min(found.freedom, self.freedom)))


def _sure(cells: Sequence[_Cell], found: Fit, freedom: float) -> _Sure:
    """By the error of each cell; where one is unknown, by what factors and their pairs don't explain."""
    known = [cell.error for cell in cells if cell.error is not None]
    if len(known) == len(cells):
        return _Sure(known, freedom)
    rest, left = found.beyond()
    return _Sure([Error(math.sqrt(rest / left), left)] * len(cells), float(left)) if left else _Sure(None, math.inf)


def _corrected(effects: Sequence[Effect]) -> list[Effect]:
    """The effects, the chance of each contrast counted among all."""
    known = [one.chance for effect in effects for one in effect.contrasts if one.chance is not None]
    family = iter(holm(known))

    def corrected(one: Contrast) -> Contrast:
        return one if one.chance is None else replace(one, chance=next(family))

    return [replace(effect, contrasts=tuple(map(corrected, effect.contrasts))) for effect in effects]


def _chance(ratio: Ratio) -> float | None:
    return None if ratio.error is None else ratio.chance()


class _Pairs:
    """Cells that differ in one factor only: for each setting of all else, the cell at every level."""

    def __init__(self, cells: Sequence[_Cell], number: int, factors: Sequence[str]) -> None:
        self.cells, self.number, self.factors = cells, number, factors
        self.settings: dict[Hashable, dict[str, int]] = defaultdict(dict)
        for n, cell in enumerate(cells):
            others = (*cell.levels[:number], *cell.levels[number + 1 :])
            self.settings[cell.block, others][cell.levels[number]] = n

    def of(self, level: str, over: str) -> list[tuple[int, int]]:
        """The cells at the one level with those at the other."""
        return [(at[level], at[over]) for at in self.settings.values() if level in at and over in at]

    def log(self, pair: tuple[int, int]) -> float:
        """The logarithm of a pair's ratio."""
        return self.cells[pair[0]].log - self.cells[pair[1]].log

    def told(self, pair: tuple[int, int]) -> Pair:
        """The pair for people."""
        cell = self.cells[pair[0]]
        others = {
            name: level
            for n, (name, level) in enumerate(zip(self.factors, cell.levels, strict=True))
            if n != self.number
        }
        return Pair(math.exp(self.log(pair)), cell.block, others)


def _effect(number: int, factors: Sequence[str], design: Factors, found: Fit, sure: _Sure, pairs: _Pairs) -> Effect:
    name, levels = factors[number], design.values[number]
    if len(levels) == 1:
        return Effect(name, lacks=f"all rows have {levels[0]}")
    together = tuple(factors[other] for other in found.together(number))
    if together:
        return Effect(name, together=together, lacks=f"it was changed together with {' and '.join(together)}")
    if not found.told(number):
        return Effect(name, lacks="no workload was run at two of its levels")
    logs = found.levels(number)
    middle = mean(logs.values())
    even = {level: 1 / len(levels) for level in levels}
    over_mean = {
        level: sure.ratio(
            logs[level] - middle, found.weights(number, {one: (one == level) - share for one, share in even.items()})
        )
        for level in levels
    }
    contrasts = tuple(_contrast(number, high, low, logs, found, sure, pairs) for high, low in _ordered(levels, logs))
    share = found.explained(number) / found.total if found.total else 0.0
    return Effect(name, over_mean, contrasts, share)


def _ordered(levels: Sequence[str], logs: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    if len(levels) > _MOST_LEVELS:
        yield max(logs, key=logs.__getitem__), min(logs, key=logs.__getitem__)
        return
    for one, other in combinations(levels, 2):
        yield (one, other) if logs[one] > logs[other] else (other, one)


def _contrast(
    number: int, level: str, over: str, logs: Mapping[str, float], found: Fit, sure: _Sure, pairs: _Pairs
) -> Contrast:
    ratio = sure.ratio(logs[level] - logs[over], found.weights(number, {level: 1.0, over: -1.0}))
    several = pairs.of(level, over)
    if not several:
        return Contrast(level, over, ratio, _chance(ratio))
    least, most = (pairs.told(choose(several, key=pairs.log)) for choose in (min, max))
    return Contrast(level, over, ratio, _chance(ratio), len(several), least, most)


def _keys(places: Mapping[str, Mapping[str, str]], design: Factors, factors: Sequence[str]) -> dict[str, list[str]]:
    """What an effect may depend on, with its level at each cell: the workload, tags that vary within one, factors."""
    of_workload: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place in places.values():
        for name, value in place.items():
            of_workload[name][place[WORKLOAD]].add(value)
    # A tag that each workload has one value of isn't told apart from the workload.
    names = [name for name, values in of_workload.items() if any(len(several) > 1 for several in values.values())]
    names += [WORKLOAD] if len(of_workload[WORKLOAD]) > 1 else []
    found = {name: [places[block].get(name, "") for block in design.blocks] for name in names}
    return found | {name: [levels[n] for levels in design.levels] for n, name in enumerate(factors)}


def _interactions(
    effects: Sequence[Effect], keys: Mapping[str, Sequence[str]], found: Fit, sure: _Sure, pairs: Sequence[_Pairs]
) -> list[Interaction]:
    """Of every factor with what makes workloads, and of every two the one that matters less by the other's level.

    That one is it which the other turns over or takes away; most by share first.
    """
    numbers = {one.factors[one.number]: one.number for one in pairs}
    told = [effect for effect in effects if effect.widest is not None]
    kept = []
    for place, effect in enumerate(told):
        number = numbers[effect.factor]
        for on in (*(name for name in keys if name not in numbers), *(other.factor for other in told[:place])):
            share = found.joint(number, keys[on]) / found.total
            one = _interaction(effect, on, keys[on], share, sure, pairs[number])
            if one is not None:
                kept.append(one)
    family = iter(holm([one.chance for one in kept if one.chance is not None]))
    kept = [one if one.chance is None else replace(one, chance=next(family)) for one in kept]
    return sorted(kept, key=lambda one: -one.share_fraction)


def _large(one: Interaction, resolution: float) -> bool:
    """Whether the effect turns over, or differs by much of its own size: a giant beside it makes it no smaller."""
    least, most = min(one.at.values()), max(one.at.values())
    if least * (1 + resolution) < 1 and most > 1 + resolution:
        return True
    size = max(abs(math.log(least)), abs(math.log(most)))
    return one.apart.value > 1 + resolution and math.log(one.apart.value) >= _LEAST_SHARE * size


def _interaction(
    effect: Effect, on: str, keys: Sequence[str], share: float, sure: _Sure, matched: _Pairs
) -> Interaction | None:
    contrast = effect.widest
    assert contrast is not None, "only effects with a contrast are asked"
    groups: dict[str, list[tuple[int, int]]] = {}
    for pair in matched.of(contrast.level, contrast.over):
        groups.setdefault(keys[pair[0]], []).append(pair)
    if len(groups) < 2:
        return None
    logs = {level: mean(map(matched.log, several)) for level, several in groups.items()}
    high, low = max(logs, key=logs.__getitem__), min(logs, key=logs.__getitem__)
    weights: dict[int, float] = defaultdict(float)
    for level, sign in ((high, 1.0), (low, -1.0)):
        for above, below in groups[level]:
            weights[above] += sign / len(groups[level])
            weights[below] -= sign / len(groups[level])
    apart = sure.ratio(logs[high] - logs[low], weights)
    at = {level: math.exp(log) for level, log in logs.items()}
    return Interaction(effect.factor, on, contrast.level, contrast.over, at, apart, _chance(apart), share)
