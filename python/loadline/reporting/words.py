"""A report's summary: what was asked of what, the main figures, what limits, what is doubtful, each in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from loadline.reporting.apart import called, counted, noun
from loadline.reporting.audit_words import GRAVE, sentences, verdict
from loadline.reporting.contents import Contents
from loadline.reporting.model_table import Answer, paired
from loadline.reporting.table import (
    best_note,
    count,
    findings_notes,
    listed,
    load_line_luck,
    load_line_range,
    megabytes,
    milliseconds,
    saturation_share,
)
from loadline.result.schema import Result

_ORIGINS = {
    "measured": "measured",
    "imported": "measured by others and imported",
    "simulated": "simulated, not measured",
    "solved": "computed from a description, not measured",
    "rule": "estimated by the rule of thumb, not measured",
}

# From there on a component or a host leaves hardly anything.
_BUSY = 0.9

# What limits is busier, unless most of its kind have nothing to do.
_HARDLY = 0.5

# Suites and targets that are named.
_FEW_NAMES = 4

# Load lines of which everything is said.
_FEW_LINES = 3


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A head of a few words, and sentences; `grave` where the reader should stop."""

    head: str
    sentences: tuple[str, ...]
    grave: bool = False


def summary(contents: Contents) -> list[Paragraph]:
    """The paragraphs that have something to say."""
    audited, answers = tuple(sentences(contents.points)), paired(contents.points)
    found = [
        Paragraph("Audit", (f"{verdict(contents.points)}.", *audited) if audited else (), grave=True),
        Paragraph("What", tuple(_what(contents, answers))),
        Paragraph("Main figures", tuple(_figures(contents))),
        Paragraph("What limits", tuple(_limits([answer.asked for answer in answers], _serving(contents)))),
        Paragraph("What is doubtful", tuple(_doubts(contents.points, answers)), grave=True),
    ]
    return [paragraph for paragraph in found if paragraph.sentences]


def _points(number: int) -> str:
    return counted(number, "point")


def _different(rows: Sequence[Result]) -> int:
    """Points among rows: one that is measured again, or on several targets at once or in turn, is one."""
    return len({_point(row) for row in rows})


def _point(row: Result) -> tuple[object, ...]:
    # A measured row may have its target's description as system.
    system = None if row.origin == "measured" else row.system
    return (row.run, row.point, system, *sorted(row.tags.items()))


def _repeated(rows: Sequence[Result]) -> str:
    """How often each point was measured, if it was so more than once."""
    times: dict[tuple[object, ...], set[int]] = {}
    for row in rows:
        times.setdefault(_point(row), set()).add(row.repeat)
    most = max(map(len, times.values()), default=1)
    if most == 1:
        return ""
    return f", {most} times each" if all(len(one) == most for one in times.values()) else f", up to {most} times each"


def _without_line(answers: Sequence[Answer]) -> list[Result]:
    """The rows of load lines that aren't, of ramps and of points that are answered at their own load."""
    lines = [(one.line, one.asked) for one in answers if one.line is not None]
    return [line for line, asked in lines if line.over_limit or (line.error and not asked.error)]


def _failed(rows: Sequence[Result]) -> list[Result]:
    return [row for row in rows if row.error is not None and not row.over_limit]


def _what(contents: Contents, answers: Sequence[Answer]) -> Iterator[str]:
    origins = dict.fromkeys(point.origin for point in contents.points)
    if not origins:
        yield "No point has an answer yet."
    for origin in origins:
        those = [answer for answer in answers if answer.asked.origin == origin]
        rows = [answer.asked for answer in those]
        # Of several targets at once one row is of all; a point that is repeated is one point.
        whose = dict.fromkeys(row.system or row.target for row in rows if row.target != "*")
        number, failed = _different(rows), _different(_failed(rows))
        asked = dict.fromkeys(row.suite for row in rows if row.suite)
        under = f" under {listed(list(asked), _FEW_NAMES)}" if asked else ""
        was = "was" if number == 1 else "were"
        but = f", {failed} of them without success" if failed else ""
        but += f", {_different(lines)} without a load line" if (lines := _without_line(those)) else ""
        made = f"{_ORIGINS[origin]}{_repeated(rows)}"
        yield f"{_points(number)} of {listed(list(whose), _FEW_NAMES)}{under} {was} {made}{but}."
    missing = sum(summary["points"] - summary["done"] - summary["failed"] for summary in contents.summaries)
    if missing:
        yield f"{_points(missing)} of the plan {'is' if missing == 1 else 'are'} missing."


def _figures(contents: Contents) -> Iterator[str]:
    points = _told_apart(contents.points)
    pairs = zip(points, contents.points, strict=True)
    # Points that differ in their queue depth have one load line, with a row for each.
    once: dict[tuple[object, ...], tuple[Result, Result]] = {}
    for told, line in pairs:
        if line.limit and not line.error:
            whose = (line.run, line.repeat, line.target, line.system, *sorted(line.tags.items()), line.profile)
            once.setdefault((*whose, line.limit, line.outstanding_asked, line.offered_per_s, line.total), (told, line))
    beside = [(told, _beside(line, contents)) for told, line in once.values()]
    lines = [told for told, _ in beside]
    good = [point for point in points if point.total.iops]
    if len(lines) <= _FEW_LINES:
        yield from (" ".join([_line(line), *more]) for line, more in beside)
    else:
        yield from (f"Highest: {_line(max(lines, key=_iops))}", f"Lowest: {_line(min(reversed(lines), key=_iops))}")
    yield from (f"{best_note(point)}." for point in good if point.provenance.get("best"))
    if len(good) == 1 and not lines:
        (only,) = good
        said = [f"{count(only.total.iops)} IOPS", f"{megabytes(only.total)} MB/s"]
        said.append(f"mean response {milliseconds(only.total.latency_mean_ns)} ms")
        yield f"{only.point}: {', '.join(said)}."
    elif len(good) > 1:
        # Of repetitions their mean, as charts have it; searches know of higher rates than those at load lines.
        good = [point for point in _told_apart(contents.means) if point.total.iops]
        most, widest = max(good, key=_iops), max(good, key=lambda point: point.total.bytes_per_s or 0)
        among = "Among these loads the" if lines else "The"
        yield (
            f"{among} highest rate is {count(most.total.iops)} IOPS ({most.point}),"
            f" the highest bandwidth {megabytes(widest.total)} MB/s ({widest.point})."
        )
        for direction in ("read", "write"):
            yield from _range(good, direction)


def _told_apart(points: Sequence[Result]) -> list[Result]:
    """The points; those that share their name with others are called by what tells them apart, too."""
    return [replace(point, point=name) for point, name in zip(points, called(points), strict=True)]


def _iops(point: Result) -> float:
    return point.total.iops or 0.0


def _line(line: Result) -> str:
    of = saturation_share(line)
    share = "" if of is None else f", {of}"
    load = (
        f"{count(line.offered_per_s)} I/Os a second offered"
        if line.offered_per_s is not None
        else f"{line.outstanding_asked:,} outstanding"
    )
    return f"{line.point} keeps {line.limit} up to {count(line.total.iops)} IOPS, at {load}{share}."


def _beside(line: Result, contents: Contents) -> Iterator[str]:
    """What else there is to know of a load line: how sure it is, the knee below it, how busy things are there."""
    from loadline.reporting.charts.curve import curves, load_of

    for said in (load_line_luck(line), load_line_range(line)):
        if said is not None:
            yield f"{said[0].upper()}{said[1:]}."
    curve = next((curve for curve in curves(contents.results) if curve.line is line), None)
    knee = None if curve is None else curve.knee
    if curve is not None and knee is not None:
        per = "I/Os a second" if line.offered_per_s is not None else "outstanding"
        what, there = "knee, beyond which more load mostly waits,", f"{count(knee.iops)} IOPS and"
        there += f" {milliseconds(knee.latency_mean_ns)} ms"
        if knee.row is None:
            yield f"The {what} is by a curve through the probes at {count(knee.load)} {per}, {there}."
        else:
            where = _around(knee.load, [load_of(row) for row in curve.rows])
            yield f"By the probes the {what} lies {where} {per}; the best is at {knee.load:,.4g}, with {there}."
    if line.bottleneck and line.components:
        share = line.components[line.bottleneck]
        mean = ", as a mean over all of them" if share < _HARDLY else ""
        yield f"At the load line the {line.bottleneck} are busy {share:.0%} of the time{mean}."
    elif line.busy_fraction is not None:
        yield f"At the load line the device had an I/O outstanding {line.busy_fraction:.0%} of the time."


def _around(load: float, loads: Sequence[float]) -> str:
    """Where something lies that was only looked for at these loads: between the neighbours of one, not the last."""
    below = max((one for one in loads if one < load), default=None)
    above = min(one for one in loads if one > load)
    return f"below {above:,.4g}" if below is None else f"between {below:,.4g} and {above:,.4g}"


def _range(points: Sequence[Result], direction: str) -> Iterator[str]:
    def mean(point: Result) -> float | None:
        flow = point.read if direction == "read" else point.write
        return flow.latency_mean_ns

    known = sorted((mean(point) or 0.0, point.point) for point in points if mean(point) is not None)
    if known:
        (low, best), (high, worst) = known[0], known[-1]
        to = f" to {milliseconds(high)} ms ({worst}{' at another load' if worst == best else ''})" if high > low else ""
        yield f"Mean {direction} latency: {milliseconds(low)} ms ({best}){to}."


def _serving(contents: Contents) -> frozenset[str]:
    """The runs whose host served emulated systems itself, so that its CPU says nothing of the load generator."""
    return frozenset(row.run for row in contents.results if row.system and row.origin == "measured")


def _limits(points: Sequence[Result], serving: frozenset[str]) -> Iterator[str]:
    named = Counter(point.bottleneck for point in points if point.bottleneck)
    answered, of = sum(point.error is None for point in points), noun(points)
    for component, number in named.most_common():
        # Of systems that aren't described nothing is known.
        all_known = "" if named.total() == answered else f" of {answered}"
        yield (
            f"The {component} limit every {of}."
            if number == answered
            else f"{component.capitalize()} limit {counted(number, of)}{all_known}."
        )
        most = max(point.components.get(component, 1.0) for point in points if point.bottleneck == component)
        if most < _HARDLY:
            mean = f"In the mean over all {component} they are busy at most {most:.0%} of the time"
            yield f"{mean}: only some have work, or few I/Os are outstanding."
    of_load = [point for point in points if point.run not in serving]
    yield from _host(
        of_load, "cpu_fraction", "The host's CPU was above 90 % at {}: there the load generator may be the limit."
    )
    busy = [point for point in points if (point.cpu_fraction or 0) <= _BUSY]
    yield from _host(busy, "busy_fraction", "The device always had work at {}, while the host had CPU left.")


def _host(points: Sequence[Result], column: str, sentence: str) -> Iterator[str]:
    value: Callable[[Result], float] = lambda point: getattr(point, column) or 0.0  # noqa: E731
    high = [point for point in points if value(point) > _BUSY]
    if high:
        yield sentence.format(f"{counted(len(high), noun(points))} of {len(points)}")


def _doubts(points: Sequence[Result], answers: Sequence[Answer]) -> Iterator[str]:
    asked = [answer.asked for answer in answers]
    failed, lineless = _failed(asked), _without_line(answers)
    for those, what in (
        (failed, "failed"),
        (lineless, f"{'has' if _different(lineless) == 1 else 'have'} no load line"),
    ):
        if those:
            first, number = called(those)[0] if len(those) > 1 else those[0].point, _different(those)
            more = f" (and {number - 1} more)" if number > 1 else ""
            yield f"{_points(number)} of {_different(asked)} {what}: {first}: {those[0].error}{more}."
    quick = sum(point.quick for point in points)
    if quick:
        yield f"{counted(quick, noun(points))} ran for a few seconds only (*): an impression, not a measurement."
    for note in findings_notes(points, GRAVE):
        yield f"{note[0].upper()}{note[1:]}."
