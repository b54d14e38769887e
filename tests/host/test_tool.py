"""Running other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadline.host.tool import run_tool


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_a_program_that_is_not_installed_is_none() -> None:
    assert run_tool(["no-such-program-anywhere"]) is None


def test_what_a_program_says_is_kept(tools: Path) -> None:
    program(tools, "speak", 'echo "$1 $LC_ALL"; echo no >&2; exit 3')
    said = run_tool(["speak", "a b"])
    assert said is not None
    assert (said.code, said.stdout, said.stderr) == (3, "a b C\n", "no\n")


def test_a_program_that_waits_forever_is_ended(tools: Path) -> None:
    program(tools, "hang", "echo begun; exec sleep 3600")
    said = run_tool(["hang"], timeout_s=0.5)
    assert said is not None
    assert said.code is None


def test_the_logs_that_a_program_leaves_are_thrown_away(tools: Path) -> None:
    program(tools, "litter", "touch litter.log; pwd")
    said = run_tool(["litter"])
    assert said is not None
    assert not Path(said.stdout.strip()).exists()


def test_bytes_that_are_no_text_do_no_harm(tools: Path) -> None:
    program(tools, "noise", "printf 'a\\377b'")
    said = run_tool(["noise"])
    assert said is not None
    assert said.stdout == "a�b"


def test_a_file_that_cannot_run_is_none(tools: Path) -> None:
    (tools / "broken").write_text("#!/no/such/interpreter\n")
    (tools / "broken").chmod(0o755)
    assert run_tool(["broken"]) is None
