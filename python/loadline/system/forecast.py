"""Forecasts: what a system carries at the asked load, at saturation, and at its load line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from loadline.errors import InputError
from loadline.result.schema import Result
from loadline.system import rule, simulate, solve
from loadline.system.asked import CURVE_ROWS, PLAIN_ROWS, Asked, check_rows, pairs, points_of
from loadline.system.description import System, load_system, unroll
from loadline.system.effort import effort
from loadline.system.pool import Listener
from loadline.system.row import beside
from loadline.workload.limit import Limit, Ramp, parse_limit
from loadline.workload.plan import Options, Point
from loadline.workload.profile import Closed, Open

Method: TypeAlias = Literal["solve", "simulate", "rule"]

#: The accepted limit of midrange systems, by the field report on the EVA v.2.
DEFAULT_LIMIT = "mean<=30ms"

_HIGHEST = 4096

# The search for a rate begins so many times below what is asked for, and at 1/s at the highest; models take so much.
_BELOW = 1024
_RATES_PER_S = 1e-6, 1e9


def forecast(
    system: str | Path | System,
    workload: Asked,
    *,
    limit: str | Limit | None = None,
    method: Method = "solve",
    settings: Sequence[str] = (),
    options: Options = Options(),
    explain: bool = False,
    curve: bool = False,
    seed: int | None = None,
    ios: int | None = None,
    until_precision: str | None = None,
    replications: int = 1,
    threads: int | None = None,
    listen: Listener | None = None,
) -> list[Result]:
    """What the system does with every point of the workload: at the load that it asks for, and at the load line.

    A ramp has a row at its load line only. Any other point has a row at its own load and, with the same name and a
    `limit`, one at the load line of the same profile. The next load, which fails, is a row of role `probe`.

    Args:
        system: a name of the catalog, the path of a TOML file, or a System.
        workload: a suite's name, path or itself; a Workload, or several that run together; or points of a plan.
        limit: the condition of load lines, such as `mean<=30ms` or `30ms`, which means the same; else a ramp's own,
            and `mean<=30ms` of other points.
        method: `solve` for means at once, `simulate` for percentiles and confidence intervals, `rule` for the rule of
            thumb of the report on the EVA v.2, which knows load lines only.
        settings: `pool.drives=84:336:42`, `volume.layout=raid5,raid10`; several make all combinations.
        options: what to change of a suite.
        explain: put the working, a line a step, into each row's provenance; of `solve` and `rule` only.
        curve: add rows of role `probe` along the curve of response against load; of `solve`, as `simulate` has them.
        seed, ios, until_precision, replications: as of `simulate`, for that method only.
        threads, listen: as of `simulate`.

    Returns:
        Rows in the order of settings, then points. A point that can't be answered is a row with an error.

    Raises:
        InputError: nothing can be answered: no such system or suite, a key or a value that can't be, or one that the
            method has no use for.
    """
    if method not in get_args(Method):
        raise InputError(f"there is no method {method!r}", f"Methods: {', '.join(get_args(Method))}.")
    if method == "simulate":
        if explain:
            raise InputError("a simulation has no working to --explain", "Leave it out, or take --method solve.")
    else:
        words = {"--ios": ios, "--until-precision": until_precision, "--seed": seed}
        given = [word for word, value in words.items() if value is not None]
        given += ["--replications"] if replications != 1 else []
        if given:
            raise InputError(f"{given[0]} is for simulations", "Add --method simulate.")
    asked_limit = limit if limit is None or isinstance(limit, Limit) else parse_limit(limit)
    if method == "solve" and asked_limit is not None and asked_limit.statistic != "mean":
        raise InputError(f"the solver knows means only, no {asked_limit}", "Simulate it: --method simulate.")
    suite, points = points_of(workload, options, 1 if seed is None else seed)
    systems = unroll(load_system(system), settings)
    check_rows(len(systems) * len(points), CURVE_ROWS if curve else PLAIN_ROWS)
    if asked_limit is not None:
        without = [point for point in points if not _has(point, asked_limit)]
        # Others of a suite have load lines.
        refused = without if len(without) == len(points) else [point for point in without if point.ramp is not None]
        if refused:
            message = f"{refused[0].name} has no {asked_limit.of}, which {asked_limit} limits"
            raise InputError(message, "Limit what it has, or leave it out.")
    lines = [_with_limit(point, asked_limit) for point in points]
    if method == "rule":
        return rule.answers(pairs(systems, [line for line in lines if line]), suite, explain=explain)
    both = [
        each
        for point, line in zip(points, lines, strict=True)
        for each in ((point, line) if point.ramp is None else (line,))
        if each is not None
    ]
    asked = pairs(systems, both)
    if method == "solve":
        results = solve.answers(asked, suite, explain=explain, curve=curve, threads=threads, listen=listen)
    else:
        results = simulate.answers(asked, suite, effort(ios, until_precision, replications), threads, listen)
    return _beside(results, {point.name: point for point in points})


def _beside(results: Sequence[Result], points: Mapping[str, Point]) -> list[Result]:
    """The rows; load lines with what is doubtful of them beside the row before, the answer to the asked load."""
    told = list(results)
    for number, (asked, line) in enumerate(pairwise(results), 1):
        same = asked.limit is None and (asked.point, asked.tags) == (line.point, line.tags)
        if same and line.limit is not None and line.error is None:
            known = {(one["check"], one["severity"]) for one in line.findings}
            doubts = beside(points[line.point], line, [asked], parse_limit(line.limit))
            more = [one for one in doubts if (one["check"], one["severity"]) not in known]
            told[number] = replace(line, findings=(*line.findings, *more))
    return told


def _has(point: Point, limit: Limit) -> bool:
    """Whether any of the point's I/Os goes the way that is limited."""
    reads = [stream.profile.read_fraction for stream in point.streams]
    return {"all": True, "reads": max(reads) > 0, "writes": min(reads) < 1}[limit.of]


def _with_limit(point: Point, limit: Limit | None) -> Point | None:
    """The ramp that finds the point's load line.

    None of a best depth, of closed and open streams together, and of I/Os of which none goes the way that is limited.
    """
    if point.best is not None or (limit is not None and not _has(point, limit)):
        return None
    if point.ramp is not None:
        return point if limit is None else replace(point, ramp=replace(point.ramp, limit=limit))
    limit = limit or parse_limit(DEFAULT_LIMIT)
    first = point.streams[0].arrival
    if any(type(stream.arrival) is not type(first) for stream in point.streams):
        return None
    if isinstance(first, Open):
        lowest, highest = _RATES_PER_S
        lowest = max(lowest, min(1.0, first.rate_per_s / _BELOW))
        arrivals = [stream.arrival for stream in point.streams]
        swings = [one.bursts.times for one in arrivals if isinstance(one, Open) and one.bursts is not None]
        return replace(point, ramp=Ramp(limit, "rate", lowest, highest / max(swings, default=1.0)))
    assert isinstance(first, Closed), "an arrival is open or closed"
    return replace(point, ramp=Ramp(limit, "outstanding", 1, _HIGHEST))
