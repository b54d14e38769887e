"""How long to simulate: until so much is known, or for so long."""

from __future__ import annotations

from dataclasses import dataclass

from loadline.errors import InputError
from loadline.units import parse_fraction, whole

#: I/Os of a point at most, where nobody has said how many.
MOST_IOS = 1_000_000

# Whatever somebody asks for ends some day: a day at a million I/Os a second.
_MOST_EVER = 1 << 36

_DEFAULT_PRECISION = 0.01


@dataclass(frozen=True, slots=True)
class Effort:
    """When a simulation knows enough: so many I/Os counted, a precision reached before that, or a point's own times."""

    ios: int = MOST_IOS
    precision_fraction: float | None = _DEFAULT_PRECISION
    replications: int = 1
    timed: bool = False


def effort(
    ios: int | None = None, until_precision: str | None = None, replications: int = 1, *, timed: bool = False
) -> Effort:
    """The effort that a user asks for; without anything 1 %, with 1,000,000 I/Os at most.

    Raises:
        InputError: two are given, a share that can't be, or numbers below 1.
    """
    ends = {"a number of I/Os": ios is not None, "a precision": until_precision is not None, "a time": timed}
    given = [end for end, is_given in ends.items() if is_given]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given", "Leave out one: either would end the simulation.")
    if ios is not None:
        whole("--ios", ios, 1, _MOST_EVER)
    whole("--replications", replications, 1, 10_000)
    if ios is not None:
        return Effort(ios, None, replications)
    if timed:
        return Effort(_MOST_EVER, None, replications, timed)
    if until_precision is None:
        return Effort(replications=replications)
    remedy = "Give a share such as 1%, from 0.001% to below 100%."
    try:
        precision = float(parse_fraction(until_precision))
    except InputError as error:
        raise InputError(f"--until-precision: {error.message}", remedy) from None
    if not 1e-5 <= precision < 1:
        raise InputError(f"--until-precision: {until_precision} can't be", remedy)
    return Effort(_MOST_EVER, precision, replications)
