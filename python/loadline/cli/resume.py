"""`loadline resume RUN`."""

from __future__ import annotations

import click

from loadline.cli import output
from loadline.cli.progress import display, progress_option
from loadline.cli.run import conclude
from loadline.measuring.run import resume


@click.command("resume")
@click.argument("run", metavar="RUN")
@progress_option
@output.store_option
@output.common
def command(run: str, progress: str, store: str | None, as_json: bool) -> int:
    """Complete RUN: measure the points that are missing or failed, with the same plan on the same target.

    RUN is an id, a unique part of one, a path, or `last`, which is the newest run.
    """
    with display(progress) as listen:
        made = resume(run, store=store, listen=listen)
    return conclude(made, as_json=as_json)
