"""What the installed fio does with the jobs that loadline writes, seen in its own log of every request."""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loadline.workload.dialects import fio_job
from loadline.workload.plan import Point
from loadline.workload.profile import BlockShare, Closed, Distribution, Open, Profile, Workload

SIZE = 32 << 20


@dataclass(frozen=True)
class Request:
    writes: bool
    size: int
    offset: int


@dataclass(frozen=True)
class Ran:
    """fio's summary of each stream, and each job's requests in order."""

    streams: list[dict[str, Any]]
    jobs: list[list[Request]]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("target") / "file"
    with path.open("wb") as file:
        subprocess.run(["head", "-c", str(SIZE), "/dev/urandom"], stdout=file, check=True)
    return path


def run(
    folder: Path,
    target: Path,
    point: Point,
    size_bytes: int | None = SIZE,
    *,
    log: bool = True,
    ios: int | None = 3000,
) -> Ran:
    """Runs a point for so many requests of each job, however long they take; None: for its run time."""
    job = fio_job.write([point], size_bytes=size_bytes)
    if ios:
        assert "time_based=1" in job
        job = job.replace("time_based=1", f"number_ios={ios}\nio_size=1g")
    (folder / "job.fio").write_text(job)
    words = ["fio", f"--filename={target}", "--output-format=json", "--eta=never", "--output=out.json"]
    words += ["--write_lat_log=log", "--log_offset=1"] if log else []
    done = subprocess.run([*words, "job.fio"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    jobs = []
    for path in sorted(folder.glob("log_lat.*.log")):
        rows = [[int(cell) for cell in line.split(",")] for line in path.read_text().splitlines()]
        jobs.append([Request(row[2] == 1, row[3], row[4]) for row in rows])
    return Ran(json.loads((folder / "out.json").read_text())["jobs"], jobs)


def point(arrival: Closed | Open = Closed(1), runtime_ns: int = 50 * 10**9, **keys: object) -> Point:  # noqa: B008
    fields: dict[str, object] = {"name": "p", "read_fraction": 1.0, "random_fraction": 1.0, "access_class": "random"}
    fields |= {"block": (BlockShare(4096, 1.0),), **keys}
    return Point("p", (Workload(Profile(**fields), arrival),), runtime_ns, 0, 7)  # type: ignore[arg-type]


def following(requests: list[Request], *, writes: bool) -> float:
    """The share of requests of one direction that begin where the last one of it ended."""
    ones = [request for request in requests if request.writes == writes]
    follows = sum(b.offset == a.offset + a.size for a, b in pairwise(ones))
    return follows / (len(ones) - 1)


@pytest.mark.parametrize("random_fraction", [0.0, 0.3, 1.0])
def test_shares_of_reads_and_of_random_requests_are_those_asked_for(
    tmp_path: Path, target: Path, random_fraction: float
) -> None:
    (requests,) = run(tmp_path, target, point(read_fraction=0.7, random_fraction=random_fraction)).jobs
    assert sum(not request.writes for request in requests) / len(requests) == pytest.approx(0.7, abs=0.05)
    for writes in (False, True):
        assert following(requests, writes=writes) == pytest.approx(1 - random_fraction, abs=0.08)


def test_a_mix_of_block_sizes_is_issued_in_its_shares_and_stays_within_the_working_set(
    tmp_path: Path, target: Path
) -> None:
    mix = (BlockShare(4096, 0.6), BlockShare(65536, 0.4))
    (requests,) = run(tmp_path, target, point(Closed(4), block=mix, working_set_fraction=0.5)).jobs
    counts = Counter(request.size for request in requests)
    assert set(counts) == {4096, 65536}
    assert counts[4096] / len(requests) == pytest.approx(0.6, abs=0.06)
    assert max(request.offset + request.size for request in requests) <= SIZE // 2


@pytest.mark.parametrize("size_bytes", [None, SIZE])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_working_set_begins_at_its_start(tmp_path: Path, target: Path, size_bytes: int | None, jobs: int) -> None:
    one = point(Closed(4, jobs), random_fraction=0.5, start_fraction=0.5, working_set_fraction=0.1)
    ran = run(tmp_path, target, one, size_bytes).jobs
    offsets = [request.offset for requests in ran for request in requests]
    assert min(offsets) >= SIZE // 2 and max(offsets) <= SIZE * 0.6


@pytest.mark.parametrize("size_bytes", [None, SIZE])
def test_jobs_in_sequence_never_touch_each_others_blocks(tmp_path: Path, target: Path, size_bytes: int | None) -> None:
    jobs = run(tmp_path, target, point(Closed(4, 4), random_fraction=0.2), size_bytes).jobs
    ranges = sorted((min(r.offset for r in job), max(r.offset + r.size for r in job)) for job in jobs)
    assert len(ranges) == 4
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    assert ranges[-1][1] <= SIZE


def test_the_same_seed_asks_for_the_same_blocks_and_another_one_for_others(tmp_path: Path, target: Path) -> None:
    def offsets(seed: int) -> list[int]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        one = point()
        (requests,) = run(folder, target, Point(one.name, one.streams, one.runtime_ns, 0, seed)).jobs
        return [request.offset for request in requests[:100]]

    first = offsets(1)
    assert offsets(1) == first
    assert offsets(2) != first


@pytest.mark.parametrize("jobs", [1, 4])
def test_an_open_load_comes_at_its_rate_whatever_the_number_of_jobs(tmp_path: Path, target: Path, jobs: int) -> None:
    one = point(Open(1200, 32, jobs), runtime_ns=4 * 10**9, read_fraction=0.75, block=(BlockShare(512, 1.0),))
    (stream,) = run(tmp_path, target, one, log=False, ios=None).streams
    # Five standard deviations of a Poisson count.
    assert stream["read"]["total_ios"] == pytest.approx(3600, abs=5 * 60)
    assert stream["write"]["total_ios"] == pytest.approx(1200, abs=5 * 35)


def test_writes_are_flushed_as_often_as_asked(tmp_path: Path, target: Path) -> None:
    (stream,) = run(tmp_path, target, point(read_fraction=0.0, flush_every=8), log=False).streams
    assert stream["sync"]["lat_ns"]["N"] == pytest.approx(stream["write"]["total_ios"] / 8, abs=2)


def opened_with(process: subprocess.Popen[bytes], target: Path) -> int | None:
    """The flags with which a running process holds the target, None as long as it doesn't."""
    for link in Path(f"/proc/{process.pid}/fd").glob("*"):
        try:
            if link.readlink() == target:
                info = Path(f"/proc/{process.pid}/fdinfo/{link.name}").read_text()
                return int(info.split("flags:")[1].split()[0], 8)
        except FileNotFoundError:
            pass
    return None


@pytest.mark.parametrize("dsync", [False, True])
def test_the_target_is_held_with_o_direct_and_with_o_dsync_where_asked(
    tmp_path: Path, target: Path, dsync: bool
) -> None:
    one = point(runtime_ns=60 * 10**9, read_fraction=0.0, dsync=dsync)
    (tmp_path / "job.fio").write_text(fio_job.write([one], size_bytes=SIZE))
    words = ["fio", f"--filename={target}", "--eta=never", "--output=out", "job.fio"]
    with subprocess.Popen(words, cwd=tmp_path) as process:
        flags = None
        while flags is None or not flags & os.O_DIRECT:  # fio opens it once before without, to learn its size
            assert process.poll() is None
            flags = opened_with(process, target)
        process.kill()
    assert bool(flags & os.O_DSYNC) == dsync


def test_a_job_pauses_after_each_burst(tmp_path: Path, target: Path) -> None:
    one = point(Closed(4), think_time_ns=10**8, burst=10)
    (stream,) = run(tmp_path, target, one, log=False, ios=100).streams
    # Nine pauses at least, in ms.
    assert stream["read"]["runtime"] >= 900


def test_run_times_and_warm_ups_are_kept_to_the_millisecond(tmp_path: Path, target: Path) -> None:
    one = point(runtime_ns=250_000_000)
    (stream,) = run(tmp_path, target, Point("p", one.streams, one.runtime_ns, 150_000_000), log=False, ios=None).streams
    # Not the whole second that a coarser unit would make of it.
    assert 225 <= stream["read"]["runtime"] < 900


def share_below(requests: list[Request], offset: float) -> float:
    return sum(request.offset < offset for request in requests) / len(requests)


def test_zones_get_the_accesses_that_they_are_given(tmp_path: Path, target: Path) -> None:
    zones = Distribution("zoned", None, ((0.6, 0.1), (0.4, 0.9)))
    (requests,) = run(tmp_path, target, point(Closed(4), distribution=zones)).jobs
    assert share_below(requests, SIZE * 0.1) == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(
    "distribution", [Distribution("zipf", 1.2), Distribution("pareto", 0.9), Distribution("normal", 1.0)]
)
def test_skewed_distributions_ask_for_some_blocks_far_more_often(
    tmp_path: Path, target: Path, distribution: Distribution
) -> None:
    def top(one: Point, name: str) -> float:
        (tmp_path / name).mkdir()
        (requests,) = run(tmp_path / name, target, one).jobs
        counts = Counter(request.offset for request in requests).most_common(SIZE // 4096 // 10)
        return sum(count for _, count in counts) / len(requests)

    even = partial(point, Closed(8))
    assert top(even(distribution=distribution), "skewed") > 1.25 * top(even(), "even")


def written(folder: Path, **shares: float) -> bytes:
    """What lies in a file after it was overwritten with data of that kind."""
    path, size = folder / "data", 8 << 20
    with path.open("wb") as file:
        subprocess.run(["head", "-c", str(size), "/dev/urandom"], stdout=file, check=True)
    block = (BlockShare(65536, 1.0),)
    one = point(Closed(4), read_fraction=0.0, random_fraction=0.0, block=block, **shares)
    run(folder, path, one, size, ios=size // 65536)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_data_compresses_as_far_as_asked(tmp_path: Path, share: float) -> None:
    data = written(tmp_path, compressible_fraction=share)
    assert len(zlib.compress(data, 1)) / len(data) == pytest.approx(1 - share, abs=0.12)


def test_data_repeats_as_far_as_asked(tmp_path: Path) -> None:
    data = written(tmp_path, duplicate_fraction=0.5)
    pages = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    assert len(set(pages)) / len(pages) == pytest.approx(0.5, abs=0.2)
