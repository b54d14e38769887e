"""Each check has an example that fails it and one, as near as can be, that passes."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from judging.made import sound, workload

from loadline.judging.audit import audit, has_error
from loadline.judging.checks import CHECKS
from loadline.judging.link import link_bytes_per_s
from loadline.judging.setup import setup_of
from loadline.result.schema import Flow, Result
from loadline.result.series import PointSeries

ROW = Result(
    run="r",
    point="p",
    origin="imported",
    tags={"medium": "ssd", "prepared": "yes"},
    workload=workload(4096, 0.5, 1.0),
    hosts=1,
    jobs=1,
    queue_depth=32,
    outstanding_asked=32,
    total=Flow(iops=32_000.0, bytes_per_s=32_000 * 4096.0, latency_mean_ns=1e6),
    read=Flow(iops=16_000.0, bytes_per_s=16_000 * 4096.0, latency_mean_ns=1.2e6),
    write=Flow(iops=16_000.0, bytes_per_s=16_000 * 4096.0, latency_mean_ns=0.8e6),
    runtime_ns=60 * 10**9,
)


def checks(*rows: Result, **beside: Any) -> set[str]:
    return {one["check"] for row in audit(rows, **beside) for one in row.findings}


def total(**changes: Any) -> Result:
    return replace(ROW, total=replace(ROW.total, **changes))


def mixed(row: Result) -> Result:
    """3 of 5 I/Os with 4 KiB, and 2 with 64 KiB."""
    asked = workload(4096, 0.5, 1.0)
    sizes = [{"size_bytes": 4096, "share_fraction": 0.6}, {"size_bytes": 65_536, "share_fraction": 0.4}]
    return replace(row, workload={**asked, "profile": {**asked["profile"], "block": sizes}}, read=Flow(), write=Flow())


def placed(profile: str, random: float) -> Result:
    """So much of it at random places, and so named."""
    return replace(ROW, profile=profile, workload=workload(4096, 0.5, random))


def tagged(row: Result = ROW, **tags: str) -> Result:
    return replace(row, tags={**row.tags, **tags})


def noise(by: float = 0.02, steps: int = 60) -> list[float]:
    dice = Random(1)
    return [1000 * (1 + dice.gauss(0, by)) for _ in range(steps)]


def test_a_row_without_a_fault_has_no_finding() -> None:
    assert checks(ROW) == set()


@pytest.mark.parametrize(
    ("times", "words"), [(1.34, "isn't weighted by I/Os"), (8.0, "one of the two is of another load")]
)
def test_an_excess_is_put_down_to_weights_only_as_far_as_these_explain_it(times: float, words: str) -> None:
    row = replace(ROW, jobs=8, total=Flow(iops=32_000.0, latency_mean_ns=times * 1e6), read=Flow(), write=Flow())
    (message,) = [one["message"] for one in audit([row])[0].findings if one["check"] == "littles-law"]
    assert words in message


def test_a_rate_in_bytes_alone_is_judged_by_its_block_size_and_the_finding_says_so() -> None:
    row = replace(ROW, total=Flow(bytes_per_s=32_000 * 4096.0, latency_mean_ns=1.2e6), read=Flow(), write=Flow())
    found = next(one for one in audit([row])[0].findings if one["check"] == "littles-law")
    assert (found["severity"], found["numbers"]["iops_derived"]) == ("error", 32_000)
    assert "MB/s over block size" in found["message"]
    # MB/s that are MiB/s contradict nothing.
    assert "littles-law" not in checks(replace(row, total=replace(row.total, latency_mean_ns=1.05e6)))


DISK = tagged(ROW, medium="hdd", cache="on")

EXAMPLES: dict[str, list[tuple[Result, Result]]] = {
    "littles-law": [
        # The rate in bytes alone, and a latency in another unit: 1.3 outstanding of 32.
        (
            replace(ROW, total=Flow(bytes_per_s=32_000 * 4096.0, latency_mean_ns=4e4), read=Flow(), write=Flow()),
            replace(ROW, total=Flow(bytes_per_s=32_000 * 4096.0, latency_mean_ns=1e6), read=Flow(), write=Flow()),
        ),
        (total(iops=33_000.0, bytes_per_s=33_000 * 4096.0), total(iops=32_200.0, bytes_per_s=32_200 * 4096.0)),
        (replace(ROW, outstanding_achieved=40.0), replace(ROW, outstanding_achieved=32.0)),
        (replace(ROW, outstanding_asked=50), replace(ROW, outstanding_asked=36)),
    ],
    "units": [
        (total(bytes_per_s=125e6), total(bytes_per_s=32_000 * 4096 * 1.01)),
        (mixed(total(bytes_per_s=32_000 * 16_000)), mixed(total(bytes_per_s=32_000 * 28_672))),
        (total(latency_stddev_ns=25e6), total(latency_stddev_ns=15e6)),
        (total(latency_stddev_ns=25e6), total(latency_stddev_ns=25e6, latency_max_ns=10**9)),
    ],
    "sums": [
        (replace(ROW, read=replace(ROW.read, iops=17_000.0, bytes_per_s=None)), ROW),
        (replace(ROW, workload=workload(4096, 0.6, 1.0)), replace(ROW, workload=workload(4096, 0.51, 1.0))),
        (replace(ROW, read=replace(ROW.read, latency_mean_ns=1.4e6)), ROW),
    ],
    "percentiles": [
        (
            total(latency_p95_ns=3_000_000, latency_p99_ns=2_000_000),
            total(latency_p95_ns=2_000_000, latency_p99_ns=3_000_000),
        ),
        (
            total(latency_p95_ns=2_644_854, latency_stddev_ns=1e6),
            total(latency_p95_ns=2_700_000, latency_stddev_ns=1e6),
        ),
        (total(latency_p9999_ns=9_000_000, iops=1000.0), ROW),
        (total(latency_p99_ns=900_000), total(latency_p99_ns=1_100_000)),
    ],
    "hidden-cache": [
        (tagged(DISK, cache="off"), DISK),
        (tagged(drives="2", **{"drive write": "20MB/s"}), tagged(drives="4", **{"drive write": "20MB/s"})),
        (tagged(provisioning="thin", prepared=""), tagged(provisioning="thin", prepared="yes")),
        (tagged(**{"drive floor": "2ms"}), tagged(**{"drive floor": "1ms"})),
        (tagged(**{"cache size": "64GiB"}), tagged(**{"cache size": "512MiB"})),
    ],
    "link-limit": [(tagged(link="60MB/s"), tagged(link="100MB/s")), (tagged(link="70MB/s"), tagged(link="16G FC"))],
    "steady": [
        (replace(ROW, runtime_ns=5 * 10**9), replace(ROW, runtime_ns=5 * 10**9, quick=True)),
        (replace(ROW, steady=False), replace(ROW, steady=True)),
    ],
    "load-generator": [
        (replace(ROW, cpu_fraction=0.95), replace(ROW, cpu_fraction=0.85)),
        (replace(ROW, outstanding_achieved=20.0), replace(ROW, outstanding_achieved=30.0)),
        (replace(ROW, offered_per_s=40_000.0), replace(ROW, offered_per_s=32_500.0)),
        (replace(ROW, provenance={"job_cpu_fraction": 0.99}), replace(ROW, provenance={"job_cpu_fraction": 0.5})),
        (tagged(**{"device queue depth": "8"}), tagged(**{"device queue depth": "64"})),
    ],
    "name": [
        (replace(ROW, profile="8k random mix"), replace(ROW, profile="4k random mix")),
        (replace(ROW, profile="sequential"), replace(ROW, profile="random")),
        (replace(ROW, profile="4k 70/30"), replace(ROW, profile="4k 50/50")),
        (replace(ROW, profile="random read 0/100", workload=None), replace(ROW, profile="10k disks, 20k IOPS")),
        (replace(ROW, profile="64 KiB random 50/50"), replace(ROW, profile="256m cache 4k random 50/50")),
        (replace(ROW, profile="randrw_8k"), replace(ROW, profile="array of 10k disks, random")),
        (replace(ROW, profile="random 512B"), replace(ROW, profile="random, 8k users")),
        (replace(ROW, profile="bs=16k"), replace(ROW, profile="16k page size, random")),
        (replace(ROW, profile="random 50/50 1MB QD32"), replace(ROW, profile="1M random IOPS target")),
        (replace(ROW, profile="vdb-8vmdk-8k-50rdpct"), replace(ROW, profile="raid10 4 drives, chunk 64k random")),
        (placed("vdb-4k-50rdpct-100randompct", 0.0), placed("vdb-4k-50rdpct-0randompct", 0.0)),
        (placed("4k; 50% Read; 60% random", 0.3), placed("4k; 50% Read; 30% random", 0.3)),
        (replace(ROW, profile="read"), replace(ROW, profile="reads")),
        (replace(ROW, profile="random reads"), replace(ROW, profile="reads-of-mail, random")),
        (replace(ROW, profile="4k writes"), replace(ROW, profile="writes")),
        (replace(ROW, profile="randread"), replace(ROW, profile="random read, some writes")),
        (placed("4k-random", 0.0), placed("4k-50-Read-0-random", 0.0)),
    ],
    "busy": [(replace(ROW, busy_fraction=0.95), replace(ROW, busy_fraction=0.5))],
    "missing": [
        (replace(ROW, runtime_ns=None), ROW),
        (replace(ROW, outstanding_asked=None), ROW),
        (replace(ROW, total=Flow(iops=32_000.0, latency_mean_ns=0.0), read=Flow(), write=Flow()), ROW),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        pytest.param(check, *pair, id=f"{check}-{n}")
        for check, pairs in EXAMPLES.items()
        for n, pair in enumerate(pairs)
    ],
)
def test_a_check_finds_its_fault_and_nothing_where_there_is_none(check: str, bad: Result, good: Result) -> None:
    assert check in checks(bad)
    assert check not in checks(good)


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ([v * (0.8 + 0.4 * n / 60) for n, v in enumerate(noise())], noise()),
        ([v * (0.5 if n // 10 % 2 else 1) for n, v in enumerate(noise())], noise(0.08)),
        ([v * (0.3 if n < 6 else 1) for n, v in enumerate(noise())], noise(0.05)),
        (
            [v * (9 if n == 30 else 1) for n, v in enumerate(noise())],
            [v * (1.5 if n == 30 else 1) for n, v in enumerate(noise())],
        ),
    ],
    ids=["drift", "two modes", "ramp", "outlier"],
)  # fmt: skip
def test_a_series_that_changes_is_told_from_one_that_swings(bad: list[float], good: list[float]) -> None:
    assert "steady" in checks(ROW, series={("r", "p"): PointSeries(1.0, bad)})
    assert "steady" not in checks(ROW, series={("r", "p"): PointSeries(1.0, good)})


def test_a_cpu_that_follows_two_seconds_late_is_found_with_its_lag() -> None:
    dice = Random(3)
    load = [dice.uniform(500, 1500) for _ in range(62)]
    late = PointSeries(1.0, load[2:], [value / 5000 for value in load[:-2]])
    (row,) = audit([ROW], series={("r", "p"): late})
    (clock,) = [one for one in row.findings if one["check"] == "clock"]
    assert clock["numbers"] == {"lag_s": 2.0, "lag_steps": 2}
    assert "clock" not in checks(ROW, series={("r", "p"): PointSeries(1.0, load, [value / 5000 for value in load])})


def test_writes_in_one_row_sooner_than_reads_in_another_are_found() -> None:
    def one(read: float, mean_ns: float, **tags: str) -> Result:
        whole = Flow(iops=32e9 / mean_ns, latency_mean_ns=mean_ns)
        none = Flow()
        return replace(
            tagged(medium="hdd", **tags), workload=workload(4096, read, 1.0), total=whole, read=none, write=none
        )

    assert "hidden-cache" in checks(one(1.0, 20e6), one(0.0, 4e6))
    assert "hidden-cache" not in checks(one(1.0, 20e6), one(0.0, 22e6))
    assert "hidden-cache" not in checks(one(1.0, 20e6, cache="write-back"), one(0.0, 4e6, cache="write-back"))


def test_compared_runs_that_differ_in_what_no_tag_says_are_found() -> None:
    def documents(second: str) -> dict[str, Any]:
        queue = [{"sessions": [{"devices": [{"facts": {"queue": {"scheduler": name}}}]}]} for name in ("none", second)]
        return {"documents": dict(zip(("r", "s"), queue, strict=True))}

    rows = ROW, replace(ROW, run="s")
    assert "settings" in checks(*rows, **documents("bfq"))
    assert "settings" not in checks(*rows, **documents("none"))
    told = tagged(rows[0], scheduler="none"), tagged(rows[1], scheduler="bfq")
    assert "settings" not in checks(*told, **documents("bfq"))


def test_a_fresh_ssd_is_found_until_twice_its_capacity_was_written() -> None:
    def document(written: float) -> dict[str, Any]:
        device = {"facts": {"size_bytes": 10**12}, "health_before": {"written_bytes": written}}
        return {"documents": {"r": {"sessions": [{"devices": [device]}]}}}

    row = tagged(prepared="")
    assert "steady" in checks(row, **document(1.5e12))
    assert "steady" not in checks(row, **document(2.5e12))


def places(*iops: float, starts: dict[int, dict[str, Any]] | None = None, **changes: Any) -> list[Result]:
    """Twenty places of a disk, as the suite zone-profile reads them; `starts`: where some begin instead."""

    def one(number: int, rate: float) -> Result:
        asked = workload(1 << 20, 1.0, 0.0)
        profile = {**asked["profile"], "start_fraction": number / len(iops), **(starts or {}).get(number, {})}
        flow = Flow(iops=rate, bytes_per_s=rate * 2**20, latency_mean_ns=2e9 / rate)
        row = replace(ROW, point=f"zone-at{number}", workload={**asked, "profile": profile}, queue_depth=2)
        return replace(row, outstanding_asked=2, total=flow, read=flow, write=Flow(), **changes)

    return [one(number, rate) for number, rate in enumerate(iops)]


#: From the outer to the inner edge, as disks are.
EDGES = [200.0 - 5 * number for number in range(20)]


def place_findings(*iops: float, **changes: Any) -> list[tuple[str, str]]:
    rows = audit(places(*iops, **changes))
    return [(row.point, one["severity"]) for row in rows for one in row.findings if one["check"] == "place"]


def test_a_place_that_is_slower_than_those_beside_it_is_found_and_a_disk_that_only_declines_is_not() -> None:
    assert place_findings(*EDGES) == []
    for fallen in ([0], [9], [9, 10], [19]):
        slow = [rate * (0.75 if number in fallen else 1) for number, rate in enumerate(EDGES)]
        assert place_findings(*slow) == [(f"zone-at{number}", "warning") for number in fallen]
        # Within what it's known to there's none, nor where several drives stand to each other by chance.
        assert place_findings(*slow, iops_ci95=60.0) == []
        assert place_findings(*slow, tags={"drives": "8"}) == []
        # What was short or quick may be off by as much, unless it's known by how much.
        for looked in ({"quick": True}, {"runtime_ns": 9 * 10**9}):
            assert place_findings(*slow, iops_ci95=None, **looked) == []
            assert place_findings(*slow, iops_ci95=1.0, **looked) != []


# Rates of a turn are as the radius, and its square falls evenly with the share read: 250 to 110 MiB/s, 200 to 95 or 70.
@pytest.mark.parametrize(
    "healthy",
    [
        [198, 177, 154, 126, 99],
        [191, 174, 155, 134, 109],
        [241, 223, 204, 182, 157, 128],
        [244, 230, 216, 201, 185, 167, 147, 123],
        [198, 193, 189, 184, 179, 174, 169, 164, 158, 153, 147, 141, 134, 128, 121, 113, 105, 96, 87, 76],
    ],
)
def test_of_few_places_and_of_a_steep_disk_the_innermost_does_not_fall_out(healthy: list[float]) -> None:
    assert place_findings(*healthy) == []


def test_the_inner_edge_of_a_disk_before_another_does_not_fall_out() -> None:
    disk = [196.0, 188, 180, 171, 161, 152, 141, 129, 117, 103]
    assert place_findings(*disk, *disk) == [("zone-at10", "note")]


def test_places_that_only_get_faster_are_no_fallen_ones_but_the_first() -> None:
    assert place_findings(50, 100, 200, 400, 800) == [("zone-at0", "warning"), ("zone-at3", "note")]


@pytest.mark.parametrize("start", ["10%", [1], {"a": 1}, True, None, -1, math.nan, math.inf, 10**400])
def test_a_start_that_is_no_number_of_0_or_above_is_no_place(start: Any) -> None:
    for unit in ("start_bytes", "start_fraction"):
        odd = {"start_fraction": None, unit: start}
        slow = [rate * (0.75 if number == 9 else 1) for number, rate in enumerate(EDGES)]
        assert place_findings(*slow, starts={2: odd, 9: odd}) == []
        assert place_findings(*slow, starts={2: odd}) == [("zone-at9", "warning")]


def test_places_in_bytes_and_in_shares_of_the_target_have_no_order() -> None:
    slow = [rate * (0.75 if number == 9 else 1) for number, rate in enumerate(EDGES)]
    inch = {number: {"start_bytes": number << 30} for number in range(20)}
    assert place_findings(*slow, starts=inch) == [("zone-at9", "warning")]
    assert place_findings(*slow, starts={number: inch[number] for number in range(5)}) == []


def test_several_slow_places_in_a_row_are_told_where_they_end() -> None:
    for slow in (range(3), range(7, 12)):
        rows = audit(places(*(rate * (0.6 if number in slow else 1) for number, rate in enumerate(EDGES))))
        (said,) = [(row.point, one) for row in rows for one in row.findings if one["check"] == "place"]
        assert said[0] == f"zone-at{slow.stop}"
        assert "another disk or partition begins, or what lies before is slow" in said[1]["message"]


def test_a_second_disk_behind_the_first_is_found_where_it_begins_and_a_step_down_is_not() -> None:
    two = [*EDGES[:10], *EDGES[:10]]
    assert place_findings(*two) == [("zone-at10", "note")]
    # A place that fell out before it is no step.
    assert place_findings(*[rate * (0.5 if number == 4 else 1) for number, rate in enumerate(EDGES)]) == [
        ("zone-at4", "warning")
    ]
    assert place_findings(*[100.0] * 10, *[70.0] * 10) == []


def thin(row: Result) -> str:
    return next((one["message"] for one in audit([row])[0].findings if one["check"] == "percentiles"), "")


def test_percentiles_with_few_requests_beyond_are_told_of_those_that_lack_them() -> None:
    known = {"latency_p50_ns": 500_000, "latency_p90_ns": 1_000_000, "latency_p99_ns": 2_000_000}
    flows = {name: Flow(iops=iops, **known) for name, iops in (("total", 482.0), ("read", 332.0), ("write", 150.0))}
    row = replace(ROW, **flows, runtime_ns=10**9)
    assert thin(row) == "fewer than 100 I/Os lie beyond percentiles from p90 on, of writes from p50 on: they are chance"
    assert thin(replace(row, runtime_ns=2 * 10**9, read=Flow(), write=Flow())) == (
        "fewer than 100 I/Os lie beyond percentiles from p90 on: they are chance"
    )
    # 1,500 writes, and 4,820 of all: of these too few are beyond the 99th, too.
    assert thin(replace(row, runtime_ns=10 * 10**9)) == (
        "fewer than 100 I/Os lie beyond percentiles from p99 on: they are chance"
    )
    assert thin(replace(row, runtime_ns=25 * 10**9)) == (
        "fewer than 100 I/Os lie beyond percentiles of reads and writes from p99 on: they are chance"
    )
    assert not thin(replace(row, runtime_ns=80 * 10**9))
    assert thin(replace(row, origin="simulated")) == thin(row)


def test_a_short_time_with_few_requests_is_told_as_both() -> None:
    (message,) = [
        one["message"]
        for one in audit([replace(total(iops=100.0), runtime_ns=5 * 10**9)])[0].findings
        if one["check"] == "steady"
    ]
    assert message == "it ran for 5 s: too short to be steady; 500 I/Os in all: few enough for chance to show"


def of_mix(share: float, seconds: float, origin: Any) -> Result:
    """Throughput that is so much of rate times size, of the mix."""
    row = mixed(total(iops=1000.0, bytes_per_s=1000 * 28_672 * share, latency_mean_ns=32e6))
    return replace(row, runtime_ns=round(seconds * 1e9), origin=origin)


def test_what_loadline_counted_itself_has_no_source_whose_units_could_be_others() -> None:
    for share in (1 / 1.024, 1 / 1.024**2):
        for row in (of_mix(share, 3600, "measured"), total(bytes_per_s=32_000 * 4096 * share)):
            messages = [one["message"] for one in audit([replace(row, origin="measured")])[0].findings]
            assert not any("source" in message for message in messages)
        (message,) = [one["message"] for one in audit([of_mix(share, 3600, "imported")])[0].findings]
        assert "of the source are" in message


def test_a_mix_may_be_off_by_what_chance_explains_of_so_many_requests() -> None:
    # A thousand requests of the mix: a standard error of 3.3 %.
    for origin in ("measured", "imported"):
        assert "units" not in checks(of_mix(0.954, 1, origin))
        assert "units" not in checks(of_mix(1.12, 1, origin))
        assert "units" in checks(of_mix(1.2, 1, origin))
        assert "units" in checks(of_mix(1.12, 60, origin))


def test_every_check_has_an_example() -> None:
    assert set(CHECKS) == {*EXAMPLES, "clock", "settings", "place"}


def test_a_check_says_one_thing_of_a_row_and_the_gravest_first() -> None:
    both = replace(total(bytes_per_s=32_000 * 4096 / 1.048576, latency_stddev_ns=25e6))
    (row,) = audit([both])
    (units,) = [one for one in row.findings if one["check"] == "units"]
    assert units["severity"] == "warning"
    assert units["message"].index("standard deviation") < units["message"].index("MiB/s")
    assert units["remedy"] and units["numbers"]


def test_findings_that_were_made_while_measuring_are_kept_and_an_audit_repeated_adds_nothing() -> None:
    made = {
        "check": "flush",
        "severity": "note",
        "run": "r",
        "point": "p",
        "message": "m",
        "numbers": {},
        "remedy": "r",
    }
    row = replace(ROW, findings=(made,), cpu_fraction=0.99)
    once = audit([row])
    assert [one["check"] for one in once[0].findings] == ["flush", "load-generator"]
    assert audit(once) == once


def test_what_a_model_answered_lacks_nothing_and_is_still_checked() -> None:
    answered = replace(
        ROW, origin="simulated", runtime_ns=None, total=replace(ROW.total, iops=40_000.0, bytes_per_s=None)
    )
    found = checks(answered)
    assert "littles-law" in found
    assert "missing" not in found


def test_errors_are_told_from_doubts() -> None:
    assert has_error(audit([total(iops=64_000.0)]))
    assert not has_error(audit([replace(ROW, cpu_fraction=0.99)]))


def test_a_busy_host_that_served_an_emulated_target_is_no_load_generators() -> None:
    row = replace(ROW, cpu_fraction=0.99, target="*", run="r")
    for kinds, found in ((["device", "device"], True), (["device", "emulated"], False)):
        (judged,) = audit([row], {"r": {"targets": [{"kind": kind} for kind in kinds]}})
        assert ("load-generator" in {one["check"] for one in judged.findings}) == found


def test_rounding_is_no_contradiction() -> None:
    """1.0 ms may be 0.95 ms, and 33,500 a second belong to 32 outstanding at 0.955 ms."""
    rounded = replace(
        ROW, total=Flow(iops=33_500.0, latency_mean_ns=1e6), provenance={"steps": {"latency_mean_ns": 1e5}}
    )
    assert "littles-law" in checks(replace(rounded, provenance={}))
    assert "littles-law" not in checks(replace(rounded, read=Flow(), write=Flow()))


@pytest.mark.parametrize(
    ("text", "megabytes_per_s"),
    [
        ("sata 6g", 600), ("SAS-3G", 300), ("4 x SAS 3G", 1200), ("sas-6g x4", 2400), ("16G FC", 1600),
        ("4 x 16G FC", 6400), ("2 x 10 GbE", 2500), ("PCIe 2.0 x4", 2000), ("pcie 3 x8", 7877), ("2GB/s", 2000),
        ("25GbE", 3125),
    ],
)  # fmt: skip
def test_a_link_in_words_carries_what_its_coding_leaves(text: str, megabytes_per_s: int) -> None:
    assert link_bytes_per_s(text) == pytest.approx(megabytes_per_s * 1e6, rel=1e-3)


def test_what_is_no_link_carries_nothing_known() -> None:
    assert link_bytes_per_s("a cable") is None
    assert link_bytes_per_s("7 x nonsense") is None


@pytest.mark.parametrize(
    ("tags", "medium"),
    [
        ({"disk": "6G 15K"}, "hdd"),
        ({"drives": "8 x SSD"}, "ssd"),
        ({"configuration": "168 disks, 10,000 rpm"}, "hdd"),
        ({"disk": "SAS SSD, 10K HDD"}, None),
        ({"raid": "10"}, None),
        ({"configuration": "blocks of 10k"}, None),
    ],
)  # fmt: skip
def test_a_medium_is_known_where_words_say_it(tags: dict[str, str], medium: str | None) -> None:
    assert setup_of(tags).medium == medium


def test_a_virtual_disks_word_on_its_medium_is_not_taken() -> None:
    def document(name: str, model: str) -> dict[str, Any]:
        return {"sessions": [{"devices": [{"facts": {"name": name, "model": model, "rotational": True}}]}]}

    assert setup_of({}, document("sda", "ST4000NM")).medium == "hdd"
    assert setup_of({}, document("vda", "")).medium is None
    assert setup_of({}, document("sda", "QEMU HARDDISK")).medium is None


@pytest.mark.parametrize(
    ("said", "on"), [("off", False), ("write-through", False), ("write-back", True), ("256 MB", True)]
)
def test_a_caches_mode_is_known_where_words_say_it(said: str, on: bool) -> None:
    assert setup_of({"cache": said}).write_cache is on


def test_many_sound_rows_of_one_run_say_nothing_of_each_other() -> None:
    dice = Random(5)
    rows = [replace(sound(dice), point=f"p{n}") for n in range(60)]
    assert not [one for row in audit(rows) for one in row.findings if one["severity"] != "note"]


def test_what_the_row_says_was_outstanding_is_what_a_link_must_carry() -> None:
    row = replace(ROW, total=Flow(iops=1e6, latency_mean_ns=300.0), read=Flow(), write=Flow())
    assert "link-limit" in checks(row)
    assert "link-limit" not in checks(replace(row, outstanding_achieved=1.0))


def test_what_is_only_told_of_reads_is_not_called_missing() -> None:
    row = replace(ROW, total=Flow(), read=Flow(bytes_per_s=1e9), write=Flow())
    assert "no rate or throughput" not in str([one["message"] for one in audit([row])[0].findings])


def test_a_rate_short_by_no_more_than_chance_is_not_doubted() -> None:
    offered = replace(ROW, offered_per_s=500.0, outstanding_asked=None, read=Flow(), write=Flow())
    row = replace(offered, total=Flow(iops=466.0, latency_mean_ns=1e6))
    assert "load-generator" in checks(row)
    assert "load-generator" not in checks(replace(row, runtime_ns=2 * 10**9))
