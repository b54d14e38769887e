"""Results that contradict nothing, made up from a seed: rates, responses and sums that belong together.

Nothing here knows the checks. What is true of a row is true by construction: Little's law, rate times size, sums of
reads and writes, percentiles of one distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from loadline.result.schema import Flow, Result
from loadline.result.series import PointSeries

#: Standard normal quantiles of the percentiles that rows have.
QUANTILES = {"p50": 0.0, "p90": 1.2816, "p95": 1.6449, "p99": 2.3263, "p999": 3.0902}


@dataclass(frozen=True)
class Case:
    """A table and what lies beside it; `row` is the one that a fault is planted in."""

    rows: list[Result]
    row: int = 0
    series: PointSeries | None = None
    documents: dict[str, Any] = field(default_factory=dict)

    def changed(self, **changes: Any) -> Case:
        rows = list(self.rows)
        rows[self.row] = replace(rows[self.row], **changes)
        return replace(self, rows=rows)

    @property
    def planted(self) -> Result:
        return self.rows[self.row]


def flow(iops: float, size: float, mean_ns: float, sigma: float, most: float = 6.0) -> Flow:
    """Responses are lognormal with that mean and sigma: skewed, as those of storage are."""
    mu = math.log(mean_ns) - sigma**2 / 2
    percentiles = {f"latency_{name}_ns": round(math.exp(mu + sigma * z)) for name, z in QUANTILES.items()}
    return Flow(
        iops=iops,
        bytes_per_s=iops * size,
        latency_mean_ns=mean_ns,
        latency_stddev_ns=mean_ns * math.sqrt(math.exp(sigma**2) - 1),
        latency_max_ns=round(math.exp(mu + sigma * most)),
        **percentiles,
    )


def workload(size: int, read: float, random: float, name: str = "p") -> dict[str, Any]:
    block = [{"size_bytes": size, "share_fraction": 1.0}]
    return {"profile": {"name": name, "block": block, "read_fraction": read, "random_fraction": random}, "arrival": {}}


def sound(
    dice: Random,
    *,
    medium: str | None = None,
    read: float | None = None,
    size: int | None = None,
    random: float | None = None,
    jobs: int | None = None,
    mean_ns: float | None = None,
    write_times: float | None = None,
    **changes: Any,
) -> Result:
    """A row of a closed load on disks or SSDs."""
    medium = medium or dice.choice(["hdd", "ssd"])
    read = dice.choice([0.0, 0.3, 0.5, 0.67, 0.7, 0.95, 1.0]) if read is None else read
    size = size or dice.choice([4096, 8192, 16384, 65536, 131072])
    random = dice.choice([0.0, 1.0]) if random is None else random
    jobs, depth = jobs or dice.choice([1, 2, 4, 8, 32]), dice.choice([4, 8, 16, 32])
    drives = dice.choice([8, 12, 24, 168])
    asked = jobs * depth
    # What a disk does for each that is outstanding on it, or an SSD; longer where many wait.
    service = dice.uniform(5e6, 9e6) * max(1.0, asked / drives)
    if medium == "ssd":
        # As many as share three gigabytes a second wait for each other.
        service = max(dice.uniform(2e5, 2e6), asked * size / 3.0)
    mean = mean_ns or service
    # Of the time between an answer and the next request a little is the host's own.
    iops = asked * dice.uniform(0.93, 0.9995) / (mean / 1e9)
    times = write_times or (dice.uniform(1.1, 1.6) if medium == "hdd" else dice.uniform(0.3, 1.2))
    read_ns = mean / (read + (1 - read) * times)
    sigma = dice.uniform(0.3, 1.0)
    parts = [flow(iops * share, size, ns, sigma) if share else Flow(iops=0.0, bytes_per_s=0.0)
             for share, ns in ((read, read_ns), (1 - read, read_ns * times))]  # fmt: skip
    whole = flow(iops, size, mean, sigma)
    most = max((part.latency_max_ns or 0) for part in parts)
    tags = {"medium": medium, "drives": str(drives), "prepared": "yes", **changes.pop("tags", {})}
    runtime_s = max(dice.choice([60, 120, 300, 600]), 20_000 / iops)
    row = Result(
        run="r",
        point="p",
        target="t",
        origin=dice.choice(["measured", "imported"]),
        tags=tags,
        workload=workload(size, read, random),
        hosts=1,
        jobs=jobs,
        queue_depth=depth,
        outstanding_asked=asked,
        outstanding_achieved=asked * dice.uniform(0.9, 1.0),
        total=replace(whole, latency_max_ns=most),
        read=parts[0],
        write=parts[1],
        cpu_fraction=dice.uniform(0.05, 0.85),
        busy_fraction=dice.uniform(0.1, 0.7),
        runtime_ns=round(runtime_s * 1e9),
        warmup_ns=10 * 10**9,
        ended_by="runtime",
    )
    return replace(row, **changes)


def series(dice: Random, steps: int | None = None, mean: float = 1000.0) -> PointSeries:
    """Seconds of a steady load: each hangs on the one before a little, and CPU follows at once."""
    steps = steps or dice.choice([60, 120, 300])
    spread, memory, at, iops = dice.uniform(0.01, 0.05), dice.uniform(0.0, 0.5), 0.0, []
    for _ in range(steps):
        at = memory * at + dice.gauss(0, spread)
        iops.append(mean * max(0.1, 1 + at))
    return PointSeries(1.0, iops, follow(dice, iops))


def follow(dice: Random, iops: list[float]) -> list[float]:
    """CPU use that goes with a rate."""
    mean = sum(iops) / len(iops)
    return [0.3 * value / mean * (1 + dice.gauss(0, 0.002)) for value in iops]


def sound_case(dice: Random) -> Case:
    """One to four rows without a fault; some have a series, some a link."""
    kind = dice.choice(["rows", "series", "link", "repeats"])
    if kind == "series":
        return Case([sound(dice)], series=series(dice))
    if kind == "link":
        row = sound(dice)
        busier = max(row.read.bytes_per_s or 0.0, row.write.bytes_per_s or 0.0)
        link = f"{busier / dice.uniform(0.1, 0.8) / 1e6:.3f}MB/s"
        return Case([replace(row, tags={**row.tags, "link": link})])
    if kind == "repeats":
        return repeats(dice)
    return Case([replace(sound(dice), point=f"p{n}") for n in range(dice.randrange(1, 5))])


def repeats(dice: Random, first: float = 1.0) -> Case:
    """Five repetitions that differ by chance; the first is `first` times the others."""
    row, spread = sound(dice), dice.uniform(0.002, 0.01)
    found = [times(row, (first if n == 0 else 1.0) * (1 + dice.gauss(0, spread))) for n in range(5)]
    return Case([replace(one, repeat=n + 1) for n, one in enumerate(found)])


def times(row: Result, factor: float) -> Result:
    """The row at another speed: rates times the factor, responses through it."""

    def faster(one: Flow) -> Flow:
        if one.latency_mean_ns is None:
            return one
        changes: dict[str, Any] = {"iops": (one.iops or 0) * factor, "bytes_per_s": (one.bytes_per_s or 0) * factor}
        for name in ("mean", "stddev", "max", *QUANTILES):
            value = getattr(one, f"latency_{name}_ns") / factor
            changes[f"latency_{name}_ns"] = value if name in {"mean", "stddev"} else round(value)
        return replace(one, **changes)

    return replace(row, total=faster(row.total), read=faster(row.read), write=faster(row.write))
