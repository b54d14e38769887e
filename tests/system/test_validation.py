"""Comparisons with measurements: reading them, judging them, and asking models the same; on small made-up data."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from loadline import _core
from loadline.errors import InputError
from loadline.system.drive import drive_text
from loadline.system.validation import data
from loadline.system.validation.comparison import Comparison, assumptions
from loadline.system.validation.load import described, rate_at_mean, rate_between
from loadline.system.validation.published import published
from loadline.system.validation.traces import demerit
from loadline.system.validation.validate import validate

HEAD = "device_model,workload,block_size,iodepth,iops\n"


def table(folder: Path, *lines: str, name: str = "md-raid5-8x2tb.csv", head: str = HEAD) -> Path:
    (folder / name).write_text(head + "\n".join(lines) + "\n")
    return folder


def test_sizes_are_binary_and_rates_decimal(tmp_path: Path) -> None:
    table(tmp_path, "disk,fio randread,64.0KiB,8,32.7k", "disk,fio write,4096B,1,93")
    (first, second), _ = data.table(tmp_path, "md-raid5-8x2tb.csv")
    assert (first.workload, first.block_bytes, first.outstanding) == ("randread", 65536, 8)
    assert first.iops == pytest.approx(32_700)
    assert (second.block_bytes, second.iops) == (4096, 93.0)


@pytest.mark.parametrize(
    ("lines", "head", "said"),
    [
        (["disk,fio randread,4k,1,many"], HEAD, ":2: iops is 'many', no number"),
        (["disk,fio randread,4k,0,80"], HEAD, ":2: iodepth is '0', which should be above 0"),
        (["disk,fio randread,4k,99999999,80"], HEAD, ":2: iodepth is '99999999', which should be from 1 to 65,536"),
        (["disk,fio randread,4k,1"], "device_model,workload,block_size,iodepth\n", "has no column iops"),
        ([], HEAD, "has no figures"),
        (["disk,fio trim,4k,1,80"], HEAD, ":2: workload is 'fio trim'"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, lines: list[str], head: str, said: str
) -> None:
    table(tmp_path, *lines, head=head)
    with pytest.raises(InputError) as refused:
        data.table(tmp_path, "md-raid5-8x2tb.csv")
    assert said in refused.value.message


def test_a_missing_file_is_bad_input_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"md-raid5-8x2tb\.csv") as refused:
        validate(tmp_path, only=("md-raid5",))
    assert "--only" in refused.value.remedy
    (tmp_path / "alone.trace").write_text("R Hit 0 8 9000 1000\n")
    with pytest.raises(InputError, match=r"traces: NAME\.trace beside a NAME\.diskspecs"):
        validate(tmp_path, only=("traces",))
    # Of two drives the one that was made for the trace is read.
    (tmp_path / "alone.diskspecs").write_text("")
    (tmp_path / "alone_validate.diskspecs").write_text("")
    with pytest.raises(InputError, match=r"alone_validate\.diskspecs"):
        validate(tmp_path, only=("traces",))


def test_measurements_are_asked_for_by_sections_that_need_them() -> None:
    with pytest.raises(InputError, match="needs measurements"):
        validate(only=("h730",))


def test_a_bar_a_span_and_a_limit_each_judge_in_their_own_way() -> None:
    assert Comparison("", "IOPS", 100, 109, bar_fraction=0.1).within
    assert not Comparison("", "IOPS", 100, 111, bar_fraction=0.1).within
    assert not Comparison("", "IOPS", 100, 89, bar_fraction=0.1).within
    assert Comparison("", "IOPS", 100, 150, span=(50, 151)).within
    assert not Comparison("", "ms", None, 0.3, most=0.2).within
    assert Comparison("", "IOPS", 100, 300).within is None


def test_distributions_that_are_shifted_differ_by_the_shift_whatever_their_order() -> None:
    assert math.isclose(demerit([1.0, 5.0, 3.0], [5.5, 3.5, 1.5]), 0.5)


def test_the_rate_at_a_limit_is_found_between_depths() -> None:
    # Rate 100 n / (n + 9) and, by Little's law, a mean of (n + 9) / 100 seconds: 1 s at n = 91, and 91 a second.
    def ask(outstanding: int) -> tuple[float, float]:
        return 100 * outstanding / (outstanding + 9), (outstanding + 9) / 100 * 1e9

    assert rate_at_mean(ask, 1e9, 16, 4096) == pytest.approx(91, rel=0.01)


def test_the_rate_at_a_limit_lies_on_the_line_through_two_loads_and_beyond_them() -> None:
    assert rate_between((100, 20e6), (110, 40e6), 30e6) == pytest.approx(105)
    assert rate_between((100, 20e6), (110, 28e6), 30e6) == pytest.approx(112.5)
    assert rate_between((100, 30e6), (110, 30e6), 30e6) == 110


def test_a_load_line_is_read_where_it_was_found() -> None:
    (section,) = validate(only=("eva-15k",), ios=100)
    simulated = {one.what: one.forecast for one in section.comparisons}
    solved = {name: simulated[f"{name}, solved"] for name in simulated if f"{name}, solved" in simulated}
    assert len(solved) == 4
    # Caches of so few I/Os haven't settled.
    assert all(simulated[name] == pytest.approx(rate, rel=0.25) for name, rate in solved.items())


def test_conclusions_on_servers_know_what_little_s_law_and_a_dead_battery_and_a_rebuild_say() -> None:
    (section,) = validate(only=("dl360",), ios=100)
    said = {one.said: one for one in section.conclusions}
    latency = said["Between Gen6, 7 and 8 latency differs by at most 2 %."]
    assert "IOPS times latency 1.00 to 1.00" in latency.numbers
    assert said["Who lives on the hardware cache sits on a mine, for the day its battery dies (a reader)."].verdict != (
        "differs"
    )
    assert "RAID 10" in said["RAID 10 rebuilds much faster."].numbers


def test_the_report_s_rule_misses_its_own_figures_by_4_and_16_and_18_percent() -> None:
    rows = published()["eva"]["load_line"]
    errors = {(row["suite"], row["layout"]): 0.92 * row["rule_saturation"] / row["iops"] - 1 for row in rows}
    assert errors["web-ramp", "vraid5"] == pytest.approx(0.04, abs=0.005)
    assert errors["database-ramp", "vraid1"] == pytest.approx(-0.16, abs=0.005)
    assert errors["database-ramp", "vraid5"] == pytest.approx(-0.18, abs=0.005)


def test_a_request_alone_takes_at_most_a_full_seek_and_two_revolutions() -> None:
    _, drive = drive_text("cheetah-10k6-146")
    services_ns = _core.replay(
        drive, [False] * 50, [(i * 7919 * 36000) % 280_000_000 for i in range(50)], [8] * 50, [0] * 50
    )
    assert all(0 < service < 9.8e6 + 2 * 6e6 for service in services_ns)
    assert max(services_ns) > 3e6


def test_a_request_beyond_the_drive_is_refused() -> None:
    _, drive = drive_text("cheetah-10k6-146")
    with pytest.raises(ValueError, match="isn't on the drive"):
        _core.replay(drive, [False], [1 << 40], [8], [0])


def test_each_line_of_a_table_becomes_a_comparison_judged_by_15_percent(tmp_path: Path) -> None:
    lines = [f"2TB,fio randread,4k,{depth},{iops}" for depth, iops in ((1, 1), (8, 900))]
    (section,) = validate(table(tmp_path, *lines), only=("md-raid5",), ios=300)
    judged = [one for one in section.comparisons if one.bar_fraction is not None]
    assert [one.measured for one in judged] == [1, 900]
    assert judged[0].within is False
    assert judged[1].forecast > judged[0].forecast
    assert section.files[0][0] == "md-raid5-8x2tb.csv"


def test_repeats_are_compared_by_their_median_and_judged_by_their_spread(tmp_path: Path) -> None:
    head = HEAD.replace("iodepth", "outstanding")
    lines = [f"4T,fio randread,4096B,1,{iops}" for iops in (1, 200, 100_000)]
    table(tmp_path, *lines, name="single-hdd-h730-cache.csv", head=head)
    (section,) = validate(tmp_path, only=("h730",), ios=300)
    (one,) = section.comparisons
    assert (one.measured, one.span, one.within) == (200, (1, 100_000), True)


def test_every_assumption_of_a_system_and_of_its_drive_has_its_reason(tmp_path: Path) -> None:
    (section,) = validate(table(tmp_path, "2TB,fio randread,4k,1,100"), only=("md-raid5",), ios=300)
    found = assumptions([section, section])
    names = {one.description for one in found}
    assert names == {"md-raid5-8x2tb", described("md-raid5-8x2tb").drive}
    assert all("assumed" in one.reason for one in found)
    assert len({(one.description, one.key) for one in found}) == len(found)
