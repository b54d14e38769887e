"""`loadline report RUN|FILE... -o FILE`."""

from __future__ import annotations

import os
import sys
from glob import escape

import click

from loadline.cli import choice, output
from loadline.judging.sources import audit_sources
from loadline.reporting.export import envelope
from loadline.reporting.question import cut_off
from loadline.reporting.report import FORMATS, Drawing, of_runs, of_sources, writable, write
from loadline.result.store import Store
from loadline.workload.suite import is_file


@click.command("report")
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE...", shell_complete=choice.complete_path)
@click.option(
    "-o", "--output", "file", required=True, metavar="FILE", help=f"Its ending names the format: {', '.join(FORMATS)}."
)
@output.drawing_options
@output.import_options
@output.store_option
@output.common
def command(
    sources: tuple[str, ...],
    file: str,
    chart: str | None,
    point: str | None,
    dark: bool,
    maps: tuple[str, ...],
    workload: tuple[str, ...],
    tags: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Write results to FILE: a page, a chart, or a table. Several runs and files stand side by side.

    RUN is an id, a unique part of one, a path, or `last`, which is the newest run; FILE is anything that `import`
    reads, or a report of loadline's as .json or .csv. What files hold is audited together with the runs, and not kept.
    """
    drawing, typed = Drawing(chart, point, dark), ("loadline", *sys.argv[1:])
    writable(file, drawing)
    output.check_apart(file, sources)
    files = [source for source in dict.fromkeys(sources) if is_file(source)]
    if files:
        said = output.tags(tags)
        audited = audit_sources(list(dict.fromkeys(sources)), store=store, maps=maps, workload=workload, tags=said)
        for warning in audited.read.warnings:
            output.warn(warning)
        contents = of_sources(audited, files, typed)
    else:
        place = Store.locate(store, os.environ)
        contents = of_runs([place.find(source) for source in sources], typed)
    path = write(contents, file, drawing)
    for fault in cut_off(escape(str(run.path)) for run in contents.runs):
        output.complain(fault)
    if as_json:
        output.document(envelope(contents.results, contents.summaries, file=str(path)))
    else:
        output.say(f"wrote {path}")
