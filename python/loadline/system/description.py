"""Systems by name or path: their files' text, what was set in them, and the core's System that is built of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loadline import _core
from loadline.errors import InputError
from loadline.host.roots import available_bytes
from loadline.system import file
from loadline.system.drive import load_drive
from loadline.system.refusal import is_missing, refusal
from loadline.units import format_size

CATALOG = Path(__file__).parent.parent / "catalog" / "systems"

#: What takes no more isn't worth a look at the machine's memory: sweeps build thousands of systems.
LITTLE_BYTES = 1 << 26


# Systems between two words of how far a look at many of them is.
_MANY = 1000


class Shared:
    """What the systems of a sweep share, each found once: drives, by name and folder, and the memory that is free."""

    def __init__(self) -> None:
        self.drives: dict[tuple[str, Path | None], _core.Drive] = {}

    @cached_property
    def free_bytes(self) -> int | None:
        """Memory that the machine has for them; None where it doesn't say."""
        return available_bytes()


@dataclass(frozen=True, slots=True)
class System:
    """A described storage system.

    Attributes:
        name: of the catalog, or the file's name without its ending.
        text: the description, TOML.
        path: the file, from whose folder the relative path of a drive in it leads.
        settings: dotted keys and values put in after reading, in order.
    """

    name: str
    text: str = field(repr=False)
    path: Path
    settings: tuple[tuple[str, str], ...] = ()

    def build(self, shared: Shared | None = None, *, simulated: bool = True) -> _core.System:
        """The system, ready to be loaded.

        Args:
            shared: what was found for other systems of a sweep.
            simulated: False where it's solved only, which takes no memory for the pages of a large cache.

        Raises:
            InputError: a key, a value or a combination that can't be, or no such drive.
        """
        description = self._description()
        name = description.drive
        shared = shared or Shared()
        place = (name or "", self.beside)
        if name is not None and place not in shared.drives:
            try:
                shared.drives[place] = load_drive(name, self.beside)
            except InputError as error:
                raise InputError(f"{self.said}: pool.drive: {error.message}", error.remedy) from None
        drive = shared.drives.get(place)
        self._check_memory(description.memory_bytes(drive, simulated), shared, simulated)
        try:
            return _core.System(description, drive)
        except ValueError as error:
            raise self._refused(error) from None

    def _description(self) -> _core.Description:
        try:
            return _core.Description(self.text, self.settings)
        except ValueError as error:
            raise self._refused(error) from None

    def _refused(self, error: ValueError) -> InputError:
        """What the core says; of a table that only settings have, that the description has none."""
        told, table = refusal(self.said, error, settable), str(error.args[0]).partition(".")[0]
        given = [key for key, _ in self.settings if key.startswith(f"{table}.")]
        if not given or not is_missing(error) or f"[{table}" in self.text:
            return told
        return InputError(
            f"{self.said}: {self.name} has no [{table}], of which {given[0]} could be set",
            f"Leave it out, or set the others as well: {told.message.removeprefix(f'{self.said}: ')}.",
        )

    def _check_memory(self, wanted_bytes: int, shared: Shared, simulated: bool) -> None:
        if wanted_bytes <= LITTLE_BYTES:
            return
        free_bytes = shared.free_bytes
        if free_bytes is not None and wanted_bytes > free_bytes:
            raise InputError(
                f"{self.said}: to {'simulate' if simulated else 'solve'} it may take"
                f" {format_size(wanted_bytes)} of memory, of which {format_size(free_bytes)} is free",
                "Lower cache.read and cache.write (or raise cache.page), pool.drives, pool.tags or station.copies.",
            )

    def figures(self) -> list[tuple[str, str, str | None]]:
        """Key, value in effect and source of every figure, in order. Defaults have no source; what was set has `--set`.

        Raises:
            InputError: a key or a value that can't be.
        """
        try:
            figures = _core.system_figures(self.text, self.settings)
        except ValueError as error:
            raise self._refused(error) from None
        keys = [key for key, _ in self.settings]
        return [(key, value, "--set" if _is_of(key, keys) else source) for key, value, source in figures]

    def unset(self) -> list[str]:
        """The dotted keys without a value that may be set as well, those of tables that it can't use left out.

        Raises:
            InputError: a key or a value that can't be.
        """
        given = ["title", "note", *(key for key, _, _ in self.figures())]
        tables = [key for key, _ in self._description().idle if "." not in key]
        return [key for key in settable() if not _is_of(key, tables) and not any(_is_of(one, [key]) for one in given)]

    def idle(self, also: Mapping[str, str]) -> dict[str, str]:
        """The settings that change nothing, with the reason: `pool.spares` where the layout has no spare space, say.

        Args:
            also: keys or tables that what is to be done with the system doesn't use, with the reason.

        Raises:
            InputError: a key or a value that can't be.
        """
        idle = {**dict(self._description().idle), **also}
        reasons = {key: next((idle[one] for one in idle if _is_of(key, [one])), None) for key, _ in self.settings}
        return {key: why for key, why in reasons.items() if why is not None}

    @property
    def drive(self) -> str | None:
        """The name or path of its drives' file; None of stations. Raises as `build`."""
        return self._description().drive

    @property
    def beside(self) -> Path | None:
        """The folder from which a relative path of its drive leads; None, the working directory, of one set."""
        return None if _is_of("pool.drive", [key for key, _ in self.settings]) else self.path.parent

    @property
    def said(self) -> str:
        """The system, a file by its path, and its settings for messages: `hdd-7k2 with pool.drives=2`."""
        settings = " ".join(f"{key}={value}" for key, value in self.settings)
        name = self.name if self.path.parent == CATALOG else str(self.path)
        return f"{name} with {settings}" if settings else name


def _is_of(key: str, tables: Sequence[str]) -> bool:
    """Whether the dotted key is one of these, or lies in one of these tables."""
    return any(key == table or key.startswith(f"{table}.") for table in tables)


def idle_settings(
    systems: Sequence[System],
    also: Mapping[str, str] = MappingProxyType({}),
    listen: Callable[[int, int], None] | None = None,
) -> list[str]:
    """A sentence for each setting that changes nothing in some of the systems; those that can't be are passed over.

    Args:
        also: as of `System.idle`.
        listen: called after every thousand of many systems with how many are done, and how many there are.
    """
    found: dict[str, list[str]] = {}
    shared = Shared()
    for number, system in enumerate(systems):
        if listen is not None and number % _MANY == 0 and len(systems) > _MANY:
            listen(number, len(systems))
        try:
            # Of a value that can't be its refusal tells.
            system.build(shared, simulated=False)
            for key, why in system.idle(also).items():
                found.setdefault(key, []).append(why)
        except InputError:
            continue
    return [
        f"--set {key} changes nothing"
        + (f" in {len(reasons)} of {len(systems)} systems" if len(reasons) < len(systems) else "")
        + f": {', or '.join(dict.fromkeys(reasons))}"
        for key, reasons in found.items()
    ]


def system_names() -> list[str]:
    """The names of the catalog's systems, sorted."""
    return file.names(CATALOG)


def load_system(system: str | Path | System) -> System:
    """The system of the catalog with that name, or of the TOML file at that path.

    Args:
        system: a name, a path, or a System, which is given back.

    Raises:
        InputError: no such system (with the nearest name), or a file that can't be read. What is in it is looked at
            when it's built.
    """
    if isinstance(system, System):
        return system
    if not isinstance(system, str | Path):
        raise InputError(
            f"{system!r} is no system", "Give a name of the catalog, the path of a TOML file, or a System."
        )
    path = system if isinstance(system, Path) else file.locate(system, CATALOG, "system")
    return System(path.stem, file.read(path, "system"), path)


def unroll(system: System, settings: Sequence[str]) -> list[System]:
    """The system under every combination of settings such as `pool.drives=84:336:42` or `volume.layout=raid5,raid10`.

    Raises:
        InputError: a setting that can't be read, or too many combinations.
    """
    given = [settings] if isinstance(settings, str) else settings
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise InputError(f"settings: {settings!r} can't be", 'Give a list of texts: ["pool.drives=8"].')
    try:
        combinations = _core.unroll(list(given))
    except ValueError as error:
        raise refusal("--set", error) from None
    return [System(system.name, system.text, system.path, (*system.settings, *pairs)) for pairs in combinations]


def settable() -> list[str]:
    """Every dotted key that a description may have, those of sources left out."""
    schema = json.loads(_core.system_schema())
    return [key for key in _keys(schema, schema, "") if not key.startswith("source")]


def _keys(schema: Mapping[str, Any], node: Mapping[str, Any], above: str) -> Iterator[str]:
    """The leaves below a node of a JSON Schema, references followed."""
    choices = [node, *node.get("anyOf", ()), *node.get("allOf", ())]
    refs = [choice["$ref"].rpartition("/")[2] for choice in choices if "$ref" in choice]
    tables = [table for table in (node, *(schema["$defs"][ref] for ref in refs)) if "properties" in table]
    if not tables:
        yield above
    for table in tables:
        for name, child in table["properties"].items():
            yield from _keys(schema, child, f"{above}.{name}" if above else name)
