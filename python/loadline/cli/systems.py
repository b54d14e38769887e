"""`loadline systems [NAME]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from loadline.cli import choice, output
from loadline.errors import InputError
from loadline.reporting.export import envelope
from loadline.reporting.table import UNKNOWN, Group, Table
from loadline.system.description import System, idle_settings, load_system, settable, system_names, unroll
from loadline.units import format_size


@click.command("systems")
@click.argument("name", required=False, shell_complete=choice.complete_system)
@choice.set_option
@output.common
def command(name: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """List the described systems, or explain one: NAME, or the path of a TOML file.

    An explanation names every figure with its source, and every key that --set can change.
    """
    if name is None:
        if settings:
            raise InputError("--set changes a system, and none is named", "Name one: `loadline systems` lists them.")
        _list(as_json)
        return
    systems = unroll(load_system(name), settings)
    for idle in idle_settings(systems):
        output.warn(idle)
    if as_json:
        output.document(envelope(systems=[_as_json(system, whole=True) for system in systems]))
        return
    for number, system in enumerate(systems):
        if number:
            output.say()
        _explain(system)


def _list(as_json: bool) -> None:
    systems = [load_system(name) for name in system_names()]
    if as_json:
        output.document(envelope(systems=[_as_json(system, whole=False) for system in systems]))
        return
    rows = []
    for system in systems:
        built = system.build()
        rows.append((system.name, built.title, _size(built.capacity_bytes)))
    output.show(Table(("system", "what it is", "capacity"), (Group("", tuple(rows)),), frozenset({0, 1})))


def _size(capacity_bytes: int | None) -> str:
    return UNKNOWN if capacity_bytes is None else format_size(capacity_bytes)


def _explain(system: System) -> None:
    built = system.build()
    output.say(output.folded(f"{system.said}: {built.title}"))
    if built.note:
        output.say(output.wrapped(built.note))
    if built.capacity_bytes is not None:
        output.say(f"capacity {format_size(built.capacity_bytes)} ({built.capacity_bytes} bytes)")
    output.say()
    output.show(figures_table(system.figures()))
    if unset := _plain(system.unset()):
        output.say(
            "\n"
            + output.wrapped(
                f"Not set, and can be --set: {', '.join(unset)}. What isn't set of the drives is as their file says."
            )
        )


def figures_table(figures: list[tuple[str, str, str | None]]) -> Table:
    """Every key with its value and where it is from."""
    rows = tuple((key, value, source or "default") for key, value, source in figures)
    return Table(("key", "value", "from"), (Group("", rows),), frozenset({0, 1, 2}))


def _as_json(system: System, *, whole: bool) -> dict[str, Any]:
    built = system.build()
    said: dict[str, Any] = {
        "name": system.name,
        "title": built.title,
        "note": built.note,
        "capacity_bytes": built.capacity_bytes,
        "drive": system.drive,
        "settings": dict(system.settings),
    }
    if whole:
        said["figures"] = [dict(zip(("key", "value", "source"), figure, strict=True)) for figure in system.figures()]
        said["settable"] = _plain(settable())
    return said


def _plain(keys: Sequence[str]) -> list[str]:
    """Those that hold one value: stations are a list, which is set element by element."""
    return [key for key in keys if key != "station"]
