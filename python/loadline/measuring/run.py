"""Fills a plan's points, one fio run each, into a run folder; `resume` fills those that are missing.

The order is the safety: find, guard, look, say what will be done, be told to go on, hold, and only then write.
Start reading at `run`.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadline._core import Histogram
from loadline.errors import InputError, InterruptedRun, RefusedError, StoreError, TargetError
from loadline.host import provenance
from loadline.host.link import ceiling_bytes_per_s
from loadline.host.roots import HERE, Roots
from loadline.measuring import event, fio, journal, preparing, ramp, rounds, target
from loadline.measuring.point import measure
from loadline.result.schema import Result
from loadline.result.store import Run, Store, begin_point, begin_ramp, commit_point, locked, write_json, writing
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import Suite, load_suite

#: Assumed where sysfs names no link rate: four lanes of PCIe 4.
ASSUMED_CEILING_BYTES_PER_S = 8e9

#: Ours a point, beside its run time and warm-up: fio's start and end.
POINT_OVERHEAD_NS = 500_000_000

log = logging.getLogger("loadline")


@dataclass(frozen=True, slots=True)
class Session:
    """The world of one call: where results go, who listens, and what a test may replace."""

    store: Store
    listen: event.Listener = lambda _: None
    ask: Callable[[event.Planned, str], str | None] | None = None
    engine: str | None = None
    roots: Roots = HERE
    command: tuple[str, ...] = ()


def run(
    suite: str | Suite,
    target_name: str,
    *,
    options: Options = Options(),
    store: str | Path | None = None,
    size_bytes: int | None = None,
    destroy: str | None = None,
    prepare: bool = True,
    each_section: bool = False,
    tags: Mapping[str, str] | None = None,
    declared: Mapping[str, str] | None = None,
    seed: int | None = None,
    engine: str | None = None,
    settings: Sequence[str] = (),
    listen: event.Listener = lambda _: None,
    ask: Callable[[event.Planned, str], str | None] | None = None,
    roots: Roots = HERE,
) -> Run:
    """Measures a target under a suite.

    Args:
        suite: a suite, its name, or the path of a TOML or fio job file.
        target_name: a block device, a file, a directory (a scratch file in it is made and removed), the address of
            an NBD server, or `emulated:SYSTEM`, a described system that is emulated for the run.
        store: the directory of runs; by default `$LOADLINE_STORE`, else `./loadline-runs`.
        size_bytes: how much of the target is used; by default all of it, or 4 GiB of scratch file. Of an emulated
            system, its size.
        destroy: the serial number (or path) of a target that may be overwritten.
        prepare: fill a target that reads as zeros; False: refuse it.
        declared: settings of the system that can't be captured; kept apart from what was.
        seed: for addresses and data; drawn and recorded by default.
        engine: fio's ioengine; by default io_uring or libaio, whichever works.
        settings: what to set in an emulated system, such as `cache.mode=off`.
        listen: is given every event of the run.
        ask: given the plan and what must be typed, gives what was typed; called only without `destroy`.

    Returns:
        The run, with a result for every point; failed points have `error`.

    Raises:
        InputError: the suite, target or options can't be used. RefusedError: the guard says no, or the right serial
        number wasn't given. TargetError, ToolError, StoreError: the target, fio or the store failed.
        InterruptedRun: Ctrl-C; `resume` goes on.
    """
    place = Store.locate(None if store is None else str(store), os.environ)
    session = Session(place, listen, ask, engine, roots, tuple(sys.argv))
    warnings: list[str] = []
    if isinstance(suite, str):
        suite, warnings = load_suite(suite, each_section=each_section)
    seed = random.SystemRandom().randrange(1, 2**31) if seed is None else seed
    points = make_plan(suite, options, seed)
    aim = target.locate(target_name, size_bytes, roots, settings)
    for message in (*warnings, *target.check(aim, roots)):
        listen(event.Warned(message))
    target.check_fits(points, aim)
    loader = _loader(engine, aim)
    preparation = _look(aim, prepare)
    planned = _plan(suite.name, aim, points, preparation)
    listen(planned)
    if planned.destroys:
        _confirm(planned, destroy, session)
    document = {
        "suite": {"name": suite.name, "title": suite.title, "source": suite.source, "analysis": suite.analysis},
        "target": aim.to_json(),
        "points": [point.to_json() for point in points],
        "options": {"prepare": prepare, "engine": engine, "seed": seed},
        "tags": {**_settings(aim), **(tags or {})},
        "declared": dict(declared or {}),
        "sessions": [_session_facts(aim, loader, session)],
    }
    made = place.create(suite.name, aim.given, document, datetime.now())
    with locked(made):
        return _go(made, aim, points, preparation, loader, session)


def resume(
    run_text: str | Run,
    *,
    store: str | Path | None = None,
    listen: event.Listener = lambda _: None,
    roots: Roots = HERE,
) -> Run:
    """Completes a run: the points that are missing or failed, with the same plan, on the same target.

    Raises:
        RefusedError: the target is no longer the same, or the guard says no; else as `run`.
    """
    place = Store.locate(None if store is None else str(store), os.environ)
    made = place.find(run_text) if isinstance(run_text, str) else run_text
    with locked(made):
        made = place.find(str(made.path))
        if made.missing():
            return _go_on(
                made, Session(place, listen, None, made.document["options"]["engine"], roots, tuple(sys.argv))
            )
    listen(event.Warned(f"run {made.id} is complete: there is nothing to resume"))
    return made


def _loader(engine: str | None, aim: target.Target) -> fio.Fio:
    return fio.find(engine, None if aim.kind in {"nbd", "emulated"} else aim.path, aim.logical_block_bytes)


def _settings(aim: target.Target) -> dict[str, str]:
    return {} if aim.emulated is None else dict(aim.emulated.system.settings)


def _go_on(made: Run, session: Session) -> Run:
    aim = _same_target(made, session.roots)
    for message in target.check(aim, session.roots):
        session.listen(event.Warned(message))
    points = made.plan
    target.check_fits(points, aim)
    loader = _loader(session.engine, aim)
    preparation = _look(aim, made.document["options"]["prepare"])
    session.listen(_plan(made.suite, aim, tuple(points[index] for index in made.missing()), preparation))
    made = _rewritten(made, [*made.document["sessions"], _session_facts(aim, loader, session)])
    return _go(made, aim, points, preparation, loader, session)


def _same_target(made: Run, roots: Roots) -> target.Target:
    """The target that the run began with.

    Raises:
        RefusedError: it's gone, or another one now.
    """
    stored = made.document["target"]
    # A link below /dev/disk/by-id finds the device also when the kernel has named it anew.
    name = stored["given"] if stored["given"].startswith("/dev/") else stored["identity"].get("path", stored["path"])
    settings = json.loads(str(stored["identity"].get("settings", "[]")))
    try:
        aim = target.locate(name, stored["used_bytes"], roots, settings)
    except InputError as error:
        remedy = "Bring the same target back, then resume again."
        raise RefusedError(f"run {made.id} can't go on: {error.message}", remedy) from None
    before, now = stored["identity"], dict(aim.identity)
    changed = [
        f"{key} was {before.get(key)!r}, is {now.get(key)!r}"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]
    if changed:
        raise RefusedError(
            f"{name} is not the target that run {made.id} began with: {'; '.join(changed)}",
            "Bring the same target back, or start a new run.",
        )
    return aim


def _go(
    made: Run,
    aim: target.Target,
    points: Sequence[Point],
    preparation: preparing.Preparation,
    loader: fio.Fio,
    session: Session,
) -> Run:
    """One session: fills the points that are missing. The run is locked by the caller."""
    writes = preparation.needed or any(point.writes or _fills(point) for point in points)
    missing = made.missing()
    with _interruptible(made), _logged(made), journal.kept(made, session.listen) as listen:
        session = replace(session, listen=listen)
        try:
            seed = made.document["options"]["seed"]
            with target.held(aim, writes=writes, run_id=made.id, seed=seed, roots=session.roots) as held:
                session.listen(event.Started(made.id, made.path, len(points) - len(missing), len(points)))
                log.info("target %s, %s with %s", held.name, loader.version, loader.engine)
                if preparation.needed:
                    _prepare(made, held, preparation, loader, points, session)
                for group in _groups(points, missing):
                    if points[group[0]].rounds is None:
                        _point(made, group[0], held, points, loader, session)
                    else:
                        _rounds(made, group, held, points, loader, session)
        finally:
            made = _close(made, aim, session)
    failed = [index for index in made.missing() if made.result(index) is not None]
    session.listen(event.Finished(made.id, made.path, len(failed)))
    return made


def _groups(points: Sequence[Point], missing: Sequence[int]) -> list[list[int]]:
    """The numbers of missing points, each by itself; of rounds with a missing point, all of their points together."""
    groups: list[list[int]] = []
    for index in missing:
        together = points[index].rounds
        if together is None:
            groups.append([index])
        elif not any(index in group for group in groups):
            groups.append([other for other, point in enumerate(points) if point.rounds == together])
    return groups


def _measure(
    made: Run, index: int, held: target.Target, points: Sequence[Point], loader: fio.Fio, session: Session
) -> ramp.Measure:
    """What measures a point, or a probe of the point of that number."""
    number, total = index + 1, len(points)

    def one(point: Point, folder: Path) -> tuple[Result, Mapping[str, Histogram]]:
        session.listen(event.PointStarted(number, total, point.name, point.expected_ns))
        log.info("point %d of %d: %s", number, total, point.name)
        with writing(folder):
            return measure(point, held, folder, loader, made, session.roots, lambda p: session.listen(p(number, total)))

    return one


def _point(
    made: Run, index: int, held: target.Target, points: Sequence[Point], loader: fio.Fio, session: Session
) -> None:
    point, one = points[index], _measure(made, index, held, points, loader, session)
    if not point.searches:
        folder = begin_point(made, index)
        result, histograms = one(point, folder)
    else:
        folder = begin_ramp(made, index)
        result, histograms = ramp.find(point, folder, one)
    _commit(index, folder, result, histograms, len(points), session)


def _rounds(
    made: Run, group: Sequence[int], held: target.Target, points: Sequence[Point], loader: fio.Fio, session: Session
) -> None:
    folders = [begin_ramp(made, index) for index in group]
    members = [
        rounds.Member(points[index], folder, _measure(made, index, held, points, loader, session))
        for index, folder in zip(group, folders, strict=True)
    ]

    def fill(times: int) -> None:
        # A model's times don't hang on what it holds.
        for number in range(0 if held.emulated else times):
            reason = f"rounds {members[0].rounds.name} begin with {times} fills, this is number {number + 1}"
            whole = preparing.Preparation(True, reason, held.used_bytes)
            _prepare(made, held, whole, loader, points, session, rounds.FILL_BLOCK_BYTES)

    for index, folder, (result, histograms) in zip(
        group, folders, rounds.find(members, fill, held.used_bytes), strict=True
    ):
        _commit(index, folder, result, histograms, len(points), session)


def _commit(
    index: int, folder: Path, result: Result, histograms: Mapping[str, Histogram], total: int, session: Session
) -> None:
    commit_point(folder, result, histograms)
    if result.error:
        log.warning("point %s failed: %s", result.point, result.error)
    session.listen(event.PointFinished(index + 1, total, result))


def _prepare(
    made: Run,
    held: target.Target,
    preparation: preparing.Preparation,
    loader: fio.Fio,
    points: Sequence[Point],
    session: Session,
    block_bytes: int = preparing.FILL_BLOCK_BYTES,
) -> None:
    folder = made.path / "preparation"
    progress = preparing.Pace(preparation.fill_bytes)
    log.info("filling %s: %s", held.path, preparation.reason)

    def listen(done_bytes: int) -> None:
        if done_bytes < preparation.fill_bytes:
            session.listen(event.Preparing(done_bytes, preparation.fill_bytes, progress.remaining_ns(done_bytes)))

    with writing(folder):
        folder.mkdir(exist_ok=True)
        seed = made.document["options"]["seed"]
        preparing.fill(loader, held, folder, preparation.fill_bytes, points, seed, listen, block_bytes)
    session.listen(event.Preparing(preparation.fill_bytes, preparation.fill_bytes, 0))


def _look(aim: target.Target, prepare: bool) -> preparing.Preparation:
    if aim.kind == "directory":
        return preparing.Preparation(True, "the scratch file is new", aim.used_bytes)
    if aim.kind == "emulated" or aim.shows is not None:
        return preparing.Preparation(False, "a model's times don't hang on what it holds", 0)
    if aim.kind == "nbd":
        return preparing.Preparation(False, "what a server holds can't be seen", 0)
    preparation = preparing.inspect(aim.path, aim.used_bytes)
    if preparation.needed and not prepare:
        raise RefusedError(
            f"{preparation.reason}, and --no-prepare forbids to fill it",
            "Zeros are answered without touching the medium. Leave out --no-prepare, or write to it yourself first.",
        )
    return preparation


def _plan(
    suite: str, aim: target.Target, points: tuple[Point, ...], preparation: preparing.Preparation
) -> event.Planned:
    ceiling = None if aim.device is None else ceiling_bytes_per_s(provenance.links(aim.device))
    rate = ceiling or ASSUMED_CEILING_BYTES_PER_S
    writing_ns = sum(point.expected_ns * _write_ceiling(point) for point in points)
    destroys = not aim.scratch and (preparation.needed or any(point.writes or _fills(point) for point in points))
    fills = sum(each.fill for each in {point.rounds for point in points if point.rounds is not None})
    return event.Planned(
        suite=suite,
        target=aim,
        points=points,
        expected_ns=sum(point.expected_ns + POINT_OVERHEAD_NS for point in points),
        preparation=preparation,
        destroys=destroys,
        written_at_most_bytes=preparation.fill_bytes + fills * aim.used_bytes + int(writing_ns / 1e9 * rate),
        ceiling_bytes_per_s=rate,
        ceiling_assumed=ceiling is None,
    )


def _fills(point: Point) -> bool:
    """Whether its rounds write the target before they begin."""
    return point.rounds is not None and point.rounds.fill > 0


def _write_ceiling(point: Point) -> float:
    """The most that the point can write, as a share of the link's rate.

    Reads can't pass the link faster than its rate either, so a mix of 98/2 writes at most 2/98 of it.
    """
    reads = min(stream.profile.read_fraction for stream in point.streams)
    return 1.0 if reads <= 0.5 else (1 - reads) / reads


def _confirm(planned: event.Planned, destroy: str | None, session: Session) -> None:
    wanted = planned.target.confirmation
    if destroy is None and session.ask is not None and wanted is not None:
        destroy = session.ask(planned, wanted)
    target.confirm(planned.target, destroy)


def _session_facts(aim: target.Target, loader: fio.Fio, session: Session) -> dict[str, Any]:
    import loadline

    return {
        "started_at": _now(),
        "ended_at": None,
        "command": list(session.command),
        "loadline": loadline.__version__,
        "fio": {"program": loader.program, "version": loader.version, "engine": loader.engine},
        "machine": provenance.machine(session.roots),
        "device": None if aim.device is None else provenance.device_facts(aim.device, session.roots),
        "health_before": None if aim.device is None else provenance.health(aim.device, session.roots),
        "health_after": None,
    }


def _close(made: Run, aim: target.Target, session: Session) -> Run:
    *earlier, last = made.document["sessions"]
    after = None if aim.device is None else provenance.health(aim.device, session.roots)
    return _rewritten(made, [*earlier, {**last, "ended_at": _now(), "health_after": after}])


def _rewritten(made: Run, sessions: list[dict[str, Any]]) -> Run:
    made = Run(made.path, {**made.document, "sessions": sessions})
    write_json(made.path / "run.json", made.document)
    return made


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def _interruptible(made: Run) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        log.warning("interrupted")
        done = len(made.plan) - len(made.missing())
        raise InterruptedRun(
            f"interrupted; {done} of {len(made.plan)} points are kept in {made.path}",
            f"Go on with: loadline resume {made.handle}",
        ) from None
    except StoreError as error:
        log.warning("%s", error.message)
        raise StoreError(error.message, f"{error.remedy} Then: loadline resume {made.handle}") from None
    except TargetError as error:
        log.warning("%s", error.message)
        raise TargetError(error.message, f"{error.remedy} Then: loadline resume {made.handle}".strip()) from None


@contextmanager
def _logged(made: Run) -> Iterator[None]:
    """loadline's log goes into the run folder too, while it lasts."""
    with writing(made.path):
        handler = logging.FileHandler(made.path / "log.txt", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        with suppress(OSError):
            handler.close()
