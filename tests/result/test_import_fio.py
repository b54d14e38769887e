"""fio's own output becomes rows, as the json module sees it too."""

from __future__ import annotations

import copy
import errno
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from core.golden import FOLDER, statuses

from loadline.errors import InputError
from loadline.result.importers.importing import Rows, read_files
from loadline.result.schema import Flow, Result


def rows(path: Path) -> Rows:
    return read_files([path])


def written(folder: Path, status: dict[str, Any]) -> Path:
    path = folder / "fio.json"
    path.write_text(json.dumps(status))
    return path


def named(found: Rows, name: str) -> Result:
    return next(row for row in found.results if row.profile == name)


def test_a_group_is_a_row_with_what_was_asked_of_it() -> None:
    found = rows(FOLDER / "two-groups.json")
    mixed, writer = found.results
    assert [row.profile for row in found.results] == ["mixed", "writer"]
    assert (mixed.queue_depth, mixed.jobs, mixed.outstanding_asked) == (4, 2, 8)
    assert (writer.queue_depth, writer.jobs, writer.outstanding_asked) == (2, 1, 2)
    profile = mixed.workload["profile"]
    assert (profile["read_fraction"], profile["random_fraction"]) == (0.5, 1.0)
    assert profile["block"] == [{"size_bytes": 4096, "share_fraction": 1.0}]
    assert writer.workload["profile"]["read_fraction"] == 0.0


def test_figures_are_those_of_the_last_status() -> None:
    last = statuses("two-groups.json")[-1]["jobs"][0]
    mixed = rows(FOLDER / "two-groups.json").results[0]
    assert mixed.read.iops == last["read"]["iops"]
    assert mixed.write.latency_mean_ns == last["write"]["lat_ns"]["mean"]
    assert mixed.total.iops == pytest.approx(last["read"]["iops"] + last["write"]["iops"])
    ios = [last[way]["total_ios"] for way in ("read", "write")]
    means = [last[way]["lat_ns"]["mean"] for way in ("read", "write")]
    assert mixed.total.latency_mean_ns == pytest.approx(sum(n * m for n, m in zip(ios, means, strict=True)) / sum(ios))
    assert mixed.runtime_ns == last["read"]["runtime"] * 10**6


def test_percentiles_come_from_merged_histograms() -> None:
    last = statuses("two-groups.json")[-1]["jobs"][0]["read"]["lat_ns"]
    mixed = rows(FOLDER / "two-groups.json").results[0]
    assert mixed.read.latency_p99_ns == last["percentile"]["99.000000"]
    assert mixed.total.latency_p99_ns is not None


def test_plain_json_keeps_the_percentiles_of_one_job_and_makes_none_up_for_several(tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("two-groups.json")[-1])
    for job in status["jobs"]:
        for way in ("read", "write"):
            for latency in ("lat_ns", "clat_ns"):
                job[way][latency].pop("bins", None)
    row = rows(written(tmp_path, status)).results[0]
    assert row.read.latency_p99_ns == status["jobs"][0]["read"]["lat_ns"]["percentile"]["99.000000"]
    assert row.total.latency_p99_ns is None


def test_reads_and_writes_that_were_counted_as_one_are_known_together_only(tmp_path: Path) -> None:
    # As fio 3.33 and 2.6 write it with unified_rw_reporting=mixed: no `read`, `write` nor `trim`.
    status = copy.deepcopy(statuses("ramp.json")[-1])
    whole = status["jobs"][0]
    job = whole["mixed"] = whole.pop("read")
    del whole["write"], whole["trim"]
    (row,) = rows(written(tmp_path, status)).results
    assert row.total.iops == job["iops"] > 0
    assert row.total.latency_mean_ns == job["lat_ns"]["mean"]
    assert row.total.latency_p99_ns == job["lat_ns"]["percentile"]["99.000000"]
    assert (row.read, row.write) == (Flow(), Flow())
    assert row.runtime_ns == job["runtime"] * 10**6
    assert row.workload["profile"]["read_fraction"] == 0.7


def test_of_a_client_that_gives_its_sum_only_the_sum_is_taken(tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("client.json")[-1])
    status["client_stats"] = [job for job in status["client_stats"] if job["jobname"] == "All clients"]
    found = rows(written(tmp_path, status))
    (row,) = found.results
    assert row.total.iops == pytest.approx(sum(status["client_stats"][0][way]["iops"] for way in ("read", "write")))
    assert any("sum of all jobs" in warning for warning in found.warnings)


def test_clients_are_merged_and_their_sum_is_left_out() -> None:
    found = rows(FOLDER / "client.json")
    assert [row.profile for row in found.results] == ["mixed", "writer"]
    entry = statuses("client.json")[-1]["client_stats"][0]
    mixed = named(found, "mixed")
    assert mixed.hosts == 1
    assert mixed.read.iops == entry["read"]["iops"]


def test_of_a_clients_statuses_the_last_is_taken() -> None:
    found = rows(FOLDER / "client-statuses.json")
    entries = statuses("client-statuses.json")[-1]["client_stats"]
    last = [entry for entry in entries if entry["jobname"] == "mixed"][-1]
    assert named(found, "mixed").read.iops == last["read"]["iops"]
    assert any("only the last" in warning for warning in found.warnings)


def test_two_clients_count_as_two_hosts(tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("client.json")[-1])
    mixed = status["client_stats"][0]
    status["client_stats"] = [mixed, {**mixed, "hostname": "other"}]
    (row,) = rows(written(tmp_path, status)).results
    assert (row.hosts, row.outstanding_asked) == (2, 16)
    assert row.read.iops == pytest.approx(2 * mixed["read"]["iops"])
    assert row.read.latency_mean_ns == pytest.approx(mixed["read"]["lat_ns"]["mean"])


def test_options_that_a_client_leaves_out_are_unknown() -> None:
    writer = named(rows(FOLDER / "client.json"), "writer")
    assert (writer.outstanding_asked, writer.workload) == (None, None)


def test_text_before_and_between_statuses_is_passed_over() -> None:
    (row,) = rows(FOLDER / "interrupted.json").results
    assert row.total.iops


def test_no_latencies_are_no_zeros() -> None:
    (row,) = rows(FOLDER / "gtod-reduce.json").results
    assert row.total.iops
    assert row.total.latency_mean_ns is None


OLD = {
    "fio version": "fio-2.2.10",
    "jobs": [
        {
            "jobname": "old",
            "groupid": 0,
            "error": 0,
            "read": {
                **{"io_bytes": 400000, "bw": 40000, "iops": 10000.0, "runtime": 10000, "total_ios": 100000},
                "clat": {"min": 50, "max": 9000, "mean": 95.0, "stddev": 20.0, "percentile": {"99.000000": 180}},
                "lat": {"min": 51, "max": 9001, "mean": 100.0, "stddev": 20.5},
            },
            "write": {"bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0, "lat": {"max": 0, "mean": 0.0}},
        }
    ],
}


def test_fio_2_counts_in_microseconds_and_kibibytes(tmp_path: Path) -> None:
    (row,) = rows(written(tmp_path, OLD)).results
    assert (row.total.latency_mean_ns, row.total.latency_p99_ns) == (100_000.0, 180_000)
    assert row.total.bytes_per_s == 40000 * 1024
    assert row.write.iops == 0.0


def test_a_synchronous_engine_has_one_outstanding_whatever_depth_it_was_given(tmp_path: Path) -> None:
    status = copy.deepcopy(OLD)
    status["jobs"][0]["job options"] = {"ioengine": "psync", "iodepth": "32", "rw": "randread", "bs": "8k"}  # type: ignore[index]
    (row,) = rows(written(tmp_path, status)).results
    assert row.outstanding_asked == 1


def test_a_rated_job_is_an_offered_load(tmp_path: Path) -> None:
    status = copy.deepcopy(OLD)
    options = {"ioengine": "libaio", "iodepth": "32", "rate_iops": "12000", "rw": "randread"}
    status["jobs"][0]["job options"] = options  # type: ignore[index]
    (row,) = rows(written(tmp_path, status)).results
    assert (row.offered_per_s, row.outstanding_asked) == (12000.0, None)


@pytest.mark.parametrize("cap", [{"rate": "10m"}, {"latency_target": "1ms"}])
def test_how_much_was_outstanding_below_a_cap_is_unknown(cap: dict[str, str], tmp_path: Path) -> None:
    status = copy.deepcopy(OLD)
    status["jobs"][0]["job options"] = {"ioengine": "libaio", "iodepth": "32", "rw": "randread", **cap}  # type: ignore[index]
    (row,) = rows(written(tmp_path, status)).results
    assert (row.offered_per_s, row.outstanding_asked) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "reader: (g=0): rw=randread, ioengine=libaio, iodepth=1\nfio-3.33\n  lat (usec) : 2=0.62%, 4=1%\n",
        "Starting 1 process\n\nreader: (groupid=0, jobs=1): err= 0: pid=1\n  lat (usec) : 2=0.62%, 4=0.18%\n",
        "3;fio-3.33;reader;0;0;110560;55252;13813;2001\n",
    ],
)
def test_what_fio_wrote_for_people_is_refused_with_what_to_do(text: str, tmp_path: Path) -> None:
    path = tmp_path / "fio.out"
    path.write_text(text)
    with pytest.raises(InputError, match="fio's text") as refused:
        rows(path)
    assert "--output-format=json+" in refused.value.remedy


def test_a_mix_of_sizes_is_known_with_its_shares(tmp_path: Path) -> None:
    status = copy.deepcopy(OLD)
    status["jobs"][0]["job options"] = {"bssplit": "4k/60:64k/40", "rw": "randrw", "rwmixread": "70"}  # type: ignore[index]
    profile = rows(written(tmp_path, status)).results[0].workload["profile"]
    assert [part["size_bytes"] for part in profile["block"]] == [4096, 65536]
    assert profile["read_fraction"] == 0.7


def test_rates_without_a_count_of_requests_are_taken_as_they_stand(tmp_path: Path) -> None:
    status = copy.deepcopy(OLD)
    for way in ("read", "write"):
        del status["jobs"][0][way]["total_ios"]  # type: ignore[index]
    (row,) = rows(written(tmp_path, {**status, "fio version": "fio-2.1.11"})).results
    (counted,) = rows(written(tmp_path, OLD)).results
    assert (row.read, row.total) == (counted.read, counted.total)
    assert row.read.iops == 10_000


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fio.json.gz"
    path.write_bytes(gzip.compress(json.dumps(OLD).encode()))
    assert rows(path).results[0].profile == "old"


@pytest.mark.parametrize(
    "text", ['{"fio version": "fio-3.33", "jobs": []}', '{"fio version": "fio-3.33"', '{"fio version": 1}']
)
def test_output_without_a_whole_status_is_refused_with_a_remedy(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError) as error:
        rows(tmp_path / "x.json")
    assert error.value.remedy


@pytest.mark.parametrize("path", ["read", "groupid", "jobname", "error", "usr_cpu", "iodepth_level", "job options"])
@pytest.mark.parametrize("junk", [None, "x", -1, 1e308, [], {"a": 1}, True])
def test_whatever_stands_in_a_job_it_is_a_row_or_a_sentence(path: str, junk: object, tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("two-groups.json")[-1])
    status["jobs"][0][path] = junk
    try:
        assert rows(written(tmp_path, status)).results
    except InputError as error:
        assert error.remedy


@pytest.mark.parametrize("bins", [{"a": 1}, {"1": -5}, {"1": 1.5}, [1], "x", {"99999999999999999999": 1}])
def test_bins_that_fio_does_not_write_are_refused(bins: object, tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("two-groups.json")[-1])
    status["jobs"][0]["read"]["lat_ns"]["bins"] = bins
    with pytest.raises(InputError, match="not as fio writes it"):
        rows(written(tmp_path, status))


def test_printfs_nan_is_no_number(tmp_path: Path) -> None:
    text = json.dumps(OLD).replace('"stddev": 20.5', '"stddev": -nan')
    (tmp_path / "x.json").write_text(text)
    (row,) = rows(tmp_path / "x.json").results
    assert row.total.latency_stddev_ns is None
    assert row.total.latency_mean_ns == 100_000.0


def job(folder: Path, options: dict[str, str], **parts: dict[str, Any]) -> Path:
    flow = {"total_ios": 100, "iops": 50.0, "bw_bytes": 204_800, "runtime": 2000}
    flow["lat_ns"] = {"mean": 2e7, "max": 9e7, "stddev": 1e6, "N": 100}
    ways = {way: {**flow, **more} for way, more in parts.items()}
    return written(folder, {"fio version": "fio-3.33", "jobs": [{"jobname": "j", "job options": options, **ways}]})


def test_of_jobs_that_differ_in_what_they_do_only_what_they_share_was_asked(tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("two-groups.json")[-1])
    status["jobs"] = status["jobs"][:2]
    for one, way in zip(status["jobs"], ("randread", "randwrite"), strict=True):
        one["groupid"], one["job options"]["rw"] = 0, way
    (row,) = rows(written(tmp_path, status)).results
    assert "read_fraction" not in row.workload["profile"]
    assert row.workload["profile"]["random_fraction"] == 1.0


def test_a_job_that_says_no_access_reads_as_fio_does(tmp_path: Path) -> None:
    (row,) = rows(job(tmp_path, {"bs": "4k"}, read={})).results
    assert row.workload["profile"]["read_fraction"] == 1.0


def test_reads_that_verify_what_was_written_are_left_out_with_a_warning(tmp_path: Path) -> None:
    found = rows(job(tmp_path, {"rw": "randwrite", "verify": "crc32c", "iodepth": "1"}, read={}, write={}))
    assert (found.results[0].total.iops, found.results[0].read.iops) == (50.0, 0.0)
    assert "verified what it wrote" in found.warnings[0]


def test_a_job_that_did_nothing_has_failed_and_has_no_figures(tmp_path: Path) -> None:
    path = job(tmp_path, {"rw": "randread"}, read={"total_ios": 0, "iops": 0.0}, write={"total_ios": 0, "iops": 0.0})
    (idle,) = rows(path).results
    assert (idle.total, idle.read, idle.write, idle.error) == (Flow(), Flow(), Flow(), "no read or write was done")
    status = json.loads(path.read_text())
    status["jobs"][0]["error"] = errno.ENOENT
    (row,) = rows(written(tmp_path, status)).results
    assert (row.total, row.error) == (Flow(), "fio's job: No such file or directory (errno 2)")


def test_trims_are_no_results_and_said_to_be_left_out(tmp_path: Path) -> None:
    found = rows(job(tmp_path, {"rw": "randtrim"}, trim={}))
    assert (found.results[0].total, found.results[0].error) == (Flow(), "no read or write was done")
    assert "trims are left out" in found.warnings[0]


@pytest.mark.parametrize(
    ("rw", "rate", "offered", "share"),
    [
        ("randrw", "300,100", 400.0, 0.75),
        ("randrw", "500", 1000.0, 0.5),
        ("randread", "300,100", 300.0, 1.0),
        ("randwrite", "300,100", 100.0, 0.0),
        ("randwrite", ",200", 200.0, 0.0),
    ],
)
def test_reads_and_writes_are_offered_at_rates_of_their_own(
    rw: str, rate: str, offered: float, share: float, tmp_path: Path
) -> None:
    (row,) = rows(job(tmp_path, {"rw": rw, "rwmixread": "70", "rate_iops": rate}, read={}, write={})).results
    assert (row.offered_per_s, row.workload["profile"]["read_fraction"]) == (offered, share)


def test_nothing_was_asked_where_an_early_fio_tells_no_options(tmp_path: Path) -> None:
    path = job(tmp_path, {}, read={})
    status = json.loads(path.read_text())
    del status["jobs"][0]["job options"]
    (row,) = rows(written(tmp_path, status)).results
    assert (row.outstanding_asked, row.workload) == (None, None)


def test_figures_that_contradict_the_depth_are_said_with_their_numbers_and_more_than_one_cause(tmp_path: Path) -> None:
    status = copy.deepcopy(statuses("two-groups.json")[-1])
    (writer,) = [job for job in status["jobs"] if job["jobname"] == "writer"]
    writer["write"]["lat_ns"]["mean"] = 3 * 2e9 / writer["write"]["iops"]
    found = rows(written(tmp_path, {**status, "jobs": [writer]}))
    assert found.results[0].outstanding_asked is None
    (warning,) = [text for text in found.warnings if "outstanding" in text]
    assert "rate times mean latency is 6 outstanding, 3 times the 2 of its options" in warning
    assert "group_reporting" in warning
    assert "changed afterwards" in warning
