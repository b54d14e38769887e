"""What a column's head means: a column of the schema, a part of the load, or a tag; and the unit of its numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from loadline.errors import InputError
from loadline.result.schema import COLUMNS
from loadline.workload.suite import nearest

#: Nanoseconds, bytes a second, I/Os a second: what a number of that unit is multiplied by.
TIME = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
RATE = {
    **{f"{prefix}B/s": 1000.0**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB/s": 1024.0**power for power, prefix in enumerate(("", "K", "M", "G", "T")) if power},
    **{f"{prefix}bit/s": 1000.0**power / 8 for power, prefix in enumerate(("", "k", "M", "G", "T"))},
}
COUNT = {"": 1.0, "k": 1000.0, "M": 1e6}
SIZE = {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "kB": 1000.0}
SHARE = {"%": 0.01, "": 1.0}
UNITS: Mapping[str, float] = {**TIME, **RATE, **SIZE, "%": 0.01, "k": 1000.0, "M": 1e6, "1": 1.0}

#: Parts of the load that a table may say, beside the schema's columns.
LOAD = ("block", "read_fraction", "random_fraction", "mix", "access", "guests", "think")

_TIME_WORDS = {
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), "ns"),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microseconds"), "us"),
    **dict.fromkeys(("ms", "msec", "milliseconds", "millisec"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("min", "minutes"), "min"),
    **dict.fromkeys(("h", "hours"), "h"),
}

_RATE_FORM = re.compile(r"([kmgt]?)(i?)(b(?:it|yte)?s?)\s*(?:/|per\s*|p)\s*s(?:ec(?:ond)?)?", re.IGNORECASE)
_COUNT_FORM = re.compile(r"\bk(?=\s?iops|\s?i/os?)|\bthousands?\b|(?<=[(\[])k(?=[)\]])", re.IGNORECASE)

_IOPS = re.compile(
    r"\biops?\b|\bkiops\b|\bi/o rate\b|\bi/?os?(?: ?/ ?s| per s)|requests? ?(?:/ ?s|per s)|\btps\b|transfers ?/ ?s"
)

_STATISTICS: tuple[tuple[str, str], ...] = (
    (r"std|stdev|\bsd\b|deviation|sigma", "stddev"),
    (r"max|worst|longest", "max"),
    (r"\bmin\b|minimum|best|shortest", "min"),
    (r"99[.,]?99\b|9999", "p9999"),
    (r"99[.,]9\b|\bp?999\b", "p999"),
    (r"99", "p99"),
    (r"95", "p95"),
    (r"\bp?90(?:th)?\b", "p90"),
    (r"\bp?50(?:th)?\b|median", "p50"),
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """Where a column goes and its unit; `unit` is empty where the head says none."""

    to: str
    unit: str = ""


def meaning(head: str) -> Meaning | None:
    """What a head says; None for one that is no figure, which makes it a tag."""
    text = " ".join(head.replace("_", " ").lower().split())
    # iostat's `rkB/s` and `wkB/s`.
    glued = re.fullmatch(r"([rw])([km]?b/s)", text)
    text = text if glued is None else f"{glued[1]} {glued[2]}"
    rate = _rate_unit(text if glued else head)
    words = set(re.findall(r"[a-z%]+|\d+", text))
    way = _way(text, words)
    for judge in (_load, _times, _latency, _bandwidth, _iops, _host):
        found = judge(text, words, way, rate)
        if found is not None:
            return found
    return None


def parse_map(words: list[str]) -> dict[str, Meaning | None]:
    """What `--map 'HEAD=COLUMN[:UNIT]'` says; `HEAD=tag` makes it a tag, `HEAD=-` leaves it out.

    Raises:
        InputError: no such column or unit.
    """
    known = {column.name for column in COLUMNS} | set(LOAD) | {"tag", "-"}
    found: dict[str, Meaning | None] = {}
    for word in words:
        head, equals, rest = word.rpartition("=")
        to, colon, unit = rest.strip().partition(":")
        if not equals or not head.strip():
            raise InputError(f"--map {word!r} is not HEAD=COLUMN", "Write it like --map 'ART=latency_mean_ns:ms'.")
        if to not in known:
            raise InputError(f"--map {word}: there is no column {to!r}", nearest(to, sorted(known), "See results.md."))
        if colon and unit not in UNITS:
            raise InputError(f"--map {word}: {unit!r} is no unit", f"Units: {', '.join(UNITS)}.")
        found[head.strip()] = Meaning("" if to == "-" else to, unit)
    return found


def _way(text: str, words: set[str]) -> str:
    reads, writes = bool(words & {"read", "reads", "rd", "r"}), bool(words & {"write", "writes", "wr", "w"})
    return "read_" if reads and not writes else "write_" if writes and not reads else ""


def _rate_unit(head: str) -> str:
    match = _RATE_FORM.search(head)
    if match is None:
        return ""
    prefix = match[1]
    unit = match[3]
    if re.search(r"\biops", head, re.IGNORECASE) and match[0].lower().startswith("ps"):
        return ""
    # `Mb/s` and `Mbit/s` are bits, `MBps` is bytes; in capitals or not at all, `mb/s` is bytes to most who write it.
    bits = unit.lower().startswith("bit") or (unit == "b" and prefix.isupper() and not match[2])
    if bits:
        return f"{prefix.upper() if prefix.lower() != 'k' else 'k'}bit/s"
    if match[2]:
        return f"{prefix.upper()}iB/s"
    return f"{'k' if prefix.lower() == 'k' else prefix.upper()}B/s"


def _time_unit(text: str) -> str:
    for word in reversed(
        re.findall(r"[a-zµμ]+", re.sub(r"\b(?:i/?os?|requests?|reads?|writes?)\s?/\s?s(?:ec)?\b", "", text))
    ):
        if word in _TIME_WORDS:
            return _TIME_WORDS[word]
    return ""


_LOADS: tuple[tuple[str, Meaning], ...] = (
    (
        r"(?:profile|workload|access specification(?: name)?|access pattern|load|pattern name|job ?name|name)$",
        Meaning("profile"),
    ),
    (r"(?!.*(?:\bms\b|latency|iops|/s)).*(?:read ?/ ?write|\br/w\b|r:w|\bmix\b)", Meaning("mix")),
    (
        r".*(?:rdpct|rwmixread|(?:%|percent(?:age)?|share)(?: of)? reads?|reads? (?:%|pct|percent|share|ratio))",
        Meaning("read_fraction", "%"),
    ),
    (
        r".*(?:seekpct|(?:%|percent(?:age)?|share)(?: of)? random|random (?:%|pct|percent|share))|random$",
        Meaning("random_fraction", "%"),
    ),
    (r"(?:access|access type|pattern|access class)$", Meaning("access")),
    (
        r"(?:queue ?depth|qd|io ?depth|queue|depth)\b|.*outstanding.* per (?:job|thread|worker|disk)",
        Meaning("queue_depth"),
    ),
    (r".*(?:outstanding|\boio\b|concurren)|a(?:vg)?qu-sz$", Meaning("outstanding")),
    (r"(?:number of |# ?|num ?)?(?:jobs|numjobs|threads|workers)$", Meaning("jobs")),
    (r"(?:number of |# ?)?(?:vms|guests|virtual machines)$", Meaning("guests")),
    (r"(?:number of |# ?)?(?:hosts|clients|load generators)$", Meaning("hosts")),
    (r"(?:repeat|repetition|iteration|round|run (?:#|no|number))$", Meaning("repeat")),
)
_BLOCK = re.compile(
    r"(?!.*\bset\b)(?:.*\b(?:block|request|transfer|i/?o|xfer) ?size\b|(?:block|bs|xfersize|size)\b(?! of)|bytes i/o$)"
)
_BLOCK_UNITS = {"kib": "KiB", "kb": "KiB", "k": "KiB", "mib": "MiB", "mb": "MiB", "byte": "B", "bytes": "B"}


def _load(text: str, words: set[str], way: str, rate: str) -> Meaning | None:
    del words, rate, way
    if _BLOCK.match(text):
        unit = re.search(r"\b(kib|kb|mib|mb|bytes?|k)\b", text)
        return Meaning("block", _BLOCK_UNITS[unit[1]] if unit else "")
    if re.search(r"offered|target rate|requested rate", text):
        return Meaning("offered_per_s", "k" if _COUNT_FORM.search(text) else "")
    return next((found for form, found in _LOADS if re.match(form, text)), None)


def _times(text: str, words: set[str], way: str, rate: str) -> Meaning | None:
    del words, way, rate
    if re.search(r"warm ?up|ramp", text):
        return Meaning("warmup_ns", _time_unit(text))
    if re.search(r"\b(?:run ?time|duration|elapsed|test time|length)\b", text):
        return Meaning("runtime_ns", _time_unit(text))
    return None


def _latency(text: str, words: set[str], way: str, rate: str) -> Meaning | None:
    unit = _time_unit(text)
    percentile = re.match(r"p(?:50|9\d+(?:\.\d+)?)|\d{2}(?:\.\d+)?(?:(?:th|st) ?(?:%|percent)| ?%-?iles?\b)", text)
    if unit and not percentile:
        # `99.9% (us)` is a percentile, and `95% load` isn't.
        percentile = re.match(r"(?:50|9\d)(?:[.,]\d+)? ?%", text)
    named = percentile or re.search(r"laten|\blat\b|\bclat\b|respon|\bresp\b|\bart\b|\brt\b|await|svctm", text)
    # `read ms` is a latency of reads; a rate or a share of something in seconds isn't.
    if rate or not (named or (unit in {"ns", "us", "ms"} and len(words) <= 3)):
        return None
    statistic = next((name for form, name in _STATISTICS if re.search(form, re.sub(r"[^\w.,%]", " ", text))), "mean")
    if statistic == "min":
        return None
    if "r_await" in text or "r await" in text:
        way = "read_"
    return Meaning(f"{way}latency_{statistic}_ns", unit)


def _bandwidth(text: str, words: set[str], way: str, rate: str) -> Meaning | None:
    del words
    # SPC calls the rate a throughput: `I/O Request Throughput (IOPS)`.
    if rate or (not _IOPS.search(text) and re.search(r"throughput|bandwidth|\bbw\b|transfer rate", text)):
        if re.search(r"min|max|peak|std|dev", text):
            return None
        return Meaning(f"{way}bytes_per_s", rate)
    return None


def _iops(text: str, words: set[str], way: str, rate: str) -> Meaning | None:
    del words, rate
    if re.search(r"peak|min\b|max|std|dev|per (?:disk|drive|\$|dollar|watt)", text):
        return None
    if _IOPS.search(text):
        return Meaning(f"{way}iops", "k" if _COUNT_FORM.search(text) else "")
    if re.fullmatch(r"r/s|reads? ?(?:/ ?s(?:ec)?|per sec(?:ond)?)", text):
        return Meaning("read_iops")
    if re.fullmatch(r"w/s|writes? ?(?:/ ?s(?:ec)?|per sec(?:ond)?)", text):
        return Meaning("write_iops")
    return None


def _host(text: str, words: set[str], way: str, rate: str) -> Meaning | None:
    del words, way, rate
    if re.fullmatch(r"(?:host |total )?cpu(?: ?(?:%|use|usage|util\w*|load))*|% ?cpu(?: \w+)?(?: \(total\))?", text):
        return Meaning("cpu_fraction", "%")
    if re.fullmatch(r"% ?util\w*|util\w* ?%?|(?:device |disk )?busy ?%?|(?:device |disk )?util\w* ?%?", text):
        return Meaning("busy_fraction", "%")
    return None
