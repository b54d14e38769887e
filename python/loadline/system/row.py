"""The row of a point that a model answered: what was asked, whatever answered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from loadline.errors import InputError
from loadline.result.schema import Flow, Origin, Result
from loadline.system.description import System
from loadline.system.load_line import LoadLine
from loadline.workload.plan import Point
from loadline.workload.profile import Open


def row(system: System, point: Point, suite: str | None, origin: Origin, **figures: Any) -> Result:
    """A Result of `point` on `system`, with `figures` as its other fields."""
    arrivals = [stream.arrival for stream in point.streams]
    depths = {arrival.queue_depth for arrival in arrivals if not isinstance(arrival, Open)}
    rates = [arrival.rate_per_s for arrival in arrivals if isinstance(arrival, Open)]
    streams = [stream.to_json() for stream in point.streams]
    asked: dict[str, Any] = {
        "point": point.name,
        "origin": origin,
        "system": system.name,
        "tags": dict(system.settings),
        "suite": suite,
        "profile": point.profile_name,
        "access_class": point.access_class,
        "workload": streams[0] if len(streams) == 1 else streams,
        "jobs": sum(arrival.jobs for arrival in arrivals),
        "queue_depth": depths.pop() if len(depths) == 1 and not rates else None,
        "outstanding_asked": None if rates else sum(stream.outstanding for stream in point.streams),
        "offered_per_s": sum(rates) if len(rates) == len(arrivals) else None,
        "limit": None if point.ramp is None else str(point.ramp.limit),
    }
    return Result(**{**asked, **figures})


def refused_row(system: System, point: Point, suite: str | None, origin: Origin, refusal: InputError) -> Result:
    """The row of a point that can't be answered."""
    # Which system it was stands in the row already.
    message = refusal.message.removeprefix(f"{system.said}: ").removeprefix(f"{point.name}: ")
    error = f"{message}. {refusal.remedy}" if refusal.remedy else message
    return row(system, point, suite, origin, error=error, ended_by="error")


def finding(
    point: Point, check: str, severity: str, message: str, numbers: Mapping[str, float], remedy: str
) -> dict[str, Any]:
    """What is doubtful about a row, as `--json` shows it."""
    return {
        "check": check,
        "severity": severity,
        "run": "",
        "point": point.name,
        "message": message,
        "numbers": dict(numbers),
        "remedy": remedy,
    }


def busiest(components: Mapping[str, float]) -> str | None:
    """The component of the highest utilisation; of equal ones the first."""
    return max(components, key=components.__getitem__, default=None)


def load_line_rows(point: Point, line: LoadLine[Any, Result], saturation_iops: float | None = None) -> list[Result]:
    """The row at the load line, then the probes in order of load, the line's own left out.

    Without a `saturation_iops` it is the highest rate of all probes.
    """
    ramp = point.ramp
    assert ramp is not None, "only ramps have load lines"
    limit = str(ramp.limit)
    probes = [replace(probe.answer, role="probe", limit=limit) for probe in line.probes if probe is not line.highest]
    rates = [probe.answer.total.iops for probe in line.probes if probe.answer.total.iops is not None]
    saturation_iops = max(rates, default=None) if saturation_iops is None else saturation_iops
    found: dict[str, Any] = {
        "axis": ramp.axis,
        "load": line.highest and line.highest.load,
        "next": line.next and line.next.load,
        "monotone": line.monotone,
    }
    if line.highest is None:
        lowest = line.probes[0].answer
        error = lowest.error or f"not even the lowest load, {ramp.low:g}, keeps {limit}"
        at_line = replace(lowest, total=Flow(), read=Flow(), write=Flow(), error=error, outstanding_asked=None)
    else:
        at_line = line.highest.answer
    findings = at_line.findings
    if not line.monotone:
        message = f"a higher load than the first that fails keeps {limit} again: the curve isn't monotone"
        findings += (finding(point, "load-line", "warning", message, {}, "Look at the probes (--json)."),)
    if line.highest is not None and line.next is None:
        rate, outstanding = at_line.offered_per_s, at_line.outstanding_asked
        load = f"{outstanding:,} outstanding" if rate is None else f"{rate:,.0f} I/Os a second"
        message = f"{limit} is not reached within {load}, the highest load that was tried"
        findings += (finding(point, "load-line", "note", message, {}, "Take a lower limit: --limit."),)
    provenance = {**at_line.provenance, "load_line": found}
    return [
        replace(
            *(at_line,),
            point=point.name,
            limit=limit,
            saturation_iops=saturation_iops,
            findings=tuple({**one, "point": point.name} for one in findings),
            provenance=provenance,
        ),
        *probes,
    ]
