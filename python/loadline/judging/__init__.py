"""What results are worth: how sure a measured number is, and whether it's steady.

Never measures, prints or draws; works on plain numbers and Results, whatever they come from.
Start reading at `precision.judge`.
"""
