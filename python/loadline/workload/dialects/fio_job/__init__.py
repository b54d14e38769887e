"""fio job files, both ways. Source: fio's HOWTO, and its behaviour at version 3.33.

Never: reads an option that it doesn't know, or one that could reach past the target (option.py).
Start reading at write.py, which makes what `loadline run` gives to fio; read.py says what a foreign file means.
"""

from loadline.workload.dialects.fio_job.nearest import nearest
from loadline.workload.dialects.fio_job.read import read
from loadline.workload.dialects.fio_job.write import DEFAULT_ENGINE, needs_size, working_set, write

__all__ = ["DEFAULT_ENGINE", "nearest", "needs_size", "read", "working_set", "write"]
