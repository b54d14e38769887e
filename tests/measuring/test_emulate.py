"""Emulated systems: served over NBD, measured with fio, shown as block devices, and struck by faults."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from cli.program import Loadline
from devices import command, mounted, needs_root, partition
from measuring.processes import until
from measuring.suites import reads, suite, three

from loadline.cli.emulate import _Lasting
from loadline.errors import InputError, ToolError
from loadline.measuring import block, emulate, nbd

MIB = 1024**2

FAST = """
title = "Eight servers of 20 us"

[[station]]
name = "servers"
servers = 8
service = { constant = "20us" }
"""

SLOW = FAST.replace("20us", "2ms")


def described(folder: Path, text: str = FAST, name: str = "fast") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


@contextmanager
def served(loadline: Loadline, *words: str | Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`loadline emulate`, and the address that it prints, until the end of the `with`."""
    process = loadline.start("emulate", *words)
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        yield address, process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def fio(address: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = ["fio", "--name=job", "--ioengine=nbd", f"--uri={address}", "--thread=1", "--eta=never", *options]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)


class TestRun:
    def test_a_run_on_an_emulated_system_names_it_and_takes_no_less_time_than_modelled(
        self, loadline: Loadline
    ) -> None:
        slow = described(loadline.folder, SLOW, "slow")
        said = loadline("run", three(loadline.folder), f"emulated:{slow}", "--size", "64M", "--json")
        assert said.code == 0, said.err
        for row in said.json["results"]:
            assert (row["system"], row["origin"], row["error"]) == ("slow", "measured", None)
            # The way there and back is taken off the model's time; what it takes by chance less isn't.
            assert row["latency_mean_ns"] > 1.8e6
        target = json.loads((loadline.runs()[0] / "run.json").read_text())["target"]
        assert (target["kind"], target["size_bytes"]) == ("emulated", 64 * MIB)
        assert len(target["identity"]["description_sha256"]) == 64

    def test_settings_are_tags_and_several_values_are_refused(self, loadline: Loadline) -> None:
        words = ("run", reads(loadline.folder), "emulated:dl360-g6-p410i", "--size", "1G")
        said = loadline(*words, "--set", "cache.mode=write-through", "--json")
        assert said.code == 0, said.err
        (row,) = said.json["results"]
        assert row["tags"]["cache.mode"] == "write-through"
        several = loadline(*words, "--set", "cache.mode=off,write-through")
        assert several.code == 2
        assert "makes 2 systems" in several.err
        unknown = loadline(
            "run", suite(loadline.folder, "w 4k 0% 100%", name="dsync"), *words[2:], "--set", "cache.x=1"
        )
        assert (unknown.code, "'x'" in unknown.err) == (2, True)
        other = loadline("run", reads(loadline.folder), ".", "--set", "cache.mode=off")
        assert other.code == 2
        assert "--set changes emulated systems" in other.err

    def test_durable_writes_pass_the_buffer_of_a_drive(self, loadline: Loadline) -> None:
        """fio's engine can't ask for them; the server takes them so."""
        profile = '\n[[profile]]\nname = "{}"\nblock = "4k"\nread = "0%"\nrandom = "0%"\nqueue_depth = 1\n{}'
        path = loadline.folder / "log.toml"
        path.write_text(
            'title = "x"\nruntime = "500ms"' + profile.format("b", "") + profile.format("d", "dsync = true\n")
        )
        said = loadline("run", str(path), "emulated:hdd-7k2", "--size", "64M", "--json")
        assert said.code == 0, said.err
        buffered, durable = (row["latency_mean_ns"] for row in said.json["results"])
        # A revolution is 8.3 ms; half of it is more than a busy machine adds to a write into the buffer.
        assert buffered < 4e6 < durable

    def test_resume_serves_the_same_system_again(self, loadline: Loadline) -> None:
        path = suite(loadline.folder, "one 4k 100% 100%", "two 4k 0% 100%", runtime="500ms")
        words = ("emulated:dl360-g6-p410i", "--set", "volume.layout=raid5", "--size", "1G", "--progress", "json")
        process = loadline.start("run", path, *words)
        until(process, "point-finished")
        process.kill()
        process.communicate()
        said = loadline("resume", "last", "--json")
        assert said.code == 0, said.err
        assert [(row["point"], row["tags"]["volume.layout"]) for row in said.json["results"]] == [
            ("one", "raid5"),
            ("two", "raid5"),
        ]

    def test_a_server_is_overwritten_only_after_its_address_was_typed(self, loadline: Loadline) -> None:
        path = suite(loadline.folder, "writes 4k 0% 100%", runtime="200ms")
        with served(loadline, described(loadline.folder), "--size", "16M") as (address, _):
            refused = loadline("run", path, address)
            assert refused.code == 4
            assert "its address was not given" in refused.err
            said = loadline("run", path, address, "--destroy", address, "--json")
            assert said.code == 0, said.err
            assert said.json["results"][0]["target"] == address


class TestServing:
    def test_what_fio_writes_it_reads_back(self, loadline: Loadline) -> None:
        with served(loadline, described(loadline.folder), "--size", "64M") as (address, _):
            assert nbd.ask(nbd.parse(address)).size_bytes == 64 * MIB
            done = fio(
                *(address, loadline.folder, "--rw=randwrite", "--bsrange=512-64k", "--size=16M", "--iodepth=16"),
                *("--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--fsync=32"),
            )
            assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_it_ends_when_asked_and_says_what_it_served(self, loadline: Loadline, asked: signal.Signals) -> None:
        # Under nohup a hang-up is ignored, by programs that are started too.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        process = loadline.start("emulate", described(loadline.folder), "--size", "16M", "--json")
        signal.signal(signal.SIGHUP, before)
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        fio(started["address"], loadline.folder, "--rw=read", "--size=1M")
        process.send_signal(asked)
        out, err = process.communicate(timeout=60)
        ended = json.loads(out)
        assert (process.returncode, started["size_bytes"]) == (0, 16 * MIB), err
        assert (ended["event"], ended["read_ios"], ended["failed"]) == ("ended", 256, 0)
        assert not Path(started["address"].partition("socket=")[2]).exists()

    def test_a_file_keeps_the_data(self, loadline: Loadline) -> None:
        words = (described(loadline.folder), "--size", "16M", "--data", loadline.folder / "data")
        with served(loadline, *words) as (address, _):
            assert fio(address, loadline.folder, "--rw=write", "--size=1M", "--verify=crc32c").returncode == 0
        with served(loadline, *words) as (address, _):
            verify = ("--rw=write", "--size=1M", "--verify=crc32c", "--verify_only=1")
            assert fio(address, loadline.folder, *verify).returncode == 0

    def test_what_cannot_be_served_is_refused(self, loadline: Loadline) -> None:
        fast = described(loadline.folder)
        cases: dict[tuple[str | Path, ...], tuple[int, str]] = {
            ("dl360-g6-p410i", "--fault", "drive 9 fails"): (2, "drives are 0 to 3"),
            ("dl360-g6-p410i", "--fault", "everything breaks"): (2, "or 'clear'."),
            ("dl360-g6-p410i", "--set", "cache.modus=off"): (2, "'modus'"),
            (fast,): (2, "--size 10G"),
            (fast, "--size", "1M", "--listen", "x", "--tcp"): (2, "Leave out one"),
            (fast, "--size", "1M", "--listen", "no/where/socket"): (3, "can't be served"),
            (fast, "--size", "1M", "--listen", "x" * 150): (2, "a socket's path has at most 107 bytes"),
            (fast, "--size", "1M", "--listen", "\udcff"): (2, "isn't UTF-8"),
            (fast, "--size", "1M", "--tcp", "127.0.0.1"): (2, "Write it like 127.0.0.1:10809"),
            (fast, "--size", "1M", "--tcp", "/socket"): (2, "a path goes with --listen"),
            ("--tcp", fast): (2, "SYSTEM before it"),
            (fast, "--size", "1M", "--fault", "latency x10 " * 9000): (2, "one fault at a time"),
            (fast, "--size", "1M", "--data", "no/where/data"): (3, "no/where/data can't be used (No such file"),
            (fast, "--size", "1M", "--data", fast.parent): (3, "(Is a directory)\nName another file."),
            (fast, "--size", "1M", "--data", "long"): (3, "Give the device that size (--size 1048577), or"),
            (fast, "--size", "2M", "--data", "long"): (3, "or make it longer with truncate -s 2097152."),
        }
        (loadline.folder / "long").write_bytes(bytes(MIB + 1))
        for words, (code, message) in cases.items():
            said = loadline("emulate", *words, "--for", "1s")
            assert (said.code, message in said.err) == (code, True), (words, said.err)

    def test_with_json_a_failure_is_an_object_on_a_line_too(self, loadline: Loadline) -> None:
        said = loadline("emulate", described(loadline.folder), "--json")
        (line,) = said.out.splitlines()
        assert json.loads(line)["error"]["kind"] == "input"

    def test_a_path_with_a_space_is_said_as_a_shell_takes_it(self, loadline: Loadline) -> None:
        socket = loadline.folder / "a socket"
        with served(loadline, described(loadline.folder), "--size", "16M", "--listen", socket) as (address, process):
            assert nbd.ask(nbd.parse(address)).size_bytes == 16 * MIB
            assert process.stderr is not None
            assert any(f"nbd-client -unix '{socket}' /dev/nbd0" in line for line in process.stderr)

    def test_a_kill_leaves_no_folder_that_nobody_would_sweep(
        self, loadline: Loadline, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(loadline.folder))
        with served(loadline, described(loadline.folder), "--size", "16M", "--tcp", "127.0.0.1:0") as (_, process):
            process.kill()
            process.wait()
        assert not list(loadline.folder.glob("loadline-*"))

    @pytest.mark.root
    @pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
    def test_a_full_disk_below_the_data_is_said(self, loadline: Loadline) -> None:
        with mounted(Path("none"), loadline.folder / "small", ("-t", "tmpfs", "-o", "size=2m")) as small:
            words = ("--size", "16M", "--data", small / "data")
            with served(loadline, described(loadline.folder), *words) as (address, process):
                assert "No space left" in fio(address, loadline.folder, "--rw=write", "--size=8M").stderr
                process.terminate()
                assert process.stderr is not None
                said = process.stderr.read()
        assert f"the file system of {small / 'data'} is full" in said
        assert "requests failed" in said


class TestFaults:
    def test_errors_and_delays_reach_the_program_and_end_when_cleared(self, loadline: Loadline) -> None:
        read = ("--rw=randread", "--size=1M", "--number_ios=8")
        with served(loadline, described(loadline.folder, SLOW), "--size", "16M") as (address, _):
            assert fio(address, loadline.folder, *read).returncode == 0
            assert loadline("fault", address, "error 100% of reads").code == 0
            failed = fio(address, loadline.folder, *read)
            assert failed.returncode != 0
            assert "Input/output error" in failed.stdout + failed.stderr
            assert loadline("fault", address, "clear").code == 0
            said = loadline("fault", address, "latency x20", "--json")
            assert said.json["fault"].startswith("latency x20 from ")
            told = loadline("fault", address, "latency x20 for 1s").out
            assert re.fullmatch(r"latency x20 from \d+(\.\d{1,3})?m?s to \d+(\.\d{1,3})?m?s\n", told)
            slow = fio(address, loadline.folder, *read, "--output-format=json")
            body = json.loads(slow.stdout[slow.stdout.index("{") :])
            assert body["jobs"][0]["read"]["lat_ns"]["mean"] > 38e6

    def test_a_drive_fails_while_it_serves(self, loadline: Loadline) -> None:
        words = ("dl360-g6-p410i", "--set", "volume.layout=raid5", "--size", "1G")
        read = ("--rw=randread", "--size=64M", "--number_ios=64", "--iodepth=8")
        with served(loadline, *words, "--fault", "drive 1 fails") as (address, process):
            assert fio(address, loadline.folder, *read).returncode == 0
            assert loadline("fault", address, "drive 2 fails").code == 0
            lost = fio(address, loadline.folder, *read)
            assert "Input/output error" in lost.stdout + lost.stderr
            process.terminate()
            assert process.stderr is not None
            said = process.stderr.read()
            assert "drive 1 has failed: raid5 is degraded" in said
            assert "drive 2 has failed: data of raid5 are lost" in said

    def test_a_fault_that_lasts_is_told_when_it_begins_and_when_it_ends(self, loadline: Loadline) -> None:
        faults = ("latency x10 from 1s to 3s", "error 1% of reads from 1s")
        words = (described(loadline.folder), "--size", "16M", "--for", "5s")
        said = loadline("emulate", *words, *(word for fault in faults for word in ("--fault", fault))).err.splitlines()
        assert [line for line in said if "latency x10 from" in line] == [
            "begins: latency x10 from 1s to 3s",
            "has ended: latency x10 from 1s to 3s",
        ]
        assert [line for line in said if "error" in line] == ["begins: error 1% of reads from 1s"]
        assert said[-1].startswith("served nothing in ")

    def test_a_fault_that_is_ordered_is_told_once_and_its_end_with_the_end_that_it_got(self) -> None:
        lasting = _Lasting()
        assert lasting.look(["freeze from 2s", "drive 1 has failed"], ["freeze from 2s"]) == []
        assert lasting.look(["freeze from 2s to 9s", "drive 1 is 3 % rebuilt"], ["clear at 9s"]) == []
        assert lasting.look(["drive 1 is 5 % rebuilt"], []) == ["has ended: freeze from 2s to 9s"]

    def test_a_fault_needs_its_address(self, loadline: Loadline) -> None:
        for address, code in (("nonsense", 2), (f"nbd+unix:///?socket={loadline.folder}/none", 3)):
            assert loadline("fault", address, "freeze for 1s").code == code
        with served(loadline, described(loadline.folder), "--size", "16M") as (address, _):
            said = loadline("fault", address, "latency 10")
            assert said.code == 2
            assert "x10" in said.err


@contextmanager
def stuck(path: Path) -> Iterator[None]:
    """A server that takes nobody more, as one that was stopped while many came."""
    with socket.socket(socket.AF_UNIX) as server, ExitStack() as clients:
        server.bind(str(path))
        server.listen(0)
        with suppress(BlockingIOError):
            while True:
                client = clients.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                client.connect(str(path))
        yield


class TestStuckServer:
    def test_a_fault_of_a_server_that_takes_nobody_is_given_up(self, loadline: Loadline) -> None:
        path = loadline.folder / "socket"
        with stuck(path):
            said = loadline("fault", f"nbd+unix:///?socket={path}", "clear")
        assert (said.code, "nothing came within 5 s; is it stopped?" in said.err) == (3, True), said.err

    def test_a_server_that_takes_nobody_holds_up_no_other(self, loadline: Loadline) -> None:
        folder = loadline.folder / "loadline-emulate-abcdefgh"
        folder.mkdir()
        with stuck(folder / "nbd.sock"):
            os.utime(folder, (0, 0))
            words = ("emulate", described(loadline.folder), "--size", "16M", "--for", "10ms")
            said = loadline(*words, environment={"TMPDIR": str(loadline.folder)})
            assert said.code == 0, said.err
            assert folder.exists()


def folder_of(node: Path) -> Path:
    """Where a block device's keeper has what it made."""
    return Path(Path(f"/sys/block/{node.name}/loop/backing_file").read_text().strip()).parent.parent


def keeper_of(process: subprocess.Popen[str]) -> int:
    """The only process that it starts."""
    return int(command("pgrep", "--parent", str(process.pid)))


def gone(node: Path, folder: Path) -> None:
    """Waits until the keeper has taken down the device; it removes its folder last."""
    subprocess.run(["sh", "-c", f'while [ -e "{folder}" ]; do sleep 0.05; done'], timeout=60, check=True)
    assert str(folder) not in Path("/proc/mounts").read_text()
    assert not Path(f"/sys/block/{node.name}/loop").exists()


class TestBlockDevice:
    pytestmark = needs_root

    @pytest.fixture
    def device(self, loadline: Loadline) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
        with served(loadline, described(loadline.folder), "--size", "512M", "--block") as (_, process):
            assert process.stdout is not None
            yield Path(process.stdout.readline().strip()), process

    @pytest.mark.parametrize("kind", ["ext4", "xfs"])
    def test_a_file_system_lives_on_it(
        self, device: tuple[Path, subprocess.Popen[str]], kind: str, tmp_path: Path
    ) -> None:
        node, _ = device
        command(f"mkfs.{kind}", "-q", node)
        content = os.urandom(4 * MIB)
        for _ in range(2):
            with mounted(node, tmp_path / "mount") as point:
                (point / "file").write_bytes(content)
        check = ("fsck.ext4", "-fn", node) if kind == "ext4" else ("xfs_repair", "-n", node)
        command(*check)
        with mounted(node, tmp_path / "mount") as point:
            assert (point / "file").read_bytes() == content

    def test_a_run_may_write_to_it_without_a_word(
        self, device: tuple[Path, subprocess.Popen[str]], loadline: Loadline
    ) -> None:
        node, _ = device
        path = suite(loadline.folder, "writes 4k 0% 100%", runtime="300ms")
        said = loadline("run", path, node, "--json")
        assert said.code == 0, said.err
        command("mkfs.ext4", "-q", node)
        assert loadline("run", path, node).code == 4, "what lives on it counts all the same"

    def test_nothing_is_left_of_it_after_a_kill(
        self, device: tuple[Path, subprocess.Popen[str]], loadline: Loadline
    ) -> None:
        node, process = device
        folder = folder_of(node)
        process.kill()
        process.wait()
        gone(node, folder)

    def test_it_goes_on_after_thousands_of_errors(self, loadline: Loadline) -> None:
        words = (described(loadline.folder), "--size", "64M", "--block", "--fault", "error 100% of reads")
        with served(loadline, *words) as (address, process):
            assert process.stdout is not None
            node = process.stdout.readline().strip()
            # Each is said in some 40 bytes or more by nbdfuse, and a pipe takes 64 KiB.
            reads = ("--rw=randread", "--bs=4k", "--direct=1", "--number_ios=4000", "--continue_on_error=all")
            job = ("fio", "--name=job", f"--filename={node}", "--ioengine=libaio", "--iodepth=8", *reads)
            said = subprocess.run((*job, "--output-format=json"), capture_output=True, text=True, timeout=120)
            (done,) = json.loads(said.stdout[said.stdout.index("{") :])["jobs"]
            assert done["total_err"] >= 4000
            assert loadline("fault", address, "clear").code == 0
            assert Path(node).read_bytes()[:4096] == bytes(4096)

    def test_what_ends_programs_does_not_end_its_keeper(
        self, device: tuple[Path, subprocess.Popen[str]], loadline: Loadline
    ) -> None:
        node, process = device
        folder = folder_of(node)
        for asked in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(keeper_of(process), asked)
        command("mkfs.ext4", "-q", node)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        gone(node, folder)

    def test_a_killed_keeper_is_told_and_what_it_leaves_is_taken_down_at_the_end(
        self, device: tuple[Path, subprocess.Popen[str]]
    ) -> None:
        node, process = device
        folder = folder_of(node)
        assert process.stderr is not None
        os.kill(keeper_of(process), signal.SIGKILL)
        assert any(f"the shell that keeps {node} was killed: the device goes on" in line for line in process.stderr)
        command("mkfs.ext4", "-q", node)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 3
        gone(node, folder)

    def test_it_ends_and_says_so_when_nbdfuse_does(self, loadline: Loadline) -> None:
        words = (described(loadline.folder), "--size", "64M", "--block", "--json")
        process = loadline.start("emulate", *words)
        assert process.stdout is not None
        node = Path(json.loads(process.stdout.readline())["device"])
        folder = folder_of(node)
        os.kill(int(command("pgrep", "--full", f"^nbdfuse {folder}/")), signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        ended, failed = map(json.loads, out.splitlines())
        assert (ended["event"], failed["error"]["kind"]) == ("ended", "tool")
        assert (process.returncode, f"nbdfuse has ended: {node} gives only I/O errors" in err) == (3, True), err
        gone(node, folder)

    def test_what_is_left_when_all_were_killed_is_taken_down_by_the_next(
        self, device: tuple[Path, subprocess.Popen[str]], loadline: Loadline
    ) -> None:
        node, process = device
        folder = folder_of(node)
        os.kill(keeper_of(process), signal.SIGKILL)
        process.kill()
        process.wait()
        assert Path(f"/sys/block/{node.name}/loop").exists()
        with served(loadline, described(loadline.folder), "--size", "64M", "--block") as (_, other):
            assert other.stdout is not None
            others = folder_of(Path(other.stdout.readline().strip()))
            assert not folder.exists()
            block._sweep()
            assert others.exists(), "its keeper lives"
        assert str(folder) not in Path("/proc/mounts").read_text()

    def test_a_device_is_left_alone_while_its_server_lives(self, device: tuple[Path, subprocess.Popen[str]]) -> None:
        node, process = device
        folder = folder_of(node)
        os.kill(keeper_of(process), signal.SIGKILL)
        block._sweep()
        assert (folder / "address").exists()
        command("mkfs.ext4", "-q", node)

    def test_a_device_is_left_alone_while_its_keeper_waits_for_who_has_it(
        self, device: tuple[Path, subprocess.Popen[str]]
    ) -> None:
        node, process = device
        folder = folder_of(node)
        with node.open("rb"):
            process.kill()
            process.wait()
            block._sweep()
            assert (folder / "address").exists()
        gone(node, folder)

    def test_a_device_that_is_only_starting_is_left_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        folder = tmp_path / "loadline-block-abcdefgh"
        folder.mkdir()
        block._sweep()
        with block._locked(folder, "nbd://127.0.0.1:1"):
            block._sweep()
            assert (folder / "address").read_text() == "nbd://127.0.0.1:1"
        block._sweep()
        assert not folder.exists()

    def test_what_is_left_is_taken_down_although_its_mount_was_forced_away(
        self, device: tuple[Path, subprocess.Popen[str]]
    ) -> None:
        node, process = device
        folder = folder_of(node)
        command("umount", "--lazy", folder / "mnt")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        gone(node, folder)

    def test_no_other_file_system_is_touched_when_no_loop_device_is_had(self, loadline: Loadline) -> None:
        tools = loadline.folder / "tools"
        tools.mkdir()
        (tools / "losetup").write_text("#!/bin/sh\necho no more of them >&2\nexit 1\n")
        (tools / "losetup").chmod(0o755)
        words = ("emulate", described(loadline.folder), "--size", "16M", "--block", "--for", "1s")
        with mounted(Path("none"), loadline.folder / "photos", ("-t", "tmpfs")) as photos:
            said = loadline(*words, environment={"PATH": f"{tools}:{os.environ['PATH']}"})
            assert (said.code, "no more of them" in said.err) == (3, True), said.err
            assert photos.is_mount()

    @pytest.mark.parametrize("noted", ["{}", ""])
    def test_a_device_that_is_another_files_by_now_is_left_alone(
        self, noted: str, empty_loop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "loadline-block-abcdefgh"
        (folder / "mnt").mkdir(parents=True)
        (folder / "loop").write_text(noted.format(empty_loop))
        (folder / "address").touch()
        command("mkfs.ext4", "-q", empty_loop)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        with mounted(empty_loop, tmp_path / "photos") as photos:
            block._sweep()
            assert photos.is_mount()
            assert Path(f"/sys/block/{empty_loop.name}/loop").exists()
            assert not (folder / "mnt").exists()

    def test_file_systems_with_a_strange_place_or_on_a_partition_are_unmounted(
        self, device: tuple[Path, subprocess.Popen[str]], tmp_path: Path
    ) -> None:
        node, process = device
        folder = folder_of(node)
        with partition(node, 1, MIB, 100 * MIB) as part:
            command("mkfs.ext4", "-q", part)
            points = tmp_path / "one place", tmp_path / "another"
            for point in points:
                point.mkdir()
                command("mount", part, point)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
            gone(node, folder)
            assert not part.exists(), "who has the number next isn't partitioned"
            assert not any(point.is_mount() for point in points)

    def test_a_partition_that_is_in_use_goes_before_its_device(
        self, device: tuple[Path, subprocess.Popen[str]], tmp_path: Path
    ) -> None:
        node, process = device
        folder = folder_of(node)
        assert process.stderr is not None
        with partition(node, 1, MIB, 100 * MIB) as part:
            command("mkfs.ext4", "-q", part)
            (tmp_path / "place").mkdir()
            command("mount", part, tmp_path / "place")
            with subprocess.Popen(["cat"], stdin=subprocess.PIPE, cwd=tmp_path / "place") as inside:
                process.send_signal(signal.SIGINT)
                assert any(f"{node} is still in use" in line for line in process.stderr)
                inside.communicate()
            assert process.wait(timeout=60) == 0
            gone(node, folder)
            assert not part.exists()

    def test_what_it_is_frozen_for_is_written_at_the_end_all_the_same(self, loadline: Loadline, tmp_path: Path) -> None:
        words = (described(loadline.folder), "--size", "64M", "--data", loadline.folder / "data")
        content = os.urandom(MIB)
        with served(loadline, *words, "--block") as (address, process):
            assert process.stdout is not None
            node = Path(process.stdout.readline().strip())
            command("mkfs.ext4", "-q", node)
            (tmp_path / "mount").mkdir()
            command("mount", node, tmp_path / "mount")
            (tmp_path / "mount" / "file").write_bytes(content)
            assert loadline("fault", address, "freeze").code == 0
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
        with mounted(loadline.folder / "data", tmp_path / "mount", ("-o", "loop")) as point:
            assert (point / "file").read_bytes() == content

    @pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM])
    def test_a_device_in_use_is_waited_for_until_it_is_asked_again(
        self, device: tuple[Path, subprocess.Popen[str]], again: signal.Signals
    ) -> None:
        node, process = device
        folder = folder_of(node)
        assert process.stderr is not None
        with node.open("rb"):
            process.send_signal(signal.SIGTERM)
            assert any(f"{node} is still in use" in line for line in process.stderr)
            process.send_signal(again)
            assert process.wait(timeout=60) == 130
        gone(node, folder)


def test_a_machine_that_can_make_no_block_device_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
        with pytest.raises(InputError, match="needs root"):
            block.check()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(ToolError, match="nbdfuse is not installed") as missing:
        block.check()
    assert "libnbd-bin" in missing.value.remedy


@pytest.mark.parametrize(
    "uri", ["nbd://", "nbds://host", "nbd+unix:///?socket=relative", "nbd://host:port", "nbd://h\n"]
)
def test_what_is_no_address_is_refused(uri: str) -> None:
    with pytest.raises(InputError, match="no address of an NBD server"):
        nbd.parse(uri)


def test_a_size_is_a_setting_of_an_array() -> None:
    emulated = emulate.describe("dl360-g6-p410i", ["volume.layout=raid5"], 10 * 1024**3)
    assert emulated.size_bytes == 10 * 1024**3
    assert emulated.system.settings[-1] == ("volume.size", "10G")
    odd = emulate.describe("dl360-g6-p410i", (), 10 * 1024**3 + 512)
    assert odd.size_bytes == 10 * 1024**3 + 512
