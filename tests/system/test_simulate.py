"""Simulations as Python calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any

import pytest

import loadline
from loadline.errors import InputError
from loadline.result.repeats import histograms_in
from loadline.result.schema import Result
from loadline.system.asked import points_of
from loadline.system.description import load_system
from loadline.system.forecast import forecast
from loadline.system.pool import in_order
from loadline.system.simulate import simulate
from loadline.system.solve import solve
from loadline.workload.plan import Options, Point
from loadline.workload.profile import BlockShare, Closed, Open, Profile, Workload

OLTP = Options(only=("oltp-db",))
STATION = """
title = "One server"
[[station]]
name = "server"
service = { exponential = "1ms" }
"""


def reads(arrival: Closed | Open) -> Workload:
    return Workload(Profile("reads", (BlockShare(4096, 1.0),), 1.0, 1.0, "random"), arrival)


def a_system(folder: Path, text: str = STATION) -> Path:
    path = folder / "described.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("ask", "said", "remedy"),
    [
        (lambda: simulate("hdd-7k2", "typical-12", threads=-1), "threads: -1 can't be", "Give a whole number from 1"),
        (lambda: forecast("hdd-7k2", "typical-12", threads=0), "threads: 0 can't be", "Give a whole number from 1"),
        (lambda: simulate("hdd-7k2", "typical-12", seed=0), "seed: 0 can't be", "Give a whole number from 1"),
        (lambda: simulate("hdd-7k2", "typical-12", ios="10"), "--ios: '10' can't be", "Give a whole number"),
        (lambda: simulate("hdd-7k2", "typical-12", replications=1.5), "--replications: 1.5", "Give a whole number"),
        (lambda: simulate("hdd-7k2", "typical-12", until_precision=0.5), "--until-precision: ", "such as 1%"),
        (lambda: simulate("hdd-7k2", "typical-12", settings=None), "settings: None can't be", "pool.drives=8"),
        (lambda: solve("hdd-7k2", "typical-12", settings=[3]), "settings: [3] can't be", "pool.drives=8"),
        (lambda: solve("hdd-7k2", "typical-12", options=None), "options: None can't be", "Give Options("),
        *(
            (
                lambda words=words: forecast("hdd-7k2", "typical-12", **words),
                f"--{next(iter(words)).replace('_', '-')} is for simulations",
                "Add --method simulate.",
            )
            for words in (
                {"ios": 1000},
                {"until_precision": "1%"},
                {"seed": 2, "method": "rule"},
                {"replications": 3},
            )
        ),
        (
            lambda: forecast("hdd-7k2", "typical-12", method="simulate", explain=True),
            "no working to --explain",
            "--method solve",
        ),
        (lambda: solve("hdd-7k2", reads(Closed(1)), options=None), "options: None can't be", "Give Options("),
        (lambda: simulate("hdd-7k2", "typical-12", listen=3), "listen: 3 can't be called", "Give a function"),
        (lambda: forecast("hdd-7k2", "typical-12", listen=3), "listen: 3 can't be called", "Give a function"),
        (lambda: forecast("hdd-7k2", "typical-12", limit=30), "'30' is not a limit", "mean<=30ms"),
        *(
            (lambda options=options: simulate("hdd-7k2", "typical-12", options=options, timed=True), said, remedy)
            for options, said, remedy in (
                (Options(queue_depths=(-1,)), "--queue-depth: -1 can't be", "from 1 to 65,536."),
                (Options(queue_depths=(1.5,)), "--queue-depth: 1.5 can't be", "from 1 to 65,536."),
                (Options(queue_depths=8), "--queue-depth: 8 is no list", "(1, 8, 32)"),
                (Options(jobs=-3), "--jobs: -3 can't be", "from 1 to 4,096."),
                (Options(jobs=0), "--jobs: 0 can't be", "from 1 to 4,096."),
                (Options(runtime_ns=-1), "--runtime: -1 can't be", "from 1 ms to 366 days"),
                (Options(warmup_ns=-1), "--warmup: -1 can't be", "from 0 ns to 366 days"),
                (Options(only="oltp-db"), "--profile: 'oltp-db' is no list of names", '("oltp-db",)'),
                (Options(only=3), "--profile: 3 is no list of names", '("oltp-db",)'),
            )
        ),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_to_give(ask: Any, said: str, remedy: str) -> None:
    with pytest.raises(loadline.InputError) as refused:
        ask()
    assert said in refused.value.message and remedy in refused.value.remedy


def test_littles_law_holds_and_directions_add_up() -> None:
    [result] = simulate("hdd-7k2", "typical-12", options=OLTP, ios=5000)
    total = result.total
    assert total.iops is not None and total.latency_mean_ns is not None
    assert total.iops * total.latency_mean_ns / 1e9 == pytest.approx(32, rel=0.01)
    assert (result.read.iops or 0) + (result.write.iops or 0) == pytest.approx(total.iops)
    assert (result.origin, result.system, result.suite, result.ended_by) == (
        "simulated",
        "hdd-7k2",
        "typical-12",
        "ios",
    )
    assert result.bottleneck == "disks" and result.components["disks"] == pytest.approx(1, abs=0.01)
    assert total.latency_p50_ns is not None and total.latency_p99_ns is not None
    assert total.latency_p50_ns < total.latency_p99_ns
    assert Result.from_row(result.row()) == result


def test_a_seed_gives_the_same_rows_on_any_number_of_threads() -> None:
    def rows(seed: int, threads: int) -> list[Result]:
        settings = ["pool.tags=1,4"]
        return simulate("hdd-7k2", "typical-12", settings=settings, ios=500, replications=2, seed=seed, threads=threads)

    assert rows(1, 1) == rows(1, 4)
    assert rows(1, 4) != rows(2, 4)


@pytest.mark.parametrize("workload", [5, (), (5,), None])
def test_what_is_no_workload_is_refused(workload: Any) -> None:
    with pytest.raises(InputError, match="a workload needs streams, or points"):
        solve("hdd-7k2", workload)


@pytest.mark.parametrize("seed", [0, -3, 1 << 31, 1 << 70])
def test_a_seed_that_cannot_be_is_refused(seed: int) -> None:
    with pytest.raises(InputError, match="seed: "):
        simulate("hdd-7k2", "typical-12", options=OLTP, seed=seed)


def test_settings_are_unrolled_in_order_and_stand_in_the_tags() -> None:
    results = simulate(
        "hdd-7k2", "typical-12", options=OLTP, ios=200, settings=["pool.tags=1:3:1", "pool.reads_first=true"]
    )
    assert [result.tags for result in results] == [
        {"pool.tags": str(tags), "pool.reads_first": "true"} for tags in (1, 2, 3)
    ]


def test_replications_add_their_times_and_give_an_interval_of_their_own(tmp_path: Path) -> None:
    path = a_system(tmp_path)
    [one] = simulate(path, reads(Closed(4)), ios=2000)
    [four] = simulate(path, reads(Closed(4)), ios=2000, replications=4)
    assert four.runtime_ns is not None and one.runtime_ns is not None
    assert four.runtime_ns > 3 * one.runtime_ns
    assert four.iops_ci95 is not None and four.iops_ci95 > 0
    # One server that is never idle: 1,000 a second.
    assert four.total.iops == pytest.approx(1000, abs=4 * four.iops_ci95)
    assert four.provenance["replications"] == 4


def test_a_precision_ends_a_simulation(tmp_path: Path) -> None:
    [result] = simulate(a_system(tmp_path), reads(Open(500.0, 32)), until_precision="5%")
    assert result.ended_by == "precision"
    assert result.total.latency_mean_ns == pytest.approx(2e6, rel=0.15)
    assert result.latency_mean_ci95_ns is not None
    assert result.latency_mean_ci95_ns <= 0.05 * (result.total.latency_mean_ns or 0)


def test_of_given_times_it_is_what_a_measurement_sees_that_begins_with_an_empty_cache() -> None:
    """At first its cache takes writes that the drives have yet to do."""
    options = Options(runtime_ns=10**10, warmup_ns=0, only=("oltp-db",))
    [early] = simulate("dl360-g6-p410i", "typical-12", options=options, timed=True)
    [later] = simulate("dl360-g6-p410i", "typical-12", options=OLTP, ios=100_000)
    assert (early.ended_by, early.runtime_ns, early.warmup_ns, early.error) == ("runtime", 10**10, 0, None)
    assert (early.total.iops or 0) > 1.2 * (later.total.iops or 0)
    warmed = replace(options, warmup_ns=600 * 10**9)
    [after] = simulate("dl360-g6-p410i", "typical-12", options=warmed, timed=True, replications=4)
    assert after.warmup_ns == 4 * 600 * 10**9
    assert after.total.iops == pytest.approx(later.total.iops, rel=0.1)


def test_of_given_times_a_series_shows_the_cliff_of_a_cache_that_fills_and_adds_up_to_the_row() -> None:
    options = Options(only=("oltp-db",), runtime_ns=20 * 10**9, warmup_ns=0)
    [row] = simulate("dl360-g6-p410i", "typical-12", options=options, timed=True)
    series = row.provenance["series"]
    rates, means = series["write_iops"], series["write_latency_mean_ns"]
    assert len(rates) == len(means) == 120
    assert sum(rates) / 120 == pytest.approx(row.write.iops, rel=1e-3)
    assert sum(series["read_iops"]) / 120 == pytest.approx(row.read.iops, rel=1e-3)
    in_all = sum(rate * mean for rate, mean in zip(rates, means, strict=True) if mean is not None)
    assert in_all / sum(rates) == pytest.approx(row.write.latency_mean_ns, rel=1e-3)
    # The first fifth is from the controller's memory, and the last fifth isn't.
    assert 10 * max(means[:24]) < sum(means[96:]) / 24
    [other] = simulate("dl360-g6-p410i", "typical-12", options=OLTP, ios=1000)
    assert "series" not in other.provenance


def test_histograms_of_replications_have_every_response_of_the_row() -> None:
    [row] = simulate("dl360-g6-p410i", "typical-12", options=OLTP, ios=5_000, replications=3)
    found = histograms_in(())(row)
    assert sum(one.count for one in found.values()) == 3 * 5_000
    for way, flow in (("read", row.read), ("write", row.write)):
        assert found[way].percentile_ns(95) == flow.latency_p95_ns
        mean_ns = sum(ns * count for ns, count in zip(*found[way].columns(), strict=True)) / found[way].count
        assert mean_ns == pytest.approx(flow.latency_mean_ns, rel=0.01)


def test_a_csv_of_simulated_rows_has_no_histograms_for_spreadsheets_take_32_767_characters_a_cell(
    tmp_path: Path,
) -> None:
    [row] = simulate("dl360-g6-p410i", "typical-12", options=OLTP, ios=5_000)
    for ending, kept in ((".csv", False), (".json", True)):
        file = loadline.report([row], tmp_path / f"x{ending}")
        assert ("histograms" in file.read_text()) == kept


def test_what_has_no_response_has_no_histogram() -> None:
    [row] = simulate("hdd-7k2", reads(Open(10_000.0, 32)), ios=1_000)
    assert row.error is not None
    assert "histograms" not in row.provenance


def test_given_times_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a number of I/Os and a time are given"):
        simulate("hdd-7k2", "typical-12", options=OLTP, ios=5, timed=True)
    with pytest.raises(InputError, match="reads has no run time"):
        simulate(a_system(tmp_path), reads(Closed(4)), timed=True)


def test_an_open_load_above_saturation_ends_with_an_error_that_names_it(tmp_path: Path) -> None:
    under, over = simulate(a_system(tmp_path), [*_points(500.0), *_points(2000.0)], ios=300_000)
    assert under.error is None and under.saturation_iops is None
    assert over.error is not None and "2,000" in over.error and over.ended_by == "error"
    assert over.saturation_iops == pytest.approx(1000, rel=0.03)
    assert over.bottleneck == "server" and over.total.iops is None


def test_an_open_load_a_little_above_saturation_ends_with_an_error_too(tmp_path: Path) -> None:
    under, over = simulate(a_system(tmp_path), [*_points(950.0), *_points(1030.0)], ios=60_000)
    assert under.error is None
    assert over.error is not None and over.total.latency_mean_ns is None
    assert over.saturation_iops == pytest.approx(1000, rel=0.02)


def test_a_ramp_of_rates_names_the_saturation_above_its_load_line(tmp_path: Path) -> None:
    suite = tmp_path / "ramp.toml"
    suite.write_text(
        'title = "Ramp"\nruntime = "10s"\n[[profile]]\nname = "r"\nblock = "4k"\nread = "100%"\nrandom = "100%"\n'
        'limit = "mean<=2ms"\nramp = { axis = "rate", from = "100/s", to = "10000/s" }\n'
    )
    line = simulate(a_system(tmp_path), suite, ios=20_000)[0]
    assert line.offered_per_s == pytest.approx(500, rel=0.1)  # M/M/1: 1 ms / (1 - utilisation)
    assert line.saturation_iops == pytest.approx(1000, rel=0.03)


def test_a_percentile_beyond_the_histogram_is_unknown(tmp_path: Path) -> None:
    slow = a_system(tmp_path, STATION.replace("1ms", "20s"))
    [result] = simulate(slow, [*_points(0.01)], ios=500)
    assert (result.total.latency_mean_ns or 0) > 17e9
    assert result.total.latency_p99_ns is None


@pytest.mark.parametrize("time_ms", [1, 7])  # their bins' values lie above them, and below
def test_percentiles_of_equal_times_are_that_time(tmp_path: Path, time_ms: int) -> None:
    constant = STATION.replace('exponential = "1ms"', f'constant = "{time_ms}ms"')
    [result] = simulate(a_system(tmp_path, constant), reads(Closed(1)), ios=500)
    total = result.total
    assert total.latency_p50_ns == total.latency_p9999_ns == total.latency_max_ns == time_ms * 1_000_000


def test_rates_below_one_are_told_with_their_digits(tmp_path: Path) -> None:
    slow = a_system(tmp_path, STATION.replace("1ms", "10s"))
    [result] = simulate(slow, [*_points(0.4)], ios=500)
    assert (result.error or "").startswith("0.4 I/Os a second are above saturation, which is at about 0.1")


def test_saturation_is_the_same_whatever_rate_above_it_is_asked() -> None:
    profile = Profile("mix", (BlockShare(8192, 1.0),), 0.7, 1.0, "random")
    points = [point for rate in (1200.0, 20_000.0) for point in points_of(Workload(profile, Open(rate, 32)))[1]]
    points = [replace(point, seed=seed) for seed, point in enumerate(points, 1)]
    slow, fast = simulate("dl360-g6-p410i", points, ios=50_000)
    assert slow.error and fast.error and slow.saturation_iops == fast.saturation_iops
    # With a million I/Os it's 932.
    assert fast.saturation_iops == pytest.approx(932, rel=0.03)


@pytest.mark.parametrize("limit", [None, "mean<=1us"])
def test_a_row_with_an_error_has_no_findings_about_figures(limit: str | None) -> None:
    over, under = (reads(Open(rate, 32)) for rate in (4000.0, 100.0))
    if limit is None:
        rows = [simulate("dl360-g6-p410i", one, ios=20)[0] for one in (over, under)]
    else:
        rows = [forecast("dl360-g6-p410i", under, limit=limit, method="simulate", ios=20)[n] for n in (1, 0)]
    assert rows[0].error and not rows[0].findings
    assert not rows[1].error and rows[1].findings


def test_a_system_that_does_not_one_io_is_an_error_without_figures() -> None:
    settings = ["station.0.visits=1000", 'station.0.service={ constant = "1000000s" }']
    [result] = simulate("station-mm1", reads(Closed(1)), settings=settings, ios=100)
    assert result.error is not None and "not one I/O" in result.error
    assert result.total.iops is None and result.bottleneck == "disk"


def _points(rate_per_s: float) -> list[Point]:
    [point] = points_of(reads(Open(rate_per_s, 32)))[1]
    return [replace(point, name=f"r{rate_per_s:g}")]


def test_a_ramp_is_answered_by_its_load_line_and_the_probes() -> None:
    found = simulate("hdd-7k2", "database-ramp", ios=3000)
    line, probes = found[0], found[1:]
    assert (line.role, line.limit) == ("point", "mean<=30ms")
    assert line.total.latency_mean_ns is not None and line.total.latency_mean_ns <= 30e6
    assert line.provenance["load_line"]["next"] == (line.outstanding_asked or 0) + 1
    following = next(p for p in probes if p.outstanding_asked == line.provenance["load_line"]["next"])
    assert following.role == "probe"
    assert following.total.latency_mean_ns is not None and following.total.latency_mean_ns > 30e6
    assert line.saturation_iops == max(one.total.iops or 0 for one in found)


def test_less_than_two_passes_of_destaging_are_said() -> None:
    [short] = simulate("dl360-g6-p410i", "typical-12", ios=4_000, options=OLTP)
    [found] = [one for one in short.findings if one["check"] == "destaging"]
    assert found["numbers"]["counted"] == 4_000 < found["numbers"]["pass"]
    [long] = simulate("dl360-g6-p410i", "typical-12", ios=2 * found["numbers"]["pass"], options=OLTP)
    [off] = simulate("dl360-g6-p410i", "typical-12", ios=2_000, options=OLTP, settings=["cache.mode=write-through"])
    assert not [one for row in (long, off) for one in row.findings if one["check"] == "destaging"]


def test_what_several_streams_write_is_not_precise_before_a_pass_of_destaging_over_their_ends() -> None:
    """In the first quarter of a pass batches are alike, and 21 % too fast."""
    options = Options(only=("several-logs",), jobs=4)
    [early] = simulate("dl360p-g8-p420i", "log-writer", options=options)
    [later] = simulate("dl360p-g8-p420i", "log-writer", options=options, ios=2_000_000)
    assert early.total.iops == pytest.approx(later.total.iops, rel=0.02)


def test_a_rebuild_says_which_rate_it_reached() -> None:
    settings = ["volume.layout=raid10", "pool.drives=4", "pool.failed=1", "pool.scheduling=fifo"]
    settings += ["pool.rebuild_rate=1B/s,1MB/s,5GB/s"]
    none, slow, fast = simulate("hdd-7k2", [reads(Closed(1))], ios=6_000, settings=settings)
    (as_asked,) = [found for found in slow.findings if found["check"] == "rebuild"]
    (held_up,) = [found for found in fast.findings if found["check"] == "rebuild"]
    (nothing,) = [found for found in none.findings if found["check"] == "rebuild"]
    assert nothing["message"].startswith("nothing of the failed drive was rebuilt")
    assert as_asked["message"].endswith("as asked for")
    assert "not at the 5,000 MB/s asked for" in held_up["message"]
    assert held_up["numbers"]["reached_bytes_per_s"] < 0.3e9 < held_up["numbers"]["asked_bytes_per_s"]


def test_writes_that_must_be_on_the_medium_wait_for_a_revolution_and_others_for_the_drives_buffer() -> None:
    log = Workload(
        Profile("log", (BlockShare(8192, 1.0),), 0.0, 0.0, "sequential", working_set_bytes=1 << 30), Closed(1)
    )
    durable = replace(log, profile=replace(log.profile, dsync=True))
    (buffered,) = simulate("hdd-7k2", log, ios=500)
    (written,) = simulate("hdd-7k2", durable, ios=500)
    # A disk of 7,200 rpm comes by 120 times a second, and the next block has just passed.
    assert written.total.iops == pytest.approx(120, rel=0.02)
    assert (buffered.total.iops or 0) > 10 * 120
    assert (written.tags, buffered.tags) == ({"pool.write_cache": "false"}, {})
    (solved,) = solve("hdd-7k2", durable)
    assert (solved.tags, solved.total.iops) == (written.tags, pytest.approx(written.total.iops, rel=0.05))
    (station,) = simulate("station-mm1", replace(durable, arrival=Open(100, 1)), ios=500)
    assert station.tags == {} and station.error is None
    with pytest.raises(InputError, match="dsync: models know it of all streams that write together"):
        simulate("hdd-7k2", [log, durable], ios=10)


def test_writes_in_order_are_counted_once_the_drives_buffer_is_full() -> None:
    outer_bytes_per_s = 110e6  # the drive's data sheet; its interface takes 300e6
    profile = Profile("writes", (BlockShare(1024, 1.0),), 0.0, 0.0, "sequential")
    (row,) = simulate("hdd-7k2", Workload(profile, Closed(32, 1)))
    assert (row.total.bytes_per_s or 0) == pytest.approx(outer_bytes_per_s, rel=0.03)


def test_one_combination_that_cannot_be_is_a_row_with_an_error() -> None:
    settings = ["volume.layout=raid5", "pool.drives=2,3"]
    bad, good = simulate("hdd-7k2", "typical-12", options=OLTP, ios=200, settings=settings)
    assert bad.error is not None and bad.error.startswith("volume.layout: raid5 can't be built")
    assert bad.tags["pool.drives"] == "2" and bad.total.iops is None
    assert good.error is None and good.total.iops is not None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["pool.drvies=3"], "Did you mean 'drives'?"),
        (["volume.layout=raid55"], "Did you mean 'raid5'?"),
        (["volume.layout=raid5"], "at least 3"),
        (["pool.drive=savio-10k1-73"], "Did you mean 'savvio-10k1-73'?"),
        (["hosts.overhead=5parsecs"], "duration"),
        (["pool=3"], "pool"),
        (["pool.drives"], "pool.drives=8"),
        (["pool.drives=1,1", "pool.drives=2"], "twice"),
        (["pool.drives=1:100000:1", "pool.tags=1:100:1"], "10000000 systems"),
    ],
)
def test_what_cannot_be_set_says_where_and_what_to_do(settings: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate("hdd-7k2", "typical-12", settings=settings, ios=10)
    assert said in f"{caught.value.message} {caught.value.remedy}"


def test_a_destage_depth_beyond_all_controllers_is_refused() -> None:
    with pytest.raises(InputError, match="more than a controller has under way"):
        simulate("dl360-g6-p410i", "typical-12", settings=["cache.destage_depth=4294967295"], ios=10)


def test_an_unknown_system_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="hdd-7k3") as caught:
        load_system("hdd-7k3")
    assert "Did you mean 'hdd-7k2'?" in caught.value.remedy


def test_a_drive_is_found_beside_the_system_that_names_it(tmp_path: Path) -> None:
    drives = Path(load_system("hdd-7k2").path).parent.parent / "drives"
    (tmp_path / "mine.toml").write_text((drives / "savvio-10k1-73.toml").read_text())
    text = load_system("hdd-7k2").text.replace('"sata-7k2-1tb"', '"mine.toml"')
    assert load_system(a_system(tmp_path, text)).build().capacity_bytes == pytest.approx(73.4e9, rel=0.01)


def test_ctrl_c_ends_the_tasks_under_way() -> None:
    ended: Queue[bool] = Queue()

    def endless(stop: Event) -> None:
        ended.put(stop.wait(60))

    def listen(done: int, new: Mapping[int, None]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_order([endless, endless, endless], threads=2, listen=listen)
    assert [ended.get(timeout=60) for _ in range(2)] == [True, True]


@pytest.mark.parametrize(("rate_per_s", "noted"), [(110.0, False), (151.0, True)])
def test_a_rate_at_which_drives_never_rest_is_doubted_though_it_is_nearly_done(rate_per_s: float, noted: bool) -> None:
    (row,) = simulate("hdd-7k2", reads(Open(rate_per_s, 256)), ios=100_000)
    assert row.error is None
    assert ("busy" in {found["check"] for found in row.findings}) is noted


@pytest.mark.parametrize(
    ("system", "read_fraction", "random_fraction", "settings", "words", "noted"),
    [
        ("dl360-g6-p410i", 1.0, 0.0, [], {}, True),
        ("dl360-g6-p410i", 0.0, 0.0, [], {}, False),
        ("dl360-g6-p410i", 0.0, 0.0, ["cache.mode=off"], {}, True),
        ("dl360-g6-p410i", 0.0, 0.0, ["cache.battery=failed"], {}, True),
        ("dl360-g6-p410i", 1.0, 1.0, [], {}, False),
        ("dl360-g6-p410i", 1.0, 0.0, [], {"replications": 2}, False),
        ("hdd-7k2", 1.0, 0.0, [], {}, False),
    ],
)
def test_a_simulation_in_order_over_several_drives_says_that_spindles_stand_as_they_do(
    system: str, read_fraction: float, random_fraction: float, settings: list[str], words: dict[str, Any], noted: bool
) -> None:
    profile = replace(reads(Closed(1, 1)).profile, read_fraction=read_fraction, random_fraction=random_fraction)
    (row,) = simulate(system, Workload(profile, Closed(1, 1)), settings=settings, ios=2000, **words)
    assert ("phases" in {found["check"] for found in row.findings}) is noted


@pytest.mark.parametrize(
    ("read_fraction", "working_set_mib", "settings", "words", "noted"),
    [
        (0.3, 700, [], {}, True),
        (0.3, 700, [], {"replications": 2}, False),
        (0.3, 700, ["cache.page=4KiB"], {}, False),
        (0.3, 700, ["cache.mode=write-through"], {}, False),
        (0.0, 700, [], {}, False),
        (0.3, 500, [], {}, False),
        (0.3, 900, [], {}, False),
        (0.3, None, [], {}, False),
    ],
)
def test_small_mixes_over_what_the_cache_about_holds_say_that_there_may_be_two_paces(
    read_fraction: float, working_set_mib: int | None, settings: list[str], words: dict[str, Any], noted: bool
) -> None:
    mix = replace(
        reads(Closed(1, 1)).profile,
        block=(BlockShare(4096, 1.0),),
        read_fraction=read_fraction,
        working_set_bytes=working_set_mib and working_set_mib << 20,
    )
    workload = Workload(mix, Closed(4, 1))
    (row,) = simulate("dl360p-g8-p420i", workload, settings=settings, ios=2000, **words)
    assert ("paces" in {found["check"] for found in row.findings}) is noted
    (solved,) = solve("dl360p-g8-p420i", workload, settings=settings)
    assert ("paces" in {found["check"] for found in solved.findings}) is (noted or "replications" in words)
