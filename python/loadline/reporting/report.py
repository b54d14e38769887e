"""A report: results of runs, written to a file whose ending names the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from loadline.errors import InputError
from loadline.judging.audit import each_of, no_result
from loadline.judging.sources import Audited
from loadline.reporting import export
from loadline.reporting.contents import Contents
from loadline.reporting.model_table import components_table, models_table
from loadline.reporting.page import page
from loadline.reporting.picture import picture
from loadline.reporting.table import results_table
from loadline.result.file import check_place, write_bytes
from loadline.result.repeats import histograms_in
from loadline.result.schema import Result
from loadline.result.store import Run
from loadline.units import format_size


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a picture is to show: a chart by its name, of a point where it shows only one, on light or dark paper."""

    chart: str | None = None
    point: str | None = None
    dark: bool = False


def _html(contents: Contents, _: Drawing) -> bytes:
    return page(contents).encode("utf-8", "backslashreplace")


def _picture(contents: Contents, drawing: Drawing, *, as_svg: bool) -> bytes:
    return picture(contents, drawing.chart, drawing.point, as_svg=as_svg, dark=drawing.dark)


#: A format is a line here and a function that makes its bytes.
FORMATS: dict[str, Callable[[Contents, Drawing], bytes]] = {
    ".html": _html,
    ".png": partial(_picture, as_svg=False),
    ".svg": partial(_picture, as_svg=True),
    ".csv": lambda contents, _: export.as_csv(contents),
    ".md": lambda contents, _: export.as_markdown(contents),
    ".parquet": lambda contents, _: export.as_parquet(contents),
    ".json": lambda contents, _: export.as_json(contents),
}

_OF_MODELS = {"simulated", "solved", "rule"}

#: Formats of one chart.
PICTURES = frozenset({".png", ".svg"})

#: Formats that have charts.
DRAWN = PICTURES | {".html"}


def report(
    results: Sequence[Run | Result], output: str | Path, drawing: Drawing = Drawing(), command: Sequence[str] = ()
) -> Path:
    """Writes results to a file, whole or not at all.

    Args:
        results: runs, or rows of any origin: what `simulate`, `solve` and `forecast` return, say.
        output: the file, whose ending names the format: .html, .png, .svg, .csv, .md, .parquet or .json.
        drawing: what a picture is to show.
        command: of what is reported, for a page to show.

    Returns:
        The file's path.

    Raises:
        InputError: what is neither a run nor a row, or nothing at all; an argument of another type; and as of an ending
            that names no format, a directory that isn't there, a chart that can't be drawn, or libraries that are
            missing.
        StoreError: a run can't be read, or the file not be written.
    """
    given = each_of(results)
    runs, rows = [one for one in given if isinstance(one, Run)], [one for one in given if isinstance(one, Result)]
    strange = [one for one in given if not isinstance(one, Run | Result)]
    if strange:
        raise no_result(strange[0])
    if not given:
        raise InputError("there is nothing to report", "Give runs, or rows.")
    _check(output, drawing, command)
    return write(of_rows(rows, runs, command) if rows else of_runs(runs, command), output, drawing)


def _check(output: object, drawing: object, command: object) -> None:
    if not isinstance(output, str | Path):
        raise InputError(f"output: {output!r} can't be", "Give a path, such as 'report.html'.")
    if not isinstance(drawing, Drawing):
        raise InputError(f"drawing: {drawing!r} can't be", f"Give {__name__}.Drawing(chart='load'), or leave it out.")
    for key, word in (("chart", drawing.chart), ("point", drawing.point)):
        if not isinstance(word, str | None):
            raise InputError(f"drawing: {key}: {word!r} can't be", "Give a name, or leave it out.")
    words = list(command) if isinstance(command, Sequence) and not isinstance(command, str) else [None]
    if not all(isinstance(word, str) for word in words):
        raise InputError(f"command: {command!r} can't be", 'Give a list of words: ["loadline", "report", "last"].')


def write(contents: Contents, output: str | Path, drawing: Drawing = Drawing()) -> Path:
    """Writes a report to `output`, whole or not at all.

    Raises:
        InputError: an ending that names no format, a directory that isn't there, a chart that can't be drawn, or
            libraries that are missing.
        StoreError: it can't be written.
    """
    path = writable(output, drawing)
    write_bytes(path, FORMATS[path.suffix.lower()](contents, drawing))
    return path


def writable(output: str | Path, drawing: Drawing = Drawing()) -> Path:
    """The path of a report, if it can be one: to be asked before long work. Raises as `write`."""
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{str(output) or repr('')}: a report can't be written as"
            f" {repr(path.suffix) if path.suffix else 'a file without ending'}",
            f"Known endings: {', '.join(FORMATS)}.",
        )
    if drawing != Drawing() and path.suffix.lower() not in PICTURES:
        raise InputError(
            f"{path}: a chart is chosen for pictures only", f"Their endings: {', '.join(sorted(PICTURES))}."
        )
    check_place(path)
    return path


def of_runs(runs: Sequence[Run], command: Sequence[str] = ()) -> Contents:
    """What was measured on what, and the table of all of it; a run that is given twice counts once."""
    runs = list({run.path: run for run in runs}.values())
    about = []
    for run in runs:
        summary = run.summary()
        target = run.document["target"]
        what = str(run.document["suite"]["title"])
        if target.get("size_bytes"):
            what += f", on {target['path']} ({format_size(target['size_bytes'])})"
        failed = f", {summary['failed']} failed" if summary["failed"] else ""
        done = f"{summary['done']} of {summary['points']} points{failed}"
        about.append(f"`{run.id}`: {what}, {run.started_at}; {done}")
    results = [result for run in runs for result in run.results()]
    probes = [result for run in runs for result in run.probes()]
    title = f"{len(runs)} runs"
    if len(runs) == 1:
        on = "" if "imported" in runs[0].document else f" on {runs[0].target}"
        title = f"{runs[0].document['suite']['title']}{on}"
    return Contents(
        title,
        tuple(about),
        results + probes,
        (results_table(results, histograms_in(runs)),),
        tuple(runs),
        tuple(command),
    )


def of_rows(rows: Sequence[Result], runs: Sequence[Run] = (), command: Sequence[str] = ()) -> Contents:
    """What rows hold that lie in no store, and runs beside them, and the table of all of it."""
    known = of_runs(runs, command)
    results = [*known.results, *rows]
    points = [result for result in results if result.role == "point"]
    tables = [results_table(points, histograms_in(runs))]
    if all(result.origin in _OF_MODELS for result in results):
        tables = [models_table(results)]
        if any(point.components for point in points):
            tables.append(components_table(results))
    names = {name for result in rows if (name := result.system or result.run)}
    title = names.pop() if len(names) == 1 and not runs else f"{len(points)} results"
    return replace(known, title=title, results=results, tables=tuple(tables))


def of_sources(audited: Audited, files: Sequence[str], command: Sequence[str] = ()) -> Contents:
    """What runs and files hold, as it was audited, and the table of all of it."""
    runs = of_runs(audited.runs, command)
    read = len(audited.read.results)
    holding = f"{', '.join(f'`{file}`' for file in files)}: {read} row{'' if read == 1 else 's'}"
    number = len(audited.runs) + len(files)
    title = Path(files[0]).stem if number == 1 else f"{number} runs and files"
    results = [result for result in audited.results if result.role == "point"]
    return Contents(
        title,
        (*runs.about, holding),
        audited.results,
        (results_table(results, histograms_in(audited.runs)),),
        audited.runs,
        tuple(command),
    )
