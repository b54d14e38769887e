"""Rounds on a target: points are measured in turn, again and again, until what is tracked is steady.

Each measurement of a round is a probe in the folder of its point, and is kept: `resume` goes on with the next.
Start reading at `find`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.judging.rounds import Window, window
from loadline.measuring.open_response import Measure
from loadline.measuring.ramp import FailedError, Probes, Tell
from loadline.result.figures import pooled
from loadline.result.point_folder import copy_series
from loadline.result.schema import Flow, Result
from loadline.system.row import finding
from loadline.workload.plan import Point
from loadline.workload.rounds import Rounds

#: What a group of rounds gives for each of its points.
Found = tuple[Result, Mapping[str, Histogram]]

#: Of the fills before the first round, by SNIA's specification.
FILL_BLOCK_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    """A point of a group of rounds, its folder, what measures it, and what is told of each of its rounds."""

    point: Point
    folder: Path
    measure: Measure
    tell: Tell = lambda _: None

    @property
    def rounds(self) -> Rounds:
        """The rounds that it belongs to."""
        assert self.point.rounds is not None, "a member has rounds"
        return self.point.rounds


@dataclass(frozen=True, slots=True)
class _End:
    """How many rounds there were, which rule ended them, and what was found of the tracked figures."""

    rounds: int
    by: str
    windows: Mapping[str, Window]

    @property
    def steady(self) -> bool:
        return bool(self.windows) and all(each.steady for each in self.windows.values())


def find(group: Sequence[Member], fill: Callable[[int], None], size_bytes: int) -> list[Found]:
    """A row for each point of one group of rounds: the means over the last window; its last series goes to its folder.

    If a round of a point failed, all rows have its error.

    Args:
        fill: writes the target so many times in sequence; called before the first round.
        size_bytes: of what is loaded of the target.

    Raises:
        As their `measure` and `fill`; whatever is raised, the rounds that were done are kept.
    """
    rounds = group[0].rounds
    probes = {one.point.name: Probes(one.folder, one.measure, tell=one.tell) for one in group}
    if rounds.fill and not any(each.known for each in probes.values()):
        fill(rounds.fill)
    rows: list[dict[str, Result]] = []
    try:
        end = _go(rounds, [one.point for one in group], probes, rows, size_bytes)
    except FailedError as failed:
        error = f"{failed.result.point}: {failed.result.error}"
        return [(_failed(failed.result, one.point, error), {}) for one in group]
    return [_row(one, probes[one.point.name], rows, end) for one in group]


def _failed(result: Result, point: Point, error: str) -> Result:
    """The row of a point whose group failed with that result: what was asked is its own."""
    streams = [stream.to_json() for stream in point.streams]
    return replace(
        *(result,),
        role="point",
        point=point.name,
        profile=point.profile_name,
        workload=streams[0] if len(streams) == 1 else streams,
        total=Flow(),
        read=Flow(),
        write=Flow(),
        error=error,
        findings=(),
    )


def _go(
    rounds: Rounds,
    points: Sequence[Point],
    probes: Mapping[str, Probes],
    rows: list[dict[str, Result]],
    size_bytes: int,
) -> _End:
    """Round after round into `rows`, until one rule ends them. Raises FailedError."""
    written_bytes = 0.0
    while True:
        number = len(rows) + 1
        done = {point.name: probes[point.name].ask(_probe(point, number)) for point in points}
        rows.append(done)
        written_bytes += sum((row.write.bytes_per_s or 0.0) * (row.runtime_ns or 0) / 1e9 for row in done.values())
        windows = {}
        if number >= rounds.window:
            last = rows[-rounds.window :]
            windows = {name: window([_figure(rounds, row[name]) for row in last]) for name in rounds.tracked(done)}
        end = _End(number, "steady", windows)
        if end.steady:
            return end
        if rounds.written is not None and written_bytes >= rounds.written * size_bytes:
            return replace(end, by="written")
        if number >= rounds.most:
            return replace(end, by="rounds")


def _probe(point: Point, number: int) -> Point:
    """The plain point of one round."""
    return replace(point, name=f"{point.name}-round{number}", rounds=None)


def _figure(rounds: Rounds, row: Result) -> float:
    figure = row.total.iops if rounds.figure == "rate" else row.total.latency_mean_ns
    assert figure is not None, "a row without an error has figures"
    return figure


def _row(member: Member, probes: Probes, rows: Sequence[Mapping[str, Result]], end: _End) -> Found:
    rounds, point = member.rounds, member.point
    shown = [each[point.name] for each in rows[-rounds.window :]]
    last = shown[-1]
    histograms = [probes.histograms(row.point) for row in shown]
    reads, writes = ([one[way] for one in histograms if way in one] for way in ("read", "write"))
    copy_series(probes.known[last.point], member.folder)
    row = replace(
        *(last,),
        role="point",
        point=point.name,
        started_at=shown[0].started_at,
        total=pooled([row.total for row in shown], [*reads, *writes]),
        read=pooled([row.read for row in shown], reads),
        write=pooled([row.write for row in shown], writes),
        runtime_ns=sum(row.runtime_ns or 0 for row in shown),
        iops_ci95=None,
        latency_mean_ci95_ns=None,
        steady=end.steady,
        ended_by=end.by,
        findings=tuple(_findings(rounds, point, shown, end)),
        provenance={**last.provenance, "rounds": _provenance(rounds, rows, end)},
    )
    merged = {way: _merged(several) for way, several in (("read", reads), ("write", writes)) if several}
    return row, merged


def _merged(several: Sequence[Histogram]) -> Histogram:
    whole = several[0]
    for one in several[1:]:
        whole = whole.merged(one)
    return whole


def _provenance(rounds: Rounds, rows: Sequence[Mapping[str, Result]], end: _End) -> dict[str, Any]:
    tracked = {
        name: {
            "figures": [_figure(rounds, row[name]) for row in rows],
            "excursion_fraction": None if name not in end.windows else end.windows[name].excursion_fraction,
            "slope_fraction": None if name not in end.windows else end.windows[name].slope_fraction,
        }
        for name in rounds.tracked(rows[0])
    }
    return {"name": rounds.name, "rounds": end.rounds, "window": rounds.window, "tracked": tracked}


def _findings(rounds: Rounds, point: Point, shown: Sequence[Result], end: _End) -> list[dict[str, Any]]:
    run = shown[-1].run
    # Of what each round says a little differently the last is enough.
    found = {str(one.get("check")): {**one, "point": point.name} for row in shown for one in row.findings}
    if not end.steady:
        why = {
            "rounds": f"after {end.rounds} rounds",
            "written": f"after {rounds.written:g} times the target's size was written" if rounds.written else "",
        }[end.by]
        worst = max((each.excursion_fraction for each in end.windows.values()), default=0.0)
        steepest = max((each.slope_fraction for each in end.windows.values()), default=0.0)
        message = f"not steady {why}: what is tracked still changed by {worst:.0%}, with a slope of {steepest:.0%}"
        numbers = {"excursion_fraction": round(worst, 4), "slope_fraction": round(steepest, 4)}
        remedy = "SNIA allows 20 % and 10 %. Look at the rounds (--json, `probes`), or run more of them."
        found["steady"] = {**finding(point, "steady", "warning", message, numbers, remedy), "run": run}
    message = "loadline sent no purge, which SNIA's tests begin with"
    remedy = "Purge by hand before each test, and say so: --declare purged=format."
    found["purge"] = {**finding(point, "purge", "note", message, {}, remedy), "run": run}
    return list(found.values())
