"""Limits on response time, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadline.errors import InputError
from loadline.workload.limit import Limit, parse_limit


@pytest.mark.parametrize(
    ("text", "limit", "written"),
    [
        ("mean<=30ms", Limit("mean", 30 * 10**6), "mean<=30ms"),
        ("30ms", Limit("mean", 30 * 10**6), "mean<=30ms"),
        (" p99 <= 2.5 ms ", Limit("p99", 2_500_000), "p99<=2500us"),
        ("max<1s of writes", Limit("max", 10**9, "writes", strict=True), "max<1s of writes"),
        ("p9999<=150µs of reads", Limit("p9999", 150_000, "reads"), "p9999<=150us of reads"),
        ("2min of reads", Limit("mean", 120 * 10**9, "reads"), "mean<=120s of reads"),
    ],
)
def test_a_limit_is_a_statistic_a_time_and_a_direction(text: str, limit: Limit, written: str) -> None:
    assert parse_limit(text) == limit
    assert str(limit) == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not a limit"),
        ("mean<=30", "'mean<=30' is not a limit"),  # of what? a time has a unit here
        ("mean>=30ms", "is not a limit"),
        ("mean<=-30ms", "is not a limit"),
        ("mean 30ms", "is not a limit"),
        ("x" * 100, f"'{'x' * 64}...' is not a limit"),
        (30, "'30' is not a limit"),
        ("p98<=30ms", "'p98' is not a statistic"),
        ("mean<=30parsecs", "'30parsecs' has no unit of time"),
        ("mean<=3.0.0ms", "'3.0.0ms' is not a duration"),
        ("mean<=0ms", "can hold for no load"),
        ("mean<=30ms of trims", "not of 'trims'"),
    ],
)
def test_what_is_no_limit_is_said_with_a_remedy(text: object, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        parse_limit(text)
    assert error.value.remedy


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("20", "20ms"),
        ("mean<=20", "mean<=20ms"),
        ("p99.9", "p999<=30ms"),
        ("p99.9<=5ms of reads", "p999<=5ms of reads"),
        ("avg < 5ms", "mean<5ms"),
        ("P99<=5us", "p99<=5us"),
        ("p99<5 of read", "p99<5ms of reads"),
        ("p99<5ms of write", "p99<5ms of writes"),
    ],
)
def test_what_was_meant_is_offered(text: str, meant: str) -> None:
    with pytest.raises(InputError) as error:
        parse_limit(text)
    assert str(error.value.remedy).startswith(f"Did you mean '{meant}'?")
    parse_limit(meant)


def test_what_is_no_limit_either_is_not_offered() -> None:
    for text in ("30GB", "mean=30GB", "P99<=0ms"):
        with pytest.raises(InputError) as error:
            parse_limit(text)
        assert "Did you mean" not in str(error.value.remedy)


def test_only_a_strict_limit_excludes_its_bound() -> None:
    assert [Limit("mean", 5).holds(value) for value in (4.9, 5, 5.1)] == [True, True, False]
    assert [Limit("mean", 5, strict=True).holds(value) for value in (4.9, 5, 5.1)] == [True, False, False]


@given(
    st.builds(
        Limit,
        st.sampled_from(["mean", "p50", "p999", "max"]),
        st.integers(1, 2**62),
        st.sampled_from(["all", "reads", "writes"]),
        st.booleans(),
    )
)
def test_a_limit_written_is_read_back_the_same(limit: Limit) -> None:
    assert parse_limit(str(limit)) == limit


@given(st.text(alphabet="mean<=p9 0123.sof rdw", max_size=30))
def test_any_text_is_a_limit_or_an_input_error(text: str) -> None:
    try:
        assert parse_limit(text).bound_ns > 0
    except InputError as error:
        assert error.remedy
