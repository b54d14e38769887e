"""Other people's results as rows of ours: fio's output, plain tables, and what loadline itself wrote.

Never: fills in what a file doesn't say, or measures. What is missing stays unknown.
Start reading at `importing.py`; an importer is a file and a line there.
"""
