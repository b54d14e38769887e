"""A finding: what is doubtful about a row, with the numbers behind it and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

#: From what cannot be to what one should know.
ORDER: tuple[Severity, ...] = ("error", "warning", "note")


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


def short(value: float, digits: int = 3) -> str:
    """A number in a sentence: so many digits at least, and never a power of ten for one that has more before its point.

    `5,000`, not `5e+03`.
    """
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:,.{digits}g}"


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


def _short(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.5g}")
