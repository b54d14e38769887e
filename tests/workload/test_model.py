"""What models are given of a stream."""

from __future__ import annotations

import pytest

from loadline.errors import InputError
from loadline.workload.model import ModelClosed, ModelOpen, to_model
from loadline.workload.profile import BlockShare, Bursts, Closed, Distribution, Open, Profile, Workload

GIB = 1 << 30


def stream(arrival: Closed | Open = Closed(4), **keys: object) -> Workload:  # noqa: B008
    fields: dict[str, object] = {"name": "p", "read_fraction": 0.5, "random_fraction": 1.0, "access_class": "random"}
    fields |= {"block": (BlockShare(4096, 1.0),), **keys}
    return Workload(Profile(**fields), arrival)  # type: ignore[arg-type]


def test_a_mix_keeps_its_sizes_and_is_aligned_to_the_smallest_as_fio_does_it() -> None:
    profile = to_model(stream(block=(BlockShare(512, 0.25), BlockShare(65536, 0.75))), GIB + 100).profile
    assert profile.blocks == ((512, 0.25), (65536, 0.75))
    assert (profile.align_bytes, profile.start_bytes, profile.working_set_bytes) == (512, 0, GIB)
    assert (profile.read_fraction, profile.random_fraction) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("keys", "size_bytes"),
    [({}, GIB), ({"working_set_fraction": 0.25}, GIB // 4), ({"working_set_bytes": 1 << 20}, 1 << 20)],
)
def test_the_working_set_is_that_part_of_the_volume(keys: dict[str, object], size_bytes: int) -> None:
    assert to_model(stream(**keys), GIB).profile.working_set_bytes == size_bytes


@pytest.mark.parametrize(
    ("keys", "start_bytes", "size_bytes"),
    [
        ({"start_fraction": 0.75}, GIB * 3 // 4, GIB // 4),
        ({"start_bytes": 4096, "working_set_bytes": 1 << 20}, 4096, 1 << 20),
        ({"start_fraction": 0.5, "working_set_fraction": 0.5}, GIB // 2, GIB // 2),
    ],
)
def test_the_working_set_begins_at_its_start(keys: dict[str, object], start_bytes: int, size_bytes: int) -> None:
    profile = to_model(stream(**keys), GIB).profile
    assert (profile.start_bytes, profile.working_set_bytes) == (start_bytes, size_bytes)


def test_jobs_are_streams_side_by_side_if_they_go_in_sequence() -> None:
    mixed = to_model(stream(Closed(2, 3), random_fraction=0.5), GIB)
    assert mixed.profile.sequential_streams == 3
    assert mixed.profile.working_set_bytes == GIB // 3 // 4096 * 4096 * 3
    assert mixed.arrival == ModelClosed(6)


def test_jobs_share_the_working_set_if_they_go_to_random_places() -> None:
    shared = to_model(stream(Closed(2, 3)), GIB)
    assert shared.profile.sequential_streams == 3
    assert shared.profile.working_set_bytes == GIB


@pytest.mark.parametrize(
    ("distribution", "parameter"),
    [
        (Distribution("zipf", 1.2), 1.2),
        (Distribution("normal", 20), 0.2),  # suites have percents
        (Distribution("zoned", zones=((0.6, 0.1), (0.4, 0.9))), None),
    ],
)
def test_a_distribution_keeps_its_meaning(distribution: Distribution, parameter: float | None) -> None:
    profile = to_model(stream(distribution=distribution), GIB).profile
    spread = (profile.spread, profile.spread_parameter, profile.spread_zones)
    assert spread == (distribution.kind, parameter, distribution.zones)


@pytest.mark.parametrize(
    ("depth", "burst", "expected"),
    [
        (1, 10, ModelClosed(2, 1000, 10)),
        (5, 10, ModelClosed(10, 1000, 2)),
        (4, 10, ModelClosed(8, 800, 2)),
        (32, 1, ModelClosed(2, 1000, 1)),
    ],
)
def test_issuers_share_a_job_s_burst_and_pause_as_long_for_each_request(
    depth: int, burst: int, expected: ModelClosed
) -> None:
    arrival = to_model(stream(Closed(depth, 2), think_time_ns=1000, burst=burst), GIB).arrival
    assert arrival == expected
    assert isinstance(arrival, ModelClosed)
    # Of each issuer that is at work at once: the pause for a request, which is what sets the rate.
    assert arrival.think_ns / arrival.burst == pytest.approx(1000 * min(depth, burst) / burst)


def test_an_open_load_has_no_cap_for_that_is_the_load_generators() -> None:
    assert to_model(stream(Open(5000, 32, 4)), GIB).arrival == ModelOpen(5000)


@pytest.mark.parametrize(("times", "quiet"), [(2, 8 / 9), (10, 0)])
def test_bursts_swing_about_the_mean_rate(times: float, quiet: float) -> None:
    arrival = to_model(stream(Open(900, 32, 1, Bursts(times, 10**7, 10**8))), GIB).arrival
    assert isinstance(arrival, ModelOpen) and arrival.pattern == "modulated"
    assert arrival.rates_per_s == pytest.approx((900 * times, 900 * quiet))
    assert arrival.stays_ns == (10**7, 9 * 10**7)
    in_the_long_run = sum(r * s for r, s in zip(arrival.rates_per_s, arrival.stays_ns, strict=True)) / 10**8
    assert in_the_long_run == pytest.approx(arrival.rate_per_s)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (stream(working_set_bytes=10**12), "working_set: 1 TB is larger than the volume, which holds 1.07 GB"),
        (stream(working_set_fraction=1.0, start_bytes=1 << 29), "working_set: 1.07 GB from 537 MB on is larger than"),
        (stream(block=(BlockShare(2 * GIB, 1.0),)), "blocks of 2G don't fit into 1.07 GB"),
        (stream(Closed(1, 4096), random_fraction=0.0, block=(BlockShare(1 << 20, 1.0),)), "4096 jobs side by side"),
        (stream(block=(BlockShare(1000, 1.0),)), "a block of 1000 bytes is no multiple .* .512 bytes."),
        (stream(flush_every=1), "flush_every: models don't know"),
        (stream(Open(5, 1), think_time_ns=1), "think_time: models don't know"),
        (stream(distribution=Distribution("zipf", 50)), "zipf = 50 is more than the 10"),
    ],
)
def test_what_a_model_can_t_be_asked_is_an_error(asked: Workload, said: str) -> None:
    with pytest.raises(InputError, match=f"^profile p: (distribution: )?{said}") as error:
        to_model(asked, GIB)
    assert error.value.remedy


def test_flushes_of_a_stream_that_never_writes_are_none() -> None:
    assert to_model(stream(read_fraction=1.0, flush_every=1, dsync=True), GIB).profile.read_fraction == 1
