"""Several targets of one run: loaded at once or in turn, told apart, refused together, resumed."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cli.program import Loadline
from devices import command, loop_device, mounted, needs_root, partition, sha256, write_partition_table
from measuring.processes import until
from measuring.served import SLOW, described, served
from measuring.suites import reads, suite, three

import loadline as package
from loadline.errors import InterruptedRun, TargetError
from loadline.measuring import event, preparing
from loadline.reporting.question import ask
from loadline.reporting.table import results_table
from loadline.result.intervals import intervals_in
from loadline.result.repeats import histograms_in
from loadline.result.store import Store
from loadline.units import parse_bytes
from loadline.workload.suite import parse_suite

MIB = 1024**2

STATION = """
title = "One server that takes {time}"
[[station]]
name = "server"
service = {{ constant = "{time}" }}
"""


@pytest.fixture
def two(tmp_path: Path, filled_file: Path) -> tuple[Path, Path]:
    """Two files of 16 MiB that hold data."""
    other = tmp_path / "other.bin"
    shutil.copy(filled_file, other)
    return filled_file, other


def destroy(*targets: Path) -> list[str]:
    return [word for target in targets for word in ("--destroy", str(target))]


def last_status(point: Path) -> dict[str, Any]:
    text = gzip.decompress((point / "fio.json.gz").read_bytes()).decode()
    found: dict[str, Any] = json.loads(text[text.rindex("\n{\n") :] if "\n{\n" in text else text)
    return found


def test_several_targets_are_loaded_at_once_each_with_the_whole_load(
    loadline: Loadline, two: tuple[Path, Path]
) -> None:
    said = loadline("run", three(loadline.folder, "1s"), *two, *destroy(*two), "--json")
    assert said.code == 0, said.err
    assert "2 targets at once" in said.err
    for name in ("mixed", "reads", "writes"):
        together, *each = [row for row in said.json["results"] if row["point"] == name]
        assert [row["target"] for row in (together, *each)] == ["*", *map(str, two)]
        assert together["iops"] == pytest.approx(sum(row["iops"] for row in each))
        assert [row["outstanding_asked"] for row in (together, *each)] == [8, 4, 4]
        ios = sum(row["iops"] * row["latency_mean_ns"] for row in each)
        assert together["latency_mean_ns"] == pytest.approx(ios / together["iops"], rel=1e-3)


def test_percentiles_of_several_targets_are_those_of_all_their_requests(
    loadline: Loadline, two: tuple[Path, Path]
) -> None:
    said = loadline("run", suite(loadline.folder, "reads 4k 100% 100%"), *two, "--json")
    together, *each = said.json["results"]
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    jobs = last_status(point)["jobs"]
    bins: Counter[int] = Counter()
    for job, row in zip(jobs, each, strict=True):
        bins.update({int(value): count for value, count in job["read"]["lat_ns"]["bins"].items()})
        assert row["read_latency_p99_ns"] == job["read"]["lat_ns"]["percentile"]["99.000000"]
    samples = sorted(bins.elements())
    assert together["latency_p99_ns"] == samples[-(-len(samples) * 99 // 100) - 1]
    stored = json.loads((point / "histograms.json").read_text())
    assert sum(stored["histograms"]["read"]["counts"]) == len(samples)
    assert [sum(one["read"]["counts"]) for one in stored["targets"]] == [job["read"]["lat_ns"]["N"] for job in jobs]


def test_each_of_several_targets_has_the_requests_of_an_open_load_that_were_its_own(
    loadline: Loadline, two: tuple[Path, Path]
) -> None:
    path = suite(loadline.folder, "mixed 4k 50% 100%", runtime="8s", warmup='"4s"', rate='"400/s"')
    said = loadline("run", path, *two, *destroy(*two), "--json")
    assert said.code == 0, said.err
    together, *each = said.json["results"]
    assert [row["runtime_ns"] for row in (together, *each)] == [8 * 10**9] * 3
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    logs = [gzip.decompress(log.read_bytes()).decode() for log in sorted(point.glob("*_lat.log.gz"))]
    assert len(logs) == 2
    for key, direction in (("read_iops", "0"), ("write_iops", "1")):
        assert together[key] == sum(row[key] for row in each)
        for row, log in zip(each, logs, strict=True):
            done = [line.split(", ")[0] for line in log.splitlines() if line.split(", ")[2] == direction]
            assert 800 < row[key] * 8 <= len(done) and row[key] == pytest.approx(200, rel=0.3)
    assert all(row["latency_max_ns"] is not None for row in (together, *each))


def test_each_of_several_targets_says_how_sure_its_figures_are_by_its_own_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The service of the right one varies: over ten seconds it's known less well than that of the left one.
    monkeypatch.chdir(tmp_path)
    varied = STATION.replace("constant", "exponential")
    for name, station in (("left", STATION), ("right", varied)):
        (tmp_path / f"{name}.toml").write_text(station.format(time="10ms"))
    asked = parse_suite(reads(tmp_path, "11s").read_text(), "reads", "reads")
    run = package.run(asked, "emulated:left.toml", "emulated:right.toml", size_bytes=64 * MIB, seed=1)
    together, left, right = run.results()
    find = intervals_in([run])
    seconds = [find(row) for row in (together, left, right)]
    assert len(seconds[0]) == len(seconds[1]) == len(seconds[2]) >= 10
    for whole, *parts in zip(*seconds, strict=True):
        assert whole.read.ios == sum(part.read.ios for part in parts)
    assert [row.iops_ci95 is None or row.latency_mean_ci95_ns is None for row in (left, right)] == [False, False]
    assert left.iops_ci95 < right.iops_ci95


def test_targets_of_all_kinds_are_loaded_together(loadline: Loadline, filled_file: Path) -> None:
    disk = loadline.folder / "disk"
    disk.mkdir()
    (loadline.folder / "fast.toml").write_text(STATION.format(time="1ms"))
    with package.emulate("dl360-g6-p410i", size_bytes=64 * MIB, settings=("volume.size=64MiB",)) as emulator:
        targets = (filled_file, disk, f"emulated:{loadline.folder}/fast.toml", emulator.address)
        path = suite(loadline.folder, "mixed 4k 70% 100%", "run 64k 100% 0%", runtime="500ms", jobs="2")
        said = loadline(
            "run", path, *targets, "--size", "16M", *destroy(filled_file), "--destroy", emulator.address, "--json"
        )
    assert said.code == 0, said.err
    assert list(disk.iterdir()) == []
    rows = [row for row in said.json["results"] if row["point"] == "mixed"]
    assert [row["target"] for row in rows[1:3]] == [str(filled_file), str(disk)]
    assert all(row["error"] is None and row["iops"] > 0 for row in rows)
    assert rows[3]["system"] == "fast"


def test_more_jobs_than_fio_runs_are_refused_before_anything_is_made(
    loadline: Loadline, two: tuple[Path, Path]
) -> None:
    path = suite(loadline.folder, "reads 4k 100% 0%", runtime="300ms")
    said = loadline("run", path, *two, "--jobs", "2500")
    assert said.code == 2 and "reads: 5,000 jobs in all, and fio runs 4,000 at most" in said.err
    assert not (loadline.folder / "loadline-runs").exists()


def test_a_working_set_in_percent_is_a_share_of_each_target(loadline: Loadline, two: tuple[Path, Path]) -> None:
    one, other = two
    with other.open("ab") as file:
        file.write(one.read_bytes())
    path = suite(loadline.folder, "reads 4k 100% 0%", runtime="300ms", jobs="3")
    path.write_text(path.read_text() + 'working_set = "50%"\n')
    said = loadline("run", path, one, other, "--json")
    assert said.code == 0, said.err
    (point,) = Path(said.json["runs"][0]["path"]).glob("points/*")
    sizes = [
        line.partition("=")[2] for line in (point / "job.fio").read_text().splitlines() if line.startswith("size=")
    ]
    assert sizes == [f"{size // 2 // 3 // 4096 * 4}k" for size in (16 * MIB, 32 * MIB)]


def test_working_sets_in_bytes_and_in_percent_are_each_targets_own_and_sequential_jobs_read_apart(
    loadline: Loadline, two: tuple[Path, Path]
) -> None:
    one, other = two
    with other.open("ab") as file:
        file.write(one.read_bytes())
    path = suite(loadline.folder, "shares 4k 100% 0%", "bytes 4k 100% 0%", runtime="300ms", jobs="4")
    shares, _, bytes_ = path.read_text().rpartition("\n[[profile]]")
    path.write_text(
        f'{shares}working_set = "50%"\nstart = "25%"\n\n[[profile]]{bytes_}working_set = "2M"\nstart = "4M"\n'
    )
    said = loadline("run", path, one, other, "--json")
    assert said.code == 0, said.err
    for name, starts, wide in (
        ("shares", (4 * MIB, 8 * MIB), (8 * MIB, 16 * MIB)),
        ("bytes", (4 * MIB,) * 2, (2 * MIB,) * 2),
    ):
        (point,) = Path(said.json["runs"][0]["path"]).glob(f"points/*-{name}")
        jobs = last_status(point)["jobs"]
        for number, (start, touched) in enumerate(zip(starts, wide, strict=True)):
            options = jobs[number]["job options"]
            step, size = (parse_bytes(options[key]) for key in ("offset_increment", "size"))
            assert (parse_bytes(options["offset"]), step, options["numjobs"]) == (start, touched // 4, "4")
            assert 0 < size <= step, "each of the four reads its own quarter"
        assert all(row["error"] is None for row in said.json["results"])


def test_interleaved_targets_are_loaded_in_turn_and_repetitions_have_a_mean(
    loadline: Loadline, two: tuple[Path, Path]
) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", "two 8k 100% 100%", runtime="200ms")
    said = loadline("run", path, *two, "--order", "interleaved", "--repeat", "2", "--json")
    assert said.code == 0, said.err
    assert "2 targets in turn" in said.err
    a, b = map(str, two)
    rows = said.json["results"]
    assert [(row["point"], row["repeat"], row["target"]) for row in rows] == [
        (point, repeat, target) for repeat in (1, 2) for point in ("one", "two") for target in (a, b)
    ]
    run = Store(loadline.store).find("last")
    table = results_table(run.results(), histograms_in([run]))
    assert table.heads[:3] == ("point", "target", "repeat") and table.heads[-1] == "spread\n%"
    whole, first, second = table.groups[0].rows[:3]
    assert [row[:3] for row in (whole, first, second)] == [("one", a, "all"), ("one", a, "1"), ("one", a, "2")]
    assert all(cell not in {"", "–"} for cell in (whole[3], whole[7], whole[-1]))
    shown = loadline("show", "last")
    assert "all: the mean of the repetitions" in shown.out


def test_a_random_order_is_recorded_with_its_seed(loadline: Loadline, filled_file: Path) -> None:
    path = suite(loadline.folder, *(f"p{number} 4k 100% 100%" for number in range(4)), runtime="100ms")
    words = ("--order", "random", "--seed", "3", "--json")
    first, second = (loadline("run", path, filled_file, *words).json for _ in range(2))
    order = [(row["point"], row["repeat"]) for row in first["results"]]
    assert order == [(row["point"], row["repeat"]) for row in second["results"]] != sorted(order)
    document = json.loads((Path(first["runs"][0]["path"]) / "run.json").read_text())
    assert document["options"] | {"prepare": 0, "engine": 0, "cache_bytes": 0} == {
        "prepare": 0, "engine": 0, "cache_bytes": 0, "seed": 3, "order": "random", "repeats": 1,
    }  # fmt: skip


@pytest.mark.parametrize("order", ["suite", "interleaved"])
def test_an_interrupted_run_of_several_targets_goes_on(two: tuple[Path, Path], tmp_path: Path, order: Any) -> None:
    path = suite(tmp_path, "one 4k 100% 100%", "two 8k 100% 100%", runtime="200ms")

    def stop(what: event.Event) -> None:
        if isinstance(what, event.PointStarted) and what.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun):
        package.run(str(path), *map(str, two), store=tmp_path / "runs", order=order, repeats=2, listen=stop)
    (run,) = Store(tmp_path / "runs").runs()
    before = run.results()
    resumed = package.resume(run, store=tmp_path / "runs")
    assert resumed.missing() == [] and resumed.results()[: len(before)] == before
    rows = {(row.point, row.repeat, row.target) for row in resumed.results()}
    together = {"*"} if order == "suite" else set()
    assert rows == {
        (point, repeat, target)
        for point in ("one", "two")
        for repeat in (1, 2)
        for target in {*map(str, two), *together}
    }
    (said,) = ask(tmp_path / "runs", "select count(*), count(distinct (point, repeat, target)) from results").rows
    assert said == (len(rows), len(rows))


def test_resume_refuses_when_one_of_the_targets_is_another(loadline: Loadline, two: tuple[Path, Path]) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", "two 8k 100% 100%", runtime="30s")
    process = loadline.start("run", path, *two, "--progress", "json")
    until(process, "progress")
    process.terminate()
    process.communicate(timeout=60)
    with two[1].open("ab") as file:
        file.write(two[0].read_bytes())
    said = loadline("resume", "last")
    assert said.code == 4
    assert f"{two[1]} is not the target" in said.err


def test_every_target_that_would_be_overwritten_needs_its_own_word(loadline: Loadline, two: tuple[Path, Path]) -> None:
    before = [sha256(path) for path in two]
    said = loadline("run", three(loadline.folder), *two, *destroy(two[0]))
    assert said.code == 4
    assert f"{two[1]} would be overwritten" in said.err
    assert [sha256(path) for path in two] == before and loadline.runs() == []


def test_one_target_under_two_names_is_refused(loadline: Loadline, filled_file: Path) -> None:
    link, hard, folder = (loadline.folder / name for name in ("link", "hard", "folder"))
    link.symlink_to(filled_file)
    hard.hardlink_to(filled_file)
    folder.mkdir()
    system = f"emulated:{loadline.folder}/s.toml"
    (loadline.folder / "s.toml").write_text(STATION.format(time="1ms"))
    for one, other in (
        (filled_file, filled_file), (filled_file, link), (filled_file, hard), (folder, f"{folder}/."), (system, system),
    ):  # fmt: skip
        said = loadline("run", reads(loadline.folder), one, other, "--size", "16M")
        assert said.code == 2, said.err
        assert "is named twice" in said.err or "is the same as" in said.err
    assert loadline.runs() == []


def test_a_target_that_vanishes_midway_fails_the_point_and_is_named(loadline: Loadline, two: tuple[Path, Path]) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", runtime="60s")
    process = loadline.start("run", path, *two, "--progress", "json", "--json")
    until(process, "progress")
    two[1].unlink()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    rows = json.loads(out)["results"]
    assert len(rows) == 3
    assert all(f"{two[1]} is gone" in row["error"] for row in rows)


def test_a_server_that_goes_away_ends_the_load_of_all_and_later_points_name_it_at_once(loadline: Loadline) -> None:
    path = suite(loadline.folder, "one 4k 100% 100%", "two 4k 100% 100%", runtime="60s")
    system = described(loadline.folder, SLOW)
    with (
        served(loadline, system, "--size", "64M") as (kept, _),
        served(loadline, system, "--size", "64M") as (gone, server),
    ):
        process = loadline.start("run", path, kept, gone, "--no-prepare", "--progress", "json", "--json")
        until(process, "progress")
        server.kill()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    found = json.loads(out)
    rows = [row for row in found["results"] if row["target"] == "*"]
    assert [row["point"] for row in rows] == ["one", "two"]
    assert all(row["error"].startswith(f"{gone}: ") for row in rows), rows
    assert max(row["runtime_ns"] or 0 for row in found["results"]) < 30e9
    # Of loads that broke off there is nothing else to be said.
    assert {one["check"] for one in found["findings"]} <= {"tool-output", "emulation"}


def test_the_load_line_of_several_targets_is_the_load_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each server keeps 110 ms up to 5 outstanding; the mean of both together does so as well.
    monkeypatch.chdir(tmp_path)
    for name in ("left", "right"):
        (tmp_path / f"{name}.toml").write_text(STATION.format(time="20ms"))
    ramp = 'title = "R"\nruntime = "1s"\n[[profile]]\nname = "reads"\nblock = "4k"\nread = "100%"\nrandom = "100%"\n'
    limited = parse_suite(ramp + 'limit = "mean<=110ms"\n', "reads", "reads")
    run = package.run(limited, "emulated:left.toml", "emulated:right.toml", size_bytes=64 * MIB, seed=1)
    together, *each = run.results()
    assert together.error is None
    assert together.provenance["load_line"] | {"monotone": None} == {
        "axis": "outstanding", "load": 5, "next": 6, "monotone": None, "targets": 2,
    }  # fmt: skip
    assert (together.outstanding_asked, [row.outstanding_asked for row in each]) == (10, [5, 5])
    notes = "\n".join(results_table([together]).notes)
    assert re.search(r"5 outstanding on each of 2 targets keep mean<=110ms \(\S+ ms\), 6 don't", notes)


@pytest.fixture
def slowly_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two sparse files of 16 and 8 MiB, whose fill takes long enough to be seen."""
    plain = preparing._shared
    monkeypatch.setattr(preparing, "_shared", lambda *words: f"{plain(*words)}\nrate=4m")
    files = tmp_path / "one", tmp_path / "two"
    for file, size in zip(files, (16 * MIB, 8 * MIB), strict=True):
        file.touch()
        os.truncate(file, size)
    return files


def run_reads(folder: Path, files: tuple[Path, Path], listen: event.Listener) -> Any:
    path = suite(folder, "reads 4k 100% 100%", runtime="200ms")
    words = list(map(str, files))
    return package.run(str(path), *words, store=folder / "runs", destroy=words, listen=listen)


def fios_in(folder: Path) -> list[int]:
    """Processes of fio whose current directory is below the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == "fio":
                found += [int(entry.name)] if (entry / "cwd").readlink().is_relative_to(folder) else []
    return found


def test_several_targets_are_filled_at_the_same_time_each_with_its_own_progress(
    tmp_path: Path, slowly_filled: tuple[Path, Path]
) -> None:
    told: list[event.Preparing] = []
    run = run_reads(tmp_path, slowly_filled, lambda what: told.append(what) if hasattr(what, "done_bytes") else None)
    assert all(row.error is None for row in run.results())
    one, two = map(str, slowly_filled)
    assert {(what.target, what.total_bytes) for what in told} == {(one, 16 * MIB), (two, 8 * MIB)}
    ended = [what.target for what in told if what.done_bytes == what.total_bytes]
    assert sorted(ended) == [one, two]
    # While the larger one was being filled the smaller one was as well.
    begun = [what.target for what in told if 0 < what.done_bytes < what.total_bytes]
    assert set(begun) == {one, two} and begun.index(two) < len(begun) - 1 - begun[::-1].index(one)
    for file in slowly_filled:
        assert file.stat().st_blocks * 512 >= file.stat().st_size
    assert (run.path / "preparation" / "together" / "job.fio").exists()


def test_ctrl_c_ends_the_fill_of_all_targets(tmp_path: Path, slowly_filled: tuple[Path, Path]) -> None:
    def stop(what: event.Event) -> None:
        if isinstance(what, event.Preparing):
            assert fios_in(tmp_path)
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun):
        run_reads(tmp_path, slowly_filled, stop)
    assert fios_in(tmp_path) == []
    assert slowly_filled[0].stat().st_blocks * 512 < 16 * MIB


def test_a_fill_that_was_interrupted_near_its_end_is_made_again(
    tmp_path: Path, slowly_filled: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(what: event.Event) -> None:
        if isinstance(what, event.Preparing):
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun):
        run_reads(tmp_path, slowly_filled, stop)
    (run,) = (tmp_path / "runs").iterdir()
    # As if it had come that far: samples find too few zeros for a target that was never written.
    for file in slowly_filled:
        with file.open("r+b") as opened:
            opened.write(os.urandom(file.stat().st_size * 97 // 100))
    monkeypatch.undo()
    assert all(row.error is None for row in package.resume(str(run)).results())
    for file in slowly_filled:
        assert any(file.read_bytes()[-64 * 1024 :])
    assert not list((run / "preparation").glob("unfilled-*"))


def test_a_target_that_vanishes_while_several_are_filled_is_named_and_ends_the_others(
    tmp_path: Path, slowly_filled: tuple[Path, Path]
) -> None:
    one, two = slowly_filled

    def take_away(what: event.Event) -> None:
        if isinstance(what, event.Preparing):
            two.unlink(missing_ok=True)

    with pytest.raises(TargetError, match=f"filling {two} failed: {two} is gone"):
        run_reads(tmp_path, slowly_filled, take_away)
    assert fios_in(tmp_path) == []
    assert one.stat().st_blocks * 512 < 16 * MIB


class TestOnDevices:
    pytestmark = needs_root

    def test_two_devices_are_filled_and_loaded_together(self, loadline: Loadline, tmp_path: Path) -> None:
        with loop_device(tmp_path / "one", 32 * MIB) as one, loop_device(tmp_path / "two", 32 * MIB) as two:
            said = loadline("run", three(loadline.folder), one, two, *destroy(one, two), "--json")
            assert said.code == 0, said.err
            assert said.err.count("read as zeros") == 2
            rows = said.json["results"]
        assert [row["target"] for row in rows] == ["*", str(one), str(two)] * 3
        assert all(row["busy_fraction"] is not None for row in rows)
        document = json.loads((Path(said.json["runs"][0]["path"]) / "run.json").read_text())
        assert [known["target"] for known in document["sessions"][0]["devices"]] == [str(one), str(two)]

    def test_a_fill_that_fails_on_one_of_several_names_it(self, loadline: Loadline, tmp_path: Path) -> None:
        good = tmp_path / "good"
        good.touch()
        with loop_device(tmp_path / "backing", 320 * MIB) as disk:
            command("mkfs.ext4", "-q", "-m", "0", disk)
            with mounted(disk, tmp_path / "point") as point:
                full = point / "full"
                full.touch()
                for file in (good, full):
                    os.truncate(file, 16 * MIB)

                def take_room(what: event.Event) -> None:
                    if isinstance(what, event.Started):
                        room = os.statvfs(point)
                        os.posix_fallocate(ballast.fileno(), 0, room.f_bavail * room.f_frsize - 4 * MIB)

                with (point / "ballast").open("wb") as ballast, pytest.raises(TargetError) as failed:
                    run_reads(tmp_path, (good, full), take_room)
        assert failed.value.message.startswith(f"filling {full} failed: fio's job fill.target-2: ")
        assert "No space left" in failed.value.message

    def test_one_refused_target_refuses_the_run_before_anything_is_touched(
        self, loadline: Loadline, tmp_path: Path, filled_file: Path
    ) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        before = sha256(filled_file)
        with loop_device(tmp_path / "one", 32 * MIB) as one, loop_device(tmp_path / "two", 32 * MIB) as two:
            write_partition_table(two)
            said = loadline("run", three(loadline.folder), filled_file, disk, one, two, *destroy(filled_file, one, two))
            assert said.code == 4
            assert f"{two} has a partition table" in said.err
            assert not any(one.read_bytes())
        assert sha256(filled_file) == before and list(disk.iterdir()) == [] and loadline.runs() == []

    def test_a_disk_and_its_partition_or_a_file_on_it_are_refused(self, loadline: Loadline, tmp_path: Path) -> None:
        with loop_device(tmp_path / "backing", 320 * MIB) as disk:
            with partition(disk, 1, MIB, 64 * MIB) as part:
                said = loadline("run", reads(loadline.folder), part, disk)
                assert said.code == 2 and f"{part} is a partition of {disk}" in said.err
            said = loadline("run", reads(loadline.folder), disk, tmp_path / "backing")
            assert said.code == 4 and f"the file behind {disk}" in said.err
            command("mkfs.ext4", "-q", disk)
            with mounted(disk, tmp_path / "point") as point:
                file = point / "file"
                file.write_bytes(bytes(8 * MIB))
                said = loadline("run", reads(loadline.folder), disk, file)
                assert said.code == 2 and f"{file} lies on {disk}" in said.err
