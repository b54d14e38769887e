"""Options that choose and change a suite's points; `run` and `suites` share them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from loadline.cli import output
from loadline.cli.progress import counted
from loadline.errors import InputError
from loadline.units import parse_bytes, parse_duration, parse_fraction
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import DEPTHS, ENDINGS, Stop, Suite, load_suite, suite_names

_SYSTEMS = Path(__file__).parent.parent / "catalog" / "systems"

F = TypeVar("F", bound=Callable[..., Any])

# Fewer points than that are answered before anybody wonders.
_LONG = 1000


def complete_suite(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What the shell may put for SUITE: names of the catalog, else files."""
    known = [CompletionItem(name) for name in suite_names() if name.startswith(incomplete)]
    return known or complete_path(context, parameter, incomplete)


def complete_system(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What the shell may put for SYSTEM: names of the catalog, else files."""
    known = [CompletionItem(path.stem) for path in sorted(_SYSTEMS.glob("*.toml")) if path.stem.startswith(incomplete)]
    return known or complete_path(context, parameter, incomplete)


def complete_path(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell finds itself."""
    return [CompletionItem(incomplete, type="file")]


def suite(name: str, *, each_section: bool = False) -> tuple[Suite, list[dict[str, Any]]]:
    """The suite of that name or file; what its reader should know is noted, and given as findings.

    Raises:
        InputError: as of `load_suite`.
    """
    found, warnings = load_suite(name, each_section=each_section)
    for warning in warnings:
        output.note(warning)
    return found, [output.finding("suite", "", warning, "Compare it with the file.") for warning in warnings]


def _names(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(","))


_profile_option = click.option(
    "--profile",
    "only",
    multiple=True,
    metavar="NAME[,NAME...]",
    callback=_names,
    help="Only these profiles; may be repeated.",
)


def point_options(function: F) -> F:
    """Adds the options; `read` makes them an `Options`."""
    for option in reversed(
        (
            click.option(
                "--queue-depth", "queue_depth", metavar="N[,N...]", help="Outstanding I/Os a job; a list sweeps."
            ),
            click.option("--jobs", type=click.IntRange(1, 4096), metavar="N", help="Concurrent jobs."),
            click.option("--runtime", metavar="TIME", help="Measured time a point, such as 60s."),
            click.option("--warmup", metavar="TIME", help="Time before it that isn't counted, such as 10s."),
            click.option(
                "--settle", metavar="TIME", help="Of that so much on a target that is warm; else as the suite says."
            ),
            click.option(
                *("--stop", "stop"),
                type=click.Choice(["precise", "fixed"]),
                help="What ends a point: precise, its figures are good enough, at the latest its run time; fixed, its"
                " run time. Else as the suite says, mostly precise.",
            ),
            click.option("--precision", metavar="SHARE", help="Good enough for --stop precise: 95 % intervals of ±1%."),
            click.option("--size", metavar="SIZE", help="How much of the target to use, such as 10G."),
            _profile_option,
            click.option("--variants", is_flag=True, help="Add the suite's variants."),
            click.option("--as-published", is_flag=True, help="Run it literally as its source did."),
            click.option("--quick", is_flag=True, help="At most 5 s a point; every row is marked quick."),
            click.option("--each-section", is_flag=True, help="Of a fio job file: each section its own point."),
            click.option(
                "--engine",
                type=click.Choice(["io_uring", "libaio"]),
                help="fio's engine; else the first of these that works and keeps the queue depths.",
            ),
            click.option(
                "--seed",
                type=click.IntRange(1, 2**31 - 1),
                metavar="N",
                help="Of addresses and data; else drawn, and recorded.",
            ),
        )
    ):
        function = option(function)
    return function


#: --set, for verbs about described systems.
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change the system; VALUE,VALUE or FIRST:LAST:STEP, up to LAST if a step ends there, sweeps. May be repeated:"
    " all combinations.",
)


def check_order(system: str, suite: str) -> None:
    """Refuses a suite where the system stands, if what follows may be the system.

    Raises:
        InputError: with the two in their order.
    """
    suites = suite_names()
    if system in suites and suite not in suites:
        raise InputError(f"{system} is a suite, not a system", f"The system comes first: {suite} {system}.")


def check_suite_first(suite: str, targets: Sequence[str]) -> None:
    """Refuses a target where the suite stands, if one of what follows can only be the suite.

    Raises:
        InputError: with the two in their order.
    """
    known, path = suite_names(), Path(suite)
    if (
        suite in known
        or path.suffix in ENDINGS
        or ("/" in suite and path.is_file())
        or (_SYSTEMS / f"{suite}.toml").is_file()
    ):
        return
    for target in targets:
        if (target in known and not Path(target).exists()) or Path(target).suffix in ENDINGS:
            raise InputError(f"{suite} is no suite", f"The suite comes before the targets: {target} {suite}.")


def warn_of_idle(system: str, settings: Sequence[str], method: str) -> None:
    """Says on standard error which settings change nothing in what `method` answers. Raises as `unroll`."""
    if not settings:
        return
    from loadline.system.description import idle_settings, load_system, settable, unroll

    also = {"rule": "only the rule of thumb uses it (forecast --method rule)"}
    if method == "rule":
        used = "pool.drives", "pool.drive", "volume.layout", "rule.disk_rate_per_s", "rule.bandwidth"
        unused = [key for key in settable() if "." in key and key not in used]
        also = dict.fromkeys(unused, "the rule of thumb knows drives, layout and [rule] only")
    systems = unroll(load_system(system), settings)
    with counted("looking for settings that change nothing") as listen:
        found = idle_settings(systems, also, lambda done, of: listen(done, of, ()))
    for idle in found:
        output.warn(idle)


def tell_sweep(system: str, settings: Sequence[str], suite: Suite, options: Options) -> None:
    """Says on standard error how much a long sweep asks for, before it begins. Raises as `unroll` and `make_plan`."""
    if not settings:
        return
    from loadline.system.description import load_system, unroll

    systems, points = len(unroll(load_system(system), settings)), len(make_plan(suite, options, timed=False))
    if systems * points >= _LONG:
        output.note(f"{systems * points:,} points: {systems:,} systems, each under {points:,} of {suite.name}")


def model_options(function: F) -> F:
    """Adds the options that choose and change what a model is asked; `read_model` makes them an `Options`."""
    for option in reversed(
        (
            set_option,
            _profile_option,
            click.option(
                "--queue-depth", "queue_depth", metavar="N[,N...]", help="Outstanding I/Os a job; a list sweeps."
            ),
            click.option("--jobs", type=click.IntRange(1, 4096), metavar="N", help="Concurrent jobs."),
            click.option("--variants", is_flag=True, help="Add the suite's variants."),
            click.option("--as-published", is_flag=True, help="Ask for it literally as its source did."),
        )
    ):
        function = option(function)
    return function


def effort_options(function: F) -> F:
    """Adds the options that say when a simulation knows enough."""
    for option in reversed(
        (
            click.option("--ios", type=click.IntRange(1), metavar="N", help="I/Os to count of each point."),
            click.option(
                "--until-precision", metavar="SHARE", help="Until IOPS and mean latency are known to, say, 1%."
            ),
            click.option(
                "--replications",
                type=click.IntRange(1, 10_000),
                default=1,
                metavar="N",
                help="Independent ones of each point, merged.",
            ),
        )
    ):
        function = option(function)
    return function


def read_model(
    *,
    queue_depth: str | None,
    jobs: int | None,
    only: tuple[str, ...],
    variants: bool,
    as_published: bool,
    runtime: str | None = None,
    warmup: str | None = None,
) -> Options:
    """The options of `model_options` as quantities, and times of those that have them.

    Raises:
        InputError: a value that can't be.
    """
    return Options(
        queue_depths=_depths(queue_depth),
        jobs=jobs,
        runtime_ns=duration("--runtime", runtime),
        warmup_ns=duration("--warmup", warmup),
        variants=variants,
        as_published=as_published,
        only=only,
    )


def read(
    *,
    queue_depth: str | None,
    jobs: int | None,
    runtime: str | None,
    warmup: str | None,
    settle: str | None,
    only: tuple[str, ...],
    variants: bool,
    as_published: bool,
    quick: bool,
    stop: Stop | None,
    precision: str | None,
) -> Options:
    """The options as quantities.

    Raises:
        InputError: a value that can't be.
    """
    plain = read_model(
        queue_depth=queue_depth,
        jobs=jobs,
        only=only,
        variants=variants,
        as_published=as_published,
        runtime=runtime,
        warmup=warmup,
    )
    settle_ns = duration("--settle", settle)
    return replace(plain, settle_ns=settle_ns, quick=quick, stop=stop, precision_fraction=_precision(precision))


def unrolled(points: Sequence[Point], where: str) -> tuple[Point, ...]:
    """Points for a tool that knows no searches and no rounds: plain points instead, which is said on standard error."""
    for point in points:
        if point.searches:
            loads = ", ".join(probe.name.removeprefix(f"{point.name}-") for probe in point.grid())
            output.warn(f"{point.name}: {where} can't search ({point.ramp or point.best}): written as {loads}.")
    for rounds in dict.fromkeys(point.rounds for point in points if point.rounds is not None):
        times = {1: "once", 2: "twice"}.get(rounds.fill, f"{rounds.fill} times")
        filled = f", and the target isn't written {times} before" if rounds.fill else ""
        output.warn(f"{rounds.name}: {where} has no rounds until it's steady: each point is in it once{filled}.")
    return tuple(probe for point in points for probe in point.grid())


def size(text: str | None, option: str = "--size") -> int | None:
    """An option's size in bytes.

    Raises:
        InputError: no size, or below 1 MiB.
    """
    if text is None:
        return None
    try:
        size_bytes = parse_bytes(text)
    except InputError as error:
        raise InputError(f"{option}: {error.message}", error.remedy) from None
    if size_bytes < 1024**2:
        raise InputError(f"{option} {text} is too small to measure anything", "Give at least 1M.")
    return size_bytes


def cache(text: str | None) -> int | None:
    """The size of a write cache in bytes, 0 for none.

    Raises:
        InputError: no size.
    """
    if text is None:
        return None
    try:
        return parse_bytes(text)
    except InputError as error:
        raise InputError(f"--cache: {error.message}", error.remedy) from None


def duration(option: str, text: str | None) -> int | None:
    """An option's time in ns.

    Raises:
        InputError: no time.
    """
    if text is None:
        return None
    try:
        return parse_duration(text)
    except InputError as error:
        raise InputError(f"{option}: {error.message}", error.remedy) from None


def _precision(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(parse_fraction(text))
    except InputError as error:
        raise InputError(f"--precision: {error.message}", error.remedy or "Give a share such as 1%, or 0.01.") from None


def _depths(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    depths = tuple(int(part) for part in parts if re.fullmatch("-?[0-9]{1,6}", part))
    if len(depths) != len(parts):
        least, most = DEPTHS
        raise InputError(
            f"--queue-depth {text!r} is not a list of depths from {least} to {most}", "Write it like 32, or 1,8,32."
        )
    return depths
