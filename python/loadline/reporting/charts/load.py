"""Response against load: the curve of a profile whose load was swept or searched, with saturation, knee and limit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import altair as alt

from loadline.reporting.charts.curve import Curve, curves, load_of, saturated
from loadline.reporting.charts.frame import parted
from loadline.reporting.charts.labels import (
    OFFS,
    PICTURE,
    ROOMS,
    Blot,
    Label,
    Spot,
    Stroke,
    along,
    anywhere,
    around,
    below,
    beside,
    placed,
)
from loadline.reporting.charts.panel import ROOM, Panel, chart_of, told_apart
from loadline.reporting.charts.paper import Leaving, Paper, Place, paper_for
from loadline.reporting.charts.theme import Palette
from loadline.reporting.contents import Contents
from loadline.reporting.table import count, lacking, listed, saturation_named
from loadline.result.schema import Result
from loadline.system.knee import Knee
from loadline.system.load_line import limited_response_ns
from loadline.units import short
from loadline.workload.limit import Limit

_HEIGHT = 320

# Half widths of marks in pixels: a dot, the ring of a load line and the diamond of a knee, a triangle at the edge.
_DOT, _RING, _TIP = 4.0, 9.0, 6.0

# A label without a place beside its mark stands no further off than so many pixels, on a chart of twice its height.
_FAR = 120.0

# Answers beyond the paper that are told one by one; of more, the first and the last.
_FEW = 6

_FITTED = "~: about, by a curve through the dots"

_MEAN = Limit("mean", 1)


def draw(contents: Contents, palette: Palette) -> list[Panel]:
    """A panel a profile, or several of many curves; above them what failed, or has no load line."""
    found = curves(contents.results)
    failed: dict[str, list[Result]] = {}
    for result in contents.results:
        if result.error is not None and result.role == "point":
            failed.setdefault(result.profile or result.point, []).append(result)
    drawn = [replace(one, source=", ".join(filter(None, (one.source, one.variant)))) for one in found]
    return panels_of(drawn, palette, failed)


def panels_of(
    drawn: Sequence[Curve],
    palette: Palette,
    failed: Mapping[str, Sequence[Result]] = {},
    compared: Collection[str] = (),
) -> list[Panel]:
    """The same of any curves, of whose profiles these have errors; sources that are compared stay together."""
    by_profile: dict[str, list[Curve]] = {}
    for curve in drawn:
        by_profile.setdefault(curve.profile, []).append(curve)
    panels = []
    for profile, several in by_profile.items():
        more = f"; {lacking(failed[profile], _FEW)}" if profile in failed else ""
        # The parts of many curves are on the same paper: they are to be compared.
        whole = _Sheet.of(several)
        for part, named in parted([curve.source for curve in several], compared):
            shown = [replace(several[number], source=name) for number, name in named.items()]
            panel = replace(whole, curves=shown).panel(f"Response against load: {profile}{part}", palette)
            panels.append(replace(panel, note=panel.note + more, of=profile, pictured=f"{panel.pictured}{more}"))
    return panels


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Curves on one paper. `limit` says which figure of the response is drawn; its bound is that of nobody."""

    curves: Sequence[Curve]
    limit: Limit
    paper: Paper

    @staticmethod
    def of(several: Sequence[Curve]) -> _Sheet:
        limits = [limit for curve in several for limit in curve.limits]
        figure = _figure(several, limits)
        bounds = [one.bound_ns / 1e6 for one in limits if _same(one, figure)]
        places = [[(row.total.iops or 0.0, _ms(row, figure)) for row in curve.rows] for curve in several]
        return _Sheet(several, figure, paper_for(places, bounds, _saturations(several)))

    def panel(self, title: str, palette: Palette) -> Panel:
        data = {"answers": self._answers(), **self._marks()}
        data["labels"] = list(self._labels(data))
        layers = [*self._lines(data["answers"], palette), *self._marked(data, palette)]
        filled = {name: rows for name, rows in data.items() if rows}
        at_all, pictured = (self._note(self._unsaid(data, rooms)) for rooms in (range(len(ROOMS)), [PICTURE]))
        return Panel(title, layers, filled, _HEIGHT, at_all, pictured=pictured)

    def _unsaid(self, data: dict[str, list[dict[str, Any]]], rooms: Sequence[int]) -> list[str]:
        """Labels without room in one of these ranges of widths. Of several curves the note has them."""
        if self.named:
            return []
        placed_in = Counter(label["said"] for label in data["labels"] if label["room"] in rooms)
        marks = [mark for kind in ("line", "knee", "saturation") for mark in data.get(kind, ()) if mark["said"]]
        dots, kept = self._loads(data)
        bare_loads = {dot.said[-1] for dot in dots if sum(placed_in[said] for said in dot.said) < len(rooms)}
        if len(bare_loads) > _FEW:
            bare_loads &= {dot.said[-1] for dot in dots[:kept]}
        bare = [answer["at"] for answer in data["answers"] if answer["at"] in bare_loads]
        return [
            *(one["said"] for one in marks if placed_in[one["said"]] + placed_in[one.get("short")] < len(rooms)),
            *([f"{'on narrow screens ' * (len(rooms) > 1)}without their number: {', '.join(bare)}"] if bare else []),
        ]

    @property
    def named(self) -> bool:
        """Whether there are several curves, so that a legend names them."""
        return len(self.curves) > 1

    def place(self, row: Result) -> Place:
        """Of a row, on the axes."""
        return row.total.iops or 0.0, _ms(row, self.limit)

    def touched(self, curve: Curve, knee: Knee) -> Place:
        """Of a knee. A fit knows mean responses; another figure is taken from the rows beside it."""
        if knee.row is not None:
            return self.place(knee.row)
        if _same(self.limit, _MEAN):
            return knee.iops, knee.latency_mean_ns / 1e6
        row, above = next(
            (row, above) for row, above in pairwise(curve.rows) if load_of(row) < load_of(above) >= knee.load
        )
        share = math.log(knee.load / load_of(row)) / math.log(load_of(above) / load_of(row))
        return knee.iops, _ms(row, self.limit) ** (1 - share) * _ms(above, self.limit) ** share

    def places(self, curve: Curve) -> list[Place]:
        """Of all rows of a curve, as the line goes."""
        return [self.place(row) for row in curve.drawn]

    def _answers(self) -> list[dict[str, Any]]:
        return [
            {
                "source": curve.source,
                "iops": rate,
                "ms": response,
                "mean": (row.total.latency_mean_ns or 0.0) / 1e6,
                "load": _load(row),
                "at": _at(row),
                "unit": _unit(row),
                "order": number,
                "beyond": not self.paper.holds((rate, response)),
            }
            for curve in self.curves
            for number, (row, (rate, response)) in enumerate(zip(curve.drawn, self.places(curve), strict=True))
        ]

    def _marks(self) -> dict[str, list[dict[str, Any]]]:
        """Saturations, limits, knees, load lines and what lies beyond the paper."""
        found: dict[str, list[dict[str, Any]]] = {"saturation": [], "limit": [], "knee": [], "line": [], "beyond": []}
        for limit in dict.fromkeys(limit for curve in self.curves for limit in curve.limits):
            if _same(limit, self.limit):
                found["limit"].append({"ms": limit.bound_ns / 1e6, "said": f"limit {limit}"})
        for curve in self.curves:
            top = None if self.named else saturated(curve)
            if top is not None and top.saturation_iops:
                at = top.saturation_outstanding
                said = f"{saturation_named(top)} {count(top.saturation_iops)}"
                more = f"{said} at {at:,} outstanding" if at else said
                # Of one far beyond the paper only the words are there.
                far = " ▶" if top.saturation_iops > self.paper.x.high else ""
                found["saturation"].append(
                    {"iops": top.saturation_iops, "said": more + far, "short": said + far, "far": bool(far)}
                )
            knee = None if curve.knee is None else self.touched(curve, curve.knee)
            line = None if curve.line is None else self.place(curve.line)
            for kind, place in (("knee", knee), ("line", line)):
                if place is not None and self.paper.holds(place):
                    rate, response = place
                    said, brief = self._said(kind, curve)
                    found[kind].append({"iops": rate, "ms": response, "said": said, "short": brief})
            for leaving in self.paper.leaving(self.places(curve)):
                found["beyond"].append(self._left(curve, leaving))
        return {kind: marks for kind, marks in found.items() if marks}

    def _said(self, kind: str, curve: Curve) -> tuple[str, str]:
        """The words at a knee or a load line, and fewer; one label for both where they are the same row."""
        line, knee = curve.line, curve.knee
        both = line is not None and knee is not None and load_of(line) == knee.load
        if kind == "knee":
            brief = "" if self.named or both or knee is None else f"knee {_about(knee)}{count(knee.iops)}"
            return brief and f"{brief} IOPS", brief
        assert line is not None, "a load line is marked"
        if self.named:
            return (count(line.total.iops),) * 2
        top, rate = saturated(curve), count(line.total.iops)
        what = f"{'knee and ' * both}load line"
        if top is None or not top.saturation_iops:
            return f"{what} {rate} IOPS", f"{what} {rate}"
        share, of = f"{(line.total.iops or 0.0) / top.saturation_iops:.0%}", saturation_named(top)
        whole = of if of == "saturation" else f"the {of}"
        return f"{what} {rate} IOPS, {share} of {whole}", f"{what} {rate}, {share}"

    def _left(self, curve: Curve, leaving: Leaving) -> dict[str, Any]:
        rows = [curve.drawn[number] for number in leaving.beyond]
        up = leaving.y >= 1
        number = f"{len(rows)} beyond"
        return {
            "source": curve.source,
            "iops": self.paper.x.value(leaving.x),
            "ms": self.paper.y.value(leaving.y),
            "up": up,
            "number": number,
            "said": "" if self.named else f"{number}, to {short(max(_ms(row, self.limit) for row in rows))} ms",
            "which": "; ".join(self._told(row) for row in rows),
        }

    def _told(self, row: Result) -> str:
        return f"{_load(row)}: {count(row.total.iops)} IOPS, {short(_ms(row, self.limit))} ms"

    def _note(self, unsaid: Sequence[str]) -> str:
        """The line above the chart, with labels that have no room; last what is beyond, which nothing else follows."""
        rows = [row for curve in self.curves for row in curve.drawn if not self.paper.holds(self.place(row))]
        others = dict.fromkeys(limit for curve in self.curves for limit in curve.limits if not _same(limit, self.limit))
        unseen = "".join(f"; {one}" for one in (*unsaid, *(f"not drawn: limit {limit}" for limit in others)))
        if self.named:
            most = max((_ms(row, self.limit) for row in rows), default=0.0)
            probes = f"{len(rows)} answer{'s' * (len(rows) > 1)}"
            beyond = f"; beyond the chart (▲): {probes}, up to {short(most)} ms" if rows else ""
            lines = [
                f"{curve.source}: {count(curve.line.total.iops)}" for curve in self.curves if curve.line is not None
            ]
            knees = [(curve, curve.knee) for curve in self.curves if curve.knee is not None]
            fits = any(knee.row is None for _, knee in knees)
            told = [f"{curve.source}: {_about(knee)}{count(knee.iops)}" for curve, knee in knees]
            parts = [
                *self._along(),
                *([f"◇ knee: {', '.join(told)} IOPS" + f", {_FITTED}" * fits] if told else []),
                *([f"○ load line: {', '.join(lines)} IOPS"] if lines else []),
            ]
            return f"{'; '.join(parts)}{unseen}{beyond}".removeprefix("; ")
        per = "I/Os done a second" if self.curves[0].rows[0].offered_per_s is not None else "I/Os outstanding"
        told = [f"{_at(row)}{_unit(row) * (not n)} at {short(_ms(row, self.limit))} ms" for n, row in enumerate(rows)]
        if len(told) > _FEW:
            told = [*told[: _FEW - 1], f"{len(told) - _FEW} more", f"and {told[-1]}"]
        knee = self.curves[0].knee
        if knee is not None and not self.paper.holds(self.touched(self.curves[0], knee)):
            told.append(f"the knee {count(knee.iops)} IOPS")
        beyond = f"; beyond the chart: {', '.join(told)}" if told else ""
        luck = self._lucky()
        fit = f"; knee {_FITTED}" if knee is not None and knee.row is None else ""
        return f"each dot is a load, numbered by {per}{fit}{luck}{unseen}{beyond}"

    def _lucky(self) -> str:
        """Of a single curve, the dots on the wrong side of the limit for where its load line is."""
        line = self.curves[0].line
        against = set((line.provenance.get("load_line") or {}).get("against", ())) if line is not None else set()
        rows = [row for row in self.curves[0].rows if load_of(row) in against]
        return f"; by luck on that side of the limit: {', '.join(_at(row) for row in rows)}" if rows else ""

    def _along(self) -> list[str]:
        """Of several curves, which leave no room for numbers at dots, the loads that all of them have."""
        loads = {tuple(_load(row) for row in curve.drawn) for curve in self.curves}
        (first, *others) = loads
        if others or len(first) > _FEW + 2:
            return []
        offered = self.curves[0].rows[0].offered_per_s is not None
        per = "I/Os a second" if offered else "I/Os outstanding"
        return [f"dots along each line: {listed(first, len(first))} {per}"]

    def _labels(self, data: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
        """The texts with their places, for each range of widths."""
        labels = self._wanted(data)
        strokes, blots = list(self._strokes(data)), list(self._blots(data))
        for room in range(len(ROOMS)):
            found = placed(labels, strokes, blots, _HEIGHT, room)
            for label, place in zip(labels, found, strict=True):
                if place is not None:
                    said, spot = place
                    yield {
                        "room": room,
                        "said": said,
                        "iops": self.paper.x.value(spot.x),
                        "ms": self.paper.y.value(1 - spot.y / _HEIGHT),
                        "dx": spot.dx,
                        "dy": spot.dy,
                        "align": spot.align,
                        "bold": label.bold,
                        "size": label.size,
                        "quiet": label.quiet,
                    }

    def _wanted(self, data: dict[str, list[dict[str, Any]]]) -> list[Label]:
        """The labels, the most important first."""
        rings = [mark for kind in ("line", "knee") for mark in data.get(kind, ()) if mark["said"]]
        labels = [self._ringed(ring) for ring in rings]
        dots, kept = self._loads(data)
        labels += [
            Label((mark["said"],), along(self._down({"iops": self.paper.x.high, **mark})[1]))
            for mark in data.get("limit", ())
        ]
        labels += dots[:kept]
        labels += [
            Label((mark["said"], mark["short"]), beside(min(1.0, self.paper.x.at(mark["iops"])), _HEIGHT))
            for mark in data.get("saturation", ())
        ]
        labels += [
            Label((mark["said"], mark["number"]), around(self._down(mark), _TIP, OFFS))
            for mark in data.get("beyond", ())
            if mark["said"]
        ]
        return [*labels, *dots[kept:]]

    def _loads(self, data: dict[str, list[dict[str, Any]]]) -> tuple[list[Label], int]:
        """The loads at the dots of a single curve, and how many of them, the first ones, are to be there.

        These are the marked dots, those next to the load line, and the highest rate. Then come the first, the last and
        the others, where there's room.
        """
        shown = [] if self.named else [answer for answer in data["answers"] if not answer["beyond"]]
        places = {kind: {(mark["iops"], mark["ms"]) for mark in data.get(kind, ())} for kind in ("line", "knee")}
        at = [(answer["iops"], answer["ms"]) for answer in shown]
        ringed = {number for number, place in enumerate(at) if place in places["line"] | places["knee"]}
        lines = [number for number in ringed if at[number] in places["line"]]
        kept = ringed | {near for line in lines for near in (line - 1, line + 1)} | {at.index(max(at))} if at else set()
        order = sorted(range(len(at)), key=lambda n: (n not in ringed, n not in kept, 0 < n < len(at) - 1, n))
        labels = []
        for number in order:
            place, half = self._down(shown[number]), _RING if number in ringed else _DOT
            spots = [*below(place, half), *(around(place, half, OFFS) if number in kept else ())]
            said = shown[number]["at"]
            # One of them says what the numbers are.
            forms = (said + shown[number]["unit"], said) if number == (lines or [0])[0] else (said,)
            labels.append(Label(forms, spots, size=10, quiet=True, of=place))
        return labels, len(kept.intersection(order))

    def _ringed(self, ring: dict[str, Any]) -> Label:
        """Of several curves a label further off could be another's; of one that doubles back, another dot's."""
        place = self._down(ring)
        if self.named:
            return Label((ring["said"],), around(place, _RING, OFFS[:2]), bold=True)
        said, close = (ring["said"], ring["short"]), around(place, _RING, OFFS)
        return Label(said, self._near(ring), bold=True, of=place, close=close)

    def _near(self, mark: dict[str, Any]) -> list[Spot]:
        """Spots further off, then anywhere, the next ones first on a chart twice as wide as it's high."""
        x, y = self._down(mark)

        def off(spot: Spot) -> float:
            return math.hypot(2 * _HEIGHT * (spot.x - x), spot.y - y)

        far = sorted((spot for spot in anywhere(_HEIGHT) if off(spot) < _FAR), key=off)
        return [*around((x, y), _RING, (48.0, 66.0)), *far]

    def _down(self, mark: dict[str, Any]) -> Place:
        """A mark's place as a share of the width, and in pixels from the top."""
        x, y = self.paper.at((mark["iops"], mark["ms"]))
        return x, (1 - y) * _HEIGHT

    def _strokes(self, data: dict[str, list[dict[str, Any]]]) -> Iterator[Stroke]:
        """What is drawn as lines, of curves what lies on the paper."""
        for curve in self.curves:
            places = [self._down({"iops": rate, "ms": response}) for rate, response in self.places(curve)]
            yield from (Stroke(*one, *other) for one, other in pairwise(places))
        for mark in data.get("limit", ()):
            _, y = self._down({"iops": self.paper.x.high, **mark})
            yield Stroke(0, y, 1, y)
        for mark in data.get("saturation", ()):
            x = self.paper.x.at(mark["iops"])
            yield Stroke(x, 0, x, _HEIGHT)

    def _blots(self, data: dict[str, list[dict[str, Any]]]) -> Iterator[Blot]:
        for answer in data["answers"]:
            if not answer["beyond"]:
                yield Blot(*self._down(answer), _DOT)
        for kind, half in (("line", _RING), ("knee", _RING), ("beyond", _TIP)):
            yield from (Blot(*self._down(mark), half) for mark in data.get(kind, ()))

    def _lines(self, values: Sequence[dict[str, Any]], palette: Palette) -> list[alt.Chart]:
        base = chart_of("answers").encode(
            x=alt.X(
                "iops:Q",
                title="I/Os a second",
                scale=alt.Scale(**self.paper.x.scale()),
                axis=alt.Axis(**self.paper.x.ticks("~s")),
            ),
            y=alt.Y(
                "ms:Q",
                title=_title(self.limit),
                scale=alt.Scale(**self.paper.y.scale()),
                axis=alt.Axis(**self.paper.y.ticks("~r")),
            ),
            tooltip=[
                *([alt.Tooltip("source:N")] if self.named else []),
                alt.Tooltip("load:N", title="load"),
                alt.Tooltip("iops:Q", title="IOPS", format=",.0f"),
                *([] if _same(self.limit, _MEAN) else [alt.Tooltip("ms:Q", title=_title(self.limit), format=",.3~f")]),
                alt.Tooltip("mean:Q", title="mean, ms", format=",.3~f"),
            ],
        )
        if self.named:
            base = told_apart(base, "source", [value["source"] for value in values], palette)
        colour: dict[str, Any] = {} if self.named else {"color": palette.read}
        line = base.mark_line(clip=True, **colour)
        dots = base.mark_point(filled=True, size=45, opacity=1, **colour).transform_filter("!datum.beyond")
        return [
            line.encode(order=alt.Order("order:Q"), detail=alt.Detail("source:N"), shape=alt.Undefined),
            dots,
        ]

    def _marked(self, data: dict[str, Any], palette: Palette) -> list[alt.Chart]:
        """Rules for limit and saturation, rings for knee and load line, tips where curves leave; then all words."""
        layers = []
        x, y = alt.X("iops:Q"), alt.Y("ms:Q")
        if "limit" in data:
            layers.append(chart_of("limit").mark_rule(strokeDash=[5, 4], color=palette.alarm).encode(y=y))
        if "saturation" in data:
            rule = chart_of("saturation").mark_rule(strokeDash=[2, 3], color=palette.quiet)
            layers.append(rule.encode(x=x).transform_filter("!datum.far"))
        for kind, shape in (("knee", "diamond"), ("line", "circle")):
            if kind in data:
                ring = chart_of(kind).mark_point(shape=shape, size=170, strokeWidth=2, opacity=1, color=palette.ink)
                layers.append(ring.encode(x=x, y=y))
        if "beyond" in data:
            way = alt.ExprRef("datum.up ? 'triangle-up' : 'triangle-right'")
            tips = chart_of("beyond").mark_point(filled=True, shape=way, size=90, opacity=1, color=palette.ink)
            told = [*(["source:N"] if self.named else []), "number:N", "which:N"]
            layers.append(tips.encode(x=x, y=y, tooltip=[alt.Tooltip(one, title=one[:-2]) for one in told]))
        if data["labels"]:
            edges = " + ".join(f"({ROOM} >= {low})" for low in ROOMS[1:])
            text = chart_of("labels").mark_text(
                dx=alt.ExprRef("datum.dx"),
                dy=alt.ExprRef("datum.dy"),
                align=alt.ExprRef("datum.align"),
                fontSize=alt.ExprRef("datum.size"),
                fontWeight=alt.ExprRef("datum.bold ? 'bold' : 'normal'"),
                color=alt.ExprRef(f"datum.quiet ? '{palette.quiet}' : '{palette.ink}'"),
                baseline="middle",
            )
            words = text.encode(x=x, y=y, text=alt.Text("said:N"))
            layers.append(words.transform_filter(f"datum.room == {edges}"))
        return layers


def _figure(several: Sequence[Curve], limits: Sequence[Limit]) -> Limit:
    """What is drawn of the response: what all limits are about, if it's known of every row; else the mean."""
    if limits and all(_same(limit, limits[0]) for limit in limits):
        rows = [row for curve in several for row in curve.rows]
        if all(limited_response_ns(row, limits[0]) for row in rows):
            return limits[0]
    return _MEAN


def _same(one: Limit, other: Limit) -> bool:
    return (one.statistic, one.of) == (other.statistic, other.of)


def _ms(row: Result, limit: Limit) -> float:
    return (limited_response_ns(row, limit) or 0.0) / 1e6


def _about(knee: Knee) -> str:
    """What stands before a knee's number: `~` if a curve says it."""
    return "~" if knee.row is None else ""


def _title(limit: Limit) -> str:
    kind = {"max": "longest", "p999": "p99.9", "p9999": "p99.99"}.get(limit.statistic, limit.statistic)
    return f"{kind} response{'' if limit.of == 'all' else f' of {limit.of}'}, ms"


def _saturations(several: Sequence[Curve]) -> list[float]:
    """Where a single curve's saturation is; of several they aren't drawn."""
    known = [saturated(curve) for curve in several] if len(several) == 1 else []
    return [row.saturation_iops for row in known if row is not None and row.saturation_iops]


def _load(row: Result) -> str:
    """A row's load; of an offered rate it is said that it's one, for another was done."""
    return short(load_of(row)) + (" offered" if row.offered_per_s is not None else "")


def _at(row: Result) -> str:
    """The number at a row's dot, which the axis of rates must not contradict."""
    return _load(row) if row.offered_per_s is None else count(row.total.iops)


def _unit(row: Result) -> str:
    """What the number at a row's dot is of."""
    return " outstanding" if row.offered_per_s is None else " IOPS"
