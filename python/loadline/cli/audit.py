"""`loadline audit RUN|FILE...`."""

from __future__ import annotations

import click

from loadline.cli import choice, output
from loadline.judging.audit import has_error
from loadline.judging.sources import audit_sources
from loadline.reporting.audit_words import told, verdict
from loadline.reporting.export import envelope


@click.command("audit")
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE...", shell_complete=choice.complete_path)
@output.import_options
@output.store_option
@output.common
def command(
    sources: tuple[str, ...],
    maps: tuple[str, ...],
    workload: tuple[str, ...],
    tags: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> int:
    """Say what in results cannot be, or is doubtful.

    RUN is an id, a unique part of one, a path, or `last`; FILE is anything that `import` reads, or a report of
    loadline's as .json or .csv. All that is given is judged together, and nothing is stored. Ends with 1 if something
    cannot be.
    """
    audited = audit_sources(sources, store=store, maps=maps, workload=workload, tags=output.tags(tags))
    for warning in audited.read.warnings:
        output.warn(warning)
    with output.while_read():
        if as_json:
            output.document(envelope(audited.results, [run.summary() for run in audited.runs]))
        else:
            for line in told(audited.results):
                output.say(output.folded(f"{line.severity:<8} {line.check:<15} {line.text}", " " * 25))
                output.say(output.folded(f"{'':<25}{line.remedy}", " " * 25))
            output.say(verdict(audited.results))
    return 1 if has_error(audited.results) else 0
