"""Printing: results to standard output, everything else to standard error. Nothing else in loadline prints."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeVar

import click

from loadline.errors import InputError, LoadlineError, StoreError

if TYPE_CHECKING:
    from rich.console import Console

    from loadline.reporting.report import Drawing
    from loadline.reporting.table import Table
    from loadline.result.schema import Result

F = TypeVar("F", bound=Callable[..., Any])


# Of the control characters newlines part our own lines, and tabs do no harm.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def shown(text: str) -> str:
    """The text with its control characters as JSON writes them.

    Files and devices of others name themselves as they like, and a terminal would obey.
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class UnprintedError(StoreError):
    """The result can't be printed; nor could the object of `--json` be."""


@contextmanager
def printing() -> Iterator[None]:
    """Turns what the system says of a write to standard output into an UnprintedError; a reader may go away."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unprinted(error) from None


def unprinted(error: OSError) -> UnprintedError:
    """What is said where standard output takes nothing."""
    why = "standard output is closed" if error.errno == errno.EBADF else error.strerror
    return UnprintedError(f"the result can't be printed: {why}", "Look where the output goes.")


def say(text: str = "", end: str = "\n") -> None:
    """A line of the result, told at once."""
    with printing():
        click.echo(f"{shown(text)}{end}", nl=False)


def note(text: str) -> None:
    """A line beside the result: on standard error. When nobody reads that any more, a run goes on in silence."""
    _tell(shown(text))


def _tell(text: str) -> None:
    # Not click.echo, which finds the terminal behind the display and writes into it instead of above it.
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def warn(text: str) -> None:
    """A `note` in prose."""
    note(folded(text, stream=sys.stderr))


def folded(text: str, indent: str = "", stream: TextIO | None = None) -> str:
    """Lines as wide as the terminal with words whole; where `stream`, else standard output, is none, as they are.

    On standard output COLUMNS counts as a terminal's width.
    """
    width = table_width() if stream is None else shutil.get_terminal_size().columns if stream.isatty() else None
    if width is None:
        return text
    fold = textwrap.TextWrapper(width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n".join(fold.fill(line) for line in text.split("\n"))


def wrapped(text: str, indent: str = "") -> str:
    """Prose in lines of at most 100 characters, less on a narrower terminal."""
    width = min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 100
    return textwrap.fill(" ".join(text.split()), width, subsequent_indent=indent, break_on_hyphens=False)


def short_times(text: str) -> str:
    """The text with three decimals of its times, which the server says to the ns."""
    return re.sub(r"(\.[0-9]{3})[0-9]+(?=[mun]?s\b)", r"\1", text)


def document(body: Mapping[str, Any]) -> None:
    """The object of `--json`."""
    say(json.dumps(body, ensure_ascii=False, indent=1))


def finding(check: str, point: str, message: str, remedy: str) -> dict[str, Any]:
    """A warning among the `findings` of the JSON object; `point` is empty where it's about no point alone."""
    return {
        "check": check, "severity": "warning", "run": "", "point": point, "message": message, "numbers": {},
        "remedy": remedy,
    }  # fmt: skip


def failure(error: LoadlineError, *, as_json: bool) -> None:
    """An error: one message with its remedy, and with `--json` the object on standard output as well.

    The object is one line, as some verbs say an object a line. Of a run that the error ended it has the points that are
    kept.
    """
    try:
        if as_json:
            from loadline.reporting.export import envelope

            say(json.dumps(envelope(*_kept(error), error=error_body(error)), ensure_ascii=False))
    finally:
        complain(error)


def _kept(error: LoadlineError) -> tuple[Sequence[Result], Sequence[Mapping[str, Any]]]:
    if error.run is None:
        return (), ()
    from loadline.result.store import open_run

    try:
        run = open_run(error.run)
        return [*run.results(), *run.probes()], [run.summary()]
    except StoreError:  # it may be what ended it
        return (), ()


def error_body(error: LoadlineError) -> dict[str, str]:
    """`error` of the JSON object."""
    return {"kind": error.kind, "message": error.message, "remedy": error.remedy}


def complain(error: LoadlineError) -> None:
    """The message and its remedy on standard error."""
    head = "loadline: "
    text = folded(head + shown(error.message), stream=sys.stderr)
    if sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        text = click.style(head, fg="red", bold=True) + text.removeprefix(head)
    _tell(text)
    if error.remedy:
        warn(error.remedy)


_TONES = {"good": "green", "bad": "dark_orange"}


def show(table: Table, title: str = "") -> None:
    """A table: with lines and weight on a terminal, plain when piped. It's as wide as that, or as COLUMNS says."""
    if not sys.stdout.isatty():
        if title:
            say(title)
        _show_plain(table, table_width())
        return
    with printing():
        _show_drawn(table, title)


def _show_drawn(table: Table, title: str) -> None:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    console = terminal()
    if title:
        console.print(Text(shown(title), style="bold"))
    widths = table.fit(console.width)
    if widths is None:
        _show_stacked(table, console.width)
    else:

        def lines(*rows: Iterable[Text], headed: bool = False) -> RichTable:
            drawn = RichTable(
                box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False,
                show_header=headed,
            )  # fmt: skip
            for index, (head, width) in enumerate(zip(table.heads, widths, strict=True)):
                side: Literal["left", "right"] = "left" if index in table.text else "right"
                drawn.add_column(Text(head), justify=side, overflow="fold", width=width, no_wrap=index == 0)
            for row in rows:
                drawn.add_row(*row)
            return drawn

        console.print(lines(headed=True))
        for group in table.groups:
            # A title is wider than the first column may be.
            if group.title:
                console.print(Text(group.title, style="bold"))
            toned = ((Text(cell, _TONES.get(table.tones.get(cell, ""), "")) for cell in row) for row in group.rows)
            console.print(lines(*toned))
    for line in table.notes:
        console.print(Text(line))


def _show_plain(table: Table, width: int | None) -> None:
    plain = table.plain()
    rows = plain.splitlines()[: -len(table.notes) or None]
    if width is None or max(map(len, rows), default=0) <= width:
        say(plain, end="")
        return
    _show_stacked(table, width)
    for line in table.notes:
        say(textwrap.fill(line, width, break_on_hyphens=False))


def _show_stacked(table: Table, width: int) -> None:
    for line in table.stacked().splitlines():
        say(textwrap.fill(line, width, subsequent_indent="   ", break_on_hyphens=False))


def table_width() -> int | None:
    """That of the terminal to which tables go; elsewhere what COLUMNS asks for, None where it doesn't."""
    if sys.stdout.isatty():
        return terminal().width
    asked = os.environ.get("COLUMNS", "")
    return max(1, int(asked)) if re.fullmatch("[0-9]{1,6}", asked) else None


def terminal(*, err: bool = False) -> Console:
    """rich's console, without its guesses about markup in our texts."""
    from rich.console import Console

    return Console(stderr=err, highlight=False, markup=False, emoji=False)


#: What a log begins with, if with anything.
_LOGGED = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ |\Z"


class _LogFile(logging.FileHandler):
    """A log that says once that it can't be written; the work goes on without it."""

    _told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        error = sys.exc_info()[1]
        if not self._told:
            self._told = True
            why = getattr(error, "strerror", None) or error
            warn(f"--log {self.baseFilename} can't be written: {why}; lines of it are missing")


def log_to(path: str | None) -> None:
    """Sends loadline's log to a file, which begins with the command; one that is there goes on, if it is a log.

    Raises:
        InputError: it can't be written, or holds something else.
    """
    log = logging.getLogger("loadline")
    log.setLevel(logging.INFO)
    log.propagate = False
    if path is None:
        log.addHandler(logging.NullHandler())
        return
    try:
        if Path(path).is_block_device() or (Path(path).is_file() and not _is_log(path)):
            raise InputError(f"--log {path}: something else than a log is there", "Name a new file, or a log.")
        handler = _LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"--log {path}: {error.strerror}", "Name a file that can be written.") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.info("%s", shlex.join(["loadline", *sys.argv[1:]]))


def _is_log(path: str) -> bool:
    with Path(path).open("rb") as file:
        return re.match(_LOGGED, file.read(64)) is not None


def common(function: F) -> F:
    """The options of every verb: --json and --log."""
    function = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")(
        function
    )
    return click.option(
        "--log", "log_file", metavar="FILE", help="Write loadline's log to FILE.", expose_value=False, callback=_set_log
    )(function)


def _set_log(_: click.Context, __: click.Parameter, value: str | None) -> None:
    log_to(value)


def store_option(function: F) -> F:
    """--store, for verbs that read or write runs."""
    return click.option(
        "--store",
        metavar="DIR",
        help="Where the runs live; else $LOADLINE_STORE, else ./loadline-runs.",
    )(function)


def import_options(function: F) -> F:
    """--map, --workload and --tag, for verbs that read files of results."""
    for option in reversed(
        (
            click.option(
                "--map",
                "maps",
                multiple=True,
                metavar="HEAD=COLUMN[:UNIT]",
                help="What a table's column means; HEAD=tag, HEAD=- (left out), *=COLUMN (every figure).",
            ),
            click.option(
                "--workload",
                multiple=True,
                metavar="KEY=VALUE|NAME",
                help="What was asked, where the file doesn't say: block=4k, read=70%, jobs=8, ..., or SUITE[/PROFILE].",
            ),
            click.option(
                "--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Said of all rows; may be repeated."
            ),
        )
    ):
        function = option(function)
    return function


def drawing_options(function: F) -> F:
    """--chart, --point and --dark, for verbs that write pictures."""
    function = click.option("--dark", is_flag=True, help="Draw a picture on dark paper.")(function)
    function = click.option("--point", metavar="NAME", help="Of a chart of one point: which.")(function)
    return click.option("--chart", metavar="NAME", help="Of a picture: load, iops, latency, over-time, ...")(function)


def check_drawn(file: str | None, drawing: Drawing) -> None:
    """Whether there is a picture that --chart, --point and --dark may be of.

    Raises:
        InputError: nothing is written.
    """
    if file is None and drawing != type(drawing)():
        raise InputError(
            "--chart, --point and --dark are of pictures, and none is written", "Name one: -o FILE.png or .svg."
        )


def check_apart(file: str, sources: Sequence[str]) -> None:
    """Whether FILE of `-o` is none of those that are read.

    Raises:
        InputError: it is one of them.
    """
    from loadline.workload.suite import is_file

    for source in sources:
        if is_file(source) and Path(file).exists() and Path(source).samefile(file):
            raise InputError(f"-o {file} is what is read: {source} would be overwritten", "Give another name.")


def pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """`key=value` words as a map.

    Raises:
        InputError: a word without `=` or key.
    """
    found: dict[str, str] = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{option} {value!r} is not KEY=VALUE", f"Write it like {option} raid=10.")
        found[key.strip()] = rest.strip()
    return found


def tags(values: tuple[str, ...]) -> dict[str, str]:
    """The words of --tag as a map.

    Raises:
        InputError: as of `pairs`; or a tag has the name of a column, which nobody would find behind it.
    """
    from loadline.result.schema import COLUMNS

    found = pairs(values, "--tag")
    for column in COLUMNS:
        if column.name in found:
            raise InputError(
                f"--tag {column.name}: the results have a column of that name, which the tag would hide",
                f"Give it another name: --tag my-{column.name}={found[column.name]}",
            )
    return found


def begin() -> None:
    """Makes SIGTERM and SIGHUP end a run as Ctrl-C does (fio stopped, points kept, the scratch file removed), unless
    they are ignored as under nohup; lets every name be printed, whatever the locale; and takes no COLUMNS of 0, which
    terminals without a size have."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    logging.raiseExceptions = False
    if not os.environ.get("COLUMNS", "").strip("0"):
        os.environ.pop("COLUMNS", None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell; results are then lost, which the first write finds, notes are not
            way = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            setattr(sys, name, os.fdopen(os.open(os.devnull, way), "w"))
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def while_read() -> Iterator[None]:
    """What is printed within ends where its reader goes away; a verb whose exit code is its answer still gives it."""
    try:
        yield
        with printing():
            sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)


def end() -> None:
    """Writes out what is left; a reader that is gone by now is no error, and who interrupts it now finds it done."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # Python would complain of what comes while it ends.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            abandon(stream)


def abandon(stream: TextIO) -> None:
    """The reader of `stream` is gone: what is still written goes nowhere, and Python doesn't complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
