"""`loadline watch RUN`."""

from __future__ import annotations

import os

import click

from loadline.cli import output
from loadline.cli.progress import display, progress_option
from loadline.cli.run import conclude
from loadline.errors import InterruptedRun
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
    if not journal.goes_on(found):
        output.note(f"run {found.id} isn't being measured; this is what it has")
        return conclude(found, as_json=as_json)
    try:
        with display(progress) as listen:
            journal.follow(found, listen)
    except KeyboardInterrupt:
        raise InterruptedRun(
            f"no longer watched; run {found.id} goes on", f"Again: loadline watch {found.handle}"
        ) from None
    ended = open_run(found.path)
    code = conclude(ended, as_json=as_json)
    left = len(ended.missing())
    if left and not code:
        said = f"run {ended.id} ended with {left} of {len(ended.plan)} points missing"
        failure = InterruptedRun(said, f"Go on with: loadline resume {ended.handle}")
        output.complain(failure)
        return failure.exit_code
    return code
