"""What results are worth: what in them can't be or is doubtful, how sure a measured number is, whether it's steady.

Never measures, prints or draws; works on plain numbers and Results, whatever they come from.
Start reading at audit.py, then any file of checks/; of precision at `precision.judge`, of comparisons at compare.py.
"""
