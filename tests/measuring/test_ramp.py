"""Ramps on targets, which are emulated queues whose load line theory knows."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from measuring.suites import STATION
from measuring.suites import ramp as ramp_suite

import loadline
from loadline._core import Histogram
from loadline.errors import InputError, InterruptedRun
from loadline.measuring import event, ramp
from loadline.measuring.point import Measured
from loadline.measuring.ramp import find
from loadline.reporting.question import ask
from loadline.reporting.report import report
from loadline.result.schema import Flow, Result
from loadline.result.store import Run, Store
from loadline.workload.limit import parse_limit
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import Open
from loadline.workload.suite import parse_suite

EMPTY = SimpleNamespace(histogram=Histogram())

STORE = Store(Path("loadline-runs"))

SUITE = ramp_suite("110ms")


@pytest.fixture
def station(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "station.toml").write_text(STATION)
    return f"emulated:{tmp_path / 'station.toml'}"


def test_each_probe_is_told_when_it_is_committed_before_its_point(station: str) -> None:
    told: list[event.Event] = []
    run = measured(station, told.append)
    done = [what for what in told if isinstance(what, event.ProbeFinished | event.PointFinished)]
    probes = [(what.result.point, what.result.total, what.result.limit) for what in done[:-1]]
    assert probes == [(probe.point, probe.total, probe.limit) for probe in run.probes()] and len(probes) >= 3
    assert isinstance(done[-1], event.PointFinished)
    assert {(what.number, what.total) for what in done} == {(1, 1)}


def measured(target: str, listen: event.Listener = lambda _: None) -> Run:
    return loadline.run(parse_suite(SUITE, "reads", "reads"), target, size_bytes=1 << 26, seed=1, listen=listen)


def test_a_ramp_finds_the_load_line_that_theory_has(station: str) -> None:
    run = measured(station)
    (row,) = run.results()
    assert row.error is None
    assert (row.role, row.point, row.outstanding_asked, row.limit) == ("point", "reads", 5, "mean<=110ms")
    line = row.provenance["load_line"]
    assert (line["axis"], line["load"], line["next"], line["monotone"]) == ("outstanding", 5, 6, True)
    assert row.total.latency_mean_ns == pytest.approx(100e6, rel=0.08)
    assert row.saturation_iops == pytest.approx(50, rel=0.1)
    probes = run.probes()
    assert {5, 6} <= {probe.outstanding_asked for probe in probes}
    assert len(probes) <= 9 and {probe.role for probe in probes} == {"probe"}
    assert run.histograms(0)["read"].count > 0

    store = run.path.parent
    said = ask(store, "select role, count(*) from results group by role order by role").rows
    assert said == [("point", 1), ("probe", len(probes))]
    ((runs, points),) = ask(store, "select count(distinct run), count(distinct point) from series").rows
    assert (runs, points) == (1, 1 + len(probes))
    body = json.loads(report([run], Path("ramp.json")).read_text())
    assert ([row["role"] for row in body["results"]], len(body["probes"])) == (["point"], len(probes))


def test_probes_outlive_an_interruption_and_are_not_asked_again(station: str) -> None:
    def stop(what: event.Event) -> None:
        if isinstance(what, event.PointStarted) and what.name != "reads-qd128":
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun):
        measured(station, stop)
    (run,) = STORE.runs()
    assert (run.results(), [probe.point for probe in run.probes()]) == ([], ["reads-qd128"])
    asked: list[str] = []

    def note(what: event.Event) -> None:
        if isinstance(what, event.PointStarted):
            asked.append(what.name)

    resumed = loadline.resume(run, listen=note)
    assert resumed.results()[0].outstanding_asked == 5
    assert asked and "reads-qd128" not in asked


class Fake:
    """Measures nothing: n outstanding take n times 20 ms, as the one server does."""

    def __init__(self, told: Callable[[int], dict[str, Any]] = lambda _: {}, limit: str = "110ms") -> None:
        """`told` are further fields of the row at so many outstanding."""
        (self.point,) = make_plan(parse_suite(SUITE.replace("110ms", limit), "reads", "reads"), Options(), seed=1)
        self.told = told
        self.asked: list[Point] = []

    def measure(self, point: Point, folder: Path) -> Measured:
        self.asked.append(point)
        (folder / "series.parquet").write_bytes(b"")
        outstanding = point.streams[0].outstanding
        total = Flow(iops=50.0, latency_mean_ns=20e6 * outstanding)
        row = Result(point=point.name, total=total, outstanding_asked=outstanding, latency_mean_ci95_ns=1e6)
        return Measured(replace(row, **self.told(outstanding)), {})

    def find(self, folder: Path) -> Result:
        return find(self.point, folder, self.measure).result


def test_no_two_probes_ask_for_the_same_blocks_and_a_failed_one_asks_for_others_when_it_is_asked_again(
    tmp_path: Path,
) -> None:
    """Else each finds in caches what the one before it has left there."""
    fake = Fake()

    def fail(point: Point, folder: Path) -> Measured:
        fake.asked.append(point)
        return Measured(Result(point=point.name, error="the server has gone"), {})

    find(fake.point, tmp_path, fail)
    find(fake.point, tmp_path, fake.measure)
    first, again, *_ = fake.asked
    assert first.name == again.name and len(fake.asked) >= 4
    assert len({point.seed for point in fake.asked}) == len(fake.asked)


def test_a_limit_on_a_percentile_has_a_range_that_holds_the_true_load_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses are exponential, of 0.1 ms for each outstanding: their 99th percentile is ln(100) times that."""
    true, held, width = 1000 / math.log(100), 0, 0.0
    spans: dict[Path, list[Any]] = {}
    monkeypatch.setattr(ramp, "counted_intervals", lambda folder, _: spans[folder])
    for seed in range(40):
        chance, fake = random.Random(seed), Fake(limit="100ms")
        assert fake.point.ramp is not None
        point = replace(fake.point, ramp=replace(fake.point.ramp, limit=parse_limit("p99<=100ms")))

        def measure(point: Point, folder: Path, chance: random.Random = chance, fake: Fake = fake) -> Measured:
            mean_ns = 1e5 * point.streams[0].outstanding
            drawn = [[round(chance.expovariate(1 / mean_ns)) for _ in range(300)] for _ in range(12)]
            each = [Histogram(some, [1] * 300) for some in drawn]
            spans[folder] = [SimpleNamespace(read=SimpleNamespace(histogram=one), write=EMPTY) for one in each]
            row = fake.measure(point, folder).result
            whole = reduce(Histogram.merged, each).percentile_ns(99)
            assert whole is not None
            total = replace(row.total, latency_p99_ns=whole)
            return Measured(replace(row, total=total, runtime_ns=12 * 10**9), {})

        row = ramp.find(point, tmp_path / str(seed), measure).result
        low, high = (row.provenance["load_line"][end] for end in ("low", "high"))
        assert low is not None and high is not None and low <= high
        held += low <= true <= high
        width += (high - low) / true / 40
    assert held >= 36
    # A 99th percentile of 3,600 requests is known to 3.6 %, so the line to four times that.
    assert width < 0.25


def cached(numbers: dict[str, float]) -> dict[str, Any]:
    return {"findings": ({"check": "write-cache", "numbers": numbers, "message": "may be"},)}


def doubts(row: Result) -> list[Mapping[str, Any]]:
    return [one for one in row.findings if one["check"] == "load-line"]


def test_a_load_line_whose_probes_may_be_inside_a_cache_or_are_not_steady_says_so(tmp_path: Path) -> None:
    """The probe at 128 decides nothing."""
    assert doubts(Fake().find(tmp_path / "sure")) == []
    (doubt,) = doubts(
        Fake(lambda n: {"steady": n != 6, **(cached({"cache_bytes": 1.0}) if n in (6, 128) else {})}).find(tmp_path)
    )
    which = "1 of the 2 probes where the load line may lie (6 outstanding)"
    assert doubt["message"] == (
        f"{which} may be inside a write cache, as full as the probe before left it: then it's too high;"
        f" {which} ended without being steady: neither it nor its confidence is sure"
    )
    assert (doubt["severity"], doubt["numbers"]) == ("warning", {"cached_probes": 1, "unsteady_probes": 1})


def test_an_overloaded_probe_is_not_blamed_for_being_unsteady(tmp_path: Path) -> None:
    """Its requests pile up; that is why it fails."""
    piling = {"steady": False, "provenance": {"open": {"overloaded": True}}}
    assert doubts(Fake(lambda n: piling if n == 6 else {}).find(tmp_path)) == []


def test_a_highest_rate_that_may_be_a_caches_is_told_though_its_probe_is_far_from_the_load_line(tmp_path: Path) -> None:
    """The first probe finds the cache empty."""
    fast = {"total": Flow(iops=900.0, latency_mean_ns=2560e6), **cached({"cache_bytes": 1.0})}
    (doubt,) = doubts(Fake(lambda n: fast if n == 128 else {}).find(tmp_path))
    assert doubt["message"] == "the highest rate, at 128 outstanding, may be that of a write cache, and too high"
    assert doubt["severity"] == "note"


def test_a_cache_of_unknown_size_makes_a_load_line_no_worse_than_a_note(tmp_path: Path) -> None:
    (doubt,) = doubts(Fake(lambda _: cached({})).find(tmp_path))
    assert doubt["severity"] == "note" and doubt["numbers"] == {"cached_probes": 2}


def test_late_answers_of_an_emulated_system_are_told_at_the_load_line_too(tmp_path: Path) -> None:
    late = {"findings": ({"check": "emulation", "numbers": {}},)}
    (doubt,) = doubts(Fake(lambda n: late if n == 6 else {}).find(tmp_path))
    assert "(6 outstanding) had late answers" in doubt["message"]
    little = {"findings": ({"check": "emulation", "severity": "note", "numbers": {}},)}
    assert "load_line" in (row := Fake(lambda n: little).find(tmp_path / "little")).provenance and not doubts(row)


def test_a_load_line_is_never_called_too_high_and_too_low_in_one(tmp_path: Path) -> None:
    both = ({"check": "emulation", "numbers": {}}, *cached({"cache_bytes": 1.0})["findings"])
    (doubt,) = doubts(Fake(lambda n: {"findings": both} if n == 6 else {}).find(tmp_path))
    assert "then it's" not in doubt["message"]
    assert doubt["message"].count("that alone would make it too high") == 1
    assert doubt["message"].count("that alone would make it too low") == 1


class Failing(Fake):
    """Some loads fail."""

    def __init__(self, limit: str, *loads: int) -> None:
        super().__init__(limit=limit)
        self.loads = loads

    def measure(self, point: Point, folder: Path) -> Measured:
        measured = super().measure(point, folder)
        if point.streams[0].outstanding not in self.loads:
            return measured
        return Measured(replace(measured.result, total=Flow(), error="the server has gone"), {})


def test_a_failed_probe_that_a_load_line_does_not_need_loses_nothing(tmp_path: Path) -> None:
    """The look at twice as many, where the line was found already."""
    row = Failing("2000ms", 202).find(tmp_path)
    assert (row.error, row.outstanding_asked, row.provenance["load_line"]["next"]) == (None, 100, 101)
    (doubt,) = doubts(row)
    assert doubt["severity"] == "warning" and doubt["message"].startswith("reads-qd202 failed (the server has gone)")


def test_a_failed_probe_that_is_needed_is_named_with_what_the_others_say_and_is_asked_again(tmp_path: Path) -> None:
    row = Failing("110ms", 5).find(tmp_path)
    assert row.error == "reads-qd5: the server has gone; by the other probes 2 outstanding keep mean<=110ms, 6 don't"
    assert (row.role, row.total.iops) == ("point", None)
    assert row.provenance["load_line"] == {"axis": "outstanding", "load": 2, "next": 6, "monotone": True}
    again = Fake(limit="110ms")
    assert again.find(tmp_path).outstanding_asked == 5
    assert [point.name for point in again.asked] == ["reads-qd5"]


@pytest.mark.parametrize(
    ("limit", "failing", "said"),
    [
        ("110ms", (128,), ""),
        ("100s", (4096,), "; by the other probes 2,048 outstanding keep mean<=100s"),
        ("1ms", (1, 2, 3), "; by the other probes 128 outstanding don't keep mean<=1ms"),
    ],
)
def test_what_is_known_of_a_search_that_a_failed_probe_ended_is_said(
    tmp_path: Path, limit: str, failing: tuple[int, ...], said: str
) -> None:
    row = Failing(limit, *failing).find(tmp_path)
    assert row.error is not None and row.error.endswith(f"the server has gone{said}")


def test_a_search_that_a_failed_probe_ended_is_unsure_where_its_probes_have_no_intervals(tmp_path: Path) -> None:
    failing = Failing("110ms", 5)
    failing.told = lambda _: {"latency_mean_ci95_ns": None}
    unsure = "how sure that is isn't known: a probe was too short for an interval"
    assert (failing.find(tmp_path).error or "").endswith(f"2 outstanding keep mean<=110ms, 6 don't; {unsure}")


def test_a_limit_that_not_even_one_keeps_is_a_row_that_says_so(station: str) -> None:
    suite = parse_suite(SUITE.replace("110ms", "1ms"), "reads", "reads")
    (row,) = loadline.run(suite, station, size_bytes=1 << 26, seed=1).results()
    assert row.over_limit and "keeps mean<=1ms: it's 2" in (row.error or "") and row.total.iops is None


RATES = SUITE.replace("110ms", "5ms") + 'ramp = { axis = "rate", from = "400/s", to = "4k/s" }\n'


def test_a_ramp_over_rates_in_sequence_is_refused_before_anything_is_touched(station: str) -> None:
    suite = parse_suite(RATES.replace('random = "100%"', 'random = "50%"'), "reads", "reads")
    with pytest.raises(InputError, match="a ramp over a rate can't be run on a target: random is below 100%"):
        loadline.run(suite, station, size_bytes=1 << 26)
    assert STORE.runs() == []


def test_a_ramp_over_rates_finds_about_the_load_line_of_m_d_1(station: str) -> None:
    """Five service times are the response at a utilisation of 8/9 (Pollaczek and Khinchine): 889 a second of 1 ms.

    So short a run knows the response to some 40 %, and on a busy machine it's longer; the rate then is lower.
    """
    Path(station.removeprefix("emulated:")).write_text(STATION.replace("20ms", "1ms"))
    suite = parse_suite(RATES.replace("400ms", "1s"), "reads", "reads")
    run = loadline.run(suite, station, size_bytes=1 << 26, seed=1)
    (row,) = run.results()
    assert row.error is None and row.offered_per_s is not None
    assert 200 <= row.offered_per_s <= 1000
    assert row.saturation_outstanding == 128 and row.saturation_iops == pytest.approx(1000, rel=0.2)
    assert (row.profile, row.outstanding_asked, row.queue_depth) == ("reads", None, None)
    assert row.provenance["load_line"]["axis"] == "rate"
    asked = [probe.point for probe in run.probes()]
    assert asked[0] == "reads-qd128" and len(asked) <= 12 and all(name.startswith("reads-r") for name in asked[1:])
    assert run.histograms(0)["read"].count > 0


class Rates(Fake):
    """One server of 1 ms (M/M/1), asked for rates."""

    def __init__(self, saturated: Mapping[str, Any] | None = None, iops_ci95: float | None = None) -> None:
        super().__init__()
        self.saturated = saturated or {}
        self.iops_ci95 = iops_ci95
        (self.point,) = make_plan(parse_suite(RATES, "reads", "reads"), Options(), seed=1)

    def measure(self, point: Point, folder: Path) -> Measured:
        self.asked.append(point)
        (folder / "series.parquet").write_bytes(b"")
        rate = sum(one.arrival.rate_per_s for one in point.streams if isinstance(one.arrival, Open))
        flow = Flow(iops=rate or 1000.0, latency_mean_ns=1e9 / max(1.0, 1000 - rate), latency_stddev_ns=1e6)
        late = ({"check": "emulation", "numbers": {}},)
        row = Result(
            point=point.name,
            total=flow,
            read=flow,
            runtime_ns=point.runtime_ns,
            warmup_ns=point.warmup_ns,
            iops_ci95=self.iops_ci95,
            findings=late,
        )
        if not rate:
            row = replace(row, **{"outstanding_asked": 128, **self.saturated})
        return Measured(row, {})


def test_a_highest_rate_of_a_ramp_over_rates_that_may_be_a_caches_is_told(tmp_path: Path) -> None:
    """The probe that is to saturate is none of the line's."""
    fast = {"total": Flow(iops=2000.0, latency_mean_ns=64e6), **cached({"cache_bytes": 1.0})}
    row = Rates(fast).find(tmp_path)
    assert (row.saturation_iops, row.saturation_outstanding) == (2000.0, 128)
    (doubt,) = doubts(row)
    assert "the highest rate, at 128 outstanding, may be that of a write cache, and too high" in doubt["message"]


def test_a_highest_rate_that_probes_of_a_ramp_over_rates_exceed_is_told_unless_it_may_be_luck(tmp_path: Path) -> None:
    for iops_ci95, told in ((5.0, True), (2000.0, False), (None, False)):
        slow = {"total": Flow(iops=500.0, latency_mean_ns=256e6), "iops_ci95": 1.0}
        messages = [one["message"] for one in doubts(Rates(slow, iops_ci95).find(tmp_path / str(iops_ci95)))]
        said = "I/Os a second did more than 128 outstanding, which don't saturate it"
        assert any(said in message for message in messages) == told, messages


def test_a_ramp_over_rates_offers_none_twice_and_its_loads_are_those_that_were_offered(tmp_path: Path) -> None:
    """Of few requests a second whole rates of jobs are further apart than steps of the search."""

    class Slow(Rates):
        def measure(self, point: Point, folder: Path) -> Measured:
            measured = super().measure(point, folder)
            rate, mean_ns = measured.result.total.iops or 0.0, 30e6
            slow = Flow(iops=rate if rate < 100 else 100.0, latency_mean_ns=mean_ns * 14 / max(1.0, 100 - rate))
            return Measured(replace(measured.result, total=slow, read=slow, latency_mean_ci95_ns=mean_ns / 10), {})

    slow = Slow()
    suite = parse_suite(RATES.replace("5ms", "30ms").replace("400/s", "10/s"), "reads", "reads")
    (slow.point,) = make_plan(suite, Options(), seed=1)
    row = slow.find(tmp_path)
    rates = [
        sum(one.arrival.rate_per_s for one in point.streams if isinstance(one.arrival, Open)) for point in slow.asked
    ]
    assert len(rates) > 3 and rates == [*dict.fromkeys(rates)]
    found = row.provenance["load_line"]
    assert found["load"] == row.offered_per_s and found["next"] == found["load"] + 1
    assert {found["load"], found["next"]} <= set(rates)


def test_what_is_said_of_rates_next_to_a_load_line_has_the_digits_of_tables(tmp_path: Path) -> None:
    row = Rates().find(tmp_path)
    (found,) = doubts(row)
    assert re.search(r"may lie \([0-9, and]+ I/Os a second\) had late answers", found["message"]), found["message"]


#: Two servers: two outstanding do all that they can, and more wait.
BEST = SUITE.replace("400ms", "2s").replace('limit = "mean<=110ms"', 'best = "rate"\nqueue_depth = [1, 2, 4]')


def test_the_best_depth_is_found_with_where_95_percent_of_its_rate_begin(station: str) -> None:
    Path(station.removeprefix("emulated:")).write_text(STATION.replace("[[station]]", "[[station]]\nservers = 2"))
    run = loadline.run(parse_suite(BEST, "reads", "reads"), station, size_bytes=1 << 26, seed=1)
    (row,) = run.results()
    assert row.error is None and (row.point, row.role) == ("reads", "point")
    assert row.saturation_iops == pytest.approx(100, rel=0.2) and row.total.iops == row.saturation_iops
    assert row.saturation_95_outstanding == 2
    assert row.saturation_outstanding == row.outstanding_asked
    # The utilisation law: rate times service over servers.
    assert row.components["server"] == pytest.approx(row.total.iops * 20e-3 / 2, rel=0.25)
    assert row.bottleneck == "server"
    assert [probe.outstanding_asked for probe in run.probes()] == [1, 2, 4]
    assert run.histograms(0)["read"].count > 0
    assert loadline.resume(run).results() == [row]


def test_responses_that_fall_as_load_rises_make_a_load_line_doubtful(tmp_path: Path) -> None:
    falling = Fake(lambda n: {"total": Flow(iops=50.0, latency_mean_ns=111e6)} if n == 128 else {})
    (doubt,) = doubts(falling.find(tmp_path / "falling"))
    # What fails at 21 is looked at again one higher, as 128 makes it hard to believe.
    message = (
        "the response at 128 outstanding was 75% lower than at 22: luck or drift changes it by as much as load does"
    )
    assert doubt["message"].startswith(message) and doubt["severity"] == "warning"

    def hardly_known(n: int) -> dict[str, Any]:
        return {**falling.told(n), "latency_mean_ci95_ns": 400e6}

    assert doubts(Fake(hardly_known).find(tmp_path / "hardly")) == []

    def inside(n: int) -> dict[str, Any]:
        return {**falling.told(n), **(cached({"cache_bytes": 1.0}) if n == 128 else {})}

    assert "lower than" not in str(doubts(Fake(inside).find(tmp_path / "inside")))
