"""Facts of one machine: its block devices, what lives on them, counters while it works, provenance.

Never judges, never writes to a device, never prints; says `None` for what it can't know.
Start at `device.block_device`, then `use.uses`; all roots (/sys, /proc, /dev) are arguments.
"""
