"""The TOML form of a suite. Text enters here, validated once, and leaves as plain dataclasses.

Pydantic says where a fault is; `_fault` says it in one sentence. Every key is in docs/reference/suite.md.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from loadline.errors import InputError
from loadline.units import format_duration, format_percent, parse_bytes, parse_duration, parse_fraction, parse_rate
from loadline.workload.limit import Best, Limit, Ramp, parse_limit
from loadline.workload.profile import Arrival, BlockShare, Bursts, Distribution, Profile, Workload, access_class
from loadline.workload.rounds import Rounds
from loadline.workload.suite import (
    BLOCK_BYTES,
    DEPTHS,
    JOBS,
    MOST_POINTS,
    RUNTIME_NS,
    WARMUP_NS,
    Entry,
    Published,
    Stop,
    Suite,
    a_system,
    arrival,
    nearest,
)

T = TypeVar("T")


# Assumed: requests outstanding have been answered many times over by then. Suites of ours whose sources name no warm-up
# take at most as much for all of it.
_SETTLE_NS = 10 * 10**9
_RATE_PER_S = 1e9
_COUNT = 10**9

# What fio takes.
_DEVIATION = (0.00001, 0.99999)

_RAMP = 'ramp = { axis = "rate", from = "100/s", to = "50k/s" }'
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


def _with(parse: Callable[[Any], T]) -> BeforeValidator:
    def validate(value: Any) -> T:
        try:
            return parse(value)
        except InputError as error:
            raise ValueError(f"{error.message}. {error.remedy}".strip()) from None

    return BeforeValidator(validate)


def _number(low: float, high: float, *, above: bool = False, whole: bool = False) -> BeforeValidator:
    """Numbers from `low`, or from above it, to `high`."""
    kind = "a whole number" if whole else "a number"
    wanted = f"{kind} above {low:,g}, at most {high:,}" if above else f"{kind} from {low:,} to {high:,}"

    def validate(value: Any) -> Any:
        fits = type(value) is int or (type(value) is float and not whole)
        if not fits or not low <= value <= high or (above and value == low):
            raise ValueError(f"should be {wanted}{_is(value)}")
        return value

    return BeforeValidator(validate)


def _is(value: Any) -> str:
    """What stands there, for a message: texts and numbers as TOML has them, in short, of others the kind."""
    if isinstance(value, str):
        return f" (is {value[:64]!r})"
    if isinstance(value, bool):
        return f" (is {str(value).lower()})"
    if isinstance(value, int | float):
        return " (is a huge number)" if isinstance(value, int) and abs(value) >= 10**18 else f" (is {value})"
    if isinstance(value, list):
        return f" (is a list of {len(value)})"
    return " (is a table)" if isinstance(value, dict) else " (is a date or time)"


def _share(value: Any) -> float:
    return float(parse_fraction(value))


def _deviation(value: Any) -> float:
    share = _share(value)
    if not _DEVIATION[0] <= share <= _DEVIATION[1]:
        low, high = map(format_percent, _DEVIATION)
        raise InputError(f"{value!r} is not between {low} and {high}", "It's a share of the range.")
    return share


def _block_bytes(value: Any) -> int:
    size = parse_bytes(value)
    if not BLOCK_BYTES[0] <= size <= BLOCK_BYTES[1]:
        raise InputError(
            f"{value!r} is not a block size", "A block is 1 byte to 1 GiB; devices want multiples of 512 or 4k."
        )
    return size


def _duration_within(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        duration_ns = parse_duration(value)
        if not low <= duration_ns <= high:
            raise InputError(
                f"{value!r} is not between {format_duration(low)} and {high // (86400 * 10**9)} days", "Check the unit."
            )
        return duration_ns

    return parse


def _working_set(text: Any) -> tuple[float | None, int | None]:
    """As a share of the target, or in bytes."""
    fraction, size = (_share(text), None) if isinstance(text, str) and "%" in text else (None, parse_bytes(text))
    if not fraction and not size:
        raise InputError(f"{text!r} is nothing", "Leave it out to use all of the target.")
    return fraction, size


def _start(text: Any) -> tuple[float, int | None]:
    """As a share of the target, or in bytes."""
    return (_share(text), None) if isinstance(text, str) and "%" in text else (0.0, parse_bytes(text))


def _unreserved(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("global"):
        raise ValueError(f"{value[:64]!r}: fio keeps names that begin with `global` for defaults; choose another")
    return value


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _different(values: list[T]) -> list[T]:
    if len(set(values)) < len(values):
        raise ValueError("lists a value twice")
    return values


Size = Annotated[int, _with(_block_bytes)]
Share = Annotated[float, _with(_share)]
WorkingSet = Annotated[tuple[float | None, int | None], _with(_working_set)]
Start = Annotated[tuple[float, int | None], _with(_start)]
Duration = Annotated[int, _with(parse_duration)]
Runtime = Annotated[int, _with(_duration_within(*RUNTIME_NS))]
Warmup = Annotated[int, _with(_duration_within(*WARMUP_NS))]
Rate = Annotated[float, _with(parse_rate), Field(le=_RATE_PER_S)]
LimitText = Annotated[Limit, _with(parse_limit)]
Depth = Annotated[int, _number(*DEPTHS, whole=True)]
Jobs = Annotated[int, _number(*JOBS, whole=True)]
Count = Annotated[int, _number(0, _COUNT, whole=True)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, BeforeValidator(_unreserved), Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
Depths = Annotated[list[Depth], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
JobCounts = Annotated[list[Jobs], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
Sizes = Annotated[list[Size], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
Shares = Annotated[list[Share], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
Starts = Annotated[list[Start], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
Rates = Annotated[list[Rate], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Zone(_Text):
    access: Share
    space: Annotated[Share, Field(gt=0)]


class _DistributionText(_Text):
    zipf: Annotated[float, _number(0.001, 100)] | None = None
    pareto: Annotated[float, _number(0.001, 0.999)] | None = None
    normal: Annotated[float, _with(_deviation)] | None = None
    zoned: list[_Zone] | None = Field(default=None, min_length=1, max_length=256)

    @model_validator(mode="after")
    def _one_kind(self) -> _DistributionText:
        if len(self.model_fields_set) != 1:
            raise ValueError("give exactly one of zipf, pareto, normal, zoned")
        if self.zipf is not None and abs(self.zipf - 1) < 1e-6:
            raise ValueError("zipf = 1 is not defined by fio; take 0.99 or 1.01")
        for what in ("access", "space"):
            total = sum(getattr(zone, what) for zone in self.zoned or ())
            if self.zoned and abs(total - 1) > 1e-9:
                raise ValueError(f"the {what} shares of the zones add up to {format_percent(total)}, not 100%")
        return self


def _not_uniform(value: Any) -> Any:
    if value == "uniform":
        return None
    if isinstance(value, str):
        raise ValueError(f"{value!r} is not a distribution; write 'uniform' or one like {{ zipf = 1.2 }}")
    return value


class _BurstsText(_Text):
    times: Annotated[float, _number(1, 10**6, above=True)]
    length: Annotated[Duration, Field(gt=0)]
    every: Annotated[Duration, Field(gt=0)]

    @model_validator(mode="after")
    def _within_the_mean(self) -> _BurstsText:
        if self.times * self.length > self.every:
            raise ValueError(
                f"{self.times:g} times the rate for {format_duration(self.length)} of every"
                f" {format_duration(self.every)} is more than the mean rate; times x length is at most every"
            )
        return self


class _RampText(_Text):
    axis: Literal["outstanding", "rate"] = "outstanding"
    low: Any = Field(default=None, alias="from")
    high: Any = Field(default=None, alias="to")

    @model_validator(mode="after")
    def _from_low_to_high(self) -> _RampText:
        low, high = self.range()
        if low >= high:
            raise ValueError(f"goes from {low:g} to {high:g}; `to` is above `from`")
        return self

    def range(self) -> tuple[float, float]:
        """The lowest and the highest load; ValueError for what can't be one."""
        if self.axis == "outstanding":
            ends = [default if end is None else end for end, default in zip((self.low, self.high), DEPTHS, strict=True)]
            for end in ends:
                if type(end) is not int or not DEPTHS[0] <= end <= DEPTHS[1]:
                    raise ValueError(f"{str(end)[:64]!r} outstanding; whole numbers from {DEPTHS[0]} to {DEPTHS[1]}")
            return ends[0], ends[1]
        if self.low is None or self.high is None:
            raise ValueError(f"needs `from` and `to` for rates, such as {_RAMP}")
        try:
            low, high = parse_rate(self.low), parse_rate(self.high)
        except InputError as error:
            raise ValueError(f"{error.message}. {error.remedy}".strip()) from None
        if high > _RATE_PER_S:
            raise ValueError(f"{high:g}/s is above {_RATE_PER_S:g}/s; check the unit")
        return low, high


class _ProfileText(_Text):
    name: Name
    block: Sizes | dict[str, Any]
    read: Shares
    random: Share
    # `class` is a keyword of Python, so the field has the name of what it becomes.
    access_class: Literal["combined", "random", "sequential"] | None = Field(default=None, alias="class")
    distribution: Annotated[_DistributionText | None, BeforeValidator(_not_uniform)] = None
    working_set: WorkingSet = (None, None)
    start: Starts = [(0.0, None)]
    compressible: Share = 0.0
    duplicate: Share = 0.0
    flush_every: Count = 0
    dsync: Flag = False
    think_time: Duration = 0
    burst: Annotated[int, _number(1, _COUNT, whole=True)] = 1
    analysis: str = ""
    queue_depth: Depths | None = None
    jobs: JobCounts | None = None
    rate: Rates | None = None
    bursts: _BurstsText | None = None
    limit: LimitText | None = None
    ramp: _RampText | None = None
    best: Literal["rate", "latency"] | None = None
    rounds: str | None = None
    runtime: Runtime | None = None
    warmup: Warmup | None = None

    @model_validator(mode="before")
    @classmethod
    def _block_alone(cls, data: Any) -> Any:
        # A union would report both of its branches; a mix is checked by _shares, so only the plain form is left to it.
        if isinstance(data, dict) and isinstance(data.get("block"), dict):
            _shares(data["block"])
        return data

    @model_validator(mode="after")
    def _ramp_alone(self) -> _ProfileText:
        if self.limit is None and self.ramp is not None:
            raise ValueError('`ramp` needs a `limit`, such as limit = "mean<=30ms"')
        if self.limit is not None and (self.queue_depth is not None or self.rate is not None):
            raise ValueError("`limit` makes it a ramp, which finds queue_depth or rate by itself; leave both out")
        if self.best is not None and (self.limit is not None or self.rate is not None):
            raise ValueError("`best` compares queue depths; leave out limit and rate")
        if self.rounds is not None and (self.limit is not None or self.best is not None):
            raise ValueError("`rounds` are of plain points; leave out limit and best")
        for start, _ in self.start:
            touched = start + (self.working_set[0] or 0.0)
            if touched > 1 + 1e-9 or start == 1:
                share = format_percent(start)
                raise ValueError(f"`start` and `working_set`: what begins at {share} ends behind the target's end")
        return self

    def blocks(self) -> list[tuple[BlockShare, ...]]:
        """The sizes of a sweep, or the one mix."""
        if isinstance(self.block, dict):
            return [_shares(self.block)]
        return [(BlockShare(size, 1.0),) for size in self.block]


class _RoundsText(_Text):
    name: Name
    most: Annotated[int, _number(2, 10_000, whole=True)]
    window: Annotated[int, _number(2, 100, whole=True)] = 5
    track: list[str] = Field(min_length=1)
    figure: Literal["rate", "latency"] = "rate"
    fill: Annotated[int, _number(0, 10, whole=True)] = 0
    written: Annotated[float, _number(0, 1000, above=True)] | None = None

    @model_validator(mode="after")
    def _whole_window(self) -> _RoundsText:
        if self.most < self.window:
            raise ValueError(f"`most` is {self.most} rounds, fewer than the {self.window} of the window")
        return self

    def plain(self) -> Rounds:
        """The rounds that it says."""
        return Rounds(**{**self.model_dump(), "track": tuple(self.track)})


class _PublishedText(_Text):
    queue_depth: Depth | None = None
    jobs: Jobs | None = None
    runtime: Runtime | None = None
    warmup: Warmup | None = None
    working_set: WorkingSet = (None, None)


class _SuiteText(_Text):
    title: str
    source: str = ""
    analysis: str = ""
    runtime: Runtime
    warmup: Warmup = 0
    settle: Warmup = _SETTLE_NS
    queue_depth: Depths = [32]
    jobs: JobCounts = [1]
    rate: Rates | None = None
    stop: Stop = "precise"
    published: _PublishedText = _PublishedText()
    rounds: list[_RoundsText] = []
    profile: list[_ProfileText] = Field(min_length=1)
    variant: list[_ProfileText] = []


# From the outside to the inside.
_TABLES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("profile", _ProfileText),
    ("variant", _ProfileText),
    ("published", _PublishedText),
    ("distribution", _DistributionText),
    ("zoned", _Zone),
    ("bursts", _BurstsText),
    ("ramp", _RampText),
)
_HEADS: tuple[tuple[str, type[BaseModel]], ...] = (("rounds", _RoundsText),)


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
        parsed = _SuiteText.model_validate(data)
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


def _shares(block: dict[str, Any]) -> tuple[BlockShare, ...]:
    """A mix of sizes; ValueError for a size or share that can't be, or shares that aren't 100 % together."""
    try:
        shares = tuple(BlockShare(_block_bytes(size), _share(share)) for size, share in block.items())
    except InputError as error:
        raise ValueError(f"block: {error.message}. {error.remedy}".strip()) from None
    if len({share.size_bytes for share in shares}) < len(shares):
        raise ValueError("`block` has a size twice")
    if len(shares) > 64:
        raise ValueError(f"`block` has {len(shares)} sizes; fio takes at most 64")
    total = sum(share.share_fraction for share in shares)
    if abs(total - 1) > 1e-9:
        raise ValueError(f"the shares of `block` add up to {format_percent(total)}, not 100%")
    if any(share.share_fraction == 0 for share in shares):
        raise ValueError("a size of `block` has a share of 0%: leave it out")
    return shares


def _entry(text: _ProfileText, suite: _SuiteText, file: str, *, variant: bool) -> Entry:
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


def _ramp(text: _ProfileText) -> Ramp | None:
    if text.limit is None:
        return None
    ramp = text.ramp or _RampText()
    return Ramp(text.limit, ramp.axis, *ramp.range())


def _rounds(text: _ProfileText, suite: _SuiteText, file: str) -> Rounds | None:
    if text.rounds is None:
        return None
    known = {one.name: one for one in suite.rounds}
    if text.rounds not in known:
        remedy = nearest(text.rounds, known, f"Known: {', '.join(known) or 'none'}; write [[rounds]].")
        raise InputError(f"{file}: profile {text.name}: there are no rounds named {text.rounds[:64]!r}", remedy)
    return known[text.rounds].plain()


def _arrivals(text: _ProfileText, suite: _SuiteText, ramp: Ramp | None) -> list[Arrival]:
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


def _distribution(text: _DistributionText | None) -> Distribution:
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
            remedy = f"`{key}` belongs into the ramp: {_RAMP}."
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
    return said + _is(fault["input"])


def _keys(above: tuple[int | str, ...]) -> list[str]:
    """The keys that are known in the table that is reached by the keys `above`."""
    model: type[BaseModel] = _SuiteText
    for key, inner in (*_TABLES, *_HEADS):
        # What a profile says of rounds is their name, no table.
        if key in above and not (inner is _RoundsText and above[0] != "rounds"):
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
