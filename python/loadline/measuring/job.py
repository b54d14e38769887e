"""The job that fio gets for a point: of one target what the suite says, of several a section for each.

Each target's part is written for its own size, so that working sets in percent are shares of that target. Start
reading at `together`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadline.errors import InputError
from loadline.measuring import emulate
from loadline.measuring.fio import filename
from loadline.measuring.target import Target
from loadline.result.intervals import ending_of
from loadline.workload.dialects import fio_job
from loadline.workload.plan import Point


def of_target(point: Point, target: Target, engine: str) -> str:
    """The job of one target, which is not named in it."""
    job = _written(point, target, engine)
    if target.emulated is None:
        return job
    # A model's times don't hang on the data, and zeros take no memory. fio's engine can't ask for a durable write: the
    # server of ours takes each one so under another name of its export.
    durable = emulate.durable(target.uri) if target.uri is not None else ""
    instead = {"refill_buffers=1": "zero_buffers=1", "sync=dsync": f"uri={durable}"}
    lines = [line for line in job.splitlines() if not line.startswith(("buffer_compress", "dedupe_"))]
    return "".join(f"{instead.get(line, line)}\n" for line in lines)


def _written(point: Point, target: Target, engine: str) -> str:
    if target.uri is not None:
        # fio learns the size of a server's export too late for shares of it, and knows one kind of flush of it.
        return fio_job.write([point], engine=engine, size_bytes=target.used_bytes).replace("\nfdatasync=", "\nfsync=")
    try:
        return fio_job.write([point], engine=engine, size_bytes=target.limited_bytes)
    except InputError:
        # A share of the target that is no whole percent: in bytes it can be said, as `check_fits` has found.
        return fio_job.write([point], engine=engine, size_bytes=target.used_bytes)


def together(point: Point, targets: Sequence[Target], engines: Sequence[str], folder: Path) -> str:
    """The job of several targets at once, with its sections in their order; each names its target.

    If one target fails, fio ends the load of all: what is left would be another load than the one asked for.
    """
    parts = []
    for number, (target, engine) in enumerate(zip(targets, engines, strict=True)):
        head, *sections = of_target(point, target, engine).split("\n\n")
        parts.append(head.replace(f"\nioengine={engine}", "") + "\nexitall_on_error=1\nexit_what=all")
        place = named(target, folder, number)
        for index, section in enumerate(sections):
            name, *lines = section.strip().splitlines()
            group = [] if index or not number else ["new_group=1"]
            own = [f"[{section_name(name.strip('[]'), number)}]", *group, f"ioengine={engine}", place]
            parts.append("\n".join([*own, *lines]))
    heads, sections = parts[:1], [part for part in parts if not part.startswith("[global]")]
    return "\n\n".join([*heads, *sections]) + "\n"


def named(target: Target, folder: Path, number: int) -> str:
    """The option that names target `number`, from 0, to a fio whose current directory is `folder`."""
    if target.uri is not None:
        return f"uri={target.uri}"
    return f"filename={filename(target.path, folder, f'target-{number + 1}')}"


def section_name(name: str, number: int) -> str:
    """What a section of target `number`, from 0, is called in a job of several."""
    return f"{name}{ending_of(number)}"


def owner(name: str, targets: int) -> int | None:
    """The number of the target, from 0, whose section in a job of so many has that name."""
    return next((number for number in range(targets) if name.endswith(ending_of(number))), None)
