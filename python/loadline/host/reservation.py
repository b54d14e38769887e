"""Persistent reservations, by which another host of a shared LUN says that it's in use. Start at `reservation_of`.

Sources: SPC-4 6.15.3 (PERSISTENT RESERVE IN, READ RESERVATION), SAM-5 5.3 (status codes),
NVM Express 1.4 6.13 (Reservation Report), Linux <scsi/sg.h> and <linux/nvme_ioctl.h>.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

_SG_IO = 0x2285
_SG_DXFER_FROM_DEV = -3
_RESERVATION_CONFLICT = 0x18
_NVME_IOCTL_ID = 0x4E40
_NVME_IOCTL_IO_CMD = 0xC0484E43
_NVME_RESERVATION_REPORT = 0x0E
_REPORT_BYTES = 4096
_TIMEOUT_MS = 5000

_SCSI_TYPES = {
    1: "write exclusive",
    3: "exclusive access",
    5: "write exclusive, registrants only",
    6: "exclusive access, registrants only",
    7: "write exclusive, all registrants",
    8: "exclusive access, all registrants",
}
_NVME_TYPES = {
    1: "write exclusive",
    2: "exclusive access",
    3: "write exclusive, registrants only",
    4: "exclusive access, registrants only",
    5: "write exclusive, all registrants",
    6: "exclusive access, all registrants",
}


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation that is held. `key` is None where the device doesn't tell the holder's key."""

    kind: str
    key: int | None


def parse_scsi(answer: bytes) -> Reservation | None:
    """The reservation in the answer to READ RESERVATION; None when none is held or the answer is too short."""
    if len(answer) < 24 or int.from_bytes(answer[4:8], "big") < 16:
        return None
    kind = answer[21] & 0x0F
    return Reservation(_SCSI_TYPES.get(kind, f"type {kind}"), int.from_bytes(answer[8:16], "big"))


def parse_nvme(report: bytes) -> Reservation | None:
    """The reservation in a Reservation Report; None when none is held or the report is too short."""
    if len(report) < 24 or report[4] == 0:
        return None
    key = None
    for start in range(24, 24 + 24 * int.from_bytes(report[5:7], "little"), 24):
        controller = report[start : start + 24]
        if len(controller) == 24 and controller[2] & 1:
            key = int.from_bytes(controller[16:24], "little")
    return Reservation(_NVME_TYPES.get(report[4], f"type {report[4]}"), key)


def reservation_of(node: Path) -> Reservation | None:
    """The reservation held on a whole SCSI or NVMe disk, asked of the disk itself.

    None when none is held, and when the disk, its driver or our rights don't let us ask: not every device knows
    reservations, so no answer is no fact.
    """
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _ask_nvme(descriptor) if node.name.startswith("nvme") else _ask_scsi(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


class _SgHeader(ctypes.Structure):
    _fields_ = (
        ("interface_id", ctypes.c_int),
        ("dxfer_direction", ctypes.c_int),
        ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort),
        ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p),
        ("cmdp", ctypes.c_void_p),
        ("sbp", ctypes.c_void_p),
        ("timeout", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p),
        ("status", ctypes.c_ubyte),
        ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte),
        ("sb_len_wr", ctypes.c_ubyte),
        ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort),
        ("resid", ctypes.c_int),
        ("duration", ctypes.c_uint),
        ("info", ctypes.c_uint),
    )


class _NvmeCommand(ctypes.Structure):
    _fields_ = (
        ("opcode", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("rsvd1", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("cdw2", ctypes.c_uint32),
        ("cdw3", ctypes.c_uint32),
        ("metadata", ctypes.c_uint64),
        ("addr", ctypes.c_uint64),
        ("metadata_len", ctypes.c_uint32),
        ("data_len", ctypes.c_uint32),
        ("cdw10", ctypes.c_uint32),
        ("cdw11", ctypes.c_uint32),
        ("cdw12", ctypes.c_uint32),
        ("cdw13", ctypes.c_uint32),
        ("cdw14", ctypes.c_uint32),
        ("cdw15", ctypes.c_uint32),
        ("timeout_ms", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
    )


def _ask_scsi(descriptor: int) -> Reservation | None:
    answer = ctypes.create_string_buffer(24)
    sense = ctypes.create_string_buffer(32)
    # PERSISTENT RESERVE IN, service action 01h (READ RESERVATION), allocation length in bytes 7 and 8.
    command = ctypes.create_string_buffer(bytes([0x5E, 0x01, 0, 0, 0, 0, 0, 0, len(answer), 0]), 10)
    header = _SgHeader(
        interface_id=ord("S"),
        dxfer_direction=_SG_DXFER_FROM_DEV,
        cmd_len=10,
        mx_sb_len=len(sense),
        dxfer_len=len(answer),
        dxferp=ctypes.addressof(answer),
        cmdp=ctypes.addressof(command),
        sbp=ctypes.addressof(sense),
        timeout=_TIMEOUT_MS,
    )
    fcntl.ioctl(descriptor, _SG_IO, header, True)
    if header.status == _RESERVATION_CONFLICT:
        # Only an old RESERVE(6) of another host conflicts with this command.
        return Reservation("reserved by another host", None)
    if header.status or header.host_status or header.driver_status:
        return None
    return parse_scsi(answer.raw[: len(answer) - max(header.resid, 0)])


def _ask_nvme(descriptor: int) -> Reservation | None:
    report = ctypes.create_string_buffer(_REPORT_BYTES)
    command = _NvmeCommand(
        opcode=_NVME_RESERVATION_REPORT,
        nsid=fcntl.ioctl(descriptor, _NVME_IOCTL_ID),
        addr=ctypes.addressof(report),
        data_len=_REPORT_BYTES,
        cdw10=_REPORT_BYTES // 4 - 1,
        timeout_ms=_TIMEOUT_MS,
    )
    status = fcntl.ioctl(descriptor, _NVME_IOCTL_IO_CMD, command, True)
    return parse_nvme(report.raw) if status == 0 else None
