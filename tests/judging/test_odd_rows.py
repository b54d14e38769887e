"""Rows that no tool should write, and some do: zeros, next to nothing, and far too much."""

from __future__ import annotations

import json
from dataclasses import fields
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging.made import workload

from loadline.judging.audit import audit
from loadline.judging.compare import Comparison, compare
from loadline.judging.fail_if import judge_thresholds, parse_threshold
from loadline.reporting.compare_files import FORMATS, NO_DRAWING
from loadline.reporting.compared import compared_of
from loadline.result.importers.row import can_be
from loadline.result.schema import Flow, Result

#: What importers let through.
NUMBERS = (0, 0, 0.0, 2e-18, 1e-9, 0.5, 1, 7.0, 1000, 32000.0, 10**7, 1e12, 9e17)

TAGS = {
    "medium": ("hdd", "ssd"),
    "cache": ("off", "on", "256 MB", "0 MB"),
    "drives": ("0", "4", "x"),
    "link": ("4 x 16G FC", "0 x 3G SAS", "PCIe 3 x4"),
    "raid": ("5", "10"),
    "device queue depth": ("0", "8"),
}
WHOLE = ("hosts", "jobs", "queue_depth", "outstanding_asked", "runtime_ns", "warmup_ns")
REAL = ("offered_per_s", "outstanding_achieved", "cpu_fraction", "busy_fraction", "iops_ci95", "latency_mean_ci95_ns")


def odd(dice: Random) -> Result:
    def some(names: Any, whole: Any = lambda name: False) -> dict[str, Any]:
        kept = [name for name in names if dice.random() < 0.6]
        return {name: int(dice.choice(NUMBERS)) if whole(name) else dice.choice(NUMBERS) for name in kept}

    flows = [
        Flow(**some([one.name for one in fields(Flow)], lambda name: "_p" in name or "max" in name)) for _ in range(3)
    ]
    shares = [dice.choice((0.0, 0.5, 1.0)) for _ in range(2)]
    return Result(
        run="r",
        point=dice.choice("pq"),
        origin=dice.choice(["imported", "measured", "simulated"]),
        system=dice.choice("AB"),
        limit=dice.choice([None, None, "mean<=30ms"]),
        tags={name: dice.choice(values) for name, values in TAGS.items() if dice.random() < 0.4},
        workload=dice.choice([None, workload(4096, *shares), workload(0, *shares)]),
        provenance=dice.choice([{}, {"steps": {"iops": 1.0, "latency_mean_ns": 1e6}}]),
        **dict(zip(("total", "read", "write"), flows, strict=True)),
        **some(WHOLE, lambda name: True),
        **some(REAL),
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_whatever_figures_rows_have_an_audit_and_a_comparison_of_them_end(seed: int, rows: int) -> None:
    dice = Random(seed)
    audited = audit([odd(dice) for _ in range(rows)])
    json.dumps([row.findings for row in audited], allow_nan=False)
    if len({row.system for row in audited}) == 2:
        compared = compared_of(compare(audited, by="system"))
        assert all(FORMATS[ending](compared, NO_DRAWING) for ending in (".csv", ".json", ".md", ".xml"))


def test_numbers_next_to_nothing_are_no_figures() -> None:
    assert [can_be(value) for value in (0.0, 1e-320, 1e-9, 1e300, float("nan"), -1.0)] == [True, False, True] + [
        False
    ] * 3


@pytest.fixture
def timeless() -> Comparison:
    def row(system: str, mean_ns: float) -> Result:
        flow = Flow(iops=1000.0, latency_mean_ns=mean_ns)
        asked = workload(4096, 0, 1)
        return Result(point="p", profile="p", origin="imported", system=system, total=flow, workload=asked)

    return compare([row("A", 8e6), row("B", 0.0)], by="system", figures=["latency"])


def test_a_latency_of_0_is_none_and_is_said_to_be_so(timeless: Comparison) -> None:
    (cell,) = timeless.cells
    said = "a latency of 0, as on B, is none: it wasn't taken, or its unit is too coarse"
    assert (cell.verdict, cell.ratio, cell.why) == ("can't tell", None, said)
    tried = judge_thresholds(
        timeless, [parse_threshold("p.latency > 5ms"), parse_threshold("p.latency > 2 * baseline")]
    )
    assert [(one.state, one.why) for one in tried] == [("missing", said)] * 2
