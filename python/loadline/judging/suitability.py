"""What each side of a comparison is good for, and what not: strong and weak cells, and the uses they stand for.

Two systems of equal price and another design are seldom better and worse throughout. What counts for a choice is where
a side is well ahead of the best of the others, or well behind it. Start reading at `standings`, then `claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from loadline.judging.cell import other_mix, unfit
from loadline.judging.compare import Comparison
from loadline.judging.figure import Figure, figure_named
from loadline.judging.interval import Estimate, Ratio, ratio
from loadline.judging.matching import Match
from loadline.judging.subject import Subject
from loadline.result.schema import Result

Standing: TypeAlias = Literal["strong", "weak", "even", "unknown"]

#: From so much on a difference decides: what the field report on DL360 servers calls hardly any is up to 10 %.
DECIDES = 0.10

_CHANCE = 0.05

# Checks that find a latency which the load, the size and the rate or the link contradict.
_CONTRADICT = frozenset({"littles-law", "link-limit"})

# Sizes from which on requests are large, and up to which they are small.
_LARGE_BYTES, _SMALL_BYTES = 64 * 1024, 32 * 1024

# Shares of reads, from and up to which a load mostly reads or writes.
_READS, _WRITES = 0.9, 0.1


@dataclass(frozen=True, slots=True)
class Stand:
    """One figure of one point on one side, against the best of the others.

    Attributes:
        other: the side that is best of the others.
        gain: the ratio of the two, turned so that above 1 is better.
        standing: `strong` or `weak` where it's more than 10 % and not by chance; `even` where it's surely less;
            `unknown` where chance can't be told, or where one run wasn't steady, was quick or is noise.
        printed: nobody knows how sure a figure of another's table is, so that it's taken as it is printed.
        doubts: checks of the audit that found what cannot be in this side's rows or the other's.
        contradicted: load, rate and latency contradict each other there, whether it cannot be or is only doubtful.
    """

    point: str
    figure: str
    side: str
    value: float
    other: str
    other_value: float
    gain: Ratio
    standing: Standing
    printed: bool
    doubts: tuple[str, ...]
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What a side is worth for a use, by one point.

    Attributes:
        verdict: `good`: ahead in its rate, or as fast and answers sooner; `bad`: the contrary; `mixed`: ahead in the
            one and behind in the other; `level`: neither; `unknown`: chance can't be told from a difference.
        use: what such loads stand for; empty where nobody says what was asked.
        rate, latency: where it stands.
        left_out: the latency is, for load and rate contradict it.
    """

    side: str
    verdict: Literal["good", "bad", "mixed", "level", "unknown"]
    use: str
    point: str
    rate: Stand | None
    latency: Stand | None
    left_out: bool = False

    @property
    def doubts(self) -> tuple[str, ...]:
        """Checks that found what cannot be."""
        return tuple(dict.fromkeys(doubt for one in (self.rate, self.latency) if one for doubt in one.doubts))


@dataclass(frozen=True, slots=True)
class ReadsAhead:
    """By how much a side's reads of one pattern are faster than its writes."""

    side: str
    read: str
    write: str
    ratio: float


def standings(comparison: Comparison) -> list[Stand]:
    """Where each side stands in each figure that is compared, in the order of its cells."""
    matches = {match.point: match for match in comparison.matches}
    asked = dict.fromkeys((cell.point, cell.figure) for cell in comparison.cells if cell.ratio)
    return [stand for point, figure in asked for stand in _of_point(matches[point], figure_named(figure), comparison)]


def _of_point(match: Match, figure: Figure, comparison: Comparison) -> Iterator[Stand]:
    found = {side.name: comparison.estimates.get((match.point, figure.name, side.name)) for side in comparison.sides}
    known: dict[str, Estimate] = {side: one for side, one in found.items() if one is not None and one.value}
    for side, mine in known.items():
        others = {name: one for name, one in known.items() if name != side}
        if not others:
            return
        best = (max if figure.rate else min)(others, key=lambda name: others[name].value)
        rows, theirs = match.rows[side], match.rows[best]
        if other_mix(rows, theirs, figure) is None:
            gain = ratio(mine, others[best]) if figure.rate else ratio(others[best], mine)
            doubts = dict.fromkeys(doubt for row in (*rows, *theirs) for doubt in _errors(row))
            contradicted = any(map(_contradicted, (*rows, *theirs)))
            told = (match.point, figure.name, side, mine.value, best, others[best].value)
            sides = ((rows, side, mine), (theirs, best, others[best]))
            fit = all(unfit(*one) is None for one in sides)
            # A table has nothing more to tell; whoever measures can repeat it.
            fit = fit and all(one.error is not None or all(map(_printed, of)) for of, _, one in sides)
            standing = _standing(gain) if fit else "unknown"
            yield Stand(*told, gain, standing, fit and gain.error is None, tuple(doubts), contradicted)


def _printed(row: Result) -> bool:
    """Whether it's of a table, which somebody wrote, and not a tool's output."""
    return row.origin == "imported" and "tool" not in row.provenance


def _standing(gain: Ratio) -> Standing:
    if max(gain.value, 1 / gain.value) < 1 + DECIDES:
        # As good as another is a statement, too: all of the interval must bear it.
        wide = gain.high is not None and gain.low is not None and max(gain.high, 1 / gain.low) >= 1 + DECIDES
        return "unknown" if wide else "even"
    if gain.error is not None and gain.chance() > _CHANCE:
        return "unknown"
    return "strong" if gain.value > 1 else "weak"


def _errors(row: Result) -> Iterator[str]:
    return (str(one.get("check")) for one in row.findings if one.get("severity") == "error")


def _contradicted(row: Result) -> bool:
    return any(one.get("check") in _CONTRADICT and one.get("severity") != "note" for one in row.findings)


def claims(comparison: Comparison, stands: Sequence[Stand]) -> list[Claim]:
    """What each side is good for and what not, in the order of points."""
    of_cell: Mapping[tuple[str, str, str], Stand] = {(one.point, one.side, one.figure): one for one in stands}
    found = []
    for match in comparison.matches:
        use = use_of(match.first)
        for side in match.rows:
            named = [of_cell.get((match.point, side, name)) for name in ("load", "iops", "bytes_per_s")]
            rate = next((one for one in named if one is not None), None)
            latency = of_cell.get((match.point, side, "latency_mean_ns"))
            left_out = latency is not None and latency.contradicted
            latency = None if left_out else latency
            if rate is not None or latency is not None:
                found.append(Claim(side, _verdict(rate, latency), use, match.point, rate, latency, left_out))
    return found


def _verdict(rate: Stand | None, latency: Stand | None) -> Literal["good", "bad", "mixed", "level", "unknown"]:
    known = {one.standing for one in (rate, latency) if one is not None}
    if {"strong", "weak"} <= known:
        return "mixed"
    if "strong" in known:
        return "good"
    if "weak" in known:
        return "bad"
    return "unknown" if "unknown" in known else "level"


def use_of(row: Result) -> str:
    """What such a load stands for in practice, by its block size, reads and random share; empty where one is unknown.

    The words are the field reports': databases, mail, file access, streaming, video surveillance, backup, media.
    """
    asked = Subject(row, 0)
    size, reads, random = asked.size_bytes, asked.read_fraction, asked.random_fraction
    if size is None or reads is None or random is None:
        return ""
    if 0 < random < 1:
        return "file and web servers"
    way = 0 if reads >= _READS else 2 if reads <= _WRITES else 1
    if random:
        if size <= _SMALL_BYTES:
            return ("databases and desktops that mostly read", "databases and mail", "write-heavy databases")[way]
        return ("media on demand and decision support", "large files in random order", "large writes in random order")[
            way
        ]
    if size >= _LARGE_BYTES:
        return ("streaming and media", "file copies", "backup, recording and video surveillance")[way]
    return ("file access in small pieces", "file access in small pieces", "logs")[way]


def reads_ahead(comparison: Comparison) -> list[ReadsAhead]:
    """For each side the pairs of points that differ only in reading or writing all."""
    reads: list[tuple[Match, object]] = []
    writes: dict[object, list[Match]] = {}
    for match in comparison.matches:
        asked = Subject(match.first, 0)
        alike = (tuple(asked.sizes), asked.random_fraction, asked.closed, *sorted(match.labels.items()))
        if asked.sizes and asked.read_fraction == 1:
            reads.append((match, alike))
        elif asked.sizes and asked.read_fraction == 0:
            writes.setdefault(alike, []).append(match)
    pairs = [(match, other) for match, alike in reads for other in writes.get(alike, ())]
    return [
        ReadsAhead(side.name, match.point, other.point, mine / theirs)
        for side in comparison.sides
        for match, other in pairs
        if (mine := _rate(comparison, match.point, side.name)) and (theirs := _rate(comparison, other.point, side.name))
    ]


def _rate(comparison: Comparison, point: str, side: str) -> float | None:
    found = (comparison.estimates.get((point, name, side)) for name in ("iops", "bytes_per_s"))
    return next((one.value for one in found if one is not None), None)
