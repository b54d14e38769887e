"""What the settings of a test matrix do: a sentence for each with its numbers, and all of it as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from loadline.judging.effects import WORKLOAD, Contrast, Effect, Effects, Interaction, Pair
from loadline.judging.interval import Ratio
from loadline.reporting.table import UNKNOWN, Group, Table, count
from loadline.units import format_signed

# From twice on a ratio is said as times, below in percent.
_TIMES = 2.0

# Missing cells that are named, and interactions that are told.
_FEW = 3

#: How figures are called within a sentence.
FIGURES = {
    "iops": "IOPS",
    "bytes_per_s": "MB/s",
    "latency_mean_ns": "mean latency",
    "latency_p99_ns": "99th percentile of latency",
    "load": "load at the load line",
    "saturation_iops": "IOPS at saturation",
}


def figure_name(column: str) -> str:
    """`read_latency_mean_ns` as `mean read latency`."""
    for prefix, way in (("read_", "read"), ("write_", "write")):
        if column.startswith(prefix):
            plain = figure_name(column.removeprefix(prefix))
            return plain.replace("latency", f"{way} latency") if "latency" in plain else f"{way} {plain}"
    return FIGURES.get(column, column)


def effect_sentences(of_figure: Sequence[Effects], resolution: float = 0.01) -> list[str]:
    """What each factor does to a figure, the one that matters most first.

    Args:
        of_figure: the effects over all workloads, then those in each class.
        resolution: what differs by less is none.
    """
    whole, *classes = of_figure
    figure = figure_name(whole.figure)
    told = [effect for effect in whole.effects if effect.widest is not None]
    # Of one factor alone there is no order, and no share to speak of.
    ranks = [f"{'' if n else ' matters most'} ({_share(effect)})" if told[1:] else "" for n, effect in enumerate(told)]
    found = [_of_factor(effect, classes, figure, resolution, rank) for effect, rank in zip(told, ranks, strict=True)]
    found += [f"{effect.factor}: not told, for {effect.lacks}." for effect in whole.effects if effect.widest is None]
    found += [_of_pair(one) for one in whole.interactions if one.sure][:_FEW]
    found += _gaps(whole)
    return found


def _share(effect: Effect) -> str:
    share = "under 1 %" if effect.share_fraction < 0.01 else f"{100 * effect.share_fraction:.0f} %"
    return f"{share} of what differs"


def _of_factor(effect: Effect, classes: Sequence[Effects], figure: str, resolution: float, rank: str) -> str:
    widest = effect.widest
    assert widest is not None, "only effects with a contrast are told"
    by_class = [(one.access or "other", _same(one, effect.factor, widest)) for one in classes]
    known = [(access, contrast) for access, contrast in by_class if contrast is not None]
    everything = [widest, *(contrast for _, contrast in known)]
    if all(_within(one.ratio, resolution) for one in everything):
        values = (
            f"its {len(effect.levels)} values lie"
            if len(effect.levels) > 2
            else f"{widest.level} and {widest.over} lie"
        )
        return f"{effect.factor} does nothing: {values} within {100 * resolution:.3g} % of each other in {figure}."
    if not any(one.sure for one in everything):
        return (
            f"{effect.factor}: no effect that can be told from chance; {widest.level} over {widest.over}:"
            f" {more(widest.ratio.value)} {figure}{_interval(widest.ratio)}."
        )
    said = [f"{effect.factor}{rank}: {widest.level} has {_than(widest, figure)}{_interval(widest.ratio)}."]
    if known:
        of_classes = ", ".join(
            f"{access} {_more_of(contrast, widest)}{'' if contrast.sure else ' (may be chance)'}"
            for access, contrast in known
        )
        said.append(f"By class: {of_classes}.")
    if widest.least is not None and widest.most is not None and widest.pairs > 1:
        ends = [f"{more(pair.ratio)} ({_where(pair)})" for pair in (widest.least, widest.most)]
        said.append(f"Of {widest.pairs} pairs that are alike in all else the least is {ends[0]}, the most {ends[1]}.")
    return " ".join(said)


def _where(pair: Pair) -> str:
    return ", ".join([pair.block, *pair.others.values()])


def _same(one: Effects, factor: str, widest: Contrast) -> Contrast | None:
    """The contrast of the same two levels in a class."""
    effect = next(effect for effect in one.effects if effect.factor == factor)
    pair = {widest.level, widest.over}
    return next((contrast for contrast in effect.contrasts if {contrast.level, contrast.over} == pair), None)


def _more_of(contrast: Contrast, widest: Contrast) -> str:
    value = contrast.ratio.value
    return more(value if contrast.level == widest.level else 1 / value)


def more(ratio: float) -> str:
    """`+41 %`, `−6 %`, `−99.8 %`; from twice on `2.40 times`."""
    if ratio >= _TIMES:
        return f"{count(ratio)} times"
    percent = 100 * (ratio - 1)
    if abs(percent) < 0.05:
        return "±0 %"
    # The nearer to nothing or to no change, the more digits.
    digits = 1 if abs(percent) < 1 or ratio < 0.02 else 0
    return f"{format_signed(percent, f'+.{digits}f')} %"


def _than(contrast: Contrast, figure: str) -> str:
    ratio = contrast.ratio.value
    if ratio >= _TIMES:
        return f"{count(ratio)} times the {figure} of {contrast.over}"
    return f"{more(ratio).removeprefix('+')} more {figure} than {contrast.over}"


def _interval(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return ""
    low, high = more(ratio.low), more(ratio.high)
    for unit in (" times", " %"):
        if low.endswith(unit) and high.endswith(unit):
            low = low.removesuffix(unit)
    return f" (95 % interval {low} to {high})"


def _within(ratio: Ratio, fraction: float) -> bool:
    return (
        ratio.low is not None
        and ratio.high is not None
        and 1 / (1 + fraction) <= ratio.low
        and ratio.high <= 1 + fraction
    )


def _of_pair(one: Interaction) -> str:
    ordered = sorted(one.at.items(), key=lambda item: item[1])
    shown = ordered if len(ordered) <= _FEW else [ordered[0], ordered[-1]]
    joined = " and ".join(f"{more(ratio)} at {level}" for level, ratio in shown)
    between = "between " if len(shown) < len(ordered) else ""
    on = "the workload" if one.on == WORKLOAD else one.on
    return f"What {one.factor} does depends on {on}: {one.level} over {one.over} is {between}{joined}."


def _gaps(whole: Effects) -> Iterator[str]:
    if whole.missing:
        named = "; ".join(", ".join(cell) for cell in whole.missing[:_FEW])
        left = f"; and {len(whole.missing) - _FEW} more" if len(whole.missing) > _FEW else ""
        number = f"{len(whole.missing)} of {whole.cells + len(whole.missing)}"
        yield f"{number} cells of the matrix have no row: {named}{left}. Effects are fitted without them."
    if whole.contrasts and all(one.ratio.error is None for one in whole.contrasts):
        yield "How sure these are nobody can tell: no row has an interval or a repetition, and too few are left for it."


def effects_table(of_figure: Sequence[Effects]) -> Table:
    """Every two levels of every factor: the ratio of the figure over all workloads and in each class."""
    whole, *classes = of_figure
    rows = []
    for effect in whole.effects:
        for contrast in effect.contrasts:
            cells = [contrast, *(_same(one, effect.factor, contrast) for one in classes)]
            rows.append(
                (
                    effect.factor,
                    contrast.level,
                    contrast.over,
                    *(_cell(one, contrast) for one in cells),
                    f"{100 * effect.share_fraction:.3g}",
                )
            )
    heads = ("factor", "level", "over", "all", *(one.access or "other" for one in classes), "share\n%")
    note = (
        f"{figure_name(whole.figure)}: ratio of the level to the other, all else equal, a geometric mean; ? can't be"
        " told from 1; share: of what differs within workloads"
    )
    return Table(heads, (Group("", tuple(rows)),), frozenset({0, 1, 2}), (note,), naming=3)


def _cell(one: Contrast | None, like: Contrast) -> str:
    if one is None:
        return UNKNOWN
    ratio = one.ratio.value if one.level == like.level else 1 / one.ratio.value
    return count(ratio) + ("" if one.sure else "?")


def effects_object(effects: Effects) -> dict[str, Any]:
    """An `effects` of the JSON object: every contrast with its interval, what depends on what, missing cells."""
    return {
        "figure": effects.figure,
        "access_class": effects.access,
        "rows": effects.trials,
        "cells": effects.cells,
        "missing": [list(cell) for cell in effects.missing],
        "factors": [
            {
                "factor": effect.factor,
                "share_fraction": effect.share_fraction,
                "lacks": effect.lacks,
                "contrasts": [_contrast_object(contrast) for contrast in effect.contrasts],
            }
            for effect in effects.effects
        ],
        "interactions": [
            {
                "factor": one.factor,
                "on": one.on,
                "level": one.level,
                "over": one.over,
                "ratios": dict(one.at),
                "share_fraction": one.share_fraction,
                "chance": one.chance,
            }
            for one in effects.interactions
        ],
    }


def _contrast_object(contrast: Contrast) -> dict[str, Any]:
    ratio = contrast.ratio
    return {
        "level": contrast.level,
        "over": contrast.over,
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "chance": contrast.chance,
        "pairs": contrast.pairs,
        "least": None if contrast.least is None else contrast.least.ratio,
        "most": None if contrast.most is None else contrast.most.ratio,
    }
