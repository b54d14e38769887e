"""The one table of results: its columns, their types, and rows that survive the way through JSON."""

from __future__ import annotations

import json
import re

import pytest

from loadline.result.schema import COLUMNS, Flow, Result

RESULT = Result(
    run="r",
    point="p",
    tags={"raid": "10"},
    total=Flow(iops=1.5, latency_p99_ns=7),
    read=Flow(latency_mean_ns=2.0),
    components={"disk": 0.9},
    findings=({"check": "c"},),
    workload={"profile": {}},
)


def test_a_row_survives_json() -> None:
    assert Result.from_row(json.loads(json.dumps(RESULT.row()))) == RESULT


def test_a_row_has_every_column_in_order() -> None:
    assert list(RESULT.row()) == [column.name for column in COLUMNS]


def test_what_is_unknown_is_none_and_never_0() -> None:
    row = Result().row()
    assert not any(value == 0 and value is not False for name, value in row.items() if name != "repeat")
    assert row["iops"] is None and row["read_latency_mean_ns"] is None


def test_columns_of_newer_versions_are_ignored_and_missing_ones_unknown() -> None:
    assert Result.from_row({"point": "p", "iops": 3.0, "of_the_future": 1}) == Result(point="p", total=Flow(iops=3.0))


def test_every_column_says_what_it_means_and_names_are_unique() -> None:
    assert all(column.meaning for column in COLUMNS)
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_a_column_in_ns_or_of_a_count_is_numeric_and_a_share_is_a_double(column: object) -> None:
    name, kind = column.name, column.type  # type: ignore[attr-defined]
    if re.search(r"_(ns|s|fraction)$|iops$|latency|^(jobs|hosts|repeat|queue_depth)$", name) and name != "ended_by":
        assert kind in {"BIGINT", "DOUBLE"}
    if name.endswith("_fraction"):
        assert kind == "DOUBLE"


def test_reads_and_writes_have_the_columns_of_both_together() -> None:
    names = {column.name for column in COLUMNS}
    together = {column.name for column in COLUMNS if column.flow == "total"}
    assert {prefix + name for prefix in ("read_", "write_") for name in together} <= names


@pytest.mark.parametrize("findings", [["x"], {"a": 1}])
def test_findings_that_are_no_list_of_objects_are_refused(findings: object) -> None:
    with pytest.raises(TypeError, match="no list of objects"):
        Result.from_row({"point": "p", "findings": findings})
