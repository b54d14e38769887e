"""What is asked of a storage system: profiles, arrivals, suites, and their plan of points.

Never: touches a target, starts a process, knows about results.
Start reading at profile.py; suite.py reads the files; plan.py makes points; dialects/ speaks to other tools.
"""
