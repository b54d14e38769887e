"""What is written on a device: partition tables and signatures that libblkid knows. Start at `signatures`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadline.errors import InputError, TargetError, ToolError
from loadline.host.device import BlockDevice
from loadline.host.roots import HERE, Roots
from loadline.host.tool import Run, ToolOutput, run_tool

_PROBE_BYTES = 4096
_BLKID_NOTHING = 2
_BLKID_AMBIVALENT = 8


What = Literal["partition table", "signature"]


@dataclass(frozen=True, slots=True)
class Signature:
    """One thing found, as a person would call it."""

    kind: What
    detail: str


def signatures(device: BlockDevice, roots: Roots = HERE, run: Run = run_tool) -> tuple[Signature, ...]:
    """Partition tables and signatures that libblkid knows, by blkid's probing and by wipefs' list.

    blkid stops at the first convincing one; wipefs lists each, but knows no signature without magic bytes.

    Raises:
        ToolError: blkid or wipefs is missing or failed.
        TargetError: the device can't be read.
        InputError: we may not read the device.
    """
    if not roots.recorded:
        # blkid's exit code doesn't tell "nothing there" from "could not read".
        _read_ends(device)
    found = _listed(device, run)
    kinds = {use.kind for use in found}
    found += [use for use in probed(device, run) if use.kind not in kinds]
    return tuple(found)


def _read_ends(device: BlockDevice) -> None:
    try:
        descriptor = os.open(device.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for offset in (0, max(0, device.size_bytes - _PROBE_BYTES)):
                os.pread(descriptor, _PROBE_BYTES, offset)
        finally:
            os.close(descriptor)
    except PermissionError as error:
        raise InputError(
            f"{device.path}: {error.strerror}", "Devices are measured as root: run it with sudo."
        ) from error
    except OSError as error:
        raise TargetError(
            f"{device.path} can't be read: {error.strerror}", "See the kernel's log: dmesg | tail"
        ) from error


def _tool(command: Sequence[str], run: Run) -> ToolOutput:
    output = run(command)
    if output is None:
        raise ToolError(
            f"{command[0]} is not installed, so signatures on {command[-1]} can't be ruled out",
            "Install util-linux (on some distributions blkid is a package of its own).",
        )
    return output


def _failed(command: Sequence[str], output: ToolOutput) -> ToolError:
    said = (output.stderr or output.stdout).strip() or "without a word"
    how = "ran out of time" if output.code is None else f"failed with exit code {output.code}"
    return ToolError(f"{' '.join(command)} {how}: {said}", "Until it works, loadline can't rule out signatures.")


def probed(device: BlockDevice, run: Run = run_tool) -> list[Signature]:
    """What blkid makes of the device: the first convincing thing.

    Raises:
        ToolError: blkid is missing or failed.
    """
    command = ["blkid", "-p", "-o", "export", str(device.path)]
    output = _tool(command, run)
    if output.code == _BLKID_NOTHING and not output.stderr.strip():
        return []
    if output.code == _BLKID_AMBIVALENT:
        return [Signature("signature", "several that contradict each other, says blkid")]
    if output.code != 0:
        raise _failed(command, output)
    tags = dict(line.split("=", 1) for line in output.stdout.splitlines() if "=" in line)
    found: list[Signature] = []
    if "PTTYPE" in tags:
        found.append(Signature("partition table", tags["PTTYPE"]))
    if "TYPE" in tags or "USAGE" in tags:
        label = f", label {tags['LABEL']}" if tags.get("LABEL") else ""
        found.append(Signature("signature", f"{tags.get('TYPE', tags.get('USAGE'))}{label}"))
    return found


def _listed(device: BlockDevice, run: Run) -> list[Signature]:
    command = ["wipefs", "--no-act", "--json", "--output", "OFFSET,TYPE,USAGE,LABEL", str(device.path)]
    output = _tool(command, run)
    if output.code != 0:
        raise _failed(command, output)
    if not output.stdout.strip():
        return []
    found: dict[tuple[What, str], list[str]] = {}
    try:
        for entry in json.loads(output.stdout)["signatures"]:
            kind: What = "partition table" if entry["usage"] == "partition-table" else "signature"
            label = f", label {entry['label']}" if entry["label"] else ""
            places = found.setdefault((kind, f"{entry['type']}{label}"), [])
            places.append(f"at byte {int(entry['offset'], 16)}")
    except (ValueError, KeyError, TypeError) as error:
        raise _failed(command, output) from error
    # ZFS alone has magic bytes in up to 512 places.
    return [
        Signature(kind, f"{what} {places[0]}" + (f" and {len(places) - 1} more" if places[1:] else ""))
        for (kind, what), places in found.items()
    ]
