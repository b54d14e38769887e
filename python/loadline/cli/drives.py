"""`loadline drives [NAME | --from FILE.model] [-o FILE.toml]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from loadline.cli import choice, output
from loadline.cli.systems import figures_table
from loadline.errors import InputError
from loadline.reporting.export import envelope
from loadline.reporting.table import Group, Table
from loadline.result.file import check_place, write_bytes
from loadline.system.drive import convert_drive, drive_figures, drive_names, drive_text, load_drive
from loadline.units import format_size


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    known = [CompletionItem(name) for name in drive_names() if name.startswith(incomplete)]
    return known or choice.complete_path(context, parameter, incomplete)


@click.command("drives")
@click.argument("name", required=False, shell_complete=_complete)
@click.option("--from", "parameters", metavar="FILE", help="Convert a DiskSim .model or .diskspecs file.")
@click.option("-o", "--output", "file", metavar="FILE", help="Write the drive file there: NAME's, or that of --from.")
@output.common
def command(name: str | None, parameters: str | None, file: str | None, as_json: bool) -> None:
    """List the drives, explain one (NAME, or the path of a TOML file), or make a drive file out of a DiskSim one.

    With -o the file of NAME is copied, to be changed. A drive file's name or path is what `--set pool.drive=` takes.
    """
    if parameters is not None:
        if name is not None:
            raise InputError("a NAME and --from are both given", "Leave out one.")
        _convert(Path(parameters), file, as_json)
    elif name is not None:
        if file is not None:
            _copy(name, file, as_json)
        else:
            _explain(name, as_json)
    elif file is not None:
        raise InputError("-o writes one drive's file, and none is named", "Name one, or give --from FILE.model.")
    else:
        _list(as_json)


def _list(as_json: bool) -> None:
    drives = [(name, load_drive(name)) for name in drive_names()]
    if as_json:
        said = [{"name": name, "title": one.title, "capacity_bytes": one.capacity_bytes} for name, one in drives]
        output.document(envelope(drives=said))
        return
    rows = tuple((name, drive.title, format_size(drive.capacity_bytes)) for name, drive in drives)
    output.show(Table(("drive", "what it is", "capacity"), (Group("", rows),), frozenset({0, 1})))


def _explain(name: str, as_json: bool) -> None:
    drive = load_drive(name)
    if as_json:
        said: dict[str, Any] = {
            "name": Path(name).stem,
            "title": drive.title,
            "note": drive.note,
            "capacity_bytes": drive.capacity_bytes,
            "figures": [dict(zip(("key", "value", "source"), figure, strict=True)) for figure in drive_figures(name)],
        }
        output.document(envelope(drives=[said]))
        return
    output.say(f"{Path(name).stem}: {drive.title}")
    if drive.note:
        output.say(output.wrapped(drive.note))
    output.say(f"capacity {format_size(drive.capacity_bytes)} ({drive.capacity_bytes} bytes)\n")
    output.show(figures_table(drive_figures(name)))


def _copy(name: str, file: str, as_json: bool) -> None:
    check_place(Path(file))
    load_drive(name)
    text = drive_text(name)[1]
    _write(file, text, {"name": Path(name).stem, "toml": text}, as_json)


def _convert(parameters: Path, file: str | None, as_json: bool) -> None:
    if file is not None:
        check_place(Path(file))
        output.check_apart(file, [str(parameters)])
    text, warnings = convert_drive(parameters)
    for warning in warnings:
        output.warn(warning)
    _write(file, text, {"toml": text, "warnings": warnings}, as_json)


def _write(file: str | None, text: str, said: dict[str, Any], as_json: bool) -> None:
    if file is not None:
        write_bytes(Path(file), text.encode())
    if as_json:
        output.document(envelope(drives=[said], file=file))
    elif file is None:
        output.say(text.rstrip())
    else:
        output.say(f"wrote {file}")
