"""`loadline show RUN`."""

from __future__ import annotations

import os

import click

from loadline.cli import output
from loadline.reporting.export import envelope
from loadline.reporting.table import results_table
from loadline.result.store import Store
from loadline.units import format_size


@click.command("show")
@click.argument("run", metavar="RUN")
@output.store_option
@output.common
def command(run: str, store: str | None, as_json: bool) -> None:
    """Show RUN: what was measured on what, the table, and what is missing.

    RUN is an id, a unique part of one, or a path.
    """
    found = Store.locate(store, os.environ).find(run)
    results = found.results()
    if as_json:
        output.document(envelope(results, [found.summary()]))
        return
    summary, target = found.summary(), found.document["target"]
    output.say(f"{found.id}: {found.document['suite']['title']}")
    output.say(
        f"target   {target['path']} ({format_size(target['used_bytes'])} of {format_size(target['size_bytes'])})"
    )
    last = found.document["sessions"][-1]
    device = last["device"] or {}
    named = " ".join(str(device[key]) for key in ("vendor", "model", "serial") if device.get(key))
    if named:
        output.say(f"device   {named}")
    output.say(f"with     {last['fio']['version']}, {last['fio']['engine']}; loadline {last['loadline']}")
    output.say(f"started  {found.started_at}")
    for kind, pairs in (("declared", found.document.get("declared")), ("tags", summary["tags"])):
        if pairs:
            output.say(f"{kind:<8} {', '.join(f'{key}={value}' for key, value in pairs.items())}")
    output.say()
    if results:
        output.show(results_table(results))
    left = summary["points"] - summary["done"]
    if left:
        output.say(
            f"\n{left} of {summary['points']} points are missing or failed; go on with: loadline resume {found.id}"
        )
