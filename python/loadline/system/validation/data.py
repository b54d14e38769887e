"""Files of measured figures, which others own and which stay outside of the project."""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from loadline.errors import InputError
from loadline.workload.suite import DEPTHS

#: fio's names of loads.
KINDS = ("randread", "randwrite", "read", "write")

_NUMBER = re.compile(r"([0-9.]+)\s*(k?)", re.IGNORECASE)
#: What to do about data that aren't there.
REMEDY = "Name the folder that holds the data with --data, or leave the section out with --only."


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of a table: a random or sequential load of one block size, at one depth."""

    device: str
    workload: str
    block_bytes: int
    outstanding: int
    iops: float


def read(folder: Path, name: str) -> tuple[str, str]:
    """A file's text, and its SHA-256.

    Raises:
        InputError: it isn't there, or is no text.
    """
    path = folder / name
    try:
        data = path.read_bytes()
        return data.decode(), hashlib.sha256(data).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", REMEDY) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8 (byte {error.start})", REMEDY) from None


def table(folder: Path, name: str, depth: str = "iodepth") -> tuple[list[Measured], str]:
    """The lines of a CSV file of fio's figures, and the file's SHA-256. `depth` is the column of I/Os outstanding.

    Raises:
        InputError: no such file, a column that is missing, or a figure that can't be read.
    """
    text, digest = read(folder, name)
    rows = csv.DictReader(text.splitlines())
    wanted = ("device_model", "workload", "block_size", depth, "iops")
    missing = [column for column in wanted if column not in (rows.fieldnames or ())]
    if missing:
        raise InputError(f"{folder / name} has no column {', '.join(missing)}", REMEDY)
    found = []
    for row in rows:
        where = f"{folder / name}:{rows.line_num}"
        kind = (row["workload"] or "").removeprefix("fio ")
        if kind not in KINDS:
            raise InputError(f"{where}: workload is {row['workload']!r}", f"Known: {', '.join(KINDS)}.")
        size = (row["block_size"] or "").removesuffix("iB").removesuffix("B")
        found.append(
            Measured(
                row["device_model"],
                kind,
                round(_number(size, where, "block_size", 1024)),
                _outstanding(row[depth], where, depth),
                _number(row["iops"], where, "iops"),
            )
        )
    if not found:
        raise InputError(f"{folder / name} has no figures", REMEDY)
    return found, digest


def _outstanding(text: str, where: str, column: str) -> int:
    value = round(_number(text, where, column))
    least, most = DEPTHS
    if not least <= value <= most:
        message = f"{where}: {column} is {text!r}, which should be from {least} to {most:,}"
        raise InputError(message, "Mend the file.")
    return value


def _number(text: str, where: str, column: str, kilo: int = 1000) -> float:
    """A number, perhaps with a k for `kilo`."""
    match = _NUMBER.fullmatch((text or "").strip())
    try:
        if match is None:
            raise ValueError
        value = float(match[1]) * (kilo if match[2] else 1)
    except ValueError:
        raise InputError(f"{where}: {column} is {text!r}, no number", "Mend the file.") from None
    if value <= 0:
        raise InputError(f"{where}: {column} is {text!r}, which should be above 0", "Mend the file.")
    return value
