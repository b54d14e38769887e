"""What a comparison comes to, in sentences: first what is doubtful, then who is better at what, and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from loadline.judging.cell import Cell
from loadline.judging.matching import LOADS
from loadline.reporting.audit_words import sentences, verdict
from loadline.reporting.compare_table import head, summary
from loadline.reporting.compared import MOST_SIDES, Compared
from loadline.reporting.effect_words import effect_sentences, figure_name, more
from loadline.reporting.suitability_words import suitability_sentences
from loadline.reporting.table import listed
from loadline.reporting.words import Paragraph

_ORIGINS = {"rule": "estimated by a rule of thumb"}

# Nobody chooses between the values of these.
_NO_CHOICE = frozenset({"profile", "access_class", "origin", *LOADS})

# Points that only one side has, and notes, of which that many are told.
_FEW = 5


def paragraphs(compared: Compared) -> list[Paragraph]:
    """The paragraphs that have something to say, the audit's findings on top."""
    comparison = compared.comparison
    rows = [row for row in comparison.results if row.role == "point"]
    audited = tuple(sentences(rows))
    found = [
        Paragraph("Audit", (f"{verdict(rows)}.", *audited) if audited else (), grave=True),
        Paragraph("What", tuple(_what(compared))),
        Paragraph("In short", tuple(_short(compared))),
        *(Paragraph(f"What {side} is good for", tuple(said)) for side, said in good_for(compared).items()),
        *(Paragraph(f"What matters for {figure}", tuple(said)) for figure, said in what_matters(compared).items()),
        Paragraph("What can't be told", tuple(_untold(comparison.cells)), grave=True),
        Paragraph("What is doubtful", tuple(_doubts(compared)), grave=True),
    ]
    return [paragraph for paragraph in found if paragraph.sentences]


def good_for(compared: Compared) -> dict[str, list[str]]:
    """By side what it's good for.

    Of two states of one system or target, of workloads, or of a forecast and its measurement that is no question, and
    nothing is said.
    """
    if compared.comparison.by and _NO_CHOICE.issuperset(compared.comparison.by):
        return {}
    named = [[side.labels.get(name) for side in compared.comparison.sides] for name in ("system", "target")]
    if not any(len(set(names)) > 1 for names in named) and any(None not in names for names in named):
        return {}
    return suitability_sentences(compared.claims, compared.reads)


def what_matters(compared: Compared) -> dict[str, list[str]]:
    """By figure what each factor does to it."""
    resolution = compared.comparison.resolution
    return {figure_name(figure): effect_sentences(one, resolution) for figure, one in compared.effects.items()}


def _what(compared: Compared) -> Iterator[str]:
    comparison = compared.comparison
    if len(comparison.sides) <= MOST_SIDES:
        for side in comparison.sides:
            points = [row for row in side.rows if row.role == "point"]
            origins = dict.fromkeys(_ORIGINS.get(row.origin, row.origin) for row in points)
            number = f"{len(points)} row{'' if len(points) == 1 else 's'}"
            is_baseline = ", the baseline" if side.name == comparison.baseline else ""
            yield f"{side.name}{is_baseline}: {number}, {' and '.join(origins) or 'without any point'}."
    else:
        by = f", which are the values of {', '.join(comparison.by)}" if comparison.by else ""
        yield f"{len(comparison.sides)} sides{by}; {comparison.baseline} is the baseline."
    common = len(comparison.matches)
    yield f"{common} point{' is' if common == 1 else 's are'} common to two sides or more."
    if comparison.alone:
        yield f"Only one side has {listed([f'{point} ({side})' for point, side in comparison.alone], _FEW)}."


def _short(compared: Compared) -> Iterator[str]:
    comparison = compared.comparison
    yield f"{summary(comparison)}."
    for figure, (whole, *_) in compared.effects.items():
        ends = [(effect.factor, effect.widest) for effect in whole.effects]
        sure = [(factor, widest.ratio.value) for factor, widest in ends if widest is not None and widest.sure]
        # A setting may surely do next to nothing.
        said = [f"{factor} {more(ratio)}" for factor, ratio in sure if ratio > 1 + comparison.resolution]
        if said:
            yield f"{figure_name(figure)}, each setting's highest over its lowest: {', '.join(said)}."
    if len(comparison.sides) > MOST_SIDES:
        return
    for side in comparison.sides[1:]:
        for figure in dict.fromkeys(cell.figure for cell in comparison.cells):
            cells = [cell for cell in comparison.cells if (cell.side, cell.figure) == (side.name, figure)]
            told = [cell for cell in cells if cell.verdict != "can't tell"]
            if told:
                parts: list[str] = []
                for word in ("better", "worse", "higher", "lower"):
                    parts += _extremes([cell for cell in told if cell.verdict == word], word)
                same = sum(cell.verdict == "same" for cell in told)
                parts += [f"the same at {same}"] * bool(same)
                of = f" of {len(cells)} points" if len(cells) > 1 else ""
                yield f"{head(figure)[0].partition(',')[0]}, {side.name}: {'; '.join(parts)}{of}."


def _extremes(cells: Sequence[Cell], word: str) -> Iterator[str]:
    """`better at 5, from +12 % (log) to 2.10 times (mail)`."""
    found = sorted(cells, key=lambda cell: abs(math.log(cell.ratio or 1.0)))
    if len(found) == 1:
        yield f"{word} at 1: {more(found[0].ratio or 1.0)} ({found[0].point})"
    elif found:
        ends = [f"{more(cell.ratio or 1.0)} ({cell.point})" for cell in (found[0], found[-1])]
        yield f"{word} at {len(found)}, from {ends[0]} to {ends[1]}"


def _untold(cells: Sequence[Cell]) -> Iterator[str]:
    open_ = [cell for cell in cells if cell.verdict == "can't tell" and cell.ratio]
    longer = sorted((cell.longer, cell.point) for cell in open_ if cell.longer is not None)
    if longer:
        (least, first), (most, last) = longer[0], longer[-1]
        number = f"{len(longer)} figure{'' if len(longer) == 1 else 's'}"
        span = f"{least:g} times" if least == most else f"{least:g} ({first}) to {most:g} times ({last})"
        yield f"{number} could be told by running {span} as long, or as often."
    if len({cell.side for cell in cells}) > MOST_SIDES:
        left = len(open_) - len(longer)
        if left:
            which = f"{left} more can't" if longer else f"{left} figure{'' if left == 1 else 's'} can't be told"
            yield f"{which}, each for its reason, which the table and --json have."
        return
    reasons = Counter(cell.why for cell in open_ if cell.longer is None and cell.why)
    for why, times in reasons.most_common(_FEW):
        yield f"{times} figure{'' if times == 1 else 's'}: {why}."


def _doubts(compared: Compared) -> Iterator[str]:
    rows = [row for row in compared.comparison.results if row.role == "point"]
    for what, over in (("failed", False), ("without a load line", True)):
        failed = [row for row in rows if row.error and row.over_limit is over]
        if failed:
            more_of_them = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            yield f"{len(failed)} of {len(rows)} rows {what}: {failed[0].point}: {failed[0].error}{more_of_them}."
    quick = sum(row.quick for row in rows)
    if quick:
        yield f"{quick} of {len(rows)} rows are of a few seconds only: an impression, not a measurement."
    yield from (f"{note[0].upper()}{note[1:]}." for note in compared.comparison.notes[:_FEW] if note)
