"""`loadline fault ADDRESS SENTENCE`."""

from __future__ import annotations

import click

from loadline.cli import output
from loadline.measuring.emulate import fault


@click.command("fault")
@click.argument("address", metavar="ADDRESS")
@click.argument("sentence", metavar="FAULT")
@output.common
def command(address: str, sentence: str, as_json: bool) -> int:
    """Let something go wrong in a system that is emulated.

    ADDRESS is what `loadline emulate` printed. FAULT is a sentence such as 'latency x10 for 30s', 'drive 2 fails',
    'drive 2 is replaced', 'error 0.1% of reads', 'freeze for 5s', 'link lost for 2s' or 'clear', which ends all that
    lasts. Times after from, to and at count from the start of the emulation.
    """
    understood = fault(address, sentence)
    if as_json:
        output.document({"format": 1, "fault": understood, "error": None})
    else:
        output.say(output.short_times(understood))
    return 0
