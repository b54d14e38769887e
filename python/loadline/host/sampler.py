"""Host CPU and the target's own counters, sampled while a measurement runs. Start at `Sampler`.

Sources: Linux Documentation/admin-guide/iostats.rst, Documentation/ABI/testing/procfs-diskstats, proc(5).
No clock and no thread here: the caller calls `sample` once a second and says when it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadline.host.device import SECTOR_BYTES
from loadline.host.roots import HERE, Roots, text

_MS_WRAP = 2**32
"""diskstats prints its milliseconds as 32 bit; those of the queue wrap within hours at high depths."""


@dataclass(frozen=True, slots=True)
class CpuCounters:
    """Ticks since boot, summed over all CPUs. Time of guests is within user's, so it isn't counted again."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """A line of diskstats. The times are 32 bit and wrap."""

    reads: int
    read_sectors: int
    read_ms: int
    writes: int
    write_sectors: int
    write_ms: int
    in_flight: int
    busy_ms: int
    queue_ms: int


@dataclass(frozen=True, slots=True)
class CpuRates:
    """Shares of all CPUs' time. Waiting for I/O isn't busy, nor is what the hypervisor took (steal)."""

    busy_fraction: float
    iowait_fraction: float
    steal_fraction: float


@dataclass(frozen=True, slots=True)
class DiskRates:
    """What a device did in an interval. Await, the response time seen by the block layer, is None without I/O."""

    reads_per_s: float
    writes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_await_ns: float | None
    write_await_ns: float | None
    queue_mean: float
    """Mean I/Os waiting or in service."""
    busy_fraction: float
    """Share of the time with at least one I/O under way; 1 doesn't mean saturated, where I/Os run in parallel."""
    in_flight: int
    """I/Os under way at the end of the interval."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One interval, which ends at `at_ns` on the caller's clock.

    `cpu` or a device's entry is None when it can't be known: the device vanished, or its counters went back.
    """

    at_ns: int
    interval_ns: int
    cpu: CpuRates | None
    disks: tuple[DiskRates | None, ...]
    """In the order of the devices given to the sampler."""


def parse_stat(stat: str) -> CpuCounters | None:
    """The counters in /proc/stat; None when its first line isn't there. Columns that old kernels lack are 0."""
    fields = stat.partition("\n")[0].split()
    if len(fields) < 5 or fields[0] != "cpu" or not all(field.isdecimal() for field in fields[1:]):
        return None
    ticks = [*map(int, fields[1:9]), 0, 0, 0, 0]
    return CpuCounters(*ticks[:8])


def parse_diskstats(diskstats: str) -> dict[tuple[int, int], DiskCounters]:
    """The counters in /proc/diskstats by major and minor; lines that aren't counters are left out."""
    found: dict[tuple[int, int], DiskCounters] = {}
    for line in diskstats.splitlines():
        fields = line.split()
        if len(fields) < 14 or not all(field.isdecimal() for field in (*fields[:2], *fields[3:14])):
            continue
        major, minor = int(fields[0]), int(fields[1])
        reads, _, read_sectors, read_ms, writes, _, write_sectors, write_ms, flying, busy_ms, queue_ms = map(
            int, fields[3:14]
        )
        found[major, minor] = DiskCounters(
            reads, read_sectors, read_ms, writes, write_sectors, write_ms, flying, busy_ms, queue_ms
        )
    return found


def cpu_rates(before: CpuCounters, after: CpuCounters) -> CpuRates | None:
    """Shares between two readings; None when no tick passed.

    The kernel doesn't promise that idle and iowait only grow (proc(5)); a step back counts as 0.
    """

    def grown(name: str) -> int:
        return max(0, int(getattr(after, name)) - int(getattr(before, name)))

    busy = sum(grown(name) for name in ("user", "nice", "system", "irq", "softirq"))
    iowait, steal = grown("iowait"), grown("steal")
    total = busy + iowait + steal + grown("idle")
    return CpuRates(busy / total, iowait / total, steal / total) if total else None


def disk_rates(before: DiskCounters, after: DiskCounters, interval_ns: int) -> DiskRates | None:
    """Rates between two readings; None when a count went back (another device took the number) or no time passed."""
    reads = after.reads - before.reads
    writes = after.writes - before.writes
    read_sectors = after.read_sectors - before.read_sectors
    write_sectors = after.write_sectors - before.write_sectors
    if interval_ns <= 0 or min(reads, writes, read_sectors, write_sectors) < 0:
        return None
    seconds = interval_ns / 1e9

    def await_ns(spent_ms: int, requests: int) -> float | None:
        return spent_ms % _MS_WRAP * 1e6 / requests if requests else None

    return DiskRates(
        reads_per_s=reads / seconds,
        writes_per_s=writes / seconds,
        read_bytes_per_s=read_sectors * SECTOR_BYTES / seconds,
        write_bytes_per_s=write_sectors * SECTOR_BYTES / seconds,
        read_await_ns=await_ns(after.read_ms - before.read_ms, reads),
        write_await_ns=await_ns(after.write_ms - before.write_ms, writes),
        queue_mean=(after.queue_ms - before.queue_ms) % _MS_WRAP * 1e6 / interval_ns,
        # Busy time is counted in ticks, so it can pass the interval by one.
        busy_fraction=min(1.0, (after.busy_ms - before.busy_ms) % _MS_WRAP * 1e6 / interval_ns),
        in_flight=after.in_flight,
    )


class Sampler:
    """Differences of the counters of CPU and devices from call to call.

    Args:
        devices: major and minor of each device to follow (`BlockDevice.number`).
        roots: the machine.
    """

    def __init__(self, devices: Sequence[tuple[int, int]], roots: Roots = HERE) -> None:
        self._devices = tuple(devices)
        self._roots = roots
        self._last: tuple[int, CpuCounters | None, dict[tuple[int, int], DiskCounters]] | None = None

    def sample(self, now_ns: int) -> Sample | None:
        """What happened since the last call; None at the first one, which has nothing to compare with.

        Args:
            now_ns: the time on a clock that never goes back, the same one at each call.
        """
        cpu = parse_stat(text(self._roots.proc / "stat") or "")
        disks = parse_diskstats(text(self._roots.proc / "diskstats") or "")
        last, self._last = self._last, (now_ns, cpu, disks)
        if last is None or now_ns <= last[0]:
            return None
        then_ns, cpu_then, disks_then = last
        interval_ns = now_ns - then_ns
        return Sample(
            at_ns=now_ns,
            interval_ns=interval_ns,
            cpu=cpu_rates(cpu_then, cpu) if cpu_then and cpu else None,
            disks=tuple(
                disk_rates(disks_then[number], disks[number], interval_ns)
                if number in disks_then and number in disks
                else None
                for number in self._devices
            ),
        )
