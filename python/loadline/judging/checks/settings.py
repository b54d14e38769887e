"""Set-ups that are compared: settings that differ without being said, and like set-ups with unlike results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from loadline.judging.finding import Doubt
from loadline.judging.setup import device_of
from loadline.judging.subject import Subject, like

NAME = "settings"

#: Rows of one set-up under one load repeat better than that.
UNLIKE = 1.25
#: More of the same parts can't give more than that much over their number.
BEYOND_LINEAR = 1.2

#: Rows of one load that are compared by their texts, each with each; longer tables aren't written by hand.
MOST = 100

#: What a run captures of its device, and what is said of a difference.
CAPTURED = (
    ("device", "queue", "scheduler"),
    ("device", "queue", "write_cache"),
    ("device", "queue", "nr_requests"),
    ("device", "queue", "queue_depth"),
    ("device", "firmware"),
    ("machine", "kernel"),
    ("fio", "version"),
    ("fio", "engine"),
)

#: What differs anyhow where devices do.
OF_A_MODEL = CAPTURED[2:5]

#: Columns that number a series of tests: within one the set-up is the factor that is varied, across them it may repeat.
SERIES = ("test", "series", "experiment")

_COUNT = re.compile(r"(\d+)\s+(?:x\s+)?((?:(?!of\b)[A-Za-z]+\b ?){1,3})")
_NUMBERED = re.compile(r"([A-Za-z]+(?: [A-Za-z]+)?) (\d+)(?![\d.])")
_OFF = re.compile(r"\bno ([a-z]+)", re.IGNORECASE)


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Runs by what they captured; rows of a table by what their texts say of their set-up."""
    yield from _between_runs(subjects)
    yield from _between_rows(subjects)


def _between_runs(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    first: dict[str, Subject] = {}
    for subject in subjects:
        if subject.facts and subject.measured:
            first.setdefault(subject.row.run, subject)
    if len(first) < 2:
        return
    (reference, *others) = first.values()
    for subject in others:
        same_model = _captured(subject, ("device", "model")) == _captured(reference, ("device", "model"))
        changed = [
            f"{' '.join(path[-2:] if path[0] != 'device' else path[-1:])} is {now}, and {before} in {reference.row.run}"
            for path in CAPTURED
            if (same_model or path not in OF_A_MODEL)
            and (now := _captured(subject, path)) != (before := _captured(reference, path))
            and now is not None
            and before is not None
            and not _is_factor(path[-1], subject, reference)
        ]
        if changed:
            message = f"compared runs differ in what no tag says: {'; '.join(changed)}"
            yield subject, Doubt("warning", message, "Set them alike, or say by --tag that this is what is compared.")


def _captured(subject: Subject, path: Sequence[str]) -> Any:
    head, *rest = path
    node: Any = (subject.facts.get("sessions") or [{}])[-1].get(head)
    if head == "device":
        node = device_of(subject.facts, subject.row.target).get("facts")
    for name in rest:
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


def _is_factor(name: str, a: Subject, b: Subject) -> bool:
    return a.row.tags.get(name) != b.row.tags.get(name)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a row's texts say of its set-up: the test it belongs to, what is counted, the other words."""

    subject: Subject
    test: str
    counts: Mapping[str, int]
    words: frozenset[str]
    label: str

    @staticmethod
    def of(subject: Subject) -> _Said:
        texts = _texts(subject)
        rest = " ".join(_OFF.sub(" ", _COUNT.sub(" ", _NUMBERED.sub(" ", text))) for _, text in texts)
        named = ", ".join(text for _, text in texts if not re.fullmatch(r"[\d.,%-]+", text))
        test = _series(subject)
        label = f"test {test}'s {named or subject.row.point!r}"
        return _Said(subject, test, setup_words(subject), frozenset(re.findall(r"[a-z]{3,}", rest.lower())), label)

    @property
    def iops(self) -> float:
        return self.subject.row.total.iops or 0.0


def _between_rows(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    def key(subject: Subject) -> object:
        row = subject.row
        if row.origin != "imported" or not row.total.iops or not _series(subject):
            return None
        return row.run, row.profile, str(row.workload), row.outstanding_asked, row.hosts

    for group in like(subjects, key):
        for a, b in combinations([_Said.of(subject) for subject in group[:MOST]], 2):
            common = a.counts.keys() & b.counts.keys()
            unlike = [name for name in common if a.counts[name] != b.counts[name]]
            if not common or len(unlike) != (a.test == b.test):
                continue
            found = _beyond_linear(a, b, unlike[0]) if unlike else _like_setups(a, b, common)
            if found is not None:
                yield found


def _like_setups(a: _Said, b: _Said, common: set[str]) -> tuple[Subject, Doubt] | None:
    """Rows of two tests whose texts count the same things alike. Words of both that differ make two set-ups."""
    low, high = (a, b) if a.iops <= b.iops else (b, a)
    ratio = high.iops / low.iops
    if ratio <= UNLIKE or (a.words - b.words and b.words - a.words):
        return None
    message = (
        f"as far as it's said ({', '.join(sorted(common))}) the set-up of {low.label} is that of {high.label}, which is"
        f" {ratio:.2f} x as fast"
    )
    return low.subject, Doubt("warning", message, "Ask what else differs between the tests.", {"ratio": ratio})


def _beyond_linear(a: _Said, b: _Said, part: str) -> tuple[Subject, Doubt] | None:
    """Rows of one test that differ in the number of one thing."""
    few, many = (a, b) if a.counts[part] < b.counts[part] else (b, a)
    if part in _SCALELESS or not few.counts[part]:
        return None
    times, ratio = many.counts[part] / few.counts[part], many.iops / few.iops
    if ratio <= BEYOND_LINEAR * times:
        return None
    message = (
        f"{part}: {many.counts[part]} instead of {few.counts[part]} give {ratio:.2f} x the rate of {few.label}, more"
        " than linear"
    )
    numbers = {"ratio": ratio, "parts": times}
    return many.subject, Doubt("warning", message, "Ask what else differs: caches, preparation.", numbers)


#: Numbers that are names, not counts.
_SCALELESS = frozenset({"raid", "ftt", "test", "stripe width", "gen", "vraid"})


def _series(subject: Subject) -> str:
    return next((subject.row.tags[name] for name in SERIES if name in subject.row.tags), "")


def setup_words(subject: Subject) -> dict[str, int]:
    """What the tags' texts count or number: `1 group, 2 capacity disks` -> group 1, disk 2; `no dedup` -> dedup 0."""
    found: dict[str, int] = {}
    for name, text in _texts(subject):
        if text.isdigit():
            found[_noun(name.replace("_", " "))] = int(text)
            continue
        for noun, count in _NUMBERED.findall(text):
            found[_noun(noun) if noun.lower().split()[-1] != "width" else noun.lower()] = int(count)
        for count, words in _COUNT.findall(text):
            found.setdefault(_noun(words.split(" of ")[0]), int(count))
        for noun in _OFF.findall(text):
            found.setdefault(_noun(noun), 0)
    return found


def _texts(subject: Subject) -> list[tuple[str, str]]:
    return [(name, text) for name, text in subject.row.tags.items() if name not in SERIES]


def _noun(words: str) -> str:
    """The last word in the singular: `capacity disks` -> disk."""
    last = words.lower().split()[-1]
    return last[:-1] if last.endswith("s") and not last.endswith("ss") else last
