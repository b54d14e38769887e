"""fio's own output: JSON and JSON+, of versions 2 and 3, of one machine or of fio's clients.

Jobs of one group ran together and become one row, merged: rates added, means weighted by I/Os, histograms merged.
Without histograms (plain JSON) percentiles are kept only where a row is of one job, for they can't be merged.
Source: fio's stat.c and client.c; fio 2 gives latencies in us, `bw` in KiB/s, and has no `bw_bytes`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from loadline._core import Histogram
from loadline.errors import InputError
from loadline.result.figures import PERCENTILES, known_percentile
from loadline.result.importers.asked import Asked
from loadline.result.importers.row import Imported, ImportedRow
from loadline.result.schema import Flow, Result
from loadline.units import parse_bytes, parse_duration

ALL_CLIENTS = "All clients"

_READS = {"read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0, "trimwrite": 0.0}
_NUMBERS = (int, float)
_PERCENTILES = {percent: f"{percent:.6f}" for percent in PERCENTILES.values()}
_SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})

# How a job begins, and ends, in fio's text for people; and how its terse lines begin.
_TEXT = re.compile(rb"^\S.*: \((?:g=\d+\): rw=|groupid=\d+, jobs=\d+\): err=)|^\d;fio-\d", re.MULTILINE)

# `nan`, `-nan` and `inf` are printf's words, not JSON.
_UNREAL = re.compile(r"(?<=[:,\[])(\s*)-?(?:nan|inf)\b")


def looks_so(data: bytes) -> bool:
    """Whether these bytes are fio's, by the key that each of its outputs begins with."""
    start = data.find(b"{")
    return start >= 0 and b'"fio version"' in data[start : start + 4000]


def is_text(data: bytes) -> bool:
    """Whether these bytes are fio's, but written for people, or in terse lines."""
    return _TEXT.search(data[:100_000]) is not None


def read(data: bytes, name: str) -> Imported:
    """The rows of fio's output.

    Raises:
        InputError: no whole status in it, or one that fio doesn't write.
    """
    try:
        return _read(data, name)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{name}: not as fio writes it: {error}", "Write it again, or leave the damaged job out."
        ) from None


def _read(data: bytes, name: str) -> Imported:
    warnings: list[str] = []
    status = _last_status(data, name, warnings)
    version = str(status.get("fio version") or "")
    options: Any = status.get("global options") or {}
    jobs = [_as_asked(job, options, warnings) for job in _jobs(status, name, warnings)]
    time_s = status.get("timestamp")
    started = None
    if isinstance(time_s, int | float) and 0 < time_s < 4e9:
        started = datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for job in jobs:
        groups.setdefault(job.get("groupid"), []).append(job)
    found = []
    for number, group in enumerate(groups.values(), 1):
        at = started if number == len(groups) else None
        found.append(_row(group, options if isinstance(options, dict) else {}, version, at, warnings))
    return Imported(tuple(found), (), tuple(dict.fromkeys(warnings)))


def _last_status(data: bytes, name: str, warnings: list[str]) -> dict[str, Any]:
    """The last whole JSON value: statuses by the second come one after the other, each with the totals so far."""
    start = data.find(b"{")
    if data[:start].strip():
        warnings.append("text before the first JSON value was passed over")
    body = data[start:]
    try:
        whole = orjson.loads(body)
        if isinstance(whole, dict):
            return whole
    except ValueError:
        pass
    except RecursionError:
        raise InputError(f"{name}: JSON nested too deep", "It isn't fio's output.") from None
    text, decoder = body.decode("utf-8", "replace"), json.JSONDecoder()
    begin = end = len(text)
    # From the end, for each status repeats what those before it have told. They begin in the first column.
    while begin > 0:
        begin = text.rfind("\n{", 0, end) + 1
        try:
            value, _ = decoder.raw_decode(_UNREAL.sub(r"\1null", text[begin:end]))
        except (ValueError, RecursionError):
            warnings.append("a JSON value was cut off or broken, and passed over")
        else:
            if isinstance(value, dict) and ("jobs" in value or "client_stats" in value):
                return value
        end = begin
    raise InputError(f"{name}: no whole status of fio's in it", "Write it with fio --output-format=json --output=FILE.")


def _jobs(status: Mapping[str, Any], name: str, warnings: list[str]) -> list[Mapping[str, Any]]:
    entries = status.get("jobs", status.get("client_stats"))
    jobs: list[Mapping[str, Any]] = (
        [job for job in entries if isinstance(job, dict)] if isinstance(entries, list) else []
    )
    # fio's sum has no percentiles and one client's host name: ours is merged from the jobs.
    sums = [number for number, job in enumerate(jobs) if job.get("jobname") == ALL_CLIENTS]
    plain = [job for job in jobs if job.get("jobname") != ALL_CLIENTS]
    if sums and 0 < sums[0] < len(plain):
        # With --status-interval the jobs of all statuses follow one another, and the sum comes after the first.
        plain = plain[-sums[0] :]
        warnings.append("of a client's statuses only the last is taken")
    if not plain and sums:
        plain = jobs[sums[-1] :]
        warnings.append("only a client's sum of all jobs is there: of its latencies only the mean is that of all")
    if not plain:
        raise InputError(f"{name}: fio's output without a job", "Was fio stopped before it began?")
    return plain


def _as_asked(job: Mapping[str, Any], options: Any, warnings: list[str]) -> Mapping[str, Any]:
    """A job with what it was asked to do: not with the reads of what it wrote, which come after, nor with trims."""
    own = job.get("job options")
    every = {**(options if isinstance(options, dict) else {}), **(own if isinstance(own, dict) else {})}
    name = job.get("jobname")
    trims, reads = job.get("trim"), job.get("read")
    if isinstance(trims, dict) and _real(trims.get("total_ios")):
        warnings.append(f"{name}: its trims are left out, for results have reads and writes only")
    if not (_READS.get(_way(every)) == 0 and "verify" in every and isinstance(reads, dict) and reads.get("total_ios")):
        return job
    warnings.append(f"{name}: the reads that verified what it wrote are left out")
    return {key: value for key, value in job.items() if key != "read"}


def _row(
    jobs: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    version: str,
    ended_at: str | None,
    warnings: list[str],
) -> ImportedRow:
    every = [{**options, **(job.get("job options") or {})} for job in jobs]
    reads, writes = ([_Part.of(job.get(way), version) for job in jobs] for way in ("read", "write"))
    # With unified_rw_reporting reads and writes are counted as one, and what each did isn't told.
    unified = [_Part.of(job["mixed"], version) for job in jobs if "mixed" in job and not {"read", "write"} & job.keys()]
    read, write = _merged(reads), _merged(writes)
    total = _merged([part for part in (*reads, *writes, *unified) if part.ios])
    runtime_ms = max((_real(part.get("runtime")) or 0.0 for job in jobs for part in _parts(job)), default=0.0)
    names = dict.fromkeys(str(job.get("jobname") or "") for job in jobs)
    hosts = {(job.get("hostname"), job.get("port")) for job in jobs if job.get("hostname")}
    errors = [int(error) for job in jobs if (error := _real(job.get("error")))]
    # fio's client prints the options of the first job only, and early fio 2 none; else none of its own means the
    # global ones.
    told = all("job options" in job or (options and not job.get("hostname")) for job in jobs)
    counts = _threads(jobs, every)
    asked = _asked(every, counts) if told else Asked()
    kept = total.iops * (total.mean or 0.0) / 1e9
    hidden = round(kept / asked.outstanding) if asked.outstanding else 1
    if len(jobs) == 1 and hidden > 1 and abs(kept / (asked.outstanding or 1) / hidden - 1) < 0.1:
        # With group_reporting jobs of other names are printed under the first one's: how many isn't told.
        warnings.append(
            f"{' + '.join(names)}: rate times mean latency is {kept:,.3g} outstanding, {hidden} times the"
            f" {asked.outstanding} of its options, so the number outstanding isn't taken: other jobs may be printed"
            " with it (group_reporting), or its options or figures were changed afterwards"
        )
        asked = replace(asked, outstanding=None, jobs=None, queue_depth=None)
    # Of a group printed as one entry fio gives the mean of its threads.
    cpu = [(_real(job.get("usr_cpu")) or 0.0) + (_real(job.get("sys_cpu")) or 0.0) for job in jobs if "usr_cpu" in job]
    # Of what did nothing there are no figures; 0 would be a claim.
    flows = {part: part.flow() if total.ios else Flow() for part in dict.fromkeys((total, read, write))}
    result = Result(
        origin="imported",
        profile="+".join(filter(None, names)) or None,
        hosts=len(hosts) or 1,
        total=flows[total],
        read=Flow() if unified else flows[read],
        write=Flow() if unified else flows[write],
        outstanding_achieved=_achieved(jobs, every, counts),
        runtime_ns=round(runtime_ms * 1e6) or None,
        warmup_ns=_first(every, "ramp_time", _seconds) or 0,
        ended_by="error" if errors else "runtime",
        error=None if total.ios else _failure(errors),
        provenance={
            "tool": version,
            "options": {key: str(value) for key, value in every[0].items()},
            **({"job_cpu_fraction": max(cpu) / 100} if cpu else {}),
            "ended_at": ended_at,
        },
    )
    histograms = {name: part.histogram for name, part in (("read", read), ("write", write)) if part.histogram.count}
    return ImportedRow(result, asked, histograms)


def _failure(errors: Sequence[int]) -> str:
    return f"fio's job: {os.strerror(errors[0])} (errno {errors[0]})" if errors else "no read or write was done"


class _Part:
    """What went one way, with what is needed to merge it."""

    def __init__(
        self,
        ios: float = 0.0,
        iops: float = 0.0,
        bytes_per_s: float = 0.0,
        mean: float | None = None,
        stddev: float | None = None,
        most: float | None = None,
        histogram: Histogram | None = None,
        percentiles: Mapping[float, float] | None = None,
    ) -> None:
        self.ios, self.iops, self.bytes_per_s = ios, iops, bytes_per_s
        self.mean, self.stddev, self.most = mean, stddev, most
        self.histogram = histogram or Histogram()
        self.percentiles = percentiles or {}

    @staticmethod
    def of(flow: Any, version: str) -> _Part:
        if not isinstance(flow, dict):
            return _Part()
        iops, ios = _real(flow.get("iops")) or 0.0, _real(flow.get("total_ios"))
        if ios is None:
            # Up to 2.1 fio doesn't count them, and cuts rates to whole numbers.
            ios = iops * (_real(flow.get("runtime")) or 0.0) / 1e3
        if not ios:
            return _Part()
        old = re.match(r"fio-[12]\.", version) is not None and "lat_ns" not in flow
        factor = 1000.0 if old else 1.0
        latency = flow.get("lat" if old else "lat_ns") or {}
        detail = (
            latency if "bins" in latency or "percentile" in latency else flow.get("clat" if old else "clat_ns") or {}
        )
        bins, known = detail.get("bins") or {}, detail.get("percentile") or {}
        samples = _real(latency.get("N"))
        timed = samples != 0 and (_real(latency.get("max")) or 0.0) > 0
        rate = _real(flow.get("bw_bytes"))
        return _Part(
            ios=ios,
            iops=iops,
            bytes_per_s=(_real(flow.get("bw")) or 0.0) * 1024 if rate is None else rate,
            mean=_scaled(latency.get("mean"), factor) if timed else None,
            stddev=_scaled(latency.get("stddev"), factor) if timed else None,
            most=_scaled(latency.get("max"), factor) if timed else None,
            histogram=Histogram.of_bins(bins) if bins and not old else None,
            percentiles={
                percent: value * factor
                for percent, key in _PERCENTILES.items()
                if (value := _real(known.get(key))) is not None
            },
        )

    def flow(self) -> Flow:
        """The figures; percentiles of the histogram, else fio's own."""
        if self.histogram.count:
            found = {
                name: known_percentile(self.histogram.percentile_ns(percent)) for name, percent in PERCENTILES.items()
            }
        else:
            found = {
                name: round(self.percentiles[percent])
                for name, percent in PERCENTILES.items()
                if self.percentiles.get(percent)
            }
        return Flow(
            iops=self.iops,
            bytes_per_s=self.bytes_per_s,
            latency_mean_ns=self.mean,
            latency_stddev_ns=self.stddev,
            latency_max_ns=None if self.most is None else round(self.most),
            **found,
        )


def _merged(parts: Sequence[_Part]) -> _Part:
    """Parts that ran side by side as one; what one of them lacks is unknown in the whole."""
    busy = [part for part in parts if part.ios]
    if len(busy) <= 1:
        return busy[0] if busy else _Part()
    ios = sum(part.ios for part in busy)
    means = [part.mean for part in busy if part.mean is not None]
    deviations = [part.stddev for part in busy if part.stddev is not None]
    mean = stddev = None
    if len(means) == len(busy):
        mean = math.fsum(part.ios * (part.mean or 0.0) for part in busy) / ios
        if len(deviations) == len(busy):
            squares = math.fsum(
                part.ios * ((part.stddev or 0.0) ** 2 + ((part.mean or 0.0) - mean) ** 2) for part in busy
            )
            stddev = math.sqrt(squares / ios)
    histogram = Histogram()
    if all(part.histogram.count for part in busy):
        for part in busy:
            histogram = histogram.merged(part.histogram)
    most = [part.most for part in busy if part.most is not None]
    return _Part(
        ios=ios,
        iops=sum(part.iops for part in busy),
        bytes_per_s=sum(part.bytes_per_s for part in busy),
        mean=mean,
        stddev=stddev,
        most=max(most) if len(most) == len(busy) else None,
        histogram=histogram,
    )


def _asked(every: Sequence[Mapping[str, Any]], counts: Sequence[int]) -> Asked:
    """What the options say where all jobs of the group say the same; unknown options say nothing."""
    depths = [_depth(options) for options in every]
    rated = any(
        key.startswith(("rate", "latency_target")) and key not in {"rate_process", "rate_ignore_thinktime"}
        for options in every
        for key in options
    )
    offered = _offered(every, counts) if rated else None
    alike = {key: _same(every, key) for key in ("bs", "blocksize", "bssplit", "rwmixread", "rwmixwrite")}
    ways, random = {_way(options) for options in every}, {_random(options) for options in every}
    return Asked(
        block=_block(alike, every),
        read_fraction=_read_fraction(ways.pop(), alike, every, counts) if len(ways) == 1 else None,
        random_fraction=random.pop() if len(random) == 1 else None,
        queue_depth=depths[0] if len(set(depths)) == 1 and (offered or not rated) else None,
        jobs=sum(counts),
        # Rates and targets of latency are caps on what a closed load may do: how much was outstanding isn't told then.
        outstanding=None if rated else sum(n * depth for n, depth in zip(counts, depths, strict=True)),
        rate_per_s=offered,
        think_time_ns=_first(every, "thinktime", _microseconds),
        flush_every=_first(every, "fsync", _integer) or _first(every, "fdatasync", _integer),
    )


def _has(every: Sequence[Mapping[str, Any]], *keys: str) -> bool:
    return any(key in options for options in every for key in keys)


def _way(options: Mapping[str, Any]) -> str:
    """`randrw` of `rw=randrw:8`; fio's own default is to read."""
    return str(options.get("rw") or options.get("readwrite") or "read").split(":")[0]


def _random(options: Mapping[str, Any]) -> float | None:
    if not _way(options).startswith("rand"):
        return 0.0
    return _percent(options.get("percentage_random", 100))


def _threads(jobs: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> list[int]:
    """Threads behind each entry: a job of several has an entry for each, or one for all with group_reporting."""
    names = [(job.get("jobname"), job.get("hostname"), job.get("port")) for job in jobs]
    of_options = [_integer(options.get("numjobs", 1)) or 1 for options in every]
    return [max(1, number // names.count(name)) for name, number in zip(names, of_options, strict=True)]


def _depth(options: Mapping[str, Any]) -> int:
    if str(options.get("ioengine", "psync")) in _SYNCHRONOUS:
        return 1
    return _integer(options.get("iodepth", 1)) or 1


def _offered(every: Sequence[Mapping[str, Any]], counts: Sequence[int]) -> float | None:
    rates = [_rates(options) for options in every]
    return sum(n * sum(pair) for n, pair in zip(counts, rates, strict=True)) if all(map(sum, rates)) else None


def _rates(options: Mapping[str, Any]) -> tuple[int, int]:
    """Reads and writes a second that a job offers; 0 where it offers none, or no number for all that it does."""
    reads, _, writes = str(options.get("rate_iops", "")).partition(",")
    share = _READS.get(_way(options))
    # Without a comma the rate holds for each of the two; a third one is of trims.
    each = _integer(reads) or 0, _integer(writes.split(",")[0] if writes else reads) or 0
    if share is not None:
        return (each[0], 0) if share else (0, each[1])
    return each if all(each) else (0, 0)


def _block(alike: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, float], ...]:
    if alike["bssplit"] or _has(every, "bssplit", "bsrange", "blocksize_range"):
        return _split(str(alike["bssplit"] or ""))
    text = alike["bs"] or alike["blocksize"]
    if text is None:
        return () if _has(every, "bs", "blocksize") else ((4096, 1.0),)
    sizes = [_bytes(part) for part in str(text).split(",") if part]
    return ((sizes[0], 1.0),) if sizes and sizes[0] and len(set(sizes)) == 1 else ()


def _split(text: str) -> tuple[tuple[int, float], ...]:
    parts = [re.fullmatch(r"(\w+)/(\d+(?:\.\d+)?)", part) for part in text.split(":")]
    if not text or any(part is None for part in parts):
        return ()
    found = [(_bytes(part[1]), float(part[2]) / 100) for part in parts if part]
    return tuple((size, share) for size, share in found if size) if all(size for size, _ in found) else ()


def _read_fraction(
    rw: str, alike: Mapping[str, Any], every: Sequence[Mapping[str, Any]], counts: Sequence[int]
) -> float | None:
    if rw in _READS:
        return _READS[rw]
    if rw not in {"rw", "readwrite", "randrw"}:
        return None
    if _has(every, "rate", "rate_iops"):
        # Reads and writes have rates of their own, and fio keeps these and not the mix.
        offered = _offered(every, counts)
        return (
            sum(n * _rates(options)[0] for n, options in zip(counts, every, strict=True)) / offered if offered else None
        )
    if alike["rwmixwrite"] is not None and alike["rwmixread"] is None:
        share = _percent(alike["rwmixwrite"])
        return None if share is None else 1 - share
    return 0.5 if alike["rwmixread"] is None else _percent(alike["rwmixread"])


def _achieved(
    jobs: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]], counts: Sequence[int]
) -> float | None:
    """The mean number outstanding by fio's levels, each for the most that it can mean."""
    total = 0.0
    for job, options, several in zip(jobs, every, counts, strict=True):
        depth = _depth(options)
        levels = [
            (_integer(str(low).lstrip(">=")) or 0, _real(share) or 0.0)
            for low, share in (job.get("iodepth_level") or {}).items()
        ]
        share = sum(part for _, part in levels)
        if not share:
            return None
        total += (
            several
            * sum(part * (depth if low >= 64 else min(depth, max(1, 2 * low - 1))) for low, part in levels)
            / share
        )
    return total


def _parts(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (job[way] for way in ("read", "write", "mixed") if isinstance(job.get(way), dict))


def _same(every: Sequence[Mapping[str, Any]], key: str) -> Any:
    values = [options.get(key) for options in every]
    return values[0] if all(value == values[0] for value in values) else None


def _first(every: Sequence[Mapping[str, Any]], key: str, read: Any) -> Any:
    return next((read(options[key]) for options in every if key in options), None)


def _real(value: object) -> float | None:
    """A number that isn't negative; of anything else nothing."""
    # Written so that NaN and infinity fail too.
    return float(value) if type(value) in _NUMBERS and 0 <= value < math.inf else None  # type: ignore[operator,arg-type]


def _scaled(value: object, factor: float) -> float | None:
    real = _real(value)
    return None if real is None else real * factor


def _integer(value: object) -> int | None:
    text = str(value)
    return int(text) if len(text) < 10 and text.isascii() and text.isdigit() else None


def _percent(value: object) -> float | None:
    return float(str(value)) / 100 if re.fullmatch(r"\d{1,3}(?:\.\d+)?", str(value)) else None


@lru_cache(maxsize=256)
def _bytes(text: str) -> int | None:
    try:
        # fio's units are binary unless kb_base says otherwise: its `4kb` is 4,096.
        return parse_bytes(re.sub(r"(?i)i?b$", "", text))
    except InputError:
        return None


def _seconds(value: object) -> int | None:
    try:
        return parse_duration(str(value))
    except InputError:
        return None


def _microseconds(value: object) -> int | None:
    number = _integer(value)
    return _seconds(value) if number is None else number * 1000
