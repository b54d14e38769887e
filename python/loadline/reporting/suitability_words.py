"""What each side of a comparison is good for, and what not, each sentence with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadline.judging.suitability import DECIDES, Claim, ReadsAhead, Stand
from loadline.reporting.compare_table import head, value_of
from loadline.reporting.effect_words import more
from loadline.reporting.table import listed

# Of one kind so many are told, the widest differences first.
_FEW = 4

# Names of others like these.
_MOST_NAMES = 12

_HEADS = {
    "good": "Good for {}: ",
    "bad": "Not good for {}: ",
    "more": "For {} it does more, and answers later: ",
    "sooner": "For {} it does less, and answers sooner: ",
    "unknown": "For {} it can't be told yet: ",
}


def suitability_sentences(claims: Sequence[Claim], reads: Sequence[ReadsAhead]) -> dict[str, list[str]]:
    """By side: what it's good for, what not, where it is level with the best of the others; none if nothing is told."""
    sides = dict.fromkeys([claim.side for claim in claims])
    found: dict[str, list[str]] = {}
    if all(claim.verdict == "unknown" for claim in claims):
        return found
    for side in sides:
        of_side = [claim for claim in claims if claim.side == side]
        said = []
        if any(stand.printed for claim in of_side for stand in (claim.rate, claim.latency) if stand):
            said.append("If the figures hold as they were printed: how sure they are nobody says.")
        said += [sentence for kind in _HEADS for sentence in _of_kind(kind, of_side)]
        said += _level([claim for claim in of_side if claim.verdict == "level"])
        said += _reads([one for one in reads if one.side == side])
        found[side] = said
    return found


def _of_kind(kind: str, claims: Sequence[Claim]) -> Iterator[str]:
    """A sentence a use; its points by how far they are from the others."""
    uses: dict[str, list[Claim]] = {}
    for claim in sorted((claim for claim in claims if _kind(claim) == kind), key=_distance, reverse=True):
        uses.setdefault(claim.use or claim.point, []).append(claim)
    for use, several in list(uses.items())[:_FEW]:
        left = f"; and {len(several) - 2} more like it" if len(several) > 2 else ""
        points = "; ".join(_figures(claim) for claim in several[:2])
        yield f"{_HEADS[kind].format(use)}{points}{left}.{_doubt(several)}"
    if len(uses) > _FEW:
        yield f"Likewise: {listed(list(uses)[_FEW:], _MOST_NAMES)}."


def _kind(claim: Claim) -> str:
    if claim.verdict != "mixed":
        return claim.verdict
    return "more" if claim.rate is not None and claim.rate.standing == "strong" else "sooner"


def _distance(claim: Claim) -> float:
    return max(abs(math.log(stand.gain.value)) for stand in (claim.rate, claim.latency) if stand is not None)


def _figures(claim: Claim) -> str:
    """`4k random read: 150,000 IOPS against 300,000 of N2 (−50 %), mean latency 1.71 ms against 0.853 (2.00 times)`."""
    parts = [_figure(stand, named=n == 0) for n, stand in enumerate(filter(None, (claim.rate, claim.latency)))]
    point = f"{claim.point}, " if claim.use and claim.use != claim.point else ""
    return point + ", ".join(parts)


def _figure(stand: Stand, *, named: bool) -> str:
    words, unit = head(stand.figure)
    name, _, measure = words.partition(", ")
    times = stand.value / stand.other_value
    of = f" of {stand.other}" if named else ""
    value, other = value_of(stand.value, unit), value_of(stand.other_value, unit)
    said = f"{name} {value} {measure}" if measure else f"{value} {name}"
    return f"{said} against {other}{of} ({more(times)})"


def _doubt(claims: Sequence[Claim]) -> str:
    found = ""
    doubtful = [claim for claim in claims if claim.doubts]
    if doubtful:
        checks = ", ".join(dict.fromkeys(doubt for claim in doubtful for doubt in claim.doubts))
        left_out = "; that latency is left out" if any(claim.left_out for claim in doubtful) else ""
        found = f" In {_points(doubtful)} the audit finds what cannot be ({checks}){left_out}."
    odd = [claim for claim in claims if claim.left_out and not claim.doubts]
    if odd:
        found += f" In {_points(odd)} the audit finds that load and rate contradict the latency, which is left out."
    return found


def _points(claims: Sequence[Claim]) -> str:
    return " and ".join(claim.point for claim in claims) if len(claims) <= 2 else f"{len(claims)} of these"


def _level(claims: Sequence[Claim]) -> Iterator[str]:
    if claims:
        uses: dict[str, list[str]] = {}
        for claim in claims:
            uses.setdefault(claim.use, []).append(claim.point)
        named = [f"{use} ({listed(points, _FEW)})" if use else listed(points, _FEW) for use, points in uses.items()]
        said = f"As good as the best of the others, within {100 * DECIDES:.0f} %, for {', '.join(named)}."
        yield said + _doubt(claims)


def _reads(pairs: Sequence[ReadsAhead]) -> Iterator[str]:
    if pairs:
        ordered = sorted(pairs, key=lambda pair: pair.ratio)
        ends = [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered
        said = " and ".join(f"{more(one.ratio)} ({one.read} over {one.write})" for one in ends)
        between = "between " if len(ordered) > 2 else ""
        yield f"Its reads over its writes of the same pattern: {between}{said}."
