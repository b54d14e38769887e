"""Run folders: committed by a rename, found by part of a name, refused when newer."""

from __future__ import annotations

import errno
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from loadline._core import Histogram
from loadline.errors import InputError, RefusedError, StoreError
from loadline.reporting import question
from loadline.result.file import check_place, write_bytes
from loadline.result.importers import importing
from loadline.result.point_folder import begin_point, commit_point
from loadline.result.schema import FORMAT, Flow, Result
from loadline.result.store import Run, Store, locked, open_run
from loadline.workload.plan import Point
from loadline.workload.profile import BlockShare, Closed, Profile, Workload

POINT = Point("oltp", (Workload(Profile("oltp", (BlockShare(8192, 1.0),), 0.7, 1.0, "random"), Closed(32)),), 10**9, 0)


def document(*names: str) -> dict[str, object]:
    points = [{**POINT.to_json(), "name": name} for name in names]
    return {
        "suite": {"name": "s", "title": "S"},
        "target": {"path": "/dev/sdx"},
        "points": points,
        "tags": {"raid": "10"},
        "sessions": [{"started_at": "2026-01-01T00:00:00+00:00"}],
    }


def made(root: Path, *names: str, target: str = "/dev/cciss/c0d0", hour: int = 1) -> Run:
    return Store(root).create("typical-12", target, document(*(names or ("one", "two"))), datetime(2026, 2, 3, hour))


def test_an_id_says_when_what_and_on_what(tmp_path: Path) -> None:
    assert made(tmp_path).id == "20260203-010000-typical-12-c0d0"
    assert made(tmp_path).id == "20260203-010000-typical-12-c0d0-2"
    assert made(tmp_path, target="/").id == "20260203-010000-typical-12-root"
    assert made(tmp_path, target="/tmp/we:ird näme").id == "20260203-010000-typical-12-we-ird-n-me"


def test_a_point_is_there_once_it_is_committed_and_not_before(tmp_path: Path) -> None:
    run = made(tmp_path)
    folder = begin_point(run.point_path(0))
    (folder / "fio.json.gz").write_bytes(b"half")
    assert (run.results(), run.missing()) == ([], [0, 1])
    result = Result(run=run.id, point="one", read=Flow(iops=3.0), tags={"raid": "10"})
    commit_point(folder, result, {"read": Histogram([100, 2000], [1, 2])})
    assert open_run(run.path).results() == [result]
    assert run.missing() == [1]
    assert run.histograms(0)["read"].columns()[1] == [1, 2]
    assert sorted(path.name for path in folder.iterdir()) == ["fio.json.gz", "histograms.json", "point.json"]


def test_beginning_a_point_again_leaves_nothing_of_the_lost_attempt(tmp_path: Path) -> None:
    run = made(tmp_path)
    (begin_point(run.point_path(0)) / "fio.json.gz").write_bytes(b"half")
    assert list(begin_point(run.point_path(0)).iterdir()) == []
    assert [path.name for path in (run.path / "points").iterdir()] == ["001-one"]


def test_a_failed_point_is_a_result_and_still_missing(tmp_path: Path) -> None:
    run = made(tmp_path, "one")
    commit_point(begin_point(run.point_path(0)), Result(point="one", error="fio was killed"), {})
    assert (run.results()[0].error, run.missing(), run.summary()["failed"]) == ("fio was killed", [0], 1)


def test_a_run_is_found_by_its_id_a_unique_part_or_its_path(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path, target="/dev/sdb", hour=2)
    store = Store(tmp_path)
    assert store.find(first.id).path == first.path
    assert store.find("sdb").path == second.path
    assert store.find(str(second.path)).path == second.path
    with pytest.raises(InputError, match="is part of 2 runs"):
        store.find("typical")
    with pytest.raises(InputError, match="no run 'sdc'"):
        store.find("sdc")
    with pytest.raises(InputError, match="standard input"):
        Store(tmp_path).find("-")
    assert [run.id for run in store.runs()] == [first.id, second.id]


def test_a_newer_format_is_refused_and_a_newer_column_is_not(tmp_path: Path) -> None:
    run = made(tmp_path, "one")
    commit_point(begin_point(run.point_path(0)), Result(point="one"), {})
    file = run.point_path(0) / "point.json"
    stored = json.loads(file.read_text())
    file.write_text(json.dumps({**stored, "result": {**stored["result"], "column_of_tomorrow": 1}}))
    assert run.results()[0].point == "one"
    run_file = run.path / "run.json"
    run_file.write_text(json.dumps({**json.loads(run_file.read_text()), "format": FORMAT + 1}))
    with pytest.raises(StoreError, match=f"format {FORMAT + 1}"):
        open_run(run.path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"format": "1"}', b'{"format": 1}', b"\xff\xfe"])
def test_a_damaged_run_is_named_by_its_file(tmp_path: Path, content: bytes) -> None:
    run = made(tmp_path)
    (run.path / "run.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"run\.json") as told:
        open_run(run.path)
    # A plan that is lost is no point that could be measured again.
    assert "damaged" in told.value.remedy and "resume" not in told.value.remedy


def test_a_directory_in_the_place_of_a_file_of_a_run_is_said_to_be_one(tmp_path: Path) -> None:
    run = made(tmp_path)
    for file in (run.point_path(0) / "point.json", run.path / "run.json"):
        file.unlink(missing_ok=True)
        file.mkdir(parents=True)
        with pytest.raises(StoreError, match="json can't be read: Is a directory") as told:
            open_run(run.path).result(0)
        assert "It's damaged" in told.value.remedy


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("points", 0, "streams"), None, "points: 1: not as loadline writes it"),
        (("points", 1), {"name": "two"}, "points: 2: 'streams' is missing"),
        (("points", 0, "streams", 0, "arrival", "kind"), "odd", "points: 1: an arrival of kind 'odd' can't be"),
        (("points", 0, "runtime_ns"), "x", "points: 1: one: runtime_ns 'x' can't be"),
        (("options", "engine"), 7, "options.engine is no text"),
        (("suite",), {}, "suite.name is missing"),
        *(
            (("sessions", 0, key), 3, f"sessions: {key} is no {kind}")
            for key, kind in (
                ("machine", "object"),
                ("devices", "list"),
                ("fio", "object"),
                ("command", "list"),
                ("loadline", "text"),
            )
        ),
    ],
)
def test_a_run_of_which_a_part_is_damaged_is_refused_by_whatever_opens_it(
    tmp_path: Path, place: tuple[str | int, ...], value: object, said: str
) -> None:
    run = made(tmp_path)
    stored = {**json.loads((run.path / "run.json").read_text()), "options": {"engine": None, "prepare": True}}
    node: Any = stored
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    (run.path / "run.json").write_text(json.dumps(stored))
    with pytest.raises(StoreError, match=rf"run\.json: {said}") as told:
        Store(tmp_path).find(run.id)
    assert "It isn't a run of loadline, or it's damaged: put a copy" in told.value.remedy


def test_a_run_without_what_is_needed_to_go_on_is_shown_and_not_resumed(tmp_path: Path) -> None:
    run = open_run(made(tmp_path).path)
    with pytest.raises(StoreError, match=r"run\.json: options\.engine is missing"):
        run.check_resumable()


def test_a_damaged_point_counts_as_failed_and_hides_neither_the_run_nor_the_others(tmp_path: Path) -> None:
    run = made(tmp_path)
    for index in range(2):
        commit_point(begin_point(run.point_path(index)), Result(point=("one", "two")[index]), {})
    (run.point_path(0) / "point.json").write_text('{"format": 1, "res')
    assert [found.id for found in Store(tmp_path).runs()] == [run.id]
    assert (run.summary()["done"], run.summary()["failed"], run.missing()) == (1, 1, [0])
    assert [str(run.point_path(0)) in fault.message for fault in run.damaged()] == [True]


def test_damaged_histograms_are_named_by_their_file_and_missing_ones_are_none(tmp_path: Path) -> None:
    run = made(tmp_path, "one")
    commit_point(begin_point(run.point_path(0)), Result(point="one"), {"read": Histogram([100], [1])})
    file = run.point_path(0) / "histograms.json"
    file.write_text('{"format": 1, "histograms": {"read": {"ns": [1]}}}')
    with pytest.raises(StoreError, match=r"histograms\.json") as told:
        run.histograms(0)
    assert f"remove {run.point_path(0) / 'point.json'}, and `loadline resume`" in told.value.remedy
    file.unlink()
    assert run.histograms(0) == {}


def test_a_file_is_no_store_to_read_nor_to_write(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").touch()
    for ask in (lambda: Store(tmp_path / "rows.csv").runs(), lambda: made(tmp_path / "rows.csv")):
        with pytest.raises(InputError, match=r"rows\.csv is not a directory"):
            ask()


@pytest.mark.parametrize("fits", [0, 1, 2])
def test_on_a_full_disk_no_folder_of_a_run_is_left_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fits: int
) -> None:
    """The first files fit, then nothing does; each has two calls of fsync, its own and its folder's."""
    rows = importing.Rows((Result(point="one"), Result(point="two")), {}, {}, {}, ())
    left = [2 * fits]

    def fsync(_: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreError, match="No space left"):
        importing.store_rows(Store(tmp_path / "runs"), rows, ["a.json"], {"tags": {}}, datetime(2026, 1, 1))
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_may_not_be_read_or_written_is_told_of_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may do all, so the system's answer is made up."""

    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match=r"rows\.csv can't be written: no permission in"):
        check_place(tmp_path / "rows.csv")
    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(InputError, match=r"rows\.csv can't be written: Permission denied\n"):
        check_place(tmp_path / "rows.csv")
    for ask in (lambda: Store(tmp_path).runs(), lambda: question.ask(tmp_path, "select 1")):
        with pytest.raises(StoreError, match=r"the store .* can't be read: Permission denied"):
            ask()


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    file.write_bytes(b"old")
    blocked = tmp_path / "file" / "below"
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="can't be written"):
        write_bytes(blocked, b"new")
    write_bytes(file, b"new")
    assert file.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "kept"]


def test_a_file_never_takes_the_place_of_what_is_none(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="no file"):
        write_bytes(pipe, b"new")
    assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_run_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    run = made(tmp_path)
    with locked(run), pytest.raises(RefusedError), locked(run):
        pass
    with locked(run):
        pass
