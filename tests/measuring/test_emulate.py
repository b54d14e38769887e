"""Emulated systems: served over NBD, measured with fio, and struck by faults."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast

import pytest
from cli.program import Loadline
from devices import mounted
from measuring.processes import until
from measuring.served import MIB, SLOW, described, fio, served
from measuring.suites import reads, suite, three

from loadline._core import Emulator
from loadline.cli.emulate import _Lasting
from loadline.errors import InputError
from loadline.measuring import emulate, nbd


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


def test_how_late_answers_were_is_told_of_the_time_that_is_watched() -> None:
    looks = [(100, 50, 9, 70, 30), (300, 60, 14, 170, 430)]

    class Server:
        def stats(self) -> dict[str, int]:
            keys = ("answers", "late", "lateness_sum_ns", "read_latency_sum_ns", "write_latency_sum_ns")
            return dict(zip(keys, looks.pop(0), strict=True))

    watch = emulate.Watch([cast(Emulator, Server()), None])
    assert watch.late(1) is None
    assert watch.late(0) == (10 / 200, 5 / 500)


class _Looked:
    """An emulator whose disks work for half of the time until it rests."""

    def __init__(self, rests_from_ns: int) -> None:
        self.rests_from_ns, self.now_ns = rests_from_ns, 0

    def stats(self) -> dict[str, object]:
        return {"elapsed_ns": self.now_ns, "busy_ns": {"disks": min(self.now_ns, self.rests_from_ns) // 2}}


@pytest.mark.parametrize(
    ("seconds", "found"),
    [((1.0, 2.0, 3.0, 3.03), {"disks": pytest.approx(1 / 2.03)}), ((3.0, 3.03), {}), ((3.0,), {}), ((), {})],
)
def test_components_are_known_of_looks_that_saw_most_of_the_time(seconds: tuple[float, ...], found: object) -> None:
    emulator = _Looked(3 * 10**9)
    watch = emulate.Watch([emulator])  # type: ignore[list-item]
    for second in seconds:
        emulator.now_ns = round(second * 1e9)
        watch.look(emulator.now_ns)
    assert watch.utilisation(0, 10**9) == found
