"""Tables of text: what a terminal, a Markdown page or a plain pipe shows of results, suites and runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadline.result.schema import Flow, Result

_CLASS_ORDER = ("random", "combined", "sequential")
UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, under a title of their own; an empty title shows none."""

    title: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Heads with units, groups of rows, notes below.

    A head may part its name and its unit by a newline, for narrow columns. `text` names the columns that hold text:
    they stand left, the others right.
    """

    heads: tuple[str, ...]
    groups: tuple[Group, ...]
    text: frozenset[int] = frozenset({0})
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table in GitHub's Markdown; a group's title is a row in bold."""
        lines = [
            _pipes(head.replace("\n", " ") for head in self.heads),
            _pipes("---" if i in self.text else "---:" for i in range(len(self.heads))),
        ]
        for group in self.groups:
            if group.title:
                lines.append(_pipes([f"**{group.title}**", *[""] * (len(self.heads) - 1)]))
            lines += [_pipes(row) for row in group.rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def plain(self) -> str:
        """Aligned columns without lines or colour, for pipes and files."""
        heads = tuple(head.replace("\n", " ") for head in self.heads)
        rows = [heads, *(row for group in self.groups for row in group.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.heads))]

        def line(row: Sequence[str]) -> str:
            cells = (
                cell.ljust(width) if column in self.text else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        lines = [line(heads)]
        for group in self.groups:
            if group.title:
                lines.append(f"{group.title}:")
            lines += [line(row) for row in group.rows]
        return "\n".join([*lines, *self.notes]) + "\n"


def results_table(results: Sequence[Result]) -> Table:
    """IOPS, bandwidth and latencies of results, reads and writes apart, grouped by access class.

    Failed points have their error instead of figures, quick ones a mark; several runs get a column of their own.
    """
    several = len({result.run for result in results}) > 1
    heads = ("point", "IOPS", "MB/s", "read\nms", "write\nms", "read p99\nms", "write p99\nms")
    names = {result.access_class for result in results}
    classes = [*(c for c in _CLASS_ORDER if c in names), *sorted((c or "") for c in names - set(_CLASS_ORDER))]
    groups = []
    for access in classes:
        rows = [_result_row(result, several) for result in results if (result.access_class or "") == access]
        groups.append(Group(access, tuple(rows)))
    notes = [f"{r.point} failed: {r.error}" for r in results if r.error]
    if any(result.quick for result in results):
        notes.append("* quick: a few seconds a point; an impression, not a measurement")
    return Table(
        ("run", *heads) if several else heads, tuple(groups), frozenset({0, 1} if several else {0}), tuple(notes)
    )


def _result_row(result: Result, several: bool) -> tuple[str, ...]:
    name = result.point + ("*" if result.quick else "") + (" (failed)" if result.error else "")
    figures = (
        count(result.total.iops),
        megabytes(result.total),
        *(milliseconds(f.latency_mean_ns) for f in (result.read, result.write)),
        *(milliseconds(f.latency_p99_ns) for f in (result.read, result.write)),
    )
    return (result.run, name, *figures) if several else (name, *figures)


def count(value: float | None) -> str:
    """A count or rate with thousands parted: `17,937`; small ones with three significant digits."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def megabytes(flow: Flow) -> str:
    """MB/s, decimal."""
    return count(None if flow.bytes_per_s is None else flow.bytes_per_s / 1e6)


def milliseconds(value_ns: float | None) -> str:
    """Milliseconds with three significant digits."""
    if value_ns is None:
        return UNKNOWN
    value = value_ns / 1e6
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
