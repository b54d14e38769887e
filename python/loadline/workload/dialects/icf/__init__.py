"""Iometer's configuration files (.icf), both ways. Source: what Iometer 1.1.0 itself reads and writes, and the form of
older versions, which it still reads (before 1998.05.21: access specifications without names).

Never: takes over targets, network workers or what a file shows of results.
Start reading at read.py; write.py says how points become workers and access specifications.
"""

from loadline.workload.dialects.icf.read import read
from loadline.workload.dialects.icf.write import write

__all__ = ["read", "write"]
