"""What models forecast, beside what others measured on real systems.

Never: changes a description to come closer to a figure; what misses its bar is shown as it is.
Start reading at comparison.py for what a comparison is, then at validate.py; each other file has the comparisons of one
kind of system, published.toml the figures of reports, and docs/background/validation.md the reasons.
"""
