"""The stream of statuses from Python: what fio wrote comes out, in whatever pieces it comes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from core import golden
from hypothesis import given
from hypothesis import strategies as st

from loadline._core import Flow, Histogram, Interval, Job, StatusStream


def read(name: str) -> tuple[StatusStream, list[Interval]]:
    stream = StatusStream()
    intervals = stream.feed(golden.text_of(name).encode())
    stream.finish()
    return stream, intervals


def shown(thing: Any) -> Any:
    """All that can be read of an object, to compare with another."""
    if isinstance(thing, Flow | Job | Interval):
        names = (name for name in dir(type(thing)) if not name.startswith("_") and name != "merge")
        return {name: shown(getattr(thing, name)) for name in names}
    return thing.columns() if isinstance(thing, Histogram) else thing


def all_of(stream: StatusStream, intervals: list[Interval]) -> Any:
    return [shown(i) for i in intervals], [shown(j) for j in stream.jobs], stream.statuses, stream.warnings


@pytest.mark.parametrize("name", golden.FILES)
@pytest.mark.parametrize("size", [1, 997, 65536])
def test_pieces_of_any_size_give_the_same(name: str, size: int) -> None:
    data, stream, intervals = golden.text_of(name).encode(), StatusStream(), []
    for at in range(0, len(data), size):
        intervals += stream.feed(data[at : at + size])
    stream.finish()
    assert all_of(stream, intervals) == all_of(*read(name))


@given(st.binary(max_size=200))
def test_any_bytes_are_taken_and_the_next_status_is_read(noise: bytes) -> None:
    stream = StatusStream()
    stream.feed(noise)
    stream.feed(b"\n" + golden.text_of("two-groups.json").encode())
    assert stream.statuses == 3


@pytest.mark.parametrize("name", [name for name in golden.FILES if not name.startswith("client")])
def test_jobs_are_the_totals_that_fio_prints_last(name: str) -> None:
    stream, _ = read(name)
    last = golden.statuses(name)[-1]
    assert stream.fio_version == last["fio version"] == "fio-3.33"
    assert [job.name for job in stream.jobs] == [job["jobname"] for job in last["jobs"]]
    for job, printed in zip(stream.jobs, last["jobs"], strict=True):
        assert job.error == printed["error"]
        assert job.runtime_ns == max(printed[way]["runtime"] for way in ("read", "write")) * 10**6
        assert job.cpu_fraction == pytest.approx((printed["usr_cpu"] + printed["sys_cpu"]) / 100)
        levels = [percent / 100 for percent in printed["iodepth_level"].values()]
        assert job.depth_levels == list(zip([1, 2, 4, 8, 16, 32, 64], levels, strict=True))
        for flow, way in ((job.read, printed["read"]), (job.write, printed["write"])):
            assert (flow.ios, flow.bytes) == (way["total_ios"], way["io_bytes"])
            assert (flow.iops, flow.bytes_per_s) == (way["iops"], way["bw_bytes"])
            latency = way["lat_ns"]
            assert flow.latency_samples == latency["N"]
            if latency["N"] == 0:
                assert flow.latency_mean_ns is flow.latency_stddev_ns is flow.latency_max_ns is None
            else:
                assert flow.latency_mean_ns == latency["mean"]
                assert flow.latency_stddev_ns == latency["stddev"]
                assert flow.latency_max_ns == latency["max"]
            expected = golden.bins(latency) if "bins" in latency else {}
            assert dict(zip(*flow.histogram.columns(), strict=True)) == expected


def test_an_interval_is_what_came_between_two_statuses() -> None:
    _, intervals = read("ramp.json")
    assert [interval.warmup for interval in intervals] == [True, True, False, False, False]
    statuses = golden.statuses("ramp.json")
    for earlier, later, interval in zip(statuses[2:], statuses[3:], intervals[3:], strict=False):
        before, after = earlier["jobs"][0]["read"], later["jobs"][0]["read"]
        seconds = (after["runtime"] - before["runtime"]) / 1000
        # Those that ended: total_ios counts what was sent.
        ios = after["lat_ns"]["N"] - before["lat_ns"]["N"]
        assert interval.end_ns == later["timestamp_ms"] * 10**6
        assert interval.duration_ns == round(seconds * 1e9)
        assert interval.read.ios == ios
        assert interval.read.iops == pytest.approx(ios / seconds)
        assert interval.read.bytes_per_s == pytest.approx((after["io_bytes"] - before["io_bytes"]) / seconds)
        new, old = after["lat_ns"], before["lat_ns"]
        mean = (new["mean"] * new["N"] - old["mean"] * old["N"]) / (new["N"] - old["N"])
        assert interval.read.latency_mean_ns == pytest.approx(mean)
        assert interval.read.latency_max_ns is None
        values = golden.bins(new)
        values.subtract(golden.bins(old))
        assert dict(zip(*interval.read.histogram.columns(), strict=True)) == +values


def test_deviations_of_intervals_agree_with_their_histograms() -> None:
    _, intervals = read("two-groups.json")
    for flow in (flow for interval in intervals for flow in (interval.read, interval.write)):
        values, counts = flow.histogram.columns()
        mean = sum(v * n for v, n in zip(values, counts, strict=True)) / sum(counts)
        squares = sum(n * (v - mean) ** 2 for v, n in zip(values, counts, strict=True))
        assert flow.latency_stddev_ns == pytest.approx(math.sqrt(squares / (sum(counts) - 1)), rel=0.02)
        assert flow.latency_mean_ns == pytest.approx(mean, rel=0.01)


def test_reads_and_writes_merge_to_one_flow() -> None:
    stream, _ = read("ramp.json")
    read_, write = stream.jobs[0].read, stream.jobs[0].write
    both = Flow.merge([read_, write])
    assert both.ios == read_.ios + write.ios
    assert both.iops == read_.iops + write.iops
    assert both.latency_max_ns == max(read_.latency_max_ns or 0, write.latency_max_ns or 0)
    assert both.histogram.columns() == read_.histogram.merged(write.histogram).columns()
    assert read_.latency_mean_ns is not None and write.latency_mean_ns is not None
    weighted = read_.latency_mean_ns * read_.latency_samples + write.latency_mean_ns * write.latency_samples
    assert both.latency_mean_ns == pytest.approx(weighted / both.latency_samples)


def test_nothing_merged_is_zero_and_unknown() -> None:
    nothing = Flow.merge([])
    assert (nothing.ios, nothing.iops, nothing.latency_mean_ns, nothing.histogram.count) == (0, 0.0, None, 0)


def test_a_stream_of_nothing_says_nothing() -> None:
    stream = StatusStream()
    assert stream.feed(b"") == []
    stream.finish()
    assert all_of(stream, []) == ([], [], 0, [])
    assert stream.fio_version is None


def test_a_cut_off_status_is_a_warning_and_the_ones_before_it_stand() -> None:
    stream = StatusStream()
    stream.feed(golden.text_of("two-groups.json").encode()[:-100])
    assert stream.warnings == []
    stream.finish()
    assert stream.statuses == 2
    assert [text for text in stream.warnings if "ends inside a status" in text] == stream.warnings != []


def test_only_bytes_are_taken() -> None:
    for data in ("{}", 5, None):
        with pytest.raises(TypeError):
            StatusStream().feed(data)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Flow.merge([None])  # type: ignore[list-item]


def test_what_the_stream_gives_is_made_by_the_stream_only() -> None:
    for kind in (Flow, Job, Interval):
        with pytest.raises(TypeError):
            kind()


def test_jobs_may_be_told_apart_by_how_their_names_end() -> None:
    data = golden.text_of("two-groups.json").encode()
    found = {}
    for ending in ("", "ed", "iter", "nobody"):
        stream = StatusStream(ending)
        found[ending] = [interval.read.ios + interval.write.ios for interval in stream.feed(data)]
        assert [job.name for job in stream.jobs] == [name for name in ("mixed", "writer") if name.endswith(ending)]
    assert found["nobody"] == []
    assert found[""] == [mixed + writer for mixed, writer in zip(found["ed"], found["iter"], strict=True)]
    assert all(found["iter"])
