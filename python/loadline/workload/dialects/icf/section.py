"""The parts of an .icf file as Iometer saved them: times, access specifications, workers; each value with its place.

Comments begin with an apostrophe and say what the next line holds; that line begins with a tab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field

from loadline.errors import InputError
from loadline.workload.dialects.text import Place, Word, unique

# As Iometer, whose own have been like 2008.06.18-RC2: three numbers count, and nothing behind them.
_VERSION = re.compile(r"version\s+([0-9]{1,4})[^0-9]+([0-9]{1,4})[^0-9]+([0-9]{1,4})(?![0-9])", re.IGNORECASE)

# The first version whose access specifications have names, as year, month and day.
_NAMED = (1998, 5, 21)

# What Iometer's own numbers hold.
_SECTORS = 2**54
_MS = 10**9
_MOST_S = 366 * 86400

# The first version whose test setup has an end.
_ENDED = (1999, 2, 17)

# What has an end of its own, which Iometer always writes; access specifications are looked at where they are read.
_SETUP = "test setup"
_PARTS = (_SETUP, "results display", "manager list")

# What no longer belongs to the access specifications that a worker is assigned.
_OF_OTHERS = ("'end", "'target", "'worker", "'manager")

# What says something in an access specification; other comments before its data are passed over.
_HEADS = ("'access specification name", "'size", "'end")

#: Lines of one access specification at most, letters of its name, and loads of a cycle.
MOST_LINES = 100
MOST_LETTERS = 80
MOST_CYCLE = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an access specification: a size, how often it comes, and how."""

    place: Place
    size_bytes: int
    share_percent: int
    read_percent: int
    random_percent: int
    delay_ms: int
    burst: int
    align_bytes: int
    reply_bytes: int


@dataclass(slots=True)
class Specification:
    """An access specification: its name and lines; `said` is the name that others have, too, where it got another."""

    name: str
    place: Place
    lines: list[Line] = field(default_factory=list)
    said: str | None = None

    def same(self, other: Specification) -> bool:
        """Whether both ask for the same."""
        return [astuple(line)[1:] for line in self.lines] == [astuple(line)[1:] for line in other.lines]


@dataclass(slots=True)
class Worker:
    """A worker of a manager; sizes and places in sectors of 512 bytes, 0 for all of the target."""

    place: Place
    network: bool = False
    outstanding: int = 1
    size_sectors: int = 0
    start_sector: int = 0
    pattern: int | None = None
    assigned: list[Word] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Setup:
    """How long a test runs and what it cycles through."""

    description: str = ""
    runtime_s: int = 0
    ramp_s: int = 0
    kind: str = "NORMAL"
    depths: tuple[int, ...] = ()


class Lines:
    """The file's lines, read one after the other."""

    def __init__(self, text: str, file: str) -> None:
        self._lines = text.splitlines()
        self._file = file
        self._next = 0

    def __iter__(self) -> Iterator[Word]:
        while self._next < len(self._lines):
            yield self.take()

    def take(self) -> Word:
        """The next line without the blanks around it; empty at the end."""
        raw = self._lines[self._next] if self._next < len(self._lines) else ""
        self._next += 1
        text = raw.strip()
        return Word(text, Place(self._file, min(self._next, max(1, len(self._lines))), raw.find(text) + 1))

    def here(self) -> Place:
        """The place of the line that was taken last."""
        return Place(self._file, max(1, min(self._next, len(self._lines))))

    def peek(self) -> str | None:
        """The next line as it is, None at the end."""
        return self._lines[self._next].strip() if self._next < len(self._lines) else None

    def value(self) -> Word:
        """The data line of a comment: what follows after further comments; empty if an end comes first."""
        while (following := self.peek()) is not None and following.startswith("'") and not _is(following, "'end"):
            self.take()
        if following is None or following.startswith("'"):
            return Word("", Place(self._file, max(1, self._next), 1))
        return self.take()

    def skip_comments(self) -> None:
        """Goes to the next line that is data or says something in an access specification."""
        while (following := self.peek()) is not None and (
            not following or (following.startswith("'") and not following.lower().startswith(_HEADS))
        ):
            self.take()

    def rows(self) -> Iterator[Word]:
        """The data lines up to the next comment; blank ones are passed over."""
        while (following := self.peek()) is not None and not following.startswith("'"):
            word = self.take()
            if word.text:
                yield word

    def skip_to(self, head: str) -> bool:
        """Goes behind the next line that begins so, from the file's begin; False if there is none."""
        self._next = 0
        return any(_is(word.text, head) for word in self)


def _is(text: str, head: str) -> bool:
    return text[: len(head)].lower() == head


def version(lines: Lines) -> tuple[int, ...]:
    """The version, which the first line says: three numbers.

    Raises:
        InputError: none.
    """
    first = lines.take()
    match = _VERSION.match(first.text)
    if match is None:
        said = first.text[:40]
        # Of a binary file it's anything.
        what = repr(said) if said.isascii() and said.isprintable() else "the first line"
        raise first.place.fault(
            f"{what} is not Iometer's version", "An .icf file begins with a line like: Version 1.1.0"
        )
    return tuple(int(part) for part in match.groups())


def _before(version: tuple[int, ...], date: tuple[int, ...]) -> bool:
    """Whether a version is a date, and older."""
    return version[0] > 1900 and version < date


def is_named(lines: Lines, version: tuple[int, ...]) -> bool:
    """Whether access specifications have names in this version."""
    # Since 1.1.0 versions are no dates any more; 3.26.97 was one the other way round, but new Iometers take it for new.
    if version == (3, 26, 97):
        return lines.skip_to("'access specification name")
    return not _before(version, _NAMED)


def check_whole(lines: Lines, version: tuple[int, ...]) -> None:
    """Whether each part that begins has its end, too: of a file that was cut off Iometer's defaults would be taken.

    Raises:
        InputError: one has none, with the line of its begin.
    """
    for part in _PARTS:
        if (part == _SETUP and _before(version, _ENDED)) or not lines.skip_to(f"'{part}"):
            continue
        begin = lines.here()
        if not any(_is(word.text, f"'end {part}") for word in lines):
            raise begin.fault(
                f"{part.upper()} begins here, and the file ends within it, at line {lines.here().line}",
                f"Save it with Iometer again; its end is a line 'END {part}",
            )


def setup(lines: Lines) -> Setup:
    """TEST SETUP; what isn't there is as Iometer starts."""
    found = Setup()
    if not lines.skip_to("'test setup"):
        return found
    for word in lines:
        key = word.text.lower()
        if _is(key, "'end test setup"):
            break
        if key == "'test description":
            found.description = lines.value().text[:200]
        elif key == "'run time":
            value = lines.value()
            hours, minutes, seconds = _numbers(value, ("hours", "minutes", "seconds"), _MOST_S)
            found.runtime_s = hours * 3600 + minutes * 60 + seconds
            if found.runtime_s > _MOST_S:
                raise value.place.fault("run time: more than 366 days", "Shorten it.")
        elif _is(key, "'ramp up time"):
            (found.ramp_s,) = _numbers(lines.value(), ("ramp up time",), _MOST_S)
        elif key == "'queue depth cycling":
            found.depths = _cycle(lines.value())
        elif key == "'test type":
            found.kind = lines.value().text[:40]
    return found


def _cycle(word: Word) -> tuple[int, ...]:
    """The depths from start to end: each a step more, or so many times the last."""
    *parts, way = _split(word, r"[\s,]+")
    if len(parts) != 3:
        raise word.place.fault("queue depth cycling: not start, end, step and step type", "Save the file with Iometer.")
    start, end = (part.whole("queue depth", 1, 65536) for part in parts[:2])
    exponential = way.text.upper() == "EXPONENTIAL"
    step = parts[2].whole("step", 2 if exponential and start < end else 1, 65536)
    depths = [start]
    while (following := depths[-1] * step if exponential else depths[-1] + step) <= end:
        if len(depths) == MOST_CYCLE:
            raise word.place.fault(f"queue depth cycling: more than {MOST_CYCLE} depths", "Take a larger step.")
        depths.append(following)
    return tuple(depths)


def specifications(lines: Lines, *, named: bool) -> list[Specification]:
    """ACCESS SPECIFICATIONS, in their order, no two of one name: Iometer would forget the first of them.

    So the second is called `NAME-2`, and so on. One that says what another of its name says is left out.

    Raises:
        InputError: a line that can't be, or none of them.
    """
    found: list[Specification] = []
    if lines.skip_to("'access specifications"):
        found += _named(lines) if named else _unnamed(lines)
    if not found:
        raise Place(lines.take().place.file, 1).fault("no access specification", "Save it with at least one.")
    alike: dict[str, list[Specification]] = {}
    kept: list[Specification] = []
    for spec in found:
        others = alike.setdefault(spec.name.lower(), [])
        if not any(spec.same(other) for other in others):
            others.append(spec)
            kept.append(spec)
    taken = set(alike)
    for first, *others in alike.values():
        for spec in others:
            first.said = spec.said = first.name
            spec.name = unique(first.name, taken, str.lower)
    return kept


def _named(lines: Lines) -> Iterator[Specification]:
    for word in lines:
        if not word.text:
            continue
        if _is(word.text, "'end access specifications"):
            return
        if not _is(word.text, "'access specification name"):
            raise word.place.fault(
                f"{word.text[:60]!r} is not a comment of an access specification",
                "Expected 'Access specification name,default assignment or 'END access specifications.",
            )
        lines.skip_comments()
        head = lines.take()
        name = head.text.split(",")[0].strip()
        if not name or name.startswith("'"):
            raise head.place.fault("an access specification without a name", "Give it one.")
        spec = Specification(name[:MOST_LETTERS], head.place)
        lines.skip_comments()
        heads = lines.take()
        if not heads.text.startswith("'size"):
            raise heads.place.fault(f"{heads.text[:60]!r} is not the line of heads", "Expected 'size,% of size,...")
        lines.skip_comments()
        spec.lines += [_line(row, 8) for row in lines.rows()]
        yield _whole(spec)
    raise _cut_off(lines)


def _cut_off(lines: Lines) -> InputError:
    return lines.take().place.fault(
        "the file ends within its access specifications",
        "It is cut off: their end is a line 'END access specifications",
    )


def _unnamed(lines: Lines) -> Iterator[Specification]:
    # Iometer takes the end of the file for theirs, too, but never saved such a file.
    lines.take()
    spec, number, taken = None, 0, set[str]()
    for row in lines.rows():
        line = _line(row, 6)
        if spec is None:
            number += 1
            spec = Specification(f"untitled-{number}", line.place)
        spec.lines.append(line)
        if sum(each.share_percent for each in spec.lines) >= 100:
            if len(spec.lines) == 1:
                spec.name = unique(_described(line), taken)
            yield _whole(spec)
            spec = None
    if lines.peek() is None:
        raise _cut_off(lines)
    if spec is not None:
        yield _whole(spec)


def _described(line: Line) -> str:
    """The name that Iometer gives to a specification of one line without a name; workers are assigned it by that."""
    size = {512: "512 B", 1024**2: "1 MiB"}.get(line.size_bytes, f"{line.size_bytes // 1024} KiB")
    place = {0: "sequential", 100: "random"}.get(line.random_percent, f"{line.random_percent}% random")
    way = {0: "writes", 100: "reads"}.get(line.read_percent, f"{line.read_percent}% reads")
    return f"{size} {place} {way}"


def _whole(spec: Specification) -> Specification:
    total = sum(line.share_percent for line in spec.lines)
    if total != 100:
        raise spec.place.fault(f"{spec.name}: its sizes make {total} %, not 100 %", "Change % of size.")
    if len(spec.lines) > MOST_LINES:
        raise spec.place.fault(f"{spec.name}: {len(spec.lines)} lines", f"Iometer takes at most {MOST_LINES}.")
    return spec


def _line(word: Word, count: int) -> Line:
    parts = _split(word, "," if count == 8 else r"[\s,]+")
    if len(parts) != count:
        raise word.place.fault(
            f"{len(parts)} values, not {count}", "size,% of size,% reads,% random,delay,burst,align,reply"
        )
    most = (2**32 - 1, 100, 100, 100, _MS, 10**9, 2**32 - 1, 2**32 - 1)
    names = ("size", "% of size", "% reads", "% random", "delay", "burst", "align", "reply")
    values = [part.whole(name, 0, high) for part, name, high in zip(parts, names, most, strict=False)]
    return Line(word.place, *values, *([0] * (8 - count)))


def workers(lines: Lines) -> list[Worker]:
    """Every worker of the MANAGER LIST."""
    found: list[Worker] = []
    if not lines.skip_to("'manager list"):
        return found
    for word in lines:
        key = word.text.lower()
        if _is(key, "'end manager list"):
            break
        if key == "'worker":
            found.append(Worker(word.place))
        elif found:
            _worker(found[-1], key, lines)
    return found


def _worker(worker: Worker, key: str, lines: Lines) -> None:
    if key == "'worker type":
        worker.network = _is(lines.value().text, "network")
    elif _is(key, "'number of outstanding ios"):
        worker.outstanding = _first(lines.value()).whole("number of outstanding IOs", 1, 65536)
    elif _is(key, "'disk maximum size"):
        value = lines.value()
        size, start, *pattern = [*_split(value, ","), Word("0", value.place)]
        worker.size_sectors = size.whole("disk maximum size", 0, _SECTORS)
        worker.start_sector = start.whole("starting sector", 0, _SECTORS)
        worker.pattern = pattern[0].whole("data pattern", 0, 100) if len(pattern) > 1 else None
    elif key == "'assigned access specs":
        worker.assigned += _assigned(lines)
    elif key == "'target":
        worker.targets.append(lines.value().text)


def _assigned(lines: Lines) -> Iterator[Word]:
    begin = lines.here()
    for word in lines:
        if _is(word.text, "'end assigned access specs"):
            return
        if word.text.lower().startswith(_OF_OTHERS):
            break
        if word.text and not word.text.startswith("'"):
            yield word
    raise begin.fault(
        f"ASSIGNED ACCESS SPECS begins here, and another part at line {lines.here().line}, before its end",
        "Save it with Iometer again; its end is a line 'End assigned access specs",
    )


def _first(word: Word) -> Word:
    return _split(word, ",")[0]


def _numbers(word: Word, names: tuple[str, ...], most: int) -> list[int]:
    parts = _split(word, r"[\s,]+")
    if len(parts) < len(names):
        raise word.place.fault(f"{', '.join(names)}: {word.text[:40]!r} are too few numbers", "Save it with Iometer.")
    return [part.whole(name, 0, most) for part, name in zip(parts, names, strict=False)]


def _split(word: Word, by: str) -> list[Word]:
    """The parts of a line between what `by` matches, each with its own column."""
    parts, at = [], 0
    for match in [*re.finditer(by, word.text), None]:
        raw = word.text[at : match.start() if match else None]
        column = word.place.column + at + len(raw) - len(raw.lstrip())
        parts.append(Word(raw.strip(), Place(word.place.file, word.place.line, column)))
        at = match.end() if match else at
    return parts
