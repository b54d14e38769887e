"""Laws of the tree that no linter knows, held as tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from loadline.cli import VERBS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python/loadline"
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
CRATES = sorted((ROOT / "crates").glob("*/src/lib.rs"))
SOURCES = sorted(PACKAGE.rglob("*.py"))

MAY_CALL_RUST = {"result", "system", "measuring"}
HEAVY = ("altair", "duckdb", "jinja2", "playwright", "pydantic", "rich", "vl_convert")

# Written apart, so that this file doesn't name what it looks for.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("python" + "hosted", "org"),
        ("crates", "io"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("docker", "io"),
        ("ghcr", "io"),
    )
]


def _of(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def _imports(path: Path) -> set[str]:
    """Full names of the modules, and of what is taken from them, that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_only_result_system_and_measuring_import_the_rust_core() -> None:
    importers = {
        path.relative_to(PACKAGE).parts[0] for path in SOURCES if "loadline._core" in _imports(path)
    } - MAY_CALL_RUST
    assert not importers


def test_only_the_command_line_echoes() -> None:
    printers = [
        path.relative_to(PACKAGE)
        for path in SOURCES
        if path.parent.name != "cli" and re.search(r"\bclick\b|sys\.std(out|err)\b|\bsys\.exit\b", path.read_text())
    ]
    assert not printers


@pytest.mark.parametrize("room", _of(ROOMS))
def test_a_room_says_what_it_does_what_never_and_where_to_start(room: Path) -> None:
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    _says_all_three(said, "__init__.py")


@pytest.mark.parametrize("crate", _of(CRATES))
def test_a_crate_says_what_it_does_what_never_and_where_to_start(crate: Path) -> None:
    head = takewhile(lambda line: line.startswith("//!"), crate.read_text().splitlines())
    _says_all_three("\n".join(line.removeprefix("//!").strip() for line in head), "lib.rs")


def _says_all_three(said: str, file: str) -> None:
    what, _, rest = said.partition("\n")
    assert what.strip().endswith((".", ":")), f"the first line of {file} says what it does"
    assert re.search(r"\bnever\b", rest, re.IGNORECASE), f"{file} says what it must never do"
    assert re.search(r"\bstart\b", rest, re.IGNORECASE), f"{file} says where to start reading"


def test_every_verb_has_its_file_and_every_file_its_verb() -> None:
    beside = {"__init__", "output", "progress", "choice", "live"}
    files = {path.stem for path in (PACKAGE / "cli").glob("*.py")} - beside
    assert files == {verb.module for verb in VERBS}
    assert all(verb.module.rstrip("_") == verb.name for verb in VERBS)


def test_a_verb_is_named_in_its_file_as_in_the_table() -> None:
    from importlib import import_module

    for verb in VERBS:
        assert import_module(f"loadline.cli.{verb.module}").command.name == verb.name


def test_no_file_but_cargo_lock_names_a_registry() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no clone: without git there is no telling which files belong to the tree")
    naming = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if name == "Cargo.lock" or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        naming += [f"{name}: {host}" for host in REGISTRIES if host in text]
    assert not naming


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import loadline", id="import loadline"),
        pytest.param(
            "import loadline.cli\ntry: loadline.cli.main(['--help'])\nexcept SystemExit: pass", id="loadline --help"
        ),
    ],
)
def test_starting_imports_no_heavy_library(code: str) -> None:
    look = f"\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + look], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
