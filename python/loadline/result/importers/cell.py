"""A cell of a table as text, number, unit, share or size; a number also with the step of its last digit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loadline.errors import InputError
from loadline.units import parse_bytes

_NUMBER = r"[~≈<>]?\s*([+-]?\d{1,3}(?:[ \u00a0\u202f']\d{3})+(?:[.,]\d+)?|[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?)"
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
    """What a cell holds; `step` is that of the last digit printed, `second` the other of two values."""

    text: str
    value: float | None = None
    unit: str = ""
    step: float = 0.0
    mix: float | None = None
    second: str | None = None

    def size_bytes(self, unit_bytes: float | None) -> int | None:
        """The size that it says; of a bare number in units of `unit_bytes`, else by its own size: 8 is 8 KiB."""
        text = self.second and _TWO.fullmatch(self.text)
        said = text[1] if text else self.text
        if re.fullmatch(r"\d+(?:\.\d+)?", said):
            number = float(said)
            if number >= 1e18:
                return None
            return round(number * (unit_bytes or (1.0 if number >= 512 else 1024.0)))
        try:
            # Tables of storage write KB and MB for binary sizes.
            return parse_bytes(re.sub(r"(?i)\s*([km])(?:i?b(?:ytes?)?)?$", r"\1", said.strip()))
        except InputError:
            return None


def cell(text: str) -> Cell:
    """Reads a cell; what is no number has a text only."""
    text = text.strip()
    two = _TWO.fullmatch(text)
    first = two[1] if two else text
    mix = _MIX.fullmatch(first)
    share = float(mix[1]) / 100 if mix and abs(float(mix[1]) + float(mix[2]) - 100) < 0.5 else None
    found = _CELL.fullmatch(first)
    if found is None:
        return Cell(text, mix=share, second=two[2] if two else None)
    digits = re.sub(r"[ \u00a0\u202f']", "", found[1])
    digits = _decimal(digits)
    mantissa, _, exponent = digits.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    unit = _UNITS.get(found[2], found[2])
    value, step = float(digits), float(f"1e{int(exponent or 0) - places}")
    if unit in {"k", "M"}:
        factor = 1000.0 if unit == "k" else 1e6
        return Cell(text, value * factor, "", step * factor, second=two[2] if two else None)
    return Cell(text, value, unit, step, second=two[2] if two else None)


def _decimal(digits: str) -> str:
    """Thousands' commas go, a decimal comma becomes a point."""
    if "," in digits and "." in digits:
        comma_first = digits.index(",") < digits.index(".")
        return digits.replace(",", "") if comma_first else digits.replace(".", "").replace(",", ".")
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+", digits):
        return digits.replace(",", "")
    return digits.replace(",", ".") if digits.count(",") == 1 else digits.replace(",", "")
