"""`loadline compare RUN|FILE...`."""

from __future__ import annotations

import re
import sys

import click

from loadline.cli import choice, output
from loadline.errors import InputError
from loadline.judging.compare import RESOLUTION, check_common, compare
from loadline.judging.fail_if import judge_thresholds, parse_threshold
from loadline.judging.sources import sources_of
from loadline.reporting.compare_files import FORMATS, comparison_object, conclusions_object, writable, write
from loadline.reporting.compare_table import comparison_table, summary, threshold_lines, untold
from loadline.reporting.compare_words import good_for, what_matters
from loadline.reporting.compared import Compared, compared_of
from loadline.reporting.export import envelope
from loadline.reporting.report import Drawing
from loadline.reporting.table import harmless
from loadline.units import parse_fraction


@click.command("compare")
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE...", shell_complete=choice.complete_path)
@click.option(
    "--by", metavar="TAG[,TAG]", help="Compare the values of tags or columns (system, queue_depth, ...) instead."
)
@click.option("--baseline", metavar="SIDE", help="What the others are compared with; else the first.")
@click.option(
    "--resolution",
    metavar="SHARE",
    default=f"{RESOLUTION:.0%}",
    show_default=True,
    help="Differences of so much are none.",
)
@click.option(
    "--fail-if",
    "thresholds",
    multiple=True,
    metavar="THRESHOLD",
    help="End with 1 if that is so, such as 'oltp-db.iops < 0.95 * baseline' or '*.read_p99 > 5ms'.",
)
@click.option("--fail-unsure", is_flag=True, help="End with 1 as well if a --fail-if seems so, but may be chance.")
@click.option("--figures", metavar="NAME[,NAME]", help="Which: iops, latency, read_p99, bytes_per_s, ...")
@click.option(
    "-o", "--output", "file", metavar="FILE", help=f"Write the comparison; its ending is {', '.join(FORMATS)}."
)
@click.option("--chart", metavar="NAME", help="Of a picture: bars, ratios, curves or effects.")
@click.option("--dark", is_flag=True, help="Draw a picture on dark paper.")
@output.import_options
@output.store_option
@output.common
def command(
    sources: tuple[str, ...],
    by: str | None,
    baseline: str | None,
    resolution: str,
    thresholds: tuple[str, ...],
    fail_unsure: bool,
    figures: str | None,
    file: str | None,
    chart: str | None,
    dark: bool,
    maps: tuple[str, ...],
    workload: tuple[str, ...],
    tags: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> int:
    """Say what is better, worse or the same, and what can't be told: ratios with their 95 % intervals.

    RUN is an id, a unique part of one, a path, or `last`; FILE is anything that `import` reads, or a report of
    loadline's as .json or .csv. Each is a side, or the values of --by are. Points are matched by what was asked.
    Ends with 1 if a --fail-if is so, or can't be judged because a point failed.
    """
    drawing = Drawing(chart, None, dark)
    output.check_drawn(file, drawing)
    if fail_unsure and not thresholds:
        raise InputError("--fail-unsure has no --fail-if that it could be about", "Give one, or leave it out.")
    if file is not None:
        writable(file, drawing)
        output.check_apart(file, sources)
    asked = [parse_threshold(text) for text in thresholds]
    found = sources_of(sources, store=store, maps=maps, workload=workload, tags=output.tags(tags))
    for warning in found.warnings:
        output.warn(warning)
    comparison = compare(
        found.sources,
        by=_names("--by", by),
        baseline=baseline,
        resolution=_share(resolution),
        figures=_names("--figures", figures),
    )
    if not asked:
        check_common(comparison)
    tried = judge_thresholds(comparison, asked)
    compared = compared_of(comparison, tried, found.runs, ("loadline", *sys.argv[1:]))
    if file is not None:
        write(compared, file, drawing)
    with output.while_read():
        if as_json:
            runs = [run.summary() for run in found.runs]
            said = {"comparison": comparison_object(comparison, tried), "conclusions": conclusions_object(compared)}
            output.document(envelope(comparison.results, runs, **said))
        else:
            _show(compared, briefly=file is not None)
            if file is not None:
                output.say(f"wrote {file}")
    failing = {"fails", "missing", "unsure"} if fail_unsure else {"fails", "missing"}
    return 1 if any(one.state in failing for one in tried) else 0


def _show(compared: Compared, *, briefly: bool) -> None:
    """`briefly` leaves out the table, which a file has."""
    comparison = compared.comparison
    why = untold(comparison)
    if why:
        output.say(output.folded(harmless(f"{why}.")))
    if briefly:
        for note in comparison_table(comparison, stands=compared.stands or None).notes:
            output.say(output.folded(note))
    elif compared.listed:
        output.show(comparison_table(comparison, output.table_width(), compared.stands or None))
    else:
        output.say(output.folded(f"{summary(comparison)}. -o FILE and --json have each of them."))
    for line in threshold_lines(compared.tried):
        output.say(output.folded(harmless(line), "  "))
    good = {f"What {side} is good for": said for side, said in good_for(compared).items()}
    matters = {f"What matters for {figure}": said for figure, said in what_matters(compared).items()}
    for title, sentences in {**good, **matters}.items():
        output.say(f"\n{harmless(title)}:")
        for sentence in sentences:
            output.say(output.folded(f"  {harmless(sentence)}", "    "))


def _names(option: str, text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    if not names:
        raise InputError(f"{option} names nothing", "Name what is meant, or leave it out.")
    return names


def _share(text: str) -> float:
    """`5%` or `0.05`."""
    try:
        share = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+", text) else float(parse_fraction(text))
    except InputError as error:
        raise InputError(f"--resolution: {error.message}", "Write it like 1% or 0.01.") from None
    if share >= 1:
        raise InputError(f"--resolution {text} is not below 100%", "Write it like 1% or 0.01.")
    return share
