"""Suites: lists of points to fill. A catalog of them comes with loadline; a file of the user's works as well."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from loadline.errors import InputError
from loadline.workload.limit import Best, Ramp
from loadline.workload.profile import Arrival, Bursts, Closed, Open, Workload
from loadline.workload.rounds import Rounds

CATALOG = Path(__file__).parent.parent / "catalog" / "suites"

# What can be, from and to; fio's and the kernel's own limits, or where a number can only be a slip.
DEPTHS = (1, 65536)
JOBS = (1, 4096)
MOST_POINTS = 10_000
BLOCK_BYTES = (1, 1024**3)
RUNTIME_NS = (10**6, 366 * 86400 * 10**9)
WARMUP_NS = (0, 366 * 86400 * 10**9)
_FILE_BYTES = 1024**2

#: What ends a point: `precise`, that its figures are good enough, at the latest its run time; `fixed`, its run time.
Stop: TypeAlias = Literal["precise", "fixed"]

#: By which a path is known without a `/`.
ENDINGS = {".toml", ".fio", ".ini", ".job", ".icf", ".vdbench", ".vdb", ".parm", ".hcibench"}

# How such files begin, whatever their ending, after comments.
_ICF = re.compile(r"version\s+[0-9]", re.IGNORECASE)
_VDBENCH = re.compile(r"(?:sd|hd|debug|data_?errors|compratio|dedup[a-z]+|messagescan|report|histogram|validate)=")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a suite: the streams that run together, once for each of `loads` (a sweep has several).

    With a `ramp` each load is the lowest of a point whose answer is a load line; with `best` the first of those that
    the point tries. With `rounds` the points are measured in turn with others of the group. `settle_ns` is as
    of a `Point`.
    Without a `runtime_ns` (0) a plan needs one from its options; `where` is its place in the file then.
    """

    name: str
    loads: tuple[tuple[Workload, ...], ...]
    runtime_ns: int
    warmup_ns: int
    analysis: str = ""
    variant: bool = False
    ramp: Ramp | None = None
    best: Best | None = None
    rounds: Rounds | None = None
    settle_ns: int | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What the source did where the suite's defaults differ; None: as the suite."""

    queue_depth: int | None = None
    jobs: int | None = None
    runtime_ns: int | None = None
    warmup_ns: int | None = None
    working_set_fraction: float | None = None
    working_set_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A list of points to fill, with how long each is to run and what may end it before.

    `file` is what faults are said to be in, empty where that says nothing.
    """

    name: str
    title: str
    source: str
    analysis: str
    entries: tuple[Entry, ...]
    published: Published = Published()
    stop: Stop = "precise"
    file: str = ""


def load_suite(name: str | Path, *, each_section: bool = False) -> tuple[Suite, list[str]]:
    """The suite of the catalog with that name, of the file at that path, or of that HCIBench name.

    A file is TOML, Iometer's (.icf), vdbench's, a list of HCIBench names (.hcibench), or a fio job file. Of other
    endings it's Iometer's or vdbench's if it looks so, else a fio job file.

    Args:
        name: a name, or a path: something with a `/`, or with one of the endings in `ENDINGS`.
        each_section: of a fio job file, make every section its own point.

    Returns:
        The suite, and what a reader of its file should know (warnings).

    Raises:
        InputError: no such suite (with the nearest name), no such file, or a fault in it.
    """
    if not isinstance(name, str | Path):
        raise InputError(f"{name!r} is no suite", "Give a name of the catalog, or the path of a file.")
    path, name = Path(name), str(name)
    if "/" in name or path.suffix in ENDINGS:
        return _parse(_read(path), path, each_section)
    from loadline.workload.dialects import hcibench

    if hcibench.is_name(name):
        return hcibench.read_name(name), []
    known = suite_names()
    if name not in known and (CATALOG.parent / "systems" / f"{name}.toml").is_file():
        raise a_system(name)
    if name not in known:
        listed = "`loadline suites` lists them; the path of a file works too."
        remedy = nearest_file(name, sorted(ENDINGS)) or nearest(name, known, listed)
        raise InputError(f"no suite is named {name!r}", remedy)
    return parse_suite(_read(CATALOG / f"{name}.toml"), name, f"{name}.toml"), []


def a_system(name: str) -> InputError:
    """The refusal of a system, by name or path, where a suite stands."""
    first = f"A system comes first, as in: loadline forecast {name} SUITE"
    return InputError(
        f"{name} is a system, not a suite", f"{first}. Or it's a target: loadline run SUITE emulated:{name}"
    )


def _parse(text: str, path: Path, each_section: bool) -> tuple[Suite, list[str]]:
    from loadline.workload.dialects import fio_job, hcibench, icf, vdbench

    file, name = str(path), path.stem
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "*#/;"), "")
    readers = {
        ".icf": icf.read, ".vdbench": vdbench.read, ".vdb": vdbench.read, ".parm": vdbench.read,
        ".hcibench": hcibench.read,
    }  # fmt: skip
    ending = path.suffix.lower()
    if ending == ".toml":
        return parse_suite(text, name, file), []
    if ending not in ENDINGS:
        ending = ".icf" if _ICF.match(first) else ".vdbench" if _VDBENCH.match(first) else ""
    if ending in readers:
        return readers[ending](text, name, file)
    return fio_job.read(text, name, file, each_section=each_section)


@lru_cache(maxsize=64)
def parse_suite(text: str, name: str, file: str) -> Suite:
    """The suite that a TOML text describes; asked for again, it isn't read again.

    Raises:
        InputError: not TOML, or a key that is unknown, missing, or has a value that can't be.
    """
    from loadline.workload import suite_file  # brings pydantic, which only this needs

    return suite_file.parse(text, name, file)


def suite_names() -> list[str]:
    """The names of the catalog's suites, sorted."""
    return sorted(path.stem for path in CATALOG.glob("*.toml"))


def nearest(name: str, known: Iterable[str], otherwise: str, alike: float = 0.5) -> str:
    """A remedy for a name that isn't known: the nearest one, if so much alike (0 to 1), then where all are listed."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=alike)
    return f"Did you mean {close[0]!r}? {otherwise}" if close else otherwise


def nearest_file(name: str, endings: Iterable[str], beside: Path | None = None) -> str:
    """A remedy for a name that isn't known: the file there, or in the folder of that name, that has it, but for its
    ending; empty if there is none."""
    near = [f"./{name}", *(f"{folder}{name}{ending}" for folder in ("", f"{name}/") for ending in endings)]
    found = [file for file in near if is_file((beside or Path()) / file)]
    return f"Did you mean the file {found[0]!r}?" if found else ""


def is_file(word: str | Path) -> bool:
    """Whether a file has that name; what can't be one is none."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _read(path: Path) -> str:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{str(path)!r} is a device or a pipe, not a suite", "Name a file.")
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise InputError(f"{str(path)!r} is larger than 1 MiB: not a suite", "Check the path.")
        # Iometer writes names in the code page of its Windows; nothing else in its files is beyond ASCII.
        return data.decode("utf-8-sig", "replace" if path.suffix.lower() == ".icf" else "strict")
    except FileNotFoundError:
        raise InputError(
            f"there is no file {str(path)!r}", "Check the path; `loadline suites` lists the suites by name."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{str(path)!r} is a directory, not a suite", "Name a file.") from None
    except UnicodeDecodeError as error:
        before = f"{error.object[: error.start].decode()}?".splitlines()
        place = f"{path}:{len(before)}:{len(before[-1])}"
        raise InputError(f"{place}: not text in UTF-8", "Save it as UTF-8, or check the path.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} can't be read: {why}", "Check the path and its permissions.") from None


def arrival(queue_depth: int, jobs: int, rate_per_s: float | None, bursts: Bursts | None = None) -> Arrival:
    """Closed, or open when there is a rate."""
    return Closed(queue_depth, jobs) if rate_per_s is None else Open(rate_per_s, queue_depth, jobs, bursts)
