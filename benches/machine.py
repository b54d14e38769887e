"""What a machine takes from programs that never rest: time of their cores that others get, or who hosts the machine.

python benches/machine.py           two cores for three seconds
"""

from __future__ import annotations

import os
import subprocess
import sys

#: Whose share counts: stretches that are a tenth of a response of 1 ms.
STRETCH_NS = 100_000

_SPIN = """
import sys, time
stretch_ns, until = int(sys.argv[1]), time.perf_counter_ns() + int(sys.argv[2])
before, taken = time.perf_counter_ns(), 0
while before < until:
    now = time.perf_counter_ns()
    taken += (now - before) * (now - before >= stretch_ns)
    before = now
print(taken)
"""


def taken(cores: int, span_ns: int) -> float:
    """Share of the time in which the machine let a program that looks at the clock wait for `STRETCH_NS` and more.

    Of so many programs on so many cores at a time; the mean over them.
    """
    command = [sys.executable, "-c", _SPIN, str(STRETCH_NS), str(span_ns)]
    spinning = [
        subprocess.Popen(["taskset", "--cpu-list", str(core), *command], stdout=subprocess.PIPE, text=True)
        for core in sorted(os.sched_getaffinity(0))[:cores]
    ]
    return sum(int(one.communicate()[0]) for one in spinning) / len(spinning) / span_ns


if __name__ == "__main__":
    print(f"{taken(2, 3_000_000_000):.2%} of two cores' time was taken in stretches of 0.1 ms and more")
