"""`loadline emulate SYSTEM`."""

from __future__ import annotations

import json
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click

from loadline.cli import choice, output
from loadline.cli.progress import is_screen
from loadline.errors import InputError, ToolError
from loadline.measuring import block
from loadline.measuring.block import Attached
from loadline.measuring.emulate import (
    MEMORY_BYTES,
    Emulator,
    Reading,
    Served,
    between,
    describe,
    full,
    full_disk,
    serve,
)
from loadline.reporting.table import milliseconds
from loadline.units import format_duration, format_size

_LOOPBACK = "127.0.0.1:10809"
_LATE = 0.01
_ONE_KEY_NS = 500_000_000


def _address(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """Looked at before SYSTEM is missed: a system behind --tcp is taken for its address."""
    if given is not None and (given.startswith("/") or ":" not in given):
        remedy = "Write it like 127.0.0.1:10809, or nothing, but then SYSTEM before it; a path goes with --listen."
        raise InputError(f"--tcp {given!r} isn't HOST:PORT", remedy)
    return given


@click.command("emulate")
@click.argument("system", shell_complete=choice.complete_system)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change the system; may be repeated.")
@click.option("--size", metavar="SIZE", help="Size of the device; else the volume's.")
@click.option("--seed", type=click.IntRange(1, 2**31 - 1), default=1, metavar="N", help="Of all that is drawn; else 1.")
@click.option("--data", metavar="FILE", help="Keep what is written in FILE, also after the end; else in memory.")
@click.option("--memory", metavar="SIZE", help="The most that data take of memory; else 1 GiB.")
@click.option("--listen", metavar="PATH", help="The Unix socket; else one in a folder of its own.")
@click.option(
    "--tcp",
    is_flag=False,
    flag_value=_LOOPBACK,
    callback=_address,
    metavar="[HOST:PORT]",
    help=f"Listen on TCP; else on {_LOOPBACK}.",
)
@click.option("--block", "as_block", is_flag=True, help="Make a block device of it as well; needs root and nbdfuse.")
@click.option("--fault", "faults", multiple=True, metavar="FAULT", help="What goes wrong; see `loadline fault --help`.")
@click.option("--for", "span", metavar="TIME", help="End by itself after that time, such as 60s.")
@output.common
def command(
    system: str,
    settings: tuple[str, ...],
    size: str | None,
    seed: int,
    data: str | None,
    memory: str | None,
    listen: str | None,
    tcp: str | None,
    as_block: bool,
    faults: tuple[str, ...],
    span: str | None,
    as_json: bool,
) -> int:
    """Serve SYSTEM as a network block device in real time, until Ctrl-C.

    SYSTEM is a name (see `loadline systems`) or the path of a TOML file. Its address is printed first, for any program
    that speaks NBD: fio, qemu, nbd-client, loadline run. Requests are answered when the modelled system would answer
    them, and data are real: what was written is read back. With --json, one object a line: at the start and at the end.
    """
    if listen is not None and tcp is not None:
        raise InputError("--listen and --tcp are both given", "Leave out one: it listens at one address.")
    span_ns = choice.duration("--for", span)
    memory_bytes = choice.size(memory, "--memory") or MEMORY_BYTES
    emulated = describe(system, settings, choice.size(size))
    if as_block:
        block.check()
    serving = serve(
        emulated,
        seed=seed,
        address=tcp or (None if listen is None else str(Path(listen).absolute())),
        data=data,
        memory_bytes=memory_bytes,
        faults=faults,
    )
    with _until_asked() as end, serving as emulator:
        with _attached(emulator) if as_block else nullcontext() as device:
            _say_start(emulated.system.said, emulated.size_bytes, emulator, device, as_json=as_json)
            store = memory_bytes if data is None else data
            lost = _watch(emulated.system.said, emulator, device, end, span_ns, store)
        _say_end(emulator, as_json=as_json)
    if lost is not None:
        raise lost
    return 0


@contextmanager
def _attached(emulator: Emulator) -> Iterator[Attached]:
    """The block device, until the end of the `with`; what file systems on it still have to write isn't held up then."""

    def held(device: str) -> None:
        output.note(
            f"{device} is still in use, and is waited for; Ctrl-C again doesn't wait, and loses what isn't written"
        )

    with block.attached(emulator.address, held) as device:
        try:
            yield device
        finally:
            emulator.fault("clear")


@contextmanager
def _until_asked() -> Iterator[threading.Event]:
    """An event that Ctrl-C, SIGTERM and the end of the terminal set, meanwhile; any of them after that interrupts."""
    asked = threading.Event()
    asked_ns = 0

    def ask(_: int, __: object) -> None:
        nonlocal asked_ns
        # Programs that start others may pass on what the terminal has sent to all: that is still the first one.
        if asked.is_set() and time.monotonic_ns() - asked_ns > _ONE_KEY_NS:
            raise KeyboardInterrupt
        asked_ns = asked_ns or time.monotonic_ns()
        asked.set()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if number == signal.SIGINT or handler is not signal.SIG_IGN:
            signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_start(said: str, size_bytes: int, emulator: Emulator, device: Attached | None, *, as_json: bool) -> None:
    if as_json:
        name = None if device is None else device.name
        _object(event="serving", system=said, address=emulator.address, size_bytes=size_bytes, device=name)
        return
    output.say(emulator.address)
    output.warn(f"{said} is served, {format_size(size_bytes)}; Ctrl-C ends it")
    if device is not None:
        output.say(device.name)
    output.note(f"with NBD in the kernel: {_client(emulator.address)}")
    output.note(f"faults: loadline fault {shlex.quote(emulator.address)} 'latency x10 for 30s'")


def _client(address: str) -> str:
    if address.startswith("nbd+unix"):
        return f"nbd-client -unix {shlex.quote(unquote(address.partition('socket=')[2]))} /dev/nbd0"
    host, _, port = address.removeprefix("nbd://").rpartition(":")
    return f"nbd-client {host.strip('[]')} {port} /dev/nbd0"


def _object(**body: Any) -> None:
    output.say(json.dumps({"format": 1, **body}, ensure_ascii=False))


def _watch(
    said: str,
    emulator: Emulator,
    device: Attached | None,
    end: threading.Event,
    span_ns: int | None,
    store: int | str,
) -> ToolError | None:
    """Shows what is served once a second, and says what happens, until it's to end; gives what was lost meanwhile.

    Args:
        store: bytes of memory that data may take, or the file that has them.
    """
    began_ns, last = time.monotonic_ns(), emulator.stats()
    complaint, lasting, lost = _Once(store), _Lasting(), None
    with _shown(said) as show:
        over = False
        while not over:
            over = end.wait(_wait_s(began_ns, span_ns)) or _is_over(began_ns, span_ns)
            now = emulator.stats()
            happened = emulator.events()
            for said_of in (*happened, *lasting.look(now["active"], happened)):
                output.warn(output.short_times(said_of))
            reading = between(last, now)
            complaint.look(now, reading)
            show(now, reading)
            last = now
            if device is not None and not device.works:
                output.warn(f"nbdfuse has ended: {device.name} gives only I/O errors, and is taken down")
                return ToolError(f"nbdfuse ended, and {device.name} with it", "See dmesg | tail, and start again.")
            if device is not None and not device.is_kept and lost is None:
                output.warn(
                    f"the shell that keeps {device.name} was killed: the device goes on, and is taken down at the end,"
                    " but after kill -9 only when the next one is made"
                )
                lost = ToolError(f"the shell that kept {device.name} was killed", "The device was taken down without.")
    return lost


def _is_over(began_ns: int, span_ns: int | None) -> bool:
    return span_ns is not None and time.monotonic_ns() - began_ns >= span_ns


def _wait_s(began_ns: int, span_ns: int | None) -> float:
    left_ns = 10**9 if span_ns is None else span_ns - (time.monotonic_ns() - began_ns)
    return max(0.0, min(10**9, left_ns) / 1e9)


class _Lasting:
    """Tells that faults begin and end: those that last, which the server only tells to be in force."""

    # Drives aren't as good as new in other words, and the server tells of them itself.
    _SENTENCE = re.compile(r"(.+ from \S+)(?: to \S+)?")

    def __init__(self) -> None:
        self._on: dict[str, str] = {}

    def look(self, active: Sequence[str], told: Sequence[str]) -> list[str]:
        """Sentences on what began or ended since the last look; what began as it was ordered has just been told.

        Args:
            active: what is in force.
            told: what happened meanwhile.
        """
        # A `clear` that is to come changes when one ends, and nothing else.
        on = {match[1]: one for one in active if (match := self._SENTENCE.fullmatch(one))}
        before, self._on = self._on, on
        begun = [f"begins: {one}" for key, one in on.items() if key not in before and one not in told]
        return [*(f"has ended: {one}" for key, one in before.items() if key not in on), *begun]


class _Once:
    """Says what is wrong when it begins, not each second."""

    def __init__(self, store: int | str) -> None:
        self._store = store
        self._failed = 0
        self._late = self._full = False

    def look(self, now: Served, reading: Reading) -> None:
        late = reading.late_fraction is not None and reading.late_fraction > _LATE
        if late and not self._late:
            output.warn(
                f"{reading.late_fraction:.1%} of the answers come later than modelled: too much for this machine's CPU"
            )
        self._late = late
        said = None
        if isinstance(self._store, int):
            said = full(now, self._store)
        elif now["failed"] > self._failed:
            said = full_disk(self._store)
        self._failed = now["failed"]
        if said is not None and not self._full:
            self._full = True
            output.warn(said)


@contextmanager
def _shown(said: str) -> Iterator[Callable[[Served, Reading], None]]:
    if not is_screen():
        yield lambda _now, _reading: None
        return
    from loadline.cli.live import serving

    with serving(f"{said}, emulated") as show:
        yield show


def _say_end(emulator: Emulator, *, as_json: bool) -> None:
    stats = emulator.stats()
    whole = between(None, stats)
    if as_json:
        plain = {key: value for key, value in stats.items() if not key.endswith("_bins")}
        _object(event="ended", **plain, late_fraction=whole.late_fraction)
        return
    if not stats["answers"]:
        output.warn(f"served nothing in {format_duration(stats['elapsed_ns'])}")
        return
    answers = stats["read_ios"] + stats["write_ios"]
    mean = milliseconds(whole.all.latency_mean_ns)
    failed = f"; {stats['failed']:,} requests failed" if stats["failed"] else ""
    output.warn(
        f"served {answers:,} reads and writes in {format_duration(stats['elapsed_ns'])}, mean {mean} ms; "
        f"{whole.late_fraction or 0:.2%} of the answers came late{failed}; "
        f"data took {format_size(stats['stored_bytes'])}"
    )
