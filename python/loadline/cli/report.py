"""`loadline report RUN... -o FILE`."""

from __future__ import annotations

import os
import sys

import click

from loadline.cli import output
from loadline.reporting.export import envelope
from loadline.reporting.report import FORMATS, Drawing, report
from loadline.result.store import Store


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o", "--output", "file", required=True, metavar="FILE", help=f"Its ending names the format: {', '.join(FORMATS)}."
)
@output.drawing_options
@output.store_option
@output.common
def command(
    runs: tuple[str, ...],
    file: str,
    chart: str | None,
    point: str | None,
    dark: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Write the results of one or more runs to FILE: a page, a chart, or a table.

    RUN is an id, a unique part of one, a path, or `last`, which is the newest run. Several runs stand side by side.
    """
    place = Store.locate(store, os.environ)
    found = [place.find(run) for run in runs]
    path = report(found, file, Drawing(chart, point, dark), ("loadline", *sys.argv[1:]))
    if as_json:
        results = [result for run in found for result in run.results()]
        output.document(envelope(results, [run.summary() for run in found], file=str(path)))
    else:
        output.say(f"wrote {path}")
