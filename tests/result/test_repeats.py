"""Repetitions as one row: means, spread, and percentiles of what all of them counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from results import failed, flow, measured

from loadline._core import Histogram
from loadline.result.repeats import repeats_of
from loadline.result.schema import Result


def row(repeat: int, iops: float, mean_ms: float) -> Result:
    return measured("oltp-db", iops, mean_ms, run="r", repeat=repeat)


def test_rates_are_averaged_and_response_times_weighted_by_their_ios() -> None:
    (found,) = repeats_of([row(1, 100, 10), row(2, 300, 2)])
    assert (found.mean.total.iops, found.mean.read.iops) == (200, pytest.approx(140))
    assert found.mean.total.latency_mean_ns == pytest.approx((100 * 10e6 + 300 * 2e6) / 400)
    # Of 100 and 300 the deviations are 100 each, over one degree of freedom.
    assert found.spread_fraction == pytest.approx(2**0.5 * 100 / 200)
    assert len(found.rows) == 2


def test_percentiles_are_those_of_the_merged_histograms_and_else_unknown() -> None:
    rows = [row(1, 100, 1), row(2, 100, 1)]
    (without,) = repeats_of(rows)
    assert without.mean.total.latency_p99_ns is None
    # 98 of 100 fast ones in the first, none in the second: together 49 % are fast.
    kept = {1: Histogram([1000, 50_000], [98, 2]), 2: Histogram([50_000], [100])}
    (found,) = repeats_of(rows, lambda one: {"read": kept[one.repeat]})
    whole = kept[1].merged(kept[2])
    assert found.mean.read.latency_p50_ns == whole.percentile_ns(50) != kept[1].percentile_ns(50)


def test_targets_and_runs_are_not_mixed() -> None:
    rows = [row(1, 100, 1), replace(row(1, 50, 1), target="/dev/sdy"), replace(row(1, 70, 1), run="s"), row(2, 200, 1)]
    found = repeats_of(rows)
    assert [(len(one.rows), one.mean.total.iops) for one in found] == [(2, 150), (1, 50), (1, 70)]


def test_a_failed_repetition_is_shown_but_counts_for_nothing() -> None:
    (found,) = repeats_of([row(1, 100, 1), replace(failed("oltp-db"), run="r", repeat=2), row(3, 300, 1)])
    assert (found.mean.total.iops, len(found.rows)) == (200, 3)
    (none,) = repeats_of([replace(failed("oltp-db"), run="r", repeat=number) for number in (1, 2)])
    assert none.mean.error and none.spread_fraction is None


def test_settings_of_a_model_are_points_of_their_own() -> None:
    rows = [replace(row(1, 100, 1), origin="solved", total=flow(rate, 1)) for rate in (100, 200)]
    assert [len(one.rows) for one in repeats_of(rows)] == [1, 1]
