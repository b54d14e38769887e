"""One call that measures: where its results go and who listens; and what `run.json` and the log keep of it.

Start reading at `Session`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from loadline.errors import InputError
from loadline.host import provenance
from loadline.host.roots import HERE, Roots
from loadline.measuring import event, fio, target, warming
from loadline.measuring.presence import Presence
from loadline.result.file import write_json, writing
from loadline.result.store import Run, Store

log = logging.getLogger("loadline")


@dataclass(frozen=True, slots=True)
class Session:
    """The world of one call: where results go, who listens, who loads the same, and what a test may replace."""

    store: Store
    listen: event.Listener = lambda _: None
    ask: Callable[[target.Target, str], str | None] | None = None
    engine: str | None = None
    roots: Roots = HERE
    command: tuple[str, ...] = ()
    presence: Presence = Presence(())
    warmth: warming.Warmth = warming.Warmth(0)

    def __post_init__(self) -> None:
        if not callable(self.listen):
            raise InputError(f"listen: {self.listen!r} can't be called", "Give a function, or leave it out.")


def session_facts(aims: Sequence[target.Target], loaders: Sequence[fio.Fio], session: Session) -> dict[str, Any]:
    """What `run.json` says of a session that begins."""
    import loadline

    first = loaders[0]
    engines = ", ".join(dict.fromkeys(loader.engine for loader in loaders))
    return {
        "started_at": _now(),
        "ended_at": None,
        "command": list(session.command),
        "loadline": loadline.__version__,
        "fio": {"program": first.program, "version": first.version, "engine": engines},
        "machine": provenance.machine(session.roots),
        "devices": [
            None
            if aim.device is None
            else {
                "target": aim.label,
                "facts": provenance.device_facts(aim.device, session.roots),
                "health_before": provenance.health(aim.device, session.roots),
                "health_after": None,
            }
            for aim in aims
        ],
    }


def close(made: Run, aims: Sequence[target.Target], session: Session) -> Run:
    """The run whose last session has ended."""
    *earlier, last = made.document["sessions"]
    devices = [
        known and {**known, "health_after": aim.device and provenance.health(aim.device, session.roots)}
        for known, aim in zip(last["devices"], aims, strict=True)
    ]
    return rewritten(made, [*earlier, {**last, "ended_at": _now(), "devices": devices}])


def rewritten(made: Run, sessions: list[dict[str, Any]]) -> Run:
    """The run with those sessions, in its folder too."""
    made = Run(made.path, {**made.document, "sessions": sessions})
    write_json(made.path / "run.json", made.document)
    return made


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def logged(made: Run) -> Iterator[None]:
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
