"""The TOML form of a suite. Text enters here, validated once, and leaves as plain dataclasses.

Pydantic says where a fault is (`suite_tables`); `_fault` says it in one sentence.
Every key is in docs/reference/suite.md.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loadline.errors import InputError
from loadline.workload.limit import Best, Ramp
from loadline.workload.profile import Arrival, Bursts, Distribution, Profile, Workload, access_class
from loadline.workload.rounds import Rounds
from loadline.workload.suite import MOST_POINTS, Entry, Published, Suite, a_system, arrival, nearest
from loadline.workload.suite_tables import (
    RAMP,
    BurstsTable,
    DistributionTable,
    ProfileTable,
    PublishedTable,
    RampTable,
    RoundsTable,
    SuiteTable,
    ZoneTable,
    given_said,
)

_FORM = "The form of a suite is in docs/reference/suite.md."

# Of a dotted key's parts tomllib takes the square, in time and in memory; no key of a suite has more than three.
_MOST_PARTS = 100

# Lists and tables within each other: twenty times as many as a suite has.
_MOST_DEEP = 100

# What holds dots beside keys, text and comments, and what keys stand between. Text that isn't closed goes to the end,
# so that no place is looked at twice.
_TEXT = re.compile(
    r'"""(?s:.*?)(?:"""|\Z)'
    r"|'''(?s:.*?)(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#.*"
)
_BETWEEN = re.compile(r"[=,{\[\n]")

# From the outside to the inside.
_TABLES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("profile", ProfileTable),
    ("variant", ProfileTable),
    ("published", PublishedTable),
    ("distribution", DistributionTable),
    ("zoned", ZoneTable),
    ("bursts", BurstsTable),
    ("ramp", RampTable),
)
_HEADS: tuple[tuple[str, type[BaseModel]], ...] = (("rounds", RoundsTable),)


def parse(text: str, name: str, file: str) -> Suite:
    """The suite that a TOML text describes.

    Raises:
        InputError: not TOML, or a key that is unknown, missing, or has a value that can't be.
    """
    if max(key.count(".") for key in _BETWEEN.split(_TEXT.sub("", text))) >= _MOST_PARTS:
        raise InputError(f"{file}: a key has more than {_MOST_PARTS} parts", _FORM)
    try:
        data = tomllib.loads(text)
    except ValueError as error:  # a fault in the form, or a number of thousands of digits
        raise InputError(f"{file}: not TOML: {error}", _FORM) from None
    except RecursionError:
        where = f"{file}: line {_deep_line(text)}"
        remedy = f"Close what is open there. {_FORM}"
        raise InputError(f"{where}: lists or tables are nested deeper than can be read", remedy) from None
    if data.keys() & {"pool", "station"} and "profile" not in data:
        raise a_system(file)
    try:
        parsed = SuiteTable.model_validate(data)
    except ValidationError as error:
        raise _fault(error, data, file) from None
    profiles = [*parsed.profile, *parsed.variant]
    points = sum(
        len(p.read)
        * len(p.blocks())
        * len(p.start)
        * (
            len(p.jobs or parsed.jobs)
            * (1 if p.best else len(p.queue_depth or parsed.queue_depth))
            * max(1, len(p.rate or parsed.rate or []))
            if p.limit is None
            else 1
        )
        for p in profiles
    )
    if points > MOST_POINTS:
        raise InputError(f"{file}: its sweeps make {points} points", f"At most {MOST_POINTS}: shorten the lists.")
    entries = [_entry(profile, parsed, file, variant=False) for profile in parsed.profile]
    entries += [_entry(profile, parsed, file, variant=True) for profile in parsed.variant]
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise InputError(f"{file}: two profiles are named {entry.name!r}", "Names tell points apart: change one.")
        seen.add(entry.name)
    for rounds, times in Counter(one.name for one in parsed.rounds).items():
        if times > 1:
            remedy = "Profiles name the rounds that they belong to: change one."
            raise InputError(f"{file}: {times} rounds are named {rounds!r}", remedy)
    own = parsed.published
    published = Published(own.queue_depth, own.jobs, own.runtime, own.warmup, *own.working_set)
    return Suite(name, parsed.title, parsed.source, parsed.analysis, tuple(entries), published, parsed.stop, file)


def _deep_line(text: str) -> int:
    """The first line, from 1, where more lists and tables are open than any suite has a use for."""
    plain = _TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
    depth, line = 0, 1
    for sign in re.findall(r"[][{}\n]", plain):
        line += sign == "\n"
        depth += (sign in "[{") - (sign in "]}")
        if depth > _MOST_DEEP:
            break
    return line


def _entry(text: ProfileTable, suite: SuiteTable, file: str, *, variant: bool) -> Entry:
    fraction, size = text.working_set
    first = Profile(
        name=text.name,
        block=(),
        read_fraction=text.read[0],
        random_fraction=text.random,
        access_class=text.access_class or access_class(text.random),
        distribution=_distribution(text.distribution),
        working_set_fraction=fraction,
        working_set_bytes=size,
        compressible_fraction=text.compressible,
        duplicate_fraction=text.duplicate,
        flush_every=text.flush_every,
        dsync=text.dsync,
        think_time_ns=text.think_time,
        burst=text.burst,
        analysis=text.analysis,
    )
    ramp, rounds = _ramp(text), _rounds(text, suite, file)
    depths = tuple(sorted(text.queue_depth or suite.queue_depth))
    best = None if text.best is None else Best(text.best, depths)
    try:
        arrivals = _arrivals(text, suite, ramp)
    except InputError as error:
        raise InputError(f"{file}: profile {text.name}: {error.message}", error.remedy) from None
    profiles = [
        replace(first, read_fraction=read, block=block, start_fraction=start_fraction, start_bytes=start_bytes)
        for read in text.read
        for block in text.blocks()
        for start_fraction, start_bytes in text.start
    ]
    loads = tuple((Workload(profile, one),) for profile in profiles for one in arrivals)
    runtime = suite.runtime if text.runtime is None else text.runtime
    warmup = suite.warmup if text.warmup is None else text.warmup
    return Entry(text.name, loads, runtime, warmup, text.analysis, variant, ramp, best, rounds, suite.settle)


def _ramp(text: ProfileTable) -> Ramp | None:
    if text.limit is None:
        return None
    ramp = text.ramp or RampTable()
    return Ramp(text.limit, ramp.axis, *ramp.range())


def _rounds(text: ProfileTable, suite: SuiteTable, file: str) -> Rounds | None:
    if text.rounds is None:
        return None
    known = {one.name: one for one in suite.rounds}
    if text.rounds not in known:
        remedy = nearest(text.rounds, known, f"Known: {', '.join(known) or 'none'}; write [[rounds]].")
        raise InputError(f"{file}: profile {text.name}: there are no rounds named {text.rounds[:64]!r}", remedy)
    return known[text.rounds].plain()


def _arrivals(text: ProfileTable, suite: SuiteTable, ramp: Ramp | None) -> list[Arrival]:
    """The arrivals of the sweep; of a search the one that it begins with."""
    depths, all_jobs = text.queue_depth or suite.queue_depth, text.jobs or suite.jobs
    rates: list[float] | list[None] = text.rate or suite.rate or [None]
    if ramp is not None:
        if len(all_jobs) > 1 or (ramp.axis == "outstanding" and all_jobs != [1]):
            raise InputError("jobs: a ramp has one number of jobs, and one of outstanding I/Os has 1", "Set jobs = 1.")
        depths, rates = ([int(ramp.low)], [None]) if ramp.axis == "outstanding" else (depths[-1:], [ramp.low])
    if text.best is not None:
        depths, rates = [min(depths)], [None]
    bursts = None if text.bursts is None else Bursts(text.bursts.times, text.bursts.length, text.bursts.every)
    if bursts is not None and rates == [None]:
        raise InputError("bursts: they are those of an open load", 'Add the mean rate, such as rate = "5k/s".')
    return [arrival(depth, jobs, rate, bursts) for jobs in all_jobs for depth in depths for rate in rates]


def _distribution(text: DistributionTable | None) -> Distribution:
    if text is None:
        return Distribution()
    if text.zoned is not None:
        return Distribution("zoned", zones=tuple((zone.access, zone.space) for zone in text.zoned))
    if text.zipf is not None:
        return Distribution("zipf", text.zipf)
    if text.pareto is not None:
        return Distribution("pareto", text.pareto)
    return Distribution("normal", (text.normal or 0) * 100)


def _fault(error: ValidationError, data: dict[str, Any], file: str) -> InputError:
    """The first fault as a sentence with its place, e.g. `suite.toml: profile oltp-db: read: ...`."""
    faults = error.errors(include_url=False)
    # A key that is written wrongly is missing, too.
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    where = ": ".join([file, *_place(first["loc"], data)])
    if first["type"] == "extra_forbidden":
        key, keys = str(first["loc"][-1]), _keys(first["loc"][:-1])
        remedy = nearest(key, keys, f"Known: {', '.join(keys)}.")
        if "ramp" in keys and key in _keys(("ramp",)):
            remedy = f"`{key}` belongs into the ramp: {RAMP}."
        return InputError(f"{where}: unknown key", remedy)
    if first["type"] == "missing":
        return InputError(f"{where}: missing", _FORM)
    if first["type"] == "value_error":
        return InputError(f"{where}: {first['msg'].removeprefix('Value error, ')}", _FORM)
    return InputError(f"{where}: {_wanted(first)}", _FORM)


def _wanted(fault: ErrorDetails) -> str:
    """What Pydantic misses, in our words, and what is there instead."""
    loc, given = fault["loc"], fault.get("ctx", {})
    tables = f"should be a list of tables, each headed [[{loc[0]}]]"
    said = {
        "model_type": "should be a table",
        "list_type": tables if loc in (("profile",), ("variant",), ("rounds",)) else "should be a list",
        "string_type": "should be text in quotes",
        "bool_type": "should be true or false",
        "literal_error": f"should be {given.get('expected')}",
        "too_short": "should have an entry",
        "too_long": f"should have at most {given.get('max_length')} entries",
        "greater_than": f"should be above {given.get('gt', 0):g}",
        "less_than_equal": f"should be at most {given.get('le', 0):,.15g}",
        "string_pattern_mismatch": "should be 1 to 64 letters, digits or . _ + -, a letter or digit first",
    }.get(fault["type"], "can't stand there")
    return said + given_said(fault["input"])


def _keys(above: tuple[int | str, ...]) -> list[str]:
    """The keys that are known in the table that is reached by the keys `above`."""
    model: type[BaseModel] = SuiteTable
    for key, inner in (*_TABLES, *_HEADS):
        # What a profile says of rounds is their name, no table.
        if key in above and not (inner is RoundsTable and above[0] != "rounds"):
            model = inner
    return [field.alias or key for key, field in model.model_fields.items()]


def _place(loc: tuple[int | str, ...], data: dict[str, Any]) -> list[str]:
    """The keys on the way to a fault; entries of a list by their `name`. Pydantic's own marks in `loc` are left out."""
    place: list[str] = []
    node: Any = data
    for index, part in enumerate(loc):
        if isinstance(part, int) and isinstance(node, list):
            node = node[part]
            name = node.get("name") if isinstance(node, dict) else None
            place[-1] += f" {name[:64]}" if isinstance(name, str) else f" number {part + 1}"
        elif isinstance(part, str) and isinstance(node, dict) and (part in node or index == len(loc) - 1):
            node = node.get(part)
            place.append(part[:64])
    return place
