"""Whatever the kernel, a drive or a tool says, reading it gives facts or nothing, and never fails."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from loadline.host.device import parse_mount
from loadline.host.provenance import parse_smart
from loadline.host.reservation import parse_nvme, parse_scsi
from loadline.host.roots import unescape
from loadline.host.sampler import DiskCounters, disk_rates, parse_diskstats, parse_stat

KEYS = ["smartctl", "version", "temperature", "current", "ata_smart_attributes", "table", "id", "value"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)

COUNTS = st.integers(0, 2**63)
TIMES = st.integers(0, 2**32 - 1)
COUNTERS = st.builds(DiskCounters, COUNTS, COUNTS, TIMES, COUNTS, COUNTS, TIMES, COUNTS, TIMES, TIMES)


@given(st.text())
def test_lines_of_proc(line: str) -> None:
    parse_mount(line)
    parse_stat(line)
    parse_diskstats(line)
    unescape(line)


@given(st.lists(st.integers(0, 2**64).map(str) | st.sampled_from(["-", "cpu", "8:0", "²", "/dev/sda"]), max_size=20))
def test_words_of_proc(words: list[str]) -> None:
    line = " ".join(words)
    parse_mount(line)
    parse_stat(line)
    parse_stat(f"cpu {line}")
    parse_diskstats(line)


@given(st.binary(max_size=4096))
def test_answers_of_drives(answer: bytes) -> None:
    parse_scsi(answer)
    parse_nvme(answer)


@given(JSON)
def test_answers_of_smartctl(said: object) -> None:
    parse_smart(json.dumps(said))


@given(COUNTERS, COUNTERS, st.integers(1, 10**12))
def test_rates_are_never_negative(before: DiskCounters, after: DiskCounters, interval_ns: int) -> None:
    rates = disk_rates(before, after, interval_ns)
    if rates is not None:
        assert min(rates.reads_per_s, rates.writes_per_s, rates.read_bytes_per_s, rates.queue_mean) >= 0
        assert 0 <= rates.busy_fraction <= 1
        assert (rates.read_await_ns is None) == (before.reads == after.reads)
