"""A cell of a table as text, number, unit, share or size; a number also with the step of its last digit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loadline.errors import InputError
from loadline.units import parse_bytes

_NUMBER = r"([~≈]?)\s*([+-]?\d{1,3}(?:[ \u00a0\u202f']\d{3})+(?:[.,]\d+)?|[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?)"
_CELL = re.compile(rf"{_NUMBER}\s*([A-Za-zµμ%/]*)[\s*†‡]*")
_UNITS = {
    **{"µs": "us", "μs": "us", "usec": "us", "msec": "ms", "sec": "s", "K": "k"},
    **{"mb/s": "MB/s", "kb/s": "kB/s", "gb/s": "GB/s", "MBps": "MB/s"},
}
_MIX = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*%?\s*[/:]\s*(\d{1,3}(?:\.\d+)?)\s*%?")
#: `8k in the job file, 4k in the text`
_TWO = re.compile(r"(\d[\w./]*)\s[^,;]*[a-z]{3,}[^,;]*[,;]\s*(\d[\w./]*)\s[^,;]*[a-z]{3,}.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell holds.

    Attributes:
        step: that of the last digit printed.
        second: the other of two values.
        inexact: whether the cell says so, with `~`.
        unsettled: a mark before three digits that may part thousands as well as decimals.
    """

    text: str
    value: float | None = None
    unit: str = ""
    step: float = 0.0
    mix: float | None = None
    second: str | None = None
    inexact: bool = False
    unsettled: str = ""

    def size_bytes(self, unit_bytes: float | None) -> int | None:
        """The size that it says; of a bare number in units of `unit_bytes`, else by its own size: 8 is 8 KiB."""
        text = self.second and _TWO.fullmatch(self.text)
        said = text[1] if text else self.text
        if self.value is not None and re.fullmatch(r"\d[\d.,]*", said):
            number = self.value
            if number >= 1e18:
                return None
            return round(number * (unit_bytes or (1.0 if number >= 512 else 1024.0)))
        try:
            # Tables of storage write KB and MB for binary sizes.
            return parse_bytes(re.sub(r"(?i)\s*([km])(?:i?b(?:ytes?)?)?$", r"\1", said.strip()))
        except InputError:
            return None


def cell(text: str, decimal: str = "") -> Cell:
    """Reads a cell; what is no number, or only a bound such as `<1`, has a text only.

    Args:
        decimal: the mark before decimals in the cell's table, where `decimal_of` knows it.
    """
    text = text.strip()
    two = _TWO.fullmatch(text)
    second = two[2] if two else None
    first = two[1] if two else text
    mix = _MIX.fullmatch(first)
    share = float(mix[1]) / 100 if mix and abs(float(mix[1]) + float(mix[2]) - 100) < 0.5 else None
    found = _CELL.fullmatch(first)
    said = _digits(found[2]) if found else ""
    own = _mark(said) or (decimal if len(re.findall("[.,]", said)) == 1 else "")
    mark = own or "."
    digits = said.replace("," if mark == "." else ".", "").replace(mark, ".")
    if found is None or digits.count(".") > 1:
        return Cell(text, mix=share, second=second)
    mantissa, _, exponent = digits.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    unit = _UNITS.get(found[3], found[3])
    value, step = float(digits), float(f"1e{int(exponent or 0) - places}")
    if unit in {"k", "M"}:
        factor = 1000.0 if unit == "k" else 1e6
        value, unit, step = value * factor, "", step * factor
    unsettled = "" if own else "".join(set(said) & {",", "."})
    return Cell(text, value, unit, step, second=second, inexact=bool(found[1]), unsettled=unsettled)


def decimal_of(texts: Sequence[str]) -> str:
    """The mark before decimals in a table with these numbers; empty where they don't say it, or contradict each other.

    A number of four digits without a mark says that dots don't part thousands. Of commas it says nothing: few print
    three decimals after a comma.
    """
    numbers = [_digits(found[2]) for text in texts if (found := _CELL.fullmatch(text.strip()))]
    marks = {mark for digits in numbers if (mark := _mark(digits))}
    if not marks and not any("," in digits for digits in numbers) and any(map(_FOUR.fullmatch, numbers)):
        return "."
    return marks.pop() if len(marks) == 1 else ""


_FOUR = re.compile(r"[+-]?\d{4,}")


def _digits(number: str) -> str:
    return re.sub(r"[ \u00a0\u202f']", "", number)


def _mark(digits: str) -> str:
    """The mark before a number's decimals, as far as it says that itself: of `2.000` nobody knows."""
    mantissa = digits.lower().lstrip("+-").partition("e")[0]
    last = max(",.", key=mantissa.rfind)
    other = "." if last == "," else ","
    if last not in mantissa:
        return ""
    if other in mantissa:
        return last
    if mantissa.count(last) > 1:
        return other if re.fullmatch(r"[1-9]\d{0,2}(?:[.,]\d{3})+", mantissa) else ""
    is_group = re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", mantissa) and mantissa == digits.lstrip("+-")
    return "" if is_group else last
