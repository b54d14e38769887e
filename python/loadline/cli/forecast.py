"""`loadline forecast SYSTEM SUITE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from loadline.cli import choice, output
from loadline.cli.progress import counted
from loadline.cli.simulate import check_picture, conclude
from loadline.errors import InputError
from loadline.reporting.report import DRAWN, FORMATS, Drawing, writable
from loadline.system.forecast import DEFAULT_LIMIT, Method, forecast
from loadline.system.rule import LIMIT
from loadline.workload.limit import parse_limit


@click.command("forecast")
@click.argument("system", shell_complete=choice.complete_system)
@click.argument("suite", shell_complete=choice.complete_suite)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="LIMIT",
    help=f"Of load lines, such as 'p99<=5ms of reads', or 30ms for the mean; else a ramp's own or {DEFAULT_LIMIT}.",
)
@click.option(
    "--method",
    type=click.Choice(["solve", "simulate", "rule"]),
    default="solve",
    help="Queueing theory, at once, or in seconds where streams are followed over drives, in a minute or two over "
    "dozens of drives or with blocks of 1 GiB; simulation, which knows percentiles; or the EVA report's rule of thumb.",
)
@click.option("--explain", is_flag=True, help="Show the working: demands, RAID factors, limits, with their numbers.")
@choice.model_options
@choice.effort_options
@click.option("--seed", type=click.IntRange(1, 2**31 - 1), metavar="N", help="Of a simulation; else 1.")
@click.option("-o", "--output", "file", metavar="FILE", help=f"Write a report; its ending is {', '.join(FORMATS)}.")
@output.drawing_options
@output.common
def command(
    system: str,
    suite: str,
    limits: tuple[str, ...],
    method: Method,
    explain: bool,
    settings: tuple[str, ...],
    ios: int | None,
    until_precision: str | None,
    replications: int,
    seed: int | None,
    file: str | None,
    chart: str | None,
    point: str | None,
    dark: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Say what SYSTEM carries under SUITE: at the asked load, at saturation, and at the load line.

    SYSTEM is a name (see `loadline systems`) or the path of a TOML file, SUITE a name (see `loadline suites`) or a
    path. The load line is the highest load that keeps --limit. Nothing is measured: the answer is computed from the
    description, or simulated.
    """
    if len(limits) > 1:
        raise InputError(f"--limit is given {len(limits)} times", "Ask once for each.")
    if method == "rule":
        _check_rule(limits, options)
    choice.check_order(system, suite)
    drawing = Drawing(chart, point, dark)
    output.check_drawn(file, drawing)
    if file is not None:
        writable(file, drawing)
    asked, _ = choice.suite(suite)
    plan = choice.read_model(**options)
    check_picture(file, drawing, asked, plan)
    choice.tell_sweep(system, settings, asked, plan)
    choice.warn_of_idle(system, settings, method)
    how = {"solve": "solving", "simulate": "simulating", "rule": "estimating"}[method]
    with counted(f"{how} {system} under {suite}") as listen:
        results = forecast(
            system,
            asked,
            limit=limits[0] if limits else None,
            method=method,
            settings=settings,
            options=plan,
            explain=explain,
            curve=file is not None and Path(file).suffix.lower() in DRAWN,
            seed=seed,
            ios=ios,
            until_precision=until_precision,
            replications=replications,
            listen=listen,
        )
    how = {"solve": "solved", "simulate": "simulated", "rule": "by the rule of thumb"}[method]
    title = f"{system} under {suite}, {how}"
    return conclude(results, title, file, drawing, as_json=as_json, explain=explain, limited=bool(limits))


def _check_rule(limits: Sequence[str], options: Mapping[str, Any]) -> None:
    """Refuses what the rule of thumb has no use for."""
    for limit in limits:
        if parse_limit(limit) != LIMIT:
            raise InputError(
                f"the rule of thumb knows {LIMIT} only, so --limit {limit} changes nothing",
                "Leave it out, or take --method solve.",
            )
    for option in ("queue_depth", "jobs"):
        if options[option] is not None:
            raise InputError(
                f"--{option.replace('_', '-')} changes nothing in the rule of thumb, which doesn't know how much is"
                " outstanding",
                "Leave it out, or take --method solve.",
            )
