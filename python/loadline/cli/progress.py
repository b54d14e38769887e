"""Progress on standard error: a bar on a terminal, plain lines elsewhere, or one JSON object an event."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from loadline.cli import output
from loadline.measuring import event
from loadline.reporting.table import count, milliseconds
from loadline.units import format_duration, format_size

KINDS = ("auto", "bar", "lines", "json", "none")


@contextmanager
def display(kind: str) -> Iterator[event.Listener]:
    """A listener of that kind; `auto` is a bar on a terminal and lines elsewhere."""
    if kind == "auto":
        kind = "bar" if sys.stderr.isatty() else "lines"
    if kind == "bar":
        with _bar() as listen:
            yield listen
    else:
        yield {"lines": _line, "json": _json, "none": lambda _: None}[kind]


@contextmanager
def counted(doing: str) -> Iterator[Callable[[int, int], None] | None]:
    """A listener that shows how many of how many are done, as a bar on a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=output.terminal(err=True), transient=True, refresh_per_second=4) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def plan_lines(planned: event.Planned) -> list[str]:
    """What is going to happen, before anything is touched."""
    target, points = planned.target, planned.points
    device = target.device
    about = f"{format_size(target.used_bytes)} of {format_size(target.size_bytes)}"
    if target.kind == "directory":
        about = f"a scratch file of {format_size(target.used_bytes)}, removed at the end"
    elif device is not None and target.kind == "device":
        named = [text for text in (device.vendor, device.model) if text]
        named += [f"serial {device.serial}"] if device.serial else []
        about = ", ".join([" ".join(named), about]) if named else about
    count_ = f"{len(points)} point" + ("s" if len(points) != 1 else "")
    lines = [
        f"suite    {planned.suite}: {count_}, about {format_duration(planned.expected_ns)}"
        + (", plus the time to fill the target" if planned.preparation.needed else ""),
        f"target   {target.given} ({about})",
    ]
    if planned.preparation.needed:
        lines.append(
            f"prepare  {planned.preparation.reason}; {format_size(planned.preparation.fill_bytes)} are written first"
        )
    if planned.destroys:
        lines.append(f"destroys everything in the first {format_size(target.used_bytes)} of {target.path}")
    if planned.written_at_most_bytes:
        by = "assumed ceiling" if planned.ceiling_assumed else "link's rate"
        lines.append(
            f"writes   at most {format_size(planned.written_at_most_bytes)}"
            f" (by the {by} of {format_size(planned.ceiling_bytes_per_s)}/s)"
        )
    else:
        lines.append("writes   nothing")
    return lines


def _line(what: event.Event) -> None:
    match what:
        case event.Planned():
            for line in plan_lines(what):
                output.note(line)
        case event.Started():
            output.note(f"run      {what.run}" + (f", {what.done} of {what.total} points done" if what.done else ""))
        case event.Preparing() if what.done_bytes == what.total_bytes:
            output.note(f"filled   {format_size(what.total_bytes)}")
        case event.PointFinished():
            output.note(f"[{what.number}/{what.total}] {_figures(what)}")
        case event.Warned():
            output.note(what.message)
        case _:
            pass


def _figures(finished: event.PointFinished) -> str:
    result = finished.result
    if result.error:
        return f"{result.point}: failed: {result.error}"
    total = result.total
    rate = None if total.bytes_per_s is None else total.bytes_per_s / 1e6
    return f"{result.point}: {count(total.iops)} IOPS, {count(rate)} MB/s, {milliseconds(total.latency_mean_ns)} ms"


def _json(what: event.Event) -> None:
    name = type(what).__name__
    body: dict[str, Any] = {"event": "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")}
    for item in fields(what):
        value = getattr(what, item.name)
        match item.name:
            case "target":
                value = value.to_json()
            case "points":
                value = [point.name for point in value]
            case "result":
                value = value.row()
            case "preparation":
                value = {"needed": value.needed, "reason": value.reason, "fill_bytes": value.fill_bytes}
            case "path":
                value = str(value)
        body[item.name] = value
    output.note(json.dumps(body, ensure_ascii=False))


@contextmanager
def _bar() -> Iterator[event.Listener]:
    from rich.progress import BarColumn, Progress, TextColumn

    console = output.terminal(err=True)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[figures]}", markup=False),
        console=console,
        expand=True,
        transient=True,
        refresh_per_second=4,
    )
    current: list[Any] = []

    def begin(description: str, total: float) -> None:
        end()
        current.append(bar.add_task(description, total=total, figures=""))
        bar.start()

    def end() -> None:
        while current:
            bar.remove_task(current.pop())
        bar.stop()

    def listen(what: event.Event) -> None:
        match what:
            case event.PointStarted():
                room = max(12, console.width - 58)
                name = what.name if len(what.name) <= room else f"{what.name[: room - 1]}…"
                begin(f"[{what.number}/{what.total}] {name}", what.expected_ns)
            case event.Progress() if current:
                bar.update(current[0], completed=what.elapsed_ns, figures=_live(what))
            case event.Preparing() if what.done_bytes < what.total_bytes:
                if not current:
                    begin("filling the target", what.total_bytes)
                left = "" if what.remaining_ns is None else f", {format_duration(what.remaining_ns)} left"
                figures = f"{format_size(what.done_bytes)} of {format_size(what.total_bytes)}{left}"
                bar.update(current[0], completed=what.done_bytes, figures=figures)
            case _:
                end()
                _line(what)

    try:
        yield listen
    finally:
        end()


def _live(now: event.Progress) -> str:
    times = f"{now.elapsed_ns / 1e9:.0f}/{now.expected_ns / 1e9:.0f} s"
    if now.warmup:
        return f"{times}, warm-up"
    rate = None if now.bytes_per_s is None else now.bytes_per_s / 1e6
    return f"{times} {count(now.iops)} IOPS {count(rate)} MB/s {milliseconds(now.latency_mean_ns)} ms"
