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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from loadline.errors import InputError, RefusedError
from loadline.host.roots import HERE, Roots
from loadline.judging.finding import Doubt, finding
from loadline.measuring import event, fio, intent, journal, preparing, ramp, rounds, target, together, warming
from loadline.measuring.auditing import audit_whole
from loadline.measuring.interruption import interruptible
from loadline.measuring.open_load import as_sent
from loadline.measuring.open_response import Measure, opened
from loadline.measuring.point import Measured, measure
from loadline.measuring.presence import Presence
from loadline.measuring.session import Session, close, logged, rewritten, session_facts
from loadline.measuring.stopping import cache_of
from loadline.result.file import writing
from loadline.result.point_folder import begin_point, begin_ramp, commit_point
from loadline.result.schema import Result
from loadline.result.store import Run, Store, locked
from loadline.units import whole
from loadline.workload.order import Order, arranged
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.suite import Suite, load_suite

log = logging.getLogger("loadline")


def run(
    suite: str | Path | Suite,
    *target_names: str,
    options: Options = Options(),
    repeats: int = 1,
    order: Order = "suite",
    store: str | Path | None = None,
    size_bytes: int | None = None,
    destroy: str | Collection[str] = (),
    prepare: bool = True,
    each_section: bool = False,
    tags: Mapping[str, str] | None = None,
    declared: Mapping[str, str] | None = None,
    seed: int | None = None,
    engine: str | None = None,
    settings: Sequence[str] = (),
    cache_bytes: int | None = None,
    listen: event.Listener = lambda _: None,
    ask: Callable[[target.Target, str], str | None] | None = None,
    roots: Roots = HERE,
) -> Run:
    """Measures targets under a suite.

    Args:
        suite: a suite, its name, or the path of a TOML or fio job file.
        target_names: each a block device, a file, a directory (a scratch file in it is made and removed), the address
            of an NBD server, or `emulated:SYSTEM`, a described system that is emulated for the run. Several are
            loaded at once, each with all of a point's load, unless they are interleaved.
        repeats: how often every point is measured.
        order: `suite`, `random`, drawn anew for each repetition, or `interleaved`, one target after the other.
        store: the directory of runs; by default `$LOADLINE_STORE`, else `./loadline-runs`.
        size_bytes: how much of each target is used; by default all of it, or 4 GiB of scratch file. Of an emulated
            system, its size.
        destroy: the serial numbers (or paths) of targets that may be overwritten.
        prepare: fill a target that reads as zeros; False: refuse it.
        declared: settings of the system that can't be captured; kept apart from what was.
        seed: for addresses, data and a random order; drawn and recorded by default.
        engine: fio's ioengine; by default io_uring or libaio, whichever works and keeps the queue depths.
        settings: what to set in an emulated system, such as `cache.mode=off`.
        cache_bytes: the write cache of each target, 0 for none: points that write go on until twice as much is written.
            Of an emulated system it's known.
        listen: is given every event of the run.
        ask: given a target and what must be typed, gives what was typed; called only without `destroy`.

    Returns:
        The run, with a result for every point, repetition and target; failed points have `error`. Of several targets
        at once there is one of all together too, whose target is `*`.

    Raises:
        InputError: the suite, target or options can't be used. RefusedError: the guard says no, or the right serial
        number wasn't given. TargetError, ToolError, StoreError: the target, fio or the store failed.
        InterruptedRun: Ctrl-C; `resume` goes on.
    """
    _check(repeats, order, seed, cache_bytes)
    place = Store.locate(None if store is None else str(store), os.environ)
    session = Session(place, listen, ask, engine, roots, tuple(sys.argv))
    warnings: list[str] = []
    if not isinstance(suite, Suite):
        suite, warnings = load_suite(suite, each_section=each_section)
    seed = random.SystemRandom().randrange(1, 2**31) if seed is None else seed
    aims = together.locate(target_names, size_bytes, roots, settings)
    points = arranged(make_plan(suite, options, seed), order, repeats=repeats, targets=len(aims), seed=seed)
    for message in (*warnings, *together.check(aims, roots)):
        listen(event.Warned(message))
    together.check_fits(points, aims)
    loaders = _loaders(engine, aims, points)
    again = prepare and (order == "random" or repeats > 1)
    planned = intent.plan(
        suite.name, aims, points, [_look(aim, prepare, points) for aim in aims], order, again, range(len(points))
    )
    listen(planned)
    session = _aware(session, aims)
    _confirm(planned, (destroy,) if isinstance(destroy, str) else tuple(destroy), session)
    document = {
        "suite": {"name": suite.name, "title": suite.title, "source": suite.source, "analysis": suite.analysis},
        **together.to_json(aims),
        "points": [point.to_json() for point in points],
        "options": {
            "prepare": prepare,
            "engine": engine,
            "seed": seed,
            "order": order,
            "repeats": repeats,
            "cache_bytes": cache_bytes,
        },
        "tags": {**together.settings_of(aims), **(tags or {})},
        "declared": dict(declared or {}),
        "sessions": [session_facts(aims, loaders, session)],
    }
    more = f"-and-{len(aims) - 1}-more" if len(aims) > 1 else ""
    made = place.create(suite.name, aims[0].given, document, datetime.now(), more)
    with locked(made):
        return _go(made, planned, loaders, session)


def _check(repeats: object, order: object, seed: object, cache_bytes: object) -> None:
    """Refuses what the command line can't say."""
    whole("--repeat", repeats, 1, 1000)
    if seed is not None:
        whole("--seed", seed, 1, 2**31 - 1)
    if cache_bytes is not None:
        whole("--cache", cache_bytes, 0, 2**63 - 1)
    if order not in get_args(Order):
        raise InputError(f"--order: {order!r} can't be", f"Orders: {', '.join(get_args(Order))}.")


def resume(
    run_text: str | Run,
    *,
    store: str | Path | None = None,
    listen: event.Listener = lambda _: None,
    roots: Roots = HERE,
) -> Run:
    """Completes a run: the points that are missing or failed, with the same plan, on the same target.

    Args:
        run_text: an id, a unique part of one, a path, `last`, or the Run.
        store: as of `run`.
        listen: is given every event.

    Returns:
        The run, complete.

    Raises:
        InputError: no such run, or it was imported. RefusedError: the target is no longer the same, or the guard says
        no. StoreError: the run is damaged. TargetError, ToolError, StoreError, InterruptedRun: as of `run`.
    """
    place = Store.locate(None if store is None else str(store), os.environ)
    made = place.find(run_text) if isinstance(run_text, str) else run_text
    if "imported" in made.document:
        raise InputError(f"run {made.id} was imported, so there is nothing to measure", "Import its files again.")
    with locked(made):
        made = place.find(str(made.path))
        made.check_resumable()
        if made.missing():
            return _go_on(
                made, Session(place, listen, None, made.document["options"]["engine"], roots, tuple(sys.argv))
            )
    listen(event.Warned(f"run {made.id} is complete: there is nothing to resume"))
    return made


def _loaders(engine: str | None, aims: Sequence[target.Target], points: Sequence[Point]) -> tuple[fio.Fio, ...]:
    """fio with an engine that works for each target; one that is asked for counts where it can, if anywhere."""
    served = [aim.kind in {"nbd", "emulated"} for aim in aims]
    return tuple(
        fio.find(
            engine if all(served) or not by_server else None,
            None if by_server else aim.path,
            aim.logical_block_bytes,
            points,
        )
        for aim, by_server in zip(aims, served, strict=True)
    )


def _go_on(made: Run, session: Session) -> Run:
    aims = tuple(_same_target(made, stored, session.roots) for stored in made.targets)
    for message in together.check(aims, session.roots):
        session.listen(event.Warned(message))
    points, options = made.plan, made.document["options"]
    together.check_fits(points, aims)
    loaders = _loaders(session.engine, aims, points)
    looked = [_look_again(made, number, aim) for number, aim in enumerate(aims)]
    order: Order = options.get("order", "suite")
    again = options["prepare"] and (order == "random" or options.get("repeats", 1) > 1)
    planned = intent.plan(made.suite, aims, points, looked, order, again, made.missing())
    session.listen(planned)
    session = _aware(session, aims)
    made = rewritten(made, [*made.document["sessions"], session_facts(aims, loaders, session)])
    return _go(made, planned, loaders, session)


def _same_target(made: Run, stored: Mapping[str, Any], roots: Roots) -> target.Target:
    """The target that the run began with.

    Raises:
        RefusedError: it's gone, or another one now.
    """
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


def _go(made: Run, planned: event.Planned, loaders: Sequence[fio.Fio], session: Session) -> Run:
    """One session: fills the points that are missing. The run is locked by the caller."""
    points, missing = made.plan, made.missing()
    aims = [intended.target for intended in planned.targets]
    writes = [
        intended.preparation.needed
        or any(point.writes or intent.fills(point) for point in points if point.target in {None, number})
        for number, intended in enumerate(planned.targets)
    ]
    with interruptible(made), logged(made), journal.kept(made, session.listen) as listen:
        session = replace(session, listen=listen, warmth=warming.Warmth(len(aims)))
        try:
            seed = made.document["options"]["seed"]
            with (
                together.held(aims, writes=writes, run_id=made.id, seed=seed, roots=session.roots) as held,
                session.presence.announced(made.id),
            ):
                session.listen(event.Started(made.id, made.path, len(points) - len(missing), len(points)))
                session.presence.others()
                for one, loader in zip(held, loaders, strict=True):
                    log.info("target %s, %s with %s", one.name, loader.version, loader.engine)
                first = {number: intended.preparation for number, intended in enumerate(planned.targets)}
                needed = {number: preparation for number, preparation in first.items() if preparation.needed}
                with _marked(made, needed):
                    _prepare(made, needed, held, points, loaders, session)
                for group in _groups(points, missing):
                    again = {
                        number: preparing.Preparation(True, "its blocks lie scattered", held[number].used_bytes)
                        for number, intended in enumerate(planned.targets)
                        if group[0] in intended.refills
                    }
                    with _marked(made, again):
                        _prepare(made, again, held, points, loaders, session)
                    if points[group[0]].rounds is None:
                        _point(made, group[0], held, points, loaders, session)
                    else:
                        _rounds(made, group, held, points, loaders, session)
        finally:
            made = close(made, aims, session)
        with writing(made.path):
            audit_whole(made)
    session.listen(event.Finished(made.id, made.path, made.summary()["failed"]))
    return made


def _aware(session: Session, aims: Sequence[target.Target]) -> Session:
    """The same, which has told of the runs that load the same."""

    def warn(message: str) -> None:
        log.warning("%s", message)
        session.listen(event.Warned(message))

    presence = Presence(aims, warn, session.roots)
    presence.others()
    return replace(session, presence=presence)


def _beside(result: Result, others: Collection[str]) -> Result:
    """The row with who loaded the same as it."""
    if not others:
        return result
    doubts = [Doubt("warning", message, "Let one run after the other.") for message in dict.fromkeys(others)]
    return replace(result, findings=(*result.findings, finding("other-run", result.run, result.point, doubts)))


def _groups(points: Sequence[Point], missing: Sequence[int]) -> list[list[int]]:
    """The numbers of missing points, each by itself; of rounds with a missing point, all of their points together."""

    def rounds_of(point: Point) -> object:
        return point.rounds and (point.rounds, point.repeat, point.target)

    groups: list[list[int]] = []
    for index in missing:
        belongs = rounds_of(points[index])
        if belongs is None:
            groups.append([index])
        elif not any(index in group for group in groups):
            groups.append([other for other, point in enumerate(points) if rounds_of(point) == belongs])
    return groups


def _measure(
    made: Run,
    index: int,
    held: Sequence[target.Target],
    points: Sequence[Point],
    loaders: Sequence[fio.Fio],
    session: Session,
) -> Measure:
    """What measures a point, or a probe of the point of that number."""
    number, total, only = index + 1, len(points), points[index].target
    loaded = range(len(held)) if only is None else [only]
    targets, with_ = [held[each] for each in loaded], [loaders[each] for each in loaded]
    on = None if only is None else held[only].label

    def one(asked: Point, folder: Path) -> Measured:
        point, warm_up = session.warmth.before(asked)
        session.listen(
            event.PointStarted(number, total, point.name, point.warmup_ns + point.runtime_ns, point.repeat, on)
        )
        log.info("point %d of %d: %s, repetition %d on %s", number, total, point.name, point.repeat, on or "all")
        before = session.presence.others()
        with writing(folder):
            measured = measure(
                *(point, targets, folder, with_, made, session.roots),
                cache_of(targets, made.document["options"].get("cache_bytes")),
                lambda p: session.listen(p(number, total)),
            )
        session.warmth.after(point, failed=measured.result.error is not None)
        whole = _beside(measured.result, (*before, *session.presence.others()))
        each = tuple(row._replace(result=warming.noted(row.result, warm_up)) for row in measured.targets)
        return measured._replace(result=warming.noted(whole, warm_up), targets=each)

    return one


def _point(
    made: Run,
    index: int,
    held: Sequence[target.Target],
    points: Sequence[Point],
    loaders: Sequence[fio.Fio],
    session: Session,
) -> None:
    point, one = points[index], _measure(made, index, held, points, loaders, session)
    if not point.searches:
        folder = begin_point(made.point_path(index))
        measured = opened(one, lambda asked: as_sent(asked, len(held)))(point, folder)
    else:
        folder = begin_ramp(made.point_path(index))
        measured = ramp.find(point, folder, one, _told(index, points, session))
    _commit(index, folder, measured, points, session)


def _rounds(
    made: Run,
    group: Sequence[int],
    held: Sequence[target.Target],
    points: Sequence[Point],
    loaders: Sequence[fio.Fio],
    session: Session,
) -> None:
    folders = [begin_ramp(made.point_path(index)) for index in group]
    members = [
        rounds.Member(
            *(points[index], folder),
            opened(_measure(made, index, held, points, loaders, session), as_sent),
            _told(index, points, session),
        )
        for index, folder in zip(group, folders, strict=True)
    ]
    # `together.check_fits` has seen to it that rounds load one target.
    only = points[group[0]].target or 0

    def fill(times: int) -> None:
        # A model's times don't hang on what it holds.
        for number in range(0 if held[only].emulated else times):
            reason = f"rounds {members[0].rounds.name} begin with {times} fills, this is number {number + 1}"
            whole = preparing.Preparation(True, reason, held[only].used_bytes)
            _prepare(made, {only: whole}, held, points, loaders, session, rounds.FILL_BLOCK_BYTES)

    found = rounds.find(members, fill, held[only].used_bytes)
    for index, folder, (result, histograms) in zip(group, folders, found, strict=True):
        _commit(index, folder, Measured(result, histograms), points, session)


def _told(index: int, points: Sequence[Point], session: Session) -> ramp.Tell:
    """What is told of each probe of the point of that number."""

    def tell(result: Result) -> None:
        on = None if points[index].target is None else result.target
        session.listen(event.ProbeFinished(index + 1, len(points), result, on))

    return tell


def _commit(index: int, folder: Path, measured: Measured, points: Sequence[Point], session: Session) -> None:
    commit_point(folder, *measured)
    result = measured.result
    if result.error:
        log.warning("point %s failed: %s", result.point, result.error)
    on = None if points[index].target is None else result.target
    session.listen(event.PointFinished(index + 1, len(points), result, on))


def _prepare(
    made: Run,
    preparations: Mapping[int, preparing.Preparation],
    held: Sequence[target.Target],
    points: Sequence[Point],
    loaders: Sequence[fio.Fio],
    session: Session,
    block_bytes: int = preparing.FILL_BLOCK_BYTES,
) -> None:
    """Fills the targets of those numbers, all at the same time."""
    if not preparations:
        return
    numbers, folder = list(preparations), made.path / "preparation"
    if len(made.targets) > 1:
        folder /= f"target-{numbers[0] + 1}" if len(numbers) == 1 else "together"
    filled = [held[number] for number in numbers]
    whole = [preparation.fill_bytes for preparation in preparations.values()]
    paces = [preparing.Pace(fill_bytes) for fill_bytes in whole]
    for one, preparation in zip(filled, preparations.values(), strict=True):
        log.info("filling %s: %s", one.path, preparation.reason)

    def tell(place: int, done_bytes: int, remaining_ns: int | None) -> None:
        session.listen(event.Preparing(filled[place].label, done_bytes, whole[place], remaining_ns))

    told: set[int] = set()

    def listen(place: int, done_bytes: int) -> None:
        if place not in told:
            tell(place, done_bytes, paces[place].remaining_ns(done_bytes))
        if done_bytes == whole[place]:
            told.add(place)

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        seed = made.document["options"]["seed"]
        with_ = [loaders[number] for number in numbers]
        preparing.fill(with_, filled, folder, whole, points, seed, listen, block_bytes)
    for place, number in enumerate(numbers):
        session.warmth.filled(number)
        if place not in told:
            tell(place, whole[place], 0)


def _look(aim: target.Target, prepare: bool, points: Sequence[Point]) -> preparing.Preparation:
    if aim.kind == "directory":
        return preparing.Preparation(True, "the scratch file is new", aim.used_bytes)
    if aim.kind == "emulated" or aim.shows is not None:
        return preparing.Preparation(False, "a model's times don't hang on what it holds", 0)
    if aim.kind == "nbd":
        return preparing.Preparation(False, "what a server holds can't be seen", 0)
    preparation = preparing.inspect(aim.path, aim.used_bytes)
    if preparation.needed and aim.kind == "device" and all(preparing.as_it_is(point) for point in points):
        return preparing.Preparation(False, "its rounds begin on it as it is", 0)
    if preparation.needed and not prepare:
        raise RefusedError(
            f"{preparation.reason}, and --no-prepare forbids to fill it",
            "Zeros are answered without touching the medium. Leave out --no-prepare, or write to it yourself first.",
        )
    return preparation


def _look_again(made: Run, number: int, aim: target.Target) -> preparing.Preparation:
    """As `_look`; but the few samples don't show what the end of a fill is missing, so its mark does."""
    looked = _look(aim, made.document["options"]["prepare"], made.plan)
    if looked.needed or not _mark(made, number).exists() or aim.kind not in {"device", "file"}:
        return looked
    return preparing.Preparation(True, "its last fill was interrupted", aim.used_bytes)


def _mark(made: Run, number: int) -> Path:
    """What stands in the run folder while target `number` is filled, and as long as that hasn't come to its end."""
    return made.path / "preparation" / f"unfilled-{number + 1}"


@contextmanager
def _marked(made: Run, numbers: Collection[int]) -> Iterator[None]:
    """Leaves marks of the targets if their fill doesn't come to its end. Fills of rounds need none: they begin anew."""
    with writing(made.path):
        for number in numbers:
            _mark(made, number).parent.mkdir(exist_ok=True)
            _mark(made, number).touch()
    yield
    with writing(made.path):
        for number in numbers:
            _mark(made, number).unlink(missing_ok=True)


def _confirm(planned: event.Planned, destroy: tuple[str, ...], session: Session) -> None:
    """Asks for what must be typed of each target that would be overwritten; what names none of them may be a slip."""
    for aim in [intended.target for intended in planned.targets if intended.destroys]:
        typed = destroy
        if not destroy and session.ask is not None and aim.confirmation is not None:
            typed = (session.ask(aim, aim.confirmation) or "",)
        target.confirm(aim, typed)
    aims = [intended.target for intended in planned.targets]
    known = {name for aim in aims for name in (aim.confirmation, aim.given, str(aim.path), aim.uri)}
    stray = next((name for name in destroy if name not in known), None)
    if stray is not None:
        named = ", ".join(aim.confirmation or aim.given for aim in aims)
        raise InputError(
            f"--destroy {stray!r} is no target of this run", f"It has {named}. Correct it or leave it out."
        )
