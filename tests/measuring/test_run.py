"""The measuring loop with real fio, on files, directories and loop devices."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from cli.program import Loadline
from devices import loop_device, needs_root
from measuring.served import SLOW, described
from measuring.suites import reads, suite, three

import loadline as package
from loadline.errors import InputError

MIB = 1024**2

on_devices = needs_root


def last_status(point: Path) -> dict[str, object]:
    """fio's final JSON value, found without our decoder: nothing follows it."""
    text = gzip.decompress((point / "fio.json.gz").read_bytes()).decode()
    found: dict[str, object] = json.loads(text[text.rindex("\n{\n") :] if "\n{\n" in text else text)
    return found


def test_a_directory_gets_a_scratch_file_that_is_gone_afterwards(loadline: Loadline) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    said = loadline("run", three(loadline.folder), disk, "--size", "16M", "--json")
    assert said.code == 0, said.err
    assert [row["point"] for row in said.json["results"]] == ["mixed", "reads", "writes"]
    assert list(disk.iterdir()) == []
    assert not (loadline.folder / "home").exists()


def test_figures_are_those_that_fio_prints_itself(loadline: Loadline, filled_file: Path) -> None:
    said = loadline("run", three(loadline.folder, "1s"), filled_file, "--destroy", filled_file, "--json")
    assert said.code == 0, said.err
    folder = Path(said.json["runs"][0]["path"])
    for row in said.json["results"]:
        (point,) = folder.glob(f"points/*-{row['point']}")
        (job,) = last_status(point)["jobs"]  # type: ignore[misc]
        for direction in ("read", "write"):
            theirs = job[direction]
            assert row[f"{direction}_iops"] == pytest.approx(theirs["iops"])
            assert row[f"{direction}_bytes_per_s"] == pytest.approx(theirs["bw_bytes"])
            if not theirs["total_ios"]:
                assert row[f"{direction}_latency_mean_ns"] is None
                continue
            assert row[f"{direction}_latency_mean_ns"] == pytest.approx(theirs["lat_ns"]["mean"])
            assert row[f"{direction}_latency_max_ns"] == theirs["lat_ns"]["max"]
            for ours, percent in (
                ("p50", "50.000000"),
                ("p90", "90.000000"),
                ("p99", "99.000000"),
                ("p999", "99.900000"),
            ):
                assert row[f"{direction}_latency_{ours}_ns"] == theirs["lat_ns"]["percentile"][percent]


def test_reads_and_writes_together_have_the_percentiles_of_their_merged_bins(
    loadline: Loadline, filled_file: Path
) -> None:
    path = suite(loadline.folder, "mixed 4k 50% 100%", runtime="1s")
    said = loadline("run", path, filled_file, "--destroy", filled_file, "--json")
    (row,) = said.json["results"]
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    (job,) = last_status(point)["jobs"]  # type: ignore[misc]
    merged: dict[int, int] = {}
    for direction in ("read", "write"):
        for value, count in job[direction]["lat_ns"]["bins"].items():
            merged[int(value)] = merged.get(int(value), 0) + count
    samples = [value for value in sorted(merged) for _ in range(merged[value])]
    assert row["latency_p50_ns"] == samples[(len(samples) + 1) // 2 - 1]
    assert row["latency_p99_ns"] == samples[-(-len(samples) * 99 // 100) - 1]
    weights = [job[d]["lat_ns"]["N"] for d in ("read", "write")]
    means = [job[d]["lat_ns"]["mean"] for d in ("read", "write")]
    mean = sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights)
    assert row["latency_mean_ns"] == pytest.approx(mean)


def test_throughput_is_iops_times_block_size_and_outstanding_is_what_was_asked(
    loadline: Loadline, filled_file: Path
) -> None:
    said = loadline("run", three(loadline.folder, "1s"), filled_file, "--destroy", filled_file, "--json")
    for row, block in zip(said.json["results"], (4096, 8192, 16384), strict=True):
        assert row["bytes_per_s"] == pytest.approx(row["iops"] * block, rel=1e-3)
        assert row["outstanding_asked"] == 4
        assert 3 <= row["outstanding_achieved"] <= 4
        assert row["workload"]["profile"]["name"] == row["profile"]


def test_a_queue_depth_that_is_no_power_of_two_is_kept(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "reads 4k 100% 100%", runtime="1s")
    row = loadline("run", path, filled_file, "--queue-depth", "24", "--json").json["results"][0]
    assert row["iops"] * row["latency_mean_ns"] / 1e9 == pytest.approx(24, rel=0.05)  # Little's law
    assert row["outstanding_achieved"] == pytest.approx(24, rel=0.05)


def test_an_engine_that_rounds_queue_depths_is_refused_where_they_would_be_rounded(
    loadline: Loadline, filled_file: Path
) -> None:
    for asked in ((reads(loadline.folder), "--queue-depth", "8,24"), ("web-ramp",)):
        said = loadline("run", *asked, filled_file, "--engine", "io_uring")
        assert said.code == 2
        assert "may round queue depths" in said.err


def test_the_series_holds_the_load_generator_the_host_and_the_device(loadline: Loadline, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    path = suite(tmp_path, "mixed 4k 70% 100%", runtime="3s", warmup='"1s"')
    said = loadline("run", path, disk, "--size", "16M", "--json")
    (file,) = Path(said.json["runs"][0]["path"]).glob("points/*/series.parquet")
    (row,) = said.json["results"]
    rows = duckdb.sql(f"select * from '{file}' order by time_ns").fetchall()
    names = [column[0] for column in duckdb.sql(f"select * from '{file}' limit 0").description]
    series = [dict(zip(names, values, strict=True)) for values in rows]
    assert {line["source"] for line in series} >= {"io", "host"}
    measured = [line for line in series if line["source"] == "io" and not line["warmup"]]
    assert len(measured) == 3
    ios = sum(line["read_iops"] * line["duration_ns"] for line in measured) / 1e9
    assert ios == pytest.approx(row["read_iops"] * row["runtime_ns"] / 1e9, rel=0.01)
    assert row["warmup_ns"] == 10**9
    assert all(0 <= line["cpu_fraction"] <= 1 for line in series if line["source"] == "host")


def test_the_job_that_ran_is_the_one_that_suites_prints(loadline: Loadline, filled_file: Path) -> None:
    path = three(loadline.folder)
    same = ("--seed", "7", "--engine", "libaio")
    said = loadline("run", path, filled_file, "--destroy", filled_file, "--json", *same)
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*-reads")
    printed = loadline("suites", path, "--point", "reads", *same)
    assert (point / "job.fio").read_text() == printed.out


@pytest.mark.parametrize("name", ["we:ird", "with space", "hash#semi;colon", "dollar$HOME,comma", "back\\slash", "ünï"])
def test_a_target_may_have_any_name(loadline: Loadline, filled_file: Path, name: str) -> None:
    target = filled_file.rename(filled_file.with_name(name))
    said = loadline("run", reads(loadline.folder), target, "--json")
    assert said.code == 0, said.err
    assert said.json["results"][0]["iops"] > 0
    assert sorted(path.name for path in loadline.folder.iterdir()) == sorted([name, "reads.toml", "runs"])


def test_a_suite_that_only_reads_changes_nothing_and_asks_for_nothing(loadline: Loadline, filled_file: Path) -> None:
    before = hashlib.sha256(filled_file.read_bytes()).digest()
    said = loadline("run", reads(loadline.folder), filled_file)
    assert said.code == 0, said.err
    assert "writes   nothing" in said.err
    (run,) = loadline.runs()
    assert " --readonly " in (run / "log.txt").read_text()
    assert hashlib.sha256(filled_file.read_bytes()).digest() == before


def test_a_file_that_loadline_did_not_make_is_overwritten_only_by_its_path(
    loadline: Loadline, filled_file: Path
) -> None:
    before = hashlib.sha256(filled_file.read_bytes()).digest()
    for words in ((), ("--destroy", "yes"), ("--destroy", filled_file.name)):
        said = loadline("run", three(loadline.folder), filled_file, *words)
        assert said.code == 4
        assert f"--destroy {filled_file}" in said.err
    assert hashlib.sha256(filled_file.read_bytes()).digest() == before
    assert loadline("run", three(loadline.folder), filled_file, "--destroy", filled_file).code == 0
    assert hashlib.sha256(filled_file.read_bytes()).digest() != before


def test_what_may_be_destroyed_must_be_a_target_of_the_run(loadline: Loadline, filled_file: Path) -> None:
    other = loadline.folder / "other"
    other.write_bytes(b"precious")
    for words in ((reads(loadline.folder),), (three(loadline.folder), "--destroy", filled_file)):
        said = loadline("run", *words, filled_file, "--destroy", other)
        assert (said.code, loadline.runs()) == (2, [])
        assert f"--destroy '{other}' is no target of this run\nIt has {filled_file}." in said.err
    assert loadline("run", reads(loadline.folder), filled_file, "--destroy", filled_file).code == 0


def test_a_sparse_file_is_filled_before_it_is_measured(loadline: Loadline, tmp_path: Path) -> None:
    target = tmp_path / "sparse"
    with target.open("wb") as file:
        file.truncate(8 * MIB + 512 * 3)
    said = loadline("run", reads(tmp_path), target, "--destroy", target)
    assert said.code == 0, said.err
    assert "is sparse" in said.err
    content = target.read_bytes()
    assert len(content) == 8 * MIB + 512 * 3
    assert not any(content[at : at + 512] == bytes(512) for at in range(0, len(content), 512))


def test_preallocated_zeros_are_found_by_reading(loadline: Loadline, tmp_path: Path) -> None:
    target = tmp_path / "allocated"
    with target.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 8 * MIB)
    said = loadline("run", reads(tmp_path), target, "--no-prepare")
    assert said.code == 4
    assert "read as zeros" in said.err
    assert not any(target.read_bytes())


def test_quick_bounds_a_point_and_marks_every_row(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "reads 4k 100% 100%", runtime="300s", warmup='"20s"')
    printed = loadline("suites", path, "--quick", "--json").json["suites"][0]["points"]
    assert [point["runtime_ns"] + point["warmup_ns"] for point in printed] == [5 * 10**9]
    said = loadline("run", reads(loadline.folder), filled_file, "--quick", "--json")
    assert [row["quick"] for row in said.json["results"]] == [True]


def test_concurrent_sections_of_a_job_file_are_one_point(loadline: Loadline, filled_file: Path) -> None:
    job = loadline.folder / "two.fio"
    job.write_text(
        "[global]\nioengine=libaio\ndirect=1\nruntime=1\n[a]\nrw=randread\nbs=4k\n[b]\nrw=randread\nbs=8k\niodepth=3\n"
    )
    said = loadline("run", job, filled_file, "--json")
    assert said.code == 0, said.err
    (row,) = said.json["results"]
    assert "--each-section" in said.err
    assert (row["profile"], row["outstanding_asked"], row["queue_depth"]) == ("a+b", 4, None)
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    jobs = last_status(point)["jobs"]
    assert row["iops"] == pytest.approx(sum(job["read"]["iops"] for job in jobs))  # type: ignore[attr-defined]


def test_provenance_is_captured_and_what_is_declared_stays_apart(loadline: Loadline, filled_file: Path) -> None:
    words = ("--declare", "cache=write-back", "--tag", "raid=10")
    said = loadline("run", reads(loadline.folder), filled_file, "--json", *words)
    document = json.loads((Path(said.json["runs"][0]["path"]) / "run.json").read_text())
    assert document["declared"] == {"cache": "write-back"}
    assert said.json["results"][0]["tags"] == {"raid": "10"}
    (session,) = document["sessions"]
    assert session["fio"]["version"].startswith("fio-")
    assert session["fio"]["engine"] in {"io_uring", "libaio"}
    assert session["command"][1:] == ["run", str(loadline.folder / "reads.toml"), str(filled_file), "--json", *words]
    assert session["machine"]["kernel"]
    assert session["ended_at"] > session["started_at"]


def test_jobs_that_dont_divide_the_target_evenly_get_their_ranges_in_bytes(
    loadline: Loadline, filled_file: Path
) -> None:
    path = suite(loadline.folder, "reads 4k 100% 0%", runtime="300ms")
    said = loadline("run", path, filled_file, "--jobs", "3", "--json")
    assert said.code == 0, said.err
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    third = 16 * MIB // 3 // 4096 * 4
    assert f"size={third}k\noffset_increment={third}k\n" in (point / "job.fio").read_text()


def test_what_fio_cannot_express_is_said_before_anything_is_written(loadline: Loadline, tmp_path: Path) -> None:
    target = tmp_path / "sparse"
    target.write_bytes(bytes(8 * MIB))
    said = loadline("run", suite(tmp_path, "mixed 4k 99.5% 100%"), target, "--destroy", target)
    assert said.code == 2
    assert "99.5%" in said.err
    assert not any(target.read_bytes())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"suite": None}, "None is no suite"),
        ({"repeats": 1.5}, "--repeat"),
        ({"seed": 10**30}, "--seed"),
        ({"order": "bogus"}, "--order"),
        ({"listen": 3}, "listen: 3 can't be called"),
        ({"options": None}, "options: None can't be"),
        ({"cache_bytes": float("nan")}, "--cache"),
    ],
)
def test_what_only_python_can_say_wrongly_leaves_no_run(tmp_path: Path, words: dict[str, Any], said: str) -> None:
    asked = words.pop("suite", "quick-look")
    with pytest.raises(InputError, match=said):
        package.run(asked, "emulated:station-mm1", store=tmp_path / "runs", size_bytes=1 << 30, **words)
    assert not (tmp_path / "runs").exists()


def test_flushes_between_writes_at_a_rate_are_refused_where_fio_dies_of_them(loadline: Loadline) -> None:
    path = suite(loadline.folder, "writes 4k 0% 100%", rate='"200/s"')
    path.write_text(f"{path.read_text()}flush_every = 4\n")
    said = loadline("run", path, "emulated:station-mm1", "--size", "1G")
    assert said.code == 2 and "fio's nbd engine dies by a rate of writes with flushes between them" in said.err


def test_an_open_load_offers_its_rate_and_says_from_when_it_counts(loadline: Loadline) -> None:
    path = suite(loadline.folder, "reads 4k 100% 100%", runtime="2s", rate='"400/s"', jobs="4")
    said = loadline("run", path, f"emulated:{described(loadline.folder, SLOW, 'slow')}", "--size", "64M", "--json")
    (row,) = said.json["results"]
    assert row["offered_per_s"] == 400
    assert row["iops"] == pytest.approx(400, rel=0.2)
    (found,) = (finding for finding in said.json["findings"] if finding["check"] == "open-load")
    assert "responses are told from when they were due" in found["message"]


def test_an_open_load_has_no_burst_after_its_warm_up_for_fio_knows_of_none(
    loadline: Loadline, filled_file: Path
) -> None:
    path = suite(loadline.folder, "reads 4k 100% 100%", runtime="9s", warmup='"4s"', rate='"500/s"')
    said = loadline("run", path, filled_file, "--json")
    assert said.code == 0, said.err + said.out
    (row,) = said.json["results"]
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    job = (point / "job.fio").read_text()
    assert "runtime=13s" in job and "numjobs=100\nrate_iops=5" in job and "ramp_time" not in job
    assert row["iops"] == pytest.approx(500, rel=0.2)
    assert row["bytes_per_s"] == row["iops"] * 4096 and row["latency_max_ns"] is not None
    assert (row["runtime_ns"], row["warmup_ns"]) == (9 * 10**9, 4 * 10**9)
    query = f"select sum(duration_ns) from '{point / 'series.parquet'}' where source = 'io' and warmup = 0"
    ((counted_ns,),) = duckdb.sql(query).fetchall()
    assert counted_ns == row["runtime_ns"]


@pytest.mark.root
class TestOnDevices:
    pytestmark = on_devices

    def test_an_empty_device_is_filled_and_measured_once_its_path_is_given(
        self, loadline: Loadline, empty_loop: Path
    ) -> None:
        said = loadline("run", three(loadline.folder), empty_loop, "--json", "--destroy", empty_loop)
        assert said.code == 0, said.err
        assert "read as zeros" in said.err
        assert all(row["iops"] > 0 and row["busy_fraction"] is not None for row in said.json["results"])
        again = loadline("run", three(loadline.folder), empty_loop, "--json", "--destroy", empty_loop)
        assert again.code == 0
        assert "read as zeros" not in again.err

    def test_the_device_row_of_the_series_agrees_with_fio(self, loadline: Loadline, empty_loop: Path) -> None:
        path = suite(loadline.folder, "reads 4k 100% 100%", runtime="3s")
        said = loadline("run", path, empty_loop, "--json", "--destroy", empty_loop)
        (row,) = said.json["results"]
        (file,) = Path(said.json["runs"][0]["path"]).glob("points/*/series.parquet")
        query = f"select sum(read_iops * duration_ns) / sum(duration_ns) from '{file}' where source = 'device'"
        ((device_iops,),) = duckdb.sql(query).fetchall()
        assert device_iops == pytest.approx(row["iops"], rel=0.25)

    def test_nothing_is_written_without_the_right_word(self, loadline: Loadline, empty_loop: Path) -> None:
        for words in ((), ("--destroy", "sdz")):
            said = loadline("run", three(loadline.folder), empty_loop, *words)
            assert said.code == 4
            assert "destroys everything in the first" in said.err
            assert "mostly far less than" in said.err
        assert not any(empty_loop.read_bytes())
        assert loadline.runs() == []

    def test_only_the_part_that_size_names_is_written(self, loadline: Loadline, empty_loop: Path) -> None:
        said = loadline("run", three(loadline.folder), empty_loop, "--size", "4M", "--destroy", empty_loop)
        assert said.code == 0, said.err
        content = empty_loop.read_bytes()
        assert any(content[4 * MIB - 4096 : 4 * MIB])
        assert not any(content[4 * MIB :])

    def test_a_block_smaller_than_the_logical_one_is_refused_by_name(self, loadline: Loadline, tmp_path: Path) -> None:
        with loop_device(tmp_path / "backing", options=["-b", "4096"]) as device:
            path = suite(tmp_path, "small 512 100% 100%")
            said = loadline("run", path, device)
        assert said.code == 2
        assert "512 bytes is no multiple of the logical block" in said.err

    def test_a_second_run_on_the_same_device_is_refused(self, loadline: Loadline, empty_loop: Path) -> None:
        path = suite(loadline.folder, "reads 4k 100% 100%", runtime="60s")
        first = loadline.start("run", path, empty_loop, "--destroy", empty_loop, "--progress", "json")
        try:
            assert first.stderr is not None
            for line in first.stderr:
                if json.loads(line)["event"] == "progress":
                    break
            said = loadline("run", path, empty_loop, "--destroy", empty_loop)
            assert said.code == 4
        finally:
            first.terminate()
            first.communicate()
        assert first.returncode == 130


def test_loads_of_a_rate_write_no_more_than_they_are_asked_to(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "mixed 4k 50% 100%", runtime="60s", rate='"500/s"')
    said = loadline("run", path, filled_file)
    (line,) = [line for line in said.err.splitlines() if line.startswith("writes")]
    assert line == "writes   mostly far less than 65.5 MB in all, which would be 1.02 MB/s throughout"


def test_what_is_written_at_most_says_by_which_rate(loadline: Loadline, filled_file: Path) -> None:
    said = loadline("run", three(loadline.folder), filled_file)
    assert said.code == 4
    (line,) = [line for line in said.err.splitlines() if line.startswith("writes")]
    assert re.fullmatch(
        r"writes   mostly far less than .*B in all, which would be (8 GB/s throughout|.*/s throughout, the most .*)",
        line,
    )
