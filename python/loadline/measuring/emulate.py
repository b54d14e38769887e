"""Emulated systems: a described system, served as a block device in real time by threads of the core.

Start reading at `describe`, then `serve`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import queue
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from loadline import _core
from loadline.errors import InputError, TargetError
from loadline.measuring import nbd
from loadline.result.schema import Flow
from loadline.system.description import CATALOG, System, load_system, unroll
from loadline.system.drive import drive_figures, drive_text
from loadline.system.refusal import refusal
from loadline.units import format_bytes, format_size, parse_bytes

#: What serves an emulated system, and its counters.
Emulator: TypeAlias = "_core.Emulator"
Served: TypeAlias = "_core.Served"

#: What the data of an emulated device may take of memory unless somebody says.
MEMORY_BYTES = 1 << 30

_FOLDER, _SOCKET = "loadline-emulate-", "nbd.sock"
_PATIENCE_S = 5.0

#: Where an emulated system is the target of a run.
PREFIX = "emulated:"


@dataclass(frozen=True, slots=True)
class Emulated:
    """A system that can be emulated.

    Attributes:
        system: its description, with all that was set in it; core: the same, built.
        size_bytes: of the device.
    """

    system: System
    core: _core.System
    size_bytes: int

    @property
    def write_cache_bytes(self) -> int | None:
        """Its controller's write cache, 0 for none; None where drives have one of their own, and of stations."""
        figures = {key: value for key, value, _ in self.system.figures()}
        of_drives = figures.get("pool.write_cache")
        if of_drives is None and self.system.drive is not None:
            stated = drive_figures(self.system.drive, self.system.beside)
            of_drives = next(value for key, value, _ in stated if key == "cache.write_back")
        if of_drives != "false":
            return None
        return parse_bytes(figures["cache.write"]) if figures.get("cache.mode") == "write-back" else 0

    @property
    def identity(self) -> dict[str, str | int]:
        """What makes it the same system tomorrow: name or path, description, that of its drives, and settings."""
        name = self.system.name if self.system.path.parent == CATALOG else str(self.system.path.resolve())
        texts = [self.system.text]
        if self.system.drive is not None:
            texts.append(drive_text(self.system.drive, self.system.beside)[1])
        return {
            "path": PREFIX + name,
            "description_sha256": hashlib.sha256("\0".join(texts).encode()).hexdigest(),
            "settings": json.dumps([f"{key}={value}" for key, value in self.system.settings]),
            "size_bytes": self.size_bytes,
        }


def describe(name: str, settings: Sequence[str] = (), size_bytes: int | None = None) -> Emulated:
    """The system of that name or path with settings put in, to be emulated.

    Args:
        size_bytes: of the device: an array's `volume.size`, or what stations pretend to have.

    Raises:
        InputError: no such system, a setting that can't be or that sweeps, stations without a size.
    """
    systems = unroll(load_system(name), settings)
    if len(systems) != 1:
        raise InputError(
            f"--set {' --set '.join(settings)} makes {len(systems)} systems, and one can be emulated at a time",
            "Give one value to each key, and emulate the others after it.",
        )
    system = systems[0]
    core = system.build()
    if core.capacity_bytes is None:
        if size_bytes is None:
            raise InputError(f"{system.said} is made of queueing stations, which have no size", "Give one: --size 10G.")
        return Emulated(system, core, size_bytes)
    if size_bytes in {None, core.capacity_bytes}:
        return Emulated(system, core, core.capacity_bytes)
    size = format_bytes(size_bytes)
    size = f"{size}B" if size.isdecimal() else size
    system = replace(system, settings=(*system.settings, ("volume.size", size)))
    core = system.build()
    return Emulated(system, core, core.capacity_bytes or 0)


@contextmanager
def serve(
    emulated: Emulated,
    *,
    seed: int,
    address: str | None = None,
    data: str | None = None,
    memory_bytes: int = MEMORY_BYTES,
    faults: Sequence[str] = (),
) -> Iterator[Emulator]:
    """Serves a system until the end of the `with`, on threads of the core.

    Args:
        seed: of all that is drawn in the model.
        address: an absolute path for a Unix socket, or HOST:PORT; by default a socket in a folder of its own.
        data: a file that keeps what is written; by default memory does, `memory_bytes` at most.
        faults: sentences such as `drive 2 fails at 60s`.

    Raises:
        InputError: a fault or an address that can't be. TargetError: the socket or the file can't be had.
    """
    _sweep()
    # No folder but for its own socket: those are swept when nobody listens there any more.
    folders = nullcontext("") if address else tempfile.TemporaryDirectory(prefix=_FOLDER)
    with folders as folder:
        place = address or str(Path(folder) / _SOCKET)
        try:
            emulator = _core.Emulator(
                emulated.core,
                address=place,
                size_bytes=emulated.size_bytes,
                seed=seed,
                data=data,
                memory_bytes=memory_bytes,
                faults=list(faults),
            )
        except ValueError as error:
            raise refusal(emulated.system.said, error) from None
        except OSError as error:
            if data is not None and error.filename == data:
                what, _, remedy = (error.strerror or "").partition(": ")
                raise TargetError(f"{data or repr(data)} {what}", f"{remedy[:1].upper()}{remedy[1:]}.") from None
            raise TargetError(
                f"{emulated.system.said} can't be served at {error.filename or place}: {error.strerror or error}",
                "Choose another address.",
            ) from None
        try:
            yield emulator
        finally:
            emulator.stop()


@contextmanager
def emulate(
    system: str,
    *,
    settings: Sequence[str] = (),
    size_bytes: int | None = None,
    seed: int = 1,
    address: str | None = None,
    data: str | None = None,
    memory_bytes: int = MEMORY_BYTES,
    faults: Sequence[str] = (),
) -> Iterator[Emulator]:
    """Serves a described system as a block device over NBD until the end of the `with`.

    What it gives has an `address`, for whoever speaks NBD, and `fault(sentence)`, which lets something go wrong.

    Args:
        system: a name of the catalog, or the path of a TOML file.
        settings: `cache.mode=off`; one value to each key.
        size_bytes: of the device: an array's `volume.size`, or what stations pretend to have.
        seed, address, data, memory_bytes, faults: as of `serve`: the model's seed; a path for a Unix socket or
            HOST:PORT; a file that keeps what is written, else memory does, so much at most; sentences such as
            `drive 2 fails at 60s`.

    Raises:
        InputError: no such system, a setting, fault or address that can't be, or stations without a size.
        TargetError: the socket or the file can't be had.
    """
    emulated = describe(system, settings, size_bytes)
    with serve(emulated, seed=seed, address=address, data=data, memory_bytes=memory_bytes, faults=faults) as emulator:
        yield emulator


def durable(uri: str) -> str:
    """The address under which the emulated system at `uri`, a Unix socket, takes each write as O_DSYNC."""
    return uri.replace("nbd+unix:///?", "nbd+unix:///dsync?", 1)


def _sweep() -> None:
    """Takes away the folders of ours whose server was killed: nobody listens at their sockets any more.

    Not those of the last minute, in which a server may be about to listen.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as knock:
            knock.setblocking(False)  # A server that was stopped lets who knocks wait for ever.
            try:
                status = folder.stat()
                if status.st_uid == os.getuid() and status.st_mtime < time.time() - 60:
                    knock.connect(str(folder / _SOCKET))
            except ConnectionRefusedError:
                shutil.rmtree(folder, ignore_errors=True)


def fault(address: str, sentence: str) -> str:
    """Lets something go wrong in a system that another process emulates; gives the sentence as it was understood.

    Args:
        address: as `loadline emulate` printed it.

    Raises:
        InputError: no such fault, or no address. TargetError: no emulated system answers there.
    """
    nbd.parse(address)
    try:
        understood: str = json.loads(ask(address, f"fault {sentence}"))
    except ValueError as error:
        raise refusal(address, error) from None
    except OSError as error:
        raise TargetError(
            f"{address}: no emulated system answers: {error.strerror or error}",
            "Give the address that loadline emulate printed, while it runs.",
        ) from None
    return understood


def ask(address: str, line: str) -> str:
    """What a system that another process emulates answers to a line.

    Raises:
        ValueError: it takes no such line. OSError: nobody answers there, or not within seconds.
    """
    answers: queue.SimpleQueue[str | ValueError | OSError] = queue.SimpleQueue()

    def wait() -> None:
        try:
            answers.put(_core.ask_emulator(address, line))
        except (ValueError, OSError) as error:
            answers.put(error)

    # A server that was stopped is connected to for as long as it likes, and no signal ends that.
    threading.Thread(target=wait, daemon=True).start()
    try:
        answer = answers.get(timeout=_PATIENCE_S)
    except queue.Empty:
        raise TimeoutError(errno.ETIMEDOUT, f"nothing came within {_PATIENCE_S:.0f} s; is it stopped?") from None
    if isinstance(answer, str):
        return answer
    raise answer


def late_share(before: Served | None, after: Served) -> float | None:
    """Share of the answers between two moments that came later than modelled; None without answers."""
    answers, late = (before["answers"], before["late"]) if before else (0, 0)
    return (after["late"] - late) / (after["answers"] - answers) if after["answers"] > answers else None


class Watch:
    """Follows what the emulated systems among a point's targets do while it runs: `emulators`, None of others."""

    def __init__(self, emulators: Sequence[_core.Emulator | None]) -> None:
        self._emulators = emulators
        self._begun = [one and one.stats() for one in emulators]
        # Of each moment, for each target: how long its server ran, and how long its components were busy.
        self._seen: list[tuple[int, list[tuple[int, Mapping[str, int]] | None]]] = []

    def look(self, now_ns: int) -> None:
        """To be called at the end of each interval."""
        stats = [one and one.stats() for one in self._emulators]
        self._seen.append((now_ns, [one and (one["elapsed_ns"], one["busy_ns"]) for one in stats]))

    def late(self, number: int) -> tuple[float, float] | None:
        """The share of a target's answers that came later than modelled, and by what part of the mean response."""
        begun, emulator = self._begun[number], self._emulators[number]
        if not begun or not emulator:
            return None
        ended = emulator.stats()
        share = late_share(begun, ended)
        late_ns = ended["lateness_sum_ns"] - begun["lateness_sum_ns"]
        whole_ns = sum(ended[way] - begun[way] for way in ("read_latency_sum_ns", "write_latency_sum_ns"))
        return None if share is None else (share, late_ns / max(1, whole_ns))

    def utilisation(self, number: int, since_ns: int) -> dict[str, float]:
        """Of the components of a target's system, from the look next to then to the last one.

        Nothing of one look, nor of two that saw less than half of that time: fio's last status comes some ms after the
        one before.
        """
        looks = [(at_ns, one) for at_ns, each in self._seen if (one := each[number])]
        first_ns, (from_ns, before) = min(looks, key=lambda look: abs(look[0] - since_ns), default=(0, (0, {})))
        last_ns, (to_ns, after) = looks[-1] if looks else (0, (0, {}))
        if to_ns <= from_ns or 2 * (last_ns - first_ns) < last_ns - since_ns:
            return {}
        return {name: min(1.0, (busy - before[name]) / (to_ns - from_ns)) for name, busy in after.items()}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was served between two moments. `late_fraction` is None without answers."""

    seconds: float
    all: Flow
    read: Flow
    write: Flow
    late_fraction: float | None


def between(before: Served | None, after: Served) -> Reading:
    """What was served between two moments; without a first one, since the start."""
    since_ns, reads, writes = (before["elapsed_ns"], *_ways(before)) if before else (0, _NONE, _NONE)
    seconds = (after["elapsed_ns"] - since_ns) / 1e9
    now_reads, now_writes = _ways(after)
    reads, writes = now_reads - reads, now_writes - writes
    both = reads + writes
    return Reading(seconds, both.flow(seconds), reads.flow(seconds), writes.flow(seconds), late_share(before, after))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Counters of one way, which can be added and taken off."""

    ios: int
    bytes: int
    latency_ns: int
    bins: Counter[int]

    def __sub__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.ios - other.ios, self.bytes - other.bytes, self.latency_ns - other.latency_ns, self.bins - other.bins
        )

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.ios + other.ios, self.bytes + other.bytes, self.latency_ns + other.latency_ns, self.bins + other.bins
        )

    def flow(self, seconds: float) -> Flow:
        if self.ios == 0 or seconds <= 0:
            return Flow()
        histogram = _core.Histogram(list(self.bins.keys()), list(self.bins.values()))
        return Flow(
            iops=self.ios / seconds,
            bytes_per_s=self.bytes / seconds,
            latency_mean_ns=self.latency_ns / self.ios,
            latency_p99_ns=histogram.percentile_ns(99),
        )


_NONE = _Sums(0, 0, 0, Counter())


def _ways(stats: Served) -> tuple[_Sums, _Sums]:
    read = (stats["read_ios"], stats["read_bytes"], stats["read_latency_sum_ns"], Counter(dict(stats["read_bins"])))
    write = (
        stats["write_ios"],
        stats["write_bytes"],
        stats["write_latency_sum_ns"],
        Counter(dict(stats["write_bins"])),
    )
    return _Sums(*read), _Sums(*write)


def full(stats: Served, memory_bytes: int) -> str | None:
    """A sentence once what is written doesn't fit into memory any more."""
    if stats["stored_bytes"] + (1 << 20) <= memory_bytes:
        return None
    return (
        f"the data take all of {format_size(memory_bytes)}: more is refused (no space left);"
        f" start again with --memory {format_bytes(2 * memory_bytes)} or --data FILE"
    )


def full_disk(data: str) -> str | None:
    """A sentence once the file system of a data file has no room any more."""
    try:
        room = os.statvfs(data)
    except OSError:
        return None
    if room.f_bavail * room.f_frsize >= 1 << 20:
        return None
    return f"the file system of {data} is full: more is refused (no space left)"
