"""vdbench parameter files: golden ones are read as vdbench means them, written ones read back the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload.foreign import GOLDEN, SIZE, place, plain_streams, planned, said, survives
from workload.strategies import damaged

from loadline.errors import InputError
from loadline.workload.dialects import vdbench
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import BlockShare, Bursts, Closed, Distribution, Open, Profile, Workload
from loadline.workload.suite import Suite, load_suite, suite_names

HCI = GOLDEN / "vdbench/vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads"
SWEEP = GOLDEN / "vdbench/sweep.vdbench"
GIB = 1 << 30


def read(content: str) -> tuple[Suite, list[str]]:
    return vdbench.read(content, "x", "x.vdbench")


def stream(arrival: Closed | Open = Closed(4), **keys: object) -> Workload:  # noqa: B008
    fields: dict[str, object] = {"name": "p", "read_fraction": 0.5, "random_fraction": 1.0, "access_class": "random"}
    return Workload(Profile(**{**fields, "block": (BlockShare(4096, 1.0),), **keys}), arrival)  # type: ignore[arg-type]


def point(*streams: Workload) -> Point:
    return Point("p", streams, 60 * 10**9, 10 * 10**9)


def test_hcibenchs_file_is_the_load_that_its_name_says() -> None:
    suite, notes = load_suite(str(HCI))
    (in_file,) = planned(suite)
    (in_name,) = planned(load_suite(HCI.name)[0])
    compressed = replace(in_name.streams[0].profile, compressible_fraction=0.5)
    expected = replace(in_name, streams=(replace(in_name.streams[0], profile=compressed),))
    times = {"runtime_ns": 3600 * 10**9, "warmup_ns": 1800 * 10**9}
    assert said(in_file) == said(replace(expected, **times))  # type: ignore[arg-type]
    assert notes == [f"{HCI}: run1: 8 storages: here they lie side by side on one target, as jobs"]


def test_a_sweep_is_a_point_for_each_turn_of_its_loops() -> None:
    suite, notes = read(SWEEP.read_text())
    points = {p.name: p for p in planned(suite)}
    assert list(points) == [
        "curve-r1000", "curve-r5000", "curve-rmax",
        *(f"depths-seekpct{seek}-qd{depth}" for seek in (0, 100) for depth in (1, 2, 4, 8)), "both",
    ]  # fmt: skip
    assert [p.streams[0].arrival for p in list(points.values())[:3]] == [Open(1000, 4), Open(5000, 4), Closed(4)]
    mix = points["curve-rmax"].streams[0].profile
    assert mix.block == (BlockShare(4096, 0.6), BlockShare(16384, 0.1), BlockShare(65536, 0.3))
    assert (mix.read_fraction, mix.start_bytes, mix.working_set_bytes) == (0.8, 25 * GIB, 50 * GIB)
    data, log = points["both"].streams
    assert (log.profile.read_fraction, log.profile.random_fraction, log.profile.dsync) == (0, 0, True)
    assert data.arrival == log.arrival == Closed(8)
    assert {(p.runtime_ns, p.warmup_ns) for p in points.values()} == {(300 * 10**9, 60 * 10**9)}
    assert len(notes) == 1 and "vdbench keeps the rates of its workloads in proportion" in notes[0]


ONE = "sd=sd1,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max,elapsed=60\n"


def test_what_isn_t_said_is_as_vdbench_has_it() -> None:
    (only,) = planned(read(ONE)[0])
    (one,) = only.streams
    assert one.profile.block == (BlockShare(4096, 1.0),)
    assert (one.profile.read_fraction, one.profile.random_fraction, one.arrival) == (1, 1, Closed(8))


@pytest.mark.parametrize(
    ("range_", "start", "size"),
    [("(10,20)", 0.1, 0.1), ("(0,100)", 0, 1), ("(1g,3g)", GIB / SIZE, 2 * GIB / SIZE), ("(50,150)", 0.5, 0.5)],
)
def test_a_range_is_in_percent_up_to_100_and_in_bytes_above(range_: str, start: float, size: float) -> None:
    (only,) = planned(read(ONE.replace("wd=w,sd=sd1", f"wd=w,sd=sd1,range={range_}"))[0])
    profile = only.streams[0].profile
    assert profile.start_of(SIZE) == pytest.approx(start * SIZE, abs=4096)
    assert profile.working_set_of(SIZE) == pytest.approx(size * SIZE, abs=4096)


def streamed(workload: str, run: str = "max,threads=8,", content: str = ONE) -> tuple[Workload, list[str]]:
    content = content.replace("wd=w,sd=sd1\n", f"wd=w,sd=sd*,streams=4,{workload}\n").replace("max,", run)
    suite, notes = read(content)
    return planned(suite)[0].streams[0], [note for note in notes if "stream" in note]


@pytest.mark.parametrize("workload", ["seekpct=0", "seekpct=seq", "rdpct=70"])
def test_streams_are_jobs_in_sequence(workload: str) -> None:
    only, notes = streamed(workload)
    assert (only.arrival, only.profile.random_fraction, notes) == (Closed(2, 4), 0, [])


def test_each_of_several_storages_is_parted_into_streams() -> None:
    only, notes = streamed("seekpct=0", content=ONE.replace("\nwd=", "\nsd=sd2,lun=/dev/sdc\nwd="))
    assert (only.arrival, only.profile.random_fraction, notes) == (Closed(2, 8), 0, [])


@pytest.mark.parametrize(
    ("workload", "run", "arrival", "note"),
    [
        ("seekpct=50", "max,threads=8,", Closed(2, 4), "x.vdbench: r: with streams vdbench goes on in sequence"),
        ("rdpct=0", "max,threads=8,forseekpct=30,", Closed(2, 4), "x.vdbench: r: with streams vdbench goes on"),
        ("range=(50,60)", "max,threads=8,", Closed(2, 4), "x.vdbench: r: streams part all of a storage"),
        ("seekpct=0", "100,threads=8,", Open(100, 2, 4), "x.vdbench: r: vdbench refuses streams with a rate"),
        ("seekpct=0", "max,threads=9,", Closed(2, 4), "x.vdbench: r: vdbench wants threads to be a multiple"),
        ("seekpct=0", "max,threads=2,", Closed(1, 2), "x.vdbench: r: vdbench wants threads to be a multiple"),
    ],
)
def test_what_streams_override_or_refuse_is_noted(workload: str, run: str, arrival: Closed | Open, note: str) -> None:
    only, notes = streamed(workload, run)
    assert (only.arrival, only.profile.random_fraction) == (arrival, 0)
    assert (only.profile.start_fraction, only.profile.working_set_fraction) == (0, None)
    assert len(notes) == 1 and notes[0].startswith(note)


def test_the_range_of_a_storage_is_overridden_by_streams_but_not_its_size() -> None:
    sized = ONE.replace("lun=/dev/sdb", "lun=/dev/sdb,size=8g,range=(0,50)")
    only, notes = streamed("seekpct=0", content=sized)
    assert only.profile.working_set_bytes == 8 * GIB
    assert len(notes) == 1 and "streams part all of a storage" in notes[0]


def test_streams_of_a_workload_in_company_are_jobs_with_a_note() -> None:
    content = ONE.replace("wd=w,sd=sd1", "wd=a,sd=sd1,streams=2\nwd=b,sd=sd1").replace("wd=w", "wd=*")
    suite, notes = read(content)
    first, second = planned(suite)[0].streams
    assert (first.arrival.jobs, second.arrival.jobs) == (2, 1)
    assert any("vdbench refuses streams where workloads run together" in note for note in notes)


@pytest.mark.parametrize(
    ("old", "new", "at", "fault"),
    [
        ("iorate=max", "elapsd=3", "elapsd", "elapsd: not a parameter of rd that loadline knows"),
        ("iorate=max", "iorate=fast", "fast", "iorate: 'fast' is not a number"),
        ("elapsed=60", "elapsed=0", "0\n", "elapsed: a point runs from"),
        ("elapsed=60", "elapsed=60x", "60x", "elapsed: '60x' is not a number"),
        ("elapsed=60", "elapsed=", "=\n", "elapsed: no value"),
        ("elapsed=60", "startcmd=reboot", "startcmd", "startcmd: refused, for it could reach past the target"),
        ("sd=sd1\n", "sd=sd2\n", "sd2", "no sd is named 'sd2'"),
        ("sd=sd1\n", "sd=(sd1\n", "sd=(", "a bracket that isn't closed"),
        ("sd=sd1\n", "sd=sd1)\n", ")", "a bracket that was never opened"),
        ("elapsed=60", "for=1", "for", "for: short for forxfersize, forthreads, .* or format"),
        ("sd=sd1,lun", "comp=2\nsd=sd1,lun", "comp", "comp: short for compratio, compression or compressionseed"),
        ("sd=sd1,lun", "compratio=(2,3)\nsd=sd1,lun", "compratio", "compratio: 2 values, not one"),
        ("lun=/dev/sdb", "size=(8g,2)", "size", "size: 2 values, not one"),
        ("lun=/dev/sdb", "threads=(8,2)", "threads", "threads: 2 values, not one"),
        ("lun=/dev/sdb", "streams=2", "streams", "streams: vdbench takes it of a wd only"),
        ("sd=sd1\n", "sd=sd1,streams=9999\n", "9999", "streams: '9999' is not a number from 1 to 4096"),
        ("sd=sd1\n", "sd=sd1,seekpct=(0,100)\n", "seekpct", "seekpct: 2 values, not one"),
        ("sd=sd1\n", "sd=sd1,rdpct=(50,60)\n", "rdpct", "rdpct: 2 values, not one"),
        ("sd=sd1\n", "sd=sd1,\n rdpct=101\n", "101", "rdpct: '101' is not a number from 0 to 100"),
        ("sd=sd1\n", "sd=sd1,xfersize=(4k,\n   50,8m,4x)\n", "4x", "xfersize: '4x' is not a number"),
        ("sd=sd1\n", "sd=sd1,xfersize=(4k,50,8k,40)\n", "xfersize", "xfersize: a mix is written"),
        ("sd=sd1\n", "sd=sd1,xfersize=(4k,50,8k)\n", "xfersize", "xfersize: of three values the second"),
        ("sd=sd1\n", "sd=sd1,xfersize=2g\n", "2g", "xfersize: '2g' is not a size"),
        ("sd=sd1\n", "sd=sd1,range=(9,3)\n", "range", "range: from a lower to a higher place"),
        ("wd=w,sd", "wd=v\nwd=v,sd", "v,sd", "two wd are named 'v'"),
        ("wd=w,iorate", "iorate", "r,iorate", "rd=r has no wd"),
        ("sd=sd1,lun", "include=other,sd=sd1,lun", "include", "include: refused"),
        ("sd=sd1,lun", "fsd=f,anchor=/x,sd=sd1,lun", "fsd", "fsd: a workload of files"),
        ("iorate=max", "forthreads=(1-x)", "1-x", "forthreads: '1-x' is not a number"),
        ("iorate=max", "forthreads=(1-900000000,1)", "1-9", "forthreads: more than 10000 values"),
        ("iorate=max", "forthreads=(0-9,d)", "0-9", "forthreads: more than 10000 values"),
        ("iorate=max", "forthreads=(8-1,d)", "8-1", "forthreads: a range goes from a lower to a higher value"),
        ("sd=sd1\n", "what\n", "what", "'what' is not keyword=value"),
    ],
)
def test_a_fault_is_said_with_line_and_column(old: str, new: str, at: str, fault: str) -> None:
    assert old in ONE
    content = ONE.replace(old, new, 1)
    with pytest.raises(InputError, match=f"^x.vdbench:{place(content, at)}: {fault}") as error:
        read(content)
    assert error.value.remedy


def test_a_range_has_units_of_its_own_at_each_end() -> None:
    points = planned(read(ONE.replace("iorate=max", "iorate=max,forxfersize=(512-64k,d)"))[0])
    assert [p.streams[0].profile.block[0].size_bytes for p in points] == [512 << n for n in range(8)]
    assert points[-1].name.endswith("64k")
    counted = planned(read(ONE.replace("iorate=max", "iorate=max,forxfersize=(512k-1m,256k)"))[0])
    assert [p.streams[0].profile.block[0].size_bytes >> 10 for p in counted] == [512, 768, 1024]
    depths = planned(read(ONE.replace("iorate=max", "iorate=max,forthreads=(512-2048,d)"))[0])
    assert [p.streams[0].arrival.queue_depth for p in depths] == [512, 1024, 2048]


def test_hosts_are_passed_over_with_what_they_say_of_themselves() -> None:
    hosts = "hd=default,vdbench=/root/vdbench,shell=ssh,user=root\nhd=one,system=192.0.2.1\n"
    assert planned(read(hosts + ONE)[0]) == planned(read(ONE)[0])


def test_what_real_files_say_of_a_run_beside_its_load_is_left_out_with_a_warning() -> None:
    suite, notes = read("sd=sd1,lun=/dev/x\nwd=wd1,sd=sd*\nrd=rd1,wd=wd*,iorate=max,elapsed=10,format=yes,skew=100\n")
    assert len(suite.entries) == 1
    said = "\n".join(notes)
    assert "rd1: format is left out" in said and "rd1: skew is left out" in said


def test_a_workload_for_which_the_skews_of_others_leave_nothing_is_refused() -> None:
    content = ONE.replace("wd=w,sd=sd1", "wd=a,sd=sd1,skew=70\nwd=b,sd=sd1,skew=30\nwd=c,sd=sd1").replace(
        "wd=w", "wd=*"
    )
    for whole in (content, content.replace("iorate=max", "iorate=100")):
        with pytest.raises(InputError, match=r"^x.vdbench:4:4: wd=c has no skew, and nothing is left") as error:
            read(whole)
        assert "rd=r" in error.value.remedy
    streams = planned(read(content.replace("skew=30", "skew=20"))[0])[0].streams
    assert [one.arrival.queue_depth for one in streams] == [6, 2, 1]


def test_skews_that_make_no_whole_are_parts_of_their_sum() -> None:
    def rates(first: str, second: str) -> tuple[list[float], list[str]]:
        content = ONE.replace("wd=w,sd=sd1", f"wd=a,sd=sd1,skew={first}\nwd=b,sd=sd1,skew={second}")
        suite, notes = read(content.replace("wd=w", "wd=*").replace("iorate=max", "iorate=100"))
        return [one.arrival.rate_per_s for one in planned(suite)[0].streams if isinstance(one.arrival, Open)], notes

    assert rates("70", "70")[0] == [50, 50] and "its skews make 140 %, not 100 %" in str(rates("70", "70")[1])
    assert rates("60", "20")[0] == [75, 25] and "its skews make 80 %" in str(rates("60", "20")[1])
    assert rates("70", "30")[0] == [70, 30] and "skews" not in str(rates("70", "30")[1])


def test_parameters_behind_a_blank_are_a_comment_with_a_warning() -> None:
    suite, notes = read("  sd=sd1, lun=/dev/x,threads=16\nwd=w,sd=sd1  * rdpct=0\nrd=r,wd=w alone\n")
    assert planned(suite)[0].streams[0].arrival == Closed(8)
    (note,) = (note for note in notes if "a comment" in note)
    assert note.startswith("x.vdbench: 1:11: what follows a blank is a comment")


def test_of_two_spellings_of_a_keyword_either_may_be_cut_short() -> None:
    assert planned(read(f"data=5\n{ONE}")[0]) == planned(read(ONE)[0])
    assert planned(read(ONE.replace("elapsed", "el"))[0]) == planned(read(ONE)[0])


def test_a_blank_that_cut_off_what_is_missed_is_said_beside_the_error() -> None:
    with pytest.raises(InputError, match=r"^x.vdbench:2:4: wd=w has no sd") as error:
        read("sd=sd1,lun=/dev/x\nwd=w, sd=sd1\nrd=r,wd=w\n")
    assert "At 2:7 what follows a blank is a comment" in error.value.remedy
    with pytest.raises(InputError) as error:
        read("sd=sd1,lun=/dev/x\nwd=w\nrd=r,wd=w\n")
    assert "blank" not in error.value.remedy


def test_commands_other_files_and_traces_are_refused() -> None:
    for key in ("startcmd=ls", "endcmd=ls", "journal=/tmp", "monitor=/x"):
        with pytest.raises(InputError, match="refused, for it could reach past the target"):
            read(f"{key}\n{ONE}")
    with pytest.raises(InputError, match="replay: refused"):
        read(ONE.replace("iorate=max", "replay=/x"))


@settings(max_examples=60)
@given(st.lists(plain_streams(opens=True), min_size=1, max_size=4), st.booleans())
def test_written_points_read_back_are_the_same(streams: list[Workload], dsync: bool) -> None:
    streams = [replace(one, profile=replace(one.profile, dsync=dsync and one.profile.writes)) for one in streams]
    points = [Point(f"p{n}", (one,), 60 * 10**9, 10 * 10**9) for n, one in enumerate(streams)]
    content, notes = vdbench.write(points, size_bytes=SIZE)
    assert not notes.items()
    assert [said(one) for one in planned(read(content)[0])] == [said(one) for one in points]


@pytest.mark.parametrize(
    "asked",
    [
        stream(random_fraction=0.2, working_set_fraction=0.5, start_fraction=0.25),
        stream(Closed(3, 4), random_fraction=0.0),
        stream(working_set_fraction=0.125),
        stream(start_fraction=0.9),
        stream(compressible_fraction=0.6, duplicate_fraction=0.25),
        stream(random_fraction=0.335),
    ],
)
def test_shares_and_streams_read_back_the_same(asked: Workload) -> None:
    content, notes = vdbench.write([point(asked)])
    assert not notes.items()
    assert [said(one) for one in planned(read(content)[0])] == [said(point(asked))]


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        (stream(distribution=Distribution("pareto", 0.9)), "vdbench has no pareto distribution"),
        (stream(flush_every=4), "vdbench has no flushes between writes"),
        (stream(think_time_ns=1000), "vdbench has no think time"),
        (stream(Open(9, 1, 1, Bursts(2, 1, 9))), "vdbench's rate stays the same"),
        (stream(Closed(2, 3)), "jobs at random places become threads of one storage"),
        (stream(read_fraction=0.665), "rdpct is whole: 66.5 % is rounded"),
        (stream(block=(BlockShare(1000, 1.0),)), "sizes are multiples of 512 bytes"),
        (stream(start_fraction=0.5, working_set_bytes=GIB), "a range is in percent or in bytes"),
        (stream(start_bytes=700, working_set_bytes=600), "ranges are multiples of 512 bytes"),
        (stream(working_set_bytes=100), "ranges are multiples of 512 bytes"),
        (stream(Open(0.5, 4)), "rates are 1 a second at least"),
        (stream(Closed(4096, 32)), "threads are 65,536 at most"),
    ],
)
def test_what_vdbench_can_t_say_is_noted_with_the_nearest(asked: Workload, note: str) -> None:
    content, notes = vdbench.write([point(asked)])
    assert [names for names, message in notes.items() if message.startswith(note)] == [("p",)]
    read(content)


ONE_PLACE = "jobs in sequence become threads of one storage: they go on from one common place"


@pytest.mark.parametrize(
    "asked",
    [
        stream(Closed(3, 4), random_fraction=0.2),
        stream(Closed(3, 4), random_fraction=0.0, start_fraction=0.25),
        stream(Closed(3, 4), random_fraction=0.0, working_set_bytes=GIB),
        stream(Open(100, 3, 4), random_fraction=0.0),
    ],
)
def test_jobs_are_streams_only_where_vdbench_s_streams_say_no_more(asked: Workload) -> None:
    content, notes = vdbench.write([point(asked)])
    assert "streams" not in content and "forthreads=(12)" in content
    assert [names for names, message in notes.items() if message.startswith(ONE_PLACE)] == [("p",)]
    ((back,),) = (one.streams for one in planned(read(content)[0]))
    assert (back.outstanding, back.arrival.jobs) == (12, 1)


def test_jobs_of_streams_that_run_together_are_no_streams_of_vdbench() -> None:
    both = point(stream(Closed(2, 3), name="data", random_fraction=0.0), stream(Closed(2), name="log"))
    content, notes = vdbench.write([both])
    assert "streams" not in content
    assert any(message.startswith(ONE_PLACE) for _, message in notes.items())


def test_streams_that_run_together_share_the_threads() -> None:
    both = point(stream(Closed(6), name="data"), stream(Closed(2), name="log", read_fraction=0.0))
    content, notes = vdbench.write([both])
    assert "skew=75" in content and "skew=25" in content and "forthreads=(8)" in content
    ((data, log),) = (one.streams for one in planned(read(content)[0]))
    assert (data.arrival, log.arrival) == (Closed(6), Closed(2))
    assert len(notes.items()) == 1


def test_streams_that_run_together_at_rates_of_their_own_share_their_sum() -> None:
    both = point(stream(Open(100, 8), name="slow"), stream(Open(900, 8), name="fast"))
    ((slow, fast),) = (one.streams for one in planned(read(vdbench.write([both])[0])[0]))
    assert isinstance(slow.arrival, Open) and isinstance(fast.arrival, Open)
    assert (slow.arrival.rate_per_s, fast.arrival.rate_per_s) == (100, 900)


def test_a_rate_beside_a_stream_without_one_is_left_out_with_a_note() -> None:
    both = point(stream(Open(100, 8), name="paced"), stream(Closed(24), name="free"))
    content, notes = vdbench.write([both])
    assert "iorate=max" in content and any("one rate for all" in message for _, message in notes.items())


def test_streams_that_are_alike_are_workloads_of_their_own() -> None:
    alike = point(stream(Closed(8), name="a"), stream(Closed(8), name="a"))
    content = vdbench.write([alike, replace(alike, name="again")])[0]
    assert content.count("\nwd=") == 2
    assert [len(one.streams) for one in planned(read(content)[0])] == [2, 2]


@pytest.mark.parametrize("letters", [65, 100])
def test_long_names_are_read_back(letters: int) -> None:
    names = [letters * "n" + "a", letters * "n" + "b"]
    content = vdbench.write([replace(point(stream(Closed(n))), name=name) for n, name in enumerate(names, 1)])[0]
    assert len(planned(read(content)[0])) == 2


def test_what_a_terminal_would_obey_stays_out_of_the_title() -> None:
    assert "\x1b" not in vdbench.write([point(stream())], title="a\x1b[31mb")[0]


# The grammar of docs: comments, general parameters, and definitions whose values are words or lists in brackets.
_VALUE = r"(?:[\w./$-]+|\([\w.,-]+\))"
_LINE = re.compile(rf"\*.*|(?:compratio|dedupratio|dedupunit)={_VALUE}|(?:sd|wd|rd)=\w+(?:,[a-z]+={_VALUE})+")


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_of_the_catalog_is_written_in_vdbenchs_grammar(name: str) -> None:
    points = [probe for point in make_plan(load_suite(name)[0], Options()) for probe in point.grid()]
    content, _ = vdbench.write(points)
    lines = content.splitlines()
    assert all(_LINE.fullmatch(line) for line in lines)
    kinds = [line.split("=")[0] for line in lines if line[:3] in ("sd=", "wd=", "rd=")]
    assert kinds == sorted(kinds, key=["sd", "wd", "rd"].index)
    names = re.findall(r"^rd=(\w+)", content, re.MULTILINE)
    assert len(set(names)) == len(names) == len(points)
    assert len(planned(read(content)[0])) == len(points)


WORDS = ["(", ")", ",", "=", "sd=", "rd=x,wd=*", "-1", "9" * 30, "*", "eof\n", "\n", '"', "1-64,d", "default", "0", "%"]


@given(st.text())
def test_any_text_is_a_suite_or_an_error(content: str) -> None:
    survives(read, content)


@given(st.data())
def test_a_damaged_file_is_a_suite_or_an_error(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([ONE, HCI.read_text(), SWEEP.read_text()]))
    survives(read, data.draw(damaged(whole, WORDS)))


@pytest.mark.parametrize(
    "content",
    [
        "(" * 10**6,
        "sd=" + "(" * 10**6,
        "rd=r,wd=(" + "a," * 400_000 + "a)",
        "sd=a\n" * 200_000,
        "9" * 10**6 + "=1",
        ONE.replace("iorate=max", "forthreads=(1-9000,1),foriorate=(1-9000,1)"),
        ONE.replace("iorate=max", "forxfersize=(1k-9000k,1k),forrdpct=(0-100,1),forseekpct=(0-100,1)"),
        "".join(f"sd=s{n},openflags=o_direct\nwd=w{n},sd=s*\nrd=r{n},wd=w{n}\n" for n in range(1500)),
        ONE.replace("sd=sd1\n", "sd=" + "s*" * 200 + "\n"),
    ],
)
def test_huge_and_deep_files_end_soon(content: str) -> None:
    survives(read, content)
