"""The knee of fitted curves, where theory knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from loadline.result.schema import Flow, Result
from loadline.system.knee import fitted, rising, seen

BASE_NS, MORE_NS = 10e6, 1e6


def closed(loads: Sequence[int], error: float = 0.001) -> list[Result]:
    """Responses of 10 ms and 1 ms more for each that is outstanding."""
    rows = []
    for load in loads:
        mean_ns = BASE_NS + MORE_NS * load
        flow = Flow(iops=load / mean_ns * 1e9, latency_mean_ns=mean_ns)
        rows.append(Result(total=flow, outstanding_asked=load, latency_mean_ci95_ns=error * 1.96 * mean_ns))
    return rows


@pytest.mark.parametrize("loads", [(1, 4, 16, 64), (2, 8, 30, 33, 64), (1, 6, 14, 200)])
def test_of_a_closed_load_it_lies_where_the_asymptotes_meet_wherever_the_probes_are(loads: tuple[int, ...]) -> None:
    """N / (A + B N)^2 is largest at N = A / B (Kleinrock 1979)."""
    knee = fitted(closed(loads))
    assert knee is not None
    assert knee.load == pytest.approx(BASE_NS / MORE_NS, rel=0.05)
    assert knee.latency_mean_ns == pytest.approx(2 * BASE_NS, rel=0.05)
    assert knee.iops == pytest.approx(500, rel=0.05)


def test_it_is_withheld_where_answers_are_too_far_apart_to_place_it() -> None:
    """It's at 10. Between 2 and 25 outstanding a curve may bend in many ways, and neither of the two is near it."""
    searched = closed((2, 25, 26, 27, 128))
    assert fitted(searched) is None and seen(searched) is None
    doubled = seen(closed((1, 2, 4, 8, 16, 32)))
    assert doubled is not None and doubled.load == 8
    # Nothing says that less, or more, wouldn't be better; but less than one I/O can't be outstanding.
    assert seen(closed((11, 12, 16, 20))) is None and seen(closed((1, 2, 4, 8))) is None
    waiting = seen([replace(row, total=Flow(iops=100.0, latency_mean_ns=1e7 * n)) for n, row in enumerate(searched, 1)])
    alone = closed((1, 2, 4))
    alone = [replace(row, total=Flow(iops=100.0, latency_mean_ns=1e7 * (row.outstanding_asked or 0))) for row in alone]
    one = seen(alone)
    assert waiting is None and one is not None and one.load == 1


def test_of_m_m_1_it_lies_at_half_of_saturation() -> None:
    """Kleinrock 1979: the power of M/M/1 is largest at a utilisation of 0.5."""
    rates = (100.0, 300.0, 700.0, 800.0, 900.0)
    rows = [
        Result(
            total=Flow(iops=rate, latency_mean_ns=1e9 / (1000 - rate)),
            offered_per_s=rate,
            latency_mean_ci95_ns=1e6 / (1000 - rate),
        )
        for rate in rates
    ]
    knee = fitted(rows, 1000.0)
    assert knee is not None
    assert (knee.load, knee.latency_mean_ns) == (pytest.approx(500, rel=0.05), pytest.approx(2e6, rel=0.05))
    assert fitted(rows) is None


def test_it_is_unknown_where_the_fit_says_nothing_of_it() -> None:
    rows = closed((1, 4, 16, 64))
    assert fitted(rows[:3]) is None
    assert fitted(closed((16, 20, 32, 64))) is None and fitted(closed((1, 2, 3, 5))) is None
    paused = [replace(row, outstanding_asked=2 * (row.outstanding_asked or 0)) for row in rows]
    assert fitted(paused) is None
    cached = replace(rows[3], total=Flow(iops=3200.0, latency_mean_ns=20e6), latency_mean_ci95_ns=0.02e6)
    assert fitted([*rows[:3], cached]) is None
    assert rising([*rows[:3], cached]) == rows[:3] and rising(rows) == rows
    unsure = replace(cached, latency_mean_ci95_ns=None)
    assert rising([*rows[:3], unsure]) == [*rows[:3], unsure]
    assert fitted(closed(range(1, 65))) is None
