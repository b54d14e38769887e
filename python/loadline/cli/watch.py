"""`loadline watch RUN`."""

from __future__ import annotations

import os

import click

from loadline.cli import output
from loadline.cli.progress import display, progress_option
from loadline.cli.run import conclude
from loadline.measuring import journal
from loadline.result.store import Store, open_run


@click.command("watch")
@click.argument("run", metavar="RUN")
@progress_option
@output.store_option
@output.common
def command(run: str, progress: str, store: str | None, as_json: bool) -> int:
    """Show a run that another process measures, until it ends; then its table.

    RUN is an id, a unique part of one, a path, or `last`, which is the newest run.
    """
    found = Store.locate(store, os.environ).find(run)
    if journal.goes_on(found):
        with display(progress) as listen:
            journal.follow(found, listen)
    else:
        output.note(f"run {found.id} isn't being measured; this is what it has")
    return conclude(open_run(found.path), as_json=as_json)
