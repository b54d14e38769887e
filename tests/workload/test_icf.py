"""Iometer's configuration files: golden ones are read as Iometer means them, written ones read back the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload.foreign import GOLDEN, SIZE, place, plain_streams, planned, said, survives
from workload.strategies import damaged

from loadline.errors import InputError
from loadline.workload.dialects import icf
from loadline.workload.dialects.icf.read import ONE_PLACE
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import BlockShare, Closed, Distribution, Open, Profile, Workload
from loadline.workload.suite import Suite, load_suite

FILES = sorted((GOLDEN / "icf").glob("*.icf"))
FILE_SERVER = {512: 10, 1024: 5, 2048: 5, 4096: 60, 8192: 2, 16384: 4, 32768: 4, 65536: 10}


def text(name: str) -> str:
    return (GOLDEN / "icf" / name).read_bytes().decode()


def read(content: str) -> tuple[Suite, list[str]]:
    return icf.read(content, "x", "x.icf")


def stream(arrival: Closed | Open = Closed(4), **keys: object) -> Workload:  # noqa: B008
    fields: dict[str, object] = {"name": "p", "read_fraction": 0.5, "random_fraction": 1.0, "access_class": "random"}
    return Workload(Profile(**{**fields, "block": (BlockShare(4096, 1.0),), **keys}), arrival)  # type: ignore[arg-type]


def point(*streams: Workload, name: str = "p") -> Point:
    return Point(name, streams, 60 * 10**9, 10 * 10**9)


def test_a_file_of_version_1_1_0_is_its_workers_steps() -> None:
    suite, notes = read(text("iometer-1.1.0.icf"))
    files, sequential = planned(suite)
    (one,) = files.streams
    assert {b.size_bytes: round(b.share_fraction * 100) for b in one.profile.block} == FILE_SERVER
    assert (one.profile.read_fraction, one.profile.random_fraction) == (0.8, 1.0)
    # Two workers do it, and one of them is idle in the second step.
    assert one.arrival == Closed(32, 2)
    assert (one.profile.start_bytes, one.profile.working_set_bytes) == (4096 * 512, 131072 * 512)
    (other,) = sequential.streams
    assert (other.profile.think_time_ns, other.profile.burst, other.arrival) == (5 * 10**6, 8, Closed(32, 1))
    assert {(p.runtime_ns, p.warmup_ns) for p in planned(suite)} == {(330 * 10**9, 30 * 10**9)}
    assert suite.title == "Servers on volume 3"
    assert [note for note in notes if "align" not in note] == []


BOTH = text("iometer-1.1.0.icf").replace("\tIdle", "\t64 KiB; 100% Read; 0% random")


def test_workers_that_go_over_one_range_in_sequence_part_it_with_a_note() -> None:
    suite, notes = read(BOTH)
    (one,) = planned(suite)[1].streams
    assert (one.arrival.jobs, one.profile.start_bytes, one.profile.working_set_bytes) == (2, 4096 * 512, 131072 * 512)
    assert any("here each job has a part of its own" in note for note in notes)


def test_workers_whose_ranges_lie_side_by_side_touch_all_of_them() -> None:
    suite, notes = read(BOTH.replace("\t131072,4096", "\t131072,135168", 1))
    for one in (step.streams[0] for step in planned(suite)):
        assert one.arrival.jobs == 2
        assert (one.profile.start_bytes, one.profile.working_set_bytes) == (4096 * 512, 2 * 131072 * 512)
    assert not any("a part of its own" in note for note in notes)


def test_a_dated_version_may_cycle_through_outstanding_ios() -> None:
    suite, _ = read(text("iometer-2006.07.27.icf"))
    depths = [(p.streams[0].arrival.queue_depth, p.streams[0].arrival.jobs) for p in planned(suite)]
    assert depths == [(1 << n, 2) for n in range(6)] + [(1 << n, 1) for n in range(6)]


def test_an_old_version_has_specifications_without_names() -> None:
    suite, notes = read(text("iometer-1998.01.05.icf"))
    first, second = planned(suite)
    assert (first.streams[0].profile.read_fraction, first.streams[0].profile.block) == (0.67, (BlockShare(2048, 1.0),))
    assert second.streams[0].profile.block == (BlockShare(4096, 0.4), BlockShare(65536, 0.6))
    assert {p.streams[0].arrival for p in planned(suite)} == {Closed(1, 1)}
    assert any("no run time" in note for note in notes) and any("no disk worker" in note for note in notes)


def test_workers_of_an_old_version_are_assigned_the_names_that_iometer_makes_up() -> None:
    worker = "'MANAGER LIST\n'Worker\n\tW\n'Worker type\n\tDISK\n'Assigned access specs\n\t2 KiB random 67% reads\n"
    worker += "'End assigned access specs\n'End worker\n'END manager list\n"
    (only,) = planned(read(text("iometer-1998.01.05.icf") + worker)[0])
    assert only.name == "2-KiB-random-67-reads"
    assert only.streams[0].profile.block == (BlockShare(2048, 1.0),)


def test_a_file_of_version_3_26_97_has_names_or_none() -> None:
    old = text("iometer-1998.01.05.icf").replace("1998.01.05", "3.26.97")
    assert len(planned(read(old)[0])) == 2
    new = text("iometer-1.1.0.icf").replace("1.1.0", "3.26.97")
    assert planned(read(new)[0]) == planned(read(text("iometer-1.1.0.icf"))[0])


@pytest.mark.parametrize("version", ["1.1.0-rc1", "2008.06.18-RC2", "1, 1, 0 of 2014"])
def test_of_a_version_three_numbers_count(version: str) -> None:
    whole = text("iometer-1.1.0.icf")
    assert planned(read(whole.replace("1.1.0", version))[0]) == planned(read(whole)[0])


@pytest.mark.parametrize("version", ["1.1", "1.1.12345", "one.1.1.0"])
def test_a_version_of_fewer_or_longer_numbers_is_none(version: str) -> None:
    with pytest.raises(InputError, match=rf"^x.icf:1:1: 'Version {version}' is not Iometer's version"):
        read(text("iometer-1.1.0.icf").replace("1.1.0", version))


@pytest.mark.parametrize(
    ("before", "more"),
    [
        ("\tFile Server,NONE", "'for volume 3\r\n"),
        ("'size,%", "'small ones first\r\n"),
        ("\t512,10,80", "'KiB are 1,024\r\n\r\n"),
        ("\t1024,5,80", "\r\n"),
        ("'Access specification name", "\r\n\t\r\n"),
        ("'END access", "\r\n"),
    ],
)
def test_comments_before_data_and_blank_lines_say_nothing(before: str, more: str) -> None:
    whole = text("iometer-1.1.0.icf")
    assert planned(read(whole.replace(before, more + before))[0]) == planned(read(whole)[0])


def test_blank_lines_don_t_end_specifications_without_names() -> None:
    whole = text("iometer-1998.01.05.icf")
    assert planned(read(whole.replace("\t4096", "\n\t4096"))[0]) == planned(read(whole)[0])


def test_sizes_with_shares_of_their_own_are_read_as_their_mean_with_a_note() -> None:
    suite, notes = read(text("iometer-1998.01.05.icf").replace("4096,40,100,0", "4096,40,50,100"))
    profile = planned(suite)[1].streams[0].profile
    assert (profile.read_fraction, profile.random_fraction) == (0.8, 0.4)
    assert any(note == "x.icf: untitled-2: its sizes have shares of reads or random requests of their own:"
               " their means count for all" for note in notes)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "at", "fault"),
    [
        ("Version 1.1.0\r\n'TEST", "Iometer\r\n'TEST", "Iometer", "'Iometer' is not Iometer's version"),
        ("\t512,10,80", "\t512,11,80", "File Server,NONE", "File Server: its sizes make 101 %, not 100 %"),
        ("\t1024,5,80", "\t1024,5,180", "180", "% reads: '180' is not a number from 0 to 100"),
        ("\t1024,5,80,100,0,1,0,0", "\t1024,5,80", "1024,5,80\r", "3 values, not 8"),
        ("\t1024,5", "\t" + "9" * 400 + ",5", "99999", "size: '9{40}' is not a number"),
        ("\t1024,5", "\t0,5", "0,5,80", "0 is not a block size"),
        ("\tFile Server,NONE", "\t,NONE", ",NONE", "an access specification without a name"),
        ("'size,%", "size,%", "size,% of", "'size,% of size.*' is not the line of heads"),
        ("'END access specifications\r\n", "", "'MANAGER LIST", ".'MANAGER LIST =*. is not a comment of"),
        ("\t32,DISABLED", "\tmany,DISABLED", "many", "number of outstanding IOs: 'many' is not a number"),
        ("\t131072,4096", "\t131072,x", "x,2\r", "starting sector: 'x' is not a number"),
        ("\t0          5 ", "\t9999       5 ", "9999", "run time: more than 366 days"),
        ("\t0          5 ", "\t0          five ", "five", "minutes: 'five' is not a number"),
    ],
)
def test_a_fault_is_said_with_line_and_column(old: str, new: str, at: str, fault: str) -> None:
    whole = text("iometer-1.1.0.icf")
    assert old in whole
    content = whole.replace(old, new, 1)
    with pytest.raises(InputError, match=f"^x.icf:{place(content, at)}: {fault}") as error:
        read(content)
    assert error.value.remedy


@pytest.mark.parametrize("begin", ["\x7fELF\x02\x01", "\ufffd\ufffdC", "PK\x03\x04"])
def test_the_first_line_of_a_binary_file_is_not_shown(begin: str) -> None:
    with pytest.raises(InputError, match=r"^x.icf:1:1: the first line is not Iometer's version\n"):
        read(begin + "\n")


@pytest.mark.parametrize(("part", "line"), [("manager list", 51), ("test setup", 2), ("results display", 28)])
def test_a_file_that_ends_within_a_part_is_refused_with_the_line_at_which_it_begins(part: str, line: int) -> None:
    lines = text("iometer-1.1.0.icf").splitlines(keepends=True)
    end = next(number for number, one in enumerate(lines) if one.startswith(f"'END {part}"))
    specs = "".join(lines[33:50]) if line < 34 else ""
    with pytest.raises(InputError, match=rf"^x.icf:{line + specs.count(chr(10))}:1: {part.upper()} begins here"):
        read(lines[0] + specs + "".join(lines[1:end]))


def test_a_test_setup_has_an_end_since_1999_02_17() -> None:
    whole = text("iometer-2006.07.27.icf")
    endless = whole.replace("'END test setup\r\n", "")
    dated = planned(read(endless.replace("2006.07.27", "1998.10.08"))[0])
    assert dated == planned(read(whole)[0])
    for version in ("1999.02.17", "1.1.0"):
        with pytest.raises(InputError, match=r"^x.icf:2:1: TEST SETUP begins here"):
            read(endless.replace("2006.07.27", version))


def test_a_file_of_an_old_version_that_ends_too_early_is_said_to_be_cut_off() -> None:
    lines = text("iometer-1998.01.05.icf").splitlines(keepends=True)
    for kept in range(2, 6):
        with pytest.raises(InputError, match=rf"^x.icf:{kept}:1: the file ends within its access spec") as error:
            read("".join(lines[:kept]))
        assert "'END access specifications" in error.value.remedy


def test_specifications_without_names_end_where_another_part_begins() -> None:
    whole = text("iometer-1998.01.05.icf")
    others = "'MANAGER LIST\n'Worker\n\tW\n'Worker type\n\tDISK\n'END manager list\n"
    without = whole.replace("'END access specifications\r\n", others)
    assert len(planned(read(without)[0])) == 2


@pytest.mark.parametrize("worker", [1, 2])
def test_assigned_specifications_without_an_end_are_refused_at_their_begin(worker: int) -> None:
    whole, end = text("iometer-1.1.0.icf"), "'End assigned access specs\r\n"
    first, second, third = whole.split(end)
    content = first + second + end + third if worker == 1 else first + end + second + third
    line = content[: content.index("'Assigned") if worker == 1 else content.rindex("'Assigned")].count("\n") + 1
    expected = rf"^x.icf:{line}:1: ASSIGNED ACCESS SPECS begins here, and another part at line {line + 3}, "
    with pytest.raises(InputError, match=expected) as error:
        read(content)
    assert "'End assigned access specs" in error.value.remedy


def test_comments_among_assigned_specifications_say_nothing() -> None:
    whole = text("iometer-1.1.0.icf")
    assert planned(read(whole.replace("\tIdle", "'no more\r\n\tIdle"))[0]) == planned(read(whole)[0])


def test_a_file_that_ends_too_early_is_said_to_be_cut_off() -> None:
    whole = text("iometer-1.1.0.icf")
    with pytest.raises(InputError, match="ends within its access specifications"):
        read(whole[: whole.index("'END access")])
    with pytest.raises(InputError, match="no access specification"):
        read("Version 1.1.0\n")


@settings(max_examples=60)
@given(st.lists(plain_streams(), min_size=1, max_size=4))
def test_written_points_read_back_are_the_same(streams: list[Workload]) -> None:
    points = [replace(point(one), name=f"p{n}") for n, one in enumerate(streams)]
    content, notes = icf.write(points)
    mixed = any(one.profile.random_fraction < 1 and 0 < one.profile.read_fraction < 1 for one in streams)
    assert [message for _, message in notes.items()] == [ONE_PLACE] * mixed
    suite, _ = read(content)
    assert [said(one) for one in planned(suite)] == [said(one) for one in points]


@pytest.mark.parametrize("jobs", [1, 2, 8])
@pytest.mark.parametrize("random", [0.0, 0.3, 1.0])
def test_jobs_are_workers_that_lie_side_by_side_if_they_go_in_sequence(jobs: int, random: float) -> None:
    where = {"random_fraction": random, "start_bytes": 1 << 30, "working_set_bytes": 1 << 33}
    asked = point(stream(Closed(3, jobs), read_fraction=1.0, **where))
    content, notes = icf.write([asked])
    assert content.count("'Worker\r\n") == jobs
    starts = {line for line in content.split("\r\n") if line.endswith(",2") and line.startswith("\t")}
    assert len(starts) == (1 if random == 1 else jobs)
    suite, _ = read(content)
    assert [said(one) for one in planned(suite)] == [said(asked)]
    assert not notes.items()


def test_streams_that_run_together_are_workers_of_one_step() -> None:
    both = point(
        stream(name="data"), stream(Closed(1), name="log", random_fraction=0.0, read_fraction=0.0), name="both"
    )
    alone = point(stream(name="data"), name="alone")
    suite, _ = read(icf.write([both, alone])[0])
    first, second = planned(suite)
    assert [(s.profile.name, s.arrival) for s in first.streams] == [("data", Closed(4)), ("log", Closed(1))]
    assert [s.arrival for s in second.streams] == [Closed(4)]


def test_a_sweep_of_the_catalog_reads_back_the_same() -> None:
    for name in ("block-size-sweep", "typical-12", "iometer-profiles"):
        points = make_plan(load_suite(name)[0], Options())
        suite, _ = read(icf.write(points)[0])
        assert [said(one) for one in planned(suite)] == [said(one) for one in points]


def test_profiles_that_differ_in_depth_only_keep_their_names() -> None:
    points = make_plan(load_suite("quick-look")[0], Options())
    suite, _ = read(icf.write(points)[0])
    assert [(one.name, one.streams[0].arrival) for one in planned(suite)] == [
        (one.name, one.streams[0].arrival) for one in points
    ]


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        (
            stream(Open(100, 4)),
            "Iometer has no rate: the load becomes closed, at the most that it may have outstanding (4)",
        ),
        (stream(distribution=Distribution("zipf", 1.2)), "Iometer has no zipf distribution of addresses"),
        (stream(dsync=True), "Iometer has no O_DSYNC and no flushes"),
        (stream(read_fraction=0.665), "share of reads: 66.5 % is rounded to a whole percent"),
        (stream(working_set_fraction=0.1), "Iometer counts sectors: a share of the target becomes all of it"),
        (stream(Closed(1, 2), random_fraction=0.0), "jobs side by side need the target's size"),
        (stream(random_fraction=0.5), ONE_PLACE),
        (stream(think_time_ns=500_000), "Iometer's delay is whole ms: think time becomes 1 ms"),
        (stream(compressible_fraction=0.5), "Iometer has no compressible share of data: repeating bytes are written"),
        (stream(start_bytes=700, working_set_bytes=1024), "Iometer counts sectors of 512 bytes"),
        (stream(working_set_bytes=100), "Iometer counts sectors of 512 bytes"),
        (stream(Closed(1, 100)), "more than 64 workers: one with all that is outstanding"),
    ],
)
def test_what_iometer_can_t_say_is_noted_with_the_nearest(asked: Workload, note: str) -> None:
    content, notes = icf.write([point(asked)])
    assert [names for names, message in notes.items() if message.startswith(note)] == [("p",)]
    read(content)


def test_loads_that_differ_in_their_rates_only_are_one_and_the_note_says_so() -> None:
    open_loads = [point(stream(Open(rate, 8)), name=f"p-r{rate}") for rate in (100, 200)]
    others = [
        point(stream(Open(200, 9)), name="q"),
        point(stream(Closed(8)), name="c1"),
        point(stream(Closed(8)), name="c2"),
    ]
    content, notes = icf.write([*open_loads, *others])
    assert [one.streams[0].arrival for one in planned(read(content)[0])] == [Closed(8), Closed(9), Closed(8), Closed(8)]
    assert notes.items() == [
        (
            ("p-r100", "p-r200"),
            "Iometer has no rate: the load becomes closed, at the most that it may have outstanding (8), and is written"
            " once for 2 rates",
        ),
        (("q",), "Iometer has no rate: the load becomes closed, at the most that it may have outstanding (9)"),
    ]


def test_the_size_of_the_target_makes_sectors_of_percents() -> None:
    where = {"random_fraction": 0.0, "working_set_fraction": 0.5, "start_fraction": 0.25}
    asked = point(stream(Closed(1, 4), read_fraction=1.0, **where))
    content, notes = icf.write([asked], size_bytes=SIZE)
    assert not notes.items()
    assert [said(one) for one in planned(read(content)[0])] == [said(asked)]


def test_a_search_is_refused() -> None:
    with pytest.raises(InputError, match=r"a search .* can't be written for another tool") as error:
        icf.write(make_plan(load_suite("database-ramp")[0], Options()))
    assert "--queue-depth" in error.value.remedy


def twins(first: str, second: str, *assigned: str) -> str:
    """A file of two access specifications, of 4 KiB reads and of 64 KiB writes, and a worker with these steps."""
    lines = ["Version 1.1.0", "'ACCESS SPECIFICATIONS"]
    for name, line in ((first, "4096,100,100,100,0,1,0,0"), (second, "65536,100,0,0,0,1,0,0")):
        lines += ["'Access specification name,default assignment", f"\t{name},NONE", "'size,% of size", f"\t{line}"]
    lines += ["'END access specifications", "'MANAGER LIST", "'Worker", "\tW", "'Worker type", "\tDISK"]
    lines += ["'Assigned access specs", *(f"\t{name}" for name in assigned), "'End assigned access specs"]
    return "\n".join([*lines, "'End worker", "'END manager list"])


@pytest.mark.parametrize("second", ["load", "Load"])
def test_of_two_specifications_of_one_name_none_is_lost(second: str) -> None:
    suite, notes = read(twins("load", second))
    points = planned(suite)
    assert [one.streams[0].profile.block[0].size_bytes for one in points] == [4096, 65536]
    assert [one.name for one in points] == ["load", "load-2"]
    (note,) = (note for note in notes if "name" in note)
    assert note == ("x.icf: load: several access specifications have this name, the others are called load-2 (line 8)")
    again, said_again = read(icf.write(points)[0])
    assert [said(one) for one in planned(again)] == [said(one) for one in points]
    assert not any("have this name" in one for one in said_again)


def test_a_name_that_is_assigned_must_say_which_is_meant() -> None:
    content = twins("load", "Load", "load")
    with pytest.raises(InputError, match=r"^x.icf:18:2: 'load' is assigned, and 2 .* have that name: lines 4, 8") as it:
        read(content)
    assert "name of its own" in it.value.remedy
    assert [one.name for one in planned(read(twins("load", "other", "other", "load"))[0])] == ["other", "load"]


def test_a_number_that_makes_a_name_its_own_is_no_other_s_name() -> None:
    third = "'Access specification name,default assignment\n\tLOAD-2,NONE\n'size\n\t512,100,100,0,0,1,0,0\n"
    content = twins("load", "load").replace("'END access", third + "'END access", 1)
    points = planned(read(content)[0])
    sizes = {one.name: one.streams[0].profile.block[0].size_bytes for one in points}
    assert sizes == {"load": 4096, "load-3": 65536, "LOAD-2": 512}


def test_what_is_said_twice_is_read_once() -> None:
    content = twins("load", "load", "load").replace("65536,100,0,0,", "4096,100,100,100,")
    suite, notes = read(content)
    assert [one.name for one in planned(suite)] == ["load"]
    assert not any("have this name" in note for note in notes)


def test_names_that_differ_in_case_only_are_written_as_two() -> None:
    points = [point(stream(name="a"), name="a"), point(stream(name="A", read_fraction=0.0), name="A")]
    content, _ = icf.write(points)
    assert [one.streams[0].profile.read_fraction for one in planned(read(content)[0])] == [0.5, 0.0]


WORDS = [
    "\t",
    "'",
    "\r\n",
    "'Worker\r\n",
    "-1",
    "9" * 30,
    "1.5",
    ",,,",
    "'END access specifications\r\n",
    "\0",
    "\tIdle\r\n",
]


@given(st.text())
def test_any_text_is_a_suite_or_an_error(content: str) -> None:
    survives(read, content)
    survives(read, "Version 1.1.0\n" + content)


@given(st.data())
def test_a_damaged_file_is_a_suite_or_an_error(data: st.DataObject) -> None:
    survives(
        read, data.draw(damaged(data.draw(st.sampled_from([path.read_bytes().decode() for path in FILES])), WORDS))
    )


@pytest.mark.parametrize(
    "body",
    [
        "'Worker\n" * 100_000,
        "'Worker\n'Assigned access specs\n" + "\tx\n" * 200_000,
        "'Target\n\ta\n" * 100_000,
    ],
)
def test_a_huge_list_of_workers_ends_soon_in_a_sentence(body: str) -> None:
    survives(read, text("iometer-1.1.0.icf").replace("'END manager list", body + "'END manager list"))
