"""Suites: files that list the points to fill. Text enters here, validated once, and leaves as plain dataclasses."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from loadline.errors import InputError
from loadline.units import format_percent, parse_bytes, parse_duration, parse_fraction, parse_rate
from loadline.workload.profile import (
    Arrival,
    BlockShare,
    Closed,
    Distribution,
    Open,
    Profile,
    Workload,
    access_class,
)

CATALOG = Path(__file__).parent.parent / "catalog" / "suites"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a suite: the streams that run together, once for each of `loads` (a sweep has several)."""

    name: str
    loads: tuple[tuple[Workload, ...], ...]
    runtime_ns: int
    warmup_ns: int
    analysis: str = ""
    variant: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """What the source did where the suite's defaults differ; None: as the suite."""

    queue_depth: int | None = None
    jobs: int | None = None
    runtime_ns: int | None = None
    warmup_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A list of points to fill, with how long each is to run."""

    name: str
    title: str
    source: str
    analysis: str
    entries: tuple[Entry, ...]
    published: Published = Published()


def load_suite(name: str, *, each_section: bool = False) -> tuple[Suite, list[str]]:
    """The suite of the catalog with that name, or of the file at that path (TOML, or a fio job file).

    Args:
        name: a name, or a path: something with a `/`, or ending in `.toml`, `.fio`, `.ini` or `.job`.
        each_section: of a fio job file, make every section its own point.

    Returns:
        The suite, and what a reader of its file should know (warnings).

    Raises:
        InputError: no such suite (with the nearest name), no such file, or a fault in it.
    """
    path = Path(name)
    if "/" in name or path.suffix in {".toml", ".fio", ".ini", ".job"}:
        text = _read(path)
        if path.suffix == ".toml":
            return parse_suite(text, path.stem, str(path)), []
        from loadline.workload.dialects import fio_job

        return fio_job.read(text, path.stem, str(path), each_section=each_section)
    known = suite_names()
    if name not in known:
        remedy = nearest(name, known, "`loadline suites` lists them; a path to a .toml or fio job file works too.")
        raise InputError(f"no suite is named {name!r}", remedy)
    return parse_suite(_read(CATALOG / f"{name}.toml"), name, f"{name}.toml"), []


def suite_names() -> list[str]:
    """The names of the catalog's suites, sorted."""
    return sorted(path.stem for path in CATALOG.glob("*.toml"))


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """A remedy for a name that isn't known: the nearest one, then where all are listed."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}? {otherwise}" if close else otherwise


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}", "Check the path; `loadline suites` lists the suites by name."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory, not a suite") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from None


# The text's own shape. Pydantic says where a fault is; `_fault` says it in one sentence.


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
    if size == 0:
        raise InputError(f"{value!r} is not a block size", "A block is at least 1 byte; devices want multiples of 512.")
    return size


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Size = Annotated[int, _with(_block_bytes)]
Share = Annotated[float, _with(_share)]
Duration = Annotated[int, _with(parse_duration)]
Rate = Annotated[float, _with(parse_rate)]
Depth = Annotated[int, Field(ge=1, le=65536, strict=True)]
Jobs = Annotated[int, Field(ge=1, le=4096, strict=True)]
OneOrMore = BeforeValidator(_listed)
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Zone(_Text):
    access: Share
    space: Share


class _DistributionText(_Text):
    zipf: float | None = Field(default=None, gt=0, le=100)
    pareto: float | None = Field(default=None, gt=0, lt=1)
    normal: Share | None = None
    zoned: list[_Zone] | None = Field(default=None, min_length=1, max_length=256)

    @model_validator(mode="after")
    def _one_kind(self) -> _DistributionText:
        if len(self.model_fields_set) != 1:
            raise ValueError("give exactly one of zipf, pareto, normal, zoned")
        if self.zipf == 1:
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
    working_set: str | int | None = None
    compressible: Share = 0.0
    duplicate: Share = 0.0
    flush_every: Annotated[int, Field(ge=0, strict=True)] = 0
    dsync: bool = False
    think_time: Duration = 0
    burst: Annotated[int, Field(ge=1, strict=True)] = 1
    analysis: str = ""
    queue_depth: Annotated[list[Depth], OneOrMore] | None = Field(default=None, min_length=1)
    jobs: Annotated[list[Jobs], OneOrMore] | None = Field(default=None, min_length=1)
    rate: Annotated[list[Rate], OneOrMore] | None = Field(default=None, min_length=1)
    runtime: Duration | None = None
    warmup: Duration | None = None

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
    runtime: Duration | None = None
    warmup: Duration | None = None


class _SuiteText(_Text):
    title: str
    source: str = ""
    analysis: str = ""
    runtime: Duration
    warmup: Duration = 0
    queue_depth: Annotated[list[Depth], OneOrMore] = Field(default=[32], min_length=1)
    jobs: Annotated[list[Jobs], OneOrMore] = Field(default=[1], min_length=1)
    rate: Annotated[list[Rate], OneOrMore] | None = Field(default=None, min_length=1)
    published: _PublishedText = _PublishedText()
    profile: list[_ProfileText] = Field(min_length=1)
    variant: list[_ProfileText] = []


def parse_suite(text: str, name: str, file: str) -> Suite:
    """The suite that a TOML text describes.

    Raises:
        InputError: not TOML, or a key that is unknown, missing, or has a value that can't be.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: not TOML: {error}", "The form of a suite is in docs/reference/suite.md.") from None
    try:
        parsed = _SuiteText.model_validate(data)
    except ValidationError as error:
        raise _fault(error, data, file) from None
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
    runtime = suite.runtime if text.runtime is None else text.runtime
    if runtime == 0:
        raise InputError(f"{file}: profile {text.name}: runtime is 0", "A point runs for some time: '300s'.")
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
    loads = tuple(
        (Workload(profile, arrival(depth, jobs, rate)),)
        for jobs in text.jobs or suite.jobs
        for depth in text.queue_depth or suite.queue_depth
        for rate in text.rate or suite.rate or [None]
    )
    warmup = suite.warmup if text.warmup is None else text.warmup
    return Entry(text.name, loads, runtime, warmup, text.analysis, variant)


def arrival(queue_depth: int, jobs: int, rate_per_s: float | None) -> Arrival:
    """Closed, or open when there is a rate."""
    return Closed(queue_depth, jobs) if rate_per_s is None else Open(rate_per_s, queue_depth, jobs)


def _working_set(text: str | int | None) -> tuple[float | None, int | None]:
    if text is None:
        return None, None
    fraction, size = (_share(text), None) if str(text).rstrip().endswith("%") else (None, parse_bytes(text))
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
    first = error.errors()[0]
    place: list[str] = []
    node: Any = data
    for part in first["loc"]:
        node = node[part] if isinstance(node, dict | list) and _has(node, part) else None
        if isinstance(part, int):
            name = node.get("name") if isinstance(node, dict) else None
            place[-1] = f"{place[-1]} {name or f'number {part + 1}'}"
        elif re.fullmatch(r"[a-z_]+", part) and part not in {"list", "int", "dict"}:
            place.append("class" if part == "access_class" else part)
    where = ": ".join([file, *place])
    if first["type"] == "extra_forbidden":
        model = _ProfileText if place[0].startswith(("profile", "variant")) else _SuiteText
        keys = ["class" if key == "access_class" else key for key in model.model_fields]
        return InputError(f"{where}: unknown key", nearest(place[-1], keys, f"Known here: {', '.join(keys)}."))
    if first["type"] == "missing":
        return InputError(f"{where}: missing", "The form of a suite is in docs/reference/suite.md.")
    message = first["msg"].removeprefix("Value error, ")
    got = (
        "" if isinstance(first["input"], dict | list) or first["type"] == "value_error" else f" (is {first['input']!r})"
    )
    return InputError(f"{where}: {message}{got}", "The form of a suite is in docs/reference/suite.md.")


def _has(node: dict[Any, Any] | list[Any], part: Any) -> bool:
    return part in node if isinstance(node, dict) else isinstance(part, int) and part < len(node)
