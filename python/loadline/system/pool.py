"""Work on all cores, its answers in order, and stopped promptly by Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import TypeVar

from loadline.errors import InputError
from loadline.result.schema import Result
from loadline.units import whole

T = TypeVar("T")

#: Called about ten times a second with how many tasks are done, how many there are, and the rows that are new.
Listener = Callable[[int, int, Sequence[Result]], None]

_TICK_S = 0.1
_MOST_THREADS = 4096


def check_listener(listen: object) -> None:
    """Refuses what can't be called, before the work whose progress it was to hear of.

    Raises:
        InputError: it can't.
    """
    if listen is not None and not callable(listen):
        raise InputError(f"listen: {listen!r} can't be called", "Give a function, or leave it out.")


def in_order(
    tasks: list[Callable[[Event], T]],
    threads: int | None = None,
    listen: Callable[[int, Mapping[int, T]], None] | None = None,
) -> list[T]:
    """What the tasks give, in their order, whatever number of threads works on them.

    Args:
        tasks: each gets an event that is set when it should end early, whatever it then gives or raises. They are taken
            out of the list, so that what a task holds is free once it's done.
        threads: None for as many as this process may use cores.
        listen: called about ten times a second with how many tasks are done, and the answers that are new, by the
            number of their task.

    Raises:
        InputError: a number of threads that can't be.
        KeyboardInterrupt: at once; tasks under way end when they look at their event. And what a task raises, of
            several the first in order.
    """
    if threads is not None:
        whole("threads", threads, 1, _MOST_THREADS)
    stop, complete = Event(), Event()
    total = len(tasks)
    ended: list[int] = []

    def end(number: int, _: Future[T]) -> None:
        ended.append(number)
        if len(ended) == total:
            complete.set()

    cores = threads or len(os.sched_getaffinity(0))
    executor = ThreadPoolExecutor(min(cores, max(1, total)))
    waits = True
    try:
        tasks.reverse()
        futures = [executor.submit(tasks.pop(), stop) for _ in range(total)]
        for number, future in enumerate(futures):
            future.add_done_callback(partial(end, number))
        told = 0
        while told < total:
            complete.wait(_TICK_S)
            new = ended[told:]
            told += len(new)
            if listen is not None:
                listen(told, {number: futures[number].result() for number in new if not futures[number].exception()})
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        stop.set()
        executor.shutdown(waits, cancel_futures=True)
