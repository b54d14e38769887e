"""What happened: the one schema of results, histograms, and the run folders that keep them.

Never: measures, models or judges; knows nothing of targets but their names.
Start reading at schema.py (the columns), then store.py (the folders).
"""
