"""Least squares of values over factors, within blocks: effects of levels, sums of squares, what can't be told apart.

A value is its block's mean plus one amount for the level of each factor. Means of blocks are taken out of both sides
first, which gives the same effects as fitting them (Frisch and Waugh, Econometrica 1, 1933); what is left are as many
equations as there are levels. They are swept (Goodnight, The American Statistician 33, 1979), so that a factor which
depends on others shows as such instead of as a wild number.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

# Of a diagonal's first size, below which nothing is left of it but rounding.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Factors:
    """A design: for each value the block that it is of, and the level of every factor."""

    blocks: Sequence[str]
    levels: Sequence[tuple[str, ...]]

    @cached_property
    def values(self) -> list[list[str]]:
        """The levels of each factor, in the order in which they are met."""
        return [list(dict.fromkeys(column)) for column in zip(*self.levels, strict=True)]

    @cached_property
    def columns(self) -> dict[tuple[int, str], int]:
        """The place of every level but the first of each factor, which is what the others are compared with."""
        found = [(number, level) for number, levels in enumerate(self.values) for level in levels[1:]]
        return {key: place for place, key in enumerate(found)}

    def of(self, number: int) -> list[int]:
        """The columns in which the row of a value has a 1."""
        keys = enumerate(self.levels[number])
        return [self.columns[key] for key in keys if key in self.columns]


def fit(design: Factors, values: Sequence[float], without: Iterable[int] = ()) -> Fit:
    """The fit of `values`; factors `without` are left out of it."""
    return Fit(design, values, frozenset(without))


class Fit:
    """One value a row, fitted. Numbers of factors are their places in the design."""

    def __init__(self, design: Factors, values: Sequence[float], without: frozenset[int]) -> None:
        self.design, self._without = design, without
        self._rows = defaultdict(list)
        for n, block in enumerate(design.blocks):
            self._rows[block].append(n)
        means = {block: sum(values[n] for n in rows) / len(rows) for block, rows in self._rows.items()}
        self._values = [value - means[block] for value, block in zip(values, design.blocks, strict=True)]
        #: Sum of squares within blocks.
        self.total = sum(value * value for value in self._values)
        self._solve()

    def _solve(self) -> None:
        size = len(self.design.columns)
        # The last column and row are the values'.
        matrix = [[0.0] * (size + 1) for _ in range(size + 1)]
        for rows in self._rows.values():
            counts: Counter[int] = Counter()
            for n in rows:
                columns = self.design.of(n)
                counts.update(columns)
                for one in columns:
                    matrix[one][size] += self._values[n]
                    for other in columns:
                        matrix[one][other] += 1
            for one, number in counts.items():
                for other, times in counts.items():
                    matrix[one][other] -= number * times / len(rows)
        for one in range(size):
            matrix[size][one] = matrix[one][size]
        matrix[size][size] = self.total
        first = [matrix[n][n] for n in range(size)]
        self._swept: set[int] = set()
        for (factor, _), column in self.design.columns.items():
            if factor not in self._without and matrix[column][column] > _NOTHING * max(first[column], 1.0):
                _sweep(matrix, column)
                self._swept.add(column)
        self._matrix, self._size = matrix, size

    @property
    def residual(self) -> float:
        """Sum of squares that the fit leaves."""
        return max(0.0, self._matrix[self._size][self._size])

    def _coefficient(self, column: int) -> float:
        return self._matrix[column][self._size] if column in self._swept else 0.0

    def levels(self, factor: int) -> dict[str, float]:
        """The amount of each level, that of the first being 0."""
        columns = self.design.columns
        return {
            level: self._coefficient(columns[factor, level]) if (factor, level) in columns else 0.0
            for level in self.design.values[factor]
        }

    def told(self, factor: int) -> bool:
        """Whether every level of the factor can be compared with the others."""
        return all(column in self._swept for (number, _), column in self.design.columns.items() if number == factor)

    def together(self, factor: int) -> list[int]:
        """Factors that depend on this one, so that no effect can be ascribed to one of them."""
        owner = {column: number for (number, _), column in self.design.columns.items()}
        groups = []
        for column in set(owner) - self._swept:
            # A dependent column's row holds how it's made of the swept ones.
            made_of = {owner[other] for other in self._swept if abs(self._matrix[column][other]) > _NOTHING}
            if made_of - {owner[column]}:
                groups.append(made_of | {owner[column]})
        found = set().union(*(group for group in groups if factor in group)) - {factor}
        return sorted(found)

    def weights(self, factor: int, contrast: Mapping[str, float]) -> dict[int, float]:
        """By how much each value counts in a sum of levels' amounts, which is linear in the values."""
        columns = [
            (self.design.columns[factor, level], share)
            for level, share in contrast.items()
            if share and (factor, level) in self.design.columns
        ]
        of_column = [
            sum(share * self._matrix[place][column] for place, share in columns) if column in self._swept else 0.0
            for column in range(self._size)
        ]
        found = {}
        for rows in self._rows.values():
            raw = {n: sum(of_column[column] for column in self.design.of(n)) for n in rows}
            middle = sum(raw.values()) / len(raw)
            found.update({n: value - middle for n, value in raw.items()})
        return found

    def explained(self, factor: int) -> float:
        """Sum of squares that would be left over without this factor."""
        return fit(self.design, self._values, self._without | {factor}).residual - self.residual

    @cached_property
    def rest(self) -> list[float]:
        """What the fit leaves of each value."""
        fitted = [sum(self._coefficient(column) for column in self.design.of(n)) for n in range(len(self._values))]
        found = [0.0] * len(fitted)
        for rows in self._rows.values():
            middle = sum(fitted[n] for n in rows) / len(rows)
            for n in rows:
                found[n] = self._values[n] - fitted[n] + middle
        return found

    def joint(self, factor: int, keys: Sequence[str]) -> float:
        """Sum of squares of the means that the rest has at a factor's levels together with `keys`, one for each value.

        These are another factor's levels, blocks, or what groups blocks. In a complete matrix the sum is the
        interaction's; in others about so.
        """
        cells = defaultdict(list)
        for n, rest in enumerate(self.rest):
            cells[self.design.levels[n][factor], keys[n]].append(rest)
        return sum(sum(rest) ** 2 / len(rest) for rest in cells.values())

    def beyond(self) -> tuple[float, int]:
        """Sum of squares that is left for chance, and its degrees of freedom.

        In a complete matrix it's beyond what any two of factors and blocks explain, if that leaves anything; else
        beyond the factors alone, which takes for chance what they do to each other.
        """
        freedom = len(self._values) - len(self._rows) - len(self._swept)
        sizes = [len(levels) - 1 for levels in self.design.values]
        pairs = sum(one * other for one, other in combinations([*sizes, len(self._rows) - 1], 2))
        # Blocks and factors by themselves are counted already; so is what each factor shares with blocks in `pairs`.
        if len(self._values) != len(self._rows) * math.prod(size + 1 for size in sizes) or freedom <= pairs:
            return self.residual, freedom
        columns = list(zip(*self.design.levels, strict=True))
        explained = sum(self.joint(one, columns[other]) for one, other in combinations(range(len(sizes)), 2))
        explained += sum(self.joint(one, self.design.blocks) for one in range(len(sizes)))
        return max(0.0, self.residual - explained), freedom - pairs


def _sweep(matrix: list[list[float]], pivot: int) -> None:
    """Sweeps a symmetric matrix on one diagonal element, in place."""
    by = matrix[pivot][pivot]
    row = [value / by for value in matrix[pivot]]
    for place, other in enumerate(matrix):
        factor = other[pivot]
        if place != pivot and factor:
            matrix[place] = [value - factor * above for value, above in zip(other, row, strict=True)]
            matrix[place][pivot] = -factor / by
    matrix[pivot] = row
    matrix[pivot][pivot] = 1 / by
