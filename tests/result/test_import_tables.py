"""Other people's tables become rows: heads, units, cells, and what isn't there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadline.errors import InputError
from loadline.result.importers.asked import parse_loads
from loadline.result.importers.cell import cell
from loadline.result.importers.column import Meaning, meaning, parse_map
from loadline.result.importers.importing import Rows, read_files
from loadline.result.schema import Result


def rows(
    folder: Path, text: str, name: str = "t.csv", workload: tuple[str, ...] = (), maps: tuple[str, ...] = ()
) -> Rows:
    (folder / name).write_text(text)
    return read_files([folder / name], loads=parse_loads(workload), maps=parse_map(list(maps)))


def one(folder: Path, text: str, **more: object) -> Result:
    (found,) = rows(folder, text, **more).results  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("head", "to", "unit"),
    [
        ("IOps", "iops", ""),
        ("Read IOPS", "read_iops", ""),
        ("kIOPS", "iops", "k"),
        ("Requests/s", "iops", ""),
        ("r/s", "read_iops", ""),
        ("MBps", "bytes_per_s", "MB/s"),
        ("write MBps", "write_bytes_per_s", "MB/s"),
        ("MiB/s", "bytes_per_s", "MiB/s"),
        ("Throughput (Gbit/s)", "bytes_per_s", "Gbit/s"),
        ("Bandwidth, KiB/s", "bytes_per_s", "KiB/s"),
        ("ART (ms)", "latency_mean_ns", "ms"),
        ("Read Latency", "read_latency_mean_ns", ""),
        ("Avg. write latency [µs]", "write_latency_mean_ns", "us"),
        ("p99 latency, us", "latency_p99_ns", "us"),
        ("p99", "latency_p99_ns", ""),
        ("99th %ile (us)", "latency_p99_ns", "us"),
        ("99.9% (µs)", "latency_p999_ns", "us"),
        ("95%ile Read", "read_latency_p95_ns", ""),
        ("Throughput (IOPS)", "iops", ""),
        ("% CPU Utilization (total)", "cpu_fraction", "%"),
        ("rkB/s", "read_bytes_per_s", "kB/s"),
        ("i/o rate", "iops", ""),
        ("bytes i/o", "block", "B"),
        ("read pct", "read_fraction", "%"),
        ("Outstanding per thread", "queue_depth", ""),
        ("aqu-sz", "outstanding", ""),
        ("99.9% latency ms", "latency_p999_ns", "ms"),
        ("95%tile_R_LAT ms", "read_latency_p95_ns", "ms"),
        ("Max response time (ms)", "latency_max_ns", "ms"),
        ("latency std dev", "latency_stddev_ns", ""),
        ("read ms", "read_latency_mean_ns", "ms"),
        ("w_await", "write_latency_mean_ns", ""),
        ("CPU %", "cpu_fraction", "%"),
        ("%util", "busy_fraction", "%"),
        ("Block size", "block", ""),
        ("bs (KB)", "block", "KiB"),
        ("Read/Write", "mix", ""),
        ("% Random", "random_fraction", "%"),
        ("Queue Depth", "queue_depth", ""),
        ("Outstanding I/Os", "outstanding", ""),
        ("Threads", "jobs", ""),
        ("VMs", "guests", ""),
        ("Duration (min)", "runtime_ns", "min"),
    ],
)
def test_a_head_is_understood_with_its_unit(head: str, to: str, unit: str) -> None:
    assert meaning(head) == Meaning(to, unit)


@pytest.mark.parametrize(
    "head", ["RAID", "configuration", "peak IOPS", "min latency ms", "IOPS per disk", "memory %", "vSAN CPU %", "price"]
)
def test_a_head_that_is_no_mean_figure_becomes_a_tag(head: str) -> None:
    assert meaning(head) is None


@pytest.mark.parametrize(
    ("text", "value", "step"),
    [
        ("7938.72", 7938.72, 0.01), ("162,000", 162000, 1), ("1,234,567.8", 1234567.8, 0.1), ("0,4", 0.4, 0.1),
        ("1.234,5", 1234.5, 0.1), ("17 937", 17937, 1), ("~2.5", 2.5, 0.1), ("160k", 160000, 1000), ("1e3", 1000, 1000),
        ("-", None, 0), ("n/a", None, 0), ("", None, 0), ("347,574*", 347574, 1),
    ],
)  # fmt: skip
def test_a_cell_is_a_number_with_the_step_of_its_last_digit(text: str, value: float | None, step: float) -> None:
    found = cell(text)
    assert found.value == (None if value is None else pytest.approx(value))
    assert found.step == pytest.approx(step)


def test_a_unit_that_is_assumed_and_a_column_that_is_left_out_are_warned_of(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("profile,IOPS,latency,throughput MB/s,bandwidth GB/s\na,100,5,1,1\nb,100,5 ms,1,1\n")
    assert [warning.partition(": ")[2] for warning in read_files([table]).warnings] == [
        "'latency' has no unit and is taken as ms: --map latency=latency_mean_ns:ms says which",
        "'bandwidth GB/s' is bytes_per_s as 'throughput MB/s' before it, and is left out as a tag: --map chooses",
    ]
    table.write_text("profile,IOPS,latency\na,100,5 ms\nb,100,7 ms\n")
    assert read_files([table]).warnings == ()
    table.write_text("profile,IOPS,latency\na,100,5\n")
    assert read_files([table], maps=parse_map(["latency=latency_mean_ns:us"])).warnings == ()


def test_a_cells_own_unit_counts_before_the_heads(tmp_path: Path) -> None:
    row = one(tmp_path, "IOPS,latency ms\n1000,250 us\n")
    assert row.total.latency_mean_ns == 250_000


def test_what_a_table_does_not_say_is_unknown(tmp_path: Path) -> None:
    row = one(tmp_path, "IOPS,raid\n1000,5\n")
    assert row.tags == {"raid": "5"}
    assert row.origin == "imported"
    absent = (row.total.latency_mean_ns, row.total.bytes_per_s, row.outstanding_asked, row.runtime_ns, row.workload)
    assert absent == (None,) * 5
    assert row.read.iops is row.write.iops is None


def test_an_empty_cell_is_unknown_and_a_zero_is_zero(tmp_path: Path) -> None:
    first, second = rows(tmp_path, "name,read IOPS,write IOPS\na,5,\nb,5,0\n").results
    assert (first.write.iops, second.write.iops) == (None, 0.0)


SAME = [
    ("t.csv", "profile,IOPS,read ms\nA,1000,1.5\n"),
    ("t.tsv", "profile\tIOPS\tread ms\nA\t1000\t1.5\n"),
    ("t.csv", "profile;IOPS;read ms\nA;1000;1,5\n"),
    ("t.md", "Text.\n\n| profile | IOPS | read ms |\n|---|---:|---:|\n| **A** | 1000 | `1.5` |\n\nMore.\n"),
    ("t.md", "profile | IOPS | read ms\n--- | --- | ---\nA | 1000 | 1.5\n"),
    ("t.html", "<table><tr><th>profile<th>IOPS<th>read ms</tr><tr><td>A<td>1000<td>1.5</table>"),
    ("t.txt", "A report\n\nprofile,IOPS,read ms\nA,1000,1.5\n"),
]


@pytest.mark.parametrize(("name", "text"), SAME)
def test_tables_are_read_however_they_are_written(name: str, text: str, tmp_path: Path) -> None:
    row = one(tmp_path, text, name=name)
    assert (row.profile, row.total.iops, row.read.latency_mean_ns) == ("A", 1000.0, 1.5e6)


def test_a_cell_that_spans_rows_stands_in_each(tmp_path: Path) -> None:
    text = "<table><tr><td>raid<td>IOPS</tr><tr><td rowspan=2>5<td>1</tr><tr><td>2</tr></table>"
    assert [row.tags["raid"] for row in rows(tmp_path, text, "t.html").results] == ["5", "5"]


def test_columns_that_are_systems_become_rows(tmp_path: Path) -> None:
    lines = [
        "| load | Vraid 1 | Vraid 5 |",
        "|---|---|---|",
        "| 64 KB read, MB/s | 528 | 529 |",
        "| reads, IO/s | 10 | 20 |",
    ]
    text = "\n".join(lines)
    found = rows(tmp_path, text, "t.md").results
    assert [(row.tags["Vraid"], row.total.bytes_per_s, row.total.iops) for row in found] == [
        ("1", 528e6, None),
        ("5", 529e6, None),
        ("1", None, 10.0),
        ("5", None, 20.0),
    ]


def test_random_and_sequential_figures_side_by_side_are_rows_of_their_own(tmp_path: Path) -> None:
    text = "drive,Sequential Read (MB/s),Random Read (IOPS)\nA,7000,1000000\n"
    random, sequential = rows(tmp_path, text).results
    assert (random.access_class, random.read.iops, random.read.bytes_per_s) == ("random", 1e6, None)
    assert (sequential.access_class, sequential.read.iops, sequential.read.bytes_per_s) == ("sequential", None, 7e9)


def test_reads_and_writes_make_the_whole_where_a_mix_was_asked_for(tmp_path: Path) -> None:
    both, one_way, apart = rows(tmp_path, "r/w,read IOPS,write IOPS\n70/30,700,300\n70/30,700,\n,700,300\n").results
    assert (both.total.iops, one_way.total.iops, apart.total.iops) == (1000.0, None, None)


def test_a_depth_with_decimals_was_measured_and_not_asked(tmp_path: Path) -> None:
    row = one(tmp_path, "queue depth,i/o rate\n31.9,25000\n")
    assert (row.queue_depth, row.outstanding_asked, row.outstanding_achieved) == (None, None, 31.9)


def test_a_column_is_put_right_by_map(tmp_path: Path) -> None:
    text = "what,speed,ART,IOPS\nA,100,5,7\n"
    row = one(tmp_path, text, maps=("speed=bytes_per_s:MiB/s", "ART=latency_mean_ns:us", "IOPS=-", "what=tag"))
    assert (row.total.bytes_per_s, row.total.latency_mean_ns, row.total.iops) == (100 * 2**20, 5000.0, None)
    assert row.tags == {"what": "A"}


@pytest.mark.parametrize("word", ["IOPS", "IOPS=nothing", "IOPS=iops:parsecs", "=iops"])
def test_a_map_that_cannot_be_is_refused_with_what_can(word: str) -> None:
    with pytest.raises(InputError) as error:
        parse_map([word])
    assert error.value.remedy


def test_a_load_from_columns_makes_the_number_outstanding(tmp_path: Path) -> None:
    row = one(tmp_path, "block size,r/w,random %,queue depth,threads,VMs,IOPS\n8 KB,70/30,100,4,8,2,1000\n")
    assert (row.queue_depth, row.jobs, row.hosts, row.outstanding_asked) == (4, 16, 2, 64)
    assert row.workload["profile"] == {
        "name": None,
        "block": [{"size_bytes": 8192, "share_fraction": 1.0}],
        "read_fraction": 0.7,
        "random_fraction": 1.0,
    }
    assert row.access_class == "random"


def test_a_load_is_said_by_a_name_or_by_keys(tmp_path: Path) -> None:
    row = one(tmp_path, "IOPS\x2cx\n1000,a\n", workload=("typical-12/oltp-db", "queue_depth=8"))
    assert row.workload["profile"]["read_fraction"] == 0.7
    assert row.outstanding_asked == 8
    guests = one(tmp_path, "IOPS,x\n1,a\n", workload=("vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads", "guests=32"))
    assert (guests.outstanding_asked, guests.workload["profile"]["working_set_fraction"]) == (512, 0.1)


def test_of_a_suite_each_row_has_the_profile_of_its_name(tmp_path: Path) -> None:
    web, unknown = rows(tmp_path, "profile,IOPS\nWeb Server,1\nOther,1\n", workload=("iometer-profiles",)).results
    assert web.workload["profile"]["read_fraction"] == 1.0
    assert unknown.workload is None


def test_a_tables_own_columns_count_before_what_is_said_of_all(tmp_path: Path) -> None:
    row = one(tmp_path, "queue depth,IOPS\n4,1000\n", workload=("queue_depth=32", "jobs=2"))
    assert row.outstanding_asked == 8


def test_whole_numbers_outstanding_were_asked_and_others_achieved(tmp_path: Path) -> None:
    asked = one(tmp_path, "outstanding,IOPS\n32,1000\n")
    achieved = one(tmp_path, "outstanding,IOPS\n31.7,1000\n")
    assert (asked.outstanding_asked, asked.outstanding_achieved) == (32, None)
    assert (achieved.outstanding_asked, achieved.outstanding_achieved) == (None, 31.7)


def test_a_table_of_times_is_one_point_with_its_series(tmp_path: Path) -> None:
    lines = "".join(f"{n},{1000 + n % 2},{50 + n % 2},{1 + n % 2}\n" for n in range(30))
    found = rows(tmp_path, f"time s,IOPS,CPU %,latency ms\n{lines}")
    (row,), (series,) = found.results, found.series.values()
    assert (row.total.iops, row.cpu_fraction, row.runtime_ns) == (1000.5, pytest.approx(0.505), 30 * 10**9)
    # Weighted by I/Os: the slower half did some more.
    assert row.total.latency_mean_ns == pytest.approx((1000 * 1e6 + 1001 * 2e6) / 2001)
    assert (series.step_s, len(series.iops), len(series.cpu)) == (1.0, 30, 30)


def test_rows_have_names_that_are_folders_and_unlike(tmp_path: Path) -> None:
    found = rows(tmp_path, "profile,IOPS\n../a b/ü,1\n../a b/ü,2\n,3\n").results
    names = [row.point for row in found]
    assert len(set(names)) == 3
    assert all(name and "/" not in name and not name.startswith(".") for name in names)


@pytest.mark.parametrize("text", ["", "no table here\n", "a,b\n", "x,y\n1,2\n", "|a|\n|-|\n|1|\n"])
def test_a_file_without_results_is_refused_with_a_remedy(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        rows(tmp_path, text)
    assert "t.csv" in error.value.message
    assert error.value.remedy


@pytest.mark.parametrize(
    ("name", "said"),
    [(".", "is a directory"), ("/dev/null", "is no regular file"), ("none.csv", "there is no such file")],
)
def test_what_is_no_file_is_called_what_it_is(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read_files([tmp_path / name])


@given(
    st.text(st.sampled_from("|-,;\t\n<table>/tdr0123456789.% kMIOPSmsread\"'"), max_size=300),
    st.sampled_from(["csv", "md", "html"]),
)
def test_whatever_stands_in_a_file_it_is_rows_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str, ending: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_text(text)
    try:
        assert all(row.origin == "imported" for row in read_files([path]).results)
    except InputError as error:
        assert error.remedy


def test_what_is_no_figure_is_unknown_and_warned_of_with_its_column_and_row(tmp_path: Path) -> None:
    found = rows(tmp_path, "profile,IOPS,p99 ms\na,NaN,1e400\nb,-3,1e308\nc,100,n/a\nd,1e308,\ne,50,–\n")
    assert [row.total.iops for row in found.results] == [None, None, 100.0, None, 50.0]
    assert not any(row.total.latency_p99_ns for row in found.results)
    assert [warning.partition(": ")[2] for warning in found.warnings] == [
        "column 'IOPS': 'NaN' in row 1 is no figure and counts as unknown; so in 2 more",
        "column 'p99 ms': '1e400' in row 1 is no figure and counts as unknown; so in 2 more",
    ]


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-1", "1e308"])
def test_a_number_of_loadlines_own_file_that_no_figure_can_be_is_unknown(tmp_path: Path, figure: str) -> None:
    found = rows(tmp_path, f'{{"format": 1, "results": [{{"point": "a", "iops": {figure}}}]}}', "own.json")
    assert found.results[0].total.iops is None
    assert "column 'iops'" in found.warnings[0]


def test_a_column_that_importing_fills_itself_is_a_tag_and_a_known_origin_is_the_rows(tmp_path: Path) -> None:
    text = "origin,run,point,target,role,profile,IOPS\nsimulated,r1,p1,t1,probe,a,100\nvendor,r2,p1,t1,x,a,200\n"
    model, other = rows(tmp_path, text).results
    assert (model.origin, other.origin) == ("simulated", "imported")
    assert other.tags == {"origin": "vendor", "run": "r2", "point": "p1", "target": "t1", "role": "x"}
    assert (other.run, other.role) == ("t.csv", "point")


def test_rows_of_one_load_with_different_figures_are_one_result(tmp_path: Path) -> None:
    lines = [
        "load,A,B",
        '"4k read, IOPS",1000,2000',
        '"4k read, latency ms",4,2',
        '"4k read, p99 latency, ms",9,8',
        '"64k read, MB/s",500,600',
    ]
    found = rows(tmp_path, "\n".join(lines)).results
    told = [(row.tags.get("system", row.system), row.profile, row.total.iops) for row in found]
    assert told[:2] == [("A", "4k read", 1000.0), ("B", "4k read", 2000.0)]
    assert [(row.total.latency_mean_ns, row.total.latency_p99_ns) for row in found[:2]] == [(4e6, 9e6), (2e6, 8e6)]
    assert [(row.profile, row.total.bytes_per_s) for row in found[2:]] == [
        ("64k read, MB/s", 5e8),
        ("64k read, MB/s", 6e8),
    ]


def test_a_curve_as_spc_prints_it_is_a_row_a_load(tmp_path: Path) -> None:
    text = ",10% Load,95% Load\nI/O Request Throughput (IOPS),10003,95004\nAverage Response Time (ms),0.31,1.21\n"
    found = rows(tmp_path, text).results
    assert [(row.total.iops, row.total.latency_mean_ns, row.total.bytes_per_s) for row in found] == [
        (10_003.0, 310_000.0, None),
        (95_004.0, 1_210_000.0, None),
    ]


def test_a_row_of_one_wide_cell_is_a_remark_and_no_result(tmp_path: Path) -> None:
    text = (
        "<table><tr><th colspan=3>OLTP</tr><tr><th>array<th>IOPS<th>ms</tr><tr><td>A<td>1000<td>2</tr>"
        "<tr><td colspan=3>1 pre-production</tr></table>"
    )
    row = one(tmp_path, text, name="t.html")
    assert (row.tags["array"], row.total.iops) == ("A", 1000.0)


@pytest.mark.parametrize("data", ["IOPS,µs\n10,5\n".encode("cp1252"), "IOPS\tµs\r\n10\t5\r\n".encode("utf-16")])
def test_a_table_is_read_in_the_encodings_of_spreadsheets(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    assert read_files([tmp_path / "t.csv"]).results[0].total.latency_mean_ns == 5_000


def test_a_row_with_more_cells_than_heads_is_warned_of(tmp_path: Path) -> None:
    assert "row 2 has more cells" in rows(tmp_path, "IOPS,ms\n10,5\n20,2,5\n").warnings[0]


def test_a_share_or_size_that_cannot_be_is_unknown_and_warned_of(tmp_path: Path) -> None:
    found = rows(tmp_path, "read %,block,IOPS\n150%,0,10\n")
    assert found.results[0].workload is None
    assert ["'150%'" in found.warnings[0], "'0'" in found.warnings[1]] == [True, True]


@pytest.mark.parametrize(
    ("text", "iops"),
    [
        ("IOPS;ms;MB/s\n1.234,5;5;4,8\n2.000;5;8,2\n", [1234.5, 2000]),
        ("IOPS;ms\n2.000;0,5\n3.000;5\n", [2000, 3000]),
        ("IOPS;ms\n2,125;5\n3,000;0.5\n", [2125, 3000]),
        ("IOPS;ms\n2.125;5\n13000;5\n", [2.125, 13000]),
        ("IOPS;ms;version\n2.125;0,5;7.20\n", [2125]),
        ("IOPS;ms\n1.234.567;5\n2.000;5\n1.2.3;5\n", [1234567, 2000, None]),
    ],
)
def test_a_mark_before_three_digits_is_what_it_is_in_the_tables_other_figures(
    text: str, iops: list[float | None], tmp_path: Path
) -> None:
    found = rows(tmp_path, text)
    assert [row.total.iops for row in found.results] == iops
    assert not any("settles" in warning for warning in found.warnings)


@pytest.mark.parametrize(("text", "iops", "said"), [("2.000", 2, "decimals"), ("2,000", 2000, "thousands")])
def test_a_mark_that_nothing_settles_is_warned_of_with_how_it_was_read(
    text: str, iops: float, said: str, tmp_path: Path
) -> None:
    found = rows(tmp_path, f"IOPS;ms\n{text};5\n1;5\n")
    assert found.results[0].total.iops == iops
    [warning] = found.warnings
    assert f"'IOPS': '{text}' in row 1 is read with {said}, but nothing in the table settles it" in warning


def test_a_block_size_with_a_thousands_mark_is_its_number(tmp_path: Path) -> None:
    row = one(tmp_path, "block;IOPS;ms;read %;random %\n4.096;10;0,5;100;100\n")
    assert row.workload["profile"]["block"] == [{"size_bytes": 4096, "share_fraction": 1.0}]


def test_an_inexact_number_counts_and_a_bound_does_not_and_both_are_warned_of(tmp_path: Path) -> None:
    found = rows(tmp_path, "IOPS,ms,queue depth\n~900,<1,>32\n10,2,4\n")
    first = found.results[0]
    assert (first.total.iops, first.total.latency_mean_ns, first.queue_depth) == (900, None, None)
    assert [warning.partition(": ")[2] for warning in found.warnings] == [
        "column 'ms': '<1' in row 1 is no figure and counts as unknown",
        "column 'queue depth': '>32' in row 1 is no figure and counts as unknown",
        "column 'IOPS': '~900' in row 1 is inexact, and counts as it stands",
    ]
    assert "'<1 ms'" in rows(tmp_path, 'load,A,B\n"4k read, latency ms",<1,2\n').warnings[0]


def test_a_latency_of_nothing_is_unknown_and_warned_of_where_there_were_ios(tmp_path: Path) -> None:
    found = rows(tmp_path, "read IOPS,read ms,write IOPS,write ms\n5,0,0,0\n")
    (row,) = found.results
    assert (row.read.latency_mean_ns, row.write.latency_mean_ns, row.write.iops) == (None, None, 0.0)
    [warning] = found.warnings
    assert "column 'read ms': '0' in row 1 is no figure and counts as unknown" in warning


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.json", "rows"):
        (tmp_path / name).write_text(" \n")
        with pytest.raises(InputError, match=r"rows.* is empty"):
            read_files([tmp_path / name])


def test_parquet_that_loadline_wrote_is_refused_with_what_is_read_instead(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"PAR1\x15\x04\x00PAR1")
    with pytest.raises(InputError, match="Parquet is written for other programs") as refused:
        read_files([tmp_path / "f.parquet"])
    assert ".json or .csv" in refused.value.remedy
