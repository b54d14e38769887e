"""Text becomes quantities with the units of the field, and back."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadline import units
from loadline.errors import InputError

PARSERS = [
    units.parse_bytes,
    units.parse_duration,
    units.parse_fraction,
    units.parse_rate,
    units.parse_bandwidth,
]


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        (4096, 4096),
        ("512", 512),
        ("4k", 4096),
        ("4K", 4096),
        ("0.5k", 512),
        ("64KiB", 65536),
        ("64kB", 64000),
        ("1M", 1 << 20),
        ("960GB", 960 * 10**9),
        ("2T", 2 << 40),
        (" 1_000 k ", 1024_000),
        ("0", 0),
    ],
)
def test_a_bare_letter_is_binary_and_a_unit_with_b_is_what_it_says(text: str | int, size_bytes: int) -> None:
    assert units.parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        (300, 300 * 10**9),
        ("300", 300 * 10**9),
        ("300s", 300 * 10**9),
        ("2.5ms", 2_500_000),
        ("7min", 420 * 10**9),
        ("1h", 3600 * 10**9),
        ("10us", 10_000),
        ("10µs", 10_000),
        ("0s", 0),
    ],
)
def test_a_duration_without_a_unit_is_in_seconds(text: str | int, duration_ns: int) -> None:
    assert units.parse_duration(text) == duration_ns


def test_a_share_is_exact() -> None:
    assert units.parse_fraction("33.3%") == Fraction(333, 1000)


@pytest.mark.parametrize(("text", "rate"), [(5000, 5000), ("20k/s", 20_000), ("20k", 20_000), ("0.5/s", 0.5)])
def test_the_k_of_a_rate_is_a_thousand(text: str | int, rate: float) -> None:
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize(("text", "rate"), [("1.2GB/s", 1.2e9), ("500MiB/s", 500 * 2**20)])
def test_bandwidth_names_its_unit(text: str, rate: float) -> None:
    assert units.parse_bandwidth(text) == rate


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (units.parse_bytes, "-4k", "negative"),
        (units.parse_bytes, "4x", "no unit of size"),
        (units.parse_bytes, "1Ki", "no unit of size"),
        (units.parse_bytes, "0.3k", "whole number of bytes"),
        (units.parse_bytes, "9" * 30 + "P", "more than can be"),
        (units.parse_bytes, 10**100, "type int"),
        (units.parse_bytes, True, "a boolean is not"),
        (units.parse_bytes, ["4k"], "a list is not"),
        (units.parse_bytes, float("inf"), "not a size"),
        (units.parse_bytes, "²k", "not a size"),
        (units.parse_duration, "5 parsecs", "no unit of time"),
        (units.parse_duration, "-1s", "negative"),
        (units.parse_duration, "99999999999999999d", "more than can be"),
        (units.parse_fraction, "0.7", "percent sign"),
        (units.parse_fraction, 0.7, "percent sign"),
        (units.parse_fraction, "101%", "outside"),
        (units.parse_fraction, "-1%", "outside"),
        (units.parse_rate, "0", "above 0"),
        (units.parse_rate, "5000 IOPS", "no unit of a rate"),
        (units.parse_bandwidth, "500", "no unit of bandwidth"),
        (units.parse_bandwidth, "500M/s", "no unit of bandwidth"),
        (units.parse_bandwidth, "0MB/s", "above 0"),
    ],
)
def test_what_is_no_quantity_is_named_in_a_short_message(parse: Callable[[Any], Any], text: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        parse(text)
    assert len(error.value.message) < 200


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.one_of(st.text(), st.from_regex(r"[+-]?\d+(\.\d+)?\s?[a-zA-Zµ%/]{0,5}"), st.floats(), st.integers()))
def test_any_text_is_a_quantity_or_an_input_error(parse: Callable[[Any], Any], text: Any) -> None:
    try:
        assert parse(text) >= 0
    except InputError as error:
        assert error.message


@given(st.integers(0, 2**63 - 1))
def test_a_formatted_size_reads_back_as_itself(size_bytes: int) -> None:
    assert units.parse_bytes(units.format_bytes(size_bytes)) == size_bytes


@given(st.integers(0, 10_000))
def test_a_formatted_share_reads_back_as_itself(hundredths: int) -> None:
    share = Fraction(hundredths, 10_000)
    assert units.parse_fraction(units.format_percent(share)) == share


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 ns"),
        (1_250_000, "1.25 ms"),
        (999_999, "1 ms"),
        (999_999_999, "1 s"),
        (1_500_000_000, "1.5 s"),
        (95 * 10**9, "95 s"),
        (300 * 10**9, "5 min"),
        (450 * 10**9, "7 min 30 s"),
        (7500 * 10**9, "2 h 5 min"),
    ],
)
def test_durations_for_people_have_two_units_at_most(duration_ns: int, text: str) -> None:
    assert units.format_duration(duration_ns) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"), [(0, "0 B"), (999, "999 B"), (960197124096, "960 GB"), (10**15, "1 PB")]
)
def test_sizes_for_people_are_decimal(size_bytes: int, text: str) -> None:
    assert units.format_size(size_bytes) == text


@pytest.mark.parametrize(
    ("value", "digits", "said"), [(999.7, 3, "1,000"), (16_384, 3, "16,384"), (0.0319, 3, "0.0319")]
)
def test_a_number_in_a_sentence_is_no_power_of_ten(value: float, digits: int, said: str) -> None:
    assert units.short(value, digits) == said


def test_a_number_below_zero_has_a_minus_and_no_hyphen() -> None:
    assert [units.format_signed(value, "+.0%") for value in (-0.03, 0.03)] == ["−3%", "+3%"]


def test_texts_of_one_kind_are_numbers_and_of_several_kinds_none() -> None:
    assert units.parse_alike(["84", "4k", "1MiB"]) == [84, 4096, 1048576]
    assert units.parse_alike(["0.5", "30ms"]) == [5e8, 3e7]
    assert units.parse_alike(["70%"]) == [0.7]
    assert units.parse_alike(["1MB/s", "2GB/s"]) == [1e6, 2e9]
    assert units.parse_alike(["84", "vraid5"]) is None
    assert units.parse_alike(["4k", "30ms"]) is None
