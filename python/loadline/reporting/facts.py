"""What is known of a run's making, in words: device, host, tools. Nothing is made up for what isn't known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from loadline.result.store import Run
from loadline.units import format_size


def facts(run: Run) -> dict[str, str]:
    """Target, device, host, tools, start and what the user said of the run, in words, without the host's name."""
    document = run.document
    target = document["target"]
    sizes = " of ".join(format_size(target[key]) for key in ("used_bytes", "size_bytes") if target.get(key))
    last = document["sessions"][-1]
    fio = last.get("fio") or {}
    tools = [fio.get("version"), fio.get("engine"), last.get("loadline") and f"loadline {last['loadline']}"]
    found = {
        "target": f"{target['path']}{f' ({sizes})' if sizes else ''}",
        "device": _devices([known["facts"] for known in last.get("devices") or () if known]),
        "host": ", ".join(_host(last.get("machine") or {})),
        "with": ", ".join(filter(None, tools)),
        "started": run.started_at,
        "declared": _pairs(document.get("declared")),
        "tags": _pairs(document.get("tags")),
    }
    return {kind: words for kind, words in found.items() if words}


def _pairs(said: Mapping[str, str] | None) -> str:
    return ", ".join(f"{key}={value}" for key, value in (said or {}).items())


def _devices(known: Sequence[Mapping[str, Any]]) -> str:
    """The devices below the targets, equal ones once."""
    said = Counter(", ".join(_device(facts)) for facts in known)
    return "; ".join(f"{times} x {words}" if times > 1 else words for words, times in said.items() if words)


def _device(known: Mapping[str, Any]) -> list[str]:
    said = [" ".join(str(known[key]) for key in ("vendor", "model", "serial") if known.get(key))]
    if known.get("size_bytes"):
        said.append(format_size(known["size_bytes"]))
    if known.get("rotational") is not None:
        said.append("rotational" if known["rotational"] else "not rotational")
    scheduler = (known.get("queue") or {}).get("scheduler")
    if scheduler:
        said.append(f"scheduler {scheduler}")
    return [word for word in said if word]


def _host(known: Mapping[str, Any]) -> list[str]:
    cpu = known.get("cpu") or {}
    model, threads = cpu.get("model"), cpu.get("threads")
    said = [f"{threads} x {model}" if model and threads else model or (f"{threads} CPUs" if threads else "")]
    if known.get("kernel"):
        said.append(f"Linux {known['kernel']}")
    return [word for word in said if word]
