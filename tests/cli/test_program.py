"""The command line as scripts and people meet it."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cli.program import PROGRAM, Loadline
from devices import loop_device, needs_root
from measuring.suites import reads, three
from results import measured, run_of

from loadline import cli
from loadline.result.point_folder import begin_point, begin_probe, commit_point
from loadline.result.store import Store

KEYS = ["format", "results", "probes", "runs", "findings", "error"]


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["run", "typical-21", "/dev/null"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--queue-depth", "0"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--runtime", "5 parsecs"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--size", "x"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--tag", "novalue"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--tag", "origin=fio"], 2, "input"),
        (["import", "x.csv", "--tag", "raid=5", "--tag", "iops=9"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--jobs", "0"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--nope"], 2, "input"),
        (["run", "typical-12"], 2, "input"),
        (["run", "typical-12", "/dev/null", "--profile", "oltp"], 2, "input"),
        (["suites", "typical-12", "--point", "nope"], 2, "input"),
        (["suites", "--fio"], 2, "input"),
        (["show", "nothing"], 2, "input"),
        (["report", "nothing", "-o", "x.csv"], 2, "input"),
        (["resume", "nothing"], 2, "input"),
        (["measure"], 2, "input"),
        (["ls", "--log", "/nonexistent/log"], 2, "input"),
        (["run", "typical-12", "/"], 4, "refused"),
    ],
)
def test_a_failure_is_one_object_a_message_and_the_documented_code(
    loadline: Loadline, words: list[str], code: int, kind: str
) -> None:
    said = loadline(*words, "--json")
    assert said.code == code, said.err
    assert list(said.json) == KEYS
    assert said.json["error"]["kind"] == kind
    assert said.json["error"]["message"] in said.err
    plain = loadline(*words)
    assert (plain.code, plain.out) == (code, "")
    assert plain.err.splitlines()[-2:] != []


def test_without_a_verb_the_help_is_printed_and_nothing_around_it(loadline: Loadline) -> None:
    said, helped = loadline(), loadline("--help")
    assert (said.code, said.out, helped.code, helped.err) == (2, "", 0, "")
    assert said.err == helped.out and said.err.startswith("Usage: loadline")


@pytest.mark.parametrize("verb", ["import", "audit", "compare"])
def test_a_tag_that_would_hide_a_column_is_refused_with_another_name(loadline: Loadline, verb: str) -> None:
    said = loadline(verb, "x.csv", "--tag", "origin=fio")
    assert said.code == 2 and "Give it another name: --tag my-origin=fio" in said.err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["run", "typical-12", "/dev/null", "--order", "random", "--repeat", "2", "--order=interleaved"], "--order"),
        (["simulate", "hdd-7k2", "typical-12", "--queue-depth", "1", "--queue-depth", "8"], "--queue-depth"),
        (["report", "last", "-o", "a.csv", "--output", "b.csv"], "--output"),
        (["ls", "--store", "a", "--store", "a"], "--store"),
    ],
)
def test_an_option_of_one_value_is_given_once(loadline: Loadline, words: list[str], option: str) -> None:
    said = loadline(*words)
    assert (said.code, said.out) == (2, "")
    assert f"{option} is given twice, and takes one value" in said.err
    assert "Give it once" in said.err


def test_options_that_may_be_repeated_and_flags_are_taken_as_often_as_they_come(loadline: Loadline) -> None:
    said = loadline("suites", "typical-12", "--profile", "oltp-db", "--profile", "os-paging", "--json", "--json")
    assert said.code == 0, said.err
    assert "oltp-db" in said.out and "os-paging" in said.out


def test_a_wrong_name_suggests_the_nearest(loadline: Loadline) -> None:
    assert "Did you mean 'typical-12'?" in loadline("suites", "typical-21").err
    assert "Did you mean 'oltp-db'?" in loadline("suites", "typical-12", "--profile", "oltpdb").err
    unknown = loadline("suites", "typical-12", "--profile", "oltp-db,os-pagin").err
    assert "suite typical-12 has no profile 'os-pagin'\nDid you mean 'os-paging'?" in unknown
    assert "Did you mean 'report'?" in loadline("reprot").err


def test_a_run_is_listed_shown_and_reported(loadline: Loadline, filled_file: Path) -> None:
    said = loadline("run", reads(loadline.folder), filled_file, "--quick", "--tag", "raid=10")
    assert said.code == 0, said.err
    assert "reads*" in said.out
    (run,) = loadline.runs()
    assert run.name in said.out
    listed = loadline("ls")
    assert run.name in listed.out
    assert "raid=10" in listed.out
    assert loadline("ls", "--json").json["runs"][0]["run"] == run.name
    shown = loadline("show", run.name[-12:])
    assert "reads*" in shown.out
    assert loadline("show", run, "--json").json["results"][0]["run"] == run.name
    for ending in ("csv", "json", "md"):
        assert loadline("report", run.name, "-o", f"x.{ending}").code == 0
        assert (loadline.folder / f"x.{ending}").stat().st_size > 100


def test_of_a_search_that_was_killed_the_kept_probes_are_told(loadline: Loadline) -> None:
    run = run_of(loadline.store, [measured("ramp")])
    folder = begin_point(run.point_path(0))
    for load, failed in ((64, None), (8, None), (9, "fio ended with 1")):
        probe = replace(measured(f"ramp-qd{load}", role="probe", limit="mean<=30ms", run=run.id), error=failed)
        place = begin_probe(folder, probe.point)
        (place / "series.parquet").touch()
        commit_point(place, probe, {})
    begin_probe(folder, "ramp-qd10")
    shown = loadline("show", "last").out
    assert "1 of 1 points are missing or failed, of which 2 probes are kept; go on from them with: loadline" in shown
    assert "\n\n\n" not in shown


def test_an_empty_store_is_no_error(loadline: Loadline) -> None:
    assert loadline("ls").out == "no runs in " + str(loadline.store) + "\n"
    assert loadline("ls", "--json").json["runs"] == []


def test_the_log_says_what_was_done(loadline: Loadline, filled_file: Path) -> None:
    assert loadline("run", reads(loadline.folder), filled_file, "--log", "my.log").code == 0
    (run,) = loadline.runs()
    for file in (loadline.folder / "my.log", run / "log.txt"):
        assert "point 1 of 1: reads" in file.read_text()


def test_a_log_begins_with_the_command_and_one_that_takes_nothing_is_told_once(loadline: Loadline) -> None:
    assert loadline("ls", "--store", "a b", "--log", "my.log").err == ""
    assert (loadline.folder / "my.log").read_text().endswith(" INFO loadline ls --store 'a b' --log my.log\n")
    said = loadline("ls", "--log", "/dev/full")
    assert said.code == 0 and said.out
    assert said.err == "--log /dev/full can't be written: No space left on device; lines of it are missing\n"


def test_a_log_goes_on_and_takes_nothing_elses_place(loadline: Loadline) -> None:
    log, suite = loadline.folder / "my.log", loadline.folder / "suite.toml"
    log.touch()
    for _ in range(2):
        assert loadline("ls", "--log", log).code == 0
    assert log.read_text().count(" INFO loadline ls ") == 2
    suite.write_text('title = "mine"\n')
    said = loadline("ls", "--log", suite)
    assert said.code == 2 and "something else than a log is there" in said.err
    assert suite.read_text() == 'title = "mine"\n'


def test_progress_as_json_is_one_event_a_line(loadline: Loadline, filled_file: Path) -> None:
    said = loadline("run", reads(loadline.folder, "2s"), filled_file, "--progress", "json", "--json")
    names = [json.loads(line)["event"] for line in said.err.splitlines()]
    assert names[:3] == ["planned", "started", "point-started"]
    assert "progress" in names
    assert names[-2:] == ["point-finished", "finished"]


def test_a_reader_that_goes_away_is_no_error(loadline: Loadline) -> None:
    shell = f"{PROGRAM} suites typical-12 --fio | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=loadline.environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_goes_on_when_nobody_reads_its_progress(loadline: Loadline, filled_file: Path) -> None:
    words = " ".join(map(str, ("run", three(loadline.folder), filled_file, "--destroy", filled_file)))
    shell = f"({PROGRAM} {words} 2>&1 >/dev/null; echo $? >code) | head -n 1"
    subprocess.run(["bash", "-c", shell], cwd=loadline.folder, env=loadline.environment, capture_output=True)
    assert (loadline.folder / "code").read_text() == "0\n"
    assert loadline("ls", "--json").json["runs"][0]["done"] == 3


@pytest.mark.parametrize(
    ("shell", "code"),
    [
        ("suites > /dev/full", 3),
        ("ls --json > /dev/full", 3),
        ("--help > /dev/full", 3),
        ("suites >&-", 3),
        ("suites <&- >&-", 3),
        ("suites >&- 2>&-", 3),
        ("show nothing --json >&-", 2),
        ("show nothing 2>&-", 2),
        ("run 'no such' x --json | true; exit ${PIPESTATUS[0]}", 2),
        ("suites typical-12 --fio | true; exit ${PIPESTATUS[0]}", 0),
        ("ls --store /dev/null", 2),
        ("show $(printf 'x%.0s' {1..300})", 2),
        ("run typical-12 ''", 2),
        ("run typical-12 /dev/null --queue-depth ²", 2),
        ("run typical-12 /dev/null --runtime 0.001ms", 2),
        ("show $'caf\\xe9' --json", 2),
    ],
)
def test_a_strange_place_for_input_and_output_gives_a_code_and_no_traceback(
    loadline: Loadline, shell: str, code: int
) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {shell}"],
        cwd=loadline.folder,
        env=loadline.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize("words", ["suites", "suites typical-12 --json", "suites --help", "--version"])
@pytest.mark.parametrize(
    ("place", "why"), [("> /dev/full", "No space left on device"), (">&-", "standard output is closed")]
)
def test_only_what_standard_output_does_not_take_is_told_as_that(
    loadline: Loadline, words: str, place: str, why: str
) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {words} {place}"], env=loadline.environment, capture_output=True, text=True
    )
    said = f"loadline: the result can't be printed: {why}\nLook where the output goes.\n"
    assert (done.returncode, done.stderr) == (3, said)


def test_an_error_is_told_on_standard_error_where_its_object_cannot_be_printed(loadline: Loadline) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} show nothing --json >&-"],
        cwd=loadline.folder,
        env=loadline.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stderr.startswith("loadline: no run 'nothing'")


@pytest.mark.parametrize(("file", "said"), [("some/file", "some/file: Too many"), (None, "Too many")])
def test_what_the_system_refuses_besides_is_told_with_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: str | None, said: str
) -> None:
    def refuse(*_: object) -> Store:
        raise OSError(errno.EMFILE, "Too many open files", file)

    monkeypatch.setattr(Store, "locate", refuse)
    assert cli._run(["ls", "--json"], as_json=True) == 3
    printed = capsys.readouterr()
    told = json.loads(printed.out)["error"]
    assert told["kind"] == "target" and told["message"].startswith(said) and told["remedy"]
    assert printed.err.startswith(f"loadline: {said}")


def test_an_interruption_while_a_class_is_made_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def __set_name__(self, *_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "locate", lambda *_: type("Made", (), {"part": Interrupting()}))
    assert cli._run(["ls"], as_json=False) == 130
    assert capsys.readouterr().err == "loadline: interrupted before there was a result\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_at_the_very_end_is_no_traceback(loadline: Loadline, number: signal.Signals) -> None:
    late = f"import atexit, os, sys; atexit.register(os.kill, os.getpid(), {int(number)}); sys.argv[1:] = ['ls']"
    done = subprocess.run(
        [sys.executable, "-c", f"{late}; from loadline.cli import main; main()"],
        cwd=loadline.folder,
        env=loadline.environment,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (-number, b"")


def test_a_name_that_is_no_text_is_measured_and_printed_all_the_same(loadline: Loadline, filled_file: Path) -> None:
    target = filled_file.rename(loadline.folder / os.fsdecode(b"caf\xe9"))
    path = reads(loadline.folder)
    for words in (["run", path, target, "--json"], ["show", "last"], ["report", "last", "-o", "x.md"], ["ls"]):
        done = subprocess.run(
            [PROGRAM, *map(str, words)], cwd=loadline.folder, env=loadline.environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


def typed(loadline: Loadline, answer: str, *words: str | Path) -> tuple[int, str]:
    """Runs it on a terminal of its own, types `answer` at the question, and gives the code and what was shown."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *map(str, words)],
        cwd=loadline.folder,
        env={**loadline.environment, "TERM": "xterm", "COLUMNS": "100"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = ""
    asked = False
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data.decode("utf-8", "replace")
        if not asked and "type its" in shown and "):" in shown:
            os.write(master, answer.encode() + b"\n")
            asked = True
    os.close(master)
    return process.wait(), shown


class TestOnATerminal:
    pytestmark = needs_root

    def test_the_path_must_be_typed_before_anything_is_written(self, loadline: Loadline, tmp_path: Path) -> None:
        with loop_device(tmp_path / "backing") as device:
            code, shown = typed(loadline, "yes", "run", three(tmp_path), device)
            assert code == 4
            assert f"type its path ({device})" in shown
            assert not any(device.read_bytes())
            code, shown = typed(loadline, str(device), "run", three(tmp_path), device)
            assert code == 0, shown
            assert "mixed" in shown


def test_ctrl_c_while_it_is_being_loaded_is_told_in_a_line(loadline: Loadline) -> None:
    (loadline.folder / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join((str(loadline.folder), os.environ.get("PYTHONPATH", "")))
    said = loadline("suites", environment={"PYTHONPATH": path})
    assert (said.code, said.err) == (130, "loadline: interrupted before there was a result\n")


@pytest.mark.parametrize(("suite", "times"), [("database-ramp", 1), ("saturation", 5), ("typical-12", 0)])
def test_the_time_of_a_search_is_told_as_that_of_one_probe(loadline: Loadline, suite: str, times: int) -> None:
    said = loadline("suites", suite).out
    assert said.count(" s a probe\n") == times, said


POINT = 'runtime = "1s"\n[[profile]]\nname = "a"\nblock = "4k"\nread = "100%"\nrandom = "100%"\n'
ORDERS = "\\u001b]0;owned\\u0007\\u009b2J\\u000d"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("title.toml", f'title = "{ORDERS}"\nsource = "{ORDERS}"\n' + POINT),
        ("key.toml", f'title = "x"\n"{ORDERS}" = 3\n' + POINT),
        ("value.toml", f'title = "x"\nstop = "{ORDERS}"\n' + POINT),
        ("named.fio", "[a]\nrw=read\nbs=\x1b]0;owned\x07\n"),
        ("unknown.fio", "[a]\nrw=read\nruntime=1\n\x1b]0;owned\x07=3\n"),
        ("nul.fio", "[a]\nrw=read\nruntime=1\nbs=\x00\x9b2J\n"),
    ],
)
def test_control_characters_of_files_do_not_reach_the_terminal(loadline: Loadline, file: str, text: str) -> None:
    (loadline.folder / file).write_text(text, "utf-8")
    for words in ([], ["--json"]):
        said = loadline("suites", file, *words)
        assert re.search(r"\\(u00|x)", said.out + said.err)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said.out + said.err)


def test_on_a_terminal_an_error_keeps_its_colour_and_what_others_wrote_has_none(loadline: Loadline) -> None:
    code, shown = typed(loadline, "", "suites", "\x1b[31mnothing")
    assert code == 2 and shown.startswith("\x1b[31m\x1b[1mloadline: \x1b[0mno suite is named '")
    assert shown.count("\x1b") == 3
