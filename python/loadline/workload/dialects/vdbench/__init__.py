"""vdbench parameter files, both ways. Source: vdbench 5.04.06, what its parser takes, and its defaults.

Never: reads what could run a command, include another file or replay a trace; those are errors.
Start reading at read.py, which says what a storage, workload and run definition are here; write.py is its inverse.
"""

from loadline.workload.dialects.vdbench.read import read
from loadline.workload.dialects.vdbench.write import write

__all__ = ["read", "write"]
