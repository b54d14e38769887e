"""Every suite of the catalog can be asked of models."""

from __future__ import annotations

import pytest

from loadline.system.forecast import forecast
from loadline.system.simulate import simulate
from loadline.workload.plan import Options
from loadline.workload.suite import load_suite, suite_names

RAMPS = {name for name in suite_names() if any(entry.ramp for entry in load_suite(name)[0].entries)}


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_is_forecast_and_simulated(name: str) -> None:
    options = Options(queue_depths=(1, 8)) if name in RAMPS else Options()
    # Load lines, which a single disk may not have, are beside it.
    solved = [row for row in forecast("hdd-7k2", name, options=options) if row.limit is None and row.role == "point"]
    assert solved and not [row.error for row in solved if row.error]
    simulated = simulate("hdd-7k2", name, options=options, ios=100)
    assert {row.point for row in simulated if row.role == "point"} == {row.point for row in solved}
    assert not [row.error for row in simulated if row.error]
    assert all(row.total.iops for row in simulated)
