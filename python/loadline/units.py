"""Text becomes quantities here and nowhere else, and quantities become text again.

Inside loadline a quantity is a plain number whose unit is the last word of its name: `_bytes`, `_ns`,
`_per_s`, `_bytes_per_s`, `_fraction`. Start reading at `parse_bytes`.

Prefixes follow the field: a bare letter on a size is binary, as in fio (`4k` = 4,096 bytes); `KiB`, `MiB`
are binary by IEC 80000-13; `kB`, `MB` and every rate in `MB/s` are decimal (SI).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from loadline.errors import InputError

_NUMBER = re.compile(r"\s*([+-]?[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?)\s*([a-zA-Zµ%/]*)\s*")

# No quantity is longer, and Python refuses to read very long numbers.
_LONGEST = 64

# What stands in files in their place, by the name that TOML has for it.
_KINDS = {dict: "a table", list: "a list", bool: "a boolean"}

# What fio, the kernel and the Rust core hold.
_MOST = 2**63 - 1

_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}

_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "sec": Fraction(1),
    "m": Fraction(60),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}


def _split(text: object, what: str, example: str) -> tuple[Fraction, str]:
    plain = str(text) if isinstance(text, str | float) else repr(text) if _is_short(text) else ""
    match = _NUMBER.fullmatch(plain) if len(plain) <= _LONGEST else None
    if match is None:
        raise InputError(f"{quoted(text)} is not {what}", f"Write it like {example}.")
    return Fraction(match[1].replace("_", "")), match[2]


def _is_short(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 10**_LONGEST


def quoted(text: object) -> str:
    """What was given, for a message; long texts are cut, and what is neither text nor number is named by its kind."""
    if isinstance(text, str):
        return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
    if isinstance(text, float) or _is_short(text):
        return repr(str(text))
    return _KINDS.get(type(text), f"a value of type {type(text).__name__}")


def _whole(value: Fraction, text: object, what: str) -> int:
    if value.denominator != 1:
        raise InputError(f"{quoted(text)} is not a whole number of {what}", "Write a smaller unit.")
    return _bounded(int(value), text)


def _bounded(value: int, text: object) -> int:
    if value > _MOST:
        raise InputError(f"{quoted(text)} is more than can be", "Check the unit.")
    return value


def _multiple(unit: str) -> int | None:
    """The factor of a size's unit, None for a unit that isn't one."""
    match = re.fullmatch(r"([kmgtpKMGTP]?)(i?)([bB]?)", unit)
    if match is None or (match[2] and not (match[1] and match[3])):
        return None
    decimal = bool(match[3]) and not match[2]
    return int((1000 if decimal else 1024) ** _POWER[match[1].lower()])


def parse_bytes(text: str | int) -> int:
    """Bytes of a size such as `512`, `4k`, `64KiB`, `1M`, `960GB`.

    Raises:
        InputError: not a size, negative, not a whole number of bytes, or 8 EiB and more.
    """
    value, unit = _split(text, "a size", "'4k', '64KiB' or '960GB'")
    factor = _multiple(unit)
    if factor is None:
        raise InputError(f"{quoted(text)} has no unit of size", "Sizes are written like '4k', '64KiB' or '960GB'.")
    if value < 0:
        raise InputError(f"{quoted(text)} is negative", "A size is 0 or more.")
    return _whole(value * factor, text, "bytes")


def parse_duration(text: str | int) -> int:
    """Nanoseconds of a duration such as `300s`, `2.5ms`, `7min`, `1h`; a bare number is seconds.

    Raises:
        InputError: not a duration, negative, or more than 292 years.
    """
    value, unit = _split(text, "a duration", "'300s', '2.5ms' or '7min'")
    factor = _SECONDS.get(unit or "s")
    if factor is None:
        raise InputError(f"{quoted(text)} has no unit of time", "Durations are written like '300s', '2.5ms' or '7min'.")
    if value < 0:
        raise InputError(f"{quoted(text)} is negative", "A duration is 0 or more.")
    return _bounded(round(value * factor * 10**9), text)


def whole(what: str, number: object, least: int, most: int) -> None:
    """Refuses what is no whole number from `least` to `most`.

    Raises:
        InputError: it isn't; `what` says of what.
    """
    if type(number) is not int or not least <= number <= most:
        raise InputError(f"{what}: {number!r} can't be", f"Give a whole number from {least:,} to {most:,}.")


def parse_fraction(text: str | int | float) -> Fraction:
    """The exact fraction of a share such as `70%`, between 0 and 1. The percent sign is required.

    Raises:
        InputError: no percent sign, or outside 0 to 100 %.
    """
    value, unit = _split(text, "a share", "'70%'")
    if unit != "%":
        raise InputError(f"{quoted(text)} has no percent sign", "Shares are written like '70%'.")
    if not 0 <= value <= 100:
        raise InputError(f"{quoted(text)} is outside 0 % to 100 %")
    return value / 100


def parse_rate(text: str | int | float) -> float:
    """Requests a second of a rate such as `5000`, `20k/s`, `20k`; k is 1,000 here, for it counts, it doesn't address.

    Raises:
        InputError: not a rate, or not above 0.
    """
    value, unit = _split(text, "a rate", "'5000/s' or '20k/s'")
    prefix = unit.removesuffix("/s").lower()
    if prefix not in _POWER:
        raise InputError(f"{quoted(text)} has no unit of a rate", "Rates are written like '5000/s' or '20k/s'.")
    if value <= 0:
        raise InputError(f"{quoted(text)} is not above 0", "A rate is above 0.")
    return float(value * 1000 ** _POWER[prefix])


def parse_bandwidth(text: str | int | float) -> float:
    """Bytes a second of a bandwidth such as `1.2GB/s` (decimal) or `500MiB/s` (binary).

    Raises:
        InputError: not a bandwidth, or not above 0.
    """
    value, unit = _split(text, "a bandwidth", "'1.2GB/s' or '500MiB/s'")
    size = unit.removesuffix("/s")
    factor = _multiple(size) if unit.endswith("/s") and size.lower().endswith("b") else None
    if factor is None:
        raise InputError(
            f"{quoted(text)} has no unit of bandwidth", "Bandwidths are written like '1.2GB/s' or '500MiB/s'."
        )
    if value <= 0:
        raise InputError(f"{quoted(text)} is not above 0", "A bandwidth is above 0.")
    return float(value * factor)


def parse_alike(texts: Sequence[str]) -> list[float] | None:
    """Numbers of texts that are all sizes or plain numbers, all durations and so on; None if they aren't."""
    parsers: tuple[Callable[[str], float | Fraction], ...]
    parsers = (parse_bytes, parse_duration, parse_fraction, parse_rate, parse_bandwidth)
    for parse in parsers:
        try:
            return [float(parse(text)) for text in texts]
        except InputError:
            continue
    return None


def format_bytes(size_bytes: int) -> str:
    """The shortest exact binary form: 4096 -> `4k`, 1048576 -> `1M`, 512 -> `512`."""
    for suffix, power in (("T", 4), ("G", 3), ("M", 2), ("k", 1)):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{suffix}"
    return str(size_bytes)


def format_size(size_bytes: float) -> str:
    """A size for people, in decimal units as on a drive's label: 960197124096 -> `960 GB`."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"


def format_duration(duration_ns: float) -> str:
    """A duration for people: `95 s`, `7 min 30 s`, `2 h 5 min`, `1.25 ms`."""
    if duration_ns < 10**9:
        for unit, factor in (("ns", 1), ("µs", 1000), ("ms", 10**6)):
            if duration_ns < 999.5 * factor:
                return f"{duration_ns / factor:.3g} {unit}"
    seconds = round(duration_ns / 1e9)
    if seconds < 100:
        return f"{duration_ns / 1e9:.3g} s" if duration_ns < 10 * 10**9 else f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def format_range(least_ns: float, most_ns: float) -> str:
    """Two durations for people, `10 s to 5 min`; one where they're said the same."""
    least, most = format_duration(least_ns), format_duration(most_ns)
    return most if least == most else f"{least} to {most}"


def format_signed(value: float, form: str) -> str:
    """A number with its sign for people, which below 0 is a minus and no hyphen: `−3%` of -0.03 in the form `+.0%`."""
    return format(value, form).replace("-", "−")


def short(value: float, digits: int = 3) -> str:
    """A number in a sentence: so many digits at least, and never a power of ten for one that has more before its point.

    `5,000`, not `5e+03`; `0.4`, not `0`.
    """
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:,.{digits}g}"


def format_percent(fraction: float | Fraction) -> str:
    """`0.7` -> `70%`, with as many digits as it needs."""
    percent = float(fraction) * 100
    return f"{round(percent)}%" if math.isclose(percent, round(percent), abs_tol=1e-9) else f"{percent:.6g}%"
