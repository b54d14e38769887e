"""Other people's clients of NBD, at a device of our own that answers at once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadline import _core

SIZE_BYTES = 64 << 20


@pytest.fixture(params=["memory", "file", "tcp"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    address = "127.0.0.1:0" if request.param == "tcp" else str(tmp_path / "nbd.sock")
    data = str(tmp_path / "data") if request.param == "file" else None
    emulator = _core.Emulator(None, address=address, size_bytes=SIZE_BYTES, data=data)
    yield emulator.address
    emulator.stop()


def output(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nbdinfo_learns_what_the_device_is_and_can_do(uri: str) -> None:
    export = json.loads(output("nbdinfo", "--json", uri))["exports"][0]
    assert export["export-size"] == SIZE_BYTES
    assert export["description"] == "a fixed delay"
    for ability in ("flush", "fua", "multi_conn", "trim", "zero", "fast_zero", "cache", "df"):
        assert export[f"can_{ability}"], ability
    assert (export["block_size_minimum"], export["block_size_maximum"]) == (512, 32 << 20)
    assert [extent["type"] for extent in json.loads(output("nbdinfo", "--json", "--map", uri))] == [2]


def test_nbdcopy_copies_there_and_back_over_several_connections(uri: str, tmp_path: Path, filled_file: Path) -> None:
    output("nbdcopy", "--connections=4", filled_file, uri)
    back = tmp_path / "back"
    output("nbdcopy", "--connections=4", uri, back)
    assert back.stat().st_size == SIZE_BYTES
    copied = back.read_bytes()
    whole = filled_file.read_bytes()
    assert copied[: len(whole)] == whole
    assert not any(copied[len(whole) :])


def test_qemu_reads_what_it_wrote_trimmed_and_zeroed_and_sees_the_zeroes(uri: str) -> None:
    steps = ["write -P 0x41 1M 6M", "write -f -P 0x42 9M 512", "discard 2M 1M", "write -z 4M 64k", "flush"]
    steps += ["read -P 0x41 1M 1M", "read -P 0 2M 1M", "read -P 0x41 3M 1M", "read -P 0 4M 64k", "read -P 0x42 9M 512"]
    said = output("qemu-io", "-f", "raw", *(word for step in steps for word in ("-c", step)), uri)
    assert "failed" not in said
    extents = json.loads(output("qemu-img", "map", "--output=json", "-f", "raw", uri))
    data = [(it["start"], it["length"]) for it in extents if not it["zero"]]
    assert data[0] == (1 << 20, 1 << 20)


def test_qemu_converts_an_image_and_finds_it_the_same(uri: str, filled_file: Path) -> None:
    output("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", filled_file, uri)
    # Beyond the image are zeroes, which is the same to qemu.
    assert "identical" in output("qemu-img", "compare", "-f", "raw", "-F", "raw", filled_file, uri)


def test_fio_verifies_what_four_jobs_wrote_and_flushed(uri: str, tmp_path: Path) -> None:
    load = ["--rw=randwrite", "--bsrange=512-64k", "--blockalign=512", "--iodepth=16", "--fsync=64", "--numjobs=4"]
    places = ["--size=8m", "--offset_increment=8m", "--verify=crc32c", "--verify_fatal=1", "--randseed=1"]
    report = tmp_path / "report.json"
    output(
        "fio",
        "--name=all",
        "--ioengine=nbd",
        f"--uri={uri}",
        *load,
        *places,
        f"--output={report}",
        "--verify_state_save=0",
    )
    assert "err= 0" in report.read_text()
