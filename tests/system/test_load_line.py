"""The search for a load line, on curves whose load line is known."""

from __future__ import annotations

import heapq
import math
import random
import statistics
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loadline.judging.precision import Observed, judge
from loadline.result.schema import Flow, Result
from loadline.system.load_line import (
    LoadLine,
    Probe,
    UnansweredError,
    bounds,
    keeps,
    luck,
    search_outstanding,
    search_rate,
    share,
)
from loadline.system.search import Scale, Seen, highest
from loadline.workload.limit import parse_limit

LIMIT = 30.0


def outstanding(curve: Callable[[int], float], low: int = 1, high: int = 4096) -> LoadLine[int, float]:
    return search_outstanding(curve, lambda response: response <= LIMIT, low, high, lambda response: response / LIMIT)


def rate(
    curve: Callable[[float], float],
    limit: float,
    low: float,
    high: float,
    tolerance: float,
    ceiling: float | None = None,
) -> LoadLine[float, float]:
    def saturation(response: float) -> float | None:
        return ceiling if response == math.inf else None

    return search_rate(
        curve, lambda response: response <= limit, low, high, lambda response: response / limit, saturation, tolerance
    )


def loads(line: LoadLine[int, float]) -> tuple[int | None, int | None]:
    return line.highest and line.highest.load, line.next and line.next.load


@given(st.integers(1, 4096), st.data())
def test_of_a_rising_curve_the_last_load_that_holds_is_found_with_the_next_one(high: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(1, high))
    last = data.draw(st.integers(low - 1, high))  # low - 1: none holds
    line = outstanding(lambda load: LIMIT * load / last if last else LIMIT + load, low, high)
    assert loads(line) == (None if last < low else last, None if last == high else last + 1)
    assert line.monotone
    asked = [probe.load for probe in line.probes]
    assert asked == sorted(set(asked))
    assert len(asked) <= 2 * math.log2(high) + 4


@given(st.lists(st.floats(0.2, 1.0), min_size=1, max_size=40), st.floats(0, 5), st.integers(1, 1023))
def test_of_closed_queues_the_last_load_below_1024_takes_nine_probes_at_most(
    demands: list[float], think: float, last: int
) -> None:
    """Exact mean value analysis of stations in a row (Reiser and Lavenberg 1980)."""
    queues, responses = [0.0] * len(demands), [0.0]
    for load in range(1, 4097):
        visits = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        responses.append(sum(visits))
        queues = [load * visit / (sum(visits) + think) for visit in visits]
    limit = (responses[last] + responses[last + 1]) / 2
    line = search_outstanding(responses.__getitem__, lambda r: r <= limit, 1, 4096, lambda r: r / limit)
    assert loads(line) == (last, last + 1)
    assert len(line.probes) <= 9


@given(st.integers(1, 200), st.floats(1, 10), st.floats(0.7, 3))
def test_of_many_servers_whose_queue_begins_suddenly_it_takes_no_more_than_halving(
    servers: int, sharp: float, where: float
) -> None:
    """From a soft bend at saturation to a sharp one, the limit on either side of it."""
    responses = [(1 + (load / servers) ** sharp) ** (1 / sharp) for load in range(4097)]
    last = min(1023, max(1, int(where * servers)))
    limit = (responses[last] + responses[last + 1]) / 2
    assume(last * math.log(responses[last + 1] / responses[last]) > 0.02)
    line = search_outstanding(responses.__getitem__, lambda r: r <= limit, 1, 4096, lambda r: r / limit)
    assert loads(line) == (last, last + 1)
    beyond = 1
    assert len(line.probes) <= math.log2(4096) + beyond


def test_a_flat_curve_takes_a_few_steps_more_than_halving_at_most() -> None:
    """It rises in jumps and hardly at all between them, so lines through its answers mislead."""
    corners = [
        (1, 0.7),
        (14, 1.8),
        (299, 1.96),
        (314, 1.97),
        (360, 30.0),
        (377.5, 30.0007),
        (512, 30.006),
        (4096, 30.01),
    ]

    def curve(load: int) -> float:
        (one, low), (other, high) = next(pair for pair in pairwise(corners) if load <= pair[1][0])
        return low + (high - low) * (load - one) / (other - one)

    line = search_outstanding(curve, lambda r: r <= 30.0007, 1, 4096, lambda r: r / 30.0007)
    assert loads(line) == (377, 378)
    leaps, beyond = 4, 1
    assert len(line.probes) <= leaps + math.ceil(math.log2(16 * 256)) + 3 + beyond


@given(st.integers(1, 4095))
def test_a_cliff_is_found_as_well_as_a_slope(edge: int) -> None:
    line = outstanding(lambda load: 0.1 if load <= edge else 1000.0)
    assert loads(line) == (edge, edge + 1)
    leaps, beyond = 3, 1
    assert len(line.probes) <= leaps + math.log2(4096) + beyond


def test_a_load_that_never_holds_has_no_load_line() -> None:
    line = outstanding(lambda load: LIMIT + load)
    assert (line.highest, line.next and line.next.load, line.monotone) == (None, 1, True)


def test_a_load_that_always_holds_ends_at_the_highest_that_is_allowed() -> None:
    line = outstanding(lambda load: 1.0, high=1000)
    assert loads(line) == (1000, None)
    assert line.highest is not None and line.highest.answer == 1.0


@given(st.integers(3, 1000))
def test_a_curve_that_comes_back_under_its_limit_is_said_to_do_so(begin: int) -> None:
    """It comes back at twice the load line, where the search looks last; or is leapt over, and is looked for then."""
    end = 2 * begin - 1

    def curve(load: int) -> float:
        return LIMIT * load / (begin - 1) if load < begin else 2 * LIMIT if load <= end else 0.5 * LIMIT / begin

    line = outstanding(curve)
    assert not line.monotone
    assert loads(line) == (begin - 1, begin)
    assert any(probe.holds and probe.load > end for probe in line.probes)


def test_a_better_answer_of_the_very_next_step_is_no_reason_to_ask_again() -> None:
    """Next to saturation one step more is far more load."""
    answers = {1: 0.4, 2: 0.08, 3: 5.0}

    def see(step: int) -> Seen:
        part = answers.pop(step)
        return Seen(part <= 1, part, 0.01)

    assert highest(see, Scale(lambda step: 4.0**step, lambda a, b: (a + b) // 2, lambda step: step + 1), 3, 1) == 2


def test_a_curve_that_is_too_slow_only_at_its_beginning_has_no_line_and_is_not_monotone() -> None:
    line = outstanding(lambda load: 1000.0 if load < 3 else 1.0)
    assert (line.highest, line.monotone) == (None, False)


@given(st.floats(1.0, 1e9), st.floats(1e-4, 0.5))
def test_the_highest_rate_is_found_to_the_tolerance(last: float, tolerance: float) -> None:
    line = rate(lambda load: load, last, 1.0, 2e9, tolerance)
    assert line.highest is not None and line.next is not None
    assert line.highest.load <= last < line.next.load <= line.highest.load * (1 + tolerance)


def test_a_rate_near_to_the_saturation_of_m_m_1_keeps_its_limit() -> None:
    """Kleinrock, Queueing Systems I, 3.2: a mean response of 1 / (mu - lambda), so 30 ms at mu - 1 / 0.03."""
    line = rate(lambda r: 1 / (142 - r) if r < 142 else math.inf, 0.03, 1.0, 1e6, 1e-6, ceiling=142.0)
    assert line.highest is not None
    assert line.highest.load == pytest.approx(142 - 1 / 0.03, rel=1e-6)
    assert len(line.probes) <= 9


@given(st.integers(2, 4000), st.integers(0, 12))
def test_a_search_that_gets_no_answer_ends_with_what_it_knows(last: int, answered: int) -> None:
    asked: list[int] = []

    def curve(load: int) -> float:
        if len(asked) == answered:
            raise UnansweredError
        asked.append(load)
        return LIMIT * load / last

    line = outstanding(curve)
    assert [probe.load for probe in line.probes] == sorted(asked)
    held, failed = loads(line)
    assert held == max((load for load in asked if load <= last), default=None)
    assert failed == min((load for load in asked if load > last), default=None)
    assert line.complete == ((held, failed) == (last, last + 1))


@given(st.integers(0, 12))
def test_a_search_over_rates_that_gets_no_answer_is_complete_where_the_tolerance_is_reached(answered: int) -> None:
    asked: list[float] = []

    def curve(load: float) -> float:
        if len(asked) == answered:
            raise UnansweredError
        asked.append(load)
        return load

    line = rate(curve, 100.0, 1.0, 1e4, 0.01)
    assert len(line.probes) == len(asked)
    if line.complete:
        assert line.highest is not None and line.next is not None
        assert line.highest.load <= 100.0 < line.next.load <= 1.01 * line.highest.load
    else:
        assert len(asked) == answered


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (Result(total=Flow(latency_mean_ns=30e6)), True),
        (Result(total=Flow(latency_mean_ns=30.1e6), read=Flow(latency_mean_ns=1e6)), False),
        (Result(total=Flow(latency_mean_ns=1e6), error="the disk has gone"), False),
        (Result(), False),
    ],
)
def test_a_result_keeps_a_limit_only_with_its_figure_and_without_an_error(result: Result, kept: bool) -> None:
    assert keeps(result, parse_limit("mean<=30ms")) == kept


def test_a_limit_of_reads_looks_at_reads_only() -> None:
    result = Result(total=Flow(latency_p99_ns=9e6), read=Flow(latency_p99_ns=1e6), write=Flow(latency_p99_ns=10e6))
    held = [keeps(result, parse_limit(f"p99<=5ms{of}")) for of in ("", " of reads", " of writes")]
    assert held == [False, True, False]


def noisy(seed: int, deviation: float) -> tuple[LoadLine[int, Result], int]:
    """A search on a closed machine-repair curve whose answers have luck and know how much; and its true load line."""
    chance, limit = random.Random(seed), parse_limit("mean<=30ms")
    service_ns, think_ns = chance.uniform(0.2e6, 3e6), chance.uniform(0, 20e6)

    def truth(load: int) -> float:
        queue, response_ns = 0.0, service_ns
        for n in range(1, load + 1):
            response_ns = service_ns * (1 + queue)
            queue = n * response_ns / (response_ns + think_ns)
        return response_ns

    def ask(load: int) -> Result:
        mean_ns = truth(load) * (1 + chance.gauss(0, deviation))
        return Result(total=Flow(latency_mean_ns=mean_ns), latency_mean_ci95_ns=1.96 * deviation * mean_ns)

    line = search_outstanding(ask, lambda one: keeps(one, limit), 1, 512, lambda one: share(one, limit), luck)
    return line, max(load for load in range(1, 513) if truth(load) <= limit.bound_ns)


@pytest.mark.parametrize("deviation", [0.005, 0.02])
def test_the_bounds_of_a_load_line_hold_the_true_one_nine_times_in_ten(deviation: float) -> None:
    held = width = quick = 0.0
    for seed in range(200):
        line, true = noisy(seed, deviation)
        low, high = bounds(line, parse_limit("mean<=30ms"), rate=False)
        assert low is not None and high is not None and low <= high
        held += math.floor(low) <= true <= math.ceil(high)
        width += (high - low) / true
        quick += len(line.probes) <= 9
    assert held / 200 >= 0.9
    assert width / 200 <= 12 * deviation + 0.1
    assert quick / 200 >= 0.97


def noisy_rate(seed: int, far: float) -> tuple[LoadLine[float, float], float]:
    """A search on an open curve that knows responses, and the rate of saturation that it's told, to 1 %; the truth.

    Of responses far above the limit it's told that they are known to `far` only. The limit is met at 60 to 97 % of
    saturation, where load lines lie.
    """
    chance = random.Random(seed)
    service, ceiling, bend = chance.uniform(1, 6), 10 ** chance.uniform(1.5, 5), chance.choice([0.5, 1, 2, 5])
    rise = service * chance.uniform(0.02, 1)

    def response(load: float) -> float:
        return service + rise * (load / ceiling) ** bend / (1 - load / ceiling)

    true = ceiling * chance.uniform(0.6, 0.97)
    limit = response(true)

    def ask(load: float) -> float:
        return response(load) * math.exp(chance.gauss(0, 0.01)) if load < ceiling else math.inf

    known = ceiling * (1 + chance.gauss(0, 0.01))
    line = search_rate(
        *(ask, lambda answer: answer <= limit, 10.0, 1e6, lambda answer: answer / limit),
        lambda answer: ceiling if answer == math.inf else None,
        expected=known,
        error=lambda answer: 0.01 if answer <= 1.5 * limit else far,
    )
    return line, true


@pytest.mark.parametrize("far", [0.01, 1.0])
def test_with_luck_of_one_percent_a_rate_is_mostly_found_to_two_percent_in_nine_probes(far: float) -> None:
    found = [noisy_rate(seed, far) for seed in range(300)]
    off = [abs(line.highest.load / true - 1) if line.highest else 1.0 for line, true in found]
    assert sum(one <= 0.02 for one in off) >= 0.96 * len(found)
    saturating = 1
    assert sum(saturating + len(line.probes) <= 9 for line, _ in found) >= 0.97 * len(found)


def test_which_rates_are_the_lowest_and_the_highest_does_not_tell_where_the_line_is() -> None:
    def ask(load: float) -> float:
        return 1 / (150 - load) if load < 150 else math.inf

    def line(low: float, high: float) -> tuple[float, float]:
        found = search_rate(
            *(ask, lambda answer: answer <= 0.0123, low, high, lambda answer: answer / 0.0123),
            lambda answer: 150.0 if answer == math.inf else None,
        )
        assert found.highest is not None and found.next is not None
        return found.highest.load, found.next.load

    assert len({line(low, high) for low in (1.0, 7.3, 50.0, 61.7) for high in (140.0, 1e4, 123_456.0)}) == 1


def test_a_rate_far_below_is_no_line_because_none_near_it_held_by_luck() -> None:
    ceiling, true, chance = 1157.0, 645.0, random.Random(1)

    def response(load: float) -> float:
        return 4.2 + 25.8 * (load / true) ** 1.2 * ((ceiling - true) / (ceiling - load)) ** 0.35

    def ask(load: float) -> float:
        return response(load) * math.exp(chance.gauss(0, 0.009)) if load < ceiling else math.inf

    for _ in range(500):
        line = search_rate(
            *(ask, lambda answer: answer <= response(true), 10.0, 1e6, lambda answer: answer / response(true)),
            lambda answer: ceiling if answer == math.inf else None,
            expected=ceiling * math.exp(chance.gauss(0, 0.01)),
            error=lambda _: 0.009,
        )
        assert line.highest is not None
        assert abs(line.highest.load / true - 1) <= 0.05


@pytest.mark.parametrize("stalled", [500.0, 540.0, 580.0])
def test_a_probe_that_stalls_once_decides_nothing(stalled: float) -> None:
    ceiling, true, chance = 1157.0, 645.0, random.Random(1)
    asked: list[float] = []

    def ask(load: float) -> tuple[float, float]:
        """Response and its relative standard error. One probe near `stalled` takes three times as long, and says so."""
        if load >= ceiling:
            return math.inf, 0.0
        first = 0.9 * stalled < load < 1.1 * stalled and not any(0.9 * stalled < one < 1.1 * stalled for one in asked)
        asked.append(load)
        response = 4 + 12 / (1 - load / ceiling) * math.exp(chance.gauss(0, 0.005))
        return (3 * response, 0.3) if first else (response, 0.005)

    limit = 4 + 12 / (1 - true / ceiling)
    line = search_rate(
        *(ask, lambda answer: answer[0] <= limit, 10.0, 1e6, lambda answer: answer[0] / limit),
        lambda answer: ceiling if answer[0] == math.inf else None,
        expected=ceiling,
        error=lambda answer: answer[1],
    )
    assert line.highest is not None
    assert abs(line.highest.load / true - 1) <= 0.02
    assert line.monotone


def queued(seed: int) -> tuple[LoadLine[float, Result], float]:
    """A search over rates of eight servers with one queue (M/M/8), each probe 40 s of them; and its true load line.

    Near saturation 40 s are a few relaxation times: their means are anywhere, and say so. None tells saturation.
    """
    chance, limit, servers, service_s = random.Random(seed), parse_limit("mean<=30ms"), 8, 7e-3
    most = servers / service_s

    def ask(rate: float) -> Result:
        free, now, warm, last = [0.0] * servers, 0.0, 20.0, 60.0
        numbers, sums = [0] * 40, [0.0] * 40
        while (now := now + chance.expovariate(rate)) < last:
            ended = max(heapq.heappop(free), now) + chance.expovariate(1 / service_s)
            heapq.heappush(free, ended)
            if warm <= ended < last:
                numbers[int(ended - warm)] += 1
                sums[int(ended - warm)] += (ended - now) * 1e9
        mean = judge([Observed(10**9, *one) for one in zip(numbers, sums, strict=True)]).latency_mean_ns
        assert mean is not None
        return Result(total=Flow(latency_mean_ns=mean.value), latency_mean_ci95_ns=mean.ci95)

    line = search_rate(
        *(ask, lambda one: keeps(one, limit), 10.0, 1e5, lambda one: share(one, limit), lambda _: None),
        expected=most * (1 + chance.gauss(0, 0.005)),
        error=luck,
        offered=round,
    )

    def response_ns(rate: float) -> float:
        """Erlang 1917: C(c, a) by his B, and R = S + C S / (c - a)."""
        offered, blocked = rate * service_s, 1.0
        for number in range(1, servers + 1):
            blocked = offered * blocked / (number + offered * blocked)
        waits = blocked / (1 - offered / servers * (1 - blocked))
        return (service_s + waits * service_s / (servers - offered)) * 1e9

    return line, max(rate for rate in range(1, math.floor(most)) if response_ns(rate) <= limit.bound_ns)


def test_where_nearly_nothing_is_known_of_each_answer_a_rate_is_still_found_to_two_percent() -> None:
    found = [queued(seed) for seed in range(12)]
    off = [abs(line.highest.load / true - 1) if line.highest else 1.0 for line, true in found]
    assert sum(one <= 0.02 for one in off) >= 11
    saturating = 1
    assert statistics.mean(saturating + len(line.probes) for line, _ in found) <= 9


@given(st.floats(0.35, 1.0), st.integers(1, 3), st.floats(1.5, 20))
def test_a_saturation_that_was_expected_too_low_takes_few_probes_more(low: float, bend: int, far: float) -> None:
    """A fixed number of outstanding I/Os doesn't saturate a system that does more than that at once."""

    def response(load: float) -> float:
        return 1 / (1 - (load / 1000) ** bend) if load < 1000 else math.inf

    line = search_rate(
        *(response, lambda answer: answer <= far, 10.0, 1e6, lambda answer: answer / far),
        lambda answer: 1000.0 if answer == math.inf else None,
        expected=low * 1000,
    )
    true = 1000 * (1 - 1 / far) ** (1 / bend)
    assert line.highest is not None and line.next is not None
    assert line.highest.load <= true * 1.000001 and line.next.load >= true * 0.999999
    assert len(line.probes) <= 20


def test_a_rate_that_failed_by_luck_below_an_unknown_saturation_is_no_line() -> None:
    """Everything up to saturation, which was expected at a quarter of it, is as near to the limit."""
    top, found = 2000.0, list[float]()
    for seed in range(100):
        chance = random.Random(seed)

        def ask(load: float, chance: random.Random = chance) -> float:
            return math.exp(chance.gauss(-0.04, 0.02)) if load < top else math.inf

        line = search_rate(
            *(ask, lambda answer: answer <= 1, 10.0, 1e5, lambda answer: answer),
            lambda answer: top if answer == math.inf else None,
            expected=top / 4,
            error=lambda _: 0.02,
        )
        assert line.highest is not None and line.next is not None
        found.append(line.highest.load)
    assert sum(load > top / 2 for load in found) >= 98


def test_of_a_system_that_never_saturates_few_rates_are_asked_for() -> None:
    line = search_rate(
        *(lambda _: 4.0, lambda answer: answer <= 30, 10.0, 1e5, lambda answer: answer / 30, lambda _: None),
        expected=500.0,
    )
    assert line.highest is not None and line.highest.load == 1e5
    assert len(line.probes) <= 14


def test_what_is_named_as_failing_failed_also_where_luck_ends_the_search() -> None:
    """One of the probes beyond the line may hold, and one below it fail: these are told."""
    lucky = 0
    for seed in range(300):
        line, _ = noisy_rate(seed, 1.0)
        assert line.highest is not None and line.next is not None
        at, end = line.highest.load, line.next.load
        assert line.highest.holds and not line.next.holds and at < end
        against = [one for one in line.probes if one.load < end and one.holds == (one.load > at) and one.load != at]
        assert list(line.against) == against
        lucky += any(one.load > at for one in against)
    assert lucky


@given(st.floats(0.2, 0.95), st.integers(0, 1000))
def test_of_a_rate_at_which_the_response_jumps_luck_ends_no_search(edge: float, seed: int) -> None:
    chance, top = random.Random(seed), 1000.0

    def ask(load: float) -> float:
        if load >= top:
            return math.inf
        return (0.2 if load <= edge * top else 5) * (1 + load / (top - load) / 100) * math.exp(chance.gauss(0, 0.01))

    line = search_rate(
        *(ask, lambda answer: answer <= 1, 10.0, 1e6, lambda answer: answer),
        lambda answer: top if answer == math.inf else None,
        expected=top,
        error=lambda _: 0.01,
    )
    assert line.highest is not None and line.next is not None
    assert line.highest.load <= edge * top < line.next.load <= 1.0101 * line.highest.load


@given(st.floats(10, 180), st.integers(2, 40))
def test_of_rates_that_can_be_offered_the_last_that_holds_is_found_with_the_next_one(edge: float, each: int) -> None:
    def offered(rate: float) -> float:
        return float(each * max(1, round(rate / each)))

    line = search_rate(
        *(lambda load: load / edge, lambda answer: answer <= 1, 1.0, 400.0, lambda answer: answer),
        lambda _: None,
        offered=offered,
    )
    last = edge // each * each
    assert (line.highest and line.highest.load) == (last or None)
    assert line.next is not None and line.next.load == last + each
    asked = [probe.load for probe in line.probes]
    assert asked == sorted({offered(load) for load in asked})


@pytest.mark.parametrize("most", [2.0, 20.0, 500.0])
def test_with_luck_no_rate_that_is_offered_is_asked_for_twice_and_the_line_is_one_off_at_most(most: float) -> None:
    """Queues of one server, of which answers are known to 5 %."""
    for seed in range(200):
        chance, asked = random.Random(seed), list[float]()
        true = chance.uniform(1, most)

        def ask(load: float, chance: random.Random = chance, asked: list[float] = asked, true: float = true) -> float:
            asked.append(load)
            top = true / 0.8
            return 0.2 / (1 - load / top) * math.exp(chance.gauss(0, 0.05)) if load < top else math.inf

        line = search_rate(
            *(ask, lambda answer: answer <= 1, 1.0, most, lambda answer: answer),
            lambda answer, true=true: true / 0.8 if answer == math.inf else None,  # type: ignore[misc]
            expected=true / 0.8,
            error=lambda _: 0.05,
            offered=lambda load: float(round(load)),
        )
        assert asked == [*dict.fromkeys(asked)] and all(load == round(load) for load in asked)
        assert line.highest is None or abs(line.highest.load - true) <= 1 + 0.05 * true, (seed, true, line.highest)
        assert len(asked) <= 12


def test_bounds_of_a_rate_are_where_the_curves_of_its_intervals_meet_the_limit() -> None:
    """Of M/M/1 1 / response is straight, so they are exact."""

    def ask(load: float) -> Result:
        mean_ns = 1e9 / (100 - load) if load < 100 else math.inf
        error = "above saturation" if load >= 100 else None
        return Result(total=Flow(latency_mean_ns=mean_ns), latency_mean_ci95_ns=0.1 * mean_ns, error=error)

    limit = parse_limit("mean<=50ms")

    def saturation(one: Result) -> float | None:
        return 100.0 if one.error else None

    line = search_rate(ask, lambda one: keeps(one, limit), 1.0, 1e4, lambda one: share(one, limit), saturation)
    low, high = bounds(line, limit, rate=True, saturation_per_s=100.0)
    assert low == pytest.approx(100 - 20 * 1.1, rel=0.01)
    # Above it there may be no probe but one beyond saturation.
    assert high is not None and 100 - 20 * 0.9 <= high < 90


def test_bounds_of_a_limit_on_a_percentile_are_those_of_its_own_intervals() -> None:
    def answer(load: int) -> Result:
        sure = {"limited": {"figure": "latency_p99_ns", "ci95_fraction": 0.1}}
        return Result(total=Flow(latency_p99_ns=load * 2.5e6), provenance=sure)

    probes = tuple(Probe(load, answer(load), load <= 12) for load in (8, 16))
    line = LoadLine(probes[0], probes[1], True, probes)
    # From 22 to 44 ms, and from 18 to 36.
    assert bounds(line, parse_limit("p99<=30ms"), rate=False) == (
        pytest.approx(8 + 8 * 8 / 22), pytest.approx(8 + 8 * 12 / 18),
    )  # fmt: skip
    assert bounds(line, parse_limit("p95<=30ms"), rate=False) == (None, None)


def test_bounds_hold_the_load_that_is_given_where_luck_ended_the_search_below_the_crossing() -> None:
    def answer(load: float) -> Result:
        return Result(total=Flow(latency_mean_ns=(load - 70) * 1e6), latency_mean_ci95_ns=1e6)

    probes = tuple(Probe(load, answer(load), load <= 95) for load in (90.0, 95.0, 110.0))
    low, high = bounds(LoadLine(probes[0], probes[2], True, probes), parse_limit("mean<=30ms"), rate=True)
    assert low == 90 and high is not None and high > 95


@pytest.mark.parametrize("limit", ["p99<=30ms", "mean<=30ms of reads", "mean<=30ms"])
def test_without_intervals_of_what_is_limited_nothing_is_said_of_bounds(limit: str) -> None:
    probes = tuple(Probe(load, Result(total=Flow(latency_mean_ns=load * 1e6)), load <= 30) for load in (1, 30, 31))
    assert bounds(LoadLine(probes[1], probes[2], True, probes), parse_limit(limit), rate=False) == (None, None)
