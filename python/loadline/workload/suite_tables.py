"""The tables of a suite's TOML, and what values they take: where pydantic looks at what somebody wrote.

What they become is `suite_file`'s business. Every key is in docs/reference/suite.md. Start reading at `SuiteTable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from loadline.errors import InputError
from loadline.units import format_duration, format_percent, parse_bytes, parse_duration, parse_fraction, parse_rate
from loadline.workload.limit import Limit, parse_limit
from loadline.workload.profile import BlockShare
from loadline.workload.rounds import Rounds
from loadline.workload.suite import BLOCK_BYTES, DEPTHS, JOBS, RUNTIME_NS, WARMUP_NS, Stop

T = TypeVar("T")

# Assumed: requests outstanding have been answered many times over by then. Suites of ours whose sources name no warm-up
# take at most as much for all of it.
_SETTLE_NS = 10 * 10**9
_RATE_PER_S = 1e9
_COUNT = 10**9

# What fio takes.
_DEVIATION = (0.00001, 0.99999)

#: One of rates, as an example.
RAMP = 'ramp = { axis = "rate", from = "100/s", to = "50k/s" }'


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
            raise ValueError(f"should be {wanted}{given_said(value)}")
        return value

    return BeforeValidator(validate)


def given_said(value: Any) -> str:
    """What stands there instead, for a message: texts and numbers as TOML has them, in short, of others the kind."""
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


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ZoneTable(_Table):
    """A part of the target: its share of accesses and of space."""

    access: Share
    space: Annotated[Share, Field(gt=0)]


class DistributionTable(_Table):
    """Where accesses go, in one of fio's four ways; a uniform one has no table."""

    zipf: Annotated[float, _number(0.001, 100)] | None = None
    pareto: Annotated[float, _number(0.001, 0.999)] | None = None
    normal: Annotated[float, _with(_deviation)] | None = None
    zoned: list[ZoneTable] | None = Field(default=None, min_length=1, max_length=256)

    @model_validator(mode="after")
    def _one_kind(self) -> DistributionTable:
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


class BurstsTable(_Table):
    """So many times the mean rate for a length of time, every so often."""

    times: Annotated[float, _number(1, 10**6, above=True)]
    length: Annotated[Duration, Field(gt=0)]
    every: Annotated[Duration, Field(gt=0)]

    @model_validator(mode="after")
    def _within_the_mean(self) -> BurstsTable:
        if self.times * self.length > self.every:
            raise ValueError(
                f"{self.times:g} times the rate for {format_duration(self.length)} of every"
                f" {format_duration(self.every)} is more than the mean rate; times x length is at most every"
            )
        return self


class RampTable(_Table):
    """The loads among which a load line is searched."""

    axis: Literal["outstanding", "rate"] = "outstanding"
    low: Any = Field(default=None, alias="from")
    high: Any = Field(default=None, alias="to")

    @model_validator(mode="after")
    def _from_low_to_high(self) -> RampTable:
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
            raise ValueError(f"needs `from` and `to` for rates, such as {RAMP}")
        try:
            low, high = parse_rate(self.low), parse_rate(self.high)
        except InputError as error:
            raise ValueError(f"{error.message}. {error.remedy}".strip()) from None
        if high > _RATE_PER_S:
            raise ValueError(f"{high:g}/s is above {_RATE_PER_S:g}/s; check the unit")
        return low, high


class ProfileTable(_Table):
    """A profile, with lists for what is swept."""

    name: Name
    block: Sizes | dict[str, Any]
    read: Shares
    random: Share
    # `class` is a keyword of Python, so the field has the name of what it becomes.
    access_class: Literal["combined", "random", "sequential"] | None = Field(default=None, alias="class")
    distribution: Annotated[DistributionTable | None, BeforeValidator(_not_uniform)] = None
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
    bursts: BurstsTable | None = None
    limit: LimitText | None = None
    ramp: RampTable | None = None
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
    def _ramp_alone(self) -> ProfileTable:
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


class RoundsTable(_Table):
    """Profiles that are repeated in turn until they are steady."""

    name: Name
    most: Annotated[int, _number(2, 10_000, whole=True)]
    window: Annotated[int, _number(2, 100, whole=True)] = 5
    track: list[str] = Field(min_length=1)
    figure: Literal["rate", "latency"] = "rate"
    fill: Annotated[int, _number(0, 10, whole=True)] = 0
    written: Annotated[float, _number(0, 1000, above=True)] | None = None

    @model_validator(mode="after")
    def _whole_window(self) -> RoundsTable:
        if self.most < self.window:
            raise ValueError(f"`most` is {self.most} rounds, fewer than the {self.window} of the window")
        return self

    def plain(self) -> Rounds:
        """The rounds that it says."""
        return Rounds(**{**self.model_dump(), "track": tuple(self.track)})


class PublishedTable(_Table):
    """What the suite's source asks for, where it differs."""

    queue_depth: Depth | None = None
    jobs: Jobs | None = None
    runtime: Runtime | None = None
    warmup: Warmup | None = None
    working_set: WorkingSet = (None, None)


class SuiteTable(_Table):
    """All of the text."""

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
    published: PublishedTable = PublishedTable()
    rounds: list[RoundsTable] = []
    profile: list[ProfileTable] = Field(min_length=1)
    variant: list[ProfileTable] = []
