"""Histograms from Python: fio's own percentiles, and a brute-force check of merging."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from core import golden
from hypothesis import given
from hypothesis import strategies as st

from loadline._core import Histogram

# fio's bins end at 2^34 ns.
samples = st.lists(
    st.integers(0, 34).flatmap(lambda bits: st.integers(0, max((1 << bits) - 1, 0))), min_size=1, max_size=80
)


def of(values: list[int]) -> Histogram:
    return Histogram(values, [1] * len(values))


@pytest.mark.parametrize("name", golden.FILES)
def test_percentiles_equal_those_that_fio_prints(name: str) -> None:
    for status in golden.statuses(name):
        for latency in golden.latencies(status):
            values = golden.bins(latency)
            if latency["N"] != values.total():
                continue  # taken while the job ran: fio's count was a sample ahead of its bins
            histogram = Histogram(list(values), list(values.values()))
            for percent, expected in latency["percentile"].items():
                assert histogram.percentile_ns(float(percent)) == expected


def test_percentiles_after_merging_reads_and_writes_are_those_of_all_samples() -> None:
    job = golden.statuses("ramp.json")[-1]["jobs"][0]
    read, write = golden.bins(job["read"]["lat_ns"]), golden.bins(job["write"]["lat_ns"])
    merged = Histogram(list(read), list(read.values())).merged(Histogram(list(write), list(write.values())))
    everything = sorted((read + write).elements())
    assert merged.count == len(everything)
    for percent in ("1", "25", "50", "90", "95", "99", "99.9", "99.99", "100"):
        rank = math.ceil(Decimal(percent) * len(everything) / 100)
        assert merged.percentile_ns(float(percent)) == everything[rank - 1]


@given(samples, samples, st.integers(1, 100))
def test_percentiles_of_merged_samples_are_within_a_bin_of_the_true_ones(
    first: list[int], second: list[int], percent: int
) -> None:
    everything = sorted(first + second)
    exact_rank = percent * len(everything)
    found = of(first).merged(of(second)).percentile_ns(percent)
    assert found is not None
    # fio computes in floating point, so a rank that is whole may be missed by one sample.
    rank = -(-exact_rank // 100)
    ranks = {rank, rank + 1} if exact_rank % 100 == 0 and rank < len(everything) else {rank}
    assert any(abs(found - everything[rank - 1]) <= everything[rank - 1] / 128 + 1 for rank in ranks)


@given(samples, st.floats(0.01, 100))
def test_the_count_above_is_what_lies_in_higher_bins(values: list[int], percent: float) -> None:
    histogram = of(values)
    names, counts = histogram.columns()
    assert names == sorted(set(names))
    threshold = histogram.percentile_ns(percent)
    assert histogram.count_above(percent) == sum(
        count for name, count in zip(names, counts, strict=True) if name > threshold
    )


def test_a_histogram_of_nothing_is_empty() -> None:
    for empty in (Histogram(), Histogram([], []), Histogram([5], [0]), Histogram(values_ns=(), counts=())):
        assert (empty.count, empty.percentile_ns(50), empty.count_above(50)) == (0, None, 0)
        assert empty.columns() == ([], [])


def test_bins_are_named_as_fio_names_them_and_repeats_are_added() -> None:
    assert Histogram([128, 129, 64, 64], [1, 2, 3, 4]).columns() == ([64, 129], [7, 3])


def test_arguments_that_do_not_fit_are_value_errors_with_the_reason() -> None:
    with pytest.raises(ValueError, match="2 values and 1 counts"):
        Histogram([1, 2], [1])
    with pytest.raises(ValueError, match="beyond fio's last bin"):
        Histogram([2**34], [1])
    with pytest.raises(ValueError, match="values_ns must lie between"):
        Histogram([-1], [1])
    with pytest.raises(ValueError, match="counts must lie between"):
        Histogram([1], [2**64])


@pytest.mark.parametrize("percent", [0, -1, 100.5, math.nan, math.inf])
def test_percentages_outside_of_0_to_100_are_value_errors(percent: float) -> None:
    with pytest.raises(ValueError, match="percent"):
        Histogram([5], [1]).percentile_ns(percent)
    with pytest.raises(ValueError, match="percent"):
        Histogram().count_above(percent)


def test_things_that_are_no_whole_numbers_are_type_errors() -> None:
    for values in (["5"], [5.5], [None], 5):
        with pytest.raises(TypeError):
            Histogram(values, [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Histogram().merged(None)  # type: ignore[arg-type]


@given(samples)
def test_bins_of_json_make_the_same_histogram_as_their_numbers(values: list[int]) -> None:
    bins = {str(value): values.count(value) for value in values}
    assert Histogram.of_bins(bins).columns() == of(values).columns()


@pytest.mark.parametrize(
    ("bins", "error", "told"),
    [
        ({"fast": 3}, ValueError, '"fast" is no number of ns'),
        ({"-5": 3}, ValueError, '"-5" is no number of ns'),
        ({"100": -1}, ValueError, "must lie between 0 and"),
        ({"100": 1.5}, TypeError, "float"),
        ({"100": "3"}, TypeError, "str"),
        ({100: 3}, TypeError, "int"),
        ([3], TypeError, "list"),
        ({str(2**40): 1}, ValueError, "last bin"),
    ],
)
def test_bins_that_cannot_be_are_refused(bins: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        Histogram.of_bins(bins)
