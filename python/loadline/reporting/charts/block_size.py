"""IOPS and MB/s over block size, where sizes were swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadline.reporting.apart import source
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.swept import IOPS, MEGABYTES, Axis, load_said, panels_of
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.result.schema import Result
from loadline.units import format_bytes


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """Two panels a load: a line a pattern of access that has answers at three sizes or more, at most six of them."""
    found: dict[str, dict[tuple[str, str], dict[float, Result]]] = {}
    points = contents.means
    for result, origin in zip(points, source(points), strict=True):
        asked = _asked(result)
        if asked is not None:
            size, pattern = asked
            found.setdefault(load_said(result), {}).setdefault((pattern, origin), {})[size] = result
    panels = []
    for load, lines in found.items():
        patterns = {pattern for pattern, _ in lines}
        named = {
            ", ".join(filter(None, (pattern if len(patterns) > 1 else "", origin))): rows
            for (pattern, origin), rows in lines.items()
        }
        note = ", ".join([*(patterns if len(patterns) == 1 else ()), load])
        said = {float(size): format_bytes(int(size)) for rows in lines.values() for size in rows}
        panels += panels_of("block size", named, Axis("block size", said, log=2), (IOPS, MEGABYTES), palette, note)
    return panels


def _asked(result: Result) -> tuple[int, str] | None:
    """Size in bytes and pattern of a row that asks for blocks of one size."""
    workload = result.workload
    if not isinstance(workload, Mapping) or not isinstance(workload.get("profile"), Mapping):
        return None
    profile: Mapping[str, Any] = workload["profile"]
    blocks: Sequence[Mapping[str, Any]] = profile.get("block") or ()
    if len(blocks) != 1:
        return None
    read, random = float(profile.get("read_fraction", 1)), float(profile.get("random_fraction", 1))
    way = {0.0: "sequential", 1.0: "random"}.get(random, f"{100 * random:.0f} % random")
    what = {0.0: "write", 1.0: "read"}.get(read, f"{100 * read:.0f} % read")
    return int(blocks[0]["size_bytes"]), f"{way} {what}"
