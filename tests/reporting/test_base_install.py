"""Without `loadline[full]`: what needs its libraries says what to install, and the rest works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from results import measured, run_of

FULL = ("altair", "duckdb", "jinja2", "vl_convert")

# A module that is None in `sys.modules` can't be imported, as if it weren't installed.
PROGRAM = f"""
import sys
sys.modules.update(dict.fromkeys({FULL}))
from loadline.cli import main
main(sys.argv[1:])
"""


def loadline(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *words, "--store", str(store)]
    return subprocess.run(command, cwd=store.parent, capture_output=True, text=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("base") / "runs"
    run_of(place, [measured("a")])
    return place


@pytest.mark.parametrize(
    "words",
    [
        *(("report", "last", "-o", f"x.{ending}") for ending in ("html", "png", "svg", "parquet")),
        ("query", "select 1"),
    ],
    ids=" ".join,
)
def test_what_is_missing_is_said_with_the_command_that_installs_it(store: Path, words: tuple[str, ...]) -> None:
    done = loadline(store, *words)
    assert done.returncode == 2
    assert "isn't installed" in done.stderr
    assert "pip install 'loadline[full]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(store.parent.glob("x.*"))


@pytest.mark.parametrize("ending", ["csv", "md", "json"])
def test_tables_need_nothing_more(store: Path, ending: str) -> None:
    done = loadline(store, "report", "last", "-o", f"table.{ending}")
    assert done.returncode == 0, done.stderr
    assert "a" in (store.parent / f"table.{ending}").read_text()


def test_the_extra_has_what_is_asked_for() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extra = {need.partition(">")[0] for need in project["optional-dependencies"]["full"]}
    assert extra == {"altair", "duckdb", "jinja2", "vl-convert-python"}
    base = {need.partition(">")[0] for need in project["dependencies"]}
    assert not base & extra
