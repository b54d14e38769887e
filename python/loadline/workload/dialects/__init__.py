"""Other tools' ways to write a workload: one file a dialect, each with `read` and `write`.

Never: runs what it reads. A foreign file gives only what is known to be a workload; the rest is an error with its line.
Start reading at fio_job.py.
"""
