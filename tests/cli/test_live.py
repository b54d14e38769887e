"""The live display: what it shows of a run, on wide and narrow terminals, with and without Unicode.

The expected screens are in golden/live; `LOADLINE_RECORD=yes pytest tests/cli/test_live.py` writes them anew.
"""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from loadline.cli import output
from loadline.cli.live import Display, State, counting, lines, model_lines, serving_lines, told
from loadline.measuring import event
from loadline.measuring.emulate import Reading, Served
from loadline.result.schema import Flow, Result

GOLDEN = Path(__file__).parent.parent / "golden" / "live"


def flow(iops: float, latency_ms: float) -> Flow:
    ns = latency_ms * 1e6
    return Flow(iops=iops, bytes_per_s=iops * 8192, latency_mean_ns=ns, latency_p99_ns=int(4 * ns))


def progress(second: int, iops: float) -> event.Progress:
    both = (flow(0.7 * iops, 0.45), flow(0.3 * iops, 0.51))
    return event.Progress(
        *(3, 12, "oltp-db", second * 10**9, 30 * 10**9, second <= 2, flow(iops, 0.47), *both),
        cpu_fraction=0.37,
        busy_fraction=0.98,
    )


@pytest.fixture
def state() -> State:
    """In its third point of twelve; the second has failed, the first was a quick one."""
    points = ["decision-support-system-database-of-the-year", "sql-server-log", "oltp-db", *map(str, range(9))]
    done = [
        Result(point=points[0], quick=True, total=flow(1325, 24.1), read=flow(1325, 24.1)),
        Result(point=points[1], error="fio: pid=17, err=5/file:io_u.c, func=io_u error: Input/output error on /dev/x"),
    ]
    return State(
        title="typical-12 on /dev/disk/by-id/nvme-A_Very_Long_Model_Name_That_Goes_On_S3RN0X0M",
        expected_ns=[30 * 10**9] * len(points),
        done_ns=60 * 10**9,
        results=done,
        current=event.PointStarted(3, 12, "oltp-db", 30 * 10**9),
        progress=[progress(second, 40_000 + 9_000 * (second % 4)) for second in range(1, 18)],
        elapsed_ns=81 * 10**9,
    )


def screen(state: State, width: int, *, plain: bool = False) -> str:
    return "\n".join(line.plain.rstrip() for line in lines(state, width, 24, plain=plain)) + "\n"


@pytest.mark.parametrize(
    ("name", "width", "plain"), [("80", 80, False), ("120", 120, False), ("80-plain", 80, True), ("40", 40, False)]
)
def test_a_run_in_progress_looks_as_recorded(state: State, name: str, width: int, plain: bool) -> None:
    shown = screen(state, width, plain=plain)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("LOADLINE_RECORD"):
        path.write_text(shown)
    assert shown == path.read_text()


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
@pytest.mark.parametrize("plain", [False, True])
def test_no_line_is_wider_than_the_terminal(state: State, width: int, plain: bool) -> None:
    assert max(line.cell_len for line in lines(state, width, 24, plain=plain)) <= width


def test_a_console_without_unicode_gets_none(state: State) -> None:
    assert screen(state, 80, plain=True).isascii()


def test_of_many_points_the_last_are_shown_and_the_others_counted(state: State) -> None:
    state.results = [replace(state.results[0], point=f"point-{number}") for number in range(100)]
    shown = lines(state, 80, 24, plain=False)
    assert len(shown) <= 24
    text = "\n".join(line.plain for line in shown)
    assert "point-99" in text
    assert "point-0 " not in text
    assert "earlier points" in text


def test_probes_are_shown_until_their_point_is_done(state: State) -> None:
    probe = replace(state.results[0], point="ramp-qd64")
    assert told(state, event.ProbeFinished(3, 12, probe)) and state.current is None
    assert "ramp-qd64" in screen(state, 80) and "2 of 12 points" in screen(state, 80)
    assert told(state, event.PointFinished(3, 12, replace(probe, point="ramp")))
    assert "ramp-qd64" not in screen(state, 80) and "ramp" in screen(state, 80)


def test_before_the_first_figure_they_are_unknown_and_not_zero(state: State) -> None:
    state.progress = []
    text = screen(state, 80)
    assert "host CPU –" in text
    assert " 0 IOPS" not in text


def test_filling_the_target_is_shown_with_what_is_left(state: State) -> None:
    state.current = None
    assert told(state, event.Preparing("/dev/sdx", 25 * 10**9, 100 * 10**9, 90 * 10**9))
    text = screen(state, 80)
    assert "filling /dev/sdx: 25 GB of 100 GB, 90 s left" in text
    assert "25%" in text


def test_targets_that_are_filled_at_once_are_shown_together_and_the_slowest_each(state: State) -> None:
    state.current = None
    for number in range(6):
        told(state, event.Preparing(f"/dev/sd{number}", number * 20 * 10**9, 100 * 10**9, (6 - number) * 10**9))
    text = screen(state, 80)
    assert "filling 6 targets: 300 GB of 600 GB, 6 s left" in text and "50%" in text
    assert "/dev/sd0: 0 B of 100 GB, 6 s left" in text and "/dev/sd3" in text
    assert "/dev/sd4" not in text
    assert not told(state, event.Preparing("/dev/sd0", 100 * 10**9, 100 * 10**9, 0))
    assert "filling 6 targets: 400 GB of 600 GB" in screen(state, 80)


def test_the_display_fits_the_terminal_that_it_finds_when_it_draws(state: State) -> None:
    display = Display(lambda width, height, plain: lines(state, width, height, plain=plain))
    for width, height in ((80, 24), (120, 40), (60, 15)):
        console = Console(width=width, height=height, force_terminal=True, record=True, file=io.StringIO())
        console.print(display)
        printed = console.export_text().splitlines()
        assert len(printed) < height
        assert max(map(len, printed)) <= width


def test_a_sweep_of_models_shows_its_rows_and_what_is_left(state: State) -> None:
    drawn = model_lines("simulating x under y", state.results[:1], 3, 12, 60 * 10**9, 80, 24, False)
    text = [line.plain for line in drawn]
    assert text[0] == "simulating x under y"
    assert "1,325" in text[2]
    assert text[-1] == "3 of 12, 1:00 so far, about 3 min left"


def test_a_listener_of_models_draws_every_row_once(state: State) -> None:
    screen = Console(width=80, height=24, force_terminal=True, file=io.StringIO())
    with counting("sweep", screen) as listen:
        listen(1, 2, state.results[:1])
        listen(2, 2, [])
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "2 of 2" in shown
    assert "2 earlier points" not in shown


@pytest.mark.parametrize(
    ("variables", "plain"),
    [
        ({"LANG": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True),
        ({"LANG": "C.UTF-8"}, False),
        ({"LC_CTYPE": "de_DE.UTF-8", "LANG": "C"}, False),
        ({"TERM": "linux", "LANG": "C.UTF-8"}, True),
        ({}, False),
    ],
)
def test_a_locale_or_console_without_unicode_is_recognised(
    state: State, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], plain: bool
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen = Console(width=80, height=24, force_terminal=True, file=io.StringIO())
    screen.print(Display(lambda width, height, plain: lines(state, width, height, plain=plain)))
    assert screen.file.getvalue().isascii() == plain  # type: ignore[attr-defined]


def test_points_of_a_sweep_name_their_settings(state: State) -> None:
    row = replace(state.results[0], point="oltp-db", quick=False, origin="solved", tags={"volume.layout": "raid5"})
    assert "oltp-db raid5 " in model_lines("t", [row], 1, 2, 10**9, 80, 24, False)[2].plain


def test_a_terminal_that_became_narrower_is_cleared_and_a_wider_one_is_not(state: State) -> None:
    screen = Console(width=80, height=24, force_terminal=True, file=io.StringIO())
    display = Display(lambda width, height, plain: lines(state, width, height, plain=plain), screen)

    def cleared_at(width: int) -> bool:
        screen.file = io.StringIO()
        screen.width = width
        display.refresh()
        return "\x1b[2J" in screen.file.getvalue()

    assert [cleared_at(width) for width in (80, 60, 60, 100)] == [False, True, False, False]
    display.end()


def test_what_is_said_meanwhile_stands_above_the_display(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    # The terminal's own stream, with bytes below it as a real one has.
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True))
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    display = Display(lambda width, height, plain: lines(state, width, height, plain=plain), screen)
    display.refresh()
    output.note("drive 2 has failed: raid5 is degraded")
    display.end()
    assert "drive 2 has failed: raid5 is degraded\n" in screen.file.getvalue()


@pytest.mark.parametrize(("width", "plain"), [(40, False), (80, False), (80, True), (200, False)])
def test_an_emulated_system_is_shown_with_what_is_wrong_with_it(width: int, plain: bool) -> None:
    counters = (
        "answers",
        "late",
        "lateness_sum_ns",
        "failed",
        "clients_total",
        "floor_ns",
        "capacity_bytes",
        "flushes",
    )
    ways = ("ios", "bytes", "latency_sum_ns")
    now: Served = {
        **dict.fromkeys([*counters, *(f"{way}_{what}" for way in ("read", "write") for what in ways)], 0),
        **{"elapsed_ns": 61 * 10**9, "clients": 2, "in_flight": 32, "stored_bytes": 5 * 10**6},
        **{"lateness_max_ns": 120_000, "read_bins": [], "write_bins": []},
        "active": ["latency x10 from 30s to 90s", "drive 2 is 40 % rebuilt"],
    }  # type: ignore[typeddict-item]
    readings = [Reading(1.0, flow(rate, 9.5), flow(rate, 9.5), Flow(), 0.02) for rate in (800.0, 900.0)]
    drawn = serving_lines("dl360-g6-p410i, emulated", now, readings, width, 24, plain)
    assert max(line.cell_len for line in drawn) <= width
    text = "\n".join(line.plain for line in drawn)
    assert text.isascii() or not plain
    for said in ("900", "late 2.00%", "2 clients", "latency x10", "drive 2 is 40 % rebuilt"):
        assert said in text


def test_of_targets_in_turn_the_point_names_its_target_and_repetition(state: State) -> None:
    state.in_turn, state.current = True, event.PointStarted(3, 12, "oltp-db", 30 * 10**9, 2, "/dev/sdb")
    state.results = [replace(state.results[0], point="oltp-db", quick=False, repeat=2, target="/dev/sda")]
    text = screen(state, 120)
    assert "oltp-db (2) on /dev/sda " in text
    assert "3/12 oltp-db (2) on /dev/sdb " in text


@pytest.mark.parametrize(("fraction", "said"), [(0.034, "known to ±3.4%"), (5.06, "known to ±>100%")])
def test_how_well_a_point_is_known_is_said_up_to_all_of_it(state: State, fraction: float, said: str) -> None:
    state.progress[-1] = replace(state.progress[-1], ci95_fraction=fraction)
    assert said in screen(state, 120)


def test_what_others_wrote_gives_the_terminal_no_orders(state: State) -> None:
    state.title += "\x1b]0;x\x07"
    state.results = [Result(point="a", error="fio: \x1b[2J\x9b2J gone")]
    said = screen(state, 300)
    assert "M\\u001b]0;x" in said and " failed: fio: \\u001b[2J\\u009b2J gone" in said
    assert not any((ord(each) < 32 and each != "\n") or 127 <= ord(each) < 160 for each in said)
