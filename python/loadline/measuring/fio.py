"""fio, driven as one process a point: started so that it can't outlive us, read while it runs, ended cleanly.

Known traps of fio and how each is met: docs/background/fio.md. Start reading at `Fio.execute`.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadline._core import Interval, Job, StatusStream
from loadline.errors import InputError, TargetError, ToolError
from loadline.workload.plan import Point
from loadline.workload.profile import Closed

# Those of Linux that take direct I/O, the one that costs less first.
_ASYNCHRONOUS = ("io_uring", "libaio")

#: `null` reaches no target: it shows what the load generator itself can do.
ENGINES = (*_ASYNCHRONOUS, "null")

#: For the export of an NBD server.
NBD = "nbd"

# What fio says on standard output once it was asked to end.
_FAREWELL = "terminating on signal 2"

#: Oldest fio whose options and JSON this is written for (Debian 11).
OLDEST = (3, 25)

# Of fio's messages as many lines tell why it failed.
_TOLD = 2

log = logging.getLogger("loadline")

_TICK_NS = 10**9
_GRACE_NS = 60 * 10**9
_END_NS = 15 * 10**9

# What fio ends with once SIGINT has made it complete and report.
_ENDED_BY_SIGINT = 128

# PR_SET_PDEATHSIG by setpriv, and then a look whether the parent died before it took effect.
_LEASH = ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"', "sh"]


@dataclass(slots=True)
class Outcome:
    """What one fio process left: totals by reporting group, intervals in order, and why it failed if it did."""

    jobs: list[Job] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    error: str | None = None
    tool_failed: bool = False
    ended_at_ns: int = 0
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fio:
    """An installed fio and the engine to be used."""

    program: str
    version: str
    engine: str

    def execute(
        self,
        job: str,
        target: Path | str | None,
        folder: Path,
        limit_ns: int | None,
        *,
        read_only: bool = False,
        status_s: int | None = 1,
        on_interval: Callable[[Interval], bool] | None = None,
        on_bytes: Callable[[Mapping[str, int]], None] | None = None,
        on_tick: Callable[[int], str | None] | None = None,
    ) -> Outcome:
        """Runs `job` against `target` and keeps the job, fio's raw output and its messages in `folder`.

        Args:
            target: a path, or the address of an NBD server where the engine is `nbd`; None: the job names its own.
            limit_ns: how long the job is meant to take; a minute over it counts as hung. None: no limit.
            status_s: how often it's asked for a status, beside that at its end; None: never.
            on_interval: is given each interval as it completes, and ends the job, as if its time were over, by True;
            on_bytes: is given the bytes that each of its jobs has written so far, each second.
            on_tick: is called once a second with the wall clock (ns); a text that it returns ends the job as failed.

        Raises:
            ToolError: fio can't be started. OSError: `folder` can't be written. Whatever is raised here or by a
            callback (KeyboardInterrupt too), fio has ended before it leaves this function.
        """
        if isinstance(target, str):
            job = job.replace("ioengine=nbd\n", f"ioengine=nbd\nuri={target}\n", 1)
        (folder / "job.fio").write_text(job)
        command = [
            *_LEASH,
            str(os.getpid()),
            self.program,
            "--output-format=json+",
            "--eta=never",
        ]
        command += [] if status_s is None else [f"--status-interval={status_s}"]
        command += ["--readonly"] if read_only else []
        command += [f"--filename={filename(target, folder)}"] if isinstance(target, Path) else []
        command += ["job.fio"]
        log.info("in %s: %s", folder, shlex.join(command[len(_LEASH) + 1 :]))
        with (
            (folder / "fio.stderr").open("wb") as stderr,
            gzip.open(folder / "fio.json.gz", "wb", compresslevel=1) as raw,
        ):
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    process_group=0,  # Ctrl-C is for us; we end fio
                    env={**os.environ, "LC_ALL": "C"},
                )
            except OSError as error:
                raise ToolError(
                    f"{command[0]} can't be started: {error.strerror}", "apt install util-linux fio"
                ) from None
            stream = StatusStream()
            watch = _Watch(process, raw, stream, limit_ns, on_interval, on_bytes, on_tick)
            watch.run()
        return self._outcome(process.returncode, watch, folder)

    def _outcome(self, code: int, watch: _Watch, folder: Path) -> Outcome:
        stream = watch.stream
        warnings = [warning for warning in stream.warnings if _FAREWELL not in warning]
        outcome = Outcome(stream.jobs, watch.intervals, ended_at_ns=time.time_ns(), warnings=warnings)
        said = _cause((folder / "fio.stderr").read_text("utf-8", "replace"))
        failed = next((job for job in outcome.jobs if job.error), None)
        if watch.stopped:
            outcome.error = watch.stopped
        elif failed is not None:
            # A failed connection is errno 1 whatever the reason, which is in fio's messages.
            outcome.error = f"fio's job {failed.name}: {os.strerror(failed.error)} (errno {failed.error}){said}"
        elif code < 0 or code > 128:
            number = -code if code < 0 else code - 128
            outcome.error, outcome.tool_failed = f"fio was killed by {_signal_name(number)}", True
        elif (code and not (watch.enough and code == _ENDED_BY_SIGINT)) or not outcome.jobs:
            outcome.error, outcome.tool_failed = f"fio ended with code {code}{said or ': it said nothing'}", True
        elif not any(job.read.ios or job.write.ios for job in outcome.jobs):
            outcome.error = "no I/O completed in the measured time"
        return outcome


class _Watch:
    """The reading of one fio process: statuses as they come, a tick a second, a limit."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        raw: gzip.GzipFile,
        stream: StatusStream,
        limit_ns: int | None,
        on_interval: Callable[[Interval], bool] | None,
        on_bytes: Callable[[Mapping[str, int]], None] | None,
        on_tick: Callable[[int], str | None] | None,
    ) -> None:
        self.stream = stream
        self.intervals: list[Interval] = []
        self.stopped: str | None = None
        self.enough = False
        self._kill_at_ns: int | None = None
        self._silent = False
        # Ticks are even and never go back, also when the wall clock is set meanwhile.
        self._wall_offset_ns = time.time_ns() - time.monotonic_ns()
        self._process = process
        self._raw = raw
        self._limit_ns = limit_ns
        self._on_interval = on_interval
        self._on_bytes = on_bytes
        self._on_tick = on_tick

    def run(self) -> None:
        """Until fio has closed its output and ended; if anything is raised meanwhile, fio is ended first."""
        try:
            self._read()
        except BaseException:
            self._silent = True
            try:
                self._stop("ended")
                self._read()
            except BaseException:
                self._signal(signal.SIGKILL)  # asked twice: at once
                raise
            raise
        self.stream.finish()

    def _read(self) -> None:
        """Takes fio's output until it ends, and then waits for the process, with a tick a second all the while."""
        assert self._process.stdout is not None
        stdout = self._process.stdout
        started = tick = time.monotonic_ns()
        with selectors.DefaultSelector() as selector:
            if not stdout.closed:
                selector.register(stdout, selectors.EVENT_READ)
            while True:
                now = time.monotonic_ns()
                if now >= tick:
                    self._tick(now - started, now)
                    tick += _TICK_NS * (1 + (now - tick) // _TICK_NS)
                patience_s = max(0, tick - time.monotonic_ns()) / 1e9
                if stdout.closed:
                    try:
                        self._process.wait(patience_s)
                    except subprocess.TimeoutExpired:
                        continue
                    return
                if selector.select(patience_s):
                    data = os.read(stdout.fileno(), 1 << 20)
                    if not data:
                        selector.unregister(stdout)
                        stdout.close()
                    elif not self._silent:
                        self._take(data)

    def _take(self, data: bytes) -> None:
        self._raw.write(data)
        for interval in self.stream.feed(data):
            self.intervals.append(interval)
            if self._on_interval is not None and self._on_interval(interval) and self._kill_at_ns is None:
                self.enough = True
                self._end()
        if self._on_bytes is not None:
            self._on_bytes({job.name: job.write.bytes for job in self.stream.jobs})

    def _tick(self, elapsed_ns: int, now_ns: int) -> None:
        if self._kill_at_ns is not None:
            if now_ns > self._kill_at_ns + _END_NS:
                raise TargetError(
                    f"fio (pid {self._process.pid}) can't be ended: it hangs in the kernel",
                    "The target doesn't answer. Look at the kernel's log (dmesg) for errors of the device.",
                )
            if now_ns > self._kill_at_ns:
                self._signal(signal.SIGKILL)
            return
        reason = self._on_tick(now_ns + self._wall_offset_ns) if self._on_tick is not None else None
        if reason is None and self._limit_ns is not None and elapsed_ns > self._limit_ns + _GRACE_NS:
            reason = f"fio did not end {_GRACE_NS // 10**9} s after its time"
        if reason is not None:
            self._stop(reason)

    def _stop(self, reason: str) -> None:
        """Asks fio to end, so that it completes what is outstanding; `_tick` ends it by force if it doesn't."""
        self.stopped = reason
        self._end()

    def _end(self) -> None:
        self._kill_at_ns = time.monotonic_ns() + _END_NS
        self._signal(signal.SIGINT)

    def _signal(self, number: signal.Signals) -> None:
        """To fio's whole process group, which is its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def find(engine: str | None, target: Path | None, logical_block_bytes: int, points: Iterable[Point]) -> Fio:
    """The installed fio, with an engine that works on the target with direct I/O: io_uring, else libaio.

    Where a closed load isn't a power of two, or is searched, it's libaio: with io_uring fio 3.33 has as many I/Os
    outstanding as the next power of two.

    Args:
        engine: take this one instead of probing.
        target: a device or a file; in a directory a small file is made for the question. None: an NBD server's export.

    Raises:
        ToolError: no fio, or too old, or without the engine for NBD.
        InputError: another engine is asked for than the target takes, or than keeps the points' queue depths.
        TargetError: no engine can read the target with direct I/O.
    """
    program, version = _installed()
    if target is None:
        if engine not in {None, NBD}:
            raise InputError(f"engine {engine} can't reach an NBD server", "Leave out --engine.")
        if _ask([program, f"--enghelp={NBD}"]).returncode:
            raise ToolError(
                f"{program} has no engine for NBD", "Take the distribution's fio (Debian, Ubuntu: apt install fio)."
            )
        return Fio(program, version, NBD)
    points = tuple(points)
    if engine is not None:
        check_engine(engine, points)
        return Fio(program, version, engine)
    engines = ("libaio",) if any(map(_rounded, points)) else _ASYNCHRONOUS
    block = max(4096, logical_block_bytes)
    try:
        with tempfile.TemporaryFile(dir=target) if target.is_dir() else target.open("rb") as file:
            if target.is_dir():
                file.write(bytes(block))
                file.flush()
            return Fio(program, version, _probe(program, target, file.fileno(), block, engines))
    except OSError as error:
        raise TargetError(f"{target} can't be tried: {error.strerror}", "Check its permissions and its room.") from None


def check_engine(engine: str, points: Iterable[Point]) -> None:
    """InputError if loadline doesn't drive it, or if it doesn't keep the queue depth of a point."""
    if engine not in ENGINES:
        raise InputError(f"engine {engine[:40]!r} is not one that loadline drives", f"Known: {', '.join(ENGINES)}.")
    rounded = next((point.name for point in points if _rounded(point)), None)
    if rounded and engine == "io_uring":
        raise InputError(
            f"with engine io_uring fio may round queue depths up to a power of two, also that of {rounded}",
            "Leave out --engine, or give --engine libaio.",
        )


def _installed() -> tuple[str, str]:
    """fio and its version. ToolError if there is none, or one too old, or without what starts it."""
    program = shutil.which("fio")
    if program is None:
        raise ToolError("fio is not installed", "Debian, Ubuntu: apt install fio. Fedora: dnf install fio.")
    for tool in ("setpriv", "sh"):
        if shutil.which(tool) is None:
            raise ToolError(f"{tool} is not installed", "Debian, Ubuntu: apt install util-linux.")
    answer = _ask([program, "--version"])
    match = re.search(r"fio-(\d{1,4})\.(\d{1,4})", answer.stdout)
    if match is None:
        raise ToolError(f"{program} --version says {answer.stdout.strip()[:80]!r}, not a version", "Is this fio?")
    if (int(match[1]), int(match[2])) < OLDEST:
        raise ToolError(
            f"{program} is version {match[1]}.{match[2]}; loadline needs {OLDEST[0]}.{OLDEST[1]} or later",
            "Install a newer fio.",
        )
    return program, answer.stdout.strip()


def _rounded(point: Point) -> bool:
    """Whether it asks, or may ask when it is searched, for a queue depth that is no power of two."""
    if point.ramp is not None and point.ramp.axis == "outstanding":
        return True
    arrivals = [stream.arrival for at in point.grid() for stream in at.streams]
    return any(arrival.queue_depth.bit_count() != 1 for arrival in arrivals if isinstance(arrival, Closed))


def _probe(program: str, target: Path, descriptor: int, block: int, engines: Sequence[str]) -> str:
    # By our own descriptor: a name could hold what fio doesn't take, and a file without one is never left behind.
    options = [f"--filename=/proc/{os.getpid()}/fd/{descriptor}", "--rw=randread", f"--bs={block}", f"--size={block}"]
    options += ["--number_ios=1", "--direct=1", "--readonly", "--thread=1", "--iodepth=2", "--allow_file_create=0"]
    said = ""
    for engine in engines:
        answer = _ask([program, "--name=probe", f"--ioengine={engine}", *options, "--eta=never"])
        if answer.returncode == 0:
            return engine
        said = next(iter((answer.stderr.strip() or answer.stdout.strip()).splitlines()), "nothing")[:200]
    raise TargetError(
        f"{' and '.join(engines)} can't read {target} with direct I/O; fio says: {said}",
        "Some file systems (ecryptfs, old tmpfs) have no direct I/O: choose another directory.",
    )


def _ask(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or error
        raise ToolError(f"{command[0]} does not answer: {why}", "Try it by hand: fio --version") from None


def filename(target: Path, folder: Path, link_name: str = "target") -> str:
    """The target as fio's `filename` takes it, in a process whose current directory is `folder`.

    A colon is escaped, for it parts several files. fio cuts names at `#` and `;` and reads `\\` and `,` its own way, so
    such a target gets a link of a plain name.
    """
    if re.fullmatch(r"[A-Za-z0-9/._+@!:=-]+", str(target)):
        return str(target).replace(":", "\\:")
    link = folder / link_name
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    return link_name


def _cause(messages: str) -> str:
    """The end of fio's messages, where each of many jobs may have said the same, behind a colon; empty without any."""
    lines = [line.strip().removeprefix("fio: ") for line in messages.splitlines() if _FAREWELL not in line]
    last = list(dict.fromkeys(line for line in reversed(lines) if line))[:_TOLD]
    return ": " + "; ".join(reversed(last))[:300] if last else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
