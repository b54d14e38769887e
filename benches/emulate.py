"""Does an emulated device answer when it should, and as fast as it may? By fio's nbd engine over a Unix socket.

A fixed latency of 1 ms beside nbdkit's delay filter and qemu-nbd's null-co, and memory without a delay beside nbdkit's
memory plugin: 4k random reads, one connection, depth 1 and 32. Peers take turns. It is also measured how much of
two cores the machine takes in stretches of 0.1 ms and more. `python benches/emulate.py` does these alone.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import machine
from compared import Compared, spread

from loadline import _core
from loadline.reporting.table import Group, Table

SIZE_BYTES = 1 << 30
DELAY_NS = 1_000_000
DEPTHS = (1, 32)
_LOOK_NS = 3_000_000_000

#: Serves at a socket until the end of the `with`; gives the URI.
Server = Callable[[Path], AbstractContextManager[str]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What fio saw."""

    iops: float
    mean_ns: float
    p99_ns: float


def compare(folder: Path, pairs: int, runtime: str = "2s") -> list[Compared]:
    """Rows of the table; `folder` is for sockets, `runtime` that of a point."""
    rows = []
    taken = [machine.taken(2, _LOOK_NS)]
    for depth in DEPTHS:
        peers: dict[str, Server] = {"ours": ours(DELAY_NS), "nbdkit": nbdkit_delay, "qemu-nbd": qemu_null}
        seen = alternate(peers, folder, depth, pairs, runtime)
        for peer in ("nbdkit", "qemu-nbd"):
            rows += [_latency(f"1 ms, depth {depth}", seen["ours"], seen[peer], peer)]
        taken.append(machine.taken(2, _LOOK_NS))
        rows.append(_tail(f"1 ms, depth {depth}, p99", seen["ours"], seen["nbdkit"], statistics.mean(taken[-2:])))
    for depth in DEPTHS:
        seen = alternate({"ours": ours(0), "nbdkit": nbdkit_memory}, folder, depth, pairs, runtime)
        ratios = [one.iops / other.iops for one, other in zip(seen["ours"], seen["nbdkit"], strict=True)]
        figure = statistics.median(ratios)
        rows.append(
            Compared(
                f"memory, depth {depth}",
                f"{statistics.median(it.iops for it in seen['ours']):,.0f}/s",
                f"{statistics.median(it.iops for it in seen['nbdkit']):,.0f}/s (nbdkit)",
                f"x {figure:.2f}",
                spread(ratios),
                ">= 1",
                figure >= 1,
            )
        )
    return rows


def _latency(what: str, ours: list[Seen], peers: list[Seen], peer: str) -> Compared:
    means = [it.mean_ns / 1e6 for it in ours]
    mean = statistics.median(means)
    other = statistics.median(it.mean_ns for it in peers) / 1e6
    figure = f"{100 * (mean - 1):+.1f} % ({100 * (other - 1):+.1f} %)"
    met = abs(mean - 1) <= 0.02
    return Compared(what, f"{mean:.3f} ms", f"{other:.3f} ms ({peer})", figure, spread(means, " ms"), "+- 2 %", met)


def _tail(what: str, ours: list[Seen], peers: list[Seen], taken: float) -> Compared:
    """If the machine holds up one in a hundred whatever is done, what is held up tells nothing of the server."""
    tails = [it.p99_ns / 1e6 for it in ours]
    tail = statistics.median(tails)
    other = statistics.median(it.p99_ns for it in peers) / 1e6
    figure = f"{taken:.1%} of cores taken"
    met = None if tail >= 1.1 and taken > 0.01 else tail < 1.1
    return Compared(what, f"{tail:.3f} ms", f"{other:.3f} ms (nbdkit)", figure, spread(tails, " ms"), "< 1.1 ms", met)


def alternate(servers: dict[str, Server], folder: Path, depth: int, pairs: int, runtime: str) -> dict[str, list[Seen]]:
    """What fio saw of each, taking turns."""
    seen: dict[str, list[Seen]] = {name: [] for name in servers}
    for _ in range(pairs):
        for name, server in servers.items():
            socket = folder / "nbd.sock"
            with server(socket) as uri:
                seen[name].append(fio(uri, depth, runtime))
            socket.unlink(missing_ok=True)
    return seen


def fio(uri: str, depth: int, runtime: str) -> Seen:
    job = ["--name=reads", "--ioengine=nbd", f"--uri={uri}", "--rw=randread", "--bs=4k", f"--iodepth={depth}"]
    times = ["--time_based", f"--runtime={runtime}", "--ramp_time=0.3s", "--output-format=json"]
    done = subprocess.run(["fio", *job, *times], capture_output=True, text=True, check=True)
    read = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    return Seen(read["iops"], read["lat_ns"]["mean"], read["clat_ns"]["percentile"]["99.000000"])


def ours(delay_ns: int) -> Server:
    @contextlib.contextmanager
    def serve(socket: Path) -> Iterator[str]:
        emulator = _core.Emulator(None, address=str(socket), size_bytes=SIZE_BYTES, delay_ns=delay_ns)
        try:
            yield emulator.address
        finally:
            emulator.stop()

    return serve


def nbdkit_delay(socket: Path) -> AbstractContextManager[str]:
    delay = ["--filter=delay", "memory", str(SIZE_BYTES), f"rdelay={DELAY_NS // 1_000_000}ms"]
    return other(["nbdkit", "--foreground", "--unix", str(socket), *delay], socket)


def nbdkit_memory(socket: Path) -> AbstractContextManager[str]:
    return other(["nbdkit", "--foreground", "--unix", str(socket), "memory", str(SIZE_BYTES)], socket)


def qemu_null(socket: Path) -> AbstractContextManager[str]:
    image = f"driver=null-co,size={SIZE_BYTES},latency-ns={DELAY_NS}"
    return other(["qemu-nbd", "--persistent", "--image-opts", "--socket", str(socket), image], socket)


@contextlib.contextmanager
def other(command: list[str], socket: Path) -> Iterator[str]:
    try:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        raise SystemExit(f"there is no {command[0]}: scripts/tools test") from None
    uri = f"nbd+unix:///?socket={socket}"
    try:
        # The socket is there before anybody listens; who is told to wait is answered when the server is ready.
        while subprocess.run(["nbdinfo", "--size", uri], capture_output=True, check=False).returncode:
            if server.poll() is not None:
                raise SystemExit(f"{command[0]} ended with {server.returncode}")
        yield uri
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(Path(folder), pairs=int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    heads = ("what", "ours", "peer", "compared", "spread", "bar", "met")
    cells = tuple((row.what, row.ours, row.peer, row.figure, row.spread, row.bar, row.verdict) for row in rows)
    print(Table(heads, (Group("", cells),), frozenset({0})).plain(), end="")


if __name__ == "__main__":
    main()
