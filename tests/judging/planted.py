"""One fault at a time, planted in rows that have none; each kind of fault is a function here.

The least that is planted is what docs/background/audit-checks.md says is found, with a margin for what chance adds.
Nothing here knows the checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from judging.made import QUANTILES, Case, flow, follow, repeats, series, sound, times, workload

from loadline.result.schema import Flow, Result
from loadline.result.series import PointSeries

Fault = Callable[[Random], Case]


def _slower(row: Result, factor: float) -> Result:
    """All responses times a factor, rates as they were: percentiles, parts and whole still fit each other."""

    def of(one: Flow) -> Flow:
        if one.latency_mean_ns is None:
            return one
        found: dict[str, Any] = {}
        for name in ("mean", "stddev", "max", *QUANTILES):
            value = getattr(one, f"latency_{name}_ns") * factor
            found[f"latency_{name}_ns"] = value if name in {"mean", "stddev"} else round(value)
        return replace(one, **found)

    return replace(row, total=of(row.total), read=of(row.read), write=of(row.write))


def _full(row: Result) -> Result:
    """At exactly what was asked."""
    product = (row.total.iops or 0) * (row.total.latency_mean_ns or 0) / 1e9
    return replace(_slower(row, (row.outstanding_asked or 0) / product), outstanding_achieved=None)


def latency_not_weighted(dice: Random) -> Case:
    return Case([_slower(_full(sound(dice, medium="ssd")), 1 + dice.uniform(0.02, 0.4))])


def depth_never_reached(dice: Random) -> Case:
    return Case([_slower(_full(sound(dice, medium="ssd", jobs=8)), dice.uniform(0.05, 0.78))])


def more_than_asked(dice: Random) -> Case:
    row = sound(dice)
    return Case([replace(row, outstanding_achieved=(row.outstanding_asked or 0) * dice.uniform(1.03, 2))])


def mebi_for_mega(dice: Random) -> Case:
    return _throughput(dice, 1 / 1.048576)


def wrong_throughput(dice: Random) -> Case:
    return _throughput(dice, dice.choice([1 / 8, 8.0, 1 / 1000, 1 + dice.uniform(0.03, 0.5), 1 / dice.uniform(1.1, 2)]))


def _throughput(dice: Random, factor: float) -> Case:
    row = sound(dice)
    parts = {name: getattr(row, name) for name in ("total", "read", "write")}
    return Case([replace(row, **{k: replace(v, bytes_per_s=(v.bytes_per_s or 0) * factor) for k, v in parts.items()})])


def deviation_without_unit(dice: Random) -> Case:
    row = sound(dice)
    wide = (row.total.latency_mean_ns or 0) * dice.uniform(21, 300)
    return Case([replace(row, total=replace(row.total, latency_stddev_ns=wide, latency_max_ns=None))])


def parts_beside_the_whole(dice: Random) -> Case:
    row = sound(dice, read=0.5)
    more = 1 + 2 * dice.choice([-1, 1]) * dice.uniform(0.015, 0.04)
    size = (row.read.bytes_per_s or 0) / (row.read.iops or 1)
    iops = (row.read.iops or 0) * more
    return Case([replace(row, read=replace(row.read, iops=iops, bytes_per_s=iops * size))])


def another_mix(dice: Random) -> Case:
    row, off = sound(dice, read=dice.choice([0.3, 0.5, 0.67])), dice.uniform(0.05, 0.3)
    asked = row.workload["profile"]["read_fraction"] + off
    return Case([replace(row, workload=workload(row.workload["profile"]["block"][0]["size_bytes"], asked, 1.0))])


def plain_mean(dice: Random) -> Case:
    row = sound(dice, read=0.7, write_times=dice.uniform(1.3, 3), medium="ssd")
    mean = ((row.read.latency_mean_ns or 0) + (row.write.latency_mean_ns or 0)) / 2
    return Case([replace(row, total=replace(row.total, latency_mean_ns=mean), outstanding_asked=None)])


def percentiles_mixed_up(dice: Random) -> Case:
    row = sound(dice)
    total = replace(row.total, latency_p95_ns=round((row.total.latency_p99_ns or 0) * dice.uniform(1.04, 3)))
    return Case([replace(row, total=total)])


def computed_p95(dice: Random) -> Case:
    row = sound(dice)
    value = (row.total.latency_mean_ns or 0) + 1.6448536 * (row.total.latency_stddev_ns or 0)
    total = replace(row.total, latency_p95_ns=round(value), latency_p90_ns=None, latency_p99_ns=None)
    return Case([replace(row, total=replace(total, latency_p999_ns=None))])


def cache_left_on(dice: Random) -> Case:
    row = sound(dice, medium="hdd", read=dice.choice([0.5, 0.67, 0.7]), write_times=dice.uniform(0.02, 0.88))
    return Case([replace(row, tags={**row.tags, "cache": "off"})])


def cache_undeclared(dice: Random) -> Case:
    return Case([sound(dice, medium="hdd", read=0.67, write_times=dice.uniform(0.02, 0.88))])


def sooner_than_half_a_turn(dice: Random) -> Case:
    mean = 2e6 * dice.uniform(0.05, 0.85)
    row = sound(dice, medium="hdd", read=dice.choice([0.0, 1.0]), random=1.0, jobs=1, mean_ns=mean)
    return Case([replace(row, tags={**row.tags, "drive type": "SAS 15K rpm", "drives": "168"})])


def more_than_drives_do(dice: Random) -> Case:
    row = sound(dice, medium="ssd", read=0.0, random=0.0, size=131072)
    each = (row.write.bytes_per_s or 0) * 8 / 7 / 8 / dice.uniform(1.08, 3)
    return Case([replace(row, tags={**row.tags, "raid": "5", "drives": "8", "drive write": f"{each / 1e6:.4f}MB/s"})])


def inside_the_cache(dice: Random) -> Case:
    row = sound(dice)
    profile = {**row.workload["profile"], "working_set_bytes": round(2**29 * dice.uniform(0.1, 1))}
    return Case(
        [replace(row, workload={**row.workload, "profile": profile}, tags={**row.tags, "cache size": "512MiB"})]
    )


def shorter_than_the_fill(dice: Random) -> Case:
    row = sound(dice, read=0.0)
    written = (row.write.bytes_per_s or 0) * ((row.runtime_ns or 0) + (row.warmup_ns or 0)) / 1e9
    return Case([replace(row, tags={**row.tags, "cache size": f"{round(written * dice.uniform(1.05, 10))}B"})])


def from_memory(dice: Random) -> Case:
    return Case([sound(dice, medium="ssd", read=1.0, random=1.0, jobs=2, size=4096, mean_ns=dice.uniform(500, 3500))])


def never_written(dice: Random) -> Case:
    row = sound(dice, read=dice.choice([0.5, 1.0]))
    tags = {key: value for key, value in row.tags.items() if key != "prepared"}
    return Case([replace(row, tags={**tags, "provisioning": "thin"})])


def above_the_link(dice: Random) -> Case:
    return _link(dice, dice.uniform(1.06, 5))


def at_the_link(dice: Random) -> Case:
    return _link(dice, dice.uniform(0.86, 1.0))


def _link(dice: Random, share: float) -> Case:
    row = sound(dice)
    busier = max(row.read.bytes_per_s or 0.0, row.write.bytes_per_s or 0.0)
    return Case([replace(row, tags={**row.tags, "link": f"{busier / share / 1e6:.4f}MB/s"})])


def impossible_for_the_link(dice: Random) -> Case:
    row = sound(dice, medium="ssd", size=131072, read=1.0)
    moved = (row.outstanding_asked or 0) * 131072 / ((row.total.latency_mean_ns or 0) / 1e9)
    tags = {**row.tags, "link": f"{moved / dice.uniform(1.1, 13) / 1e6:.4f}MB/s"}
    total = Flow(latency_mean_ns=row.total.latency_mean_ns)
    return Case([replace(row, tags=tags, total=total, read=Flow(), write=Flow(), outstanding_achieved=None)])


def _series(dice: Random, change: Callable[[list[float]], list[float]]) -> Case:
    steady = series(dice)
    iops = change(list(steady.iops))
    return Case([sound(dice)], series=PointSeries(1.0, iops, follow(dice, iops)))


def drifting(dice: Random) -> Case:
    way, by = dice.choice([-1, 1]), dice.uniform(0.16, 0.6)
    return _series(dice, lambda iops: [v * (1 + way * by * (n / len(iops) - 0.5)) for n, v in enumerate(iops)])


def two_modes(dice: Random) -> Case:
    by, every = dice.uniform(0.4, 0.8), dice.choice([7, 10, 13])
    return _series(dice, lambda iops: [v * (by if n // every % 2 else 1) for n, v in enumerate(iops)])


def outliers(dice: Random) -> Case:
    places, by = [dice.random() for _ in range(2)], dice.uniform(4, 10)

    def change(iops: list[float]) -> list[float]:
        few = {round(place * (len(iops) - 1)) for place in places}
        return [v * (by * len(iops) / 60 if n in few else 1) for n, v in enumerate(iops)]

    return _series(dice, change)


def ramp_included(dice: Random) -> Case:
    by = dice.choice([dice.uniform(0.1, 0.7), dice.uniform(1.4, 3)])
    return _series(dice, lambda iops: [v * (by if n < len(iops) // 10 else 1) for n, v in enumerate(iops)])


def too_short(dice: Random) -> Case:
    return Case([replace(sound(dice), runtime_ns=round(dice.uniform(0.5, 9.9) * 1e9))])


def few_make_the_mean(dice: Random) -> Case:
    row = sound(dice, read=1.0)
    mean = row.total.latency_mean_ns or 0
    heavy = flow(row.total.iops or 0, 1.0, mean / dice.uniform(20, 60), 0.4)
    names = ("latency_p50_ns", "latency_p90_ns", "latency_p95_ns", "latency_p99_ns")
    low = {name: getattr(heavy, name) for name in names}
    return Case([replace(row, total=replace(row.total, **low), read=replace(row.read, **low))])


def first_apart(dice: Random) -> Case:
    return repeats(dice, dice.choice([dice.uniform(0.5, 0.9), dice.uniform(1.1, 2)]))


def fresh_from_the_box(dice: Random) -> Case:
    row = sound(dice, medium="ssd", read=0.3)
    tags = {key: value for key, value in row.tags.items() if key != "prepared"}
    capacity = 960 * 10**9
    health = {"written_bytes": round(capacity * dice.uniform(0, 1.9))}
    document = {"sessions": [{"devices": [{"health_before": health, "facts": {"size_bytes": capacity}}]}]}
    return Case([replace(row, tags=tags)], documents={"r": document})


def busy_host(dice: Random) -> Case:
    return Case([replace(sound(dice), cpu_fraction=dice.uniform(0.91, 1.0))])


def shallow(dice: Random) -> Case:
    row = _full(sound(dice, medium="ssd"))
    share = dice.uniform(0.05, 0.78)
    return Case([replace(times(_slower(row, share), 1.0), outstanding_achieved=share * (row.outstanding_asked or 0))])


def rate_not_reached(dice: Random) -> Case:
    row = sound(dice)
    return Case([replace(row, offered_per_s=(row.total.iops or 0) * dice.uniform(1.06, 3), outstanding_asked=None)])


def shifted_clock(dice: Random) -> Case:
    steps, lag = dice.choice([60, 120, 300]), dice.choice([-4, -2, -1, 1, 2, 4])
    # A load that changes, so that there is something to see.
    level, iops = 1000.0, []
    for n in range(steps + 10):
        level = dice.uniform(500, 1500) if n % 5 == 0 else level
        iops.append(level * (1 + dice.gauss(0, 0.02)))
    cpu = follow(dice, iops)
    return Case([sound(dice)], series=PointSeries(1.0, iops[5 : 5 + steps], cpu[5 - lag : 5 - lag + steps]))


def like_setups_unlike_results(dice: Random) -> Case:
    row = replace(sound(dice), origin="imported")
    counts = f"{dice.randrange(1, 4)} groups, {dice.randrange(1, 9)} disks"
    slow = times(row, 1 / dice.uniform(1.3, 3))
    rows = [
        replace(row, point="a", tags={"test": "1", "configuration": counts}),
        replace(slow, point="b", tags={"test": "2", "configuration": counts}),
    ]
    return Case([replace(one, outstanding_achieved=None) for one in rows], row=1)


def unsaid_setting(dice: Random) -> Case:
    row = sound(dice)
    key, values = dice.choice([("scheduler", ("none", "bfq")), ("write_cache", ("write back", "write through"))])
    documents = {
        run: {"sessions": [{"devices": [{"facts": {"queue": {key: value}, "model": "X"}}]}]}
        for run, value in zip(("r", "s"), values, strict=True)
    }
    return Case([row, replace(row, run="s")], row=1, documents=documents)


def misnamed(dice: Random) -> Case:
    said, size, read, random = dice.choice(
        [
            ("128k sequential read", 131072, 0.0, 0.0),
            ("4k random write", 4096, 1.0, 1.0),
            ("4k random read", 8192, 1.0, 1.0),
            ("8k random read", 8192, 1.0, 0.0),
            ("oltp 70/30 8k", 8192, 0.3, 1.0),
            ("exchange-server", 4096, 0.67, 1.0),
            ("video-on-demand", 524288, 1.0, 1.0),
            ("4k sequential write", 4096, 0.0, 1.0),
        ]
    )
    return Case([replace(sound(dice, size=size, read=read, random=random), profile=said)])


def something_left_out(dice: Random) -> Case:
    row = sound(dice)
    without = dice.choice(["latency", "outstanding", "runtime"])
    if without == "latency":
        bare = {name: Flow(iops=getattr(row, name).iops) for name in ("total", "read", "write")}
        return Case([replace(row, **bare)])
    if without == "outstanding":
        return Case([replace(row, outstanding_asked=None)])
    return Case([replace(row, runtime_ns=None)])


def full_by_util(dice: Random) -> Case:
    return Case([replace(sound(dice), origin="imported", busy_fraction=dice.uniform(0.81, 1.0))])


def place_fallen_out(dice: Random) -> Case:
    """A disk that is read in sequence at twenty places, one of them with sectors that were moved."""
    first, left, fallen = dice.uniform(80, 250), dice.uniform(0.4, 0.7), dice.randrange(20)
    rows = []
    for number in range(20):
        rate = first * (1 - (1 - left) * number / 19) * dice.gauss(1, 0.01) * (0.7 if number == fallen else 1)
        asked = workload(1 << 20, 1.0, 0.0)
        asked["profile"]["start_fraction"] = number / 20
        whole = flow(rate, 1 << 20, 1e9 / rate, 0.2)
        base = sound(dice, medium="hdd", read=1.0, size=1 << 20, random=0.0)
        rows.append(replace(base, run="r", tags={}, workload=asked, total=whole, read=whole, write=Flow()))
    return Case(rows, row=fallen)


#: Each kind of fault under the name of the check that is to find it.
FAULTS: dict[str, tuple[Fault, ...]] = {
    "littles-law": (latency_not_weighted, depth_never_reached, more_than_asked),
    "units": (mebi_for_mega, wrong_throughput, deviation_without_unit),
    "sums": (parts_beside_the_whole, another_mix, plain_mean),
    "percentiles": (percentiles_mixed_up, computed_p95, few_make_the_mean),
    "hidden-cache": (
        *(cache_left_on, cache_undeclared, sooner_than_half_a_turn, more_than_drives_do, inside_the_cache),
        *(shorter_than_the_fill, from_memory, never_written),
    ),
    "link-limit": (above_the_link, at_the_link, impossible_for_the_link),
    "steady": (
        *(drifting, two_modes, outliers, ramp_included, too_short, first_apart),
        fresh_from_the_box,
    ),
    "load-generator": (busy_host, shallow, rate_not_reached),
    "clock": (shifted_clock,),
    "settings": (like_setups_unlike_results, unsaid_setting),
    "name": (misnamed,),
    "missing": (something_left_out,),
    "busy": (full_by_util,),
    "place": (place_fallen_out,),
}
