"""Emulated systems as block devices: what lives on them, and what is left when somebody is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.program import Loadline
from devices import command, mounted, needs_root, partition
from measuring.served import MIB, described, served
from measuring.suites import suite

from loadline.errors import InputError, ToolError
from loadline.measuring import block


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
