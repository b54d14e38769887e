"""Completion by the shell, through click."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cli.program import PROGRAM, Loadline


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_loadline_back(loadline: Loadline, shell: str) -> None:
    said = loadline(environment={"_LOADLINE_COMPLETE": f"{shell}_source"})
    assert said.code == 0
    assert f"_LOADLINE_COMPLETE={shell}_complete" in said.out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["loadline", "re"], ["plain,resume", "plain,report"]),
        (["loadline", "run", "typ"], ["plain,typical-12"]),
        (["loadline", "suites", "typ"], ["plain,typical-12"]),
        (["loadline", "run", "./my"], ["file,./my"]),
        (["loadline", "run", "typical-12", "/dev/s"], ["file,/dev/s"]),
        (["loadline", "run", "--no-p"], ["plain,--no-prepare"]),
        (["loadline", "frobnicate", "x"], []),
    ],
    ids=lambda value: " ".join(value) if value and value[0] == "loadline" else None,
)
def test_words_are_completed(loadline: Loadline, words: list[str], offered: list[str]) -> None:
    asked = {"_LOADLINE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    said = loadline(environment=asked)
    assert said.out.split() == offered
    assert not said.err


def test_bash_takes_the_script_and_completes_a_suite(loadline: Loadline) -> None:
    script = (
        'eval "$(_LOADLINE_COMPLETE=bash_source loadline)"; '
        "COMP_WORDS=(loadline run typ); COMP_CWORD=2; _loadline_completion loadline typ run; "
        'echo "${COMPREPLY[@]}"'
    )
    environment = {**loadline.environment, "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["typical-12"]
