"""The command line: one file a verb, each parses, calls its room and prints.

Never: decides anything that a room should; nothing else in loadline prints or exits.
Start reading at `VERBS` below, then at run.py.
"""

from __future__ import annotations

import sys

try:
    import gc
    import os
    import threading
    from collections import Counter
    from collections.abc import Sequence
    from dataclasses import dataclass
    from importlib import import_module
    from traceback import walk_tb
    from typing import Any

    import click

    from loadline.cli import output
    from loadline.errors import InputError, InterruptedRun, LoadlineError, unforeseen
except (KeyboardInterrupt, RuntimeError) as interrupt:
    # Most of what a start takes is spent here, and there is no `main` yet that could tell it.
    if isinstance(interrupt, RuntimeError) and not isinstance(interrupt.__cause__, KeyboardInterrupt):
        raise
    sys.stderr.write("loadline: interrupted before there was a result\n")
    sys.exit(130)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: `module` in this package holds its `command`."""

    name: str
    help: str
    module: str


#: A verb is a file and a line here. The texts stand here, so that `--help` imports none of the files.
VERBS = (
    Verb("suites", "List the suites, or explain one.", "suites"),
    Verb("export", "Write a suite for fio, Iometer, vdbench or HCIBench.", "export"),
    Verb("run", "Measure a device, a file, a directory or an emulated system under a suite.", "run"),
    Verb("resume", "Complete a run that was interrupted.", "resume"),
    Verb("watch", "Show a run that another process measures.", "watch"),
    Verb("ls", "List the runs in the store.", "ls"),
    Verb("show", "Show a run: its table, its progress, what failed.", "show"),
    Verb("systems", "List the described systems, or explain one.", "systems"),
    Verb("drives", "List the drives, explain one, or convert a parameter file.", "drives"),
    Verb("forecast", "Say what a described system carries, and where its load line is.", "forecast"),
    Verb("simulate", "Simulate a described system under a suite.", "simulate"),
    Verb("validate", "Compare forecasts with what others measured.", "validate"),
    Verb("emulate", "Serve a described system as a block device in real time.", "emulate"),
    Verb("fault", "Let something go wrong in a system that is emulated.", "fault"),
    Verb("import", "Keep other people's results as a run.", "import_"),
    Verb("audit", "Say what in results cannot be, or is doubtful.", "audit"),
    Verb("compare", "Say what is better, worse or the same, with intervals.", "compare"),
    Verb("report", "Write results of runs as a page, a chart or a table.", "report"),
    Verb("query", "Answer a question in SQL from all runs.", "query"),
)


class _Verbs(click.Group):
    """Imports a verb's file when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb.name for verb in VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for verb in VERBS:
            if verb.name == cmd_name:
                command: click.Command = import_module(f"loadline.cli.{verb.module}").command
                return command
        return None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(args[0], known, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise InputError(f"there is no verb {args[0]!r}", f"{hint}Verbs: {', '.join(known)}.")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            _check_once(command, click.Context(command, ctx, name), rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb.name, verb.help) for verb in VERBS])


def _check_once(command: click.Command, ctx: click.Context, words: Sequence[str]) -> None:
    """Whether no option that takes one value is given two, of which click would take the last without a word.

    Raises:
        InputError: one is. UsageError: words that are no options of the verb's.
    """
    _, _, given = command.make_parser(ctx).parse_args(list(words))
    for option, number in Counter(given).items():
        if isinstance(option, click.Option) and number > 1 and not (option.multiple or option.is_flag or option.count):
            times = "twice" if number == 2 else f"{number} times"
            raise InputError(
                f"{max(option.opts, key=len)} is given {times}, and takes one value",
                f"Give it once. See: {ctx.command_path} --help",
            )


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        import loadline

        output.say(f"loadline {loadline.__version__}")
        ctx.exit()


@click.group(cls=_Verbs, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Say the version."
)
def loadline_command() -> None:
    """Find the load line of a storage system: the load that it carries at a response time that its users accept.

    Exit codes: 0 done, 1 an audit found what cannot be, or a --fail-if holds, 2 bad use or input, 3 the target, a tool
    or the store failed, 4 refused by the guard, 130 interrupted. Every verb takes --json.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits; the one place where an error becomes a message and an exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Thousands of rows are kept to the end: to look for cycles among them every 700 objects took a fifth of the
        # time.
        gc.set_threshold(100_000, 50, 100)
        output.begin()
        code = _run(words, as_json="--json" in words)
    except KeyboardInterrupt:  # once more, while the first one was being told
        code = InterruptedRun.exit_code
    output.end()
    if code == InterruptedRun.exit_code and threading.active_count() > 1:
        os._exit(code)  # A solution that is being computed can't be told to end, and Python would wait for it.
    sys.exit(code)


def _run(words: list[str], *, as_json: bool) -> int:
    try:
        code = loadline_command.main(words, prog_name="loadline", standalone_mode=False)
    except LoadlineError as error:
        failure = error
    except click.UsageError as error:
        if not words and error.ctx is not None:
            output.note(error.ctx.get_help())
            return InputError.exit_code
        where = f"See: {error.ctx.command_path} --help" if error.ctx else "See: loadline --help"
        failure = InputError(error.format_message(), where)
    except (KeyboardInterrupt, click.Abort):
        failure = InterruptedRun("interrupted before there was a result")
    except RuntimeError as error:
        # Python 3.11 makes one of whatever arises while a class is made, as where a verb's file is imported.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        failure = InterruptedRun("interrupted before there was a result")
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        failure = output.unprinted(error) if _is_help(error) else unforeseen(error)
    except SystemExit:  # click's own answer to a reader that went away
        return _unread()
    else:
        return code if isinstance(code, int) else 0
    try:
        output.failure(failure, as_json=as_json and not isinstance(failure, output.UnprintedError))
    except (output.UnprintedError, OSError):
        _unread()
    return failure.exit_code


def _is_help(error: OSError) -> bool:
    """Whether it arose where click prints, which does that by itself with the help."""
    *_, (innermost, _) = walk_tb(error.__traceback__)
    return innermost.f_code is click.echo.__code__


def _unread() -> int:
    output.abandon(sys.stdout)
    return 0
