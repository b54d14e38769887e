"""Work on all cores, its answers in order, and stopped promptly by Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from loadline.result.schema import Result

T = TypeVar("T")

#: Called about ten times a second with how many tasks are done, how many there are, and the rows that are new.
Listener = Callable[[int, int, Sequence[Result]], None]

_TICK_S = 0.1


def in_order(
    tasks: Sequence[Callable[[Event], T]],
    threads: int | None = None,
    listen: Callable[[Sequence[T | None]], None] | None = None,
) -> list[T]:
    """What the tasks give, in their order, whatever number of threads works on them.

    Args:
        tasks: each gets an event that is set when it should end early, whatever it then gives or raises.
        threads: None for as many as this process may use cores.
        listen: called about ten times a second with the answers so far, None for those that are missing.

    Raises:
        KeyboardInterrupt: after the tasks under way have ended. And what a task raises, of several the first in order.
    """
    stop = Event()
    cores = threads or len(os.sched_getaffinity(0))
    executor = ThreadPoolExecutor(min(cores, max(1, len(tasks))))
    try:
        futures = [executor.submit(task, stop) for task in tasks]
        pending = set(futures)
        while pending:
            pending = wait(pending, _TICK_S).not_done
            if listen is not None:
                listen([None if future in pending or future.exception() else future.result() for future in futures])
        return [future.result() for future in futures]
    finally:
        stop.set()
        executor.shutdown(cancel_futures=True)
