"""The golden files as an independent reader sees them: the json module, and latencies one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden" / "fio-3.33"
FILES = sorted(path.name for path in FOLDER.glob("*.json"))


def text_of(name: str) -> str:
    return (FOLDER / name).read_text()


def statuses(name: str) -> list[dict[str, Any]]:
    """The JSON values of a file, whatever stands between them."""
    text, decoder, found, at = text_of(name), json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def latencies(status: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each latency object with bins."""
    for job in status.get("jobs") or status["client_stats"]:
        for way in ("read", "write"):
            for kind in ("clat_ns", "lat_ns"):
                if "bins" in job[way][kind]:
                    yield job[way][kind]


def bins(latency: dict[str, Any]) -> Counter[int]:
    return Counter({int(value): count for value, count in latency["bins"].items()})
