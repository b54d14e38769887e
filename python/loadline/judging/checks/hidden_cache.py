"""Faster than the medium can be: some cache answered, declared or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.setup import Setup
from loadline.judging.subject import Subject, like
from loadline.units import short

NAME = "hidden-cache"

#: Two means of the same mechanics may differ by so much by chance and order.
FASTER = 0.1
#: The fastest disks turn 15,000 times a minute; half a turn is the least that a random request waits on average.
FASTEST_PER_MIN = 15_000.0
#: One disk's outer zone, today's fastest (assumed: data sheets of 20 TB drives say 285 MB/s).
DISK_BYTES_PER_S = 300e6
#: No disk with one actuator serves more random requests, however its queue is ordered (assumed: thrice the best seen).
DISK_IOPS = 1000.0
#: Crossing PCIe and back takes longer; what is faster came from the host's memory.
MEMORY_NS = 4_000.0
#: As random as that, a mean is of positioning.
RANDOM = 0.9
#: Rounding and MB for MiB.
ABOVE = 0.05
#: With a cache said to be off and no word on the medium: SSDs read faster than this, disks don't.
DISK_LIKE_NS = 3e6

_CACHE_REMEDY = (
    "Look for a write-back cache that is still on (controller, drives, operating system), switch it off or declare it"
    " (--declare cache=on)."
)


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Each row by itself; then rows of writes against rows of the same reads."""
    for subject in subjects:
        if subject.measured and subject.row.error is None:
            for part in (_writes_first, _below_rotation, _beyond_drives, _below_floor, _inside_cache, _unwritten):
                yield from ((subject, doubt) for doubt in part(subject))
    yield from _writes_beside_reads(subjects)


def _without_cache(setup: Setup) -> bool:
    return setup.write_cache is not True


def _writes_first(subject: Subject) -> Iterator[Doubt]:
    read, write = subject.row.read, subject.row.write
    if read.iops == 0 or write.iops == 0 or not read.latency_mean_ns or not write.latency_mean_ns:
        return
    rounding = subject.coarseness("read_latency_mean_ns", "write_latency_mean_ns")
    doubt = _faster(subject, write.latency_mean_ns, read.latency_mean_ns, rounding)
    if doubt is not None:
        yield doubt


def _faster(subject: Subject, write_ns: float, read_ns: float, rounding: float) -> Doubt | None:
    """What is to be said of writes that answer sooner than the same reads."""
    setup, share = subject.setup, write_ns / read_ns
    if share >= 1 - FASTER - rounding or not _without_cache(setup):
        return None
    unknown = setup.medium is None and setup.cache_off_said and read_ns >= DISK_LIKE_NS
    if setup.medium != "hdd" and not unknown:
        return None
    said = "although the cache is said to be off" if setup.cache_off_said else "and no write-back cache is declared"
    message = (
        f"writes take {short(write_ns / 1e6)} ms and reads {short(read_ns / 1e6)} ms, {said}: on rotating media a write"
        " can't be sooner than a read of the same pattern"
    )
    numbers = {"write_latency_mean_ns": write_ns, "read_latency_mean_ns": read_ns, "share": share}
    # Of a cache that nobody speaks of, only that is doubtful.
    certain = setup.write_cache is False and not unknown
    return Doubt("error" if certain else "warning", message, _CACHE_REMEDY, numbers)


def _writes_beside_reads(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """A row of writes only against one of reads only, of the same size, pattern, load and set-up."""

    def key(subject: Subject) -> object:
        row = subject.row
        if not subject.measured or not subject.latency_ns or subject.read_fraction not in {0.0, 1.0}:
            return None
        if subject.random_fraction is None or not subject.sizes or (subject.closed is None and not row.queue_depth):
            return None
        tags = tuple(sorted(row.tags.items()))
        return row.run, tags, tuple(subject.sizes), subject.random_fraction, subject.closed, row.queue_depth

    for group in like(subjects, key):
        reads = [subject.latency_ns or 0.0 for subject in group if subject.read_fraction == 1]
        if not reads:
            continue
        for subject in group:
            if subject.read_fraction == 0:
                rounding = 2 * subject.coarseness("latency_mean_ns")
                doubt = _faster(subject, subject.latency_ns or 0.0, min(reads), rounding)
                if doubt is not None:
                    yield subject, doubt


def _below_rotation(subject: Subject) -> Iterator[Doubt]:
    setup = subject.setup
    if setup.medium != "hdd" or not _without_cache(setup) or (subject.random_fraction or 0.0) < RANDOM:
        return
    half_ns = 60e9 / (setup.rotation_per_min or FASTEST_PER_MIN) / 2
    row = subject.row
    flows = (("read", row.read, "read_latency_mean_ns"), ("write", row.write, "write_latency_mean_ns"))
    means = [
        (name, flow.latency_mean_ns, column) for name, flow, column in flows if flow.latency_mean_ns and flow.iops != 0
    ]
    if not means and row.total.latency_mean_ns:
        means = [("", row.total.latency_mean_ns, "latency_mean_ns")]
    for name, mean_ns, column in means:
        least_ns = half_ns * (subject.random_fraction or 0.0)
        if mean_ns is not None and mean_ns < least_ns * (1 - FASTER - subject.coarseness(column)):
            message = (
                f"random {name}{'s' if name else 'requests'} take {short(mean_ns / 1e6)} ms, less than the half turn of"
                f" a disk that they wait for on average ({short(half_ns / 1e6)} ms)"
            )
            numbers = {"latency_mean_ns": mean_ns, "half_turn_ns": half_ns}
            remedy = _CACHE_REMEDY if name == "write" else f"{_CACHE_REMEDY} Reads: take a larger working set."
            certain = name == "write" and setup.write_cache is False
            yield Doubt("error" if certain else "warning", message, remedy, numbers)


def _beyond_drives(subject: Subject) -> Iterator[Doubt]:
    setup, row = subject.setup, subject.row
    if not setup.drives:
        return
    for name, flow, stated in (
        ("reads", row.read, setup.drive_read_bytes_per_s),
        ("writes", row.write, setup.drive_write_bytes_per_s),
    ):
        rate = stated or (DISK_BYTES_PER_S if setup.medium == "hdd" else None)
        passed = flow.bytes_per_s
        if passed is None and subject.read_fraction == (1.0 if name == "reads" else 0.0):
            passed = row.total.bytes_per_s
        if rate is None or not passed:
            continue
        parity = (setup.parity_fraction or 1.0) if name == "writes" else 1.0
        each = passed / parity / setup.drives
        if each > rate * (1 + ABOVE):
            with_parity = f" with the layout's redundancy (x {1 / parity:.3g})" if parity < 1 else ""
            message = (
                f"{short(passed / 1e6, 4)} MB/s of {name}{with_parity} are {short(each / 1e6, 4)} MB/s for each of"
                f" {setup.drives} drives, which do {short(rate / 1e6, 4)}"
            )
            numbers = {"drive_bytes_per_s": each, "possible_bytes_per_s": rate}
            yield Doubt("error", message, _CACHE_REMEDY, numbers)
    uncached_disks = setup.medium == "hdd" and _without_cache(setup) and (subject.random_fraction or 0.0) >= RANDOM
    if uncached_disks and row.total.iops and row.total.iops > DISK_IOPS * setup.drives:
        each = row.total.iops / setup.drives
        message = f"{each:,.0f} random I/Os a second for each of {setup.drives} disks: no disk does so many"
        yield Doubt("error", message, _CACHE_REMEDY, {"drive_iops": each, "possible_iops": DISK_IOPS})


def _below_floor(subject: Subject) -> Iterator[Doubt]:
    setup, row = subject.setup, subject.row
    floor_ns = setup.drive_floor_ns or (MEMORY_NS if setup.medium == "ssd" else None)
    mean_ns = row.read.latency_mean_ns or (row.total.latency_mean_ns if subject.read_fraction == 1 else None)
    if floor_ns is None or not mean_ns or row.read.iops == 0:
        return
    if mean_ns < floor_ns * (1 - FASTER):
        message = (
            f"reads take {short(mean_ns / 1e3)} us on average, and the drive needs {short(floor_ns / 1e3)} us at least"
        )
        numbers = {"read_latency_mean_ns": mean_ns, "floor_ns": floor_ns}
        yield Doubt("error", message, "Read with direct I/O, and more than any cache holds.", numbers)


def _inside_cache(subject: Subject) -> Iterator[Doubt]:
    setup, row = subject.setup, subject.row
    cache = setup.cache_bytes
    if cache is None:
        return
    touched = subject.working_set_bytes
    if touched is not None and touched <= cache:
        message = (
            f"the working set of {short(touched / 2**20, 4)} MiB fits into the cache of {short(cache / 2**20, 4)} MiB"
        )
        numbers = {"working_set_bytes": touched, "cache_bytes": cache}
        yield Doubt("warning", message, "Take a working set of several times the cache.", numbers)
    rate = row.write.bytes_per_s or (row.total.bytes_per_s if subject.read_fraction == 0 else None)
    if setup.write_cache is not False and rate and row.runtime_ns:
        written = rate * (row.runtime_ns + (row.warmup_ns or 0)) / 1e9
        if written < cache:
            holds = short(cache / 2**20, 4)
            message = f"it wrote {short(written / 2**20, 4)} MiB in all, less than the cache of {holds} MiB holds"
            numbers = {"written_bytes": written, "cache_bytes": cache}
            yield Doubt("warning", message, "Run until the cache has been filled several times.", numbers)


def _unwritten(subject: Subject) -> Iterator[Doubt]:
    setup = subject.setup
    if subject.read_fraction == 0 or setup.prepared:
        return
    if setup.thin or setup.prepared is False:
        what = (
            "the volume is thin and nobody says that it was filled"
            if setup.prepared is None
            else "nothing was written before"
        )
        message = f"{what}: reads of blocks never written don't touch the medium"
        yield Doubt("warning", message, "Fill the volume first, and say so (--tag prepared=yes).")
