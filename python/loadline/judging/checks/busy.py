"""%util is the share of time in which something was outstanding: on arrays and SSDs no utilisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject

NAME = "busy"

#: From there on readers conclude that a device is full.
HIGH = 0.8


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Rows of others; our own pages say it beside the figure. Of one disk alone %util means what people think."""
    for subject in subjects:
        row, setup = subject.row, subject.setup
        busy = row.busy_fraction
        alone = setup.medium == "hdd" and setup.drives == 1
        if row.origin != "imported" or busy is None:
            continue
        if busy > 1.005:
            message = f"{busy:.0%} busy is more than all of the time"
            yield subject, Doubt("error", message, "Ask what that column counts.", {"busy_fraction": busy})
        elif busy >= HIGH and not alone:
            message = (
                f"{busy:.0%} busy says only that something was outstanding nearly always: arrays and SSDs, which serve"
                " many at once, may have most of their capacity left"
            )
            remedy = "Compare the rate with the device's own ceiling, and watch response against load."
            yield subject, Doubt("note", message, remedy, {"busy_fraction": busy})
