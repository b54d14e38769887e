"""Tables of text: what a terminal, a Markdown page or a plain pipe shows of results, suites and runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from loadline.errors import InputError
from loadline.judging.finding import kind_of, worst_first
from loadline.reporting.apart import called, counted, noun, swept_keys
from loadline.result.repeats import Histograms, repeats_of
from loadline.result.schema import Flow, Result
from loadline.system.load_line import limited_response_ns
from loadline.workload.limit import parse_limit
from loadline.workload.profile import CLASSES

Tone: TypeAlias = Literal["good", "bad"]

UNKNOWN = "–"

#: Between two columns.
_GAP = 2

# Findings of one check that are each shown, if they differ in their figures.
_FEW = 3

# Loads that are named.
_FEW_LOADS = 4

# Heads of columns that only some tables have.
_SURE, _MEAN, _P99 = "±\n%", "mean\nms", "p99\nms"
_RATES, _BYTES = ("read\nIOPS", "write\nIOPS"), ("read\nMB/s", "write\nMB/s")

_MEANS, _P99S = ("read\nms", "write\nms"), ("read\np99 ms", "write\np99 ms")
_SOME = frozenset({_SURE, *_RATES, *_BYTES, _MEAN, *_MEANS, _P99, *_P99S})

# A half-width in percent that is wider than its figure.
_WIDER = ">100"

#: A word of text that is longer, such as a path, may be folded.
_LONGEST_WORD = 12


# Heads alone may have several lines.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, under a title of their own; an empty title shows none."""

    title: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Heads with units, groups of rows, notes below.

    A head may be parted by newlines, for narrow columns; one that ends in a hyphen is a word that goes on. `text` names
    the columns that hold text: they stand left, the others right. The first column holds names, which are never folded.
    The first `naming` columns together tell the rows apart. `tones` are colours of cells by their text, for terminals:
    `good` or `bad`; what they mean stands in the text, too.
    """

    heads: tuple[str, ...]
    groups: tuple[Group, ...]
    text: frozenset[int] = frozenset({0})
    notes: tuple[str, ...] = ()
    naming: int = 1
    tones: Mapping[str, Tone] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Control characters, which names of others may hold, would break lines and turn terminals over."""
        rows = (tuple(tuple(map(harmless, row)) for row in group.rows) for group in self.groups)
        groups = (Group(harmless(group.title), of) for group, of in zip(self.groups, rows, strict=True))
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "notes", tuple(map(harmless, self.notes)))
        object.__setattr__(self, "heads", tuple(_CONTROL.sub(" ", head) for head in self.heads))

    def markdown(self) -> str:
        """The table in GitHub's Markdown; a group's title is a row in bold."""
        lines = [
            _pipes(map(_in_one_line, self.heads)),
            _pipes("---" if i in self.text else "---:" for i in range(len(self.heads))),
        ]
        for group in self.groups:
            if group.title:
                lines.append(_pipes([f"**{group.title}**", *[""] * (len(self.heads) - 1)]))
            lines += [_pipes(row) for row in group.rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def plain(self) -> str:
        """Aligned columns without lines or colour, for pipes and files."""
        heads = tuple(_in_one_line(head) for head in self.heads)
        rows = [heads, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        lines = [self._line(heads, widths)]
        for group in self.groups:
            if group.title:
                lines.append(f"{group.title}:")
            lines += [self._line(row, widths) for row in group.rows]
        return "\n".join([*lines, *self.notes]) + "\n"

    def stacked(self) -> str:
        """Each row in two lines, what names it above its figures: for terminals that are too narrow for a line."""
        parts = [head.split("\n") for head in self.heads]
        depth = max(map(len, parts))
        heads = [tuple(row) for row in zip(*([""] * (depth - len(part)) + part for part in parts), strict=True)]
        rows = [*heads, *self._rows()]
        unnamed = [""] * self.naming
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(len(self.heads))]
        widths[: self.naming] = [0] * self.naming
        indent = " " * _GAP * (self.naming - 1)
        lines = [self._line((*unnamed, *head[self.naming :]), widths).removeprefix(indent) for head in heads]
        keys = [_in_one_line(head) for head in self.heads[1 : self.naming]]
        for group in self.groups:
            if group.title:
                lines.append(f"{group.title}:")
            for name, *row in group.rows:
                settings = (f" {key}={value}" for key, value in zip(keys, row, strict=False))
                figures = self._line((*unnamed, *row[self.naming - 1 :]), widths)
                lines += [name + "".join(settings), figures.removeprefix(indent)]
        return "\n".join(lines) + "\n"

    def fit(self, width: int) -> tuple[int, ...] | None:
        """Widths of the columns in a line of `width`, or None if it is too narrow.

        Names and numbers stay whole. Columns with several words shrink to their longest, the widest first.
        """
        columns = [[self.heads[index], *(row[index] for row in self._rows())] for index in range(len(self.heads))]
        widths = [max(len(line) for cell in cells for line in cell.split("\n")) for cells in columns]
        least = [max((len(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
        least = [min(word, _LONGEST_WORD) if index in self.text else word for index, word in enumerate(least)]
        least[0] = widths[0]
        room = width - _GAP * (len(widths) - 1)
        if sum(least) > room:
            return None
        while sum(widths) > room:
            widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__)
            widths[widest] -= 1
        return tuple(widths)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        return (row for group in self.groups for row in group.rows)

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = (
            cell.ljust(width) if column in self.text else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return (" " * _GAP).join(cells).rstrip()


def results_table(results: Sequence[Result], histograms: Histograms = lambda _: {}) -> Table:
    """IOPS with their 95 % interval, bandwidth and latencies of results, reads and writes apart, by access class.

    Failed points have their error instead of figures, quick ones a mark; several runs get a column of their own, and
    so do several targets of a run and repetitions, which have their mean and its spread above them.
    What is doubtful about rows is said below, a line a check.

    Args:
        histograms: of a repetition, for the percentiles of all together.
    """
    results = _told_from_asked([without_figures(result) for result in results])
    naming = _naming(results)
    some = _some(results)
    every = (
        "IOPS",
        _SURE,
        *_RATES,
        "MB/s",
        *_BYTES,
        _MEAN,
        *_MEANS,
        _P99,
        *_P99S,
    )
    figures = tuple(head for head in every if head in some or head not in _SOME)
    spread = ("spread\n%",) if "repeat" in naming else ()
    names = {result.access_class for result in results}
    classes = [*(c for c in CLASSES if c in names), *sorted((c or "") for c in names - set(CLASSES))]
    groups = []
    for access in classes:
        of_class = [result for result in results if (result.access_class or "") == access]
        groups.append(Group(access, tuple(_rows(of_class, naming, histograms, some))))
    named = list(zip(results, called(results), strict=True))
    notes = list(dict.fromkeys(f"{name} {fate(row)}: {row.error}" for row, name in named if row.error))
    if any(result.quick for result in results):
        notes.append("* quick: a few seconds a point; an impression, not a measurement")
    if spread:
        notes.append("all: the mean of the repetitions; spread: the standard deviation of their IOPS, in % of it")
    notes += unsure_notes(results)
    found = [replace(result, point=name) for result, name in named if not result.error]
    notes += [load_line_note(line) for line in found if line.limit and line.role == "point"]
    notes += [best_note(result) for result in found if result.provenance.get("best")]
    notes += findings_notes(results)
    return Table((*naming, *figures, *spread), tuple(groups), frozenset(range(len(naming))), tuple(notes), len(naming))


def _told_from_asked(results: Sequence[Result]) -> list[Result]:
    """The rows, with load lines beside answers to asked loads of the same name called so."""

    def of(row: Result) -> tuple[object, ...]:
        return row.run, row.system, *sorted(row.tags.items()), row.point

    asked = {of(row) for row in results if row.limit is None}
    return [
        replace(row, point=f"{row.point} at its load line")
        if row.limit and row.role == "point" and of(row) in asked
        else row
        for row in results
    ]


def _some(results: Sequence[Result]) -> frozenset[str]:
    """The heads of columns that this table needs: how sure; what is known of all I/Os only, or only of their parts."""
    found = {_SURE} if any(result.iops_ci95 is not None for result in results) else set()
    for result in results:
        total, parts = result.total, (result.read, result.write)
        for figure, head, heads in (("latency_mean_ns", _MEAN, _MEANS), ("latency_p99_ns", _P99, _P99S)):
            if any(getattr(part, figure) is not None for part in parts):
                found |= set(heads)
            elif getattr(total, figure) is not None:
                found.add(head)
        for figure, heads in (("iops", _RATES), ("bytes_per_s", _BYTES)):
            if getattr(total, figure) is None and any(getattr(part, figure) is not None for part in parts):
                found |= set(heads)
    # Where nothing is known of any, the columns of the parts say so.
    found |= {head for one, heads in ((_MEAN, _MEANS), (_P99, _P99S)) if one not in found for head in heads}
    return frozenset(found)


def _naming(results: Sequence[Result]) -> tuple[str, ...]:
    """The heads of the columns that tell rows apart."""
    measured = [result for result in results if result.origin == "measured"]
    runs = {result.run for result in results}
    found = ("run", "point") if len(runs) > 1 else ("point",)
    modelled = [result for result in results if result.origin != "measured"]
    if len({result.system for result in modelled}) > 1:
        found = (*found, "system")
    found = (*found, *swept_keys(modelled))
    if len({(result.run, result.target) for result in measured}) > len({result.run for result in measured}):
        found = (*found, "target")
    return (*found, "repeat") if any(result.repeat > 1 for result in measured) else found


def _rows(
    results: Sequence[Result], naming: Sequence[str], histograms: Histograms, some: frozenset[str]
) -> Iterator[tuple[str, ...]]:
    if "repeat" not in naming:
        yield from (_result_row(result, naming, some) for result in results)
        return
    for group in repeats_of(results, histograms):
        if len(group.rows) > 1:
            spread = UNKNOWN if group.spread_fraction is None else count(100 * group.spread_fraction)
            yield (*_result_row(group.mean, naming, some, "all"), spread)
        yield from ((*_result_row(row, naming, some), "") for row in group.rows)


def without_figures(result: Result) -> Result:
    """The row as it's shown: of a failed one nobody shall take what came before its failure for an answer."""
    if not result.error:
        return result
    return replace(
        result,
        total=Flow(),
        read=Flow(),
        write=Flow(),
        iops_ci95=None,
        latency_mean_ci95_ns=None,
        outstanding_achieved=None,
        cpu_fraction=None,
        busy_fraction=None,
        saturation_iops=None,
        saturation_outstanding=None,
        saturation_95_outstanding=None,
    )


def unsure_notes(results: Sequence[Result]) -> Iterator[str]:
    """What a half-width beyond the rate itself means, if there is one."""
    named = zip(results, called(results), strict=True)
    wide = [name for row, name in named if percent_of(row.iops_ci95, row.total.iops) == _WIDER]
    if wide:
        whose = f": {wide[0]}" if len(wide) == 1 else f": {counted(len(wide), noun(results))}"
        yield f"± {_WIDER} %{whose}: as uncertain as this the rate isn't known; measure longer, and look at its seconds"


def fate(result: Result) -> str:
    """What has become of a row with an error, in a word or two behind its name."""
    return "has no load line" if result.over_limit else "failed"


def lacking(results: Sequence[Result], most: int) -> str:
    """The points that have errors: `failed: a and b; without a load line: c`; so many of each are named."""
    told: dict[str, dict[str, None]] = {}
    for result in results:
        if result.error is not None:
            told.setdefault("without a load line" if result.over_limit else "failed", {})[result.point] = None
    return "; ".join(f"{what}: {listed(list(points), most)}" for what, points in told.items())


def load_line_note(result: Result) -> str:
    """The load line in words: `database: 27 outstanding keep mean<=30ms (29.6 ms), 28 don't; 90% of the highest rate`.

    And how sure that is.
    """
    line = result.provenance.get("load_line") or {}
    beyond = f", {line['next']:,} don't" if line.get("next") else ", and more wasn't tried"
    load, each = f"{result.outstanding_asked or 0:,} outstanding", ""
    if result.offered_per_s is not None:
        load = f"{count(result.offered_per_s)} I/Os a second"
        beyond = f", {count(line['next'])} don't" if line.get("next") else beyond
    if line.get("targets"):
        each = f" on each of {line['targets']} targets"
        of_rate = result.offered_per_s is not None
        load = f"{count(line['load'])} I/Os a second" if of_rate else f"{line['load']:,} outstanding"
    told = (saturation_share(result), load_line_luck(result), load_line_range(result))
    more = "".join(f"; {one}" for one in told if one)
    there = ""
    # Rows of others may have anything for a limit.
    with suppress(InputError):
        response_ns = limited_response_ns(result, parse_limit(result.limit))
        there = "" if response_ns is None else f" ({milliseconds(response_ns)} ms)"
    return f"{result.point}: {load}{each} keep {result.limit}{there}{beyond}{more}"


def saturation_share(result: Result) -> str | None:
    """What a load line is of saturation, in words: `91% of the highest rate seen (948, at 64 outstanding)`, or None."""
    if not result.saturation_iops or not result.total.iops:
        return None
    found = "" if result.saturation_outstanding is None else f", at {result.saturation_outstanding:,} outstanding"
    known = saturation_named(result)
    whole = f"{'' if known == 'saturation' else 'the '}{known} ({count(result.saturation_iops)}{found})"
    return f"{result.total.iops / result.saturation_iops:.0%} of {whole}"


def load_line_luck(result: Result) -> str | None:
    """Which probes would have a load line over rates elsewhere, in words; None if none would."""
    line = result.provenance.get("load_line") or {}
    below, above = ([load for load in line.get("against", ()) if (load < line["load"]) == low] for low in (True, False))
    told = [
        f"{listed([count(load) for load in some], _FEW_LOADS)} I/Os a second {what}"
        for some, what in ((below, "failed"), (above, "kept it, too,"))
        if some
    ]
    return f"that {' and '.join(told)} is luck by the curve through all probes" if told else None


def load_line_range(result: Result) -> str | None:
    """Where a load line lies by the 95 % intervals of its probes, in words; None where there's nothing to be said."""
    line = result.provenance.get("load_line") or {}
    open_, by = result.offered_per_s is not None, "by the confidence of the probes it"
    per = "I/Os a second offered" if open_ else "outstanding"
    # Of outstanding I/Os it's a whole number: the last one below.
    low, high = (
        None if one is None else count(one) if open_ else f"{math.floor(one):,}"
        for one in (line.get("low"), line.get("high"))
    )
    if low is not None and high is not None:
        return f"{by} is {low} {per}, no other" if low == high else f"{by} lies between {low} and {high} {per}"
    if low is not None or high is not None:
        end = f"{low} {per} at least" if high is None else f"{high} {per} at most"
        return f"{by} is {end}; the other end they don't tell"
    if result.origin != "measured" or not line:
        return None
    # Of a curve that passes the limit only probes without intervals leave both ends open.
    return load_line_unsure(result.limit or "", bool(line.get("next")) or result.latency_mean_ci95_ns is None)


def load_line_unsure(limit: str, too_short: bool) -> str | None:
    """That it isn't known how sure a measured load line is, and why; None if the probes that it hangs on tell."""
    if limit.startswith("max"):
        why = "a maximum has no interval"
    elif too_short:
        why = "a probe was too short for an interval"
    else:
        return None
    return f"how sure that is isn't known: {why}"


def saturation_named(result: Result) -> str:
    """What `saturation_iops` of a row is: `highest rate` of the loads that were tried, unless a model knows more.

    A measured one may have come from a cache that was still empty.
    """
    seen = result.saturation_outstanding is not None or result.origin in {"measured", "imported"}
    return "highest rate seen" if seen and result.origin not in {"solved", "rule"} else "saturation"


def best_note(result: Result) -> str:
    """Where the best of several depths was: `read: the highest rate was at 40 outstanding; 95 % of it at 10`."""
    outstanding, near = result.outstanding_asked, result.saturation_95_outstanding
    if result.provenance["best"]["of"] == "latency":
        return f"{result.point}: the lowest latency was at {outstanding} outstanding"
    whole = "saturation" if saturation_named(result) == "saturation" else "it"
    most = f"; 95 % of {whole} at {near}" if near is not None else ""
    return f"{result.point}: the highest rate was at {outstanding} outstanding{most}"


def findings_notes(results: Sequence[Result], without: Sequence[str] = ()) -> Iterator[str]:
    """`check, 7 points: message` for what points share; a few figures each name their point, of many the worst.

    Args:
        without: severities that are told elsewhere.
    """
    # By check, severity and sentence: a warning about one point isn't one about those that have a note.
    alike: dict[tuple[str, str, str], list[tuple[Mapping[str, Any], str]]] = {}
    for result, name in zip(results, called(results), strict=True):
        for finding in result.findings:
            check, severity = str(finding.get("check", "finding")), str(finding.get("severity"))
            if severity not in without:
                alike.setdefault((check, severity, kind_of(finding)), []).append((finding, name))
    of = noun(results)
    for (check, _, _), found in alike.items():
        messages: dict[str, list[str]] = {}
        for finding, name in found:
            messages.setdefault(_message(finding), []).append(name)
        if len(messages) > 1 and len(found) > _FEW:
            worst = worst_first(finding for finding, _ in found)[0]
            name = next(name for finding, name in found if finding is worst)
            several = counted(len({name for _, name in found}), of)
            which = "the worst" if worst.get("numbers") else "for one"
            yield f"{check}, {several}, {name} {which}: {_message(worst)}"
            continue
        for message, names in messages.items():
            several = f"{counted(len(set(names)), of)}, " if len(set(names)) > 1 else ""
            yield f"{check}, {several}{names[0]}{' for one' if several else ''}: {message}"


def _message(finding: Mapping[str, Any]) -> str:
    return " ".join(str(finding.get("message", "")).split())


def _result_row(result: Result, naming: Sequence[str], some: frozenset[str], repeat: str = "") -> tuple[str, ...]:
    name = result.point + ("*" if result.quick else "") + (f" ({fate(result)})" if result.error else "")
    named = {
        **result.tags,
        "system": result.system or UNKNOWN,
        "run": result.run,
        "point": name,
        "target": result.target,
        "repeat": repeat or str(result.repeat),
    }
    figures = (
        count(result.total.iops),
        *((percent_of(result.iops_ci95, result.total.iops),) if _SURE in some else ()),
        *(count(f.iops) for f in (result.read, result.write) if some.issuperset(_RATES)),
        megabytes(result.total),
        *(megabytes(f) for f in (result.read, result.write) if some.issuperset(_BYTES)),
        *((milliseconds(result.total.latency_mean_ns),) if _MEAN in some else ()),
        *(milliseconds(f.latency_mean_ns) for f in (result.read, result.write) if some.issuperset(_MEANS)),
        *((milliseconds(result.total.latency_p99_ns),) if _P99 in some else ()),
        *(milliseconds(f.latency_p99_ns) for f in (result.read, result.write) if some.issuperset(_P99S)),
    )
    return (*(named.get(head, UNKNOWN) for head in naming), *figures)


def count(value: float | None) -> str:
    """A count or rate with three significant digits, all of them from 100 on, and thousands parted: `17,937`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    power = int(f"{value:.2e}".partition("e")[2])
    return f"{value:,.{max(0, 2 - power)}f}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many there are beyond them; with semicolons where one has a comma or an `and`."""
    shown = list(names[:most])
    left = [f"{len(names) - most:,} more"] if len(names) > most else []
    if any("," in name or " and " in name for name in shown):
        return " and ".join(["; ".join(shown), *left])
    *first, last = [*shown, *left] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def percent_of(part: float | None, whole: float | None) -> str:
    """A half-width in percent of its figure, with one digit behind the point; `>100` where even 0 lies within."""
    if part is None or not whole:
        return UNKNOWN
    return _WIDER if part > whole else f"{100 * part / whole:.1f}"


def megabytes(flow: Flow) -> str:
    """MB/s, decimal."""
    return count(None if flow.bytes_per_s is None else flow.bytes_per_s / 1e6)


def milliseconds(value_ns: float | None) -> str:
    """Milliseconds with three significant digits."""
    return count(None if value_ns is None else value_ns / 1e6)


def harmless(text: str) -> str:
    """A text of others, such as a name, in one line and without control characters."""
    return _CONTROL.sub(" ", text).replace("\n", " ")


def _in_one_line(head: str) -> str:
    return re.sub(r"-\n|(?<=[/.])\n", "", head).replace("\n", " ")


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
