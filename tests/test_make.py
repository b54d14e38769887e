"""Setting up: what scripts/tools says and installs on machines that lack something, and what `make` does again.

The machines are made of a PATH: links to real programs, and small scripts in place of those that would install.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REAL = (
    "bash",
    "sh",
    "sort",
    "head",
    "cut",
    "id",
    "env",
    "cat",
    "mkdir",
    "touch",
    "rm",
    "find",
    "make",
    "chmod",
    "dirname",
)
NEEDED = ("fio", "setpriv", "blkid", "wipefs", "cc", "cargo")

# An apt-get that writes down what it was asked, and puts a program where each package would.
APT = """
case "$*" in
*update*) echo update >>"$LOG"; exit;;
esac
[ ! -e "$LISTS_ARE_OLD" ] || { rm "$LISTS_ARE_OLD"; echo 'E: Unable to locate package' >&2; exit 100; }
while [ "$1" != --no-install-recommends ]; do shift; done
shift
for package in "$@"; do
    echo "install $package" >>"$LOG"; echo '#!/bin/sh' >"$BIN/$package"; chmod +x "$BIN/$package"
done
"""

PYTHON = """
case "$*" in
*version_info*) echo "${PYTHON_IS:-3.11}";;
*ensurepip*) [ ! -e "$NO_ENSUREPIP" ] || [ -e "$BIN/python3.11-venv" ];;
"-m venv --clear "*)
    echo "venv" >>"$LOG"
    rm -rf "$4"; mkdir -p "$4/bin"
    [ ! -e "$VENV_FAILS" ] || exit 1
    { echo '#!/bin/sh'; echo 'case "$*" in *--version*) exit;; esac'
      echo '[ ! -e "$PIP_FAILS" ] || { rm "$PIP_FAILS"; exit 1; }'
      echo 'case "$*" in *requirements.lock*) echo packages;; *) echo core;; esac >>"$LOG"'; } >"$4/bin/python"
    chmod +x "$4/bin/python";;
esac
"""


@dataclass(frozen=True)
class Machine:
    """A machine that has what is in `bin`."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def did(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    def has(self, program: str, script: str = "") -> None:
        path = self.bin / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def lacks(self, *programs: str) -> None:
        for program in programs:
            (self.bin / program).unlink()

    def is_so(self, fact: str) -> None:
        (self.folder / fact).touch()

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        facts = {fact: str(self.folder / fact) for fact in ("LISTS_ARE_OLD", "NO_ENSUREPIP", "VENV_FAILS", "PIP_FAILS")}
        environment = {"PATH": str(self.bin), "BIN": str(self.bin), "LOG": str(self.folder / "log"), **facts, **more}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def tools(self, what: str = "run", **more: str) -> subprocess.CompletedProcess[str]:
        return self.run("bash", str(ROOT / "scripts/tools"), what, **more)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """It has all that is needed."""
    made = Machine(tmp_path)
    made.bin.mkdir()
    for program in REAL:
        (made.bin / program).symlink_to(shutil.which(program) or pytest.skip(f"no {program}"))
    for program in NEEDED:
        made.has(program)
    made.has("rustc", "echo 'rustc 1.95.0 (0000000 2026-04-14)'")
    made.has("python3", PYTHON)
    made.has("apt-get", APT)
    return made


def test_where_nothing_is_missing_nothing_is_installed(machine: Machine) -> None:
    assert machine.tools().returncode == 0
    assert machine.did == []


def test_only_what_is_missing_is_installed(machine: Machine) -> None:
    machine.lacks("fio")
    assert machine.tools().returncode == 0
    assert machine.did == ["install fio"]


def test_old_lists_of_packages_are_fetched_anew(machine: Machine) -> None:
    machine.lacks("fio")
    machine.is_so("LISTS_ARE_OLD")
    assert machine.tools().returncode == 0
    assert machine.did == ["update", "install fio"]


def test_a_compiler_that_cannot_link_brings_libc_too(machine: Machine) -> None:
    machine.has("cc", "exit 1")
    assert machine.tools().returncode == 0
    assert machine.did == ["install gcc", "install libc6-dev"]


def test_a_rust_that_is_too_old_is_named_and_nothing_is_installed(machine: Machine) -> None:
    machine.has("rustc", "echo 'rustc 1.63.0'")
    machine.lacks("fio")
    done = machine.tools()
    assert done.returncode == 2
    assert "Rust 1.63.0 is too old; loadline needs 1.85 or later (Debian 12's own is 1.63)" in done.stderr
    assert "rustup.rs" in done.stderr
    assert machine.did == []


@pytest.mark.parametrize("version", ["1.85.0", "1.85.1", "1.100.0", "1.96.0-nightly", "2.0.0"])
def test_a_rust_that_is_new_enough_will_do(machine: Machine, version: str) -> None:
    machine.has("rustc", f"echo 'rustc {version} (0000000 2026-04-14)'")
    assert machine.tools().returncode == 0


@pytest.mark.parametrize("program", ["cargo", "rustc"])
def test_no_rust_is_said_with_where_to_get_it(machine: Machine, program: str) -> None:
    machine.lacks(program)
    done = machine.tools()
    assert done.returncode == 2
    assert "loadline needs Rust 1.85 or later" in done.stderr
    assert "Debian 12's 1.63 is too old" in done.stderr


def test_a_rustup_without_a_toolchain_is_said(machine: Machine) -> None:
    machine.has("rustc", "echo 'error: rustup could not choose a version of rustc to run' >&2; exit 1")
    done = machine.tools()
    assert done.returncode == 2
    assert "rustup default stable" in done.stderr


def test_a_python_that_is_too_old_is_named(machine: Machine) -> None:
    done = machine.tools(PYTHON_IS="3.9")
    assert done.returncode == 2
    assert "python3 is Python 3.9; loadline needs 3.11 or later" in done.stderr


def test_a_python_that_does_not_exist_is_named(machine: Machine) -> None:
    done = machine.tools(PYTHON="/nowhere/python3")
    assert done.returncode == 2
    assert "there is no /nowhere/python3" in done.stderr


def test_a_python_without_venv_gets_it_from_the_distribution(machine: Machine) -> None:
    machine.is_so("NO_ENSUREPIP")
    assert machine.tools().returncode == 0
    assert machine.did == ["install python3.11-venv"]


def test_a_python_without_venv_is_said_where_there_is_no_apt(machine: Machine) -> None:
    machine.is_so("NO_ENSUREPIP")
    machine.lacks("apt-get")
    done = machine.tools()
    assert done.returncode == 2
    assert "missing: python3.11-venv" in done.stderr


def test_without_apt_all_that_is_missing_is_named(machine: Machine) -> None:
    machine.lacks("fio", "setpriv", "apt-get")
    done = machine.tools()
    assert done.returncode == 2
    assert "missing: fio util-linux" in done.stderr
    assert "your distribution's package manager" in done.stderr


def test_without_root_sudo_installs(machine: Machine) -> None:
    machine.lacks("fio", "id")
    machine.has("id", "echo 1000")
    machine.has("sudo", 'echo "sudo $*" >>"$LOG"; exec "$@"')
    assert machine.tools().returncode == 0
    assert machine.did[0].startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get")
    assert machine.did[1:] == ["install fio"]


def test_without_root_or_sudo_the_command_is_said(machine: Machine) -> None:
    machine.lacks("fio", "id")
    machine.has("id", "echo 1000")
    done = machine.tools()
    assert done.returncode == 2
    assert "As root: apt-get install fio" in done.stderr


def test_an_installation_that_fails_shows_why(machine: Machine) -> None:
    machine.lacks("fio")
    machine.has("apt-get", "echo 'E: could not get lock' >&2; exit 100")
    done = machine.tools()
    assert done.returncode == 2
    assert "E: could not get lock" in done.stderr
    assert "could not install fio" in done.stderr


def test_missing_rustfmt_and_clippy_come_from_rustup(machine: Machine) -> None:
    machine.has("cargo", 'case "$1" in fmt|clippy) [ -e "$BIN/components" ];; esac')
    machine.has("rustup", 'echo "rustup $*" >>"$LOG"; touch "$BIN/components"')
    assert machine.tools("check").returncode == 0
    assert machine.did == ["rustup --quiet component add rustfmt clippy"]


TESTED_WITH = (
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs.btrfs",
    "mkswap",
    "losetup",
    "sfdisk",
    "pvcreate",
    "ps",
    "nbdinfo",
    "nbdkit",
    "qemu-img",
)


def test_a_chromium_is_installed_for_the_tests_and_chrome_will_do(machine: Machine) -> None:
    for program in TESTED_WITH:
        machine.has(program)
    assert machine.tools("test").returncode == 0
    machine.lacks("chromium")
    machine.has("google-chrome")
    assert machine.tools("test").returncode == 0
    assert machine.did == ["install chromium"]


def test_the_minimal_versions_are_those_of_the_manifests() -> None:
    tools = (ROOT / "scripts/tools").read_text()
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert re.findall(r"^rust_oldest=(.*)$", tools, re.MULTILINE) == [cargo["rust-version"]]
    assert [f">={v}" for v in re.findall(r"^python_oldest=(.*)$", tools, re.MULTILINE)] == [project["requires-python"]]


class TestMake:
    """`make setup` with a Python that only writes down what it was asked."""

    @pytest.fixture
    def tree(self, machine: Machine) -> Machine:
        for name in ("Makefile", "scripts/tools", "requirements.lock", "pyproject.toml", "Cargo.toml", "Cargo.lock"):
            (machine.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, machine.folder / name)
        (machine.folder / "crates").mkdir()
        return machine

    def test_a_second_time_nothing_is_installed(self, tree: Machine) -> None:
        assert tree.run("make").returncode == 0
        assert tree.did == ["venv", "packages", "core"]
        again = tree.run("make")
        assert again.returncode == 0
        assert tree.did == ["venv", "packages", "core"]

    def test_what_failed_is_done_again_and_what_was_done_is_not(self, tree: Machine) -> None:
        tree.is_so("PIP_FAILS")
        assert tree.run("make").returncode != 0
        assert tree.run("make").returncode == 0
        assert tree.did == ["venv", "packages", "core"]

    def test_a_half_made_environment_is_made_anew(self, tree: Machine) -> None:
        tree.is_so("VENV_FAILS")
        assert tree.run("make").returncode != 0
        (tree.folder / "VENV_FAILS").unlink()
        assert tree.run("make").returncode == 0
        assert tree.did == ["venv", "venv", "packages", "core"]

    def test_a_new_lock_is_installed_into_the_environment_that_is_there(self, tree: Machine) -> None:
        tree.run("make")
        later = (tree.folder / ".venv/ready").stat().st_mtime_ns + 10**9
        os.utime(tree.folder / "requirements.lock", ns=(later, later))
        tree.run("make")
        assert tree.did[3:4] == ["packages"]
        assert "venv" not in tree.did[1:]

    def test_a_tree_that_was_moved_gets_a_new_environment(self, tree: Machine) -> None:
        tree.run("make")
        (tree.folder / ".venv/place").write_text("/elsewhere\n")
        assert tree.run("make").returncode == 0
        assert tree.did == ["venv", "packages", "core"] * 2

    def test_a_rust_that_is_too_old_stops_it_before_anything_is_made(self, tree: Machine) -> None:
        tree.has("rustc", "echo 'rustc 1.63.0'")
        done = tree.run("make", "demo")
        assert done.returncode != 0
        assert "Rust 1.63.0 is too old" in done.stderr
        assert not (tree.folder / ".venv").exists()
