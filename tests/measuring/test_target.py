"""What must be typed before a target is overwritten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from trees import recorded

from loadline.errors import RefusedError
from loadline.host.device import BlockDevice, block_device
from loadline.measuring.target import Target, confirm


@pytest.fixture
def disk(tmp_path: Path) -> BlockDevice:
    """A disk of a recorded machine, given a serial number."""
    return replace(block_device("/dev/nvme0n1", recorded("server", tmp_path)), serial="S3HCNX0K000001")


def aimed(device: BlockDevice) -> Target:
    path = Path("/dev/nvme0n1")
    return Target("/dev/disk/by-id/x", "device", path, device.size_bytes, device.size_bytes, 512, device, {})


def test_a_device_with_a_serial_number_wants_that_and_nothing_else(disk: BlockDevice) -> None:
    confirm(aimed(disk), ("S3HCNX0K000001",))
    confirm(aimed(disk), ("another", "S3HCNX0K000001"))
    for typed in ("", "yes", "/dev/nvme0n1", "/dev/disk/by-id/x", "s3hcnx0k000001", "S3HCNX0K000001 "):
        with pytest.raises(RefusedError) as caught:
            confirm(aimed(disk), (typed,))
        assert "its serial number" in caught.value.message
        assert caught.value.remedy.endswith("--destroy S3HCNX0K000001")


def test_a_device_without_one_wants_its_path_or_the_name_that_was_given(disk: BlockDevice) -> None:
    target = aimed(replace(disk, serial=None))
    confirm(target, ("/dev/nvme0n1",))
    confirm(target, ("/dev/disk/by-id/x",))
    for typed in ((), ("",), ("nvme0n1",), ("None",)):
        with pytest.raises(RefusedError, match="its path"):
            confirm(target, typed)


def test_a_scratch_file_in_a_directory_needs_no_word() -> None:
    confirm(Target("scratch", "directory", Path("/scratch"), 1, 1, 512, None, {}), ())
