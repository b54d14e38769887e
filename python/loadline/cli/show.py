"""`loadline show RUN`."""

from __future__ import annotations

import os

import click

from loadline.cli import output
from loadline.measuring import journal
from loadline.reporting.export import envelope
from loadline.reporting.facts import facts
from loadline.reporting.table import results_table
from loadline.result.repeats import histograms_in
from loadline.result.store import Store


@click.command("show")
@click.argument("run", metavar="RUN")
@output.store_option
@output.common
def command(run: str, store: str | None, as_json: bool) -> None:
    """Show RUN: what was measured on what, the table, and what is missing.

    RUN is an id, a unique part of one, a path, or `last`, which is the newest run.
    """
    found = Store.locate(store, os.environ).find(run)
    results = found.results()
    if as_json:
        output.document(envelope(results + found.probes(), [found.summary()]))
        return
    summary = found.summary()
    output.say(f"{found.id}: {found.document['suite'].get('title') or found.suite}")
    for kind, words in facts(found).items():
        output.say(f"{kind:<8} {words}")
    if results:
        output.say()
        output.show(results_table(results, histograms_in([found])))
    left = len(found.missing())
    kept, probes = found.kept() if left else 0, ""
    if kept:
        probes = f", of which {kept} {'probe' if kept == 1 else 'probes'} {'is' if kept == 1 else 'are'} kept"
    if journal.goes_on(found):
        output.say(f"\nin progress, {left} of {summary['points']} points to go{probes}: loadline watch {found.handle}")
    elif left:
        from_them = f" from {'it' if kept == 1 else 'them'}" if kept else ""
        output.say(
            f"\n{left} of {summary['points']} points are missing or failed{probes};"
            f" go on{from_them} with: loadline resume {found.handle}"
        )
