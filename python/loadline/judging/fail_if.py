"""Thresholds for scripts: `oltp-db.iops < 0.95 * baseline` is what must not be.

    threshold = POINT "." FIGURE COMPARISON BOUND
    POINT     = a point's or profile's name; `*` and `?` stand for any characters, `*` alone for every point
    FIGURE    = iops, bytes_per_s, latency_mean_ns, ... or a short name: latency, p99, read_p99, bandwidth
    BOUND     = a number with its unit (`5000`, `20k/s`, `100MB/s`, `5ms`), or FACTOR `* baseline`, or `baseline`
    FACTOR    = a number, or a share such as `95%`

Start reading at `parse_threshold`, then `judge_thresholds`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from loadline.errors import InputError
from loadline.judging.cell import Estimates, nothing, pending, unfit
from loadline.judging.compare import Comparison
from loadline.judging.figure import Figure, figure_named
from loadline.judging.interval import Ratio
from loadline.judging.matching import Match
from loadline.judging.student import holm
from loadline.units import parse_bandwidth, parse_duration, parse_rate

State: TypeAlias = Literal["fails", "passes", "unsure", "missing"]

_FORM = re.compile(r"(?P<point>[^<>=]*)(?P<sign><=|>=|<|>|==?|!=)?(?P<bound>[^<>=]*)")
_FACTOR = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%?)")
_EXAMPLE = "Write it like 'oltp-db.iops < 0.95 * baseline' or '*.read_p99 > 5ms'."

_CHANCE = 0.05


@dataclass(frozen=True, slots=True)
class Threshold:
    """What must not be.

    Attributes:
        text: as it was written.
        above: whether it's too much (`>`), rather than too little (`<`).
        or_equal: whether the bound itself is it, too.
        bound: in the figure's own unit; as a factor of the baseline where `relative`.
    """

    text: str
    point: str
    figure: Figure
    above: bool
    or_equal: bool
    bound: float
    relative: bool

    def beyond(self, value: float) -> bool:
        """Whether a value, or a ratio, is on the side that must not be."""
        if self.or_equal and math.isclose(value, self.bound, rel_tol=1e-12):
            return True
        return value > self.bound if self.above else value < self.bound


@dataclass(frozen=True, slots=True)
class Tried:
    """A threshold at one point of one side.

    Attributes:
        state: `fails`: it's beyond, and surely; `unsure`: it's beyond, but that may be chance; `missing`: the point
            failed or isn't there; `passes`.
        value: the figure, or its ratio to the baseline's.
        why: a sentence without its full stop.
    """

    threshold: Threshold
    point: str
    side: str
    state: State
    value: float | None
    why: str


def parse_threshold(text: str) -> Threshold:
    """The threshold that a text says.

    Raises:
        InputError: what can't be read, and where; the remedy is an example.
    """
    found = _FORM.fullmatch(text)
    if found is None or not found["sign"] or not found["bound"].strip():
        sign = "there is no < or >" if found is None or not found["sign"] else "nothing stands behind its sign"
        at = "" if found is None or not found["sign"] else f" at character {found.end('sign') + 1}"
        if found is None and len(re.findall(r"[<>=]+", text)) > 1:
            sign = "there are several signs"
        raise InputError(f"--fail-if {text!r}: {sign}{at}", _EXAMPLE)
    if found["sign"] in {"=", "==", "!="}:
        message = f"--fail-if {text!r}: {found['sign']!r} at character {found.start('sign') + 1} can't be"
        raise InputError(message, "A measured figure is never equal: take <, <=, > or >=.")
    point, dot, name = found["point"].strip().rpartition(".")
    if not dot or not point or not name:
        raise InputError(f"--fail-if {text!r}: {found['point'].strip()!r} is not POINT.FIGURE", _EXAMPLE)
    try:
        figure = figure_named(name.strip())
        bound, relative = _bound(found["bound"].strip(), figure)
    except InputError as error:
        place = found.start("bound") + 1 if "figure" not in error.message else text.rindex(name) + 1
        raise InputError(f"--fail-if {text!r}, character {place}: {error.message}", error.remedy) from None
    above, or_equal = found["sign"].startswith(">"), found["sign"].endswith("=")
    return Threshold(text, point.strip(), figure, above, or_equal, bound, relative)


def _bound(text: str, figure: Figure) -> tuple[float, bool]:
    if re.search(r"\*|base", text, re.IGNORECASE):
        return _factor(text), True
    if figure.name == "load":
        return parse_rate(text), False
    if not figure.rate:
        if not re.search(r"[a-zµ]\s*$", text):
            raise InputError(f"{text!r} has no unit of time", "Write it like 5ms or 200us.")
        return float(parse_duration(text)), False
    read = parse_bandwidth if figure.statistic == "bytes_per_s" else parse_rate
    return read(text), False


def _factor(text: str) -> float:
    parts = [part.strip() for part in re.split(r"\*|\bof\b", text)]
    factors = [part for part in parts if part != "baseline"]
    if len(parts) > 2 or len(factors) != len(parts) - 1:
        raise InputError(f"{text!r} is no factor times the baseline", "Write it like 0.95 * baseline.")
    if not factors:
        return 1.0
    found = _FACTOR.fullmatch(factors[0])
    if found is None or not float(found["number"]):
        raise InputError(f"{factors[0]!r} is no factor above 0", "Write it like 0.95 * baseline or 95% * baseline.")
    return float(found["number"]) / (100 if found["percent"] else 1)


def judge_thresholds(comparison: Comparison, thresholds: Sequence[Threshold]) -> list[Tried]:
    """Every threshold at every point that it names, of every side but the baseline.

    It fails only where it's sure: what is beyond the bound must be so beyond chance, at 5 % in view of all that are
    tried (Holm). A figure of which nobody knows how sure it is counts as it stands.

    Raises:
        InputError: a threshold that names no point.
    """
    table = Estimates(comparison.known, dict(comparison.estimates))
    tried = [(one, chance) for threshold in thresholds for one, chance in _each(comparison, threshold, table)]
    corrected = iter(holm([chance for _, chance in tried if chance is not None]))
    found = []
    for one, chance in tried:
        if chance is not None and next(corrected) > _CHANCE:
            found.append(replace(one, state="unsure", why=f"{one.why}, which may be chance"))
        else:
            found.append(one)
    return found


def _each(comparison: Comparison, threshold: Threshold, table: Estimates) -> Iterator[tuple[Tried, float | None]]:
    """What is tried; with the chance of those that seem to fail and whose error is known."""
    every = (*comparison.matches, *comparison.single)
    named = [match for match in every if _names(threshold, match.point, match.first.profile)]
    # A profile's name is that of its point and of its load line, which have figures of their own.
    matches = [match for match in named if _has(match, threshold.figure)] or named
    if not matches:
        points = [match.point for match in every]
        lower = {point.lower(): point for point in points}
        close = get_close_matches(threshold.point.lower(), lower, n=1)
        hint = f"Did you mean {lower[close[0]]!r}? " if close else ""
        more = ", ..." if len(points) > 8 else ""
        raise InputError(
            f"--fail-if {threshold.text!r}: there is no point {threshold.point!r}",
            f"{hint}Points: {', '.join(points[:8])}{more}.",
        )
    baseline, *others = (side.name for side in comparison.sides)
    for match in matches:
        for side in others:
            if side in match.rows:
                yield _tried(threshold, match, baseline, side, table)
            elif baseline in match.rows or len(match.rows) > 1:
                yield Tried(threshold, match.point, side, "missing", None, f"{side} doesn't have it"), None


def _has(match: Match, figure: Figure) -> bool:
    rows = [row for each in match.rows.values() for row in each]
    return any(figure.of(row) is not None for row in rows) or (
        any(row.error for row in rows) and (figure.name != "load" or any(row.limit for row in rows))
    )


def _names(threshold: Threshold, point: str, profile: str | None) -> bool:
    return any(name is not None and fnmatchcase(name, threshold.point) for name in (point, profile))


def _tried(
    threshold: Threshold, match: Match, baseline: str, side: str, table: Estimates
) -> tuple[Tried, float | None]:
    if threshold.relative:
        found, why = _relative(threshold, match, baseline, side, table)
    else:
        found, why = _absolute(threshold, match, side, table)
    if found is None:
        return Tried(threshold, match.point, side, "missing", None, why), None
    said = f"{found.value:.3f} x the baseline" if threshold.relative else threshold.figure.said(found.value)
    one = Tried(threshold, match.point, side, "passes", found.value, said)
    if not threshold.beyond(found.value):
        return one, None
    if why:
        return replace(one, state="unsure", why=f"{said}; {why}"), None
    if found.error is None:
        return replace(one, state="fails", why=f"{said}; how sure that is isn't known"), None
    # What is exactly at a bound that counts is there by its figure; chance has no say.
    exact = math.isclose(found.value, threshold.bound, rel_tol=1e-12)
    return replace(one, state="fails"), None if exact else found.chance(threshold.bound)


def _relative(
    threshold: Threshold, match: Match, baseline: str, side: str, table: Estimates
) -> tuple[Ratio | None, str]:
    """The ratio to the baseline, and what prevents to be sure of it."""
    if baseline not in match.rows:
        return None, f"{baseline} doesn't have it"
    found = pending(match, threshold.figure, baseline, side, table)
    assert found is not None, "a figure that is asked for has a cell"
    if found.cell.value == 0 and found.cell.baseline_value and threshold.figure.rate:
        return Ratio(0.0, None), ""
    return found.ratio, found.cell.why if found.ratio is None or not found.fit else ""


def _absolute(threshold: Threshold, match: Match, side: str, table: Estimates) -> tuple[Ratio | None, str]:
    """The figure itself, and what prevents to be sure of it."""
    estimate = table.estimate(match, threshold.figure, side)
    # A rate of 0 is known; a response that took no time is none.
    if estimate is None or not (estimate.value or threshold.figure.rate):
        failed = next((row.error for row in match.rows[side] if row.error), None)
        if estimate is not None:
            return None, nothing(threshold.figure, [side])
        return None, f"failed on {side}: {failed}" if failed else f"it isn't known of {side}"
    return Ratio(estimate.value, estimate.error), unfit(match.rows[side], side, estimate) or ""
