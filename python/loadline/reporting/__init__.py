"""Results for people and for other programs: tables, and files in their formats.

Never: measures, judges, or asks where a result came from, except to print it.
Start reading at table.py; report.py writes files.
"""
