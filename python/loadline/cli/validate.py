"""`loadline validate [--data DIR] [-o DIR]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

import loadline
from loadline.cli import output
from loadline.cli.progress import counted
from loadline.host.provenance import machine
from loadline.reporting.export import envelope
from loadline.reporting.validation_record import (
    Making,
    comparisons_table,
    conclusions_table,
    record_json,
    record_markdown,
)
from loadline.result.file import check_place, write_bytes
from loadline.system.validation.comparison import Assumption, Section, assumptions
from loadline.system.validation.validate import NAMES, validate


@click.command("validate")
@click.option("--data", metavar="DIR", help="The folder of measurements; without it only published figures are used.")
@click.option("--only", multiple=True, metavar="NAME", help=f"Only this section ({', '.join(NAMES)}); may be repeated.")
@click.option("--ios", type=click.IntRange(100, 10**9), default=40_000, metavar="N", help="I/Os a point; else 40,000.")
@click.option("--seed", type=click.IntRange(1, 2**31 - 1), default=1, metavar="N", help="Of all that is drawn; else 1.")
@click.option("-o", "--output", "folder", metavar="DIR", help="Write a dated record there, as Markdown and as JSON.")
@output.common
def command(data: str | None, only: tuple[str, ...], ios: int, seed: int, folder: str | None, as_json: bool) -> None:
    """Compare forecasts with what others measured on real systems.

    Without --data it takes the figures of published reports, which it carries. A figure that misses its bar is shown
    as it is; docs/background/validation.md gives the causes.
    """
    if folder is not None:
        check_place(Path(folder) / "record.md")
    with counted("simulating what was measured") as listen:
        sections = validate(Path(data) if data else None, only=only, ios=ios, seed=seed, listen=listen)
    assumed = assumptions(sections)
    words = ["loadline validate", *(["--data DIR"] if data else []), *(f"--only {name}" for name in only)]
    spoken = " ".join([*words, f"--ios {ios}", f"--seed {seed}"])
    files = [] if folder is None else _record(Path(folder), spoken, sections, assumed)
    if as_json:
        said = [section.to_json() for section in sections]
        output.document(envelope(sections=said, assumptions=[asdict(one) for one in assumed], files=files))
        return
    for section in sections:
        if section.comparisons:
            output.show(comparisons_table(section), section.title)
        if section.conclusions:
            output.show(conclusions_table(section), section.title)
        output.say(output.wrapped(section.about) + "\n")
    where = "records (-o), `loadline systems` and `loadline drives` name them."
    output.say(output.folded(f"{len(assumed)} figures of the systems and their drives are assumed; {where}"))
    for file in files:
        output.say(f"wrote {file}")


def _record(folder: Path, words: str, sections: Sequence[Section], assumed: Sequence[Assumption]) -> list[str]:
    day = datetime.now(UTC).date().isoformat()
    making = Making(day, loadline.__version__, words, _host())
    texts = {".md": record_markdown(sections, assumed, making), ".json": record_json(sections, assumed, making)}
    names = chain((day,), (f"{day}-{number}" for number in count(2)))
    name = next(name for name in names if not any((folder / f"{name}{ending}").exists() for ending in texts))
    for ending, text in texts.items():
        write_bytes(folder / f"{name}{ending}", text.encode())
    return [str(folder / f"{name}{ending}") for ending in texts]


def _host() -> dict[str, Any]:
    """What a simulation's figures might depend on, and nothing that names the machine."""
    cpu = machine()["cpu"]
    return {"processor": cpu["model"], "threads": cpu["threads"]}
