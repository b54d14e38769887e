"""What tells rows of one name apart, in words: system, settings, target, run, repetition. Needs nothing that draws.

Start reading at `source`, and at `called` for names in sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from loadline.result.schema import Result


def swept_keys(results: Sequence[Result]) -> list[str]:
    """Settings that don't have one value in all rows, in the order in which they were given."""
    keys = list(dict.fromkeys(key for result in results for key in result.tags))
    return [key for key in keys if len({result.tags.get(key) for result in results}) > 1]


def source(results: Sequence[Result]) -> list[str]:
    """For each row what tells its origin from the others': system, settings that differ, or run; empty if nothing."""
    keys = swept_keys(results)
    several = {
        name: len({getattr(result, name) for result in results}) > 1
        for name in ("origin", "system", "target", "run", "repeat")
    }
    shorter = _places({result.target for result in results})
    told = [
        [result.origin] * several["origin"]
        + [result.system or ""] * several["system"]
        + [shorter[result.target]] * (several["target"] and not result.system)
        + [f"{key.rpartition('.')[2]} {result.tags[key]}" for key in keys if key in result.tags]
        for result in results
    ]
    if several["repeat"]:
        told = [[*parts, f"repetition {result.repeat}"] for parts, result in zip(told, results, strict=True)]
    runs: dict[tuple[str, ...], set[str]] = {}
    for parts, result in zip(told, results, strict=True):
        runs.setdefault(tuple(parts), set()).add(result.run)
    # The run's id is long; it is named only where nothing else tells rows apart.
    short = short_runs({result.run for result in results})
    return [
        ", ".join(filter(None, [*parts, short[result.run] if len(runs[tuple(parts)]) > 1 else ""]))
        for parts, result in zip(told, results, strict=True)
    ]


def called(results: Sequence[Result]) -> list[str]:
    """For each row its point; of points that share their name with what tells them apart, too."""
    whose: dict[str, set[str]] = {}
    told = list(zip(results, source(results), strict=True))
    for result, origin in told:
        whose.setdefault(result.point, set()).add(origin)
    return [
        f"{result.point}, {origin}" if origin and len(whose[result.point]) > 1 else result.point
        for result, origin in told
    ]


def noun(results: Sequence[Result]) -> str:
    """`point`, or `row` where points have several: of several targets, repetitions or runs."""
    return "row" if len(set(called(results))) > len({result.point for result in results}) else "point"


def counted(number: int, of: str) -> str:
    """`3 points`, of a noun."""
    return f"{number:,} {of}{'' if number == 1 else 's'}"


def _places(targets: set[str]) -> dict[str, str]:
    """Targets in words; of files and directories the last part of the path, where it tells them apart."""
    last = {target: target if target.startswith("/dev/") else target.rpartition("/")[2] or target for target in targets}
    times = Counter(last.values())
    said = {target: part if times[part] == 1 else target for target, part in last.items()}
    return {target: "all together" if target == "*" else word for target, word in said.items()}


# Of a run's id what says when it began.
_STAMP = re.compile(r"\d{8}-\d{6}-")


def cut_runs(sides: Sequence[str]) -> dict[str, str]:
    """Shorter names of sides that all are stored runs; of others nothing."""
    short = short_runs(set(sides)) if all(map(_STAMP.match, sides)) else {}
    # In the sides' order: a page of the same results has the same bytes.
    return {side: short[side] for side in dict.fromkeys(sides) if side in short}


def short_runs(runs: set[str]) -> dict[str, str]:
    """The ids without when they began, if they differ in more, and without the words that all begin and end with."""
    told = {run: _STAMP.sub("", run, count=1) for run in runs}
    words = {run: (told if len(set(told.values())) == len(runs) else {run: run})[run].split("-") for run in runs}
    first = next((n for n, at in enumerate(zip(*words.values(), strict=False)) if len(set(at)) > 1), 0)
    backwards = zip(*(reversed(parts) for parts in words.values()), strict=False)
    last = next((n for n, at in enumerate(backwards) if len(set(at)) > 1), 0)
    return {run: "-".join(parts[first : len(parts) - last]) or run for run, parts in words.items()}
