"""`loadline show RUN`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

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

    RUN is an id, a unique part of one, a path, or `last`, which is the newest run.
    """
    found = Store.locate(store, os.environ).find(run)
    results = found.results()
    if as_json:
        output.document(envelope(results, [found.summary()]))
        return
    summary, target = found.summary(), found.document.get("target", {})
    output.say(f"{found.id}: {found.document['suite'].get('title') or found.suite}")
    sizes = " of ".join(format_size(target[key]) for key in ("used_bytes", "size_bytes") if target.get(key))
    output.say(f"target   {target.get('path', found.target)}" + (f" ({sizes})" if sizes else ""))
    last = (found.document.get("sessions") or [{}])[-1]
    known = {"device": _device(last.get("device") or {}), "host": _host(last.get("machine") or {})}
    for kind, facts in known.items():
        if facts:
            output.say(f"{kind:<8} {', '.join(facts)}")
    fio = last.get("fio") or {}
    tools = [fio.get("version"), fio.get("engine"), last.get("loadline") and f"loadline {last['loadline']}"]
    if any(tools):
        output.say(f"with     {', '.join(filter(None, tools))}")
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
            f"\n{left} of {summary['points']} points are missing or failed; go on with: loadline resume {found.handle}"
        )


def _device(facts: Mapping[str, Any]) -> list[str]:
    """What is known of the device; nothing is made up for what isn't."""
    said = [" ".join(str(facts[key]) for key in ("vendor", "model", "serial") if facts.get(key))]
    if facts.get("size_bytes"):
        said.append(format_size(facts["size_bytes"]))
    if facts.get("rotational") is not None:
        said.append("rotational" if facts["rotational"] else "not rotational")
    scheduler = (facts.get("queue") or {}).get("scheduler")
    if scheduler:
        said.append(f"scheduler {scheduler}")
    return [word for word in said if word]


def _host(facts: Mapping[str, Any]) -> list[str]:
    """CPU and kernel, without the host's name."""
    cpu = facts.get("cpu") or {}
    model, threads = cpu.get("model"), cpu.get("threads")
    said = [f"{threads} x {model}" if model and threads else model or (f"{threads} CPUs" if threads else "")]
    if facts.get("kernel"):
        said.append(f"Linux {facts['kernel']}")
    return [word for word in said if word]
