"""Measuring: targets, the guard, fio, and the loop that fills a plan's points.

Never: writes where the guard has not allowed it, loses a finished point, prints.
Start reading at run.py; guard.py says what may be touched, fio.py drives the load generator.
"""
