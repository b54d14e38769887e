"""Other tools' ways to write a workload: a file or a folder a dialect, each with `read` and `write`.

Never: runs what it reads. A foreign file gives only what is known to be a workload; the rest is an error with its
place, or a note. What a dialect can't say is written as the nearest that it can, with a note.
Start reading at text.py, which all of them use, then at hcibench.py, the smallest.
"""
