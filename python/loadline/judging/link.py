"""A link in words, such as `4 x 16G FC`, and what it carries one way after its line coding.

SATA and SAS to 12G and PCIe 1 and 2 are coded 8b/10b, so 6 Gb/s is 600 MB/s; Fibre Channel's names are its rates by
convention (16G carries 1,600 MB/s); PCIe from 3 on is coded 128b/130b; Ethernet's names are rates after coding.
Sources: the SAS, SATA, FC-PI and PCI Express base specifications, IEEE 802.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from loadline.errors import InputError
from loadline.units import parse_bandwidth

# Transfers a second of a lane by generation, and the share that is data.
_PCIE = {1: (2.5e9, 0.8), 2: (5e9, 0.8), 3: (8e9, 128 / 130), 4: (16e9, 128 / 130), 5: (32e9, 128 / 130)}

# 22.5 GBaud of SAS-4 is coded 128b/150b and carries 2,400 MB/s.
_SAS = {1.5: 150e6, 3: 300e6, 6: 600e6, 12: 1200e6, 22.5: 2400e6, 24: 2400e6}

_FC = {1: 100e6, 2: 200e6, 4: 400e6, 8: 800e6, 16: 1600e6, 32: 3200e6, 64: 6400e6, 128: 12800e6}

_RATE = r"(\d+(?:\.\d+)?)\s*g(?:b(?:it)?(?:/s|ps)?|fc)?"

#: Forms of one link, and its rate by their match.
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], float | None]], ...] = (
    (
        re.compile(r"pci-?e(?:xpress)?[ -]*(?:gen ?)?(\d)(?:\.\d)?[ ,-]*x ?(\d+)"),
        lambda m: _pcie(int(m[1]), int(m[2])),
    ),
    (re.compile(rf"(?:sas|sata)-?\s*{_RATE}|{_RATE}\s*(?:sas|sata)"), lambda m: _SAS.get(float(m[1] or m[2]))),
    (
        re.compile(rf"(?:fc|fibre channel)-?\s*{_RATE}|{_RATE}\s*(?:fc|fibre channel)|(\d+)gfc"),
        lambda m: _FC.get(int(float(m[1] or m[2] or m[3]))),
    ),
    (
        re.compile(rf"(?:ethernet|iscsi)-?\s*{_RATE}|(\d+(?:\.\d+)?)\s*gbe|{_RATE}\s*(?:ethernet|iscsi)"),
        lambda m: float(m[1] or m[2] or m[3]) * 1e9 / 8,
    ),
)

_TIMES = re.compile(r"(\d+)\s*(?:x|×|\*|ports? (?:of )?|lanes? (?:of )?)\s*(.*)")


def link_bytes_per_s(text: str) -> float | None:
    """Bytes a second one way of `16G FC`, `4 x 16G FC`, `sas-6g x4`, `PCIe 3.0 x8`, `2 x 10 GbE`, `2GB/s`.

    None for what isn't read as a link.
    """
    plain = " ".join(text.lower().split())
    times = _TIMES.fullmatch(plain)
    if times:
        each = link_bytes_per_s(times[2])
        return None if each is None else int(times[1]) * each
    for form, rate in _FORMS:
        match = form.fullmatch(plain)
        if match:
            return rate(match)
    lanes = re.fullmatch(r"(.*\S)\s*x\s?(\d+)", plain)
    if lanes:
        each = link_bytes_per_s(lanes[1])
        return None if each is None else int(lanes[2]) * each
    try:
        return parse_bandwidth(text.strip())
    except InputError:
        return None


def _pcie(generation: int, lanes: int) -> float | None:
    if generation not in _PCIE:
        return None
    rate, coding = _PCIE[generation]
    return rate * coding / 8 * lanes
