"""What the core says of a wrong description, as a message with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from loadline.errors import InputError
from loadline.workload.suite import nearest

#: What serde says of a key or name that it doesn't know.
_UNKNOWN = re.compile(r"unknown (?:field|variant) `([^`]*)`, expected (?:one of )?(.*)", re.DOTALL)

#: What it says of a value of another type than the key's, or outside of what the type holds.
_WRONG = re.compile(r"invalid (?:type|value): (.*), expected (.*)", re.DOTALL)

#: And of a key that has to be there.
_MISSING = re.compile(r"missing field `([^`]*)`")

#: And its parser of a text that is no TOML: the place, the line and the reason.
_NO_TOML = re.compile(r"TOML parse error at (line \d+, column \d+)\n *\|\n\d+ \| (.*)\n *\|.*\n(.*)", re.DOTALL)

#: A share as it isn't written there.
_PERCENT = re.compile(r'"\s*(\d+(?:\.\d+)?)\s*%\s*"', re.ASCII)

#: Types of the core by their field's name.
_TYPES = (
    ("struct|map", "a table of keys"),
    ("u32|u64", "a whole number"),
    ("f64", "a number"),
    ("a sequence|seq", "a list"),
    ("a string", "text; in quotes if it reads as something else"),
    ("a boolean", "true or false"),
)


# Sizes that may be 0.
_MAY_BE_NONE = frozenset({"cache.read", "cache.read_ahead", "cache.write"})

# Of a line of the file that a parser shows, no more than fits a message.
_SHOWN = 120

#: As much of a sentence of ours: where somebody's own words make it longer, its end has the reason and the remedy.
_SENTENCE = 3 * _SHOWN

# Keys at the top of suites, which no system has.
_OF_SUITES = frozenset({"analysis", "profile", "published", "runtime", "warmup"})


def refusal(where: str, error: ValueError, keys: Callable[[], Iterable[str]] = tuple) -> InputError:
    """The core's `ValueError` about `where`: a file, with what was set in it.

    Its arguments are the dotted key and what is wrong. Of a name that isn't known the nearest one is suggested, before
    it those of `keys` that end in it.
    """
    if isinstance(error, UnicodeEncodeError):
        return InputError(f"{where}: {error.object!r} isn't UTF-8", "Write it in UTF-8.")
    path, why = error.args if len(error.args) == 2 else ("", str(error))
    # What Rust calls the type of a number is nothing to a reader.
    why = re.sub(r"(`\d+`) as [iu]\d+", r"\1", why)
    why = re.sub(r"cannot recurse further.*", "lists or tables are nested deeper than can be read", why)
    # The parser's of dotted keys.
    why = re.sub(r"^recursion limit$", "a key has more parts than can be read: write keys such as pool.drives", why)
    why = re.sub(r"^wanted exactly 1 element.*", "has no key or several: write a table of exactly one, its kind", why)
    at = f"{where}: {path}: " if path else f"{where}: "
    # Before anything is cut: the list of what is known may be long, and has to be whole.
    unknown = _UNKNOWN.search(why)
    if unknown is None and (broken := _NO_TOML.match(why)):
        return _no_toml(at, *broken.groups())
    if "\n" in why:
        why = "\n".join(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…" for line in why.split("\n"))
    elif len(why) > _SENTENCE:
        why = f"{why[:_SHOWN]} … {why[_SHOWN - _SENTENCE :]}"
    wrong, missing = _WRONG.search(why), _MISSING.search(why)
    if wrong is not None:
        takes = next((said for kind, said in _TYPES if re.match(kind, wrong[2])), wrong[2])
        found = re.sub(r"(?:integer|string|boolean|floating point) ", "", wrong[1], flags=re.IGNORECASE).replace(
            "`", ""
        )
        found = {"map": "a table", "sequence": "a list"}.get(found, found)
        if takes == "a number" and (percent := _PERCENT.fullmatch(found)):
            takes += f": write {float(percent[1]) / 100:g}"
        # What a key's own range is, only the core knows, which holds no other number.
        if takes == "a whole number" and re.fullmatch(r"-?\d+", found):
            takes = "a whole number that isn't negative" if found.startswith("-") else "a smaller whole number"
        if takes.startswith("a size") and found.isdigit() and (found != "0" or path in _MAY_BE_NONE):
            takes += f": write {found}B"
        if (found, takes) == ("a table", "a list"):
            takes = f"a list of tables: write [[{path}]]"
        return InputError(f"{at}{found} can't stand there", f"It takes {takes}.")
    if missing is not None:
        key = f"{path}.{missing[1]}" if path else missing[1]
        return InputError(f"{where}: {key} is missing", "Give it as well.")
    if unknown is None:
        return _sentence(at, why)
    name, expected = unknown[1][:_SHOWN], unknown[2]
    known = re.findall(r"`([^`]*)`", expected)
    elsewhere = [key for key in keys() if key.endswith(f".{name}")]
    there = nearest(name, known, f"Known: {', '.join(known)}.")
    remedy = f"Did you mean {' or '.join(elsewhere)}?" if elsewhere else there
    if name in _OF_SUITES and "volume" in known:
        remedy = "It's of a suite, before which the system comes: loadline forecast SYSTEM SUITE."
    return InputError(f"{at}{name!r} isn't known there", remedy)


def is_missing(error: ValueError) -> bool:
    """Whether the core misses a key that has to be there."""
    return _MISSING.search(str(error)) is not None


def _no_toml(at: str, place: str, line: str, reason: str) -> InputError:
    line, reason = line.strip(), reason.strip().replace("\n", ", ")
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
    return InputError(f"{at}{place}: {shown!r} is no TOML: {reason}", "Mend that line; text stands in quotes.")


def _sentence(at: str, why: str) -> InputError:
    what, colon, remedy = why.rpartition(": ")
    # Quotes that aren't closed: the colon is one of the user's.
    if colon and not what.endswith("\n") and "\n" not in remedy and remedy.count('"') % 2 == 0:
        end = "" if remedy.endswith("?") else "."
        return InputError(at + what, f"{remedy[:1].upper()}{remedy[1:].rstrip('.')}{end}")
    return InputError(at + why)
