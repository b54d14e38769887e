"""Forecasts and solutions as Python calls them."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from loadline.errors import InputError
from loadline.host import roots
from loadline.result.schema import Flow, Result
from loadline.system import asked, description
from loadline.system.forecast import forecast
from loadline.system.pool import in_order
from loadline.system.row import beside
from loadline.system.simulate import simulate
from loadline.system.solve import solve
from loadline.workload.limit import parse_limit
from loadline.workload.plan import Options, make_plan
from loadline.workload.profile import BlockShare, Closed, Open, Profile, Workload
from loadline.workload.suite import load_suite

OLTP = Options(only=("oltp-db",))


def reads(arrival: Closed | Open) -> Workload:
    return Workload(Profile("reads", (BlockShare(4096, 1.0),), 1.0, 1.0, "random"), arrival)


def test_one_exponential_server_is_solved_as_theory_has_it() -> None:
    # M/M/1 with 7 ms: at a half 14 ms; Kleinrock 1975, section 3.2.
    [result] = solve("station-mm1", reads(Open(500 / 7, 32)))
    assert result.total.latency_mean_ns == pytest.approx(14e6, rel=1e-6)
    assert result.components["disk"] == pytest.approx(0.5)
    assert (result.origin, result.bottleneck) == ("solved", "disk")
    assert result.saturation_iops == pytest.approx(1000 / 7)
    assert result.total.latency_p99_ns is None


def test_an_open_load_above_saturation_has_an_error_that_names_saturation() -> None:
    [result] = solve("station-mm1", reads(Open(200.0, 32)))
    assert result.error is not None and "143" in result.error
    assert result.total.iops is None and result.saturation_iops == pytest.approx(1000 / 7)


def test_a_delay_never_saturates(tmp_path: Path) -> None:
    described = tmp_path / "delay.toml"
    described.write_text('title = "Delay"\n[[station]]\nname = "wire"\nservice = { constant = "1ms" }\nservers = 0\n')
    asked, line = forecast(described, reads(Closed(1, 8)), limit="30ms")
    assert (asked.saturation_iops, asked.bottleneck, line.saturation_iops) == (None, None, None)
    assert asked.total.iops == pytest.approx(8000)
    assert (line.outstanding_asked or 0) > 1000


def test_a_delay_in_front_of_drives_leaves_what_they_do_at_most_as_it_is() -> None:
    # The asymptotic bound of closed networks, 1 / the greatest demand, has no delay in it: Lazowska and others 1984, 5.
    options = Options(only=("oltp-db",), queue_depths=(4096,))
    of = {
        delay: solve("eva-v2-10k", "typical-12", settings=(f"hosts.overhead={delay}",), options=options)[0]
        for delay in ("100us", "100ms")
    }
    short, long = (of[delay].saturation_iops or 0 for delay in ("100us", "100ms"))
    assert long == pytest.approx(short, rel=0.05)


@pytest.mark.parametrize("asked_per_s", [50.0, 1e6])
def test_the_load_line_of_an_open_load_is_where_theory_puts_it_whatever_was_asked(asked_per_s: float) -> None:
    # R = S / (1 - u): 30 ms at u = 0.7667.
    found = forecast("station-mm1", reads(Open(asked_per_s, 32)), limit="30ms")
    asked, line, *probes = found
    assert (asked.limit, line.limit) == (None, "mean<=30ms")
    assert line.offered_per_s == pytest.approx(0.7667 * 1000 / 7, rel=0.011)
    assert [probe.role for probe in probes] == ["probe"]
    assert (probes[0].total.latency_mean_ns or 0) > 30e6


def test_a_closed_load_line_is_the_last_number_that_keeps_the_limit() -> None:
    # n customers at one exponential server: R = n S, so 4 keep 30 ms and 5 don't.
    line, following = forecast("station-mm1", "database-ramp")
    assert (line.outstanding_asked, following.outstanding_asked) == (4, 5)
    assert line.total.latency_mean_ns == pytest.approx(28e6)
    assert following.total.latency_mean_ns == pytest.approx(35e6)
    assert line.provenance["load_line"] == {"axis": "outstanding", "load": 4, "next": 5, "monotone": True}


def test_simulation_finds_the_load_line_that_theory_has() -> None:
    line, *probes = forecast("station-mm1", "database-ramp", method="simulate", ios=20_000)
    assert line.outstanding_asked == 4
    assert line.origin == "simulated" and line.total.latency_p99_ns is not None
    asked = {probe.outstanding_asked or 0 for probe in probes}
    assert 5 in asked and max(asked) >= 10


def test_a_curve_goes_in_doublings_to_twice_the_load_line_and_is_what_theory_has() -> None:
    rows = forecast("station-mm1", "database-ramp", limit="70ms", curve=True)
    line, *probes = rows
    assert [row.role for row in probes] == ["probe"] * len(probes)
    assert line.outstanding_asked == 10
    assert [row.outstanding_asked for row in probes] == [1, 2, 4, 8, 11, 16, 22]
    for row in rows:
        # All that are outstanding wait for one server, so the last one leaves after all of their services.
        assert row.total.latency_mean_ns == pytest.approx(7e6 * (row.outstanding_asked or 0), rel=1e-6)


def test_a_limit_that_no_load_keeps_is_told() -> None:
    with pytest.raises(InputError):
        forecast("station-mm1", "database-ramp", limit="p99<=5ms")
    [line, _] = forecast("station-mm1", "database-ramp", limit="1ms")
    assert line.error is not None and "1ms" in line.error and line.total.iops is None


def test_the_lowest_load_of_several_streams_is_one_of_each() -> None:
    row = forecast("hdd-7k2", "hci", limit="1ms")[1]
    assert (row.error or "").startswith("not even the lowest load, 8, keeps mean<=1ms: it's ")


def test_points_have_a_row_at_their_own_load_and_one_at_the_load_line() -> None:
    asked, line, following = forecast("dl360-g6-p410i", "typical-12", options=OLTP)
    assert (asked.point, line.point) == ("oltp-db", "oltp-db")
    assert (asked.outstanding_asked, asked.limit) == (32, None)
    assert line.limit == "mean<=30ms" and (line.total.latency_mean_ns or 0) <= 30e6
    assert following.role == "probe" and (following.total.latency_mean_ns or 0) > 30e6
    assert asked.total.iops == pytest.approx((asked.read.iops or 0) + (asked.write.iops or 0))
    assert asked.read.iops == pytest.approx(0.7 * (asked.total.iops or 0))
    for row in (asked, line, following):
        assert Result.from_row(row.row()) == row


def test_writes_alone_that_take_far_longer_than_the_limit_which_all_keep_are_told() -> None:
    def of(profile: str, limit: str) -> tuple[Result, list[str]]:
        [_, line, _] = forecast("dl360-g6-p410i", "typical-12", options=Options(only=(profile,)), limit=limit)
        return line, [one["message"] for one in line.findings if one["check"] == "limit"]

    line, [message] = of("media-streaming", "30ms")
    assert (line.total.latency_mean_ns or 0) <= 30e6 < 20 * 30e6 < (line.write.latency_mean_ns or 0)
    assert message.startswith("mean<=30ms is kept by reads and writes together; of writes alone, 2.0% of the I/Os, the")
    assert of("media-streaming", "mean<=30ms of reads")[1] == []
    # Where a cache takes the writes at once, reads are above a limit of all as they must be.
    line, told = of("oltp-db", "30ms")
    assert (line.read.latency_mean_ns or 0) > 1.2 * 30e6 and told == []


def told(rows: list[Result]) -> list[tuple[str, str]]:
    [line] = [row for row in rows if row.role == "point" and row.limit]
    return [(one["severity"], one["message"]) for one in line.findings if one["check"] == "load-line"]


def test_a_load_line_below_the_rate_of_less_load_says_so_by_the_asked_load_or_a_probe() -> None:
    writes = Options(only=("web-server-log",))
    [(severity, message)] = told(forecast("md-raid5-8x2tb", "typical-12", options=writes, limit="10ms"))
    assert severity == "note" and "not the highest rate: with 32 outstanding that is " in message
    alone = Options(only=("web-server-log",), queue_depths=(1,))
    assert told(forecast("md-raid5-8x2tb", "typical-12", options=alone, limit="10ms")) == []
    [(_, seen)] = told(forecast("md-raid5-8x2tb", "typical-12", options=alone, limit="10ms", curve=True))
    assert "not the highest rate: with " in seen
    # Less than the solver is off by.
    assert told(forecast("hdd-7k2", "typical-12", options=writes, limit="50ms")) == []


def test_an_asked_load_that_keeps_the_limit_above_the_load_line_is_told() -> None:
    [point] = make_plan(load_suite("database-ramp")[0], Options(), 1, timed=False)
    line = Result(
        point=point.name, total=Flow(iops=100.0, latency_mean_ns=2e7), outstanding_asked=2, limit="mean<=30ms"
    )
    asked = replace(line, total=Flow(iops=160.0, latency_mean_ns=2.5e7), outstanding_asked=4)
    [again] = beside(point, line, [asked], parse_limit("30ms"))
    assert again["severity"] == "warning" and "the curve isn't monotone" in again["message"]
    assert list(beside(point, line, [asked], parse_limit("22ms"))) == []


def test_a_load_has_one_saturation_which_neither_another_amount_of_it_nor_its_load_line_exceeds() -> None:
    options = Options(only=("web-server-log",), queue_depths=(32, 512))
    rows = forecast("md-raid5-8x2tb", "typical-12", limit="20ms", options=options)
    reached = [row.total.iops or 0 for row in rows]
    assert max(reached) > 2 * reached[0]
    [saturation] = {row.saturation_iops for row in rows}
    assert saturation and saturation >= max(reached)
    # Nor does a curve that goes as far again, which charts have.
    drawn = forecast("md-raid5-8x2tb", "typical-12", limit="20ms", options=options, curve=True)
    assert max(row.total.iops or 0 for row in drawn) <= saturation
    assert {row.saturation_iops for row in drawn} == {saturation}


@pytest.mark.parametrize(
    ("system", "settings", "arrival"),
    [("hdd-7k2", (), Open(50, 64)), ("sas-10k-jbod", ("pool.write_cache=true",), Closed(1, 8))],
)
def test_drives_that_write_from_their_buffers_are_solved_to_be_as_busy_as_simulated(
    system: str, settings: tuple[str, ...], arrival: Open | Closed
) -> None:
    workload = Workload(Profile("mixed", (BlockShare(8192, 1.0),), 0.67, 1.0, "random"), arrival)
    [solved] = solve(system, workload, settings=settings)
    [simulated] = simulate(system, workload, settings=settings, ios=20_000)
    assert solved.components["disks"] == pytest.approx(simulated.components["disks"], abs=0.05)


def test_streams_read_and_written_are_limited_by_the_drives_that_they_keep_busy() -> None:
    mixed = Workload(Profile("mixed", (BlockShare(65536, 1.0),), 0.5, 0.0, "sequential"), Closed(4, 1))
    [asked] = solve("dl360-g6-p410i", mixed)
    assert asked.bottleneck == "disks" and asked.components["disks"] > 0.9


def test_streams_whose_working_set_stays_dirty_never_reach_the_drives() -> None:
    # 64 MiB below the low water mark, 108 MiB: what is written stays, and is read from there.
    within = Profile("within", (BlockShare(16384, 1.0),), 0.67, 0.0, "sequential", working_set_bytes=64 << 20)
    [asked] = solve("dl360-g6-p410i", Workload(within, Closed(16, 1)))
    assert asked.bottleneck == "controllers" and "disks" not in asked.components


def test_littles_law_and_the_bounds_hold_on_every_solution() -> None:
    for depth in (1, 4, 64):
        [result] = solve("hdd-7k2", "typical-12", options=Options(only=("oltp-db",), queue_depths=(depth,)))
        iops, mean_ns = result.total.iops, result.total.latency_mean_ns
        assert iops is not None and mean_ns is not None and result.saturation_iops is not None
        assert iops * mean_ns / 1e9 == pytest.approx(depth, rel=1e-6)
        assert iops <= result.saturation_iops * (1 + 1e-9)
        assert all(0 <= busy <= 1 + 1e-9 for busy in result.components.values())


@pytest.mark.parametrize(
    ("settings", "saturation", "disk"),
    [
        (["volume.layout=vraid1"], 17_937, "10k"),
        (["volume.layout=vraid5"], 11_988, "10k"),
        (["volume.layout=vraid1"], 21_094, "15k"),
        # The report takes 166 a second here, and prints 167.
        (["volume.layout=vraid5", "rule.disk_rate_per_s=166"], 14_014, "15k"),
    ],
)
def test_the_rule_of_thumb_gives_the_numbers_of_its_report(settings: list[str], saturation: int, disk: str) -> None:
    [line] = forecast(f"eva-v2-{disk}", "database-ramp", method="rule", settings=settings)
    # The report cuts its numbers off.
    assert line.saturation_iops is not None and int(line.saturation_iops + 0.5) in {saturation, saturation + 1}
    assert line.total.iops == pytest.approx(0.92 * line.saturation_iops)
    assert (line.origin, line.limit, line.bottleneck) == ("rule", "mean<=30ms", "disks")


def test_the_rule_of_thumb_gives_the_bandwidth_limit_of_its_report() -> None:
    load = "vdb-1vmdk-100ws-24k-67rdpct-100randompct-1threads"
    [line] = forecast("eva-v2-10k", load, method="rule", settings=["volume.layout=vraid1"])
    assert (line.saturation_iops, line.bottleneck) == (pytest.approx(16_165, abs=0.5), "bandwidth")
    assert line.total.iops == pytest.approx(0.92 * 16_165, rel=1e-4)


@pytest.mark.parametrize(
    ("system", "profile", "unknown"),
    [
        ("hdd-7k2", "oltp-db", []),
        ("hdd-7k2", "media-streaming", ["in sequence"]),
        ("eva-v2-10k", "oltp-db", ["no cache"]),
        ("eva-v2-10k", "media-streaming", ["in sequence", "no cache"]),
    ],
)
def test_what_the_rule_of_thumb_does_not_know_is_noted(system: str, profile: str, unknown: list[str]) -> None:
    [line] = forecast(system, "typical-12", method="rule", options=Options(only=(profile,)))
    assert len(line.findings) == len(unknown)
    assert all(part in one["message"] for part, one in zip(unknown, line.findings, strict=True))


def test_the_working_is_told_on_request(tmp_path: Path) -> None:
    [plain] = solve("station-mm1", reads(Closed(4)))
    [explained] = solve("station-mm1", reads(Closed(4)), explain=True)
    assert "working" not in plain.provenance
    assert explained.provenance["working"]


def test_rows_are_the_same_on_any_number_of_threads_and_a_second_time() -> None:
    settings = ["pool.drives=4,6", "volume.layout=raid5,raid10"]
    rows = [forecast("dl360-g6-p410i", "database-ramp", settings=settings, threads=threads) for threads in (1, 2, 2)]
    assert rows[0] == rows[1] == rows[2]
    assert len(rows[0]) == 8


def test_the_systems_of_a_sweep_share_one_look_at_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int | None] = []

    def available_bytes() -> int | None:
        looks.append(None)
        return None

    monkeypatch.setattr(description, "available_bytes", available_bytes)
    settings = ("pool.drives=1600,1680", "pool.tags=256")
    rows = forecast("eva-v2-10k", "database-ramp", settings=settings, threads=1)
    assert not any(row.error for row in rows)
    assert len(looks) == 1


def test_a_cache_that_only_a_simulation_holds_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "available_bytes", lambda: 1 << 30)
    row, *_ = forecast("dl360-g6-p410i", "database-ramp", settings=["cache.write=4TB"])
    assert row.error is None
    with pytest.raises(InputError, match=r"to simulate it may take 7\.\d+ GB of memory"):
        simulate("dl360-g6-p410i", "typical-12", settings=["cache.write=4TB"], options=OLTP, ios=10)
    with pytest.raises(InputError, match=r"to solve it may take 10\.\d GB of memory"):
        forecast(
            *("dl360-g6-p410i", "database-ramp"),
            settings=["volume.layout=raid0", "pool.drives=16000", "pool.tags=4096", "volume.chunk=4KiB"],
        )


def test_outstanding_requests_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadline.system.simulate.available_bytes", lambda: 1 << 30)
    many = replace(OLTP, queue_depths=(4096,), jobs=4096)
    with pytest.raises(InputError, match=r"16,777,216 outstanding I/Os may take 8\.\d+ GB") as refused:
        simulate("dl360-g6-p410i", "typical-12", options=many, ios=10)
    assert refused.value.remedy == "Lower queue_depth or jobs."


def test_memory_that_a_process_may_take_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    there = roots.available_bytes() or 0
    monkeypatch.setattr(roots, "getrlimit", lambda _: (1 << 40, 1 << 40))
    assert (roots.available_bytes() or 0) <= there + (1 << 30)
    monkeypatch.setattr(roots, "getrlimit", lambda _: (1 << 20, 1 << 20))
    assert roots.available_bytes() == 0


def test_a_sweep_whose_answers_do_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "available_bytes", lambda: 1 << 30)
    with pytest.raises(InputError, match=r"30,000 rows, whose answers may take .* of memory, of which .* is free"):
        forecast("hdd-7k2", "database-ramp", settings=["pool.tags=1:100:1", "volume.size=1GB:300GB:1GB"])


def test_a_system_of_a_sweep_is_given_up_once_it_has_answered() -> None:
    held: list[weakref.ref[object]] = []

    class Task:
        def __call__(self, _: Event) -> int:
            return sum(one() is not None for one in held)

    tasks: list[Callable[[Event], int]] = [Task() for _ in range(50)]
    held += [weakref.ref(task) for task in tasks]
    assert in_order(tasks, threads=1)[-1] <= 2


def test_the_residence_at_drives_is_shown_as_what_follows_from_their_rate_and_not_the_other_way_round() -> None:
    [row, *_] = forecast("eva-v2-10k", "database-ramp", explain=True)
    lines = {line.partition(" = ")[0]: line for line in row.provenance["working"]}
    order = [name for name in lines if name in {"N(disks)", "capacity(disks)", "R(disks)"}]
    assert order == ["N(disks)", "capacity(disks)", "R(disks)"] and "Little" in lines["R(disks)"]
    numbers = re.search(
        r"= ([\d.]+) per s, what 168 drives do of .* sets at a time, / ([\d.]+) = ([\d.]+)", lines["capacity(disks)"]
    )
    assert numbers is not None
    sets, an_io, ios = map(float, numbers.groups())
    assert sets / an_io == pytest.approx(ios, rel=1e-3)


@pytest.mark.parametrize("arrival", [Open(10.0, 32), Closed(1, 4)])
def test_a_limit_of_what_a_load_does_not_do_is_refused(arrival: Closed | Open) -> None:
    # From outside the search for the highest rate that keeps it didn't end.
    with pytest.raises(InputError, match="reads has no writes, which mean<=10ms of writes limits"):
        forecast("hdd-7k2", reads(arrival), limit="mean<=10ms of writes")


def test_reads_and_writes_are_not_told_apart_where_drives_buffers_take_writes() -> None:
    # Both were given their mean, of which writes take a thirtieth.
    mix = Workload(replace(reads(Closed(8, 1)).profile, read_fraction=0.67), Closed(8, 1))
    (row,) = solve("hdd-7k2", mix)
    assert row.total.latency_mean_ns is not None
    assert row.read.latency_mean_ns is None and row.write.latency_mean_ns is None
    assert row.read.iops is not None
    (alone,) = solve("hdd-7k2", reads(Closed(8, 1)))
    assert alone.read.latency_mean_ns is not None
    *_, refused = forecast("hdd-7k2", mix, limit="mean<=15ms of writes")
    assert "doesn't know writes apart where drives' buffers take writes" in str(refused.error)


@pytest.mark.parametrize(("rate_per_s", "told"), [(400.0, "400 I/Os a second"), (142.9, "142.9 I/Os a second")])
def test_a_rate_just_above_saturation_is_told_from_it(rate_per_s: float, told: str) -> None:
    (row,) = solve("station-mm1", reads(Open(rate_per_s, 32)))
    most = "142.857" if rate_per_s < 143 else "143"
    assert row.error == f"{told} are above saturation, which is at {most} and set by disk"


def test_a_limit_of_writes_leaves_points_without_writes_without_a_load_line() -> None:
    both = Options(only=("web-server-log", "media-streaming"))
    rows = forecast("dl360-g6-p410i", "typical-12", limit="mean<=90ms of reads", options=both)
    points = [row.point for row in rows if row.role == "point"]
    assert points == ["media-streaming", "media-streaming", "web-server-log"]
