"""HCIBench's names of parameter files, which say a workload."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload.foreign import SIZE, planned, survives
from workload.strategies import damaged

from loadline.errors import InputError
from loadline.workload.dialects import hcibench
from loadline.workload.plan import Options, make_plan
from loadline.workload.profile import BlockShare, Closed
from loadline.workload.suite import load_suite

NAME = "vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads"


def test_the_reports_name_is_its_load() -> None:
    suite, notes = load_suite(NAME)
    ((stream,),) = (point.streams for point in planned(suite))
    profile = stream.profile
    assert (profile.block, profile.working_set_fraction) == ((BlockShare(4096, 1.0),), 0.1)
    assert (profile.read_fraction, profile.random_fraction, stream.arrival) == (0.7, 0.3, Closed(2, 8))
    assert not notes


def test_the_profiles_of_the_suite_hci_are_what_their_names_say() -> None:
    for point in make_plan(load_suite("hci")[0], Options()):
        (stream,) = point.streams
        ((named,),) = (other.streams for other in planned(load_suite(point.name)[0]))
        said, meant = stream.profile, named.profile
        assert (said.block, said.read_fraction, said.random_fraction) == (
            meant.block,
            meant.read_fraction,
            meant.random_fraction,
        )
        assert (said.working_set_fraction, stream.arrival) == (meant.working_set_fraction, named.arrival)


percent = st.integers(0, 100)


@given(
    st.integers(1, 60),
    st.integers(1, 100),
    st.sampled_from(["512", "4k", "64k", "1m"]),
    percent,
    percent,
    st.integers(1, 999),
)
def test_a_name_that_is_read_is_written_the_same(
    disks: int, touched: int, block: str, read: int, random: int, threads: int
) -> None:
    name = f"vdb-{disks}vmdk-{touched}ws-{block}-{read}rdpct-{random}randompct-{threads}threads"
    text, _ = hcibench.write(planned(hcibench.read_name(name)))
    assert text == name + "\n"


@pytest.mark.parametrize(
    "name",
    [
        f"mine-{NAME}",
        f"my-test-{NAME}",
        f"vdb-fio-{NAME}",
        f"{NAME}-1567721576",
        f"my-test-{NAME}-1567721576",
        NAME.replace("vdb", "fio"),
        NAME.replace("2threads", "threads"),
    ],
)
def test_words_before_a_name_fio_no_threads_and_the_time_of_results_are_hcibenchs_too(name: str) -> None:
    assert planned(load_suite(name)[0])[0].streams[0].arrival == Closed(2, 8)


def test_names_in_capital_letters_say_the_same() -> None:
    small, large = (planned(load_suite(name)[0])[0].streams[0] for name in (NAME, NAME.upper()))
    assert replace(large.profile, name=small.profile.name) == small.profile
    assert large.arrival == small.arrival


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("4k", "4q", "name:1:16: 'vdb-.*' is not one of HCIBench's names$"),
        ("-2threads", "", "name:1:38: 'vdb-.*' is not one of HCIBench's names: it says no threads$"),
        ("-30randompct", "", "name:1:27: 'vdb-.*' is not one of HCIBench's names: it says no randompct$"),
        ("-4k", "", "name:1:16: 'vdb-.*' is not one of HCIBench's names$"),
        ("2threads", "2threads-", "name:1:48: 'vdb-.*' is not one of HCIBench's names$"),
        ("2threads", "2threads-17", "name:1:48: 'vdb-.*' is not one of HCIBench's names$"),
        ("vdb-8vmdk-10ws", "my--vdb-8vmdk-10ws", "name:1:1: 'my--vdb-.*' is not one of HCIBench's names$"),
        ("8vmdk", "0vmdk", "name:1:5: vmdk: '0' is not a number from 1 to 4096"),
        ("8vmdk", "1.5vmdk", "name:1:5: vmdk: '1.5' is not a whole number"),
        ("10ws", "0ws", "name:1:11: ws: 0 % of the disks is nothing"),
        ("4k", "0k", "name:1:16: '0k' is not a block size"),
        ("4k", "4", "name:1:16: '4' is not a block size from 512 bytes to 1 GiB"),
        ("70rdpct", "170rdpct", "name:1:19: rdpct: '170' is not a number from 0 to 100"),
        ("2threads", "99999threads", "name:1:39: threads: '99999' is not a number from 1 to 65536"),
        ("4k", "9" * 20 + "m", "name:1:16: '9{20}m' is more than can be"),
        ("4k", "9" * 5000 + "k", "name:1:16: 'vdb-.*' is not one of HCIBench's names"),
    ],
)
def test_a_fault_in_a_name_is_said_with_its_column(old: str, new: str, fault: str) -> None:
    with pytest.raises(InputError, match=f"(?m)^{fault}") as error:
        load_suite(NAME.replace(old, new))
    assert error.value.remedy


def test_a_list_of_names_is_a_suite_with_line_and_column_of_its_faults(tmp_path: Path) -> None:
    path = tmp_path / "mine.hcibench"
    path.write_text(f"* two\n{NAME}\n\n  {NAME}\n")
    suite, _ = load_suite(str(path))
    assert [entry.name for entry in suite.entries] == [NAME, f"{NAME}-2"]
    path.write_text(f"{NAME}\n  {NAME.replace('70', '170')}\n")
    with pytest.raises(InputError, match=r"mine.hcibench:2:21: rdpct"):
        load_suite(str(path))
    path.write_text(f"{NAME}\n" * 10_001)
    with pytest.raises(InputError, match=r"mine.hcibench:10001:1: makes more than 10000 points"):
        load_suite(str(path))


def test_what_a_name_can_t_say_is_noted() -> None:
    text, notes = hcibench.write(make_plan(load_suite("typical-12")[0], Options()), size_bytes=SIZE)
    assert len(text.splitlines()) == 12
    size, *others = (message for _, message in notes.items())
    assert size == "a name says no size: give HCIBench disks of 1.1 TB together"
    assert all(message.startswith("a name says no times") for message in others)
    _, notes = hcibench.write(make_plan(load_suite("log-writer")[0], Options()))
    assert any("O_DSYNC" in message for _, message in notes.items())


def test_a_working_set_in_bytes_becomes_all_of_a_target_whose_size_isn_t_given() -> None:
    (asked,) = planned(hcibench.read_name(NAME))
    (stream,) = asked.streams
    profile = replace(stream.profile, working_set_fraction=None, working_set_bytes=SIZE // 10)
    asked = replace(asked, streams=(replace(stream, profile=profile),))
    text, notes = hcibench.write([asked])
    assert text == NAME.replace("10ws", "100ws") + "\n"
    assert any(message.startswith("a name says percents") and "--size" in message for _, message in notes.items())
    assert hcibench.write([asked], size_bytes=SIZE)[0] == NAME + "\n"


def test_a_block_that_no_disk_has_becomes_the_smallest_of_them() -> None:
    (asked,) = planned(hcibench.read_name(NAME))
    (stream,) = asked.streams
    small = replace(stream, profile=replace(stream.profile, block=(BlockShare(100, 1.0),)))
    text, notes = hcibench.write([replace(asked, streams=(small,))])
    assert text == NAME.replace("4k", "512") + "\n"
    assert any("no block below 512 bytes" in message for _, message in notes.items())


def test_names_that_come_out_equal_are_written_once_with_a_note() -> None:
    points = make_plan(load_suite("zone-profile")[0], Options())
    text, notes = hcibench.write(points)
    assert len(text.splitlines()) == 1
    merged = next(names for names, message in notes.items() if "written once" in message)
    assert merged == tuple(point.name for point in points[1:])


@given(st.text())
def test_any_list_is_a_suite_or_an_error(text: str) -> None:
    survives(lambda content: hcibench.read(content, "x", "x"), text)
    survives(lambda content: (hcibench.read_name(content), []), text)


@given(st.data())
def test_a_damaged_name_is_a_suite_or_an_error(data: st.DataObject) -> None:
    text = data.draw(damaged(NAME, ["-", "9" * 20, ".", "vdb-", "k", "\n"]))
    survives(lambda content: hcibench.read(content, "x", "x"), text)
