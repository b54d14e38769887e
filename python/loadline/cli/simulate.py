"""`loadline simulate SYSTEM SUITE`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from loadline.cli import choice, output
from loadline.cli.progress import counted
from loadline.errors import InputError
from loadline.reporting.contents import Contents
from loadline.reporting.export import envelope
from loadline.reporting.model_table import components_table, models_table, paired
from loadline.reporting.picture import check_drawing
from loadline.reporting.report import FORMATS, Drawing, writable, write
from loadline.result.schema import Result
from loadline.system.simulate import simulate
from loadline.workload.plan import Options, make_plan
from loadline.workload.suite import Suite

# More rows than that make the table of components a flood.
_FEW = 24


@click.command("simulate")
@click.argument("system", shell_complete=choice.complete_system)
@click.argument("suite", shell_complete=choice.complete_suite)
@choice.model_options
@choice.effort_options
@click.option(
    "--runtime", metavar="TIME", help="For as long as each point is measured, such as 60s, from an empty cache."
)
@click.option("--warmup", metavar="TIME", help="Of that the time before, which isn't counted; else as the suite says.")
@click.option("--seed", type=click.IntRange(1, 2**31 - 1), default=1, metavar="N", help="Of all that is drawn; else 1.")
@click.option("-o", "--output", "file", metavar="FILE", help=f"Write a report; its ending is {', '.join(FORMATS)}.")
@output.drawing_options
@output.common
def command(
    system: str,
    suite: str,
    settings: tuple[str, ...],
    ios: int | None,
    until_precision: str | None,
    replications: int,
    runtime: str | None,
    warmup: str | None,
    seed: int,
    file: str | None,
    chart: str | None,
    point: str | None,
    dark: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Simulate SYSTEM under SUITE.

    SYSTEM is a name (see `loadline systems`) or the path of a TOML file, SUITE a name (see `loadline suites`) or a
    path. Each point goes on until IOPS and mean latency are known to 1 %, but for 1,000,000 I/Os at most; its run time
    in the suite is of no account. With --runtime or --warmup it's what a measurement of that length sees, which begins
    with an empty cache. A --seed gives the same figures again.
    """
    choice.check_order(system, suite)
    drawing = Drawing(chart, point, dark)
    output.check_drawn(file, drawing)
    if file is not None:
        writable(file, drawing)
    asked, _ = choice.suite(suite)
    plan = choice.read_model(runtime=runtime, warmup=warmup, **options)
    timed = runtime is not None or warmup is not None
    check_picture(file, drawing, asked, plan, over_time=timed)
    choice.tell_sweep(system, settings, asked, plan)
    choice.warn_of_idle(system, settings, "simulate")
    with counted(f"simulating {system} under {suite}") as listen:
        results = simulate(
            system,
            asked,
            seed=seed,
            settings=settings,
            options=plan,
            ios=ios,
            until_precision=until_precision,
            replications=replications,
            timed=timed,
            listen=listen,
        )
    return conclude(results, f"{system} under {suite}, simulated", file, drawing, as_json=as_json)


def check_picture(
    file: str | None, drawing: Drawing, suite: Suite, options: Options, *, over_time: bool = False
) -> None:
    """Refuses, before long work, a picture that no answer of a model can make.

    Raises:
        InputError: a chart over time or of no such name, or a point that the suite doesn't have; and as `make_plan`.
    """
    if file is None:
        return
    if drawing.chart == "over-time" and not over_time:
        raise InputError(
            "chart over-time: only a simulation of a given length has a series",
            "Simulate it with --runtime, or take another chart: load, iops, latency, say.",
        )
    if drawing != type(drawing)():
        check_drawing(drawing.chart, drawing.point, [one.name for one in make_plan(suite, options, timed=False)])


def conclude(
    results: Sequence[Result],
    title: str,
    file: str | None,
    drawing: Drawing,
    *,
    as_json: bool,
    explain: bool = False,
    limited: bool = True,
) -> int:
    """Prints what a model answered, and writes it to `file`; 2 if a point could not be answered, else 0.

    Args:
        limited: a limit was asked for, so that a point without a load line isn't answered.
    """
    points = [result for result in results if result.role == "point"]
    tables = [models_table(results)]
    if any(point.components for point in points) and (explain or len(points) <= _FEW):
        tables.append(components_table(results))
    failure = _failure(results, limited, told=not as_json)
    if file is not None:
        command = ("loadline", *sys.argv[1:])
        write(Contents(title, (), results, tuple(tables), command=command), file, drawing)
    if as_json:
        body = envelope(results, error=output.error_body(failure) if failure else None)
        output.document(body if file is None else {**body, "file": file})
    else:
        for number, table in enumerate(tables):
            if number:
                output.say()
            output.show(table)
        if len(tables) == 1 and any(point.components for point in points):
            output.say(
                f"how busy each component is isn't printed of more than {_FEW} points: --json and files"
                " (-o FILE.html, .csv or .json) have it"
            )
        for result in points if explain else ():
            output.say(f"\n{' '.join([result.point, *_settings(result)])}{' at the load line' if result.limit else ''}")
            for line in result.provenance.get("working", ()) or [result.error or "it has no working"]:
                output.say(output.folded(f"  {line}", "      "))
        if file is not None:
            output.say(f"\nwrote {file}")
    if failure is None:
        return 0
    output.complain(failure)
    return failure.exit_code


def _failure(results: Sequence[Result], limited: bool, told: bool) -> InputError | None:
    """What is said when points can't be answered; a point and its load line are two rows, and one point.

    Args:
        told: the reasons stand below a table.
    """
    answers = paired(results)
    unanswered = [answer.asked for answer in answers if answer.asked.error and not answer.asked.over_limit]
    what, first = "can't be answered", unanswered
    if not unanswered:
        lines = [one.line for one in answers if one.line is not None and (limited or one.line is one.asked)]
        first = [line for line in lines if line.error]
        what = "has no load line" if len(first) == 1 else "have no load line"
    if not first:
        return None
    message = f"{len(first)} point{'' if len(first) == 1 else 's'} of {len(answers)} {what}"
    if not told:
        message += f": {' '.join([first[0].point, *_settings(first[0])])}: {first[0].error}"
    # What was refused says in its row what to do.
    helps = (first[0].error or "").endswith((".", "?"))
    return InputError(message, "" if helps else "Change the load, the limit or the system.")


def _settings(result: Result) -> list[str]:
    return [f"{key}={value}" for key, value in result.tags.items()]
