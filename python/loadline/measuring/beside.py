"""Other runs of the store that go on beside one, and what they load together.

Never: refuses. Two loads at once may be meant; their figures are those of both. Start reading at `told`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadline.errors import InputError
from loadline.measuring import event, journal
from loadline.measuring.target import Target
from loadline.result.store import Store


def told(listen: event.Listener, store: Store, own: str | None = None) -> event.Listener:
    """A listener that also hears of runs beside it, once the targets are known.

    Args:
        own: the id of the run that is meant, if it's there already.
    """

    def note(what: event.Event) -> None:
        listen(what)
        if isinstance(what, event.Planned):
            targets = [intended.target for intended in what.targets]
            for message in _beside(store, targets, own):
                listen(event.Warned(message))

    return note


def _beside(store: Store, targets: Sequence[Target], own: str | None) -> Iterator[str]:
    # An emulated system is served for its run alone.
    mine = [target.to_json() for target in targets if target.emulated is None]
    try:
        runs = store.runs()
    except InputError:
        # It can't be a store: whoever makes the run's folder says so.
        return
    for run in runs:
        if run.id == own or not journal.goes_on(run):
            continue
        shared = next(filter(None, (_shared(one, other) for one in mine for other in run.targets)), None)
        if shared is not None:
            yield f"run {run.id} is being measured {shared}: each disturbs the other, and the figures are those of both"


def _shared(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """What both load, in words; None if nothing that is known."""
    if one["path"] == other.get("path"):
        return f"on {one['path']}"
    if one["device"] is not None and one["device"] == other.get("device"):
        return f"on the same device, {one['device']}"
    systems = [(each.get("identity") or {}).get("st_dev") for each in (one, other)]
    return "on the same file system" if systems[0] is not None and systems[0] == systems[1] else None
