"""Plans: the points that a suite makes under the options of a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from workload.strategies import points as any_points

from loadline.errors import InputError
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import BlockShare, Profile
from loadline.workload.suite import load_suite, parse_suite

HEAD = 'title = "T"\nruntime = "60s"\nwarmup = "10s"\n'
PROFILE = '[[profile]]\nname = "{}"\nblock = "4k"\nread = "50%"\nrandom = "100%"\n'
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
    (point,) = plan(HEAD + PROFILE.format("a"), Options(jobs=3, runtime_ns=7, warmup_ns=0))
    assert (point.streams[0].arrival.jobs, point.runtime_ns, point.warmup_ns) == (3, 7, 0)


def test_as_published_leaves_a_suite_that_says_nothing_of_it_as_it_is() -> None:
    text = HEAD + PROFILE.format("a")
    assert plan(text, Options(as_published=True)) == plan(text)


@pytest.mark.parametrize(
    "options",
    [
        Options(as_published=True, queue_depths=(1,)),
        Options(as_published=True, jobs=1),
        Options(as_published=True, runtime_ns=1),
        Options(as_published=True, warmup_ns=0),
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


@given(any_points())
def test_a_point_survives_json(points: list[Point]) -> None:
    for point in points:
        assert Point.from_json(json.loads(json.dumps(point.to_json()))) == point


@pytest.mark.parametrize(("read", "text"), [(0.7, "70/30"), (1.0, "100/0"), (0.995, "99.5/0.5")])
def test_the_mix_for_people_has_the_digits_that_it_needs(read: float, text: str) -> None:
    assert Profile("p", (BlockShare(4096, 1.0),), read, 1.0, "random").mix_text() == text
