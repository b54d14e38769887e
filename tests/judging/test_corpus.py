"""What the audit finds of faults that are known, and what it says of rows that have none."""

from __future__ import annotations

from collections import Counter
from random import Random

from judging.made import Case, sound_case
from judging.planted import FAULTS

from loadline.judging.audit import audit

EACH = 10
SOUND = 400


def found(case: Case, severities: tuple[str, ...]) -> set[str]:
    planted = case.planted
    series = {} if case.series is None else {(planted.run, planted.point): case.series}
    row = audit(case.rows, case.documents, series)[case.row]
    return {one["check"] for one in row.findings if one["severity"] in severities}


def test_nineteen_of_twenty_planted_faults_are_found_under_their_names() -> None:
    every = [(check, fault, seed) for check, faults in FAULTS.items() for fault in faults for seed in range(EACH)]
    missed = Counter(
        fault.__name__
        for check, fault, seed in every
        if check not in found(fault(Random(f"{fault.__name__} {seed}")), ("error", "warning", "note"))
    )
    assert len(every) >= 200
    assert sum(missed.values()) <= 0.05 * len(every), missed
    # No kind of fault is lost among the others.
    assert all(number <= EACH // 2 for number in missed.values()), missed


def test_of_rows_without_a_fault_at_most_one_in_fifty_is_doubted() -> None:
    doubted = Counter[str]()
    rows = 0
    for seed in range(SOUND):
        checks = found(sound_case(Random(f"sound {seed}")), ("error", "warning"))
        rows += bool(checks)
        doubted.update(checks)
    assert rows <= 0.02 * SOUND, doubted
