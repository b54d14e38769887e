"""Plans: the points that a suite makes under the options of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from workload.strategies import points as any_points

from loadline.errors import InputError
from loadline.workload.limit import Best, Limit, Ramp, parse_limit
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import BlockShare, Closed, Open, Profile
from loadline.workload.rounds import Rounds
from loadline.workload.suite import load_suite, parse_suite

HEAD = 'title = "T"\nruntime = "60s"\nwarmup = "10s"\n'
PROFILE = '[[profile]]\nname = "{}"\nblock = "4k"\nread = "50%"\nrandom = "100%"\n'
LIMIT = 'limit = "mean<=30ms"\n'
RAMP = PROFILE.format("a") + 'limit = "p99<=5ms of reads"\nramp = { from = 2, to = 100 }\n'
BURSTS = 'rate = 1000\nbursts = { times = 4, length = "10ms", every = "100ms" }\n'
TYPICAL_12 = load_suite("typical-12")[0]


def plan(text: str, options: Options = Options(), seed: int | None = None) -> tuple[Point, ...]:
    return make_plan(parse_suite(text, "s", "s.toml"), options, seed)


def test_a_sweep_makes_a_point_for_each_depth_and_names_it() -> None:
    points = make_plan(TYPICAL_12, Options(queue_depths=(1, 8, 32), only=("oltp-db",)))
    assert [p.name for p in points] == ["oltp-db-qd1", "oltp-db-qd8", "oltp-db-qd32"]
    assert [p.streams[0].arrival.queue_depth for p in points] == [1, 8, 32]


def test_names_tell_only_what_differs() -> None:
    text = HEAD + "queue_depth = 4\njobs = [1, 2]\nrate = [100.5, 1_000_000]\n" + PROFILE.format("a")
    assert [p.name for p in plan(text)] == ["a-j1-r100.5", "a-j1-r1000000", "a-j2-r100.5", "a-j2-r1000000"]


def test_sweeps_over_sizes_and_places_are_named_too() -> None:
    swept = PROFILE.format("a").replace('"4k"', '["512", "4k"]') + 'start = ["0%", "12.5%", "1G", "100GB", "7168P"]\n'
    points, places = plan(HEAD + swept), ("0", "12.5", "1GiB", "100GB", "7340032TiB")
    assert [p.name for p in points] == [f"a-b{b}-at{at}" for b in ("512", "4k") for at in places]
    assert {p.profile_name for p in points} == {"a"}
    (first, *_, last) = plan(HEAD + swept + LIMIT)
    assert (first.name, last.name, last.ramp) == ("a-b512-at0", "a-b4k-at7340032TiB", first.ramp)


def test_two_points_of_one_name_are_refused() -> None:
    text = HEAD + "queue_depth = [8, 9]\n" + PROFILE.format("a") + PROFILE.format("a-qd8") + "queue_depth = 1\n"
    with pytest.raises(InputError, match="2 points named 'a-qd8'"):
        plan(text)


def test_quick_bounds_a_point_to_5_s_with_its_warm_up_and_marks_it() -> None:
    (point,) = plan(HEAD + PROFILE.format("a"), Options(quick=True))
    assert (point.runtime_ns, point.warmup_ns, point.quick) == (4 * 10**9, 10**9, True)
    for one in make_plan(TYPICAL_12, Options(quick=True, runtime_ns=60 * 10**9)):
        assert one.runtime_ns + one.warmup_ns == 5 * 10**9 and one.quick


def test_quick_leaves_a_shorter_point_as_short_as_it_is() -> None:
    assert make_plan(TYPICAL_12, Options(quick=True, runtime_ns=10**9))[0].runtime_ns == 10**9


def test_options_change_jobs_runtime_and_warm_up() -> None:
    (point,) = plan(HEAD + PROFILE.format("a"), Options(jobs=3, runtime_ns=7 * 10**6, warmup_ns=0))
    assert (point.streams[0].arrival.jobs, point.runtime_ns, point.warmup_ns) == (3, 7 * 10**6, 0)


def test_as_published_leaves_a_suite_that_says_nothing_of_it_as_it_is_for_its_whole_run_time() -> None:
    text = HEAD + PROFILE.format("a")
    (asked,) = plan(text, Options(stop="fixed"))
    assert plan(text, Options(as_published=True)) == (replace(asked, settle_ns=None),)


@pytest.mark.parametrize(
    ("key", "options", "precision"),
    [
        ("", Options(), 0.01),
        ("", Options(stop="fixed"), None),
        ("", Options(as_published=True), None),
        ('stop = "fixed"\n', Options(), None),
        ('stop = "fixed"\n', Options(stop="precise"), 0.01),
        ('stop = "fixed"\n', Options(precision_fraction=0.05), 0.05),
    ],
)
def test_points_end_when_precise_unless_suite_or_user_fix_their_time(
    key: str, options: Options, precision: float | None
) -> None:
    (point,) = plan(HEAD + key + PROFILE.format("a"), options)
    assert point.precision_fraction == precision
    assert (point.least_ns < point.expected_ns) == (precision is not None)


@pytest.mark.parametrize(
    ("load", "least_s"),
    [
        ("", 12),
        ('rate = "50/s"\n', 60),
        ('rate = "5k/s"\n', 60),
        # Of jobs in sequence, which stay what they are, and of many I/Os of theirs fio tells in time.
        ('rate = "5k/s"\nrandom = "0%"\n', 12),
        ('limit = "mean<=20ms"\nramp = { axis = "rate", from = "20/s", to = "2k/s" }\n', 60),
        ('limit = "mean<=20ms"\nramp = { from = 1, to = 9 }\n', 12),
    ],
)
def test_points_that_may_be_precise_end_after_twelve_seconds_at_the_earliest_and_open_loads_that_sleep_never(
    load: str, least_s: float
) -> None:
    profile = PROFILE.format("a")
    if "random" in load:
        profile = "".join(line for line in profile.splitlines(keepends=True) if not line.startswith("random"))
    (point,) = plan(HEAD.replace("10s", "0s") + profile + load)
    assert point.least_ns / point.times / 1e9 == least_s


@pytest.mark.parametrize(("warmup_s", "runtime_s", "most_s"), [(0, 10, 60), (5, 60, 80), (30, 60, 90), (30, 40, 90)])
def test_probes_over_rates_may_take_twenty_seconds_of_warm_up_and_count_for_twice_as_long(
    warmup_s: int, runtime_s: int, most_s: int
) -> None:
    ramp = 'limit = "mean<=20ms"\nramp = { axis = "rate", from = "20/s", to = "2k/s" }\n'
    options = Options(runtime_ns=runtime_s * 10**9, warmup_ns=warmup_s * 10**9)
    (point,) = plan(HEAD + PROFILE.format("a") + ramp, options)
    assert (point.least_ns, point.expected_ns) == (
        point.times * (warmup_s + runtime_s) * 10**9,
        point.times * most_s * 10**9,
    )


@pytest.mark.parametrize("precision", [0.0, 0.51, -1.0, float("nan"), float("inf"), "1%"])
def test_a_precision_that_can_t_be_is_refused_from_python_too(precision: float) -> None:
    with pytest.raises(InputError, match=r"is not between 0\.01% and 50%"):
        plan(HEAD + PROFILE.format("a"), Options(precision_fraction=precision))


@pytest.mark.parametrize(("options", "said"), [(Options(stop="bogus"), "--stop"), (Options(limit="p99<1"), "--limit")])
def test_what_only_python_can_say_wrongly_is_refused(options: Options, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(HEAD + PROFILE.format("a"), options)


def test_a_fixed_time_has_no_precision() -> None:
    with pytest.raises(InputError, match="--stop fixed"):
        plan(HEAD + PROFILE.format("a"), Options(stop="fixed", precision_fraction=0.01))


@pytest.mark.parametrize(
    "options",
    [
        Options(as_published=True, queue_depths=(1,)),
        Options(as_published=True, jobs=1),
        Options(as_published=True, runtime_ns=10**6),
        Options(as_published=True, warmup_ns=0),
        Options(as_published=True, stop="precise"),
        Options(as_published=True, precision_fraction=0.01),
    ],
)
def test_as_published_suffers_no_change(options: Options) -> None:
    with pytest.raises(InputError, match="--as-published fixes"):
        make_plan(TYPICAL_12, options)


def test_a_profile_that_isn_t_there_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="no profile 'oltp'") as error:
        make_plan(TYPICAL_12, Options(only=("oltp",)))
    assert error.value.remedy.startswith("Did you mean 'oltp-db'?")


def test_a_variant_can_be_chosen_by_its_name() -> None:
    points = make_plan(TYPICAL_12, Options(only=("exchange-server-4k",)))
    assert [p.name for p in points] == ["exchange-server-4k"]


def test_every_point_has_a_seed_of_its_own_and_the_same_seed_makes_the_same_plan() -> None:
    points = make_plan(TYPICAL_12, Options(), 7)
    assert [p.seed for p in points] == list(range(7, 19))
    assert points == make_plan(TYPICAL_12, Options(), 7)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("runtime_ns",), -5),
        (("warmup_ns",), 1.5),
        (("settle_ns",), "z"),
        (("streams",), []),
        (("streams", 0, "arrival", "rate_per_s"), 0),
        (("streams", 0, "arrival", "rate_per_s"), float("nan")),
        (("streams", 0, "arrival", "rate_per_s"), "x"),
        (("streams", 0, "arrival", "jobs"), None),
        (("streams", 0, "profile", "read_fraction"), float("nan")),
    ],
)
def test_a_point_that_nobody_can_have_asked_for_is_damaged(place: tuple[str | int, ...], value: object) -> None:
    (point,) = plan(HEAD + "rate = 100\n" + PROFILE.format("a"))
    document: Any = point.to_json()
    node = document
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    with pytest.raises((TypeError, ValueError)):
        Point.from_json(document)


@given(any_points())
def test_a_point_survives_json(points: list[Point]) -> None:
    for point in points:
        assert Point.from_json(json.loads(json.dumps(point.to_json()))) == point


def test_ramps_and_bursts_survive_json_and_plans_without_them_are_read() -> None:
    (closed,) = plan(HEAD + RAMP)
    (open_,) = plan(HEAD + PROFILE.format("a") + BURSTS)
    for point in (closed, open_):
        data = json.loads(json.dumps(point.to_json()))
        assert Point.from_json(data) == point
    del data["ramp"], data["precision_fraction"], data["streams"][0]["arrival"]["bursts"]
    assert Point.from_json(data).ramp is Point.from_json(data).precision_fraction is None


def test_a_ramp_is_one_point_whatever_depths_the_head_sweeps() -> None:
    (point,) = plan(HEAD + "queue_depth = [1, 8]\n" + RAMP)
    assert (point.name, point.ramp) == ("a", Ramp(Limit("p99", 5 * 10**6, "reads"), "outstanding", 2, 100))


def test_a_ramp_makes_plain_points_of_its_probes() -> None:
    (point,) = plan(HEAD + RAMP)
    assert (point.at(3).name, point.at(3).ramp, point.at(3).streams[0].arrival) == ("a-qd3", None, Closed(3, 1))
    (point,) = plan(HEAD + RAMP.replace("from = 2, to = 100", 'axis = "rate", from = "1k/s", to = "50k/s"'))
    assert point.at(966.621707187015).name == "a-r966.622"
    assert (point.at(2e3).name, point.at(2e3).streams[0].arrival) == ("a-r2000", Open(2000, 32, 1))


ROUNDS = '[[rounds]]\nname = "r"\nmost = 9\nfill = 2\ntrack = ["a-b4k-rd0"]\n'


def test_points_of_rounds_are_swept_over_reads_first_and_know_their_rounds() -> None:
    swept = PROFILE.format("a").replace('"50%"', '["100%", "0%"]').replace('"4k"', '["8k", "4k"]') + 'rounds = "r"\n'
    points = plan(HEAD + ROUNDS + swept)
    assert [p.name for p in points] == ["a-b8k-rd100", "a-b4k-rd100", "a-b8k-rd0", "a-b4k-rd0"]
    assert {p.rounds for p in points} == {Rounds("r", 9, 5, ("a-b4k-rd0",), "rate", 2)}
    assert points[0].expected_ns == 9 * (points[0].runtime_ns + points[0].warmup_ns)
    assert points[0].least_ns == 5 * (points[0].runtime_ns + points[0].warmup_ns)
    assert Point.from_json(json.loads(json.dumps(points[0].to_json()))) == points[0]
    assert len(plan(HEAD + ROUNDS + swept, Options(queue_depths=(1, 8)))) == 8
    with pytest.raises(InputError, match=r"^s\.toml: rounds r: track: 'a-b4k-rd0' is no point of theirs"):
        plan(HEAD + ROUNDS + swept.replace('"0%"', '"5%"'))


def test_depths_change_no_rate_that_many_jobs_share() -> None:
    text = HEAD + 'queue_depth = 4\nrate = "100/s"\n' + PROFILE.format("a")
    (point,) = plan(text, Options(queue_depths=(1, 32)))
    assert (point.name, point.streams[0].arrival) == ("a", Open(100.0, 4))
    paced = plan(text + 'think_time = "1ms"\n', Options(queue_depths=(1, 32)))
    assert [one.name for one in paced] == ["a-qd1", "a-qd32"]


def test_a_best_depth_is_one_point_that_tries_them_all_unless_depths_are_given() -> None:
    text = HEAD + "queue_depth = [8, 1, 64]\n" + PROFILE.format("a") + 'jobs = 2\nbest = "latency"\n'
    (point,) = plan(text)
    assert (point.name, point.best, point.searches) == ("a", Best("latency", (1, 8, 64)), True)
    assert str(point.best) == "best latency of 1, 8, 64"
    assert str(Best("rate", tuple(1 << n for n in range(8)))) == "best rate of 1, 2, 4 ... 128"
    assert point.expected_ns == 3 * (point.runtime_ns + point.warmup_ns)
    assert [probe.streams[0].arrival for probe in point.grid()] == [Closed(1, 2), Closed(8, 2), Closed(64, 2)]
    assert Point.from_json(json.loads(json.dumps(point.to_json()))) == point
    assert [(p.name, p.best) for p in plan(text, Options(queue_depths=(2, 4)))] == [("a-qd2", None), ("a-qd4", None)]


def test_without_a_search_a_ramp_is_doublings_of_its_lowest_load() -> None:
    (point,) = plan(HEAD + RAMP)
    assert [probe.streams[0].arrival.queue_depth for probe in point.grid()] == [2, 4, 8, 16, 32, 64]
    assert [probe.name for probe in point.at(7).grid()] == ["a-qd7"]


@pytest.mark.parametrize("axis", ["", 'axis = "rate", '])
def test_depths_make_a_ramp_a_closed_sweep(axis: str) -> None:
    points = plan(HEAD + RAMP.replace("{ ", "{ " + axis), Options(queue_depths=(1, 8), jobs=2))
    assert [(p.name, p.ramp, p.streams[0].arrival) for p in points] == [
        ("a-qd1", None, Closed(1, 2)),
        ("a-qd8", None, Closed(8, 2)),
    ]


def test_a_ramp_takes_another_limit_and_refuses_other_jobs() -> None:
    (point,) = plan(HEAD + RAMP, Options(limit=parse_limit("1ms")))
    assert point.ramp is not None and str(point.ramp.limit) == "mean<=1ms"
    with pytest.raises(InputError, match="profile a is a ramp, which --jobs can't change"):
        plan(HEAD + RAMP, Options(jobs=2))


def test_a_limit_of_what_the_profile_doesn_t_do_is_refused() -> None:
    with pytest.raises(InputError, match=r"^--limit: profile a has no writes, which max<=1ms of writes limits"):
        plan(HEAD + RAMP.replace("50%", "100%"), Options(limit=parse_limit("max<=1ms of writes")))
    with pytest.raises(InputError, match=r"^s\.toml: profile a has no reads, which p99<=5ms of reads limits"):
        plan(HEAD + PROFILE.format("a").replace("50%", "0%") + 'limit = "p99<=5ms of reads"\n')


def test_as_published_touches_what_the_source_did_and_leaves_ramps_ramps() -> None:
    suite, _ = load_suite("database-ramp")
    (point,) = make_plan(suite, Options(as_published=True))
    assert point.ramp is not None
    assert point.streams[0].profile.working_set_bytes == 10**12
    assert make_plan(suite, Options())[0].streams[0].profile.working_set_bytes is None


@pytest.mark.parametrize(("read", "text"), [(0.7, "70/30"), (1.0, "100/0"), (0.995, "99.5/0.5")])
def test_the_mix_for_people_has_the_digits_that_it_needs(read: float, text: str) -> None:
    assert Profile("p", (BlockShare(4096, 1.0),), read, 1.0, "random").mix_text() == text
