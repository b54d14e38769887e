"""How often the interval of a point that ended by its precision holds the truth, on series whose truth is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median

import pytest

from loadline.judging.precision import Judgement, Looks, Observed, judge, t_975

RUNS = 500
SECONDS = 100
LEAST_COVERED = 0.93

#: A level for each second, 1 being 1,000 I/Os.
Levels = Sequence[float]


def observed(levels: Levels, noise: float, phi: float, rng: random.Random) -> Iterator[Observed]:
    """Seconds at these levels, with noise (a share of the level) that follows itself by `phi`; 32 I/Os outstanding."""
    deviation = rng.gauss(0, 1)
    for level in levels:
        ios = max(1, round(1000 * level * (1 + noise * deviation)))
        deviation = phi * deviation + math.sqrt(1 - phi * phi) * rng.gauss(0, 1)
        yield Observed(10**9, ios, 32e9 * (1 + 0.1 * noise * rng.gauss(0, 1)))


def drift(per_minute: float) -> Levels:
    return [1 - per_minute * second / 60 for second in range(SECONDS)]


def two_modes(dwell_s: float, low: float, rng: random.Random) -> Levels:
    """Mean levels of a device that is now at 1 and now at `low`, for exponentially distributed times."""
    levels, high, left = [], rng.random() < 0.5, rng.expovariate(1 / dwell_s)
    for _ in range(SECONDS):
        now, level = 0.0, 0.0
        while now < 1:
            step = min(1 - now, left)
            level += step * (1 if high else low)
            now, left = now + step, left - step
            if left <= 1e-12:
                high, left = not high, rng.expovariate(1 / dwell_s)
        levels.append(level)
    return levels


def followed(
    levels: Levels, noise: float, phi: float, rng: random.Random, may_end_at: int = 0, moving: bool = False
) -> tuple[Judgement, float, int]:
    """The judgement at the end of a point, its mean in levels, and how many seconds were counted or left out."""
    looks, found = Looks(0.01, moving=moving), None
    for second, one in enumerate(observed(levels, noise, phi, rng), 1):
        found = looks.add(one, may_end=second >= may_end_at)
        if found is not None:
            break
    judged = found or judge(looks.series, cut=True, moving=moving)
    assert judged.iops is not None
    return judged, judged.iops.value / 1000, len(looks.series)


def covers(judged: Judgement, level: float) -> bool:
    assert judged.iops is not None
    return abs(judged.iops.value / 1000 - level) <= judged.iops.ci95 / 1000


def share(case: Callable[[random.Random], bool], seed: str) -> float:
    return sum(case(random.Random(f"{seed} {run}")) for run in range(RUNS)) / RUNS


def test_repeated_looks_at_noise_that_follows_itself_keep_the_coverage() -> None:
    def case(rng: random.Random) -> bool:
        noise, phi = rng.choice([0.002, 0.005, 0.01, 0.02]), rng.choice([0.0, 0.3, 0.6])
        judged, _, _ = followed([1.0] * SECONDS, noise, phi, rng)
        return covers(judged, 1.0)

    assert share(case, "noise") >= LEAST_COVERED


def test_of_a_drift_the_interval_holds_the_mean_of_the_time_that_counted() -> None:
    def case(rng: random.Random) -> bool:
        levels = drift(rng.choice([0.01, 0.03, 0.1, 0.3]))
        judged, _, seconds = followed(levels, rng.choice([0.005, 0.02]), 0.3, rng)
        counted = levels[judged.skipped : seconds]
        return covers(judged, sum(counted) / len(counted))

    assert share(case, "drift") >= LEAST_COVERED


def test_of_a_drift_of_a_tenth_a_minute_the_interval_holds_the_last_level_or_it_is_called_not_steady() -> None:
    def case(rng: random.Random) -> bool:
        levels = drift(rng.choice([0.1, 0.2, 0.3]))
        judged, _, seconds = followed(levels, rng.choice([0.005, 0.02]), 0.3, rng)
        return not judged.steady or covers(judged, levels[seconds - 1])

    assert share(case, "fast drift") >= LEAST_COVERED


def test_of_a_load_that_moves_the_interval_holds_the_last_level_of_a_drift_that_noise_hides() -> None:
    def case(rng: random.Random) -> bool:
        levels = drift(rng.choice([0.01, 0.02, 0.03]))
        judged, _, seconds = followed(levels, rng.choice([0.005, 0.02]), rng.choice([0.0, 0.3]), rng, moving=True)
        return covers(judged, levels[seconds - 1])

    assert share(case, "slow drift") >= LEAST_COVERED


def test_of_two_modes_the_interval_holds_their_mean() -> None:
    def case(rng: random.Random) -> bool:
        low = rng.choice([0.8, 0.9])
        judged, _, _ = followed(two_modes(rng.choice([1, 2, 4]), low, rng), 0.01, 0.3, rng)
        return covers(judged, (1 + low) / 2)

    assert share(case, "modes") >= LEAST_COVERED


def with_some_that_wait(rng: random.Random, outstanding: int | None) -> Iterator[Observed]:
    """Seconds of 32 outstanding I/Os whose ages, up to 10 s all together, are in the sums once they end, not before."""
    ages = 0.0
    while True:
        before, ages = ages, rng.uniform(0, 10e9)
        yield Observed(10**9, round(1000 * rng.gauss(1, 0.005)), 32e9 - (ages - before), outstanding)


def test_by_littles_law_the_latency_of_a_closed_load_is_known_though_some_ios_wait_for_long() -> None:
    def ended(rng: random.Random, outstanding: int | None) -> tuple[Judgement, int]:
        looks, found = Looks(0.01), None
        for one in with_some_that_wait(rng, outstanding):
            found = looks.add(one)
            if found is not None or len(looks.series) == SECONDS:
                break
        return found or judge(looks.series), len(looks.series)

    def case(rng: random.Random) -> bool:
        latency = ended(rng, 32)[0].latency_mean_ns
        return latency is not None and abs(latency.value - 32e6) <= latency.ci95

    assert share(case, "waiting") >= LEAST_COVERED
    seconds = [[ended(random.Random(seed), outstanding)[1] for seed in range(51)] for outstanding in (32, None)]
    assert median(seconds[0]) < 0.7 * median(seconds[1])


def test_where_the_host_holds_requests_back_littles_law_says_nothing_of_the_latency() -> None:
    """A fifth of the time each of the 32 is with the host, between its answer and its next request."""
    rng = random.Random(5)
    away = [replace(one, latency_sum_ns=0.8 * one.latency_sum_ns) for one in observed([1.0] * 50, 0.01, 0.0, rng)]
    assert judge([replace(one, outstanding=32) for one in away]) == judge(away)


def test_behind_the_cliff_of_a_cache_the_interval_holds_the_level_there_or_it_is_called_not_steady() -> None:
    def case(rng: random.Random) -> bool:
        cliff = rng.choice([5, 15, 40])
        levels = [1.0 if second < cliff else 0.5 for second in range(SECONDS)]
        judged, _, _ = followed(levels, rng.choice([0.005, 0.02]), 0.3, rng, may_end_at=2 * cliff)
        return not judged.steady or covers(judged, 0.5)

    assert share(case, "cliff") >= LEAST_COVERED


def test_a_cliff_early_in_the_series_is_left_out_of_the_figures() -> None:
    rng = random.Random(1)
    levels = [1.0] * 15 + [0.5] * (SECONDS - 15)
    judged, level, _ = followed(levels, 0.005, 0.0, rng, may_end_at=30)
    assert judged.skipped >= 15
    assert level == pytest.approx(0.5, rel=0.01)


def test_a_steady_quiet_series_ends_at_the_third_look() -> None:
    _, _, seconds = followed([1.0] * SECONDS, 0.001, 0.0, random.Random(2))
    assert seconds == 12


def test_a_point_that_may_not_end_yet_ends_as_soon_as_it_may() -> None:
    _, _, seconds = followed([1.0] * SECONDS, 0.001, 0.0, random.Random(2), may_end_at=57)
    assert seconds == 57


def test_noise_that_leaves_it_imprecise_never_ends_it() -> None:
    judged, _, seconds = followed([1.0] * SECONDS, 0.2, 0.0, random.Random(3))
    assert seconds == SECONDS
    assert judged.iops is not None and not judged.iops.within(0.01)


def test_fewer_than_ten_observations_are_not_judged() -> None:
    few = list(observed([1.0] * 9, 0.01, 0.0, random.Random(4)))
    assert judge(few) == judge([]) == Judgement()


def test_seconds_without_any_io_are_not_judged() -> None:
    assert judge([Observed(10**9, 0, 0.0)] * 20).iops is None


@pytest.mark.parametrize(
    ("rounds", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([100, 111, 91, 109, 93], True),  # 20 % apart, without a slope
        ([100, 112, 91, 109, 93], False),
        ([105, 102, 100, 98, 95], True),  # a line that falls by 9.6
        ([105, 103, 100, 97, 95], False),  # one that falls by 10.4
    ],
)
def test_steady_is_what_the_specification_says_of_five_rounds(rounds: list[int], steady: bool) -> None:
    series = [Observed(10**9, ios, 32e9) for ios in rounds for _ in range(4)]
    assert judge(series).steady is steady


@pytest.mark.parametrize(("freedom", "printed"), [(4, 2.776), (9, 2.262), (10, 2.228), (30, 2.042), (120, 1.980)])
def test_students_t_is_that_of_printed_tables(freedom: float, printed: float) -> None:
    assert t_975(freedom) == pytest.approx(printed, rel=0.003)


def test_the_interval_of_independent_seconds_is_a_textbooks_or_somewhat_wider() -> None:
    widths = []
    for seed in range(51):
        iops = judge(list(observed([1.0] * 400, 0.02, 0.0, random.Random(seed)))).iops
        assert iops is not None
        widths.append(iops.ci95)
    textbook = 1.96 * 0.02 * 1000 / math.sqrt(400)
    assert textbook <= median(widths) <= 1.5 * textbook
