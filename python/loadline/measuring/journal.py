"""The journal of a run that goes on: what its point in progress says of itself, for whoever watches from elsewhere."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loadline.measuring import event
from loadline.result.point_folder import probe_paths, read_rows
from loadline.result.store import Run

_NAME = "live.jsonl"


@contextmanager
def kept(run: Run, listen: event.Listener) -> Iterator[event.Listener]:
    """A listener that also writes the journal; it begins anew with every point and is gone at the end.

    It is for the eye: if it can't be written the run goes on without.
    """
    path = run.path / _NAME

    def note(what: event.Event) -> None:
        if isinstance(what, event.PointStarted | event.Preparing | event.Progress):
            with suppress(OSError):
                how = "w" if isinstance(what, event.PointStarted) else "a"
                with path.open(how, encoding="utf-8") as file:
                    file.write(json.dumps(event.to_json(what)) + "\n")
        listen(what)

    try:
        yield note
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def follow(run: Run, listen: event.Listener, tick_s: float = 0.5) -> None:
    """Tells `listen` what happens in a run that another process measures, until it ends; nothing if none does."""
    if not goes_on(run):
        return
    plan = run.plan
    total = len(plan)
    finished = {index for index in range(total) if run.result(index) is not None}
    listen(event.Started(run.id, run.path, len(finished), total))
    seen: list[event.Event] = []
    probed: set[Path] = set()
    going = True
    while going:
        # Asked before the folder is read, so that what was committed last is told too.
        going = goes_on(run)
        said = _read(run)
        for what in said if said[: len(seen)] != seen else said[len(seen) :]:
            listen(what)
        seen = said
        for index in sorted(set(range(total)) - finished):
            in_turn = plan[index].target is not None
            for path in [path for path in probe_paths(run.point_path(index)) if path not in probed]:
                probe = next(iter(read_rows(path)), None)
                if probe is not None:
                    probed.add(path)
                    listen(event.ProbeFinished(index + 1, total, probe, probe.target if in_turn else None))
            result = run.result(index)
            if result is not None:
                finished.add(index)
                on = result.target if in_turn else None
                listen(event.PointFinished(index + 1, total, result, on))
        if going:
            time.sleep(tick_s)
    listen(event.Finished(run.id, run.path, sum(result.error is not None for result in run.results())))


def _read(run: Run) -> list[event.Event]:
    """What the journal holds, oldest first."""
    try:
        lines = (run.path / _NAME).read_text("utf-8").splitlines()
    except OSError:
        return []
    found: list[event.Event] = []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):  # the last one may be half written
            found.append(event.from_json(json.loads(line)))
    return found


def goes_on(run: Run) -> bool:
    """Whether a process is measuring into the run."""
    try:
        with (run.path / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
