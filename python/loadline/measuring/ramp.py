"""A ramp on a target: probes at one load after the other, until its load line is known.

Each probe has a folder of its own within the ramp's, and is kept whatever comes after it: `resume` asks for no load
twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from loadline._core import Histogram
from loadline.result.schema import Result
from loadline.result.store import begin_probe, commit_point, probe_paths, read_histograms, read_point
from loadline.system.load_line import keeps, search_outstanding, share
from loadline.system.row import load_line_rows
from loadline.workload.plan import Point

# One job of fio's keeps so many outstanding with every engine.
_MOST = 4096

#: Measures a point and leaves what was kept of it in a folder.
Measure = Callable[[Point, Path], tuple[Result, Mapping[str, Histogram]]]


class _FailedError(Exception):
    """A probe failed, so nothing can be said of the ramp."""

    def __init__(self, result: Result) -> None:
        self.result = result


def find(point: Point, folder: Path, measure: Measure) -> tuple[Result, Mapping[str, Histogram]]:
    """The row at the load line of a ramp over outstanding I/Os, and its histograms; its series is put into `folder`.

    If a probe failed, a row with its error; if not even the lowest load keeps the limit, one that says so.

    Raises:
        As `measure`; whatever is raised, the probes that were done are kept.
    """
    ramp = point.ramp
    assert ramp is not None and ramp.axis == "outstanding", "only such ramps are measured"
    limit = ramp.limit
    places: dict[str, Path] = {}
    for path in probe_paths(folder):
        known = read_point(path)
        if known is not None and known.error is None:
            places[known.point] = path

    def ask(load: int) -> Result:
        at = point.at(load)
        if at.name in places:
            found = read_point(places[at.name])
            assert found is not None, "it was read before"
            return found
        place = begin_probe(folder, at.name)
        measured, histograms = measure(at, place)
        found = replace(measured, role="probe", limit=str(limit))
        commit_point(place, found, histograms)
        if found.error is not None:
            raise _FailedError(found)
        places[at.name] = place
        return found

    try:
        line = search_outstanding(
            ask,
            lambda answer: keeps(answer, limit),
            int(ramp.low),
            max(int(ramp.low), min(_MOST, int(ramp.high))),
            lambda answer: share(answer, limit),
        )
    except _FailedError as failed:
        error = f"{failed.result.point}: {failed.result.error}"
        return replace(failed.result, role="point", point=point.name, error=error), {}
    row = replace(load_line_rows(point, line)[0], role="point")
    if line.highest is None:
        return row, {}
    place = places[line.highest.answer.point]
    shutil.copyfile(place / "series.parquet", folder / "series.parquet")
    return row, read_histograms(place)
