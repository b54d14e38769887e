"""Open loads on targets: many jobs, of which theory says how late their requests are."""

from __future__ import annotations

import heapq
import math
import random
import statistics
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadline._core import Histogram
from loadline.errors import InputError
from loadline.measuring.open_load import as_sent, check, offered, saturating, spread
from loadline.measuring.open_response import counted, overloaded
from loadline.result.point_folder import Row
from loadline.result.schema import Flow, Result
from loadline.workload.dialects import fio_job
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import Closed, Open
from loadline.workload.suite import parse_suite

SUITE = """
title = "A rate up to a limit"
runtime = "60s"
[[profile]]
name = "a"
block = "4k"
read = "70%"
random = "100%"
limit = "mean<=30ms"
ramp = { axis = "rate", from = "10/s", to = "50k/s" }
"""


def ramp(text: str = SUITE) -> Point:
    return make_plan(parse_suite(text, "s", "s.toml"), Options(), seed=1)[0]


def arrivals(point: Point) -> list[Open]:
    return [stream.arrival for stream in point.streams if isinstance(stream.arrival, Open)]


@pytest.mark.parametrize(("rate", "bound_ms"), [(10, 30), (150, 30), (1000, 30), (1000, 1), (50_000, 1), (50_000, 30)])
def test_a_rate_is_spread_over_jobs_of_whole_rates_that_are_seldom_busy(rate: float, bound_ms: float) -> None:
    sent = spread(ramp().at(rate), int(bound_ms * 1e6))
    parts = arrivals(sent)
    jobs = sum(part.jobs for part in parts)
    each = {part.rate_per_s / part.jobs for part in parts}
    assert len(each) == 1 and (per_s := each.pop()) == int(per_s) >= 1
    assert per_s * bound_ms / 1e3 <= 0.05 or per_s == 1 or jobs > 1900
    assert sum(part.rate_per_s for part in parts) == pytest.approx(rate, abs=per_s)
    assert jobs <= 2001 and sent.warmup_ns >= 20e9 / per_s
    assert [stream.profile.read_fraction for stream in sent.streams] == [1.0, 0.0]


@given(
    st.floats(1, 60_000),
    st.sampled_from(["0%", "1%", "50%", "70%", "99.5%", "100%"]),
    st.sampled_from([0.2, 1, 30, 999]),
)
def test_a_rate_that_can_be_offered_is_the_nearest_and_is_offered_as_it_is(
    rate: float, read: str, bound_ms: float
) -> None:
    point, bound_ns = ramp(SUITE.replace("70%", read)), int(bound_ms * 1e6)
    found = offered(point, rate, bound_ns)
    sent = arrivals(spread(point.at(found), bound_ns))
    assert sum(part.rate_per_s for part in sent) == found
    assert abs(found - rate) <= max(1, 0.02 * rate)


FIXED = """
title = "A rate"
runtime = "60s"
warmup = "{warmup}"
[[profile]]
name = "a"
block = "8k"
read = "{read}"
random = "100%"
rate = {rate}
jobs = 3
queue_depth = 7
"""


def rated(rate: float, read: str = "70%", warmup: str = "5s") -> Point:
    (point,) = make_plan(parse_suite(FIXED.format(rate=rate, read=read, warmup=warmup), "a", "a"), Options())
    return point


@pytest.mark.parametrize(
    ("rate", "warmup", "per_s", "warmup_s"),
    [
        (1000, "5s", 4, 5),
        (1000, "60s", 1, 60),
        (1000, "0s", 5, 4),
        (100, "0s", 2, 10),
        (20, "0s", 1, 20),
        (100_000, "5s", 50, 5),
    ],
)
def test_jobs_of_a_fixed_rate_are_as_slow_as_its_warm_up_allows(
    rate: float, warmup: str, per_s: int, warmup_s: int
) -> None:
    asked = rated(rate, warmup=warmup)
    sent = as_sent(asked)
    parts = arrivals(sent)
    assert {part.rate_per_s / part.jobs for part in parts} == {per_s}
    assert [part.rate_per_s for part in parts] == [rate * 0.7, pytest.approx(rate * 0.3)]
    assert (sent.warmup_ns, sent.runtime_ns) == (warmup_s * 10**9, 60 * 10**9)
    assert sent.expected_ns == sent.least_ns == sent.warmup_ns + sent.runtime_ns


@pytest.mark.parametrize("targets", [1, 3, 8])
def test_all_jobs_of_several_targets_are_as_many_as_fio_takes(targets: int) -> None:
    point = rated(7000, warmup="20s")
    several = replace(point, streams=point.streams * 2)
    assert targets * sum(part.jobs for part in arrivals(as_sent(several, targets))) <= 4096


def test_a_warm_up_that_was_asked_for_leaves_the_run_time_as_it_is() -> None:
    assert as_sent(rated(100, warmup="5min")).runtime_ns == 60 * 10**9
    # Of jobs that do much fio has the warm-up, and ends them within one that is as long as they run.
    assert as_sent(rated(100_000, warmup="5min")).runtime_ns == 600 * 10**9


@given(st.integers(1, 200_000), st.integers(0, 100), st.sampled_from(["0s", "1s", "7s", "5min"]))
def test_a_fixed_rate_is_offered_to_one_percent_or_refused(rate: int, read: int, warmup: str) -> None:
    try:
        parts = as_sent(rated(rate, f"{read}%", warmup)).streams
    except InputError as error:
        assert "fio can't send" in error.message
        # Of whole numbers up to a hundred and more, one is within 1 % of anything.
        assert min(part for part in (read, 100 - read) if part) / 100 * rate < 300
        return
    for part in parts:
        assert isinstance(part.arrival, Open)
        share = read / 100 if part.profile.read_fraction else 1 - read / 100
        assert part.arrival.rate_per_s == pytest.approx(rate * share, rel=0.0101)
        assert part.arrival.jobs <= 2000 and part.arrival.queue_depth == 1
    fio_job.write([as_sent(rated(rate, f"{read}%", warmup)).logged], size_bytes=1 << 30)


def test_without_what_saturates_it_the_response_of_a_fixed_rate_counts_from_when_it_was_due() -> None:
    """M/M/1 has 33 ms, which is that of a single queue: from sending it's less."""
    asked = rated(70, "100%")
    sent = replace(asked.streams[0], arrival=Open(70.0, 1, 35))
    sample = responses(1, 70.0, 35, seed=3)
    mean_ms = statistics.fmean(sample)
    row, _ = counted(
        *(Row(answer(70, mean_ms, statistics.pstdev(sample)), {}), asked, replace(asked, streams=(sent,)), None)
    )
    assert mean_ms < 33
    # As the rows of models have it, and what it's compared by.
    assert (row.jobs, row.queue_depth, row.offered_per_s) == (3, None, 70.0)
    assert row.provenance["open"]["jobs"] == 35
    assert row.outstanding_achieved == pytest.approx(70 * mean_ms / 1e3)
    assert (row.total.latency_mean_ns or 0.0) / 1e6 == pytest.approx(10 / (1 - 0.7), rel=0.01)


def test_fio_takes_a_rate_that_is_spread() -> None:
    text = fio_job.write([spread(ramp().at(5000), 30 * 10**6)], size_bytes=1 << 30)
    done = subprocess.run(["fio", "--parse-only", "--filename=x", "-"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def answer(iops: float, mean_ms: float, deviation_ms: float) -> Result:
    flow = Flow(iops=iops, latency_mean_ns=mean_ms * 1e6, latency_stddev_ns=deviation_ms * 1e6)
    note = {"check": "open-load", "message": "said of every open load"}
    return Result(point="x", total=flow, read=flow, runtime_ns=60 * 10**9, outstanding_asked=99, findings=(note,))


# What saturates one queue that does 1,000 a second of whatever is outstanding.
QUEUE = Result(point="x-qd128", total=Flow(iops=1000.0, latency_mean_ns=128e6))


def waits(per_s: float, service_ms: list[float], seed: int) -> float:
    """The mean wait, in ms, of Poisson arrivals at one server that is simulated (Lindley's recursion)."""
    luck, wait, total = random.Random(seed), 0.0, 0.0
    for service in service_ms:
        total += wait
        wait = max(0.0, wait + service - luck.expovariate(per_s) * 1e3)
    return total / len(service_ms)


@pytest.mark.parametrize("kind", ["constant", "exponential", "mixed"])
def test_how_late_requests_are_is_what_a_simulated_queue_says(kind: str) -> None:
    luck = random.Random(5)
    draw = {
        "constant": lambda: 40.0,
        "exponential": lambda: luck.expovariate(1 / 40.0),
        "mixed": lambda: 5.0 if luck.random() < 0.8 else 120.0,
    }[kind]
    service = [draw() for _ in range(400_000)]
    mean = sum(service) / len(service)
    deviation = (sum((one - mean) ** 2 for one in service) / len(service)) ** 0.5
    asked = ramp(SUITE.replace("70%", "100%")).at(200)
    sent = spread(asked, 30 * 10**6)
    row, _ = counted(Row(answer(200, mean, deviation), {}), asked, sent, QUEUE)
    per_s, late_ms = row.provenance["open"]["per_job_per_s"], row.provenance["open"]["late_mean_ns"] / 1e6
    assert late_ms == pytest.approx(waits(per_s, service, seed=7), rel=0.05)
    assert (row.point, row.offered_per_s, row.outstanding_asked) == (asked.name, 200.0, None)
    assert row.workload == asked.streams[0].to_json()
    (found,) = row.findings
    assert "were sent late" in found["message"] and not overloaded(row)


def responses(queues: int, rate: float, jobs: int, seed: int) -> list[float]:
    """In ms from when they are sent, of requests that `jobs` send to exponential servers of 10 ms.

    Each job sends when a request is due, but never two at a time; each request goes to a queue by luck.
    """
    luck, due, sequence = random.Random(seed), [0] * jobs, 0
    free_at, events, responses = [0.0] * queues, [(0.0, 0, -1, 0.0)], []

    def send(now: float, job: int) -> None:
        nonlocal sequence
        queue, sequence = luck.randrange(queues), sequence + 1
        free_at[queue] = max(now, free_at[queue]) + luck.expovariate(0.1)
        heapq.heappush(events, (free_at[queue], sequence, job, now))

    while len(responses) < 400_000:
        now, _, job, sent = heapq.heappop(events)
        if job < 0:
            heapq.heappush(events, (now + luck.expovariate(rate / 1e3), 0, -1, 0.0))
            job = luck.randrange(jobs)
            due[job] += 1
            if due[job] == 1:
                send(now, job)
            continue
        responses.append(now - sent)
        due[job] -= 1
        if due[job]:
            send(now, job)
    return responses


@pytest.mark.parametrize("queues", [1, 2, 4])
def test_responses_of_many_jobs_are_counted_as_those_of_an_open_load(queues: int) -> None:
    rate = 70.0 * queues
    sent = replace(ramp().streams[0], arrival=Open(rate, 1, round(rate / 2)))
    asked = ramp(SUITE.replace("70%", "100%")).at(rate)
    sample = responses(queues, rate, sent.arrival.jobs, seed=3)
    mean_ms, deviation_ms = statistics.fmean(sample), statistics.pstdev(sample)
    # 128 outstanding at so many exponential queues alike (mean value analysis).
    most = replace(QUEUE, total=Flow(iops=queues * 100.0 * 128 / (128 + queues - 1)))
    bins = Histogram([round(ms * 1e6) for ms in sample], [1] * len(sample))
    measured = Row(answer(rate, mean_ms, deviation_ms), {"read": bins})
    row, histograms = counted(measured, asked, replace(asked, streams=(sent,)), most)
    # M/M/1, at each of them.
    true_ms = 10 / (1 - 0.7)
    assert (row.total.latency_mean_ns or 0.0) / 1e6 == pytest.approx(true_ms, rel=0.01)
    late_ms = row.provenance["open"]["late_mean_ns"] / 1e6
    # What was sent is too fast, and would be too slow if all of the wait were added but at a single queue.
    assert mean_ms < true_ms * 0.99 and (queues == 1 or mean_ms + late_ms > true_ms * 1.02)
    # They are exponential, as those of an open load; what was sent has a 99th percentile that is up to a tenth too low.
    assert histograms["read"].count == bins.count
    for percent, name in ((50, "p50"), (90, "p90"), (99, "p99")):
        counted_ns = getattr(row.read, f"latency_{name}_ns")
        assert counted_ns == pytest.approx(-true_ms * 1e6 * math.log(1 - percent / 100), rel=0.035)
        assert counted_ns == getattr(row.total, f"latency_{name}_ns") == histograms["read"].percentile_ns(percent)


def test_a_load_of_which_part_is_not_done_is_overloaded_and_one_of_busy_jobs_is_not_open() -> None:
    asked = ramp(SUITE.replace("70%", "100%")).at(200)
    sent = spread(asked, 30 * 10**6)
    behind, _ = counted(Row(answer(120, 4000, 1000), {}), asked, sent, QUEUE)
    assert overloaded(behind) and "the rest piled up" in behind.findings[0]["message"]
    # What piles up has no mean wait that could be added.
    assert behind.total.latency_mean_ns == 4000e6 and behind.provenance["open"]["late_fraction"] == 1
    failed, _ = counted(Row(replace(answer(120, 4000, 1000), error="fio was killed"), {}), asked, sent, QUEUE)
    assert not failed.findings
    busy, _ = counted(Row(answer(200, 150, 10), {}), asked, sent, QUEUE)
    assert not overloaded(busy)
    assert (busy.findings[0]["severity"], "not an open load" in busy.findings[0]["message"]) == ("warning", True)


def test_what_saturates_an_open_load_asks_for_the_same_requests() -> None:
    point = saturating(ramp())
    assert (point.name, point.searches, [s.arrival for s in point.streams]) == ("a-qd128", False, [Closed(128)])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('random = "50%"', "random is below 100%"),
        ('think_time = "1ms"', "think_time"),
        ("flush_every = 4", "flush_every"),
    ],
)
def test_what_many_jobs_would_change_is_refused(change: str, said: str) -> None:
    text = SUITE.replace('random = "100%"', change if "random" in change else f'random = "100%"\n{change}')
    with pytest.raises(InputError, match=said):
        check(ramp(text))
