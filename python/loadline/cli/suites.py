"""`loadline suites [NAME]`."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from loadline.cli import choice, output
from loadline.errors import InputError, LoadlineError
from loadline.measuring import fio
from loadline.measuring.open_load import as_sent
from loadline.reporting.export import envelope
from loadline.reporting.table import Group, Table
from loadline.units import format_percent, format_range
from loadline.workload.dialects import fio_job
from loadline.workload.plan import Point, make_plan
from loadline.workload.profile import Arrival, Open, Profile
from loadline.workload.suite import Suite, load_suite, nearest, suite_names

# Of a target that isn't there, where its size matters: only for looking at.
_ASSUMED_BYTES = 1 << 40


@click.command("suites")
@click.argument("name", required=False, shell_complete=choice.complete_suite)
@choice.point_options
@click.option("--fio", "as_fio", is_flag=True, help="Print it as one fio job file.")
@click.option("--point", metavar="NAME", help="Print exactly what this point runs, as a fio job file.")
@output.common
def command(
    name: str | None,
    as_fio: bool,
    point: str | None,
    as_json: bool,
    size: str | None,
    engine: str | None,
    seed: int | None,
    each_section: bool,
    **options: Any,
) -> None:
    """List the suites, or explain one: NAME, a name of HCIBench, or the path of TOML or of a file of fio, Iometer or
    vdbench.

    The options are those of `run` and show what it would do. fio is given the target beside the job:
    fio --filename=TARGET JOBFILE.
    """
    if name is None:
        if as_fio or point:
            raise InputError("--fio and --point need the NAME of a suite", "`loadline suites` lists them.")
        _list(as_json)
        return
    suite, findings = choice.suite(name, each_section=each_section)
    points = make_plan(suite, choice.read(**options), seed)
    if point is not None:
        known = [one.name for one in points]
        if point not in known:
            raise InputError(
                f"suite {suite.name} has no point {point!r}", nearest(point, known, f"Points: {', '.join(known)}.")
            )
        points = tuple(one for one in points if one.name == point)
    job, size_bytes = None, choice.size(size)
    if as_fio or point is not None:
        engine = _engine(engine, points)
        points = tuple(as_sent(one).logged for one in points)
        points = choice.unrolled(points, "a job file")
        if size_bytes is None and fio_job.needs_size(points):
            size_bytes = _ASSUMED_BYTES
            output.warn(f"{suite.name} parts the target: written for one of 1 TiB, for --size isn't given.")
        job = fio_job.write(points, engine=engine, size_bytes=size_bytes)
    if as_json:
        output.document(envelope(suites=[_as_json(suite, points)], findings=findings))
    elif job is not None:
        if seed is None:
            job = f"; without --seed a run draws randseed and records it\n{job}"
        if size is None and size_bytes is not None:
            job = f"; for a target of 1 TiB; --size says another\n{job}"
        output.say(job.rstrip())
    else:
        _explain(suite, points)


def _engine(asked: str | None, points: tuple[Point, ...]) -> str:
    """What a run on this machine would take. InputError where it would refuse what is asked."""
    if asked is not None:
        fio.check_engine(asked, points)
        return asked
    try:
        return fio.find(None, Path(tempfile.gettempdir()), 512, points).engine
    except LoadlineError:
        return fio_job.DEFAULT_ENGINE


def _list(as_json: bool) -> None:
    suites = [load_suite(name)[0] for name in suite_names()]
    if as_json:
        output.document(envelope(suites=[_as_json(suite, ()) for suite in suites]))
        return
    rows = tuple((suite.name, suite.title, str(sum(not e.variant for e in suite.entries))) for suite in suites)
    output.show(Table(("suite", "what it is", "profiles"), (Group("", rows),), frozenset({0, 1})))


def _explain(suite: Suite, points: tuple[Point, ...]) -> None:
    output.say(f"{suite.name}: {suite.title}")
    if suite.source:
        output.say(output.wrapped(f"Source: {suite.source}"))
    if suite.analysis:
        output.say("\n" + output.wrapped(suite.analysis) + "\n")
    rows = tuple(row for point in points for row in _rows(point))
    heads = ("point", "block", "read/\nwrite %", "random\n%", "class", "depth x\njobs", "time")
    output.show(Table(heads, (Group("", rows),), frozenset({0, 4})))
    profiles: dict[str, list[Profile]] = {}
    for point in points:
        for stream in point.streams:
            profiles.setdefault(stream.profile.name, []).append(stream.profile)
    for name, swept in profiles.items():
        touched = list(dict.fromkeys(profile.working_set_text() for profile in swept))
        where = touched[0] if len(touched) == 1 else f"{touched[0]}, ... {touched[-1]}"
        said = f"{swept[0].analysis} {f'It touches {where}.' if where else ''}".strip()
        if said:
            output.say(output.wrapped(f"{name}: {said}", indent="  "))


def _rows(point: Point) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    turn = "" if point.rounds is None else f" x {point.rounds.window} to {point.rounds.most}"
    for stream in point.streams:
        profile, arrival = stream.profile, stream.arrival
        load = _search(point, arrival) if point.searches else _load(arrival, shared=point.shared)
        name = point.name if len(point.streams) == 1 else f"{point.name}: {profile.name}"
        rows.append(
            (
                *(name, profile.block_text(), profile.mix_text(), format_percent(profile.random_fraction).rstrip("%")),
                *(profile.access_class, load, _time(point) + turn),
            )
        )
    return rows


def _time(point: Point) -> str:
    """Of a measurement: how many probes a search takes is known only at its end."""
    with suppress(InputError):
        point = as_sent(point)
    each = format_range(point.least_ns / point.least_times, point.expected_ns / point.times)
    return f"{each} a probe" if point.searches else each


def _search(point: Point, arrival: Arrival) -> str:
    jobs = f" x {arrival.jobs}" if point.best and arrival.jobs > 1 else ""
    return f"{point.ramp or point.best}{jobs}"


def _load(arrival: Arrival, *, shared: bool) -> str:
    load = f"{arrival.queue_depth} x {arrival.jobs}"
    if isinstance(arrival, Open):
        swing = "" if arrival.bursts is None else f" in bursts of {arrival.bursts.times:g} x"
        # Where many jobs share the rate, nobody asks for those of the suite.
        return f"{arrival.rate_per_s:g}/s{swing}{'' if shared else f', at most {load}'}"
    return load


def _as_json(suite: Suite, points: tuple[Point, ...]) -> dict[str, Any]:
    return {
        "name": suite.name,
        "title": suite.title,
        "source": suite.source,
        "analysis": suite.analysis,
        "profiles": [entry.name for entry in suite.entries],
        "points": [point.to_json() for point in points],
    }
