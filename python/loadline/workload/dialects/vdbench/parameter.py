"""The text of a vdbench parameter file: its definitions (sd, wd, rd), each with its parameters, values and places.

Lines that begin with `*`, `#` or `/` are comments, and so is what follows the first blank of a line; `eof` ends the
file. What a definition says may be in one line or in several. A keyword may be cut short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from loadline.workload.dialects.text import Notes, Place, Word
from loadline.workload.suite import nearest

_SD = (
    "host", "hd", "lun", "count", "size", "threads", "hitarea", "offset", "align", "kstat", "instance", "replay",
    "journal", "resetlun", "resetbus", "openflags", "range", "dedupratio", "dedupunit", "dedupsets", "streams",
)  # fmt: skip
_WD = (
    "sd", "skew", "xfersize", "readpct", "rdpct", "writepct", "wrpct", "range", "hotband", "seekpct", "stride",
    "priority", "iorate", "rhpct", "whpct", "host", "hd", "openflags", "user", "threads", "streams",
)  # fmt: skip
_RD = (
    "wd", "sd", "iorate", "skew", "maxdata", "maxdataread", "maxdatawritten", "curve", "stopcurve", "elapsed",
    "interval", "warmup", "replay", "pause", "forxfersize", "forthreads", "forrdpct", "forrhpct", "forwhpct",
    "forseekpct", "forhitarea", "forcompratio", "forcompression", "foriorate", "xfersize", "threads", "rdpct", "rhpct",
    "whpct", "seekpct", "hitarea", "compratio", "distribution", "startcmd", "start_cmd", "endcmd", "end_cmd", "format",
    "openflags",
)  # fmt: skip
_GENERAL = (
    "abort_failed_skew", "auxreport", "compratio", "compression", "compressionseed", "concatenatesds", "create_anchors",
    "data_errors", "dataerrors", "debug", "dedupratio", "dedupunit", "dedupsets", "endcmd", "end_cmd", "formatsds",
    "formatxfersize", "heartbeat_error", "histogram", "host", "hd", "journal", "loop", "messagescan", "misc", "monitor",
    "pattern", "port", "psrset", "report", "report_run_totals", "showlba", "startcmd", "start_cmd", "swat",
    "unix2windows", "validate",
)  # fmt: skip
_KEYS: Mapping[str, Sequence[str]] = {"": _GENERAL, "sd": _SD, "wd": _WD, "rd": _RD, "hd": ()}

# Commands that would be run, other files, and traces.
_REFUSED = {
    "startcmd",
    "start_cmd",
    "endcmd",
    "end_cmd",
    "replay",
    "journal",
    "user",
    "include",
    "monitor",
    "auxreport",
}

_PARAMETER = re.compile(r"[A-Za-z_0-9]+")
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_TIMES = {"m": 60, "h": 3600}

#: Of what stands behind a blank, where it looks like parameters.
COMMENT = "what follows a blank is a comment, as for vdbench, and left out: if it's meant, take out the blank"

#: Values of one parameter at most, those of a range counted.
MOST_VALUES = 10_000

# Letters of a name at most.
_NAME = 256


@dataclass(frozen=True, slots=True)
class Parameter:
    """A keyword in full, its place, and its values."""

    key: str
    place: Place
    values: tuple[Word, ...]

    def only(self) -> Word:
        """The one value.

        Raises:
            InputError: several.
        """
        if len(self.values) != 1:
            raise self.place.fault(f"{self.key}: {len(self.values)} values, not one", "Give one.")
        return self.values[0]

    def numbers(self, low: int, high: int) -> list[Fraction]:
        """The values as numbers, with vdbench's units: k is 1,024."""
        return [_number(word, self.key, low, high, _UNITS) for word in self.values]

    def one(self, low: int, high: int) -> Fraction:
        """The one value as a number, likewise."""
        return _number(self.only(), self.key, low, high, _UNITS)

    def seconds(self) -> int:
        """The value as a time, of which m are minutes and h hours."""
        word = self.only()
        value = _number(word, self.key, 0, 10**8, _TIMES)
        if value.denominator != 1:
            raise word.place.fault(f"{self.key}: {word.text[:40]!r} is not a whole number of seconds", "Round it.")
        return int(value)


@dataclass(slots=True)
class Definition:
    """`sd=NAME`, `wd=NAME` or `rd=NAME` with what follows it; kind `""` is what stands before all of them."""

    kind: str
    name: str
    place: Place
    parameters: dict[str, Parameter] = field(default_factory=dict)


def _number(word: Word, key: str, low: int, high: int, units: Mapping[str, int]) -> Fraction:
    match = re.fullmatch(r"([0-9.]+)([A-Za-z%]?)[bB]?", word.text)
    factor = None if match is None else units.get(match[2].lower(), 1 if match[2] in ("", "%") else None)
    if match is None or factor is None:
        raise word.place.fault(
            f"{key}: {word.text[:40]!r} is not a number", f"Write it like 8 or 4{next(iter(units))}."
        )
    value = Word(match[1], word.place).number(key, 0, 10**18) * factor
    if not low <= value <= high:
        raise word.place.fault(f"{key}: {word.text[:40]!r} is not between {low} and {high}", "Change it.")
    return value


def definitions(text: str, file: str, notes: Notes) -> list[Definition]:
    """The file's definitions in their order, the general one first.

    Raises:
        InputError: a keyword that isn't known, or that could reach past the target, or text that is no parameter.
    """
    found = [Definition("", "", Place(file, 1))]
    for parameter in _parameters(text, file, notes):
        if parameter.key in ("fsd", "fwd", "rg"):
            raise parameter.place.fault(
                f"{parameter.key}: a workload of files, not of blocks", "Only sd, wd and rd are read."
            )
        inside = found[-1].kind
        if parameter.key in ("sd", "wd", "rd", "hd") and not _continues(parameter, inside):
            name = parameter.only()
            if len(name.text) > _NAME:
                raise name.place.fault(f"a name of {len(name.text)} letters", f"At most {_NAME}.")
            found.append(Definition(parameter.key, name.text, name.place))
            if len(found) > MOST_VALUES:
                raise name.place.fault(f"more than {MOST_VALUES} definitions", "Part the file.")
            continue
        key = parameter.key if parameter.key in _REFUSED else _full(parameter, inside)
        # What a host says is how vdbench would reach it (`user=root`): hosts are passed over whole.
        if key in _REFUSED and inside != "hd":
            raise parameter.place.fault(
                f"{key}: refused, for it could reach past the target", "Take it out; the target is on the command line."
            )
        found[-1].parameters[key] = Parameter(key, parameter.place, parameter.values)
    return found


def _continues(parameter: Parameter, inside: str) -> bool:
    """Whether `sd=` or `wd=` says what a workload or run uses, and defines nothing."""
    return (parameter.key, inside) in (("sd", "wd"), ("sd", "rd"), ("wd", "rd"))


def _full(parameter: Parameter, inside: str) -> str:
    known = _KEYS[inside]
    if inside == "hd":
        return parameter.key
    if parameter.key in known:
        return parameter.key
    meant = [key for key in known if len(parameter.key) > 1 and key.startswith(parameter.key)]
    # vdbench knows some in two spellings, with a _ and without.
    if len({key.replace("_", "") for key in meant}) > 1:
        raise parameter.place.fault(
            f"{parameter.key}: short for {', '.join(meant[:-1])} or {meant[-1]}", "Write out which is meant."
        )
    if meant:
        return meant[0]
    where = f"of {inside}" if inside else "before the first sd"
    raise parameter.place.fault(
        f"{parameter.key[:40]}: not a parameter {where} that loadline knows",
        nearest(parameter.key, known, "docs/guides/suites-of-other-tools.md says what is read."),
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text of one parameter; `lines` has where each of its lines begins, in the text and in the file."""

    text: str
    lines: tuple[tuple[int, Place], ...]

    def at(self, offset: int) -> Place:
        begin, place = [each for each in self.lines if each[0] <= offset][-1]
        return Place(place.file, place.line, place.column + offset - begin)


def _parameters(text: str, file: str, notes: Notes) -> Iterator[Parameter]:
    for piece in _pieces(text, file, notes):
        key, equals, _ = piece.text.partition("=")
        if not _PARAMETER.fullmatch(key) or not equals:
            raise piece.at(0).fault(f"{piece.text[:40]!r} is not keyword=value", "Parts are separated by commas.")
        yield Parameter(key.lower(), piece.at(0), tuple(_values(piece, len(key) + 1, key.lower())))


def _pieces(text: str, file: str, notes: Notes) -> Iterator[_Piece]:
    """The text between commas that stand in no brackets; a list in them may go on after a comma in the next line."""
    held, lines, depth = "", list[tuple[int, Place]](), 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.lower().startswith("eof"):
            break
        if not line or line[0] in "*#/":
            continue
        body, begin, at = _body(line), raw.index(line[0]) + 1, 0
        comment = line[len(body) :].lstrip()
        if "=" in comment and comment[0] not in "*#/":
            notes.add(COMMENT, f"{number}:{begin + len(line) - len(comment)}")
        lines.append((len(held), Place(file, number, begin)))
        for index, letter in enumerate(body):
            depth += (letter == "(") - (letter == ")")
            if depth < 0:
                raise Place(file, number, begin + index).fault("a bracket that was never opened", "Take it out.")
            if letter == "," and depth == 0:
                if held or index > at:
                    yield _Piece(held + body[at:index], tuple(lines))
                held, at = "", index + 1
                lines = [(0, Place(file, number, begin + at))]
        held += body[at:]
        if depth and not body.endswith(","):
            break
        if held and not depth:
            yield _Piece(held, tuple(lines))
        if not depth:
            held, lines = "", []
    if depth:
        raise lines[0][1].fault("a bracket that isn't closed", "Close it, or end the line with a comma to go on.")


def _body(line: str) -> str:
    """The line up to its first blank that isn't quoted; in quotes nothing separates."""
    quoted, body = False, []
    for letter in line:
        if letter.isspace() and not quoted:
            break
        quoted ^= letter == '"'
        body.append("_" if quoted and letter in '"(),=' else letter)
    return "".join(body)


def _values(piece: _Piece, start: int, key: str) -> list[Word]:
    """The values in brackets, or the one; `1-64,d` are doubled from the first to the last, `1-4` counted."""
    text = piece.text[start:]
    at = start + text.startswith("(")
    text = text[1:].removesuffix(")") if text.startswith("(") else text
    found = []
    for part in text.split(","):
        found.append(Word(part.strip('"'), piece.at(at)))
        at += len(part) + 1
    if not text or any(not one.text for one in found):
        raise piece.at(start - 1).fault(f"{key}: no value", "Write it like keyword=value or keyword=(a,b).")
    if len(found) > MOST_VALUES:
        raise piece.at(start).fault(f"{key}: {len(found)} values", f"At most {MOST_VALUES}.")
    if key.startswith("for") or key in ("iorate", "threads", "xfersize", "rdpct", "seekpct"):
        return _counted(found, key)
    return found


def _counted(words: list[Word], key: str) -> list[Word]:
    match = re.fullmatch(r"([0-9]{1,9}[kmg]?)-([0-9]{1,9}[kmg]?)", words[0].text.lower())
    if match is None:
        return words
    how = words[1].text.lower() if len(words) == 2 else ""
    if not (how == "d" or re.fullmatch(r"[1-9][0-9]{0,8}[kmg]?", how)):
        raise words[0].place.fault(f"{key}: a range is written like (1-64,d) or (1-64,1)", "Write out the values.")
    first, last = (_whole(match[1]), _whole(match[2]))
    if first > last:
        raise words[0].place.fault(f"{key}: a range goes from a lower to a higher value", "Write out the values.")
    values, step = [first], 0 if how == "d" else _whole(how)
    while (value := values[-1] * 2 if how == "d" else values[-1] + step) <= last:
        if len(values) == MOST_VALUES or not value:
            raise words[0].place.fault(f"{key}: more than {MOST_VALUES} values", "Take a larger step.")
        values.append(value)
    # A size becomes part of a name.
    sizes = key.endswith("xfersize")
    texts = [f"{value // 1024}k" if sizes and value and value % 1024 == 0 else str(value) for value in values]
    return [Word(text, words[0].place) for text in texts]


def _whole(text: str) -> int:
    """A whole number with vdbench's units."""
    return int(text.rstrip("kmg")) * _UNITS.get(text[-1], 1)


def by_kind(found: Sequence[Definition], kind: str) -> tuple[Definition | None, dict[str, Definition]]:
    """The defaults and the definitions of one kind, which the defaults given before them are part of.

    Raises:
        InputError: two of one name.
    """
    default: Definition | None = None
    named: dict[str, Definition] = {}
    for definition in found:
        if definition.kind != kind:
            continue
        if definition.name == "default":
            default = definition
            continue
        if definition.name in named:
            raise definition.place.fault(f"two {kind} are named {definition.name!r}", "Rename one.")
        if default is not None:
            definition.parameters = {**default.parameters, **definition.parameters}
        named[definition.name] = definition
    return default, named


def matching(words: Sequence[Word], known: Mapping[str, Definition], kind: str) -> list[Definition]:
    """The definitions that names, `sd*` or `sd1-sd4` mean.

    Raises:
        InputError: a name that nothing has.
    """
    chosen: dict[str, Definition] = {}
    for word in words:
        ends = re.fullmatch(r"([A-Za-z_]+)([0-9]{1,6})-([A-Za-z_]+)([0-9]{1,6})", word.text)
        if ends and ends[1] == ends[3]:
            names = [f"{ends[1]}{n}" for n in range(int(ends[2]), min(int(ends[4]), int(ends[2]) + MOST_VALUES) + 1)]
        else:
            begin, star, end = word.text.partition("*")
            if "*" in end:
                raise word.place.fault(f"{kind}: {word.text[:40]!r} has more than one *", "Write the names.")
            short = len(begin) + len(end)
            names = [
                name
                for name in known
                if (name.startswith(begin) and name.endswith(end) and len(name) >= short if star else name == begin)
            ]
        if not names or any(name not in known for name in names):
            raise word.place.fault(f"no {kind} is named {word.text[:40]!r}", _named(known, kind))
        chosen |= {name: known[name] for name in names}
    return list(chosen.values())


def _named(known: Mapping[str, Definition], kind: str) -> str:
    return f"There are: {', '.join(list(known)[:10])}." if known else f"Define it with {kind}=NAME."
