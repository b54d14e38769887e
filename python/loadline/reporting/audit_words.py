"""What an audit found, in words: lines for a terminal, sentences for a page, and how columns were understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadline.judging.finding import ORDER, worst_first
from loadline.reporting.apart import called, counted, noun
from loadline.reporting.table import Group, Table
from loadline.result.importers.row import Mapped
from loadline.result.schema import Result

#: What a check's finding means to those who decide; the finding itself is for those who check it.
MEANINGS = {
    "littles-law": "rate, response time and load contradict each other",
    "units": "a unit is not what it's called",
    "sums": "parts and totals contradict each other",
    "percentiles": "mean and percentiles aren't of one distribution, or of too few I/Os",
    "hidden-cache": "a cache answered instead of the drives",
    "link-limit": "the cable is measured, not what is behind it",
    "load-line": "the load line may lie elsewhere",
    "other-run": "another run loaded the same meanwhile",
    "steady": "the figures don't stand for a lasting state",
    "load-generator": "the load was not made as asked",
    "clock": "curves are shifted against each other",
    "settings": "what is compared differs in more than it says",
    "name": "a name promises another load than was run",
    "emulation": "the emulated system was slower than it says",
    "busy": "a busy device isn't a full one",
    "place": "a part of the target isn't like the rest",
    "missing": "too little is told to judge everything",
}

#: Severities that stand on top of a page.
GRAVE = ("error", "warning")

# Of one check no more different messages are told one by one.
_FEW = 3


@dataclass(frozen=True, slots=True)
class Told:
    """One line about one check: what it says of how many points."""

    severity: str
    check: str
    points: tuple[str, ...]
    text: str
    remedy: str


def told(results: Sequence[Result], severities: Sequence[str] = ORDER) -> list[Told]:
    """The findings by gravity and check; equal messages together, of many different ones the worst few."""
    groups: dict[tuple[str, str], dict[tuple[str, str], list[str]]] = {}
    findings: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result, name in zip(results, called(results), strict=True):
        for one in result.findings:
            severity = str(one.get("severity", "warning"))
            if severity in severities:
                group = severity, str(one.get("check", "finding"))
                groups.setdefault(group, {}).setdefault(_said(one), []).append(name)
                findings.setdefault(group, []).append(one)
    found, of = [], noun(results)
    for (severity, check), unsorted in sorted(groups.items(), key=lambda item: _grave(item[0][0])):
        ordered = dict.fromkeys(map(_said, worst_first(findings[severity, check])))
        messages = {said: unsorted[said] for said in ordered}
        for number, ((message, remedy), points) in enumerate(messages.items()):
            if number == _FEW and len(messages) > _FEW + 1:
                left = [point for every in list(messages.values())[number:] for point in every]
                text = f"{_whose(left, of)}: {len(messages) - _FEW} more findings like these (--json has all)"
                found.append(Told(severity, check, tuple(left), text, remedy))
                break
            found.append(Told(severity, check, tuple(points), f"{_whose(points, of)}: {message}", remedy))
    return found


def _said(one: Mapping[str, Any]) -> tuple[str, str]:
    """Message and remedy."""
    return " ".join(str(one.get("message", "")).split()), str(one.get("remedy", ""))


def _grave(severity: str) -> int:
    return ORDER.index(severity) if severity in ORDER else len(ORDER)


def _whose(points: Sequence[str], of: str) -> str:
    return points[0] if len(points) == 1 else counted(len(points), of)


def verdict(results: Sequence[Result]) -> str:
    """`8 rows: 2 hold what cannot be, 3 are doubtful, 1 failed, 2 without contradiction`."""
    worst = [
        min((_grave(str(one.get("severity"))) for one in result.findings), default=len(ORDER)) for result in results
    ]
    errors, warnings = worst.count(0), worst.count(1)
    bad = [result for result, grave in zip(results, worst, strict=True) if result.error is not None and grave > 1]
    lineless = sum(result.over_limit for result in bad)
    failed = len(bad) - lineless
    said = [
        *([f"{errors} hold{'s' if errors == 1 else ''} what cannot be"] if errors else []),
        *([f"{warnings} {'is' if warnings == 1 else 'are'} doubtful"] if warnings else []),
        *([f"{failed} failed"] if failed else []),
        *([f"{lineless} without a load line"] if lineless else []),
        f"{len(results) - errors - warnings - len(bad)} without contradiction",
    ]
    return f"{len(results)} row{'' if len(results) == 1 else 's'}: {', '.join(said)}"


def sentences(results: Sequence[Result]) -> Iterator[str]:
    """For the top of a page, one a check: what it means, then the worst finding itself, and of how many points."""
    groups: dict[tuple[str, str], list[Told]] = {}
    for line in told(results, GRAVE):
        groups.setdefault((line.severity, line.check), []).append(line)
    for (severity, check), (first, *others) in groups.items():
        meaning = f"{MEANINGS[check]}. " if check in MEANINGS else ""
        certain = "It cannot be" if severity == "error" else "Doubtful"
        left = sum(len(line.points) for line in others)
        more = f" (and {left} more, each told at its point)" if left else ""
        yield f"{certain}: {meaning}{check}, {first.text}{more}. {first.remedy}"


def mapping_table(mapped: Sequence[Mapped]) -> Table:
    """How the columns of a file were understood."""
    rows = tuple((one.column, one.to or "left out", one.unit, one.why) for one in mapped)
    return Table(("column", "taken as", "unit", "by"), (Group("", rows),), frozenset({0, 1, 2, 3}))
