"""The guard against files and directories, as any user."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from devices import LOCKER, MAPPER, OPENER, process
from trees import recorded

from loadline.errors import InputError, RefusedError
from loadline.host.use import Use
from loadline.measuring.guard import check_directory, check_file, hold, verdict


def test_an_unused_file_is_accepted_and_held(tmp_path: Path) -> None:
    file = tmp_path / "target:1"
    file.write_bytes(bytes(4096))
    check_file(file)
    with hold(file, write=True) as held:
        assert held.locked
        with file.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_file_open_in_another_process_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "target"
    file.write_bytes(b"kept")
    with process(OPENER, file, "read") as pid, pytest.raises(RefusedError, match=f"process {pid}") as refused:
        check_file(file)
    assert refused.value.exit_code == 4
    assert file.read_bytes() == b"kept"


def test_a_file_that_is_only_mapped_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "target"
    file.write_bytes(b"kept")
    with process(MAPPER, file, "shared") as pid, pytest.raises(RefusedError, match=f"process {pid}.*mapped for wri"):
        check_file(file)
    with process(MAPPER, file, "private"):
        check_file(file)
    assert file.read_bytes() == b"kept"


def test_a_file_under_another_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "target"
    file.write_bytes(b"kept")
    with process(LOCKER, file), pytest.raises(RefusedError, match="under another run"):
        hold(file, write=True)
    with hold(file, write=False), pytest.raises(RefusedError, match="under another run"):
        hold(file, write=False)
    hold(file, write=True).close()


def test_missing_and_odd_targets_are_bad_input(tmp_path: Path) -> None:
    for check in (check_file, check_directory):
        with pytest.raises(InputError, match="No such file"):
            check(tmp_path / "missing")
    with pytest.raises(InputError, match="not a regular file"):
        check_file(tmp_path)
    with pytest.raises(InputError, match="not a directory"):
        check_directory("/dev/null")
    with pytest.raises(InputError, match="No such file"):
        hold(tmp_path / "missing", write=False)
    with pytest.raises(InputError, match="neither"):
        hold("/dev/null", write=False)


def test_a_directory_below_a_mount_point_is_accepted(tmp_path: Path) -> None:
    check_directory(tmp_path)


@pytest.mark.parametrize(
    "mount",
    [
        "8:1 / / rw - ext4 /dev/root rw",
        "8:1 /srv / rw - ext4 /dev/sda1 rw",  # A part of it, bound.
        "0:40 /root / rw - bcachefs /dev/sda1:/dev/sdb1 rw",
    ],
)
def test_where_a_device_is_mounted_is_no_directory_to_measure(tmp_path: Path, mount: str) -> None:
    roots = recorded("lvm", tmp_path)
    (roots.proc / "self/mountinfo").write_text(f"27 1 {mount}\n")
    with pytest.raises(RefusedError, match="mount point"):
        check_directory("/", roots)


@pytest.mark.parametrize("mount", ["tmpfs none", "overlay overlay", "nfs4 server:/srv", "zfs tank/srv"])
def test_where_nothing_with_a_device_is_mounted_is_a_directory(tmp_path: Path, mount: str) -> None:
    roots = recorded("lvm", tmp_path)
    (roots.proc / "self/mountinfo").write_text(f"27 1 0:40 / / rw - {mount} rw\n")
    check_directory("/", roots)


def test_every_fact_is_a_reason_with_a_remedy() -> None:
    from typing import get_args

    from loadline.host.use import Kind

    for kind in get_args(Kind):
        (reason,) = verdict([Use(kind, "cciss!c0d0", "something", 7)])
        assert "/dev/cciss/c0d0" in reason.what
        assert reason.remedy
        assert "{" not in reason.what + reason.remedy


def test_nobody_is_told_to_wipe_what_is_in_use() -> None:
    facts = [Use("mounted", "sda1", "/srv"), Use("partitions", "sda", "sda1"), Use("signature", "sda", "ext4")]
    assert "wipefs" not in "".join(reason.remedy for reason in verdict(facts))
    assert len(verdict(facts)) == 3
    assert "wipefs -a /dev/sda" in verdict(facts[1:])[1].remedy


def test_commands_in_remedies_can_be_pasted() -> None:
    (reason,) = verdict([Use("mounted", "sda1", "/mnt/a b;c")])
    assert reason.remedy.endswith("umount '/mnt/a b;c'")


def test_no_fact_is_no_reason() -> None:
    assert verdict([]) == ()
