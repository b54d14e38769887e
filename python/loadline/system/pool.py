"""Work on all cores, its answers in order, and stopped promptly by Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

T = TypeVar("T")

#: Called about ten times a second with how many tasks are done and how many there are.
Listener = Callable[[int, int], None]

_TICK_S = 0.1


def in_order(
    tasks: Sequence[Callable[[Event], T]], threads: int | None = None, listen: Listener | None = None
) -> list[T]:
    """What the tasks give, in their order, whatever number of threads works on them.

    Args:
        tasks: each gets an event that is set when it should end early, whatever it then gives or raises.
        threads: None for as many as this process may use cores.

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
                listen(len(futures) - len(pending), len(futures))
        return [future.result() for future in futures]
    finally:
        stop.set()
        executor.shutdown(cancel_futures=True)
