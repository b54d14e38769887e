"""Progress on standard error: a live display on a terminal, plain lines elsewhere, or one JSON object an event."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from loadline.cli import output
from loadline.measuring import event
from loadline.reporting.table import count, fate, milliseconds, percent_of
from loadline.result.schema import Result
from loadline.system.pool import Listener
from loadline.units import format_range, format_size

# Nobody wonders before.
_SILENT_S = 20

KINDS = ("auto", "live", "lines", "json", "none")

#: --progress, for verbs that follow a run.
progress_option = click.option("--progress", type=click.Choice(KINDS), default="auto", help="How to show progress.")


@contextmanager
def display(kind: str) -> Iterator[event.Listener]:
    """A listener of that kind; `auto` is live on a terminal and lines elsewhere."""
    if kind == "auto":
        kind = "live" if is_screen() else "lines"
    if kind == "live":
        from loadline.cli.live import listening

        with listening(_line) as listen:
            yield listen
    else:
        yield {"lines": _line, "json": _json, "none": lambda _: None}[kind]


@contextmanager
def counted(title: str) -> Iterator[Listener]:
    """A listener for a model's points: live on a terminal, a line now and then elsewhere."""
    if not is_screen():
        yield _now_and_then(title)
        return
    from loadline.cli.live import counting

    with counting(title) as listen:
        yield listen


def _now_and_then(title: str) -> Listener:
    told_s = time.monotonic()

    def listen(done: int, total: int, _: Sequence[Result]) -> None:
        nonlocal told_s
        if done < total and time.monotonic() - told_s >= _SILENT_S:
            told_s = time.monotonic()
            output.note(f"{title}: {done:,} of {total:,}")

    return listen


def is_screen() -> bool:
    """Whether somebody may look at a live display."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def plan_lines(planned: event.Planned) -> list[str]:
    """What is going to happen, before anything is touched."""
    points, targets = planned.points, planned.targets
    names = len({point.name for point in points})
    said = f"{names} point" + ("s" if names != 1 else "")
    repeats = max((point.repeat for point in points), default=1)
    how = [f"{repeats} times each"] if repeats > 1 else []
    how += ["in random order"] if planned.order == "random" else []
    if len(targets) > 1:
        how.append(f"{len(targets)} targets {'in turn' if planned.in_turn else 'at once, each with the whole load'}")
    filled = sum(intended.preparation.needed or bool(intended.refills) for intended in targets)
    time = format_range(planned.least_ns, planned.expected_ns)
    lines = [
        f"suite    {planned.suite}: {', '.join([said, *how])}, about {time}"
        + (f", plus the time to fill {'the target' if filled == 1 else f'{filled} targets'}" if filled else "")
    ]
    return lines + [line for intended in targets for line in _intended_lines(intended)]


def _intended_lines(intended: event.Intended) -> list[str]:
    target, preparation = intended.target, intended.preparation
    device = target.device
    about = f"{format_size(target.used_bytes)} of {format_size(target.size_bytes)}"
    if target.emulated is not None:
        about = f"{format_size(target.size_bytes)}, a model served in real time, whose data are lost at the end"
    elif target.kind == "directory":
        about = f"a scratch file of {format_size(target.used_bytes)}, removed at the end"
    elif device is not None and target.kind == "device":
        named = [text for text in (device.vendor, device.model) if text]
        named += [f"serial {device.serial}"] if device.serial else []
        about = ", ".join([" ".join(named), about]) if named else about
    lines = [f"target   {target.given} ({about})"]
    if preparation.needed:
        lines.append(f"prepare  {preparation.reason}; {format_size(preparation.fill_bytes)} are written first")
    if intended.refills:
        times = f"before {len(intended.refills)} point{'s' * (len(intended.refills) > 1)}"
        lines.append(
            f"refill   {format_size(target.used_bytes)} {times} with a sequential part, for others write at random"
        )
    if intended.destroys:
        lines.append(f"destroys everything in the first {format_size(target.used_bytes)} of {target.name}")
    if target.emulated is not None:
        # Its data are lost at the end, so nobody needs to know how much that wears.
        return lines
    if intended.written_at_most_bytes:
        rate = f"{format_size(intended.ceiling_bytes_per_s)}/s"
        link = "" if intended.ceiling_assumed else ", the most that its link carries"
        most = format_size(intended.written_at_most_bytes)
        lines.append(f"writes   mostly far less than {most} in all, which would be {rate} throughout{link}")
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
            output.note(f"filled   {what.target}: {format_size(what.total_bytes)}")
        case event.PointFinished() | event.ProbeFinished():
            output.note(f"[{what.number}/{what.total}] {_figures(what)}")
        case event.Warned():
            output.note(what.message)
        case _:
            pass


def _figures(finished: event.PointFinished | event.ProbeFinished) -> str:
    result = finished.result
    name = result.point + (f" (repetition {result.repeat})" if result.repeat > 1 else "")
    name += f" on {finished.target}" if finished.target else ""
    if result.error:
        return f"{name}: {fate(result)}: {result.error}"
    total = result.total
    rate = None if total.bytes_per_s is None else total.bytes_per_s / 1e6
    said = f"{name}: {count(total.iops)} IOPS, {count(rate)} MB/s, {milliseconds(total.latency_mean_ns)} ms"
    known = "" if result.iops_ci95 is None else f", ±{percent_of(result.iops_ci95, total.iops)}%"
    return f"{said}{known}{', not steady' if result.steady is False else ''}"


def _json(what: event.Event) -> None:
    output.note(json.dumps(event.to_json(what), ensure_ascii=False))
