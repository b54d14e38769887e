"""The log of I/Os from Python: its lines come out as seconds, and what is no line is an error."""

from __future__ import annotations

import pytest

from loadline._core import LatencyLog

BEGAN_MS = 1_795_617_210_500


def test_lines_come_out_as_the_seconds_of_warm_up_and_measured_time() -> None:
    log = LatencyLog(BEGAN_MS * 10**6, 1_500_000_000, 1_000_000_000)
    log.feed(f"{BEGAN_MS - 1}, 2000000, 0, 512, 0\n{BEGAN_MS + 1200}, 3000000, 1, 4096, 0\n{BEGAN_MS}, 10".encode())
    log.feed(b"00000, 0, 8192, 0\n")
    warm, first, second = log.finish()
    assert [one.warmup for one in (warm, first, second)] == [True, False, False]
    assert [one.duration_ns for one in (warm, first, second)] == [10**9, 10**9, 5 * 10**8]
    assert second.end_ns == (BEGAN_MS + 1500) * 10**6
    assert (first.read.bytes, first.read.latency_max_ns, first.write.ios) == (8192, 1_000_000, 0)
    assert (second.write.iops, second.write.bytes_per_s, second.write.histogram.count) == (2.0, 8192.0, 1)
    assert log.first_ns == (BEGAN_MS - 3) * 10**6


def test_what_is_no_line_of_a_log_is_said_with_its_place() -> None:
    with pytest.raises(ValueError, match="line 2, column 4: a whole number or a comma belongs here"):
        LatencyLog(0, 10**9).feed(b"1, 2, 0, 4\n1, lat\n")
    log = LatencyLog(0, 10**9)
    log.feed(b"1, 2, 0")
    with pytest.raises(ValueError, match="line 1, column 7: the log ends inside a line"):
        log.finish()
    with pytest.raises(TypeError):
        log.feed("1, 2, 0, 4\n")  # type: ignore[arg-type]
