"""Comparisons of forecasts with measurements: tables for a terminal, and the record of a whole validation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadline.reporting.table import UNKNOWN, Group, Table, count
from loadline.result.schema import FORMAT
from loadline.system.validation.comparison import Assumption, Comparison, Section


@dataclass(frozen=True, slots=True)
class Making:
    """How a record was made: the day, the version, the command, and facts of the machine."""

    day: str
    version: str
    command: str
    host: Mapping[str, Any]


def comparisons_table(section: Section) -> Table:
    """What, measured, forecast, error, bar, and whether the bar is kept."""
    rows = tuple(_row(comparison) for comparison in section.comparisons)
    heads = ("what", "unit", "measured", "forecast", "error", "bar", "within?", "note")
    judged = [one.within for one in section.comparisons if one.within is not None]
    notes = (f"{sum(judged)} of {len(judged)} within their bars",) if judged else ()
    return Table(heads, (Group("", rows),), frozenset({0, 1, 6, 7}), notes)


def conclusions_table(section: Section) -> Table:
    """What a report concludes, the verdict, the numbers and why."""
    rows = tuple((one.verdict, one.said, one.numbers, one.why) for one in section.conclusions)
    return Table(("verdict", "the report", "the models", "why"), (Group("", rows),), frozenset(range(4)))


def _row(one: Comparison) -> tuple[str, ...]:
    error = UNKNOWN if one.error_fraction is None else f"{one.error_fraction:+.1%}"
    bar = UNKNOWN
    if one.most is not None:
        bar = f"at most {one.most:g}"
    elif one.span is not None:
        bar = f"{count(one.span[0])} to {count(one.span[1])}"
    elif one.bar_fraction is not None:
        bar = f"{one.bar_fraction:.0%}"
    within = {None: UNKNOWN, True: "yes", False: "no"}[one.within]
    return (one.what, one.unit, count(one.measured), count(one.forecast), error, bar, within, one.note)


def record_markdown(sections: Sequence[Section], assumed: Sequence[Assumption], making: Making) -> str:
    """The record for people: how it was made, every comparison, every assumption."""
    lines = [
        f"# Forecasts beside measurements, {making.day}",
        "",
        f"- loadline {making.version}: `{making.command}`",
        *(f"- {key}: {value}" for key, value in making.host.items() if value is not None),
        "",
        "Nothing is fitted to a value that it is compared with. What stands for what, and why figures miss their bars:",
        "docs/background/validation.md.",
    ]
    for section in sections:
        lines += ["", f"## {section.title}", "", section.about]
        lines += [f"\nSystem: {system.said}" for system in section.systems]
        lines += [f"\nData: {name}, SHA-256 {digest}" for name, digest in section.files]
        lines += ["", comparisons_table(section).markdown().rstrip()] if section.comparisons else []
        lines += ["", conclusions_table(section).markdown().rstrip()] if section.conclusions else []
    rows = tuple((one.description, one.key, one.value, one.reason) for one in assumed)
    table = Table(("description", "key", "value", "why"), (Group("", rows),), frozenset(range(4)))
    return "\n".join([*lines, "", "## Every assumption", "", table.markdown()])


def record_json(sections: Sequence[Section], assumed: Sequence[Assumption], making: Making) -> str:
    """The same for programs."""
    body = {
        "format": FORMAT,
        "making": asdict(making),
        "sections": [section.to_json() for section in sections],
        "assumptions": [asdict(one) for one in assumed],
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"
