"""Counters of /proc/stat and /proc/diskstats, and what they say between two readings."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadline.host.roots import Roots
from loadline.host.sampler import (
    CpuCounters,
    DiskCounters,
    Sampler,
    cpu_rates,
    disk_rates,
    parse_diskstats,
    parse_stat,
)

SECOND_NS = 10**9

# Read from Linux 6.18; the last six columns (discards, flushes) came with 4.18 and 5.5.
DISKSTATS = """\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 20671 2236 1660434 11044 61903 29531 6022890 150034 3 23192 162158 0 0 0 0 3211 1079
"""

# Linux 2.6.25 to 4.17: fourteen columns.
OLD_DISKSTATS = "   8       0 sda 100 1 800 40 200 2 1600 90 0 70 130\n"


def disk(**changes: int) -> DiskCounters:
    counters = {
        "reads": 0,
        "read_sectors": 0,
        "read_ms": 0,
        "writes": 0,
        "write_sectors": 0,
        "write_ms": 0,
        "in_flight": 0,
        "busy_ms": 0,
        "queue_ms": 0,
    }
    return DiskCounters(**{**counters, **changes})


def test_diskstats_are_read_by_number() -> None:
    counters = parse_diskstats(DISKSTATS)
    assert counters[254, 0] == DiskCounters(20671, 1660434, 11044, 61903, 6022890, 150034, 3, 23192, 162158)
    assert parse_diskstats(OLD_DISKSTATS)[8, 0] == DiskCounters(100, 800, 40, 200, 1600, 90, 0, 70, 130)


@pytest.mark.parametrize("text", ["", "8 0 sda 1 2 3", "8 0 sda a b c d e f g h i j k", "garbage\n\n"])
def test_lines_that_are_no_counters_are_left_out(text: str) -> None:
    assert parse_diskstats(text) == {}


def test_rates_of_a_second() -> None:
    before = disk(reads=1000, read_sectors=8000, writes=5, write_sectors=40)
    after = disk(
        reads=3000,
        read_sectors=24000,
        read_ms=4000,
        writes=505,
        write_sectors=4040,
        write_ms=250,
        in_flight=7,
        busy_ms=990,
        queue_ms=4250,
    )
    rates = disk_rates(before, after, SECOND_NS)
    assert rates is not None
    assert (rates.reads_per_s, rates.writes_per_s) == (2000, 500)
    assert (rates.read_bytes_per_s, rates.write_bytes_per_s) == (16000 * 512, 4000 * 512)
    assert (rates.read_await_ns, rates.write_await_ns) == (2_000_000, 500_000)
    assert (rates.queue_mean, rates.busy_fraction, rates.in_flight) == (4.25, 0.99, 7)
    # Little's law: mean in the system = rate x response time.
    assert rates.queue_mean == pytest.approx(
        (rates.reads_per_s * rates.read_await_ns + rates.writes_per_s * rates.write_await_ns) / 1e9
    )


def test_an_idle_second_has_no_response_time() -> None:
    rates = disk_rates(disk(reads=5), disk(reads=5), SECOND_NS)
    assert rates is not None
    assert (rates.reads_per_s, rates.read_await_ns, rates.write_await_ns, rates.queue_mean) == (0, None, None, 0)


def test_times_of_32_bit_wrap() -> None:
    before = disk(reads=1, read_ms=2**32 - 100, busy_ms=2**32 - 1, queue_ms=2**32 - 1000)
    after = disk(reads=101, read_ms=100, busy_ms=499, queue_ms=1000)
    rates = disk_rates(before, after, SECOND_NS)
    assert rates is not None
    assert (rates.read_await_ns, rates.busy_fraction, rates.queue_mean) == (2_000_000, 0.5, 2)


def test_counts_that_went_back_are_another_device() -> None:
    assert disk_rates(disk(writes=10), disk(writes=9), SECOND_NS) is None
    assert disk_rates(disk(), disk(), 0) is None


def test_busy_time_never_passes_the_interval() -> None:
    rates = disk_rates(disk(), disk(busy_ms=1004), SECOND_NS)
    assert rates is not None
    assert rates.busy_fraction == 1


def test_cpu_counters_are_read_without_counting_guests_twice() -> None:
    assert parse_stat("cpu  10 1 5 100 20 2 3 4 9 1\ncpu0 1 1 1 1\n") == CpuCounters(10, 1, 5, 100, 20, 2, 3, 4)
    assert parse_stat("cpu  10 1 5 100") == CpuCounters(10, 1, 5, 100, 0, 0, 0, 0)
    assert parse_stat("intr 1") is None
    assert parse_stat("") is None


def test_waiting_for_io_is_not_busy() -> None:
    rates = cpu_rates(CpuCounters(0, 0, 0, 0, 0, 0, 0, 0), CpuCounters(10, 5, 5, 30, 40, 3, 2, 5))
    assert rates is not None
    assert (rates.busy_fraction, rates.iowait_fraction, rates.steal_fraction) == (0.25, 0.4, 0.05)


def test_a_step_back_of_iowait_counts_as_nothing() -> None:
    rates = cpu_rates(CpuCounters(0, 0, 0, 0, 50, 0, 0, 0), CpuCounters(50, 0, 0, 50, 40, 0, 0, 0))
    assert rates is not None
    assert (rates.busy_fraction, rates.iowait_fraction) == (0.5, 0)
    same = CpuCounters(1, 1, 1, 1, 1, 1, 1, 1)
    assert cpu_rates(same, same) is None


def machine(folder: Path, cpu: str, disks: str) -> Roots:
    (folder / "stat").write_text(cpu)
    (folder / "diskstats").write_text(disks)
    return Roots(proc=folder)


def test_a_sampler_gives_what_happened_since_its_last_call(tmp_path: Path) -> None:
    roots = machine(tmp_path, "cpu 0 0 0 0 0 0 0 0\n", OLD_DISKSTATS)
    sampler = Sampler([(8, 0), (8, 16)], roots)
    assert sampler.sample(5 * SECOND_NS) is None
    machine(tmp_path, "cpu 50 0 0 150 0 0 0 0\n", OLD_DISKSTATS.replace("100 1 800", "300 1 2400"))
    sample = sampler.sample(7 * SECOND_NS)
    assert sample is not None
    assert (sample.at_ns, sample.interval_ns) == (7 * SECOND_NS, 2 * SECOND_NS)
    assert sample.cpu is not None
    assert sample.cpu.busy_fraction == 0.25
    first, absent = sample.disks
    assert first is not None
    assert (first.reads_per_s, first.read_bytes_per_s) == (100, 1600 * 512 / 2)
    assert absent is None


def test_a_device_that_vanishes_and_comes_back_has_no_rates_in_between(tmp_path: Path) -> None:
    roots = machine(tmp_path, "cpu 0 0 0 0\n", OLD_DISKSTATS)
    sampler = Sampler([(8, 0)], roots)
    sampler.sample(1)
    for now_s, text, known in ((1, "", False), (2, OLD_DISKSTATS, False), (3, OLD_DISKSTATS, True)):
        machine(tmp_path, "cpu 0 0 0 0\n", text)
        sample = sampler.sample(now_s * SECOND_NS)
        assert sample is not None
        assert (sample.disks[0] is not None) is known
        assert sample.cpu is None


def test_this_machine_has_counters() -> None:
    sampler = Sampler([])
    sampler.sample(1)
    sample = sampler.sample(SECOND_NS)
    assert sample is not None
    assert sample.disks == ()
