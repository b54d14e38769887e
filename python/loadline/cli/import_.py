"""`loadline import FILE...`."""

from __future__ import annotations

import sys

import click

from loadline.cli import choice, output
from loadline.judging.sources import import_results
from loadline.reporting.audit_words import mapping_table
from loadline.reporting.export import envelope
from loadline.reporting.table import results_table


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=choice.complete_path)
@output.import_options
@output.store_option
@output.common
def command(
    files: tuple[str, ...],
    maps: tuple[str, ...],
    workload: tuple[str, ...],
    tags: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Keep the results in FILEs as a run, audited.

    FILE is fio's JSON or JSON+, or a table as CSV, TSV, Markdown or HTML, whose columns are known by their heads; how
    they were understood is shown. What a file doesn't say stays unknown. Columns that are no figures become tags.
    """
    said = output.tags(tags)
    run, read = import_results(
        files, store=store, maps=maps, workload=workload, tags=said, command=("loadline", *sys.argv[1:])
    )
    for warning in read.warnings:
        output.warn(warning)
    results = run.results()
    if as_json:
        mapping = {file: [one.to_json() for one in mapped] for file, mapped in read.mapping.items()}
        output.document(envelope(results, [run.summary()], mapping=mapping))
        return
    for file, mapped in read.mapping.items():
        output.show(mapping_table(mapped), file)
        output.say()
    output.show(results_table(results))
    output.say(f"\nrun {run.id} in {run.handle}")
