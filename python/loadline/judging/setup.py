"""What a row's set-up is known to be: medium, drives, cache, links. From captured facts, and from what was declared.

Tags and declared settings are read by their keys; docs/guides/audit.md lists them. What nobody says stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loadline.errors import InputError
from loadline.host.link import ceiling_bytes_per_s
from loadline.judging.link import link_bytes_per_s
from loadline.units import parse_bandwidth, parse_bytes, parse_duration


@dataclass(frozen=True, slots=True)
class Setup:
    """What is known; None where nobody says.

    Attributes:
        medium: `hdd`, `ssd`, or None for both and neither.
        write_cache: whether some write-back cache, of controller or drive, is known to be on or off.
        cache_off_said: somebody wrote that a cache is off; a part of them may be on.
        link_bytes_per_s: the most that passes one way between host and storage.
        parity_fraction: share of what is written to drives that is data, for full stripes: 7/8 of RAID 5 on 8.
        device_queue: I/Os that the device takes at once.
    """

    medium: Literal["hdd", "ssd"] | None = None
    rotation_per_min: float | None = None
    drives: int | None = None
    drive_read_bytes_per_s: float | None = None
    drive_write_bytes_per_s: float | None = None
    drive_floor_ns: float | None = None
    parity_fraction: float | None = None
    copies: int | None = None
    write_cache: bool | None = None
    cache_off_said: bool = False
    cache_bytes: int | None = None
    link_bytes_per_s: float | None = None
    link_said: str = ""
    device_queue: int | None = None
    capacity_bytes: int | None = None
    written_bytes: float | None = None
    prepared: bool | None = None
    thin: bool = False


_OFF = re.compile(r"off|no|none|disabled?|without|0|false|write.?through|wt", re.IGNORECASE)
_ON = re.compile(r"on|yes|enabled?|with|true|write.?back|wb|\d+\s*[MG]i?B?", re.IGNORECASE)
_HDD = re.compile(
    r"\bhdds?\b|\brpm\b|nl-?sas|hard[ -]?dis[ck]|rotati|spinning"
    r"|\b(?:7\.2|10|15)\s?k\b.*\b(?:sas|fc|sata|dis[ck]|drive)",
    re.IGNORECASE,
)
_SSD = re.compile(r"\bssds?\b|nvme|flash|solid.state|optane|x25-", re.IGNORECASE)
_RPM = re.compile(r"\b(5\.4|5\.9|7\.2|10|15)\s?k\b|\b(5400|5900|7200|10,?000|15,?000)\b", re.IGNORECASE)
_RAID = re.compile(r"(?:v?raid)?[ -]?(10|0|1|5|6|50|60)\b", re.IGNORECASE)

#: Keys that speak of drives: there `15k` is a speed.
_DRIVE_KEYS = (
    "medium",
    "media",
    "drive",
    "disk",
    "drives",
    "disks",
    "drive_type",
    "disk_type",
    "rpm",
    "type",
    "storage",
)
_CACHE_KEYS = ("cache", "controller_cache", "write_cache", "write_policy", "cache_mode", "cache_policy", "raid_cache")
_DRIVE_CACHE_KEYS = ("disk_cache", "drive_cache", "disk_write_cache", "drive_write_cache")
_LINK_KEYS = ("link", "links", "bus", "fabric", "interface", "ports", "port", "network", "host_link")
_DEPTH_KEYS = ("device_queue_depth", "lun_queue_depth", "hba_queue_depth")


def key(name: str) -> str:
    """A tag's or column's name as its key: lower case, words joined by `_`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower().replace("#", "number of ")).strip("_")


def setup_of(said: Mapping[str, str], document: Mapping[str, Any] | None = None, target: str = "") -> Setup:
    """The set-up by tags and declared settings, then by what a run captured of its device; what is said counts first.

    Args:
        document: of the run, its run.json.
        target: which of its targets.
    """
    words = {key(name): str(value).strip() for name, value in said.items()}
    facts = device_of(document, target).get("facts")
    device: Mapping[str, Any] = facts if isinstance(facts, Mapping) else {}
    layout = _layout(words)
    drives = _drives(words)
    cache, off = _cache(words, device)
    link, link_said = _link(words, device)
    medium, rotation = _medium(words, device)
    queue = device.get("queue") or {}
    rate = _first(words, ("drive_rate", "disk_rate", "drive_bandwidth", "drive_mb_s", "disk_mb_s"), _bandwidth)
    return Setup(
        medium=medium,
        rotation_per_min=rotation,
        drives=drives,
        drive_read_bytes_per_s=_first(words, ("drive_read", "drive_read_mb_s", "disk_read"), _bandwidth) or rate,
        drive_write_bytes_per_s=_first(words, ("drive_write", "drive_write_mb_s", "disk_write"), _bandwidth) or rate,
        drive_floor_ns=_first(words, ("drive_floor", "drive_latency", "drive_min_latency"), parse_duration),
        parity_fraction=_parity(layout, drives),
        copies=2 if layout in {"1", "10"} else None,
        write_cache=cache,
        cache_off_said=off,
        cache_bytes=_first(words, ("cache_size", "cache_memory", "controller_cache", "cache", "write_cache"), _size),
        link_bytes_per_s=link,
        link_said=link_said,
        device_queue=_first(words, _DEPTH_KEYS, _whole) or _positive(queue.get("queue_depth")),
        capacity_bytes=_first(words, ("capacity", "device_size"), _size) or _positive(device.get("size_bytes")),
        written_bytes=_written(device_of(document, target, 0)),
        prepared=_yes(words, ("prepared", "preconditioned", "preparation", "prefilled", "initialized")),
        thin=words.get("provisioning", "").lower() == "thin" or bool(_yes(words, ("thin", "sparse"))),
    )


def device_of(document: Mapping[str, Any] | None, target: str, which: int = -1) -> Mapping[str, Any]:
    """What session number `which` kept of that target's device: `facts`, `health_before`; empty if nothing."""
    sessions = (document or {}).get("sessions") or [{}]
    kept = [one for one in sessions[which].get("devices") or () if isinstance(one, Mapping)]
    return next((one for one in kept if one.get("target") == target or len(kept) == 1), {})


def _first(words: Mapping[str, str], keys: Iterable[str], read: Any) -> Any:
    for name in keys:
        if name in words:
            try:
                value = read(words[name])
            except InputError:
                continue
            if value:
                return value
    return None


def _size(text: str) -> int:
    return parse_bytes(re.sub(r"(?<=\d)\s*([KMGT])B?$", r"\1iB", text.strip()))


def _bandwidth(text: str) -> float:
    return parse_bandwidth(text if re.search(r"[a-zA-Z]", text) else f"{text}MB/s")


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _yes(words: Mapping[str, str], keys: Iterable[str]) -> bool | None:
    for name in keys:
        if name in words:
            return not _OFF.fullmatch(words[name]) if words[name] else None
    return None


def _medium(words: Mapping[str, str], device: Mapping[str, Any]) -> tuple[Literal["hdd", "ssd"] | None, float | None]:
    of_drives = " ".join(words[name] for name in _DRIVE_KEYS if name in words)
    every = " ".join(words.values())
    speed = _RPM.search(of_drives)
    rotation = None
    if speed:
        rotation = float(speed[1]) * 1000 if speed[1] else float(speed[2].replace(",", ""))
    hdd = bool(speed or _HDD.search(every))
    ssd = bool(_SSD.search(every))
    if hdd != ssd:
        return ("hdd" if hdd else "ssd"), rotation
    if not hdd and isinstance(device.get("rotational"), bool) and not _is_guess(device):
        return ("hdd" if device["rotational"] else "ssd"), None
    return None, None


def _is_guess(device: Mapping[str, Any]) -> bool:
    """Of maps, of virtual disks and behind a RAID controller the kernel says what somebody told it, or a default."""
    virtual = re.search(
        r"qemu|vbox|vmware|virtual|virtio|logical|raid|lun", f"{device.get('vendor')} {device.get('model')}", re.I
    )
    plain = re.match(r"(?:vd|xvd|nbd|loop|dm-|md|ram|zd)", str(device.get("name") or ""))
    return bool(virtual or plain or device.get("raid_level") or device.get("loop") or device.get("members"))


def _drives(words: Mapping[str, str]) -> int | None:
    keys = ("number_of_disks", "number_of_drives", "disk_count", "drive_count", "disks", "drives", "spindles")
    for name in keys:
        match = re.match(r"(\d{1,5})(?:\s*[x×]\s|\s+(?:disks|drives)|$)", words.get(name, ""))
        if match:
            return int(match[1])
    return None


def _layout(words: Mapping[str, str]) -> str | None:
    for name in ("raid", "raid_level", "layout", "vraid"):
        match = _RAID.fullmatch(words.get(name, ""))
        if match:
            return match[1]
    return None


def _parity(layout: str | None, drives: int | None) -> float | None:
    if drives is None or layout is None:
        return None
    match layout:
        case "5" if drives > 2:
            return (drives - 1) / drives
        case "6" if drives > 3:
            return (drives - 2) / drives
        case "1" | "10":
            return 0.5
        case "0":
            return 1.0
    return None


def _cache(words: Mapping[str, str], device: Mapping[str, Any]) -> tuple[bool | None, bool]:
    """Whether a write-back cache is known to be on (or, everything considered, off); whether one is said to be off."""
    controller = [words[name] for name in _CACHE_KEYS if words.get(name)]
    drive = [words[name] for name in _DRIVE_CACHE_KEYS if words.get(name)]
    off = any(_OFF.fullmatch(word) for word in controller)
    if any(_ON.match(word) and not _OFF.fullmatch(word) for word in (*controller, *drive)):
        return True, off
    kernel = (device.get("queue") or {}).get("write_cache")
    if kernel == "write back":
        return True, off
    return (False if off or kernel == "write through" else None), off


def _link(words: Mapping[str, str], device: Mapping[str, Any]) -> tuple[float | None, str]:
    found = []
    for name in _LINK_KEYS:
        if words.get(name):
            rate = link_bytes_per_s(words[name])
            if rate is not None:
                found.append((rate, words[name]))
    if found:
        return min(found)
    links = [link for link in device.get("links") or () if isinstance(link, Mapping) and "kind" in link]
    rate = ceiling_bytes_per_s(links)
    kinds = "+".join(dict.fromkeys(str(link["kind"]) for link in links))
    return rate, f"{kinds} as captured" if rate else ""


def _written(device: Mapping[str, Any]) -> float | None:
    health = device.get("health_before")
    written = health.get("written_bytes") if isinstance(health, Mapping) else None
    return float(written) if isinstance(written, int | float) else None
