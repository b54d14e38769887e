"""The page of a comparison: findings and conclusions on top, then charts, verdicts, effects, and all rows."""

from __future__ import annotations

import shlex
from typing import Any

from loadline.reporting.compare_table import comparison_table, threshold_lines
from loadline.reporting.compare_words import paragraphs
from loadline.reporting.compared import Compared
from loadline.reporting.effect_words import effects_table
from loadline.reporting.full_table import full_table
from loadline.reporting.page import Figures, provenance, rendered, told, unchecked
from loadline.reporting.table import UNKNOWN, Table
from loadline.reporting.words import Paragraph

# Rows whose findings are told one by one.
_MOST_FINDINGS = 100

# A table of more rows is folded away until it's asked for.
_LONG = 80


def comparison_page(compared: Compared) -> str:
    """The page's text.

    Raises:
        InputError: `loadline[full]` isn't installed.
    """
    with unchecked():
        from loadline.reporting.charts import OF_COMPARISON

        figures = Figures()
        charts, lacking = figures.of_charts(OF_COMPARISON, compared)
    rows = [row for row in compared.comparison.results if row.role == "point"]
    sides = {id(row): side.name for side in compared.comparison.sides for row in side.rows}
    heads, lines = full_table(rows, [sides.get(id(row), UNKNOWN) for row in rows])
    return rendered(
        figures,
        title=compared.title,
        summary=[*_thresholds(compared), *paragraphs(compared)],
        charts=charts,
        lacking=lacking,
        tables=_tables(compared),
        columns=heads,
        rows=lines,
        points=_findings(compared),
        points_title="Findings row by row",
        provenance=provenance(compared.runs),
        command=shlex.join(compared.command),
    )


def _thresholds(compared: Compared) -> list[Paragraph]:
    lines = tuple(f"{line}." for line in threshold_lines(compared.tried))
    grave = any(one.state != "passes" for one in compared.tried)
    return [Paragraph("Thresholds", lines, grave=grave)] if lines else []


def _tables(compared: Compared) -> list[dict[str, Any]]:
    effects = [effects_table(one) for one in compared.effects.values()]
    verdicts = comparison_table(compared.comparison, stands=compared.stands or None)
    found = [("verdicts", "Verdicts", [verdicts]), ("factors", "Effects", effects)]
    return [
        {"name": name, "title": title, "parts": [_part(table) for table in tables]}
        for name, title, tables in found
        if tables
    ]


def _part(table: Table) -> dict[str, Any]:
    number = sum(len(group.rows) for group in table.groups)
    return {
        "long": number if number > _LONG else 0,
        "heads": table.heads,
        "groups": table.groups,
        "text": table.text,
        "notes": table.notes,
        "tones": table.tones,
    }


def _findings(compared: Compared) -> list[dict[str, Any]]:
    """Rows of which anything is found, with their sides."""
    found = [
        (f"{side.name}, {row.point}", row)
        for side in compared.comparison.sides
        for row in side.rows
        if row.role == "point" and (row.findings or row.error)
    ]
    return [told(row, name) for name, row in found[:_MOST_FINDINGS]]
