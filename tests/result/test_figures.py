"""Rows' figures out of fio's statuses."""

from __future__ import annotations

import pytest
from core.golden import text_of

from loadline._core import StatusStream
from loadline.result.figures import joined, merged


def test_what_was_under_way_when_the_warm_up_ended_counts_as_its_bytes_do() -> None:
    """fio's own total_ios are 95,263 reads and its bytes 95,268 times 4 KiB."""
    stream = StatusStream()
    intervals = stream.feed(text_of("ramp.json").encode())
    counted = [one for one in intervals if not one.warmup]
    for flow in (
        merged([stream.jobs[0].read]),
        joined([one.read for one in counted], sum(one.duration_ns for one in counted)),
    ):
        assert flow.iops is not None and flow.bytes_per_s is not None
        assert flow.iops * 4096 == pytest.approx(flow.bytes_per_s, rel=1e-6)
