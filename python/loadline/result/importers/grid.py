"""Tables as they stand in files: CSV, TSV, Markdown and HTML become heads and rows of text cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

from loadline.errors import InputError

#: More are no table of results.
MOST_COLUMNS = 500

_RULE = re.compile(r"\s*:?-{2,}:?\s*")


@dataclass(frozen=True, slots=True)
class Grid:
    """One table; every row has as many cells as there are heads.

    Attributes:
        line: that of the heads, from 1; 0: unknown.
        longer: the rows, from 1, that had more cells, which are left out.
        decimal: the mark before decimals; empty: unknown.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    line: int = 0
    longer: tuple[int, ...] = ()
    decimal: str = ""


def grids(text: str, ending: str, name: str) -> list[Grid]:
    """The tables in a file's text; how it is written is told by its ending, else by its looks.

    Raises:
        InputError: none with two columns and a row.
    """
    if ending in {".html", ".htm"} or re.search(r"<table\b", text[:100_000], re.IGNORECASE):
        found = list(_of_html(text))
    elif ending in {".md", ".markdown"} or re.search(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*\|", text, re.MULTILINE):
        found = list(_of_markdown(text))
    else:
        found = list(_of_separated(text, name))
    found = [grid for grid in found if grid.rows and 2 <= len(grid.heads) <= MOST_COLUMNS]
    if not found:
        raise InputError(
            f"{name}: no table with a line of heads and a row was found",
            "Files are fio's JSON, CSV, TSV, Markdown or HTML tables; give it an ending that says which.",
        )
    return found


def _of_separated(text: str, name: str) -> Iterator[Grid]:
    """CSV and TSV. Tables are parted by empty lines or by lines of a single cell, as Iometer and spreadsheets do."""
    lines = text.splitlines()
    delimiter = max("\t;,|", key=lambda sign: _regular(lines[:50], sign))
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        for line in reader:
            cells = [cell.strip() for cell in line]
            # Iometer marks heads by an apostrophe, others comments by `#`.
            if cells:
                cells[0] = cells[0].removeprefix("\ufeff").lstrip("'#").strip()
            filled = sum(bool(cell) for cell in cells)
            if filled >= 2 or (filled and rows and len(cells) == len(rows[0][1])):
                rows.append((reader.line_num, cells))
            else:
                yield from _grid(rows)
                rows = []
    except csv.Error as error:
        raise InputError(f"{name}: line {reader.line_num}: {error}", "Write it as plain CSV.") from None
    yield from _grid(rows)


def _regular(lines: Sequence[str], sign: str) -> tuple[int, int]:
    """How many lines have the sign as often as most have it; a comma within texts comes now and then."""
    counts = Counter(line.count(sign) for line in lines if sign in line)
    return max(((number, count) for count, number in counts.items()), default=(0, 0))


def _grid(rows: Sequence[tuple[int, list[str]]]) -> Iterator[Grid]:
    if len(rows) < 2:
        return
    line, heads = rows[0]
    longer = tuple(number for number, (_, cells) in enumerate(rows[1:], 1) if any(cells[len(heads) :]))
    yield Grid(tuple(heads), tuple(_fit(cells, len(heads)) for _, cells in rows[1:]), line, longer)


def _fit(cells: Sequence[str], number: int) -> tuple[str, ...]:
    return tuple([*cells, *[""] * number][:number])


def _of_markdown(text: str) -> Iterator[Grid]:
    lines = text.splitlines()
    number = 0
    while number + 1 < len(lines):
        heads, rule = _cells(lines[number]), _cells(lines[number + 1])
        if len(heads) < 2 or len(rule) != len(heads) or not all(_RULE.fullmatch(cell) for cell in rule):
            number += 1
            continue
        first, number, rows = number + 1, number + 2, []
        while number < len(lines) and "|" in lines[number]:
            rows.append(_fit([_plain(cell) for cell in _cells(lines[number])], len(heads)))
            number += 1
        yield Grid(tuple(map(_plain, heads)), tuple(rows), first)


def _cells(line: str) -> list[str]:
    inner = line.strip()
    inner = inner.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)]


def _plain(cell: str) -> str:
    """Without emphasis, code marks and links."""
    cell = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)
    return re.sub(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", cell).strip()


class _Tables(HTMLParser):
    """Collects tables; a cell that spans several stands in each, and one that spans a whole row is a remark."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._open: list[dict[tuple[int, int], str]] = []
        self._at: list[list[int]] = []
        self._first: list[dict[int, int]] = []
        self._span = (1, 1)
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._open.append({})
            self._at.append([-1, 0])
            self._first.append({})
        elif not self._open:
            return
        elif tag == "tr":
            self._close()
            self._at[-1] = [self._at[-1][0] + 1, 0]
        elif tag in {"td", "th"}:
            self._close()
            said = dict(attrs)
            self._span = _times(said.get("rowspan")), _times(said.get("colspan"))
            self._text = []
        elif tag == "br" and self._text is not None:
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "tr"}:
            self._close()
        elif tag == "table" and self._open:
            self._close()
            self._at.pop()
            cells, first = self._open.pop(), self._first.pop()
            height, width = (max((place[axis] for place in cells), default=-1) + 1 for axis in (0, 1))
            if width <= MOST_COLUMNS:
                kept = (row for row in range(height) if width < 2 or first.get(row) != width)
                self.tables.append([[cells.get((row, column), "") for column in range(width)] for row in kept])

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def _close(self) -> None:
        if self._text is None or not self._open:
            self._text = None
            return
        text, self._text = " ".join("".join(self._text).split()), None
        cells, (row, column) = self._open[-1], self._at[-1]
        row = max(row, 0)
        while (row, column) in cells:
            column += 1
        if not column:
            self._first[-1][row] = self._span[1]
        for down in range(self._span[0]):
            for right in range(self._span[1]):
                cells[row + down, column + right] = text
        self._at[-1] = [row, column + self._span[1]]


def _times(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"[1-9]\d{0,2}", text) else 1


def _of_html(text: str) -> Iterator[Grid]:
    parser = _Tables()
    parser.feed(text)
    parser.close()
    for table in parser.tables:
        rows = [row for row in table if any(row)]
        if len(rows) >= 2:
            yield Grid(tuple(rows[0]), tuple(_fit(row, len(rows[0])) for row in rows[1:]))
