"""A finding: what is doubtful about a row, with the numbers behind it and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

#: From what cannot be to what one should know.
ORDER: tuple[Severity, ...] = ("error", "warning", "note")

# With its unit's letters, which go with its size: `900 ms`, `1.2 s`.
_FIGURE = re.compile(r"\d[\d.,]*\s?(?:[nµm]?s\b|[kMGT]?i?B(?:/s)?\b|%)?")


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a check says of one row.

    Attributes:
        severity: `error`: it cannot be so; `warning`: it's doubtful; `note`: know it before you conclude.
        message: one sentence without its full stop.
        remedy: what to do about it, a sentence.
        numbers: what the sentence rests on; the unit is the last word of a name.
    """

    severity: Severity
    message: str
    remedy: str
    numbers: Mapping[str, float] = field(default_factory=dict)


def finding(check: str, run: str, point: str, doubts: list[Doubt]) -> dict[str, Any]:
    """One finding of all that a check says of a row, as rows and `--json` have it; the gravest comes first."""
    doubts = sorted(doubts, key=lambda doubt: ORDER.index(doubt.severity))
    numbers = {name: _short(value) for doubt in reversed(doubts) for name, value in doubt.numbers.items()}
    return {
        "check": check,
        "severity": doubts[0].severity,
        "run": run,
        "point": point,
        "message": "; ".join(dict.fromkeys(doubt.message for doubt in doubts)),
        "numbers": numbers,
        "remedy": " ".join(dict.fromkeys(doubt.remedy for doubt in doubts)),
    }


def worst_first(several: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Findings of one check: the gravest first, kinds of sentences in their order, and of each kind the worst first."""
    found = list(several)
    kinds: dict[str, int] = {}
    for one in found:
        kinds.setdefault(kind_of(one), len(kinds))

    def rank(one: Mapping[str, Any]) -> tuple[int, int, float]:
        severity = one.get("severity", "warning")
        return (ORDER.index(severity) if severity in ORDER else len(ORDER), kinds[kind_of(one)], -_worse(one))

    return sorted(found, key=rank)


def kind_of(one: Mapping[str, Any]) -> str:
    """A finding's sentence without its figures."""
    return _FIGURE.sub("", str(one.get("message", "")))


def _worse(one: Mapping[str, Any]) -> float:
    """How bad a finding is beside others that say the same with other figures.

    Of a share or a ratio, and of two figures that should be alike, it's how far they are from one; less time and fewer
    I/Os are worse; of everything else more is.
    """
    numbers = one.get("numbers")
    known = {
        str(name): float(value)
        for name, value in (numbers.items() if isinstance(numbers, Mapping) else ())
        if isinstance(value, int | float) and math.isfinite(value)
    }
    for name in ("share", "ratio"):
        if name in known:
            return _unlike(known[name])
    for name in ("late_response_fraction", *(name for name in known if name.endswith("_fraction"))):
        if name in known:
            return abs(known[name])
    (name, value), *others = known.items() or [("", 0.0)]
    if others and others[0][1] > 0:
        return _unlike(value / others[0][1])
    if name.endswith("_share"):
        return _unlike(value)
    return -value if name in {"runtime_ns", "ios"} else abs(value)


def _unlike(ratio: float) -> float:
    """How far a ratio is from 1, either way."""
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _short(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.5g}")
