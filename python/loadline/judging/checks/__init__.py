"""The checks of an audit: a file each, and a line here.

A check has a NAME and a function `check` that is given all rows of a table and yields, row by row, what is doubtful
about them. Never: changes a row, or asks more than the table holds. Start reading at littles_law.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from loadline.judging.checks import (
    busy,
    clock,
    hidden_cache,
    link_limit,
    littles_law,
    load_generator,
    missing,
    name,
    percentiles,
    place,
    settings,
    steady,
    sums,
    units,
)
from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject

Check: TypeAlias = Callable[[Sequence[Subject]], Iterable[tuple[Subject, Doubt]]]

#: A check is a file and a word here.
CHECKS: dict[str, Check] = {
    module.NAME: module.check
    for module in (
        littles_law,
        units,
        sums,
        percentiles,
        hidden_cache,
        link_limit,
        steady,
        load_generator,
        clock,
        settings,
        name,
        busy,
        place,
        missing,
    )
}
