"""The TOML form of a suite. Text enters here, validated once, and leaves as plain dataclasses.

Pydantic says where a fault is; `_fault` says it in one sentence. Every key is in docs/reference/suite.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from loadline.errors import InputError
from loadline.units import format_duration, format_percent, parse_bytes, parse_duration, parse_fraction, parse_rate
from loadline.workload.profile import BlockShare, Distribution, Profile, Workload, access_class
from loadline.workload.suite import (
    BLOCK_BYTES,
    DEPTHS,
    JOBS,
    RUNTIME_NS,
    WARMUP_NS,
    Entry,
    Published,
    Suite,
    arrival,
    nearest,
)

T = TypeVar("T")

_POINTS = 10_000

_FORM = "The form of a suite is in docs/reference/suite.md."


def _with(parse: Callable[[Any], T]) -> BeforeValidator:
    def validate(value: Any) -> T:
        try:
            return parse(value)
        except InputError as error:
            raise ValueError(f"{error.message}. {error.remedy}".strip()) from None

    return BeforeValidator(validate)


def _share(value: Any) -> float:
    return float(parse_fraction(value))


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
Duration = Annotated[int, _with(parse_duration)]
Runtime = Annotated[int, _with(_duration_within(*RUNTIME_NS))]
Warmup = Annotated[int, _with(_duration_within(*WARMUP_NS))]
Rate = Annotated[float, _with(parse_rate), Field(le=1e9)]
Depth = Annotated[int, Field(ge=DEPTHS[0], le=DEPTHS[1], strict=True)]
Jobs = Annotated[int, Field(ge=JOBS[0], le=JOBS[1], strict=True)]
Count = Annotated[int, Field(ge=0, le=10**9, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, BeforeValidator(_unreserved), Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
Depths = Annotated[list[Depth], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
JobCounts = Annotated[list[Jobs], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]
Rates = Annotated[list[Rate], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_different)]


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Zone(_Text):
    access: Share
    space: Annotated[Share, Field(gt=0)]


class _DistributionText(_Text):
    zipf: float | None = Field(default=None, ge=0.001, le=100, strict=True)
    pareto: float | None = Field(default=None, ge=0.001, le=0.999, strict=True)
    normal: Share | None = Field(default=None, ge=0.00001, le=0.99999)
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


class _ProfileText(_Text):
    name: Name
    block: Size | dict[str, Any]
    read: Share
    random: Share
    # `class` is a keyword of Python, so the field has the name of what it becomes.
    access_class: Literal["combined", "random", "sequential"] | None = Field(default=None, alias="class")
    distribution: Annotated[_DistributionText | None, BeforeValidator(_not_uniform)] = None
    working_set: Any = None
    compressible: Share = 0.0
    duplicate: Share = 0.0
    flush_every: Count = 0
    dsync: Flag = False
    think_time: Duration = 0
    burst: Annotated[Count, Field(ge=1)] = 1
    analysis: str = ""
    queue_depth: Depths | None = None
    jobs: JobCounts | None = None
    rate: Rates | None = None
    runtime: Runtime | None = None
    warmup: Warmup | None = None

    @model_validator(mode="before")
    @classmethod
    def _block_alone(cls, data: Any) -> Any:
        # A union would report both of its branches; a mix is checked by _shares, so only the plain form is left to it.
        if isinstance(data, dict) and isinstance(data.get("block"), dict):
            _shares(data["block"])
        return data


class _PublishedText(_Text):
    queue_depth: Depth | None = None
    jobs: Jobs | None = None
    runtime: Runtime | None = None
    warmup: Warmup | None = None


class _SuiteText(_Text):
    title: str
    source: str = ""
    analysis: str = ""
    runtime: Runtime
    warmup: Warmup = 0
    queue_depth: Depths = [32]
    jobs: JobCounts = [1]
    rate: Rates | None = None
    published: _PublishedText = _PublishedText()
    profile: list[_ProfileText] = Field(min_length=1)
    variant: list[_ProfileText] = []


def parse(text: str, name: str, file: str) -> Suite:
    """The suite that a TOML text describes.

    Raises:
        InputError: not TOML, or a key that is unknown, missing, or has a value that can't be.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a fault in the form, a number of thousands of digits, deep nesting
        raise InputError(f"{file}: not TOML: {error}", _FORM) from None
    try:
        parsed = _SuiteText.model_validate(data)
    except ValidationError as error:
        raise _fault(error, data, file) from None
    profiles = [*parsed.profile, *parsed.variant]
    points = sum(
        len(p.jobs or parsed.jobs) * len(p.queue_depth or parsed.queue_depth) * max(1, len(p.rate or parsed.rate or []))
        for p in profiles
    )
    if points > _POINTS:
        raise InputError(f"{file}: its sweeps make {points} points", f"At most {_POINTS}: shorten the lists.")
    entries = [_entry(profile, parsed, file, variant=False) for profile in parsed.profile]
    entries += [_entry(profile, parsed, file, variant=True) for profile in parsed.variant]
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise InputError(f"{file}: two profiles are named {entry.name!r}", "Names tell points apart: change one.")
        seen.add(entry.name)
    published = Published(
        parsed.published.queue_depth, parsed.published.jobs, parsed.published.runtime, parsed.published.warmup
    )
    return Suite(name, parsed.title, parsed.source, parsed.analysis, tuple(entries), published)


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
    try:
        fraction, size = _working_set(text.working_set)
    except InputError as error:
        raise InputError(f"{file}: profile {text.name}: working_set: {error.message}", error.remedy) from None
    profile = Profile(
        name=text.name,
        block=_shares(text.block) if isinstance(text.block, dict) else (BlockShare(text.block, 1.0),),
        read_fraction=text.read,
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
    rates: list[float] | list[None] = text.rate or suite.rate or [None]
    loads = tuple(
        (Workload(profile, arrival(depth, jobs, rate)),)
        for jobs in text.jobs or suite.jobs
        for depth in text.queue_depth or suite.queue_depth
        for rate in rates
    )
    runtime = suite.runtime if text.runtime is None else text.runtime
    warmup = suite.warmup if text.warmup is None else text.warmup
    return Entry(text.name, loads, runtime, warmup, text.analysis, variant)


def _working_set(text: Any) -> tuple[float | None, int | None]:
    if text is None:
        return None, None
    fraction, size = (_share(text), None) if isinstance(text, str) and "%" in text else (None, parse_bytes(text))
    if not fraction and not size:
        raise InputError(f"{text!r} is nothing", "Leave it out to use all of the target.")
    return fraction, size


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
    first = error.errors(include_url=False, include_context=False)[0]
    where = ": ".join([file, *_place(first["loc"], data)])
    if first["type"] == "extra_forbidden":
        models: dict[str, type[BaseModel]] = {
            "profile": _ProfileText,
            "variant": _ProfileText,
            "published": _PublishedText,
        }
        model = models.get(str(first["loc"][0]), _SuiteText) if len(first["loc"]) > 1 else _SuiteText
        model = _DistributionText if "distribution" in first["loc"][:-1] else model
        keys = ["class" if key == "access_class" else key for key in model.model_fields]
        return InputError(f"{where}: unknown key", nearest(str(first["loc"][-1]), keys, f"Known: {', '.join(keys)}."))
    if first["type"] == "missing":
        return InputError(f"{where}: missing", _FORM)
    message = "should be a table" if first["type"] == "model_type" else first["msg"].removeprefix("Value error, ")
    value = first["input"]
    short = isinstance(value, str | float | bool) or (isinstance(value, int) and abs(value) < 10**18)
    got = f" (is {str(value)[:64]!r})" if short and first["type"] != "value_error" else ""
    return InputError(f"{where}: {message}{got}", _FORM)


def _keys(above: list[str]) -> list[str]:
    """The keys that are known in the table that is reached by the keys `above`."""
    model: type[BaseModel] = _SuiteText
    for key, inner in (
        ("profile", _ProfileText),
        ("variant", _ProfileText),
        ("published", _PublishedText),
        ("distribution", _DistributionText),
        ("zoned", _Zone),
    ):
        if key in above:
            model = inner
    return ["class" if key == "access_class" else key for key in model.model_fields]


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
