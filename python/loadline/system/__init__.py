"""What a storage system that is only described would do under a workload: load lines so far.

Never: touches a target, starts a process, prints.
Start reading at load_line.py, which finds the highest load that keeps a limit.
"""
