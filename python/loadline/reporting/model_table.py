"""Tables of what models answered: figures at the asked load and at the load line, and how busy each component is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadline.reporting.apart import swept_keys
from loadline.reporting.table import (
    UNKNOWN,
    Group,
    Table,
    count,
    fate,
    findings_notes,
    listed,
    load_line_luck,
    megabytes,
    milliseconds,
    percent_of,
    saturation_named,
    unsure_notes,
    without_figures,
)
from loadline.result.schema import Result
from loadline.system.row import THERE

# Points that are named of each limit.
_FEW = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered of a point: `asked` at its own load, `line` at the load line; one row may be both."""

    asked: Result
    line: Result | None


def paired(results: Sequence[Result]) -> list[Answer]:
    """Points with their load lines, in order, without the probes. The answer to a ramp is a load line alone."""
    answers: list[Answer] = []
    for result in results:
        if result.role == "probe":
            continue
        before = answers[-1] if answers else None
        if result.limit is not None and before is not None and before.line is None and _same(before.asked, result):
            answers[-1] = Answer(before.asked, result)
        else:
            answers.append(Answer(result, result if result.limit else None))
    return answers


def _same(one: Result, other: Result) -> bool:
    return (one.system, one.tags, one.point) == (other.system, other.tags, other.point)


def _load(result: Result) -> str:
    """`32`, or a rate, `5,000/s`."""
    if result.offered_per_s is not None:
        return f"{count(result.offered_per_s)}/s"
    return UNKNOWN if result.outstanding_asked is None else str(result.outstanding_asked)


def _asked(answer: Answer) -> str:
    """The load; of a ramp the load line with the next load, which fails: `345, not 346`; of a best rate, 95 % of it."""
    result = answer.asked
    if result.provenance.get("best") and result.saturation_95_outstanding:
        return f"{_load(result)}, 95 % at {result.saturation_95_outstanding}"
    following = _next(result)
    return _load(result) if following is None else f"{result.outstanding_asked}, not {following}"


def _next(result: Result) -> int | None:
    """Of a ramp over outstanding I/Os the next load, which fails."""
    line = result.provenance.get("load_line") or {}
    depth, following = line.get("load"), line.get("next")
    if not depth or not following or result.outstanding_asked is None:
        return None
    return int(result.outstanding_asked * following // depth)


def _line(answer: Answer, cell: Callable[[Result], str]) -> str:
    return UNKNOWN if answer.line is None or answer.line.error else cell(answer.line)


def _saturation(answer: Answer) -> str:
    found = answer.asked.saturation_iops
    return count(answer.line.saturation_iops if found is None and answer.line is not None else found)


#: Head, what stands in the cell, whether it is text. A column without any value is left out.
_COLUMNS: tuple[tuple[str, Callable[[Answer], str], bool], ...] = (
    ("out-\nstanding", _asked, True),
    ("IOPS", lambda answer: count(answer.asked.total.iops), False),
    ("±\n%", lambda answer: percent_of(answer.asked.iops_ci95, answer.asked.total.iops), False),
    ("MB/s", lambda answer: megabytes(answer.asked.total), False),
    ("mean\nms", lambda answer: milliseconds(answer.asked.total.latency_mean_ns), False),
    ("p99\nms", lambda answer: milliseconds(answer.asked.total.latency_p99_ns), False),
    ("saturation\nIOPS", _saturation, False),
    ("load line\nIOPS", lambda answer: _line(answer, lambda line: count(line.total.iops)), False),
    ("at out-\nstanding", lambda answer: _line(answer, _load), True),
    ("bottleneck", lambda answer: answer.asked.bottleneck or UNKNOWN, True),
)

# Heads where any load is a rate.
_OF_RATES = {"out-\nstanding": "load", "at out-\nstanding": "at\nload"}


def models_table(results: Sequence[Result]) -> Table:
    """A line for each point: figures at the asked load, saturation, the load line, the bottleneck.

    Settings that differ between the rows have columns of their own. Below: errors, doubts, what the limits were.
    """
    answers = paired([without_figures(result) for result in results])
    swept = swept_keys([answer.asked for answer in answers])
    heads, text, cells = (
        ["point"],
        {0},
        [
            [
                _name(one.line if one.line and one.line.over_limit and not one.asked.error else one.asked)
                for one in answers
            ]
        ],
    )
    for key in swept:
        heads.append(key.replace(".", ".\n"))
        cells.append([answer.asked.tags.get(key, UNKNOWN) for answer in answers])
    rates = any(answer.asked.offered_per_s is not None for answer in answers)
    ramps = all(answer.line is answer.asked for answer in answers)
    for head, cell, is_text in _COLUMNS:
        column = [cell(answer) for answer in answers]
        if all(value == UNKNOWN for value in column) or (ramps and head in {"load line\nIOPS", "at out-\nstanding"}):
            continue
        if is_text:
            text.add(len(heads))
        heads.append(_OF_RATES.get(head, head) if rates else head)
        cells.append(column)
    rows = tuple(zip(*cells, strict=True))
    notes = tuple(_notes(answers, swept))
    return Table(tuple(heads), (Group("", rows),), frozenset(text), notes, naming=1 + len(swept))


def components_table(results: Sequence[Result]) -> Table:
    """Utilisation of every component in percent, the busiest first, a line for each point."""
    answers = [answer.asked for answer in paired(results)]
    swept = swept_keys(answers)
    rows = tuple(
        (_name(answer), *(answer.tags.get(key, UNKNOWN) for key in swept), _busy(answer.components))
        for answer in answers
    )
    keys = tuple(key.replace(".", ".\n") for key in swept)
    text = frozenset({0, len(keys) + 1})
    return Table(("point", *keys, "busy, %"), (Group("", rows),), text, naming=1 + len(keys))


def _busy(components: Mapping[str, float]) -> str:
    busiest_first = sorted(components.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * busy:.1f}" for name, busy in busiest_first) or UNKNOWN


def _name(result: Result) -> str:
    return result.point + (f" ({fate(result)})" if result.error else "")


def _notes(answers: Sequence[Answer], swept: Sequence[str]) -> Iterator[str]:
    every = [result for answer in answers for result in (answer.asked, answer.line) if result is not None]
    failed: dict[tuple[str, bool], dict[str, str]] = {}
    for one in every:
        if one.error:
            why, _, there = one.error.partition(THERE) if one.over_limit else (one.error, "", "")
            failed.setdefault((why, one.over_limit), {})[" ".join([one.point, *_settings(one, swept)])] = there
    for (why, lineless), those in failed.items():
        # One wrong value of a list fails in all its combinations.
        (first, there), *others = those.items()
        ended = f" {'have' if others else 'has'} no load line" if lineless else ""
        at = ("; of the first it's " if others else THERE) + there if there else ""
        yield f"{first}{f' and {len(others)} more' if others else ''}{ended}: {why}{at}"
    limits: dict[str, dict[str, None]] = {}
    for answer in answers:
        if answer.line is not None:
            limits.setdefault(str(answer.line.limit), {})[answer.line.point] = None
    if any(answer.line is not None and not answer.line.error for answer in answers):
        whose = [f"{limit} ({listed(list(points), _FEW)})" for limit, points in limits.items()]
        kept = ", ".join(whose if len(limits) > 1 else limits)
        named = any(_next(answer.asked) is not None for answer in answers)
        beyond = "; `not` names the next one, which doesn't" if named else ""
        # Only of ramps, and where no next load is named, has the table no column to explain.
        alone = all(answer.line is answer.asked for answer in answers) and not beyond
        yield f"{'IOPS at the ' if alone else ''}load line: the highest load that keeps {kept}{beyond}"
    lines = [answer.line for answer in answers if answer.line is not None]
    yield from (
        f"{' '.join([line.point, *_settings(line, swept)])}: {luck}" for line in lines if (luck := load_line_luck(line))
    )
    if any(result.saturation_iops and saturation_named(result) != "saturation" for result in every):
        yield "saturation: of a simulated search the highest rate that was seen; with more outstanding it may be higher"
    yield from unsure_notes(every)
    yield from findings_notes(list({id(result): result for result in every}.values()))


def _settings(result: Result, keys: Sequence[str]) -> list[str]:
    return [f"{key}={result.tags[key]}" for key in keys if key in result.tags]
