"""Job files that loadline writes: read back they are the same, and fio takes every one of them."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from workload.strategies import points as any_points

from loadline.errors import InputError
from loadline.workload.dialects import fio_job
from loadline.workload.dialects.fio_job.write import poisson_per_s
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import BlockShare, Bursts, Closed, Distribution, Open, Profile, Workload
from loadline.workload.suite import load_suite, suite_names

SIZE = 1 << 40
RAMPS = [name for name in suite_names() if any(entry.ramp for entry in load_suite(name)[0].entries)]
RUNNABLE = [name for name in suite_names() if name not in RAMPS]


def point(arrival: Closed | Open = Closed(4), runtime_ns: int = 10**9, **keys: object) -> Point:  # noqa: B008
    fields: dict[str, object] = {"name": "p", "read_fraction": 0.5, "random_fraction": 1.0, "access_class": "random"}
    fields |= {"block": (BlockShare(4096, 1.0),), **keys}
    return Point("p", (Workload(Profile(**fields), arrival),), runtime_ns, 0)  # type: ignore[arg-type]


def lines(one: Point, size_bytes: int | None = None) -> list[str]:
    return fio_job.write([one], size_bytes=size_bytes).splitlines()


def again(text: str) -> str:
    suite, _ = fio_job.read(text, "x", "x.fio")
    return fio_job.write(make_plan(suite, Options()))


@pytest.mark.parametrize("size_bytes", [None, SIZE])
@pytest.mark.parametrize(
    "options",
    [
        Options(variants=True),
        Options(jobs=4),
        Options(queue_depths=(1, 8, 32)),
        Options(as_published=True),
        Options(quick=True, warmup_ns=10**9),
    ],
    ids=["variants", "jobs", "sweep", "published", "quick"],
)
@pytest.mark.parametrize("name", RUNNABLE)
def test_a_suite_of_the_catalog_read_back_is_written_the_same(
    name: str, options: Options, size_bytes: int | None
) -> None:
    points = [probe for one in make_plan(load_suite(name)[0], options) for probe in one.grid()]
    text = fio_job.write(points, size_bytes=SIZE if fio_job.needs_size(points) else size_bytes)
    assert again(text) == text


@given(any_points())
def test_any_points_that_fio_can_express_read_back_are_written_the_same(points: list[Point]) -> None:
    try:
        text = fio_job.write(points, size_bytes=SIZE)
    except InputError as error:
        assume("fio would " not in error.message)
        raise
    assert again(text) == text


@settings(max_examples=15)
@given(any_points())
def test_fio_takes_any_points_that_are_written(points: list[Point]) -> None:
    try:
        text = fio_job.write(points, size_bytes=SIZE)
    except InputError as error:
        assume("fio would " not in error.message)
        raise
    done = subprocess.run(["fio", "--parse-only", "--filename=x", "-"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("name", suite_names())
def test_fio_takes_every_suite_of_the_catalog(name: str, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    points = [probe for one in make_plan(load_suite(name)[0], Options(variants=True)) for probe in one.grid()]
    size_bytes = SIZE if fio_job.needs_size(points) else None
    job.write_text(fio_job.write(points, engine="io_uring", size_bytes=size_bytes))
    done = subprocess.run(["fio", "--parse-only", "--filename=x", str(job)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", RAMPS)
def test_a_ramp_is_refused_until_fixed_depths_make_it_a_sweep(name: str) -> None:
    suite, _ = load_suite(name)
    with pytest.raises(
        InputError, match=r"a search \(1 to 65536 while mean<=30ms\) can't be said in a job file"
    ) as error:
        fio_job.write(make_plan(suite, Options()))
    assert "--queue-depth 1,2,4,8" in error.value.remedy
    text = fio_job.write(make_plan(suite, Options(queue_depths=(1, 64))))
    assert again(text) == text
    assert "iodepth=1\n" in text and "iodepth=64\n" in text


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ({}, ["offset=50%"]),
        ({"working_set_fraction": 0.25}, ["offset=50%", "size=25%"]),
        ({"working_set_bytes": 1 << 30}, ["offset=50%", "size=1G"]),
        ({"start_bytes": 1 << 30, "working_set_fraction": 0.25}, ["offset=1G", "size=25%"]),
    ],
)
def test_a_start_is_an_offset(keys: dict[str, object], asked: list[str]) -> None:
    one = point(**{"start_fraction": 0.5, **keys})
    written = lines(one)
    assert [line for line in written if line.startswith(("offset", "size"))] == asked
    assert not fio_job.needs_size([one])
    assert again("\n".join(written)) == "\n".join(written) + "\n"


@pytest.mark.parametrize(
    "one",
    [
        point(Closed(1, 8), random_fraction=0.5),
        point(start_fraction=0.333),
        point(working_set_fraction=0.125),
        point(Closed(1, 2), random_fraction=0.0, start_bytes=1 << 20),
    ],
)
def test_what_are_no_whole_percents_needs_the_targets_size(one: Point) -> None:
    assert fio_job.needs_size([point(), one])
    with pytest.raises(InputError, match="whole percents") as error:
        fio_job.write([one])
    assert "--size" in error.value.remedy
    assert "size=" in fio_job.write([one], size_bytes=SIZE) or one.streams[0].profile.start_fraction


def test_a_suite_is_one_section_a_point_with_a_stonewall_between() -> None:
    text = fio_job.write(make_plan(load_suite("typical-12")[0], Options()))
    sections = text.split("\n[")[1:]
    assert len(sections) == 12
    assert ["stonewall" in section for section in sections] == [False, *[True] * 11]
    assert "filename" not in text


def test_streams_of_a_point_run_together_and_are_reported_apart() -> None:
    workloads = point().streams[0], point(name="q").streams[0]
    text = fio_job.write([Point("both", workloads, 10**9, 0)])
    assert "[both.p]" in text and "[both.q]\nnew_group=1" in text and "stonewall" not in text


def test_the_random_forms_are_used_throughout_for_only_they_heed_percentage_random() -> None:
    for read, form in ((1.0, "rw=randread"), (0.5, "rw=randrw"), (0.0, "rw=randwrite")):
        assert form in lines(point(read_fraction=read, random_fraction=0.0))


@pytest.mark.parametrize(("runtime_ns", "text"), [(5 * 10**9, "5s"), (1_500_000_000, "1500ms"), (1_500_000, "1500us")])
def test_run_times_are_exact(runtime_ns: int, text: str) -> None:
    assert f"runtime={text}" in lines(point(runtime_ns=runtime_ns))


@pytest.mark.parametrize(
    ("one", "size_bytes", "expected"),
    [
        (point(), None, []),
        (point(), 10**6, ["size=976k"]),
        (point(working_set_fraction=0.5), None, ["size=50%"]),
        (point(working_set_fraction=0.5), 1 << 30, ["size=512M"]),
        (point(working_set_bytes=1 << 20), None, ["size=1M"]),
        (point(Closed(1, 8)), 1 << 30, ["size=1G"]),
        (point(Closed(1, 4), random_fraction=0.99), None, ["size=25%", "offset_increment=25%"]),
        (point(Closed(1, 3), random_fraction=0.0), 64 << 20, ["size=21844k", "offset_increment=21844k"]),
    ],
)
def test_jobs_that_go_in_sequence_get_ranges_of_their_own_within_the_working_set(
    one: Point, size_bytes: int | None, expected: list[str]
) -> None:
    assert [line for line in lines(one, size_bytes) if line.startswith(("size", "offset"))] == expected


@pytest.mark.parametrize(
    ("one", "size_bytes", "said"),
    [
        (point(read_fraction=0.995), None, "read is 99.5%, and fio takes whole percents"),
        (point(block=(BlockShare(512, 1 / 3), BlockShare(1024, 2 / 3))), None, "block is 33.3333%"),
        (point(working_set_fraction=0.125), None, "working set is 12.5% of the target; .*whole percents"),
        (point(Closed(1, 8), random_fraction=0.0), None, "8 jobs side by side take 12.5% of the target each"),
        (point(Closed(1, 8), random_fraction=0.0), 16384, "8 jobs side by side don't fit into 16k"),
        (point(working_set_bytes=1 << 30), 1 << 20, "working set of 1G is larger than the target .1M."),
        (point(), 512, "a block of 4k doesn't fit into 512 bytes"),
        (point(think_time_ns=1500), None, "whole microseconds"),
        (point(think_time_ns=3600 * 10**9), None, "at most 35 min"),
        (point(runtime_ns=1_000_000_500), None, "runtime is 1000000500 ns"),
        (point(Open(100, 1, 8)), None, "12.5/s over 8 jobs|100/s over 8 jobs"),
        (point(Open(40_000, 64), read_fraction=1.0), None, "would miss"),
        (point(Open(1, 1), read_fraction=0.9), None, "would miss"),
        (Point("globally", point().streams, 10**9, 0), None, "named global"),
        (point(Open(100, 1), read_fraction=0.0, flush_every=1), None, "division by zero"),
        (point(Open(100, 1, 1, Bursts(4, 10**7, 10**9))), None, "p: fio has no open load in bursts"),
    ],
)
def test_what_fio_can_t_express_is_an_error_and_never_rounded(one: Point, size_bytes: int | None, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        lines(one, size_bytes)
    assert error.value.remedy


def test_a_rate_is_parted_among_jobs_and_directions() -> None:
    assert "rate_iops=700,300" in lines(point(Open(4000, 8, 4), read_fraction=0.7))
    assert "rate_iops=1000" in lines(point(Open(4000, 8, 4), read_fraction=1.0))
    assert "rate_iops=,1000" in lines(point(Open(4000, 8, 4), read_fraction=0.0))


def test_what_only_writes_have_is_left_out_where_nothing_is_written() -> None:
    text = "\n".join(lines(point(read_fraction=1.0, flush_every=8, dsync=True, compressible_fraction=0.5)))
    assert not any(key in text for key in ("fdatasync", "sync=", "compress", "refill"))


def test_a_distribution_has_no_more_digits_than_it_needs() -> None:
    assert "random_distribution=zipf:1.2" in lines(point(distribution=Distribution("zipf", 1.2)))


def test_an_open_load_that_fio_would_end_in_its_warm_up_is_refused() -> None:
    rated = dataclasses.replace(point(Open(1000.0, 4)), warmup_ns=10**9)
    with pytest.raises(InputError, match="within its warm-up"):
        fio_job.write([rated])


def nearly(one: Point, size_bytes: int | None = None) -> tuple[list[str], list[str]]:
    """The lines that `export` writes, and its notes."""
    points, notes = fio_job.nearest([one], size_bytes)
    return fio_job.write(points, exact=False).splitlines(), [message for _, message in notes.items()]


THIRDS = tuple(BlockShare(512 << n, 1 / 3) for n in range(3))


@pytest.mark.parametrize(
    ("one", "asked", "said"),
    [
        (point(block=THIRDS), ["bssplit=512/34:1k/33:2k/33"], "its block sizes are 512 34%, 1k 33%, 2k 33%"),
        (
            point(block=(BlockShare(512, 0.001), BlockShare(1024, 0.005), BlockShare(4096, 0.994))),
            ["bssplit=512/1:1k/1:4k/98"],
            "whole percents: its block sizes are 512 1%, 1k 1%, 4k 98%",
        ),
        (
            point(distribution=Distribution("zoned", None, ((2 / 3, 0.125), (1 / 3, 0.875)))),
            ["random_distribution=zoned:67/13:33/87"],
            "whole percents: its zones are 67% on 13%, 33% on 87%",
        ),
        (point(think_time_ns=1600), ["thinktime=2us"], "whole microseconds, at most 35 min: it becomes 2 µs"),
        (point(think_time_ns=300), ["thinktime=1us"], "whole microseconds, at most 35 min: it becomes 1 µs"),
        (point(think_time_ns=10**13), ["thinktime=2147483647us"], "at most 35 min: it becomes 35 min 47 s"),
        (
            point(Open(100, 1, 1, Bursts(4, 10**7, 10**9))),
            ["rate_iops=50,50"],
            "fio's rate stays the same: bursts are left out",
        ),
        (
            point(Open(100, 1), flush_every=1),
            ["sync=dsync"],
            "a flush after every write together with a rate ends fio: O_DSYNC takes its place",
        ),
        (point(Open(100, 1, 8)), ["rate_iops=6,6"], "100/s over 8 jobs become 96/s, 50% of them reads"),
        (point(Open(5, 1, 3), read_fraction=1.0), ["rate_iops=2"], "5/s over 3 jobs become 6/s, 100% of them reads"),
        (
            point(Open(1, 1), read_fraction=0.9),
            ["rwmixread=50", "rate_iops=1,1"],
            "1/s over 1 job become 2/s, 50% of them reads",
        ),
        (
            point(Open(40_000, 64), read_fraction=1.0),
            ["rate_iops=38461"],
            "40,000/s over 1 job become 39,211/s, 100% of them reads",
        ),
    ],
)
def test_export_writes_the_nearest_and_says_it(one: Point, asked: list[str], said: str) -> None:
    with pytest.raises(InputError):
        lines(one)
    written, notes = nearly(one)
    assert set(asked) <= set(written)
    assert len(notes) == 1 and said in notes[0]
    assert again("\n".join(written)) if "become" not in said else fio_job.read("\n".join(written), "x", "x.fio")


def test_export_measures_a_rate_for_its_run_time_behind_a_warm_up_that_is_as_long() -> None:
    rated = dataclasses.replace(point(Open(1000.0, 4), runtime_ns=60 * 10**9), warmup_ns=60 * 10**9)
    written, notes = nearly(rated)
    assert {"runtime=120s", "ramp_time=60s"} <= set(written)
    assert len(notes) == 1 and notes[0].endswith("this becomes 2 min")
    closed = dataclasses.replace(rated, streams=point().streams)
    assert nearly(closed)[1] == []


@given(any_points())
def test_what_fio_can_express_is_nearest_to_itself(points: list[Point]) -> None:
    try:
        text = fio_job.write(points, size_bytes=SIZE)
    except InputError as error:
        assume("fio would " not in error.message)
        raise
    found, notes = fio_job.nearest(points, SIZE)
    assert notes.items() == []
    assert fio_job.write(found, size_bytes=SIZE, exact=False) == text


@given(
    st.lists(st.floats(0.0001, 1), min_size=1, max_size=64),
    st.floats(0.01, 3e6),
    st.integers(1, 64),
    st.integers(0, 1000).map(lambda tenths: tenths / 1000),
    st.integers(0, 10**13),
)
def test_any_shares_and_rates_have_a_nearest_that_reads_back(
    weights: list[float], rate: float, jobs: int, read: float, think_ns: int
) -> None:
    block = tuple(BlockShare(512 * (n + 1), weight / sum(weights)) for n, weight in enumerate(weights))
    one = point(Open(rate, 1, jobs), block=block, read_fraction=read, think_time_ns=think_ns)
    written, _ = nearly(one)
    suite, _ = fio_job.read("\n".join(written), "x", "x.fio")
    (stream,) = make_plan(suite, Options())[0].streams
    assert len(stream.profile.block) == len(block)
    assert sum(round(each.share_fraction * 100) for each in stream.profile.block) == 100
    for asked, meant in zip(stream.profile.block, block, strict=True):
        assert abs(asked.share_fraction - meant.share_fraction) < 0.01 or min(weights) < sum(weights) / 100


@pytest.mark.parametrize("rate", [30_000, 40_000, 100_000, 333_333, 1_000_000])
def test_no_other_whole_rate_comes_closer_to_the_one_that_is_meant(rate: int) -> None:
    written, _ = nearly(point(Open(rate, 1), read_fraction=1.0))
    (asked,) = (int(line.removeprefix("rate_iops=")) for line in written if line.startswith("rate_iops"))
    best = min(abs(poisson_per_s(other) - rate) for other in range(rate // 2, rate * 2, 1))
    assert abs(poisson_per_s(asked) - rate) == best
