"""The field report on the HP EVA v.2: load lines at a mean of 30 ms, and what the array carries in sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from loadline.result.schema import Result
from loadline.system.description import System
from loadline.system.drive import load_drive
from loadline.system.simulate import simulate
from loadline.system.solve import solve
from loadline.system.validation.comparison import Comparison, Section
from loadline.system.validation.load import Asking, described, point, rate_at_mean, rate_between
from loadline.system.validation.published import published
from loadline.workload.plan import Options, make_plan
from loadline.workload.suite import load_suite

_BAR = 0.1
_LIMIT_NS = 30_000_000

# Near saturation the write cache takes long to fill: a search counts so many times the I/Os of other points.
_SETTLED = 5

# Where the line was found it is read to this precision, from so many times as many I/Os at most. A pass of destaging
# over the drives takes 190,000, and what is written back for a write swings with it: after 200,000 a load line may be
# 2 % off.
_PRECISION = 0.005
_READ = 200

# Loads between which the mean response rises far enough to be told, as shares of the load that a search finds.
_BESIDE = (0.97, 1.01)

# Of its highest rate: where the report's array passed the limit.
_RULE_SHARE = 0.92

_PARTS = {"vraid0": 1.0, "vraid1": 0.5, "vraid5": 0.8}
_READS = {"database-ramp": 0.67, "web-ramp": 1.0}
_NAMES = {"database-ramp": "Database", "web-ramp": "Web server"}

# Of the ideal capacity, what whole stripes and segments surely leave.
_USABLE = 0.98


def load_lines(asking: Asking) -> Section:
    """The rates at which the mean response passes 30 ms: simulated, solved, and by the report's rule of thumb."""
    found, systems = [], {}
    for row in published()["eva"]["load_line"]:
        system = described("eva-v2-10k", volume__layout=row["layout"])
        systems[row["layout"]] = system
        what = f"{_NAMES[row['suite']]}, {row['layout']}"
        simulated, solved = _load_line(system, row["suite"], asking), _solved_load_line(system, row["suite"])
        found.append(Comparison(what, "IOPS", row["iops"], simulated, _BAR))
        found.append(Comparison(f"{what}, solved", "IOPS", row["iops"], solved, _BAR))
        rule = _RULE_SHARE * row["rule_saturation"]
        found.append(Comparison(f"{what}, the report's rule", "IOPS", row["iops"], rule, note="to be beaten"))
    about = (
        "Host I/Os a second at which the mean response over all requests passes 30 ms, over 1 TB of the volume. Each is"
        f" searched for with {_SETTLED * asking.ios:,} I/Os a load, then read between two loads that are known to"
        f" {_PRECISION:.1%}, or from {_READ * asking.ios:,} I/Os."
    )
    return Section("eva", "HP EVA v.2, 10K rpm: load lines at 30 ms", about, tuple(systems.values()), tuple(found))


def faster_drives(asking: Asking) -> Section:
    """The same of 15K rpm, which the report has no such figures of."""
    system = described("eva-v2-15k")
    found = []
    for suite, layout in product(_NAMES, ("vraid1", "vraid5")):
        at_layout = described("eva-v2-15k", volume__layout=layout)
        what = f"{_NAMES[suite]}, {layout}"
        found.append(Comparison(what, "IOPS", None, _load_line(at_layout, suite, asking)))
        found.append(Comparison(f"{what}, solved", "IOPS", None, _solved_load_line(at_layout, suite)))
    about = "The drive's data sheet differs, nothing else. Nobody has published what was measured."
    return Section("eva-15k", "HP EVA v.2, 15K rpm: load lines at 30 ms", about, (system,), tuple(found))


def _load_line(system: System, suite: str, asking: Asking) -> float:
    """Where few I/Os have the load line, many tell what it is."""
    (ramp,) = make_plan(load_suite(suite)[0], Options(as_published=True), asking.seed)
    ios = _SETTLED * asking.ios
    found, *_ = simulate(system, [ramp], ios=ios, threads=asking.threads, listen=asking.listen)
    if found.outstanding_asked is None:
        return 0.0
    beside = [ramp.at(max(1, round(share * found.outstanding_asked))) for share in _BESIDE]
    rows = replace(asking, ios=_READ * asking.ios).rows([(system, one) for one in beside], _PRECISION)
    low, high = ((row.total.iops or 0.0, row.total.latency_mean_ns or 0.0) for row in rows)
    return rate_between(low, high, _LIMIT_NS)


def _solved_load_line(system: System, suite: str) -> float:
    at_line, *_ = solve(system, suite, options=Options(as_published=True))
    return at_line.total.iops or 0.0


def choices(asking: Asking) -> Section:
    """What the choices that the report doesn't give are worth: order of service, tags, share of the stroke touched."""
    found = []
    orders = (("fifo", 4), ("c-look", 4), ("c-look", 32), ("sptf", 4), ("sptf", 32))
    for (order, tags), touched, row in product(orders, (0.1, 0.25, 1.0), published()["eva"]["load_line"]):
        system = _touching(touched, row["layout"], pool__scheduling=order, pool__tags=str(tags))
        ask = partial(_rate_and_mean, system, _READS[row["suite"]], asking)
        rate = rate_at_mean(ask, _LIMIT_NS, 256, 4096)
        named = f"{order}, {tags} tags" if order != "fifo" else "fifo"
        what = f"{named}, {touched:.0%} touched: {_NAMES[row['suite']]}, {row['layout']}"
        found.append(Comparison(what, "IOPS", row["iops"], rate))
    about = (
        "For information: the same load lines under other choices. A share of the stroke is touched by a volume of that"
        " share of the pool's capacity from the outer edge inwards (volume.size, volume.placement=outer), all of which"
        " is asked for. The rate is interpolated between two depths."
    )
    return Section(
        "eva-choices", "HP EVA v.2, 10K rpm: what is not known of it", about, (described("eva-v2-10k"),), tuple(found)
    )


def _touching(share: float, layout: str, **settings: str) -> System:
    system = described("eva-v2-10k")
    assert system.drive is not None, "the EVA is an array"
    pool_bytes = 168 * load_drive(system.drive).capacity_bytes
    size_bytes = int(pool_bytes * _PARTS[layout] * share * _USABLE) >> 30 << 30
    return described(
        "eva-v2-10k", volume__layout=layout, volume__placement="outer", volume__size=f"{size_bytes}B", **settings
    )


def _rate_and_mean(system: System, read_fraction: float, asking: Asking, outstanding: int) -> tuple[float, float]:
    (result,) = asking.rows([(system, point(8192, read_fraction, 1.0, outstanding, seed=asking.seed))])
    return result.total.iops or 0.0, result.total.latency_mean_ns or 0.0


def saturation(asking: Asking) -> Section:
    """64 KB in sequence: three rows are inputs, the others checks without a bar."""
    found: list[Comparison] = []
    for row, layout in product(published()["eva"]["saturation"], _PARTS):
        found.append(_stream(row, layout, asking))
    about = (
        "64 KB in sequence, 5 hosts, the best of 32 and 128 outstanding a host. Rows marked as inputs set a figure of"
        " the description and check nothing."
    )
    title = "HP EVA v.2, 10K rpm: saturation in sequence"
    return Section("eva-saturation", title, about, (described("eva-v2-10k"),), tuple(found))


def _stream(row: Mapping[str, Any], layout: str, asking: Asking) -> Comparison:
    mirrored = str(row["mirrored"]).lower()
    system = described("eva-v2-10k", volume__layout=layout, cache__mirrored=mirrored)
    read_fraction = 1.0 if row["direction"] == "read" else 0.0
    asked = [(system, point(65536, read_fraction, 0.0, depth, jobs=5, seed=asking.seed)) for depth in (32, 128)]
    best = max(_megabytes_per_s(result) for result in asking.rows(asked))
    cache = "" if row["direction"] == "read" else ", mirrored cache" if row["mirrored"] else ", cache not mirrored"
    note = "input" if layout in row["inputs"] else "check"
    return Comparison(f"{row['direction']}, {layout}{cache}", "MB/s", row[layout], best, note=note)


def _megabytes_per_s(result: Result) -> float:
    return (result.total.bytes_per_s or 0.0) / 1e6
