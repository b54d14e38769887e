"""What models are asked: points out of suites, workloads or streams, and the streams of one point as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from loadline import _core
from loadline.errors import InputError
from loadline.host.roots import available_bytes
from loadline.system.description import System
from loadline.units import format_size, whole
from loadline.workload.model import ModelStream, to_model
from loadline.workload.plan import Options, Point, check_options, make_plan
from loadline.workload.profile import Workload
from loadline.workload.suite import Suite, load_suite

#: A suite by name, path or itself; a stream, several that run together; or points.
Asked: TypeAlias = str | Path | Suite | Workload | Sequence[Workload] | Point | Sequence[Point]

_MOST_ROWS = 100_000

# Answers that take no more aren't worth a look at the machine's memory.
_LITTLE_BYTES = 1 << 28

# Measured: 7 kB each, and as much again for what is written of it.
_ROW_BYTES = 16_000

#: Rows of a point: at the asked load, at the load line, and the next one; with a curve those of doubling loads, too.
PLAIN_ROWS, CURVE_ROWS = 3, 18

# As many bits as fio's have.
_SEEDS = 1 << 31

# Stations have no addresses, so any working set will do.
_NOWHERE_BYTES = 1 << 40


def points_of(asked: Asked, options: Options = Options(), seed: int = 1) -> tuple[str | None, tuple[Point, ...]]:
    """The suite's name, if it is one, and the points; `options` change a suite's, and point k gets `seed` + k.

    Raises:
        InputError: no such suite, options that don't fit it, or a seed that can't be.
    """
    whole("seed", seed, 1, _SEEDS - 1)
    if isinstance(asked, str | Path):
        asked = load_suite(asked)[0]
    if isinstance(asked, Suite):
        return asked.name, make_plan(asked, options, seed, timed=False)
    check_options(options)
    if options != Options():
        raise InputError("options change the points of a suite only", "Change the workload itself.")
    if isinstance(asked, Workload):
        asked = (asked,)
    if isinstance(asked, Point):
        return None, (asked,)
    several = tuple(asked) if isinstance(asked, Sequence) else (asked,)
    points = tuple(one for one in several if isinstance(one, Point))
    streams = tuple(one for one in several if isinstance(one, Workload))
    if not several or max(len(points), len(streams)) < len(several):
        raise InputError("a workload needs streams, or points", "Give a Workload, several, or points of a plan.")
    if points:
        return None, points
    name = "+".join(stream.profile.name for stream in streams)
    return None, (Point(name, streams, runtime_ns=0, warmup_ns=0, seed=seed),)


def pairs(systems: Sequence[System], points: Sequence[Point]) -> list[tuple[System, Point]]:
    """Every point on every system, as far as O_DSYNC allows: its writes pass the buffers of drives.

    A point of such writes is asked of the system with `pool.write_cache` off, which its rows then show as a setting. A
    controller's write-back cache keeps what it acknowledges, so there O_DSYNC changes nothing.
    """
    return [(_durable(system) if _durably(point) else system, point) for system in systems for point in points]


def _durably(point: Point) -> bool:
    return any(stream.profile.dsync and stream.profile.writes for stream in point.streams)


def _durable(system: System) -> System:
    # Stations have no drives, and nothing that could lose a write.
    if system.drive is None:
        return system
    return replace(system, settings=(*system.settings, ("pool.write_cache", "false")))


def check_rows(points: int, each: int = PLAIN_ROWS) -> None:
    """Refuses more points, of `each` so many rows, than this machine has memory for.

    Raises:
        InputError: there would be more than 100,000, or their rows wouldn't fit.
    """
    remedy = "Sweep in parts, or name a --profile."
    if points > _MOST_ROWS:
        raise InputError(f"settings and points make {points:,} rows, more than {_MOST_ROWS:,}", remedy)
    wanted_bytes = points * each * _ROW_BYTES
    if wanted_bytes <= _LITTLE_BYTES:
        return
    free_bytes = available_bytes()
    if free_bytes is not None and wanted_bytes > free_bytes:
        raise InputError(
            f"settings and points make {points:,} rows, whose answers may take {format_size(wanted_bytes)} of memory,"
            f" of which {format_size(free_bytes)} is free",
            remedy,
        )


def streams_of(point: Point, system: _core.System) -> list[ModelStream]:
    """The point's streams on the system's volume.

    Raises:
        InputError: what the volume can't hold, or models don't know.
    """
    if _durably(point) and not all(s.profile.dsync for s in point.streams if s.profile.writes):
        raise InputError(
            f"{point.name}: dsync: models know it of all streams that write together, or of none",
            "Part the streams into points of their own.",
        )
    capacity_bytes = system.capacity_bytes or _NOWHERE_BYTES
    return [to_model(stream, capacity_bytes) for stream in point.streams]
