"""The report as one HTML file: libraries inlined, nothing loaded from elsewhere, everything from outside escaped."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import loadline
from loadline.reporting.apart import source
from loadline.reporting.contents import Contents
from loadline.reporting.facts import facts
from loadline.reporting.full import needs
from loadline.reporting.full_table import full_table
from loadline.reporting.table import count, fate, megabytes, milliseconds, percent_of
from loadline.reporting.words import summary
from loadline.result.schema import Result
from loadline.result.store import Run


@dataclass(frozen=True, slots=True)
class _Figure:
    id: str
    title: str
    note: str


def page(contents: Contents) -> str:
    """The page's text.

    Raises:
        InputError: `loadline[full]` isn't installed.
    """
    needs("duckdb", "a page")
    with unchecked():
        figures = Figures()
        charts, lacking = _of_all(contents, figures)
        points = _of_points(contents, figures)
        origins = source(contents.points)
    heads, rows = full_table(contents.points, origins if any(origins) else ())
    return rendered(
        figures,
        title=contents.title,
        summary=summary(contents),
        charts=charts,
        lacking=lacking,
        columns=heads,
        rows=rows,
        points=points,
        points_title="Point by point",
        provenance=provenance(contents.runs),
        command=shlex.join(contents.command),
    )


def unchecked() -> AbstractContextManager[Any]:
    """In which charts are made: each part of a chart would be checked as it is made, which takes longer than all else.

    Raises:
        InputError: `loadline[full]` isn't installed.
    """
    for module in ("altair", "vl_convert", "jinja2"):
        needs(module, "a page")
    from altair.utils.schemapi import debug_mode

    context: AbstractContextManager[Any] = debug_mode(False)
    return context


def rendered(figures: Figures, **parts: Any) -> str:
    """The page of these parts, in the order of parts/page.html; those without anything are left out."""
    jinja2: Any = needs("jinja2", "a page")
    sections = [("summary", "Summary"), *((chart["name"], chart["title"]) for chart in parts["charts"])]
    sections += [(table["name"], table["title"]) for table in parts.get("tables", ())]
    sections += [("table", "Table")] + [("points", parts["points_title"])] * bool(parts["points"])
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    text: str = environment.get_template("page.html").render(
        **parts,
        contents=[*sections, ("provenance", "Where it comes from")],
        version=loadline.__version__,
        css=_file("page.css"),
        js=_file("page.js"),
        **figures.inlined(),
    )
    return text


def _file(name: str) -> str:
    return resources.files("loadline.reporting").joinpath("parts", name).read_text("utf-8")


def provenance(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Where the results of each run come from."""
    return [{"name": run.id, "facts": _facts(run)} for run in runs]


def _facts(run: Run) -> Mapping[str, str]:
    commands = [shlex.join(session["command"]) for session in run.document["sessions"] if session.get("command")]
    source = {"source": run.document["suite"].get("source") or ""}
    found = {**facts(run), **source, "command": "; ".join(dict.fromkeys(commands)), "folder": str(run.path)}
    return {kind: words for kind, words in found.items() if words}


class Figures:
    """Draws panels and keeps their specifications for the end of the page."""

    def __init__(self) -> None:
        from loadline.reporting.charts import theme

        self._theme = theme
        self._specs: dict[str, Any] = {}
        self._layers: dict[str, int] = {}

    def of_charts(self, charts: Sequence[Any], contents: Any) -> tuple[list[dict[str, Any]], list[str]]:
        """The charts that have panels, and of the others what they lack."""
        found, lacking = [], []
        for chart in charts:
            panels = self.drawn(chart.draw(contents, self._theme.PAGE))
            if panels:
                found.append({"name": chart.name, "title": chart.title, "panels": panels})
            else:
                lacking.append(f"{chart.title.lower()}, because {chart.lacks}")
        return found, lacking

    def drawn(self, panels: Sequence[Any]) -> list[_Figure]:
        """The places of panels on the page."""
        figures = []
        for panel in panels:
            figure = _Figure(f"chart-{len(self._specs) + 1}", panel.title, panel.note)
            spec = panel.spec("container")
            # Of two hundred points most panels differ in their rows only, so each set of layers is written once.
            layers = _compact(spec["layer"])
            self._specs[figure.id] = {**spec, "layer": self._layers.setdefault(layers, len(self._layers))}
            figures.append(figure)
        return figures

    def inlined(self) -> dict[str, str]:
        """What goes into the page as it is: the drawing library, specifications, colours."""
        parts = {
            "config": _compact(self._theme.config(self._theme.PAGE)),
            "layers": f"[{','.join(self._layers)}]",
            "specs": _compact(self._specs),
        }
        body = ",".join(f'"{name}":{text}' for name, text in parts.items())
        return {
            # Where nothing is drawn, a megabyte and a second are saved.
            "bundle": _bundle() if self._specs else "",
            # In a script element only `<` could end it.
            "specs": f"{{{body}}}".replace("<", "\\u003c"),
            "light": self._theme.style_sheet(self._theme.LIGHT),
            "dark": self._theme.style_sheet(self._theme.DARK),
        }


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, which always takes seconds to put together."""
    vl_convert: Any = needs("vl_convert", "a page")
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script


def _of_all(contents: Contents, figures: Figures) -> tuple[list[dict[str, Any]], list[str]]:
    from loadline.reporting.charts import OF_ALL

    return figures.of_charts(OF_ALL, contents)


def _of_points(contents: Contents, figures: Figures) -> list[dict[str, Any]]:
    """What is known of each point: a line, its charts, its findings, its working, what was asked."""
    from loadline.reporting.charts import OF_POINT
    from loadline.reporting.charts.frame import names
    from loadline.reporting.detail import details

    points, found = contents.points, []
    known = details(contents.runs, points)
    for point, name, detail in zip(points, names(points), known, strict=True):
        drawn, lacking = figures.of_charts(OF_POINT, detail)
        panels = [panel for chart in drawn for panel in chart["panels"]]
        found.append(told(point, name, panels, lacking))
    return found


def told(point: Result, name: str, panels: Sequence[Any] = (), lacking: Sequence[str] = ()) -> dict[str, Any]:
    """A point's part of the page: a line, its charts, its findings, its working, what was asked."""
    return {
        "name": name,
        "said": _said(point),
        "error": point.error,
        "panels": panels,
        "lacking": lacking,
        "findings": point.findings,
        "working": point.provenance.get("working"),
        "asked": json.dumps(point.workload, ensure_ascii=False, indent=1),
    }


def _said(point: Result) -> str:
    if point.error:
        return fate(point)
    known = "" if point.iops_ci95 is None else f" ±{percent_of(point.iops_ci95, point.total.iops)} %"
    figures = [f"{count(point.total.iops)} IOPS{known}", f"{megabytes(point.total)} MB/s"]
    for direction in ("read", "write"):
        mean = getattr(point, direction).latency_mean_ns
        if mean is not None:
            figures.append(f"{direction} {milliseconds(mean)} ms")
    return ", ".join(figures)
