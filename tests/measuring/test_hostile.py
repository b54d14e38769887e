"""What a stranger's files, a strange fio and a bad hour can do: messages, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli.program import PROGRAM, Loadline
from measuring.processes import until
from measuring.suites import reads, suite, three

MIB = 1024**2


def stored(loadline: Loadline, target: Path) -> Path:
    """A run with its first point done and the others missing."""
    process = loadline.start("run", three(loadline.folder, "1s"), target, "--destroy", target, "--progress", "json")
    until(process, "point-finished")
    process.kill()
    process.communicate()
    (run,) = loadline.runs()
    return run


def edit(run: Path, *keys: str | int, value: Any) -> None:
    document = json.loads((run / "run.json").read_text())
    node = document
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    (run / "run.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("options", "engine"), "libaio\nexec_prerun=touch OWNED"),
        (("options", "seed"), "1\nexec_prerun=touch OWNED"),
        (("points", 1, "name"), "x]\nexec_prerun=touch OWNED\n[zz"),
        (("points", 1, "name"), "../../../../victim"),
        (("points", 1, "name"), ""),
        (("points", 1, "streams", 0, "arrival", "queue_depth"), "4\nexec_prerun=touch OWNED"),
        (("points", 1, "streams", 0, "profile", "name"), "x]\nexec_prerun=touch OWNED\n["),
        (("points", 1, "streams", 0, "profile", "flush_every"), "1\nexec_prerun=touch OWNED"),
        (("points", 1, "streams"), None),
        (("points",), {}),
        (("sessions",), []),
        (("tags",), {"a": 1}),
        (("target",), None),
    ],
)
def test_an_edited_run_brings_no_command_and_no_path_along(
    loadline: Loadline, filled_file: Path, keys: tuple[str | int, ...], value: Any
) -> None:
    victim = loadline.folder / "victim"
    victim.mkdir()
    (victim / "precious").touch()
    run = stored(loadline, filled_file)
    edit(run, *keys, value=value)
    for words in (["resume", run], ["show", run], ["report", run, "-o", "x.csv"], ["ls"]):
        said = loadline(*words)
        assert said.code in {0, 2, 3}, (words, said.err)
    assert not list(loadline.folder.rglob("OWNED"))
    assert (victim / "precious").exists()


def test_a_damaged_point_is_measured_again_and_hides_no_other_run(loadline: Loadline, filled_file: Path) -> None:
    run = stored(loadline, filled_file)
    (run / "points/001-mixed/point.json").write_text('{"format": 1, "result": {"iops": []}}')
    listed = loadline("ls")
    assert listed.code == 0
    assert "iops is '[]'" in listed.err
    assert loadline("show", run).code == 3
    said = loadline("resume", run, "--json")
    assert said.code == 0, said.err
    assert [row["error"] for row in said.json["results"]] == [None] * 3


def test_a_file_cut_short_in_mid_run_fails_its_point(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, "reads 4k 100% 100%", runtime="60s")
    process = loadline.start("run", path, filled_file, "--progress", "json", "--json")
    until(process, "progress")
    os.truncate(filled_file, 4096)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "has another size" in json.loads(out)["results"][0]["error"]


def fake_fio(folder: Path, body: str) -> dict[str, str]:
    """An environment whose fio answers as the real one until it's given a job; then it does `body`."""
    tools = folder / "tools"
    tools.mkdir()
    script = '#!/bin/bash\ncase "$*" in *--version*) echo fio-3.33; exit;; *--name=probe*) exit 0;; esac\n'
    (tools / "fio").write_text(script + body + "\n")
    (tools / "fio").chmod(0o755)
    return {"PATH": f"{tools}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo '{'", "fio ended with code 0"),
        ("exit 0", "fio ended with code 0"),
        ("echo nonsense; exit 7", "fio ended with code 7"),
        ("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1", "fio ended with code 1: xxx"),
        ('echo \'{"jobs":[{"jobname":"reads","error":-99999999999}]}\'', "no I/O completed"),
        ("exec >&-; kill -9 $$", "fio was killed by SIGKILL"),
        (
            "for job in 1 2 3; do echo 'fio: nbd_connect_uri: server backlog overflowed' >&2; done;"
            ' echo \'{"jobs":[{"jobname":"reads","error":1}]}\'; exit 1',
            "fio's job reads: Operation not permitted (errno 1): nbd_connect_uri: server backlog overflowed",
        ),
    ],
)
def test_a_strange_fio_fails_its_point_in_a_short_sentence(
    loadline: Loadline, filled_file: Path, body: str, message: str
) -> None:
    environment = fake_fio(loadline.folder, body)
    said = loadline("run", reads(loadline.folder), filled_file, "--json", environment=environment)
    assert said.code == 3
    (row,) = said.json["results"]
    assert message in row["error"]
    assert len(row["error"]) < 400 and row["error"].count("overflowed") <= 1
    assert (row["iops"], row["latency_mean_ns"]) == (None, None)


def test_a_fio_that_closes_its_output_and_stays_can_be_interrupted(loadline: Loadline, filled_file: Path) -> None:
    environment = {**loadline.environment, **fake_fio(loadline.folder, "exec >&-; touch started; exec sleep 1000")}
    words = ("run", reads(loadline.folder), filled_file, "--progress", "json")
    process = subprocess.Popen(
        [PROGRAM, *map(str, words)], cwd=loadline.folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    until(process, "point-started")
    while not list(loadline.folder.glob("runs/*/points/*/started")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_a_sparse_file_larger_than_its_file_system_is_named_before_it_is_filled(
    loadline: Loadline, tmp_path: Path
) -> None:
    target = tmp_path / "huge"
    target.touch()
    os.truncate(target, 2**43)
    said = loadline("run", reads(tmp_path), target, "--destroy", target)
    assert said.code == 3
    assert "left to fill it" in said.err
    assert target.stat().st_blocks == 0
