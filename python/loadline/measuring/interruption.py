"""What ends a run too early, and how it goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from loadline.errors import InterruptedRun, StoreError, TargetError, unforeseen
from loadline.result.store import Run

log = logging.getLogger("loadline")


@contextmanager
def interruptible(made: Run) -> Iterator[None]:
    """Tells of whatever ends a run too early what is kept of it, and how it goes on.

    Raises:
        InterruptedRun: Ctrl-C. StoreError, TargetError: the store or the target failed.
    """
    try:
        yield
    except KeyboardInterrupt:
        log.warning("interrupted")
        done = len(made.plan) - len(made.missing())
        raise InterruptedRun(
            f"interrupted; {done} of {len(made.plan)} points are kept in {made.path}",
            f"Go on with: loadline resume {made.handle}",
            made.path,
        ) from None
    except StoreError as error:
        log.warning("%s", error.message)
        raise StoreError(error.message, f"{error.remedy} Then: loadline resume {made.handle}", made.path) from None
    except (TargetError, OSError) as raised:
        told = unforeseen(raised) if isinstance(raised, OSError) else raised
        log.warning("%s", told.message)
        remedy = f"{told.remedy} Then: loadline resume {made.handle}".strip()
        raise TargetError(told.message, remedy, made.path) from None
