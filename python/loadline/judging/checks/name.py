"""A row's name and text against its parameters: `128k sequential read` with a mix of 0/100 is something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject
from loadline.units import format_bytes, format_percent
from loadline.workload.profile import Profile
from loadline.workload.suite import load_suite

NAME = "name"

#: A suite whose names stand for known parameters.
KNOWN = "typical-12"
#: A share that is called by a round name may be off by so much.
SHARE = 0.051

# Sizes that requests have; `10k disks` and `256m cache` are none.
_LEAST_BYTES, _MOST_BYTES = 512, 16 * 1024**2
_POWER = {"k": 1, "m": 2}

# So many characters around a size say what it's of.
_NEAR = 60

_CANDIDATE = re.compile(r"(?<![\d.,])(\d{1,5}(?:\.\d)?)\s?(?:([km])(?:i?b)?|b(?:ytes)?)(?![a-z\d])", re.IGNORECASE)

# What may stand between a size and the access that it's of, what says an access, and what more says a size.
_GAP = r"[\s,_-]*"
_SHARE = r"(?:\d{1,3}\s?%|\d{1,3}\s?/\s?\d{1,3}(?!\d)|\d{1,3}rdpct)"
_WORD = (
    r"(?:(?:100\s?%\s?)?(?:rand(?:om)?(?:ly)?|rnd|seq(?:uential)?(?:ly)?|mix(?:ed)?|reads?|reading|writes?|writing|rw"
    r"|rand_?(?:read|write|rw)|seq_?(?:read|write))(?![a-z])\.?)"
)
_ACCESS_AFTER = re.compile(rf"(?:{_GAP}{_SHARE})*{_GAP}{_WORD}|{_GAP}{_SHARE}", re.IGNORECASE)
_ACCESS_BEFORE = re.compile(rf"(?:(?<![a-z]){_WORD}(?:{_GAP}{_SHARE})*|{_SHARE}){_GAP}$", re.IGNORECASE)
# After an access a size ends what is said, or its load follows: `read 8k users` is none.
_ENDS = re.compile(
    rf"{_GAP}(?:$|[^\w\s]|{_WORD}|{_SHARE}|qd?\d|(?:blocks?|i/?o|requests?|transfers?|at|x|with)\b)", re.IGNORECASE
)
# `1M random read IOPS` are no MiB, or may be none.
_RATE = re.compile(rf"(?:{_GAP}{_WORD})*{_GAP}\W?(?:iops|ops|i/?os|requests|req)\b", re.IGNORECASE)
_SIZE_BEFORE = re.compile(r"(?:\bbs|block ?size|xfer ?size|blocks? of)\s?[=: ]\s?$", re.IGNORECASE)
_SIZE_AFTER = re.compile(r"[\s_-]?blocks?\b", re.IGNORECASE)
# What else has a size.
_OTHER = re.compile(
    r"(?:chunk|stripe|strip|cache|buffer|segment|page|cluster|ram|unit)s?(?:[\s_-]?size)?(?:\s?of)?\W*$", re.IGNORECASE
)
_MIX = re.compile(r"(?<![\d.])(\d{1,3})\s?/\s?(\d{1,3})(?![\d.])")
_PERCENT = re.compile(r"(\d{1,3})(?:\s?%\s?(?:random )?reads?\b|rdpct)", re.IGNORECASE)
# `50-Read-0-random` is a name that lost its percent signs: no words for all or nothing.
_READ = re.compile(r"(?<![a-z])(?<!\d-)(?:reads?|reading|rand_?read|seq_?read)(?![a-z])", re.IGNORECASE)
_WRITE = re.compile(r"(?<![a-z])(?<!\d-)(?:writes?|writing|rand_?write|seq_?write)(?![a-z])", re.IGNORECASE)
_ALL_OF_THEM = re.compile(
    r"(?:(?<![a-z])(?:rand(?:om)?|rnd|seq(?:uential)?|all|only|pure)|\d\s?[km](?:i?b)?|\b100\s?%?)[\s_-]*(?:reads|writes)(?![a-z])",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?<![a-z])(?<!\d-)(?:random|rand|rnd)|rand(?:read|write|rw)", re.IGNORECASE)
_RANDOM_PERCENT = re.compile(r"(\d{1,3})(?:\s?%\s?rand(?:om)?\b|randompct)", re.IGNORECASE)
_SEQUENTIAL = re.compile(r"(?<![a-z])(?:sequential|seq)", re.IGNORECASE)


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """What a name or text says, where a parameter is known too; names of the catalog; cells that say two things."""
    for subject in subjects:
        yield from ((subject, doubt) for part in (_said, _catalog, _two) for doubt in part(subject))


def _said(subject: Subject) -> Iterator[Doubt]:
    row = subject.row
    texts = [row.profile or "", str(row.tags.get("text") or row.tags.get("description") or "")]
    for text in filter(None, dict.fromkeys(texts)):
        for what, said, known in _differences(text, subject):
            message = f"{text!r} says {what} {said}, and the parameters say {known}"
            yield Doubt("warning", message, "Ask which of the two was run.")
        words, figures = _in_words(text), _in_figures(text)
        if words is not None and figures == 1 - words:
            told = "reads" if words else "writes"
            message = f"{text!r} says {told} in words and {format_percent(figures)} reads in figures"
            yield Doubt("warning", message, "Ask which of the two was run.")


def _differences(text: str, subject: Subject) -> Iterator[tuple[str, str, str]]:
    size = _size(text)
    # `1 MB` may be a million bytes as well.
    if size is not None and len(subject.sizes) == 1 and not 0.95 < subject.sizes[0][0] / size <= 1:
        yield "blocks of", format_bytes(size), format_bytes(subject.sizes[0][0])
    share, asked = _reads(text), subject.read_fraction
    if share is not None and asked is not None and abs(share - asked) > SHARE:
        yield "a share of reads of", format_percent(share), format_percent(asked)
    random, placed = _randomness(text), subject.random_fraction
    if random is not None and placed is not None and abs(random[0] - placed) > random[1]:
        yield "access that is", random[2], f"{format_percent(placed)} random"


def _size(text: str) -> int | None:
    """The size of requests that a text says, in bytes: one that stands by an access, and no other beside it."""
    candidates = [
        (one, text[max(0, one.start() - _NEAR) : one.start()], text[one.end() : one.end() + _NEAR])
        for one in _CANDIDATE.finditer(text)
    ]
    said = [
        (int(size), _is_of_requests(before, after))
        for one, before, after in candidates
        if _can_be(size := float(one[1]) * 1024 ** _POWER.get((one[2] or "").lower(), 0))
        and not _OTHER.search(before)
        and not _RATE.match(after)
    ]
    meant = any(of_requests for _, of_requests in said)
    return said[0][0] if meant and len({size for size, _ in said}) == 1 else None


def _can_be(size: float) -> bool:
    return _LEAST_BYTES <= size <= _MOST_BYTES and size.is_integer() and int(size).bit_count() == 1


def _is_of_requests(before: str, after: str) -> bool:
    if _SIZE_BEFORE.search(before) or _SIZE_AFTER.match(after) or _ACCESS_AFTER.match(after):
        return True
    return bool(_ACCESS_BEFORE.search(before) and _ENDS.match(after))


def _reads(text: str) -> float | None:
    """The share of reads that a text says in figures, else in words; None where it says none, or two."""
    figures = _in_figures(text)
    return _in_words(text) if figures is None else figures


def _in_figures(text: str) -> float | None:
    said = {int(a) / 100 for a, b in _MIX.findall(text) if int(a) + int(b) == 100}
    said |= {int(percent) / 100 for percent in _PERCENT.findall(text) if int(percent) <= 100}
    return said.pop() if len(said) == 1 else None


def _in_words(text: str) -> float | None:
    reads, writes = bool(_READ.search(text)), bool(_WRITE.search(text))
    if reads == writes:
        return None
    # `reads` are some of them; `random reads` and `8k reads` are all there are.
    said = [found[0].lower() for found in (_READ if reads else _WRITE).finditer(text)]
    some = all(word in {"reads", "writes"} for word in said) and not _ALL_OF_THEM.search(text)
    return None if some else float(reads)


def _randomness(text: str) -> tuple[float, float, str] | None:
    """The share of random requests that a text says, how far off it may be, and its word for it; None as of reads."""
    figures = {int(percent) for percent in _RANDOM_PERCENT.findall(text)}
    if figures:
        share = figures.pop() / 100
        return None if figures or share > 1 else (share, SHARE, f"{format_percent(share)} random")
    random, sequential = bool(_RANDOM.search(text)), bool(_SEQUENTIAL.search(text))
    return None if random == sequential else (float(random), 0.5, "random" if random else "sequential")


@cache
def _profiles() -> dict[str, Profile]:
    suite, _ = load_suite(KNOWN)
    return {entry.name: entry.loads[0][0].profile for entry in suite.entries}


def _catalog(subject: Subject) -> Iterator[Doubt]:
    profile = subject.row.profile
    if subject.row.suite == KNOWN or not profile or (known := _profiles().get(profile)) is None:
        return
    unlike = []
    if subject.sizes and [size for size, _ in subject.sizes] != [part.size_bytes for part in known.block]:
        unlike.append(
            f"blocks of {', '.join(format_bytes(size) for size, _ in subject.sizes)}, not {known.block_text()}"
        )
    if subject.read_fraction is not None and abs(subject.read_fraction - known.read_fraction) > 0.005:
        unlike.append(f"{format_percent(subject.read_fraction)} reads, not {format_percent(known.read_fraction)}")
    if subject.random_fraction is not None and abs(subject.random_fraction - known.random_fraction) > 0.005:
        unlike.append(f"{format_percent(subject.random_fraction)} random, not {format_percent(known.random_fraction)}")
    if unlike:
        message = f"{profile!r} of the field has other parameters: here {'; '.join(unlike)}"
        yield Doubt("warning", message, "Compare it only with rows of the same parameters.")


def _two(subject: Subject) -> Iterator[Doubt]:
    """Cells of a source that give two values for one parameter."""
    cells = subject.row.provenance.get("two_values") or {}
    for column, text in cells.items() if isinstance(cells, dict) else ():
        message = f"its source says two things of {column}: {text!r}; the first is taken"
        yield Doubt("warning", message, "Ask which of the two was run.")
