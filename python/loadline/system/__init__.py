"""What storage systems that are only described do under a workload; they come from the catalog or from files.

Never: touches a target, starts a process, prints. The arithmetic of models is in Rust, behind `loadline._core`.
Start reading at description.py for what a system is, then at simulate.py; load_line.py searches for load lines.
"""
