"""HCIBench's names of parameter files, such as vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads.

Source: HCIBench 3.0, automation/generate-vdb-param-file.sh, which makes the name and the vdbench file behind it: so
many disks (vmdk) of a guest, of each the first percent (ws), block size, shares of reads and of random requests, and
threads a disk. A prefix (-p) stands before it, and lib/io-test.rb puts the time behind it for the folder of results.
A disk is a job here, and its threads are the job's queue depth: a point is the load of one guest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from loadline.errors import InputError
from loadline.units import format_bytes, format_size, parse_bytes
from loadline.workload.dialects.text import Notes, Place, Word, fixed, seconds, slug, unique
from loadline.workload.plan import Point
from loadline.workload.profile import BlockShare, Closed, Open, Profile, Workload, access_class
from loadline.workload.suite import BLOCK_BYTES, DEPTHS, JOBS, MOST_POINTS, Entry, Suite

#: HCIBench asks for the time apart from the name; these are the field report's.
RUNTIME_NS = 600 * 10**9
_THREADS = 2

# No disk has smaller blocks: a number below has lost its unit.
_LEAST_BYTES = 512

# No name is longer.
_LETTERS = 200

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_PARTS = (
    r"(?:[A-Za-z0-9_.]+-)*(?:vdb|fio)",
    rf"-{_NUMBER}vmdk",
    rf"-{_NUMBER}ws",
    r"-([0-9]+[kKmM]?)(?=-)",
    rf"-{_NUMBER}rdpct",
    rf"-{_NUMBER}randompct",
    r"-([0-9]*)threads",
    # A folder of results has when its test began, in seconds.
    r"(?:-[0-9]{10})?",
)
_FORM = re.compile("".join(_PARTS), re.IGNORECASE)
# As many of the parts as there are, from the first on.
_BEGIN = re.compile("(?:".join(("", *_PARTS)) + ")?" * len(_PARTS), re.IGNORECASE)
_LOOKS = re.compile(r"(?:.*-)?(?:vdb|fio)-[0-9.]+vmdk-.*", re.DOTALL | re.IGNORECASE)
_EXAMPLE = "Write it like vdb-8vmdk-10ws-4k-70rdpct-30randompct-2threads."


def is_name(text: str) -> bool:
    """Whether the text is meant to be such a name, well formed or not."""
    return _LOOKS.fullmatch(text) is not None


def read_name(text: str) -> Suite:
    """The suite of one point that a name says.

    Raises:
        InputError: not such a name, or a number in it that can't be, with its column.
    """
    entry = _entry(Word(text, Place("name", 1)), set())
    return Suite(slug(text)[:64], "HCIBench's load of one guest", text[:_LETTERS], "", (entry,))


def read(text: str, name: str, file: str) -> tuple[Suite, list[str]]:
    """The suite that a list of names says, a line each; lines that begin with `*` or `#` are comments.

    Raises:
        InputError: a line that isn't a name, or a number that can't be, with line and column.
    """
    taken: set[str] = set()
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if word and word[0] not in "*#":
            place = Place(file, number, line.index(word) + 1)
            if len(entries) == MOST_POINTS:
                raise place.fault(f"makes more than {MOST_POINTS} points", "Part the file.")
            entries.append(_entry(Word(word, place), taken))
    if not entries:
        raise Place(file, 1).fault("none of HCIBench's names", _EXAMPLE)
    return Suite(name, f"HCIBench names of {file}", file, "", tuple(entries)), []


def _no_name(word: Word) -> InputError:
    """The error at the part that isn't there, or isn't as it has to be."""
    text, begin = word.text, _BEGIN.match(word.text[:_LETTERS])
    at = begin.end() if begin else 0
    at += text[at : at + 1] == "-"
    missing = [part for part in ("vmdk", "ws", "rdpct", "randompct", "threads") if part not in text.lower()]
    lacks = f": it says no {' and no '.join(missing)}" if missing else ""
    place = replace(word.place, column=word.place.column + at)
    return place.fault(f"{text[:80]!r} is not one of HCIBench's names{lacks}", _EXAMPLE)


def _entry(word: Word, taken: set[str]) -> Entry:
    match = _FORM.fullmatch(word.text) if len(word.text) <= _LETTERS else None
    if match is None:
        raise _no_name(word)

    def part(number: int) -> Word:
        place = replace(word.place, column=word.place.column + match.start(number))
        return Word(match[number], place)

    disks = part(1).whole("vmdk", *JOBS)
    touched = part(2).number("ws", 0, 100)
    if not touched:
        raise part(2).place.fault("ws: 0 % of the disks is nothing", "Give 1 to 100.")
    try:
        size_bytes = parse_bytes(match[3])
    except InputError as error:
        raise part(3).place.fault(error.message, error.remedy) from None
    if not _LEAST_BYTES <= size_bytes <= BLOCK_BYTES[1]:
        raise part(3).place.fault(
            f"{match[3]!r} is not a block size from {_LEAST_BYTES} bytes to 1 GiB", "Write it with its unit, like 4k."
        )
    read, random = (part(n).number(what, 0, 100) / 100 for n, what in ((4, "rdpct"), (5, "randompct")))
    threads = part(6).whole("threads", *DEPTHS) if match[6] else _THREADS
    name = unique(slug(word.text)[:100], taken)
    profile = Profile(
        name=name,
        block=(BlockShare(size_bytes, 1.0),),
        read_fraction=float(read),
        random_fraction=float(random),
        access_class=access_class(float(random)),
        working_set_fraction=None if touched == 100 else float(touched / 100),
    )
    return Entry(name, ((Workload(profile, Closed(threads, disks)),),), RUNTIME_NS, 0)


def write(points: Sequence[Point], *, size_bytes: int | None = None) -> tuple[str, Notes]:
    """The nearest names, a line each, and what they leave out.

    Args:
        size_bytes: of the target, for working sets in bytes; None: they become all of it.

    Raises:
        InputError: a ramp.
    """
    notes, names = Notes(), dict[str, None]()
    if size_bytes is not None:
        notes.add(f"a name says no size: give HCIBench disks of {format_size(size_bytes)} together")
    for point in fixed(points):
        if len(point.streams) > 1:
            notes.add("a name says one stream: streams that run together are names of their own", point.name)
        times = f"{seconds(point.runtime_ns)} s after {seconds(point.warmup_ns)} s"
        notes.add(f"a name says no times: give HCIBench {times} of warm-up", point.name)
        for stream in point.streams:
            name = _name(stream, point.name, notes, size_bytes)
            if name in names:
                notes.add("its name comes out as that of an earlier load: it is written once", point.name)
            names[name] = None
    return "\n".join(names) + "\n", notes


def _name(stream: Workload, point: str, notes: Notes, size_bytes: int | None) -> str:
    profile = stream.profile
    size = max(profile.block, key=lambda share: share.share_fraction).size_bytes
    if len(profile.block) > 1:
        notes.add("a name has one block size: the most frequent is taken", point)
    if size < _LEAST_BYTES:
        notes.add(f"a name has no block below {_LEAST_BYTES} bytes: that is taken", point)
        size = _LEAST_BYTES
    for left, what in _left_out(stream):
        if left:
            notes.add(f"a name says nothing of {what}: it is left out", point)
    touched = profile.working_set_fraction
    if profile.working_set_bytes is not None:
        if size_bytes is None:
            notes.add(
                "a name says percents: a working set in bytes becomes all of the target, unless --size says how large"
                " it is",
                point,
            )
        else:
            touched = min(1.0, profile.working_set_bytes / size_bytes)
    touched_percent = _percent(1.0 if touched is None else touched, "working set", point, notes) or 1
    read = _percent(profile.read_fraction, "share of reads", point, notes)
    random = _percent(profile.random_fraction, "share of random requests", point, notes)
    load = stream.arrival
    mix = f"{_block(size)}-{read}rdpct-{random}randompct"
    return f"vdb-{load.jobs}vmdk-{touched_percent}ws-{mix}-{load.queue_depth}threads"


def _left_out(stream: Workload) -> list[tuple[bool, str]]:
    profile = stream.profile
    return [
        (isinstance(stream.arrival, Open), "a rate (the load becomes closed, at its queue depth)"),
        (profile.distribution.kind != "uniform", "a distribution of addresses (it becomes uniform)"),
        (bool(profile.start_bytes or profile.start_fraction), "a start (it becomes 0)"),
        (profile.writes and (profile.dsync or profile.flush_every > 0), "O_DSYNC and flushes"),
        (profile.writes and bool(profile.compressible_fraction or profile.duplicate_fraction), "the data written"),
        (profile.think_time_ns > 0, "think time"),
    ]


def _percent(fraction: float, what: str, point: str, notes: Notes) -> int:
    percent = round(fraction * 100)
    if abs(percent - fraction * 100) > 1e-6:
        notes.add(f"{what}: {fraction * 100:.6g} % is rounded to a whole percent", point)
    return percent


def _block(size_bytes: int) -> str:
    """HCIBench knows k and m; larger units are written in m."""
    text = format_bytes(size_bytes)
    return text.lower() if text[-1] in "kM" or text.isdigit() else f"{size_bytes >> 20}m"
