"""All comparisons, or some: those of published figures, and with `data` those of other people's measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from loadline.errors import InputError
from loadline.system.pool import Listener
from loadline.system.validation import dl360, eva, files, traces
from loadline.system.validation.comparison import Section
from loadline.system.validation.data import REMEDY
from loadline.system.validation.load import Asking

#: Comparisons with figures that loadline carries itself.
PUBLISHED: dict[str, Callable[[Asking], Section]] = {
    "eva": eva.load_lines,
    "eva-choices": eva.choices,
    "eva-saturation": eva.saturation,
    "eva-15k": eva.faster_drives,
    "dl360": dl360.conclusions,
}

#: Comparisons that need a folder of data.
MEASURED: dict[str, Callable[[Path, Asking], Section]] = {
    "traces": lambda folder, _: traces.traces(_disks(folder)),
    "md-raid5": files.software_raid,
    "single-hdd": files.single_disks,
    "h730": files.controller_cache,
}

_TABLES = {"md-raid5": files.SOFTWARE_RAID, "single-hdd": files.SINGLE_DISKS, "h730": files.CONTROLLER_CACHE}

NAMES = (*PUBLISHED, *MEASURED)


def validate(
    data: Path | None = None,
    *,
    only: Sequence[str] = (),
    ios: int = 40_000,
    seed: int = 1,
    threads: int | None = None,
    listen: Listener | None = None,
) -> list[Section]:
    """Compares forecasts with what was measured, section by section in the order of `NAMES`.

    Args:
        data: the folder of measurements; None leaves out the sections that need one.
        only: names of sections; none for all that can be.
        ios: I/Os that are simulated of each point; load lines of the EVA take more.
        seed, threads, listen: as of `simulate`.

    Raises:
        InputError: no such section, or one that needs data whose files aren't there, which is said at once; or data
            that can't be read.
    """
    for name in only:
        if name not in NAMES:
            raise InputError(f"there is no section {name!r}", f"Sections: {', '.join(NAMES)}.")
        if name in MEASURED and data is None:
            raise InputError(f"section {name} needs measurements", "Name their folder with --data.")
    if data is not None and not data.is_dir():
        raise InputError(f"{data} is no folder", "Name the folder that holds the measurements.")
    asking = Asking(ios, seed, threads, listen)
    wanted = [name for name in NAMES if not only or name in only]
    if data is not None:
        _check_files(data, wanted)
    return [
        MEASURED[name](data, asking) if name in MEASURED and data is not None else PUBLISHED[name](asking)
        for name in wanted
        if name in PUBLISHED or data is not None
    ]


def _disks(folder: Path) -> Path:
    return folder / "disks" if (folder / "disks").is_dir() else folder


def _check_files(folder: Path, wanted: Sequence[str]) -> None:
    """Whether the folder has what the sections are about, before long work for the others."""
    missing = [f"{name}: {file}" for name, file in _TABLES.items() if name in wanted and not (folder / file).exists()]
    if "traces" in wanted and not traces.described(_disks(folder)):
        missing.insert(0, f"traces: {traces.FILES}")
    if missing:
        raise InputError(f"{folder} lacks files that sections need ({'; '.join(missing)})", REMEDY)
