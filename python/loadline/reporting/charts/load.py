"""Response against load: the curve of a profile whose load was swept or searched, with saturation, knee and limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loadline.reporting.charts.frame import scale, source, ticks
from loadline.reporting.charts.panel import Panel, chart_of, told_apart
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import count
from loadline.result.schema import Result
from loadline.workload.limit import parse_limit

# More lines than that in one panel can't be told apart.
_MOST_LINES = 6

_HEIGHT = 300

# Of the width and the height of the paper: nearer to each other labels lie on one another.
_APART = 0.045, 0.06

# Labels of load lines nearer than that share of the axis would touch.
_NEAR = 0.15

# So far to the left of the axis a label has no room on that side.
_ROOM = 0.3

# From so many answers on a curve has a knee.
_KNEE = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """Rows of one profile from one source, in order of load; `line` is the one at the load line."""

    profile: str
    source: str
    rows: tuple[Result, ...]
    line: Result | None

    @property
    def knee(self) -> Result | None:
        """Where throughput over response is largest, beyond which more load mostly waits; of a few rows unknown."""
        if len(self.rows) < _KNEE:
            return None
        return max(self.rows, key=lambda row: (row.total.iops or 0.0) / (row.total.latency_mean_ns or 1.0))


def curves(results: Sequence[Result]) -> list[Curve]:
    """A curve for each profile and source that has answers at two loads or more."""
    return curves_by(zip(results, source(results), strict=True))


def curves_by(told: Iterable[tuple[Result, str]]) -> list[Curve]:
    """The same of rows with the names of their sources."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result, origin in told:
        if result.total.iops and result.total.latency_mean_ns and result.error is None:
            axis = "rate" if result.offered_per_s is not None else "outstanding"
            found.setdefault((result.profile or result.point, origin, axis), []).append(result)
    kept = []
    for (profile, origin, _), rows in found.items():
        # Of a search the row that is its answer is among the probes too.
        by_load = {load_of(row): row for row in sorted(rows, key=lambda row: row.role == "point")}
        if len(by_load) > 1:
            line = next((row for row in rows if row.limit and row.role == "point"), None)
            kept.append(Curve(profile, origin, tuple(by_load[load] for load in sorted(by_load)), line))
    return kept


def load_of(row: Result) -> float:
    """The load of a row on its axis: the rate offered, or the outstanding I/Os asked for."""
    return row.offered_per_s if row.offered_per_s is not None else float(row.outstanding_asked or 0)


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a profile; its curves beside each other, at most six."""
    return panels_of(curves(contents.results), palette)


def panels_of(drawn: Sequence[Curve], palette: Palette) -> list[Panel]:
    """The same of any curves."""
    by_profile: dict[str, list[Curve]] = {}
    for curve in drawn:
        by_profile.setdefault(curve.profile, []).append(curve)
    panels = []
    for profile, several in by_profile.items():
        for first in range(0, len(several), _MOST_LINES):
            shown = several[first : first + _MOST_LINES]
            part = f", {first + 1} to {first + len(shown)}" if len(several) > _MOST_LINES else ""
            data = {"answers": _answers(shown), **_marks(shown)}
            layers = [*_lines(data["answers"], palette, named=len(shown) > 1), *_marked(data, palette)]
            panels.append(Panel(f"Response against load: {profile}{part}", layers, data, _HEIGHT, _note(shown)))
    return panels


def _note(several: Sequence[Curve]) -> str:
    if len(several) > 1:
        return "◇ knee, ○ load line with its IOPS"
    of_rate = several[0].rows[0].offered_per_s is not None
    return "numbers at dots: " + ("I/Os offered a second" if of_rate else "I/Os outstanding")


def _answers(several: Sequence[Curve]) -> list[dict[str, Any]]:
    values = []
    for curve in several:
        labelled = _labelled(curve.rows)
        for row in curve.rows:
            load = f"{load_of(row):,.0f}" if load_of(row) >= 100 else f"{load_of(row):.3g}"
            said = load if load_of(row) in labelled else ""
            ms = (row.total.latency_mean_ns or 0.0) / 1e6
            values.append(
                {
                    "source": curve.source,
                    "iops": row.total.iops,
                    "ms": ms,
                    "load": load,
                    "said": said,
                    "order": load_of(row),
                }
            )
    return values


def _labelled(rows: Sequence[Result]) -> set[float]:
    """Loads whose label has room beside the one before, by where they lie on the paper."""
    widest = max(row.total.iops or 0.0 for row in rows)
    highest = max(row.total.latency_mean_ns or 0.0 for row in rows)
    kept: list[tuple[float, float]] = []
    loads = set()
    for row in rows:
        at = (row.total.iops or 0.0) / widest, (row.total.latency_mean_ns or 0.0) / highest
        if all(abs(at[0] - x) > _APART[0] or abs(at[1] - y) > _APART[1] for x, y in kept):
            kept.append(at)
            loads.add(load_of(row))
    return loads


def _lines(values: Sequence[dict[str, Any]], palette: Palette, *, named: bool) -> list[alt.Chart]:
    means: list[float] = [value["ms"] for value in values]
    base = chart_of("answers").encode(
        x=alt.X("iops:Q", title="I/Os a second", axis=alt.Axis(**ticks([], 6)), scale=alt.Scale(zero=True)),
        y=alt.Y(
            "ms:Q", title="mean response, ms", scale=alt.Scale(**scale(means)), axis=alt.Axis(**ticks(means, 6, "~r"))
        ),
        tooltip=[
            *([alt.Tooltip("source:N")] if named else []),
            alt.Tooltip("load:N", title="load"),
            alt.Tooltip("iops:Q", title="IOPS", format=",.0f"),
            alt.Tooltip("ms:Q", title="mean, ms", format=",.3~f"),
        ],
    )
    if named:
        base = told_apart(base, "source", [value["source"] for value in values], palette)
    colour: dict[str, Any] = {} if named else {"color": palette.read}
    layers: list[alt.Chart] = [
        base.mark_line(**colour).encode(order=alt.Order("order:Q"), detail=alt.Detail("source:N"), shape=alt.Undefined),
        base.mark_point(filled=True, size=45, opacity=1, **colour),
    ]
    if not named:
        layers.append(base.mark_text(dy=14, fontSize=10, color=palette.quiet).encode(text=alt.Text("said:N")))
    return layers


def _marks(several: Sequence[Curve]) -> dict[str, list[dict[str, Any]]]:
    """Saturations, limits, knees and load lines, with their words."""
    named = len(several) > 1
    highest = max(row.total.iops or 0.0 for curve in several for row in curve.rows)
    found: dict[str, list[dict[str, Any]]] = {"saturation": [], "limit": [], "knee": [], "line": []}
    for limit in dict.fromkeys(curve.line.limit for curve in several if curve.line is not None and curve.line.limit):
        asked = parse_limit(limit)
        if asked.statistic == "mean":
            found["limit"].append({"ms": asked.bound_ns / 1e6, "said": f"limit {limit}"})
    # The axis goes on to saturation where that is further.
    widest = max(highest, *(0.0 if named else row.saturation_iops or 0.0 for curve in several for row in curve.rows))
    for curve in several:
        line, knee = curve.line, curve.knee
        known = next((row for row in (line, *curve.rows) if row and row.saturation_iops), None)
        saturation = None if known is None else known.saturation_iops
        if saturation and not named:
            where = f" at {known.saturation_outstanding} outstanding" if known and known.saturation_outstanding else ""
            found["saturation"].append({"iops": saturation, "said": f"saturation {count(saturation)}{where}"})
        at_line = knee is not None and line is not None and load_of(knee) == load_of(line)
        if knee is not None:
            found["knee"].append(_dot(knee, "" if named or at_line else f"knee {count(knee.total.iops)}", widest))
        if line is not None and line.total.iops:
            rate = count(line.total.iops)
            part = f", {line.total.iops / saturation:.0%}" if saturation else ""
            said = rate if named else f"{'knee and ' * at_line}load line {rate}{part}"
            # Of neighbours one stands above its dot, the next below.
            near = [mark for mark in found["line"] if abs(mark["iops"] - line.total.iops) < _NEAR * highest]
            found["line"].append({**_dot(line, said, widest), "below": len(near) % 2})
    return {kind: marks for kind, marks in found.items() if marks}


def _marked(data: Mapping[str, Any], palette: Palette) -> list[alt.Chart]:
    """Rules for limit and saturation, rings for knee and load line, with the words beside them."""
    layers = []
    if "limit" in data:
        at = chart_of("limit").encode(y=alt.Y("ms:Q"))
        layers.append(at.mark_rule(strokeDash=[5, 4], color=palette.alarm))
        layers.append(at.mark_text(x=6, align="left", dy=-6, color=palette.ink).encode(text=alt.Text("said:N")))
    if "saturation" in data:
        at = chart_of("saturation").encode(x=alt.X("iops:Q"))
        layers.append(at.mark_rule(strokeDash=[2, 3], color=palette.quiet))
        layers.append(
            at.mark_text(y=_HEIGHT - 10, align="right", dx=-5, color=palette.ink).encode(text=alt.Text("said:N"))
        )
    # A load line lies just below its limit, and its label keeps clear of both.
    for kind, shape, above in (("knee", "diamond", -8), ("line", "circle", -16)):
        if kind in data:
            at = chart_of(kind).encode(x=alt.X("iops:Q"), y=alt.Y("ms:Q"))
            layers.append(at.mark_point(shape=shape, size=170, strokeWidth=2, opacity=1, color=palette.ink))
            text = at.mark_text(
                align=alt.ExprRef("datum.left ? 'left' : 'right'"),
                dx=alt.ExprRef("datum.left ? 12 : -12"),
                dy=alt.ExprRef(f"datum.below || datum.left ? 18 : {above}"),
                color=palette.ink,
                fontWeight="bold",
            )
            layers.append(text.encode(text=alt.Text("said:N")))
    return layers


def _dot(row: Result, said: str, highest: float) -> dict[str, Any]:
    iops = row.total.iops or 0.0
    return {"iops": iops, "ms": (row.total.latency_mean_ns or 0.0) / 1e6, "said": said, "left": iops < _ROOM * highest}
