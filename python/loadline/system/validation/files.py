"""Systems of disks that others measured with fio: a software RAID, single disks, a disk behind a controller's cache."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import median

from loadline.system.description import System
from loadline.system.validation import data
from loadline.system.validation.comparison import Comparison, Section
from loadline.system.validation.load import Asking, described, point
from loadline.workload.plan import Point

#: The tables' names.
SOFTWARE_RAID = "md-raid5-8x2tb.csv"
SINGLE_DISKS = "single-hdd.csv"
CONTROLLER_CACHE = "single-hdd-h730-cache.csv"

_BAR = 0.15
_GIB = 1 << 30
_SHARES = {"randread": (1.0, 1.0), "randwrite": (0.0, 1.0), "read": (1.0, 0.0), "write": (0.0, 0.0)}
_NAMES = {
    "randread": "random read",
    "randwrite": "random write",
    "read": "sequential read",
    "write": "sequential write",
}


def software_raid(folder: Path, asking: Asking) -> Section:
    """Linux md RAID 5, each depth against 15 %; and where the file would lie spread over all of the disks.

    Raises:
        InputError: the table is missing or can't be read; so of the functions below.
    """
    rows, digest = data.table(folder, SOFTWARE_RAID)
    system = described("md-raid5-8x2tb")
    spread = described("md-raid5-8x2tb", volume__placement="spread", volume__size="100GiB")
    found = _each(rows, system, asking, "", 100 * _GIB)
    found += _each(rows, spread, asking, ", file spread over the stroke", 100 * _GIB, judged=False)
    about = (
        "4 KB over a file of 100 GiB, assumed to lie in one piece at the beginning; spread ones are for information."
    )
    title = "Linux md RAID 5 of eight 2 TB disks"
    return Section("md-raid5", title, about, (system,), tuple(found), files=((SOFTWARE_RAID, digest),))


def single_disks(folder: Path, asking: Asking) -> Section:
    """Two SATA disks on AHCI, each depth against 15 %."""
    rows, digest = data.table(folder, SINGLE_DISKS)
    known = {
        "Samsung F1": described("hdd-7k2"),
        "HGST": described("hdd-7k2", pool__drive="sata-7k2-100-25", backend__link="sata-1.5g"),
    }
    found: list[Comparison] = []
    for device, system in known.items():
        of_device = [row for row in rows if row.device.startswith(device)]
        found += _each(of_device, system, asking, f", {device}", None)
    about = (
        "4 KB over the whole device. The drives stand for their classes; their models' own data sheets weren't found."
    )
    title = "Two single SATA disks"
    return Section("single-hdd", title, about, tuple(known.values()), tuple(found), files=((SINGLE_DISKS, digest),))


def _each(
    rows: list[data.Measured],
    system: System,
    asking: Asking,
    named: str,
    working_set_bytes: int | None,
    *,
    judged: bool = True,
) -> list[Comparison]:
    asked = [(system, _point(row, working_set_bytes, asking)) for row in rows]
    found = []
    for row, result in zip(rows, asking.rows(asked), strict=True):
        what = f"{_NAMES[row.workload]}, depth {row.outstanding}{named}"
        found.append(Comparison(what, "IOPS", row.iops, result.total.iops or 0.0, _BAR if judged else None))
    return found


def _point(row: data.Measured, working_set_bytes: int | None, asking: Asking) -> Point:
    return point(row.block_bytes, *_SHARES[row.workload], row.outstanding, working_set_bytes, seed=asking.seed)


def controller_cache(folder: Path, asking: Asking) -> Section:
    """A disk behind a controller's cache: medians of repeats, judged by their spread."""
    rows, digest = data.table(folder, CONTROLLER_CACHE, depth="outstanding")
    system = described("perc-h730-1x4tb")
    repeats: dict[tuple[str, int, int], list[data.Measured]] = defaultdict(list)
    for row in rows:
        repeats[row.workload, row.block_bytes, row.outstanding].append(row)
    several = [repeats[key] for key in sorted(repeats)]
    asked = [(system, _point(group[0], 5 * _GIB, asking)) for group in several]
    found = []
    for group, result in zip(several, asking.rows(asked), strict=True):
        rates = [row.iops for row in group]
        first = group[0]
        what = f"{_NAMES[first.workload]}, {first.block_bytes >> 10} KiB, depth {first.outstanding}"
        span = (min(rates), max(rates)) if len(rates) > 1 else None
        note = f"{len(rates)} repeats, {min(rates):,.0f} to {max(rates):,.0f}" if span else "measured once"
        found.append(Comparison(what, "IOPS", median(rates), result.total.iops or 0.0, None, span, note=note))
    about = "Over a file of 5 GiB. Repeats differ up to threefold: a median is compared, and judged by their spread."
    title = "A 4 TB SAS disk behind a PERC H730 mini"
    return Section("h730", title, about, (system,), tuple(found), files=((CONTROLLER_CACHE, digest),))
