"""Writes the pages of docs/reference that the code can tell: command line, Python, results, schemas.

`make docs` runs it; a test compares what it would write with what is committed.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import click

import loadline
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

PYTHON = f"""\
# Python

{NOTICE}

`import loadline` has all that is below and imports no heavy library until it's used. Wherever a system or a suite is
taken, a name of the catalog or a path will do. Rows are the [results](results.md) of any origin: what gives them,
`audit`, `compare` and `report` fit together. Whatever goes wrong is a `LoadlineError` of one of its
[kinds](#errors).
"""

EXAMPLES = {
    "run": """\
from pathlib import Path

import loadline

Path("disk").mkdir()
options = loadline.Options(only=("oltp-db",), quick=True, runtime_ns=500_000_000)
made = loadline.run("typical-12", "disk", options=options, size_bytes=32 * 1024**2)
for row in made.results():
    print(row.point, row.total.iops, row.error)
loadline.report([made], "disk.csv")
""",
    "resume": """\
import loadline

print(loadline.resume("last").missing())
""",
    "simulate": """\
import loadline

options = loadline.Options(only=("oltp-db",), queue_depths=(1, 32))
settings = ["volume.layout=raid5,raid10"]
for row in loadline.simulate("dl360-g6-p410i", "typical-12", options=options, settings=settings, ios=20_000):
    print(row.tags["volume.layout"], row.point, row.total.iops, row.total.latency_p99_ns)
""",
    "solve": """\
import loadline

rows = loadline.solve("hdd-7k2", "database-ramp", explain=True)
print(rows[0].total.iops, rows[0].saturation_iops, rows[0].bottleneck)
print("\\n".join(rows[0].provenance["working"]))
loadline.report(rows, "solved.html")
""",
    "forecast": """\
import loadline

for row in loadline.forecast("dl360-g6-p410i", "database-ramp", limit="mean<=20ms"):
    print(row.role, row.outstanding_asked, row.total.latency_mean_ns)
""",
    "audit": """\
import loadline

rows = loadline.simulate("hdd-7k2", "typical-12", options=loadline.Options(only=("oltp-db",)), ios=2000)
for row in loadline.audit(rows):
    for finding in row.findings:
        print(finding["severity"], finding["check"], finding["message"])
""",
    "compare": """\
import loadline

before = loadline.solve("hdd-7k2", "typical-12")
after = loadline.solve("sas-10k-jbod", "typical-12")
for cell in loadline.compare([*before, *after], by="system", figures=["iops"]).cells:
    print(cell.point, cell.side, cell.ratio)
""",
    "report": """\
import loadline

rows = loadline.solve("hdd-7k2", "typical-12")
print(loadline.report(rows, "rows.md"))
""",
    "import_results": """\
from pathlib import Path

import loadline

Path("array.csv").write_text("Workload,IOPS,Latency (ms)\\noltp-db,1200,4.5\\n")
made, read = loadline.import_results(["array.csv"])
print(read.warnings, [row.total.iops for row in made.results()])
""",
    "emulate": """\
import loadline

with loadline.emulate("hdd-7k2") as device:
    print(device.address)
""",
    "load_system": """\
import loadline

system = loadline.load_system("eva-v2-10k")
for key, value, source in system.figures()[:5]:
    print(key, value, source)
""",
    "load_suite": """\
import loadline

suite, warnings = loadline.load_suite("typical-12")
print(suite.title, [entry.name for entry in suite.entries], warnings)
""",
    "Workload": """\
import loadline
from loadline.workload.profile import BlockShare, Closed, Open

reads = loadline.Profile(
    "reads", block=(BlockShare(8192, 1.0),), read_fraction=1.0, random_fraction=1.0, access_class="random"
)
for arrival in (Closed(queue_depth=16, jobs=2), Open(rate_per_s=50.0, queue_depth=32)):
    print(loadline.solve("hdd-7k2", loadline.Workload(reads, arrival))[0].total.latency_mean_ns)
""",
    "LoadlineError": """\
import loadline

try:
    loadline.solve("hdd-7k3", "typical-12")
except loadline.LoadlineError as error:
    print(error.kind, error.message, error.remedy, sep="\\n")
""",
}

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


def python() -> str:
    """The page on what `import loadline` has."""
    names = {name: getattr(loadline, name) for name in loadline.__all__}
    kinds = {name: thing for name, thing in names.items() if _is_error(thing)}
    nouns = {name: thing for name, thing in names.items() if isinstance(thing, type) and name not in kinds}
    ordered = [*(name for name in EXAMPLES if name not in nouns | kinds), *names]
    calls = {name: names[name] for name in ordered if name not in nouns | kinds}
    parts = [PYTHON, _table(("call", "what it does", "returns", "raises"), (_call(*one) for one in calls.items()))]
    parts += [_table(("noun", "what it is"), ((_anchor(*one), _first(one[1])) for one in nouns.items()))]
    for name, thing in (*calls.items(), *nouns.items()):
        parts += [f"## {_head(name, thing)}\n", *_told(name, thing)]
    tree = ((f"`{name}`", str(thing.exit_code), f"`{thing.kind}`", _first(thing)) for name, thing in kinds.items())
    parts += ["## Errors\n", *_told("LoadlineError", loadline.LoadlineError)]
    parts += [_table(("error", "exit code", "`kind`", "meaning"), tree)]
    return "\n".join(parts)


def system_schema() -> str:
    """The JSON Schema of system files, for editors."""
    return _core.system_schema() + "\n"


def drive_schema() -> str:
    """The JSON Schema of drive files."""
    return _core.drive_schema() + "\n"


PAGES = {
    "command-line.md": command_line,
    "python.md": python,
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


# Heads of a docstring's parts, as they begin.
_PART = re.compile(r"^(Args|Attributes|Returns|Raises):\n", re.MULTILINE)


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, errors.LoadlineError)


def _first(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def _head(name: str, thing: object) -> str:
    # Run and run are two.
    return f"class {name}" if isinstance(thing, type) else name


def _anchor(name: str, thing: object) -> str:
    return f"[`{name}`](#{_head(name, thing).lower().replace(' ', '-')})"


def _call(name: str, call: Callable[..., Any]) -> tuple[str, ...]:
    _, *parts = _PART.split(inspect.getdoc(call) or "")
    raised = dict(zip(parts[::2], parts[1::2], strict=True)).get("Raises", "")
    kinds = dict.fromkeys(re.findall(r"\b(?:[A-Z]\w+Error|InterruptedRun)\b", raised))
    return (
        _anchor(name, call),
        _first(call),
        f"`{_returned(call)}`",
        ", ".join(f"`{kind}`" for kind in kinds),
    )


def _returned(call: Callable[..., Any]) -> str:
    return str(inspect.signature(call).return_annotation)


def _told(name: str, thing: Callable[..., Any]) -> Iterator[str]:
    """The signature, what the docstring says, and the example if there is one."""
    returned = "" if isinstance(thing, type) else f" -> {_returned(thing)}"
    pieces: list[str] = []
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(piece.startswith("*") for piece in pieces):
            pieces.append("*")
        pieces.append(_parameter(parameter))
    yield "```text\n" + f"{name}(\n" + "".join(f"    {one},\n" for one in pieces) + f"){returned}\n```\n"
    text, *parts = _PART.split(inspect.getdoc(thing) or "")
    yield text.strip() + "\n"
    for head, part in zip(parts[::2], parts[1::2], strict=True):
        inside = inspect.cleandoc(part)
        if head in {"Args", "Attributes"}:
            items = re.split(r"\n(?! )", inside)
            rows = [(", ".join(f"`{one}`" for one in names.split(", ")), " ".join(meaning.split()))
                    for names, _, meaning in (item.partition(": ") for item in items)]  # fmt: skip
            yield _table(("argument" if head == "Args" else "attribute", "meaning"), rows)
        else:
            yield f"{head}: {' '.join(inside.split())}\n"
    if members := list(_members(thing)):
        yield _table(("member", "what it gives"), members)
    if name in EXAMPLES:
        yield f"```python\n{EXAMPLES[name]}```\n"


def _members(thing: object) -> Iterator[Sequence[str]]:
    """What an object of a class has beside its attributes."""
    for name, member in vars(thing).items() if isinstance(thing, type) else ():
        if name.startswith("_") or not (isinstance(member, property | staticmethod) or inspect.isfunction(member)):
            continue
        asked = "" if isinstance(member, property) else "(" + ", ".join(_takes(member)) + ")"
        yield f"`{name}{asked}`", _first(member)


def _takes(member: Any) -> list[str]:
    return [name for name in inspect.signature(member).parameters if name != "self"]


def _parameter(parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    said = f"{star}{parameter.name}: {parameter.annotation}"
    default = parameter.default
    if default is parameter.empty:
        return said
    if callable(default) or repr(default).startswith("<"):
        return f"{said} = ..."
    return f"{said} = {type(default).__name__ + '()' if is_dataclass(default) else repr(default)}"


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
