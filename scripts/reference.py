"""Writes the pages of docs/reference that the code can tell: command line, results, and the schemas of descriptions.

`make docs` runs it; a test compares what it would write with what is committed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from loadline import _core, errors
from loadline.cli import VERBS, loadline_command
from loadline.reporting.export import envelope
from loadline.result.schema import COLUMNS, FORMAT
from loadline.result.series import SERIES_COLUMNS

NOTICE = "<!-- Written by scripts/reference.py (make docs): change the code, not this page. -->"

COMMAND_LINE = f"""\
# The command line

{NOTICE}

```text
loadline VERB [OPTIONS] ARGUMENTS
```

`loadline --help` lists the verbs, `loadline VERB --help` explains one, `loadline --version` says the version.
"""

UNITS = """\
## Quantities

A size is written `512`, `4k`, `64KiB`, `1M`, `10G` or `960GB`. A bare letter is binary, as in fio: `4k` is 4,096
bytes. `kB`, `MB` and `GB` are decimal. A time is written `300s`, `2.5ms`, `7min` or `1h`; a bare number is seconds.
"""

OUTPUT = """\
## Output

Results go to standard output, everything else to standard error. Tables have lines and weight on a terminal and are
plain when piped. `--progress` is `live`, `lines`, `json` (an object a line, on standard error) or `none`; `auto` is
live on a terminal and lines elsewhere.

With `--json` a verb prints one object on standard output, on failure too. `suites` adds `suites`, `report` and `export`
add `file`, `import` adds `mapping`.
"""

ENVELOPE = {
    "format": f"format number of this object and of the run folders, {FORMAT} in this version",
    "results": "rows of points, with the columns of [results](results.md)",
    "probes": "rows of the probes of a search",
    "runs": "runs, oldest first: `run`, `path`, `suite`, `target`, `started_at`, `points`, `done`, `failed`, `tags`",
    "findings": "what is doubtful: `check`, `severity`, `run`, `point`, `message`, `numbers`, `remedy`",
    "error": "null, or `kind`, `message` and `remedy`",
}

EXIT_CODES = """\
## Exit codes

Every error says what is wrong and what to do about it. A run of which some points failed is complete and ends with 3;
so does one with a ramp of which not even the lowest load keeps the limit, and then `resume` has nothing to do.
"""

COMPLETION = """\
## Completion

The shell completes verbs, options and suites when its start file has this line.

bash (`~/.bashrc`):

```text
eval "$(_LOADLINE_COMPLETE=bash_source loadline)"
```

zsh (`~/.zshrc`):

```text
eval "$(_LOADLINE_COMPLETE=zsh_source loadline)"
```

fish (`~/.config/fish/completions/loadline.fish`):

```text
_LOADLINE_COMPLETE=fish_source loadline | source
```
"""

RESULTS = f"""\
# Results and run folders

{NOTICE}

## The row

A result is one row a point, repetition and target; of several targets at once there is one of all together too, whose
`target` is `*`, and which no sum may count beside theirs. `loadline report RUN -o FILE.csv` writes these columns,
`--json` prints them. The unit is the last word of a name: `_ns` is nanoseconds, `_per_s` a second, `_fraction` a share
from 0 to 1. What is unknown is NULL (an empty cell, `null`), never 0. Columns without a prefix count reads and writes
together.
"""

FOLDER = """\
## The run folder

A run is a folder in the store, which is `--store DIR`, else `$LOADLINE_STORE`, else `./loadline-runs`. Its name is the
run's id: date, time, suite, target. It may be copied, archived and moved. Points are numbered in the order of
measuring: each repetition, and of targets in turn each target, has a folder of its own.

```text
20260301-101500-typical-12-sdb/
├── run.json                the plan, the target, and what each session ran on
├── log.txt                 what loadline did, with times
├── lock                    held while a process measures into the run
├── preparation/            the fill, where one was needed: fio's job and output; of several targets a folder
│                           each, or `together` for those that were filled at once
└── points/
    └── 001-oltp-db/
        ├── job.fio         the job that fio ran; its command line is in log.txt
        ├── fio.json.gz     everything that fio printed, a status each second
        ├── fio_lat.log.gz  of open loads whose jobs sleep: when each I/O completed and how long it took; of several
        │                   targets one each
        ├── fio.stderr      fio's messages
        ├── series.parquet  the point interval by interval
        ├── histograms.json latencies of reads and of writes, counted in bins
        ├── probes/         of a ramp: its probes, each with all of this; what lies above is that of the load line
        ├── targets.json    of several targets at once: the row of each
        └── point.json      the result, of all targets together
```

`point.json` is written last, under another name, and renamed: then the point exists. A process that is killed loses the
point in progress and nothing else. A failed point has a `point.json` with an `error`; `loadline resume` measures it
again. So it does with a damaged one, and with what is damaged among the probes of a point that has no result.
"""

RUN_JSON = {
    "format": f"format number, {FORMAT} in this version; a newer one is refused, an older one is read",
    "suite": "`name`, `title`, `source`, `analysis`",
    "target": "`given`, `kind`, `path`, `device`, sizes in bytes, and the `identity` by which resume knows it again;"
    " of several targets names and sizes of all",
    "targets": "only of several: each as one target is in `target`",
    "points": "the plan, in the order of measuring: each point with its streams, times and seed, its `repeat`, and of"
    " targets in turn the number of its `target`, from 0",
    "options": "`prepare`, `engine`, `seed`, `order`, `repeats`",
    "tags": "from `--tag`",
    "declared": "from `--declare`: settings that can't be captured, kept apart from those that were",
    "imported": "of an imported run: its `files`, how their columns were understood (`mapping`), `warnings`",
    "sessions": "one for `run` and one for each `resume`: times, command, versions of loadline and fio, facts of the"
    " machine; `devices`: of each target's device its facts, and its health before and after",
}

POINT_JSON = {
    "format": "as above",
    "result": "the row",
}

TARGETS_JSON = {
    "format": "as above",
    "targets": "the rows, in the order of the targets",
}

HISTOGRAMS_JSON = {
    "format": "as above",
    "histograms": "`read` and `write`, each as `ns` (a value for each bin) and `counts`; fio's bins, 64 an octave",
    "targets": "only of several at once: the same of each",
}

SERIES = """\
## The series

`series.parquet` has a row for each interval (about a second) of each source: `io` is fio, `host` this machine,
`device` the block device under the target. A source leaves NULL what it can't know.
"""


def command_line() -> str:
    """The page on verbs, options, output and exit codes."""
    root = click.Context(loadline_command, info_name="loadline", **loadline_command.context_settings)
    parts = [COMMAND_LINE, _table(("verb", "what it does"), ((_link(verb.name), verb.help) for verb in VERBS))]
    for verb in VERBS:
        command = loadline_command.get_command(root, verb.name)
        assert command is not None
        parts += _verb(click.Context(command, info_name=verb.name, parent=root))
    assert list(envelope()) == list(ENVELOPE), "the keys of --json have changed: change ENVELOPE"
    parts += [UNITS, OUTPUT, _table(("key", "what it holds"), _coded(ENVELOPE))]
    parts += [EXIT_CODES, _table(("code", "`error.kind`", "meaning"), _exit_codes()), COMPLETION]
    return "\n".join(parts)


def results() -> str:
    """The page on the row, the run folder and the series."""
    rows = ((f"`{column.name}`", column.type, column.meaning) for column in COLUMNS)
    of_series = ((f"`{name}`", kind, meaning) for name, kind, meaning in SERIES_COLUMNS)
    parts = [RESULTS, _table(("column", "type", "meaning"), rows)]
    parts += [FOLDER, "`run.json`:\n", _table(("key", "what it holds"), _coded(RUN_JSON))]
    parts += ["`point.json`:\n", _table(("key", "what it holds"), _coded(POINT_JSON))]
    parts += ["`targets.json`, which counts once there is a `point.json` beside it:\n"]
    parts += [_table(("key", "what it holds"), _coded(TARGETS_JSON))]
    parts += ["`histograms.json`, of points that had an I/O:\n"]
    parts += [_table(("key", "what it holds"), _coded(HISTOGRAMS_JSON))]
    parts += [SERIES, _table(("column", "type", "meaning"), of_series)]
    return "\n".join(parts)


def system_schema() -> str:
    """The JSON Schema of system files, for editors."""
    return _core.system_schema() + "\n"


def drive_schema() -> str:
    """The JSON Schema of drive files."""
    return _core.drive_schema() + "\n"


PAGES = {
    "command-line.md": command_line,
    "results.md": results,
    "system.schema.json": system_schema,
    "drive.schema.json": drive_schema,
}


def _verb(context: click.Context) -> Iterator[str]:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## loadline {context.info_name}\n\n```text\n{context.command_path} {usage}\n```\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    options = (param for param in command.get_params(context) if isinstance(param, click.Option))
    records = (record for option in options if (record := option.get_help_record(context)))
    yield _table(("option", "meaning"), ((f"`{names}`", " ".join(text.split())) for names, text in records))


def _exit_codes() -> list[tuple[str, ...]]:
    kinds = errors.LoadlineError.__subclasses__()
    failures = sorted((kind.exit_code, kind.kind, inspect.getdoc(kind) or "") for kind in kinds)
    rows = [(str(code), f"`{name}`", meaning.partition("\n")[0]) for code, name, meaning in failures]
    return [
        ("0", "", "Done."),
        ("1", "", "An audit found what cannot be, or a `--fail-if` of `compare` holds or can't be judged."),
        *rows,
    ]


def _link(verb: str) -> str:
    return f"[`{verb}`](#loadline-{verb})"


def _coded(rows: dict[str, str]) -> Iterator[Sequence[str]]:
    return ((f"`{key}`", meaning) for key, meaning in rows.items())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page())
