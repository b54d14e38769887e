"""What `make wheel` makes: a wheel that needs no Rust, and an sdist that builds the same wheel."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MATURIN = Path(sys.executable).with_name("maturin")


TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build(source: Path, out: Path, target: Path, *options: str) -> None:
    command = [str(MATURIN), "build", "--release", "--locked", "--quiet", "--out", str(out), *options]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out, TARGET, "--sdist")
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def names(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}


def test_one_wheel_serves_every_python_from_the_oldest_supported(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    package = ROOT / "python"
    files = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name and not name.endswith(".so")}
    held = names(wheel)
    assert files <= held
    assert "loadline/_core.abi3.so" in held
    assert any(name.endswith("/licenses/LICENSE") for name in held)


def run_python(place: Path, code: str) -> str:
    return subprocess.run([place / "bin/python", "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_wheel_brings_the_page_s_parts_and_names_the_extra(wheel: Path) -> None:
    assert {f"loadline/reporting/parts/page.{kind}" for kind in ("html", "css", "js")} <= names(wheel)
    (metadata,) = (name for name in names(wheel) if name.endswith("/METADATA"))
    needs = [line for line in zipfile.ZipFile(wheel).read(metadata).decode().splitlines() if "extra == 'full'" in line]
    assert len(needs) == 4


def test_the_wheel_runs_in_a_clean_environment_without_rust(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "clean"
    venv.create(place, with_pip=True)
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PATH": f"{place / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    pip = [str(place / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(pip, check=True)  # with our own environment, which knows how to reach the index

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(["loadline", *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout or done.stderr

    assert "typical-12" in run("suites")
    (tmp_path / "disk").mkdir()
    point = ["--profile", "oltp-db", "--quick", "--runtime", "1s", "--size", "16M"]
    assert "oltp-db*" in run("run", "typical-12", "disk", *point)
    assert list((tmp_path / "loadline-runs").glob("*/points/001-oltp-db/point.json"))
    assert "loadline[full]" in run("report", "last", "-o", "report.html", code=2)
    assert "oltp-db*" in Path(run("report", "last", "-o", str(tmp_path / "report.md")).split()[-1]).read_text()
    installed = run_python(place, "import importlib.metadata as m; print({d.name.lower() for d in m.distributions()})")
    assert not {"altair", "duckdb", "jinja2", "vl-convert-python"} & set(ast.literal_eval(installed))
    assert not list((tmp_path / "disk").iterdir())
    assert not list(home.iterdir()), "loadline writes nothing in the user's home"


def test_the_sdist_builds_the_same_wheel(dist: Path, wheel: Path, tmp_path: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        # Python 3.11 has filters since its fourth release.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(tmp_path)
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert (source / "Cargo.lock").exists()
    assert (source / "CHANGELOG.md").exists()
    # Cargo tells two checkouts in one target directory apart by their files' times only; those of an sdist are old.
    for file in source.rglob("*.rs"):
        file.touch()
    build(source, tmp_path / "again", TARGET / "elsewhere")
    (again,) = (tmp_path / "again").glob("*.whl")
    assert again.name == wheel.name
    assert names(again) == names(wheel)
