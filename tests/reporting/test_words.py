"""A report's summary: what it says of which results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from results import failed, measured, run_of, solved

from loadline.reporting.audit_words import told
from loadline.reporting.contents import Contents
from loadline.reporting.report import of_runs
from loadline.reporting.table import findings_notes
from loadline.reporting.words import summary
from loadline.result.schema import Result
from loadline.system.forecast import forecast
from loadline.workload.plan import Options


def said(results: Sequence[Result]) -> dict[str, tuple[str, ...]]:
    return {part.head: part.sentences for part in summary(Contents("t", (), results, ()))}


def test_one_point_is_told_in_one_sentence() -> None:
    assert said([measured("a")]) == {
        "What": ("1 point of /dev/sdx under s was measured.",),
        "Main figures": ("a: 1,000 IOPS, 8.19 MB/s, mean response 2.00 ms.",),
    }


def test_of_several_the_extremes_are_named() -> None:
    figures = said([measured("a", 100.0, 5.0), measured("b", 200.0, 1.0)])["Main figures"]
    assert figures == (
        "The highest rate is 200 IOPS (b), the highest bandwidth 1.64 MB/s (b).",
        "Mean read latency: 0.900 ms (b) to 4.50 ms (a).",
        "Mean write latency: 1.20 ms (b) to 6.00 ms (a).",
    )


def test_points_of_one_name_are_told_apart() -> None:
    rows = [replace(measured("a", 100.0, latency), run=run) for run, latency in (("x-1-y", 5.0), ("x-2-y", 1.0))]
    assert said(rows)["Main figures"][1] == "Mean read latency: 0.900 ms (a, 2) to 4.50 ms (a, 1)."


def test_the_worst_of_all_is_told_where_it_is_of_the_best_one_at_another_load() -> None:
    rows = forecast("dl360-g6-p410i", "typical-12", options=Options(only=("media-streaming",)))
    asked, line = (f"{row.write.latency_mean_ns / 1e6:.3g}" for row in rows[:2] if row.write.latency_mean_ns)
    range_of_writes = (
        f"Mean write latency: {asked} ms (media-streaming) to {line} ms (media-streaming at another load)."
    )
    assert range_of_writes in said(rows)["Main figures"]


def test_what_a_model_says_is_never_called_measured() -> None:
    (what,) = said([solved("a"), solved("b")])["What"]
    assert what == "2 points of array under s were computed from a description, not measured."


def test_rows_of_several_origins_have_a_sentence_each() -> None:
    assert len(said([measured("a"), solved("a")])["What"]) == 2


def test_the_bottleneck_is_what_limits() -> None:
    assert said([solved("a"), solved("b")])["What limits"] == ("The disks limit every point.",)
    several = said([solved("a"), solved("b"), solved("c", {"bus": 1.0})])["What limits"]
    assert several == ("Disks limit 2 points.", "Bus limit 1 point.")


def test_what_limits_though_it_is_hardly_busy_in_the_mean_says_why() -> None:
    """One of eight disks holds all of a small volume."""
    sentences = said([solved("a", {"disks": 0.125, "bus": 0.01})])["What limits"]
    assert sentences == (
        "The disks limit every point.",
        "In the mean over all disks they are busy at most 12% of the time: only some have work, or few I/Os are"
        " outstanding.",
    )


def test_what_is_not_described_is_not_said_to_be_limited_by_a_component() -> None:
    assert said([solved("a"), measured("b")])["What limits"] == ("Disks limit 1 point of 2.",)


def test_a_busy_host_is_named_before_a_busy_device() -> None:
    rows = [measured("a", cpu_fraction=0.95, busy_fraction=1.0), measured("b", busy_fraction=0.99)]
    host, device = said(rows)["What limits"]
    assert host == "The host's CPU was above 90 % at 1 point of 2: there the load generator may be the limit."
    assert device == "The device always had work at 1 point of 1, while the host had CPU left."


def test_a_host_that_served_emulated_systems_is_not_said_to_limit_though_it_was_busy() -> None:
    rows = [
        measured("a", target=target, system=system, cpu_fraction=0.99, run="r")
        for target, system in (("*", None), ("emulated:x", "x"), ("emulated:y", "y"))
    ]
    assert "What limits" not in said(rows)
    assert "What limits" in said([*rows, measured("a", cpu_fraction=0.99, run="other")])


def test_failed_and_quick_points_and_findings_are_doubts() -> None:
    finding = {"check": "flushes", "severity": "doubt", "message": "flushes are outside the latency", "remedy": "r"}
    rows = [failed("bad"), failed("worse"), measured("a", quick=True), measured("b", findings=(finding,))]
    doubts = said(rows)["What is doubtful"]
    assert doubts[:2] == (
        "2 points of 4 failed: bad: the device went away (and 1 more).",
        "1 point ran for a few seconds only (*): an impression, not a measurement.",
    )
    assert "flushes are outside the latency" in doubts[2]


def test_what_cannot_be_stands_on_top_with_what_it_means_and_how_to_check_it() -> None:
    finding = {"check": "littles-law", "severity": "error", "message": "64 outstanding of 32", "remedy": "Look."}
    paragraphs = said([measured("a", findings=(finding,)), measured("b")])
    assert next(iter(paragraphs)) == "Audit"
    assert paragraphs["Audit"] == (
        "2 rows: 1 holds what cannot be, 1 without contradiction.",
        "It cannot be: rate, response time and load contradict each other. littles-law, a: 64 outstanding of 32. Look.",
    )
    assert "What is doubtful" not in paragraphs


def test_a_check_without_a_meaning_of_its_own_is_named_once() -> None:
    finding = {"check": "new-check", "severity": "warning", "message": "odd", "remedy": "Look."}
    assert said([measured("a", findings=(finding,))])["Audit"][1] == "Doubtful: new-check, a: odd. Look."


def test_a_failed_row_is_not_one_without_contradiction() -> None:
    finding = {"check": "littles-law", "severity": "error", "message": "64 outstanding of 32", "remedy": "Look."}
    rows = [measured("a", findings=(finding,)), failed("bad"), measured("b")]
    assert said(rows)["Audit"][0] == "3 rows: 1 holds what cannot be, 1 failed, 1 without contradiction."


def test_a_load_line_is_told_with_its_load_and_its_share_of_saturation() -> None:
    line = measured("oltp", 800.0, limit="mean<=30ms", saturation_iops=1000.0)
    assert said([line])["Main figures"] == (
        "oltp keeps mean<=30ms up to 800 IOPS, at 32 outstanding, 80% of the highest rate seen (1,000)."
        " At the load line the device had an I/O outstanding 75% of the time.",
    )
    (computed, *_) = said([replace(line, origin="solved")])["Main figures"]
    assert ", 80% of saturation (1,000)." in computed
    offered = measured("open", 900.0, limit="mean<=30ms", offered_per_s=900.0, outstanding_asked=None)
    others = [measured(name, 850.0, limit="mean<=30ms") for name in ("a", "b")]
    assert said([line, offered])["Main figures"][1].startswith("open keeps mean<=30ms up to 900 IOPS, at 900 I/Os a")
    assert said([line, offered, *others])["Main figures"][0] == (
        "Highest: open keeps mean<=30ms up to 900 IOPS, at 900 I/Os a second offered."
    )


def test_a_point_and_its_load_line_are_one_point_wherever_they_are_counted() -> None:
    def line(name: str, **changes: object) -> Result:
        return replace(solved(name), limit="mean<=30ms", **changes)  # type: ignore[arg-type]

    refused = [replace(solved("a"), error="no room"), line("a", error="no room")]
    passed = [solved("b"), line("b", error="not even 1 keeps it")]
    ramp = line("d", error="not even 2 keep it", provenance={"load_line": {"load": None, "kept": False}})
    found = said([*refused, *passed, solved("c"), line("c"), ramp])
    assert found["What"][0].endswith(", 1 of them without success, 2 without a load line.")
    assert found["What is doubtful"] == (
        "1 point of 4 failed: a: no room.",
        "2 points of 4 have no load line: b: not even 1 keeps it (and 1 more).",
    )


def test_points_that_differ_in_depth_only_have_one_load_line() -> None:
    rows = [measured(f"a-qd{n}", 800.0, limit="mean<=30ms", profile="a") for n in range(5)]
    keeps = [one for one in said(rows)["Main figures"] if "keeps" in one]
    assert len(keeps) == 1 and keeps[0].startswith("a-qd0 keeps mean<=30ms up to 800 IOPS")


def test_the_knee_of_a_load_line_is_told_with_where_it_comes_from() -> None:
    def rows(loads: tuple[int, ...]) -> list[Result]:
        return [
            measured("d", 1e3 * n / (10 + n), 10.0 + n, outstanding_asked=n, limit="mean<=30ms", role=role)
            for n, role in zip(loads, ("probe", "probe", "probe", "point"), strict=True)
        ]

    (fitted,) = said(rows((1, 4, 16, 20)))["Main figures"][:1]
    assert "waits, is by a curve through the probes at 9." in fitted or "probes at 10." in fitted
    # Where no curve says it, only that it's no further than the next probe: it is at 10.
    (seen,) = said(rows((2, 8, 34, 40)))["Main figures"][:1]
    assert "waits, lies between 2 and 34 outstanding; the best is at 8, with 444 IOPS and 18.0 ms." in seen
    for loads in ((11, 12, 16, 20), (1, 2, 3, 4), (2, 25, 26, 27)):
        assert "knee" not in said(rows(loads))["Main figures"][0]


def test_missing_points_are_counted(tmp_path: Path) -> None:
    run = run_of(tmp_path, [measured("a"), measured("b")])
    (run.path / "points/002-b/point.json").unlink()
    (part, *_) = summary(of_runs([run]))
    assert part.sentences[-1] == "1 point of the plan is missing."


def late(point: str, share: float, response: float, severity: str = "warning") -> Result:
    numbers = {"late_fraction": share, "late_response_fraction": response}
    message = f"{share:.1%} of the answers came later than modelled, which is {response:.1%} of the mean response"
    found = {"check": "emulation", "severity": severity, "message": message, "numbers": numbers, "remedy": "Wait."}
    return replace(measured(point), findings=(found,))


def test_of_many_findings_of_a_check_the_worst_is_told_not_the_first() -> None:
    rows = [late(f"p{n}", share, share / 2) for n, share in enumerate((0.03, 0.05, 0.31, 0.04, 0.06))]
    (_, doubtful) = summary(Contents("t", (), rows, ()))[0].sentences
    assert "emulation, p2: 31.0%" in doubtful and "(and 4 more" in doubtful
    (note,) = findings_notes(rows)
    assert note == (
        "emulation, 5 points, p2 the worst: 31.0% of the answers came later than modelled, which is 15.5% of the mean"
        " response"
    )
    # What is graver is told apart from what has larger figures.
    warning, note = findings_notes([*rows, late("p5", 0.9, 0.9, "note")])
    assert "5 points, p2 the worst: 31.0% of" in warning and "p5: 90.0% of" in note
    # Of a time that is too short the shortest is worst.
    short = [
        replace(one, findings=({**one.findings[0], "message": f"it ran for {n} s", "numbers": {"runtime_ns": n}},))
        for n, one in ((3, rows[0]), (2, rows[1]), (1, rows[2]), (4, rows[3]))
    ]
    assert next(line.text for line in told(short)) == "p2: it ran for 1 s"


def of_targets(**changes: object) -> list[Result]:
    """Two points on two targets and on both together, each three times."""
    targets = ("emulated:hdd-7k2", "hdd-7k2"), ("emulated:sas", "sas"), ("*", None)
    return [
        replace(measured(point, **changes), run="r", target=target, system=system, repeat=repeat)
        for point in ("a", "b")
        for target, system in targets
        for repeat in (1, 2, 3)
    ]


def test_points_on_several_targets_and_repeated_ones_are_counted_once_and_their_rows_are_called_rows() -> None:
    rows = of_targets(cpu_fraction=0.1, busy_fraction=None)
    rows = [replace(row, bottleneck="disks" if row.system else None, components={"disks": 1.0}) for row in rows]
    paragraphs = said(rows)
    assert paragraphs["What"] == ("2 points of hdd-7k2 and sas under s were measured, 3 times each.",)
    assert paragraphs["What limits"] == ("Disks limit 12 rows of 18.",)


def test_findings_of_several_targets_and_repetitions_name_what_differs() -> None:
    rows = of_targets()
    (finding,) = late("a", 0.04, 0.02).findings
    rows[4] = replace(rows[4], findings=(finding,))
    assert next(iter(findings_notes(rows))).startswith("emulation, a, sas, repetition 2: 4.0% of")
    assert told(rows)[0].text.startswith("a, sas, repetition 2: 4.0% of")
    rows[0] = replace(rows[0], findings=(finding,))
    assert next(iter(findings_notes(rows))).startswith("emulation, 2 rows, a, hdd-7k2, repetition 1 for one: 4.0%")
    assert next(iter(findings_notes(rows[:2]))).startswith("emulation, a, repetition 1: 4.0% of")
    assert next(iter(findings_notes(rows[:1]))).startswith("emulation, a: 4.0% of")
