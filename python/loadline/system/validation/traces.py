"""Request traces of real disks, replayed through models of the same disks; the yardstick is DiskSim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from loadline import _core
from loadline.errors import InputError
from loadline.system.drive import convert_drive
from loadline.system.refusal import refusal
from loadline.system.validation import data
from loadline.system.validation.comparison import Comparison, Section
from loadline.system.validation.published import published

#: What is looked for, in words.
FILES = "NAME.trace beside a NAME.diskspecs or NAME.model"


def traces(folder: Path) -> Section:
    """The demerit figures of all traces of a folder, `NAME.trace` beside `NAME_validate.diskspecs`, `NAME.diskspecs` or
    the same as `.model`; those of DiskSim beside them where they are known.

    Raises:
        InputError: a file has a line that can't be read.
    """
    found, files = [], []
    for name, parameters in described(folder).items():
        disk = published()["disksim"]["disk"].get(name, {})
        text, digest = data.read(folder, f"{name}.trace")
        drive, _ = convert_drive(parameters)
        measured_ms, modelled_ms = _replayed(folder / f"{name}.trace", text, drive, disk.get("host_sector_ns"))
        title = disk.get("title", name)
        mean_ms, modelled_mean_ms = (sum(times_ms) / len(times_ms) for times_ms in (measured_ms, modelled_ms))
        rms_ms, disksim_ms = demerit(measured_ms, modelled_ms), disk.get("rms_ms")
        beside = f"; DiskSim {disksim_ms:.3f} ms, {disksim_ms / mean_ms:.1%}" if disksim_ms else ""
        note = f"{rms_ms / mean_ms:.1%} of the mean{beside}"
        requests = f"{len(measured_ms)} requests"
        found.append(Comparison(f"{title}, mean service time", "ms", mean_ms, modelled_mean_ms, note=requests))
        found.append(Comparison(f"{title}, demerit figure", "ms", None, rms_ms, most=disksim_ms, note=note))
        files.append((f"{name}.trace", digest))
    about = (
        "The demerit figure is the root mean square horizontal distance between the distributions of measured and"
        " modelled service times (Ruemmler and Wilkes 1994). The bar is what DiskSim 4.0 reaches with its own models."
    )
    return Section("traces", "Real disks, request by request", about, (), tuple(found), files=tuple(files))


def described(folder: Path) -> dict[str, Path]:
    """The names of the traces of a folder, and for each the file that describes its drive; others are left out."""
    drives = {path.stem: _parameters(path) for path in sorted(folder.glob("*.trace"))}
    return {name: drive for name, drive in drives.items() if drive is not None}


def _parameters(trace: Path) -> Path | None:
    """The file that describes a trace's drive, the one that was made for it first; None if there is none."""
    ends = ("_validate.diskspecs", ".diskspecs", "_validate.model", ".model")
    return next((path for end in ends if (path := trace.with_name(f"{trace.stem}{end}")).is_file()), None)


def demerit(measured: Sequence[float], modelled: Sequence[float]) -> float:
    """The root mean square distance of two distributions of as many values, in their unit."""
    pairs = zip(sorted(measured), sorted(modelled), strict=True)
    return math.sqrt(sum((a - b) ** 2 for a, b in pairs) / len(measured))


def _replayed(path: Path, text: str, drive: str, host_sector_ns: int | None) -> tuple[list[float], list[float]]:
    """Measured and modelled service times in ms of a trace's requests."""
    rows = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    writes, lbns, sectors, services, pauses_ns = [], [], [], [], []
    for number, fields in rows:
        try:
            way, _, lbn, count, service_us, pause_us = fields
            if way not in ("R", "W"):
                raise ValueError
            writes.append(way == "W")
            lbns.append(int(lbn))
            sectors.append(int(count))
            services.append(float(service_us) / 1000)
            pauses_ns.append(round(float(pause_us) * 1000))
        except ValueError:
            message = f"{path}:{number} is no request: R or W, a word, address, sectors, and two times in µs"
            raise InputError(message, "Mend the file.") from None
    if not rows:
        raise InputError(f"{path} has no requests", "Mend the file.")
    try:
        modelled_ns = _core.replay(drive, writes, lbns, sectors, pauses_ns, host_sector_ns)
    except (ValueError, OverflowError) as error:
        raise refusal(str(path), ValueError(str(error))) from None
    return services, [service_ns / 1e6 for service_ns in modelled_ns]
