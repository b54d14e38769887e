"""The rule of thumb of the field report on the EVA v.2, for comparison and for teaching: docs/background/solver.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadline.errors import InputError
from loadline.result.schema import Flow, Result
from loadline.system.asked import streams_of
from loadline.system.description import System
from loadline.system.row import finding, refused_all, refused_row, row
from loadline.workload.limit import Limit
from loadline.workload.plan import Point

#: The only limit that the rule knows: where the report's array passed it, at 0.92 of its highest rate.
LIMIT = Limit("mean", 30 * 10**6)


def answers(asked: Sequence[tuple[System, Point]], suite: str | None, *, explain: bool = False) -> list[Result]:
    """The row at the load line of every pair, in order; what is outstanding there, the rule doesn't say.

    Raises:
        InputError: none of them can be answered; it says why the first can't.
    """
    results: list[Result] = []
    refusals: list[InputError] = []
    for system, point in asked:
        try:
            results.append(_row(system, point, suite, explain))
        except InputError as refusal:
            refusals.append(refusal)
            results.append(refused_row(system, point, suite, "rule", refusal))
    if refusals and len(refusals) == len(asked):
        raise refused_all(suite, refusals)
    return results


def _left_out(system: System, point: Point, limit: Limit) -> Iterator[tuple[str, str]]:
    """What the rule doesn't know, by severity."""
    if limit != LIMIT:
        yield "warning", f"the rule of thumb knows {LIMIT} only, so {limit} is left out of account"
    if any(stream.profile.random_fraction < 1 for stream in point.streams):
        yield "note", "the rule of thumb takes requests in sequence for random ones, of which disks do far fewer"
    if any(key == "cache.mode" and value != "off" for key, value, _ in system.figures()):
        yield "note", "the rule of thumb knows no cache: what the system's keeps or collects is left out of account"


def _row(system: System, point: Point, suite: str | None, explain: bool) -> Result:
    built = system.build(simulated=False)
    try:
        found = built.rule(streams_of(point, built))
    except ValueError as error:
        raise InputError(f"{system.said}: {point.name}: {': '.join(map(str, error.args))}") from None
    assert point.ramp is not None, "the rule is asked for load lines"
    findings = tuple(
        finding(point, "rule", severity, message, {}, "Use --method solve.")
        for severity, message in _left_out(system, point, point.ramp.limit)
    )
    return row(
        *(system, point, suite, "rule"),
        queue_depth=None,
        outstanding_asked=None,
        offered_per_s=None,
        total=Flow(iops=found.load_line_per_s),
        bottleneck="bandwidth" if found.saturation_per_s == found.bandwidth_per_s else "disks",
        saturation_iops=found.saturation_per_s,
        limit=str(LIMIT),
        findings=findings,
        provenance={"working": list(found.working)} if explain else {},
    )
