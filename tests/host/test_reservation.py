"""Answers to READ RESERVATION and Reservation Report, byte by byte as the standards lay them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadline.host.reservation import Reservation, parse_nvme, parse_scsi, reservation_of

# SPC-4, table 213: PRGENERATION, ADDITIONAL LENGTH; with a reservation the key, obsolete, reserved, SCOPE and TYPE.
SCSI_HELD = bytes.fromhex("00000007 00000010 0123456789abcdef 00000000 00 05 0000")
SCSI_FREE = bytes.fromhex("00000007 00000000") + bytes(16)

# NVM Express 1.4, figure 407: GEN, RTYPE, REGCTL, PTPLS at 9; from byte 24 a controller each:
# CNTLID, RCSTS (bit 0: holds the reservation), HOSTID, RKEY.
NVME_HELD = (
    bytes.fromhex("07000000 01 0200 0000 00") + bytes(14)
    + bytes.fromhex("0100 00 0000000000 1111111111111111 aa00000000000000")
    + bytes.fromhex("0200 01 0000000000 2222222222222222 bb00000000000000")
)  # fmt: skip
NVME_REGISTERED_ONLY = NVME_HELD[:4] + b"\0" + NVME_HELD[5:]


def test_a_held_scsi_reservation_is_read() -> None:
    held = Reservation("write exclusive, registrants only", 0x0123456789ABCDEF)
    assert parse_scsi(SCSI_HELD) == held


def test_the_holder_of_an_nvme_reservation_is_the_controller_that_has_it() -> None:
    assert parse_nvme(NVME_HELD) == Reservation("write exclusive", 0xBB)


@pytest.mark.parametrize("answer", [SCSI_FREE, b"", SCSI_HELD[:23]])
def test_no_scsi_reservation_is_none(answer: bytes) -> None:
    assert parse_scsi(answer) is None


@pytest.mark.parametrize("report", [NVME_REGISTERED_ONLY, b"", NVME_HELD[:10]])
def test_no_nvme_reservation_is_none(report: bytes) -> None:
    assert parse_nvme(report) is None


def test_a_truncated_report_keeps_the_fact_without_the_key() -> None:
    assert parse_nvme(NVME_HELD[:50]) == Reservation("write exclusive", None)


def test_unknown_types_are_reservations_too() -> None:
    assert parse_scsi(SCSI_HELD[:21] + b"\x0f" + SCSI_HELD[22:]) == Reservation("type 15", 0x0123456789ABCDEF)


def test_what_is_no_disk_has_no_reservation(tmp_path: Path) -> None:
    plain = tmp_path / "nvme0n1"
    plain.touch()
    assert reservation_of(plain) is None
    assert reservation_of(tmp_path / "missing") is None
    assert reservation_of(Path("/dev/null")) is None
