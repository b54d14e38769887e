"""Link arithmetic: what the links between host and disk can carry, after their line coding.

8b/10b for SATA, SAS up to 12G, Fibre Channel up to 8G and PCIe 1 and 2; 64b/66b for Fibre Channel from 16G;
128b/130b for PCIe from 3. Sources: the SAS, FC-PI and PCI Express base specifications.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: Nominal rate of a Fibre Channel port as sysfs names it (Gbit) -> bytes a second each way.
_FC = {1: 100e6, 2: 200e6, 4: 400e6, 8: 800e6, 16: 1600e6, 32: 3200e6, 64: 6400e6, 128: 12800e6}


def ceiling_bytes_per_s(links: Sequence[Mapping[str, Any]]) -> float | None:
    """The most that can pass one way between host and disk: the narrowest link, its parallel lanes added.

    The phys of one SAS port are lanes of one link; behind an expander a disk has several links one after another.

    Args:
        links: `links` of `provenance.device_facts`.

    Returns:
        None when no link's rate is known.
    """
    by_link: dict[tuple[str, str | None], float] = {}
    for link in links:
        rate = _link_bytes_per_s(link)
        if rate is not None:
            key = link["kind"], link.get("port")
            by_link[key] = by_link.get(key, 0.0) + rate
    return min(by_link.values(), default=None)


def _link_bytes_per_s(link: Mapping[str, Any]) -> float | None:
    match = re.match(r"([\d.]+)", str(link.get("speed") or ""))
    if match is None:
        return None
    giga = float(match[1])
    if link["kind"] == "fc":
        return _FC.get(round(giga))
    if link["kind"] == "pcie":
        coding = 8 / 10 if giga <= 5 else 128 / 130
        return giga * 1e9 * coding / 8 * (link.get("width") or 1)
    if link["kind"] in {"sas", "sata"} and giga <= 12:
        return giga * 1e9 * 8 / 10 / 8
    return None
