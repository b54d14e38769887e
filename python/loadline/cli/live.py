"""The live display: earlier points above, the point in progress, the whole plan below; of a model's sweep the same.

`lines` and `model_lines` draw a state for so many columns and rows; the rest keeps it and puts it on the terminal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from loadline.cli import output
from loadline.measuring import event
from loadline.measuring.emulate import Reading, Served
from loadline.measuring.open_load import as_sent
from loadline.reporting.table import UNKNOWN, count, fate, megabytes, milliseconds, percent_of
from loadline.result.schema import Flow, Result
from loadline.result.store import open_run
from loadline.units import format_duration, format_size

_FIGURES = (("IOPS", 8), ("MB/s", 7), ("read ms", 8), ("write ms", 9), ("r p99 ms", 9), ("w p99 ms", 9))

# A name gets at least so much; figures that don't fit beside it are left out, the last first.
_NAME = 16

# What a console without Unicode shows in their place.
_PLAIN = str.maketrans({UNKNOWN: "-", "…": "~", "±": "+-"})

# Seconds that are kept for the curve of an emulated system.
_MOST_READINGS = 500

# Of targets that are filled at once so many are shown each.
_FILLED = 4

# Rows that everything but the earlier points takes, their head and count among it; one stays free.
_OTHER_ROWS = 15


@dataclass(slots=True)
class State:
    """What the display shows, as far as it is known.

    Attributes:
        title: what is measured on what.
        expected_ns: of each point of the plan, in order.
        precise: whether points may end before that.
        done_ns: of those, what the points that are done were expected to take.
        results: of the points that are done.
        probes: of searches and rounds in progress.
        progress: what the point in progress has said, oldest first.
        preparing: of the targets that are being filled, by their names.
        elapsed_ns: since this session began.
        in_turn: several targets are loaded one after the other.
    """

    title: str
    expected_ns: list[int] = field(default_factory=list)
    precise: bool = False
    done_ns: int = 0
    results: list[Result] = field(default_factory=list)
    probes: list[event.ProbeFinished] = field(default_factory=list)
    current: event.PointStarted | None = None
    progress: list[event.Progress] = field(default_factory=list)
    preparing: dict[str, event.Preparing] = field(default_factory=dict)
    elapsed_ns: int = 0
    in_turn: bool = False


def lines(state: State, width: int, height: int, *, plain: bool) -> list[Text]:
    """The display in lines of at most `width`; `plain` for consoles without Unicode."""
    drawn = [Text(state.title, style="bold", end="")]
    earlier = [*state.results, *(probe.result for probe in state.probes)]
    drawn += _earlier(earlier, width, max(1, height - _OTHER_ROWS), targets=state.in_turn)
    drawn.append(Text())
    if state.preparing:
        drawn += _filling(list(state.preparing.values()), width, plain)
    elif state.current is not None:
        drawn += _current(state.current, state.progress, width, plain)
    drawn += [Text(), *_plan(state, width, plain)]
    return _fitted(drawn, width, plain)


def model_lines(
    title: str, results: Sequence[Result], done: int, total: int, elapsed_ns: int, width: int, height: int, plain: bool
) -> list[Text]:
    """The same of a model's points, whose order and times aren't known before: of `total` tasks `done` are."""
    left_ns = round(elapsed_ns / max(1, done) * (total - done), -9)
    left = f", about {format_duration(left_ns)} left" if 0 < done < total else ""
    drawn = [Text(title, style="bold"), *_earlier(results, width, max(1, height - _OTHER_ROWS)), Text()]
    drawn.append(_bar(done / max(1, total), width, plain))
    drawn.append(Text(f"{done:,} of {total:,}, {_clock(elapsed_ns)} so far{left}", style="dim"))
    return _fitted(drawn, width, plain)


def serving_lines(
    title: str, now: Served, readings: Sequence[Reading], width: int, height: int, plain: bool
) -> list[Text]:
    """An emulated system: what it serves, second by second and in the last one, and what is wrong with it."""
    last = readings[-1]
    rates = [one.all.iops or 0.0 for one in readings]
    drawn = [Text(title, style="bold"), Text()]
    drawn.append(Text("  IOPS ").append(_spark(rates, width - 20, plain), style="blue").append(f" {_of(rates)}"))
    drawn += [_figures(kind, flow) for kind, flow in (("all", last.all), ("reads", last.read), ("writes", last.write))]
    late = UNKNOWN if last.late_fraction is None else f"{last.late_fraction:.2%}"
    most = milliseconds(now["lateness_max_ns"])
    drawn.append(Text(f"  late {late} of the answers, the latest ever by {most} ms"))
    clients = f"{now['clients']} client{'' if now['clients'] == 1 else 's'}"
    held = f"{now['in_flight']} outstanding, data {format_size(now['stored_bytes'])}"
    drawn.append(Text(f"  {clients}, {held}, {_clock(now['elapsed_ns'])} so far", style="dim"))
    drawn += [Text(f"  {fault}", style="red") for fault in now["active"][: max(0, height - len(drawn) - 1)]]
    return _fitted(drawn, width, plain)


def _fitted(drawn: list[Text], width: int, plain: bool) -> list[Text]:
    for line in drawn:
        line.plain = output.shown(line.plain)
        if plain:
            line.plain = line.plain.translate(_PLAIN).encode("ascii", "replace").decode()
        line.truncate(width, overflow="crop" if plain else "ellipsis")
    return drawn


def _earlier(results: Sequence[Result], width: int, rows: int, *, targets: bool = False) -> list[Text]:
    if not results:
        return []

    def name(result: Result) -> str:
        return f"{_name(result)} on {result.target}" if targets else _name(result)

    figures = list(_FIGURES)
    while figures and _NAME + sum(size for _, size in figures) + 2 > width:
        figures.pop()
    name_width = min(
        width - sum(size for _, size in figures) - 2, max(_NAME, *(len(name(result)) + 3 for result in results))
    )
    head = "".join(name.rjust(size) for name, size in figures)
    drawn = [Text(f"  {'point'.ljust(name_width)}{head}", style="dim")]
    if len(results) > rows:
        drawn.append(Text(f"  {len(results) - rows} earlier points", style="dim"))
    for result in results[-rows:]:
        star = "*" if result.quick else ""
        named = f"{_cut(name(result), name_width - 1 - len(star))}{star}".ljust(name_width)
        if result.error:
            drawn.append(Text(f"  {named}").append(f" {fate(result)}: {result.error}", style="red"))
            continue
        cells = [count(result.total.iops), megabytes(result.total)]
        cells += [milliseconds(flow.latency_mean_ns) for flow in (result.read, result.write)]
        cells += [milliseconds(flow.latency_p99_ns) for flow in (result.read, result.write)]
        drawn.append(
            Text("  " + named + "".join(cell.rjust(size) for cell, (_, size) in zip(cells, figures, strict=False)))
        )
    return drawn


def _name(result: Result) -> str:
    """The point and which repetition it is, and of a model's the settings that it was asked under."""
    return " ".join(
        [_again(result.point, result.repeat), *(result.tags.values() if result.origin != "measured" else ())]
    )


def _again(name: str, repeat: int) -> str:
    return name if repeat == 1 else f"{name} ({repeat})"


def _current(current: event.PointStarted, progress: Sequence[event.Progress], width: int, plain: bool) -> list[Text]:
    now = progress[-1] if progress else None
    elapsed_ns = min(now.elapsed_ns, current.expected_ns) if now else 0
    times = f"{_clock(elapsed_ns)} of {_clock(current.expected_ns)}"
    if now is not None and now.warmup:
        times += ", warm-up"
    on = f" on {current.target}" if current.target else ""
    name = _cut(_again(current.name, current.repeat) + on, width - len(times) - 12)
    drawn = [
        Text(f"{current.number}/{current.total} ", style="bold").append(name).append(f"  {times}", style="dim"),
        _bar(elapsed_ns / max(1, current.expected_ns), width, plain),
    ]
    # Of open loads fio says nothing before their end.
    rates = [one.all.iops for one in progress if one.all.iops is not None]
    drawn.append(Text("  IOPS ").append(_spark(rates, width - 20, plain), style="blue").append(f" {_of(rates)}"))
    for kind, flow in (("all", now and now.all), ("reads", now and now.read), ("writes", now and now.write)):
        drawn.append(_figures(kind, flow or Flow()))
    host = UNKNOWN if now is None or now.cpu_fraction is None else f"{now.cpu_fraction:.0%}"
    device = UNKNOWN if now is None or now.busy_fraction is None else f"{now.busy_fraction:.0%}"
    known = "" if now is None or now.ci95_fraction is None else f", known to ±{percent_of(now.ci95_fraction, 1.0)}%"
    drawn.append(Text(f"  host CPU {host}, device busy {device}{known}"))
    return drawn


def _figures(kind: str, flow: Flow) -> Text:
    mean, tail = milliseconds(flow.latency_mean_ns), milliseconds(flow.latency_p99_ns)
    said = f"{count(flow.iops):>9} IOPS{megabytes(flow):>9} MB/s   mean{mean:>8} ms   p99{tail:>8} ms"
    return Text(f"  {kind:<8}{said}", style="" if flow.iops else "dim")


def _filling(now: Sequence[event.Preparing], width: int, plain: bool) -> list[Text]:
    """How far fills are: of several targets at once all together, and each of the slowest."""

    def said(name: str, some: Sequence[event.Preparing]) -> str:
        done, whole = sum(one.done_bytes for one in some), sum(one.total_bytes for one in some)
        known = [one.remaining_ns for one in some if one.remaining_ns is not None]
        left = f", {format_duration(max(known))} left" if known else ""
        return f"{name}: {format_size(done)} of {format_size(whole)}{left}"

    each = sorted(now, key=lambda one: one.done_bytes / max(1, one.total_bytes))
    share = sum(one.done_bytes for one in now) / max(1, sum(one.total_bytes for one in now))
    name = now[0].target if len(now) == 1 else f"{len(now)} targets"
    drawn = [Text(f"filling {said(name, now)}"), _bar(share, width, plain)]
    drawn += [Text(f"  {said(one.target, [one])}", style="dim") for one in each[:_FILLED] if len(now) > 1]
    return drawn


def _plan(state: State, width: int, plain: bool) -> list[Text]:
    done, total = len(state.results), len(state.expected_ns)
    whole_ns, done_ns = sum(state.expected_ns), state.done_ns
    if state.current is not None and state.progress:
        done_ns += min(state.progress[-1].elapsed_ns, state.current.expected_ns)
    about = "at most" if state.precise else "about"
    left = f", {about} {format_duration(max(0, whole_ns - done_ns))} left" if done < total else ""
    return [
        _bar(done_ns / max(1, whole_ns), width, plain),
        Text(f"{done} of {total} points, {_clock(state.elapsed_ns)} so far{left}", style="dim"),
    ]


def _bar(share: float, width: int, plain: bool) -> Text:
    full, empty = ("#", "-") if plain else ("━", "─")
    room = width - 8
    filled = round(min(1.0, max(0.0, share)) * room)
    return Text(f"  {full * filled}").append(empty * (room - filled), style="dim").append(f"{share:>5.0%}")


def _spark(values: Sequence[float], width: int, plain: bool) -> str:
    """The last values as heights from 0 to the highest of them."""
    steps = " .:-=+*#" if plain else "▁▂▃▄▅▆▇█"
    shown = list(values)[-width:]
    highest = max(shown, default=0.0)
    return "".join(steps[round(value / highest * (len(steps) - 1)) if highest else 0] for value in shown)


def _of(rates: Sequence[float]) -> str:
    return count(rates[-1]) if rates else UNKNOWN


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(0, width - 2)]}.."


def _clock(duration_ns: int) -> str:
    seconds = round(duration_ns / 1e9)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def _without_unicode(environment: Mapping[str, str]) -> bool:
    """Whether the locale or the terminal promises ASCII only. Python writes UTF-8 in the C locale all the same."""
    locale = next(filter(None, (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    return locale in {"C", "POSIX"} or environment.get("TERM", "").startswith(("linux", "vt"))


#: Lines for so many columns and rows, plain or not.
Draw = Callable[[int, int, bool], list[Text]]


class Display:
    """Puts lines on a console, by default the terminal, drawn anew for its size at that moment."""

    def __init__(self, draw: Draw, console: Console | None = None) -> None:
        self._draw = draw
        self._console = console or output.terminal(err=True)
        self._live = Live(self, console=self._console, transient=True, auto_refresh=False)
        self._width = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines, one row short of the terminal's height, so that nothing scrolls."""
        height = console.size.height
        drawn = self._draw(options.max_width, height, options.ascii_only or _without_unicode(os.environ))
        yield Text("\n").join(drawn[: height - 1])

    def refresh(self) -> None:
        """Draws what is to be shown now."""
        self._live.start()
        width = self._console.width
        if width < self._width:
            # A terminal that became narrower has folded the lines that stand there, so how many is unknown.
            self._console.clear()
        self._width = width
        self._live.refresh()

    def end(self) -> None:
        """Takes the display away."""
        self._live.stop()


def told(state: State, what: event.Event) -> bool:
    """Puts an event into the state; False if it has no place there."""
    match what:
        case event.Started():
            run = open_run(what.path)
            state.title = f"{run.suite} on {run.target}"
            sent = [as_sent(point, len(run.targets)) for point in run.plan]
            state.expected_ns = [point.expected_ns for point in sent]
            state.precise = any(point.least_ns < point.expected_ns for point in sent)
            state.in_turn = any(point.target is not None for point in run.plan)
            missing = set(run.missing())
            found = {index: run.result(index) for index in range(len(run.plan)) if index not in missing}
            state.results = [result for result in found.values() if result is not None]
            state.done_ns = sum(state.expected_ns[index] for index in found)
            return False
        case event.PointStarted():
            state.current, state.progress, state.preparing = what, [], {}
        case event.Progress():
            state.progress.append(what)
        case event.ProbeFinished():
            state.probes.append(what)
            state.current, state.progress = None, []
        case event.PointFinished():
            state.results.append(what.result)
            state.probes = [probe for probe in state.probes if probe.number != what.number]
            state.done_ns += state.expected_ns[what.number - 1]
            state.current, state.progress = None, []
        case event.Preparing():
            state.preparing[what.target] = what
            return what.done_bytes < what.total_bytes
        case _:
            return False
    return True


@contextmanager
def listening(otherwise: event.Listener, console: Console | None = None) -> Iterator[event.Listener]:
    """A listener that shows a run; what has no place in the display goes to `otherwise`, which prints above it."""
    state, began_ns = State(""), time.monotonic_ns()

    def draw(width: int, height: int, plain: bool) -> list[Text]:
        state.elapsed_ns = time.monotonic_ns() - began_ns
        return lines(state, width, height, plain=plain)

    display = Display(draw, console)

    def listen(what: event.Event) -> None:
        if told(state, what):
            display.refresh()
        else:
            otherwise(what)

    try:
        yield listen
    finally:
        display.end()


@contextmanager
def counting(title: str, console: Console | None = None) -> Iterator[Callable[[int, int, Sequence[Result]], None]]:
    """A listener that shows a model's points: the rows so far, and how many of how many tasks are done."""
    results: list[Result] = []
    tasks, began_ns = [0, 0], time.monotonic_ns()

    def draw(width: int, height: int, plain: bool) -> list[Text]:
        elapsed_ns = time.monotonic_ns() - began_ns
        return model_lines(title, results, tasks[0], tasks[1], elapsed_ns, width, height, plain)

    display = Display(draw, console)

    def listen(done: int, total: int, new: Sequence[Result]) -> None:
        results.extend(result for result in new if result.role == "point")
        tasks[:] = done, total
        display.refresh()

    try:
        yield listen
    finally:
        display.end()


@contextmanager
def serving(title: str, console: Console | None = None) -> Iterator[Callable[[Served, Reading], None]]:
    """A listener that shows an emulated system, by its counters and what was served since it was told last."""
    told_: list[Served] = []
    readings: list[Reading] = []

    def draw(width: int, height: int, plain: bool) -> list[Text]:
        return serving_lines(title, told_[-1], readings, width, height, plain) if told_ else []

    display = Display(draw, console)

    def show(now: Served, reading: Reading) -> None:
        told_[:] = [now]
        readings[:] = [*readings[-_MOST_READINGS:], reading]
        display.refresh()

    try:
        yield show
    finally:
        display.end()
