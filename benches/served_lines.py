"""How near do measured load lines over rates come? Served systems, searched with real fio, beside long simulations.

Each search is some eight probes of `--runtime`, so this takes a quarter of an hour and stands alone:

    python benches/served_lines.py --runtime 40s
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import machine
from load_lines import IOS, RATES, crossing, rate

from loadline.measuring.run import run
from loadline.reporting.table import Group, Table
from loadline.system.simulate import simulate
from loadline.units import parse_duration
from loadline.workload.plan import Options
from loadline.workload.suite import parse_suite

SYSTEMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sas-10k-jbod", ()),
    ("dl360-g6-p410i", ("cache.mode=write-through",)),
    ("md-raid5-8x2tb", ()),
)
HEADS = ("system", "served", "simulated", "off", "from", "to", "probes")
_LOOK_NS = 3 * 10**9


def compare(system: str, settings: tuple[str, ...], runtime_ns: int, folder: Path) -> tuple[str, ...]:
    """A row of the table: loads a second, and between which the served one lies by its probes' confidence."""
    path = folder / "rates.toml"
    path.write_text(RATES)
    options = Options(runtime_ns=runtime_ns)
    made = run(str(path), f"emulated:{system}", options=options, store=folder, settings=settings, seed=1)
    rows = made.results()
    found = rate(rows)
    true = crossing(simulate(system, parse_suite(RATES, "rates", "rates"), settings=settings, ios=20 * IOS, seed=99))
    line = next(row.provenance["load_line"] for row in rows if row.role == "point")
    ends = ("-" if line.get(end) is None else f"{line[end]:,.0f}" for end in ("low", "high"))
    return (
        " ".join([system, *settings]),
        f"{found:,.0f}",
        f"{true:,.0f}",
        f"{found / true - 1:+.1%}",
        *ends,
        str(len(made.probes())),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", type=parse_duration, default="40s", help="of a probe (40s)")
    runtime_ns = parser.parse_args().runtime
    taken = machine.taken(2, _LOOK_NS)
    with tempfile.TemporaryDirectory(prefix="loadline-lines-") as name:
        cells = tuple(compare(system, settings, runtime_ns, Path(name)) for system, settings in SYSTEMS)
    taken = (taken + machine.taken(2, _LOOK_NS)) / 2
    notes = (f"before and after it the machine took {taken:.1%} of two cores' time in stretches of 0.1 ms and more",)
    print(Table(HEADS, (Group("", cells),), frozenset({0}), notes).plain(), end="")


if __name__ == "__main__":
    main()
