"""`loadline export SUITE -o FILE.{fio,icf,vdbench,hcibench}`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from loadline.cli import choice, output
from loadline.errors import InputError
from loadline.measuring import fio
from loadline.reporting.export import envelope
from loadline.result.file import check_place, write_bytes
from loadline.workload.dialects import fio_job, hcibench, icf, vdbench
from loadline.workload.dialects.text import Notes
from loadline.workload.plan import Point, make_plan

# A file may go to any machine, so that it isn't this one's engine.
_ENGINE_SAID = (
    f"; ioengine={fio_job.DEFAULT_ENGINE} works wherever fio does on Linux; run, and suites --fio, take io_uring\n"
    "; where that works and keeps the queue depths: export --engine io_uring writes the same\n"
)

_ENDINGS = (".fio", ".icf", ".vdbench", ".hcibench")


@click.command("export")
@click.argument("suite", shell_complete=choice.complete_suite)
@click.option(
    "-o", "--output", "file", required=True, metavar="FILE", help=f"Its ending names the form: {', '.join(_ENDINGS)}."
)
@choice.point_options
@output.common
def command(
    suite: str,
    file: str,
    as_json: bool,
    size: str | None,
    engine: str | None,
    seed: int | None,
    each_section: bool,
    **options: Any,
) -> None:
    """Write SUITE in the words of another tool: a fio job file, Iometer's .icf, a vdbench parameter file, or HCIBench's
    names.

    The options are those of `run`. What the other tool can't say is written as the nearest that it can, and said on
    standard error; with --json it is under `findings`.
    """
    path = Path(file)
    if path.suffix not in _ENDINGS:
        raise InputError(f"{file}: its ending names no form", f"Forms: {', '.join(_ENDINGS)}.")
    check_place(path)
    if path.exists() and Path(suite).exists() and path.samefile(suite):
        raise InputError(f"{file} is the suite itself", "Name another file.")
    found, findings = choice.suite(suite, each_section=each_section)
    points = choice.unrolled(make_plan(found, choice.read(**options), seed), file)
    text, notes = _written(path.suffix, points, found.title, choice.size(size), engine)
    for name in (point.name for point in points if point.precision_fraction is not None):
        notes.add("points end by their run time there, not once they're precise", name)
    for name in (point.name for point in points if point.shared and path.suffix == ".fio"):
        notes.add("fio sends many of its requests late there: `suites --point` prints the job that `run` sends", name)
    write_bytes(path, text.encode("utf-8", "replace"))
    for line in notes.lines(file):
        output.note(line)
    if as_json:
        output.document(envelope(findings=findings + _findings(notes), file=file))
    else:
        output.say(f"wrote {file}")


def _written(
    form: str, points: Sequence[Point], title: str, size_bytes: int | None, engine: str | None
) -> tuple[str, Notes]:
    if size_bytes is not None:
        for stream in (stream for point in points for stream in point.streams):
            fio_job.working_set(stream.profile, size_bytes)
    match form:
        case ".icf":
            return icf.write(points, title=title, size_bytes=size_bytes)
        case ".vdbench":
            return vdbench.write(points, title=title, size_bytes=size_bytes)
        case ".hcibench":
            return hcibench.write(points, size_bytes=size_bytes)
        case _:
            if engine is not None:
                fio.check_engine(engine, points)
            points, notes = fio_job.nearest(points, size_bytes)
            job = fio_job.write(points, engine=engine or fio_job.DEFAULT_ENGINE, size_bytes=size_bytes, exact=False)
            return ("" if engine else _ENGINE_SAID) + job, notes


def _findings(notes: Notes) -> list[dict[str, Any]]:
    remedy = "Compare nothing that hangs on it, or say it to the other tool by hand."
    return [
        output.finding("export", name, message, remedy) for names, message in notes.items() for name in names or ("",)
    ]
