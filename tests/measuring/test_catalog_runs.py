"""Every suite of the catalog runs to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import loadline
from loadline.workload.plan import Options, make_plan
from loadline.workload.rounds import Rounds
from loadline.workload.suite import Suite, load_suite, suite_names

#: Fast, and with an end: some 480 outstanding reach 30 ms.
STATION = """
title = "Sixteen servers that take 1 ms"
[[station]]
name = "server"
servers = 16
service = { constant = "1ms" }
"""


def short(name: str) -> Suite:
    """The suite with the first and the last load of each sweep, what its rounds track, and two or three rounds."""
    suite, _ = load_suite(name)
    tracked = {one for entry in suite.entries if entry.rounds for one in entry.rounds.track}
    names = {id(p.streams): p.name for p in make_plan(suite, Options(variants=True))}
    entries = []
    for entry in suite.entries:
        ends = {id(entry.loads[0]), id(entry.loads[-1])}
        kept = [load for load in entry.loads if id(load) in ends or names.get(id(load)) in tracked]
        entries.append(replace(entry, loads=tuple(kept), rounds=entry.rounds and _few(entry.rounds)))
    return replace(suite, entries=tuple(entries))


def _few(rounds: Rounds) -> Rounds:
    return replace(rounds, window=2, most=2, fill=min(1, rounds.fill))


@pytest.mark.parametrize("name", suite_names())
def test_a_suite_runs_to_its_end_on_an_emulated_system(name: str, tmp_path: Path) -> None:
    suite = short(name)
    target = tmp_path / "station.toml"
    target.write_text(STATION)
    options = Options(runtime_ns=100 * 10**6, warmup_ns=0, variants=True)
    store = tmp_path / "runs"
    run = loadline.run(suite, f"emulated:{target}", options=options, store=store, size_bytes=1 << 28, seed=1)
    rows = run.results()
    assert [row.error for row in rows] == [None] * len(run.plan)
    assert all(row.total.iops for row in rows)
    searched = [row for row, point in zip(rows, run.plan, strict=True) if point.searches]
    assert all(row.limit or row.provenance["best"] for row in searched)
