"""`loadline ls`."""

from __future__ import annotations

import os
from typing import Any

import click

from loadline.cli import output
from loadline.measuring import journal
from loadline.reporting.export import envelope
from loadline.reporting.table import Group, Table
from loadline.result.store import Store


@click.command("ls")
@output.store_option
@output.common
def command(store: str | None, as_json: bool) -> None:
    """List the runs in the store, oldest first."""
    place = Store.locate(store, os.environ)
    runs = place.runs()
    summaries = [{**run.summary(), "in_progress": journal.goes_on(run)} for run in runs]
    for fault in place.damaged() + [fault for run in runs for fault in run.damaged()]:
        output.complain(fault)
    if as_json:
        output.document(envelope(runs=summaries))
        return
    if not summaries:
        output.say(f"no runs in {place.root}")
        return
    rows = tuple((s["run"], s["target"], _points(s), str(s["failed"] or ""), _tags(s["tags"])) for s in summaries)
    output.show(Table(("run", "target", "points", "failed", "tags"), (Group("", rows),), frozenset({0, 1, 4})))


def _points(summary: dict[str, Any]) -> str:
    """How many are done of how many, and whether more come."""
    return f"{summary['done']}/{summary['points']}{', in progress' if summary['in_progress'] else ''}"


def _tags(tags: dict[str, str]) -> str:
    return " ".join(" ".join(f"{key}={value}".split()) for key, value in tags.items())
