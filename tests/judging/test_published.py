"""What field reports contradict themselves in is found from their numbers, and nothing false is said of sound rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from loadline.judging.sources import audit_sources
from loadline.result.schema import Result

FOLDER = Path(__file__).parents[1] / "golden/published"
HCI = ("vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads", "guests=32")


def audited(file: str, workload: Sequence[str] = (), **more: object) -> list[Result]:
    return list(audit_sources([str(FOLDER / file)], workload=workload, **more).results)  # type: ignore[arg-type]


def said(row: Result, check: str, severity: str | None = None) -> str:
    return next(
        (one["message"] for one in row.findings if one["check"] == check and severity in {None, one["severity"]}), ""
    )


def grave(rows: Sequence[Result]) -> list[str]:
    return [one["message"] for row in rows for one in row.findings if one["severity"] != "note"]


@pytest.fixture(scope="module")
def cluster() -> list[Result]:
    return audited("vxrail.md", HCI)


def test_every_row_of_the_cluster_breaks_littles_law_by_as_much_as_it_does(cluster: list[Result]) -> None:
    shares = [row.findings and said(row, "littles-law", "error") for row in cluster]
    assert all(shares)
    found = [next(f["numbers"]["share"] for f in row.findings if f["check"] == "littles-law") for row in cluster]
    assert (round(min(found) - 1, 3), round(max(found) - 1, 2)) == (0.015, 0.34)


def test_why_the_cluster_breaks_it_is_named(cluster: list[Result]) -> None:
    assert all("isn't weighted by I/Os" in said(row, "littles-law") for row in cluster)


def test_the_clusters_guests_are_counted_where_a_row_says_so(cluster: list[Result]) -> None:
    assert [row.outstanding_asked for row in cluster] == [512] * 5 + [1024] * 3


def test_the_column_of_outstanding_agrees_with_nothing_and_once_exceeds_what_was_asked(cluster: list[Result]) -> None:
    assert "the row says that 204.7 were outstanding" in said(cluster[0], "littles-law")
    assert "851.3 outstanding are more than the 512" in said(cluster[4], "littles-law")
    assert not any("are more than" in said(row, "littles-law") for row in cluster[:4])


def test_the_clusters_standard_deviation_has_no_plausible_unit(cluster: list[Result]) -> None:
    assert all("no plausible unit" in said(row, "units") for row in cluster)


def test_like_set_ups_with_unlike_results_are_found(cluster: list[Result]) -> None:
    assert "1 group, 2 capacity disks" in said(cluster[3], "settings")
    assert "RAID 1, FTT 1, 64 VMs" in said(cluster[7], "settings")


def test_more_than_linear_growth_is_found(cluster: list[Result]) -> None:
    assert "2.69 x the rate" in said(cluster[0], "settings")


def test_of_the_clusters_other_rows_no_set_up_is_doubted(cluster: list[Result]) -> None:
    assert not any(said(cluster[number], "settings") for number in (1, 2, 4, 5, 6))


def test_iometers_rows_keep_littles_law_at_32_and_their_megabytes_are_mebibytes() -> None:
    rows = audited("rs2bl080-iometer.csv", ["iometer-profiles"])
    assert [row.outstanding_asked for row in rows] == [32, 32]
    assert all("MiB/s" in said(row, "units", "note") for row in rows)
    assert grave(rows) == []


def test_as_mebibytes_iometers_rows_are_clean() -> None:
    maps = ["MBps=bytes_per_s:MiB/s", "read MBps=read_bytes_per_s:MiB/s", "write MBps=write_bytes_per_s:MiB/s"]
    rows = audited("rs2bl080-iometer.csv", ["iometer-profiles", "runtime=300s"], maps=maps)
    assert [row.findings for row in rows] == [(), ()]


def test_more_than_drives_can_take_is_found_with_the_layouts_parity() -> None:
    write, read = audited("rs2bl080-ceilings.csv")
    assert "200 MB/s for each of 8 drives, which do 170" in said(write, "hidden-cache", "error")
    assert grave([read]) == []


def test_more_iops_at_the_same_latency_and_depth_is_found() -> None:
    reference, faster = audited("dl360-generations.csv")
    assert grave([reference]) == []
    assert "7.8% more than the 32" in said(faster, "littles-law", "error")


def test_a_cache_that_stayed_on_is_found() -> None:
    (row,) = audited("dl360-cache-off.csv")
    assert "although the cache is said to be off" in said(row, "hidden-cache", "error")


def test_a_declared_cache_is_no_hidden_one(tmp_path: Path) -> None:
    text = (FOLDER / "dl360-cache-off.csv").read_text().replace(",off,", ",on,")
    (tmp_path / "on.csv").write_text(text)
    assert grave(list(audit_sources([str(tmp_path / "on.csv")]).results)) == []


def test_what_no_link_carries_is_found_and_what_fits_is_not() -> None:
    read, other_read, write, other_write = audited("six-patterns.html")
    for row in (read, write):
        assert "the link carries 6.4 GB/s" in said(row, "link-limit", "error")
    assert "83.9 GB/s" in said(read, "link-limit")
    assert "about 20 outstanding would fit" in said(read, "link-limit")
    assert not said(other_read, "link-limit")
    assert grave([other_write]) == []


def test_a_read_with_a_mix_of_writes_only_is_found() -> None:
    read, _, write, _ = audited("six-patterns.html")
    assert "says a share of reads of 100%" in said(read, "name", "warning")
    assert not said(write, "name")


def test_cells_that_say_two_things_are_found_and_no_others() -> None:
    rows = audited("dl360-profiles.md")
    doubted = {row.profile for row in rows if said(row, "name", "warning")}
    assert doubted == {"exchange-server", "video-on-demand"}
    assert len(rows) == 12


@pytest.mark.parametrize(("profile", "column"), [("exchange-server", "4k,67,100"), ("video-on-demand", "512k,100,100")])
def test_a_known_profile_with_other_parameters_is_found(profile: str, column: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"profile,block size,% read,% random,IOPS\n{profile},{column},1000\n")
    (row,) = audit_sources([str(tmp_path / "t.csv")]).results
    assert "has other parameters" in said(row, "name", "warning")


def test_the_arrays_tables_are_sound_but_lack_what_they_lack() -> None:
    rows = [*audited("eva-saturation.md"), *audited("eva-response-limited.tsv", maps=["*=iops"])]
    assert grave(rows) == []
    assert [row.total.iops for row in rows[-4:]] == [19600, 13500, 21200, 21100]
    assert all("no number outstanding" in said(row, "missing") for row in rows[-4:])


def test_a_busy_array_is_told_from_a_full_one() -> None:
    (row,) = audited("iostat-array.csv")
    assert "most of their capacity left" in said(row, "busy", "note")
    assert grave([row]) == []
