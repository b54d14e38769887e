"""`loadline run SUITE TARGET...`."""

from __future__ import annotations

import sys
from typing import Any

import click

from loadline.cli import choice, output
from loadline.cli.progress import display, progress_option
from loadline.errors import TargetError
from loadline.measuring.run import run
from loadline.measuring.target import Target, confirmed_by
from loadline.reporting.apart import counted
from loadline.reporting.export import envelope
from loadline.reporting.table import results_table
from loadline.result.repeats import histograms_in
from loadline.result.store import Run
from loadline.workload.order import Order


@click.command("run")
@click.argument("suite", shell_complete=choice.complete_suite)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=choice.complete_path)
@choice.point_options
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of emulated:SYSTEM: change the system.")
@click.option("--cache", metavar="SIZE", help="A target's write cache, 0 for none: points that write fill it twice.")
@click.option(
    "--repeat", "repeats", type=click.IntRange(1, 1000), default=1, metavar="N", help="Measure every point N times."
)
@click.option(
    "--order",
    type=click.Choice(["suite", "random", "interleaved"]),
    default="suite",
    help="Of points: as in the suite, at random by --seed, or each on one target after the other; else all at once.",
)
@click.option(
    "--destroy",
    multiple=True,
    metavar="SERIAL",
    help="A target's serial number (or path): all data on it may be lost. Once for each target.",
)
@click.option("--no-prepare", is_flag=True, help="Refuse a target that reads as zeros instead of filling it.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Mark the run; may be repeated.")
@click.option("--declare", "declared", multiple=True, metavar="KEY=VALUE", help="A setting that can't be captured.")
@progress_option
@output.store_option
@output.common
def command(
    suite: str,
    targets: tuple[str, ...],
    repeats: int,
    order: Order,
    size: str | None,
    cache: str | None,
    destroy: tuple[str, ...],
    no_prepare: bool,
    tags: tuple[str, ...],
    declared: tuple[str, ...],
    progress: str,
    store: str | None,
    as_json: bool,
    engine: str | None,
    seed: int | None,
    settings: tuple[str, ...],
    each_section: bool,
    **options: Any,
) -> int:
    """Measure each TARGET under SUITE.

    SUITE is a name (see `loadline suites`), a name of HCIBench, or a path: TOML, or a file of fio, Iometer (.icf) or
    vdbench. TARGET is a block device, a file, a directory, in which a scratch file is made and removed, the address
    of an NBD server (nbd+unix://, nbd://), or emulated:SYSTEM, a described system (see `loadline systems`) that is
    emulated for the run. A device with anything on it is refused; an empty one is overwritten only after its serial
    number was typed or given with --destroy.

    Several targets are loaded at once, each with the whole load of a point, and have a row each and one together,
    whose target is `*`. With --order interleaved they are loaded in turn: each point on the first, then on the next.
    """
    choice.check_suite_first(suite, targets)
    with display(progress) as listen:
        made = run(
            suite,
            *targets,
            repeats=repeats,
            order=order,
            options=choice.read(**options),
            store=store,
            size_bytes=choice.size(size),
            destroy=destroy,
            prepare=not no_prepare,
            each_section=each_section,
            tags=output.tags(tags),
            declared=output.pairs(declared, "--declare"),
            seed=seed,
            engine=engine,
            settings=settings,
            cache_bytes=choice.cache(cache),
            listen=listen,
            ask=_ask if sys.stdin is not None and sys.stdin.isatty() else None,
        )
    return conclude(made, as_json=as_json)


def _ask(target: Target, wanted: str) -> str | None:
    what = confirmed_by(target)
    answer: str = click.prompt(
        output.shown(f"All data on {target.given} will be lost. To go on, type its {what} ({wanted})"),
        err=True,
        default="",
        show_default=False,
    )
    return answer


def _failure(made: Run, failed: int, points: int) -> TargetError | None:
    over = made.over_limit()
    again, change = f"Try them again with: loadline resume {made.handle}", "Change the load, the limit or the system."
    if not over:
        return TargetError(f"{failed} of {points} points failed", again) if failed else None
    lineless = f"{counted(len(over), 'point')} of {points} {'has' if len(over) == 1 else 'have'} no load line"
    lineless += f": {over[0].point}: {over[0].error}"
    if not failed:
        return TargetError(lineless, change)
    return TargetError(f"{failed} of {points} points failed; {lineless}", f"{again}; of the latter: {change.lower()}")


def conclude(made: Run, *, as_json: bool) -> int:
    """Prints a run's results; 3 if any point failed, else 0."""
    results, summary = made.results(), made.summary()
    failure = _failure(made, summary["failed"], summary["points"])
    if as_json:
        output.document(envelope(results + made.probes(), [summary], output.error_body(failure) if failure else None))
    else:
        output.show(results_table(results, histograms_in([made])))
        output.say(f"\nrun {made.id} in {made.handle}")
    if failure is None:
        return 0
    output.complain(failure)
    return failure.exit_code
