"""Small suites for tests of the measuring loop, made as a user would make them."""

from __future__ import annotations

from pathlib import Path

PROFILE = """
[[profile]]
name = "{name}"
block = "{block}"
read = "{read}"
random = "{random}"
"""


def suite(folder: Path, *profiles: str, runtime: str = "1s", name: str = "small", **keys: str) -> Path:
    """A suite file; each profile is `name block read% random%`."""
    text = f'title = "Small"\nruntime = "{runtime}"\n'
    text += "".join(f"{key} = {value}\n" for key, value in keys.items())
    for profile in profiles:
        parts = dict(zip(("name", "block", "read", "random"), profile.split(), strict=True))
        text += PROFILE.format(**parts)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def three(folder: Path, runtime: str = "200ms") -> Path:
    """Three short points: mixed, read only, write only."""
    return suite(folder, "mixed 4k 70% 100%", "reads 8k 100% 50%", "writes 16k 0% 0%", runtime=runtime, queue_depth="4")


def reads(folder: Path, runtime: str = "300ms") -> Path:
    """A suite that writes nothing."""
    return suite(folder, "reads 4k 100% 100%", runtime=runtime, name="reads")


#: A server that takes always the same time: n at once wait n times as long, so 5 keep 110 ms and 6 don't.
STATION = """
title = "One server that takes 20 ms"
[[station]]
name = "server"
service = { constant = "20ms" }
"""


def ramp(limit: str, runtime: str = "400ms") -> str:
    """The text of a suite that reads up to a limit on the mean response."""
    return f'''
title = "Reads up to a limit"
runtime = "{runtime}"
[[profile]]
name = "reads"
block = "4k"
read = "100%"
random = "100%"
limit = "mean<={limit}"
'''
