"""What a vdbench parameter file means as a suite: each run definition is a sweep of points.

Storage definitions are laid side by side on the one target: they are the jobs, and their threads the queue depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from loadline.errors import InputError
from loadline.workload.dialects.text import Notes, Place, Word, slug, unique
from loadline.workload.dialects.vdbench.parameter import (
    COMMENT,
    Definition,
    Parameter,
    by_kind,
    definitions,
    matching,
)
from loadline.workload.profile import Arrival, BlockShare, Closed, Open, Profile, Workload, access_class
from loadline.workload.suite import BLOCK_BYTES, DEPTHS, JOBS, MOST_POINTS, RUNTIME_NS, Entry, Suite

# vdbench's own.
_THREADS = 8
_XFERSIZE = 4096
_ELAPSED_S = 30

# Skews in percent needn't be exact: three of 33.3.
_ROUNDED = 1

_SWEPT = ("xfersize", "rdpct", "seekpct")
_MOST_BYTES = 2**63 - 1

# Understood, but nothing that a workload is here; said once, where it's given.
_LEFT_OUT = {
    "wd": ("rhpct", "whpct", "stride", "priority", "hotband", "host", "hd", "threads"),
    "rd": ("maxdata", "maxdataread", "maxdatawritten", "curve", "stopcurve", "forrhpct", "forwhpct", "forhitarea",
           "forcompratio", "forcompression", "rhpct", "whpct", "hitarea", "compratio", "distribution", "format",
           "pause", "skew"),
    "sd": ("count", "align", "resetlun", "resetbus", "host", "hd"),
    "": ("validate", "pattern", "concatenatesds", "loop", "compression", "formatsds", "host", "hd"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Axes:
    """What one turn of a run definition's loops says; None: as its workload definitions."""

    xfersize: Word | None
    rdpct: Word | None
    seekpct: Word | None

    def suffix(self, swept: Mapping[str, Parameter]) -> str:
        """What tells the turns apart."""
        words = ((key, getattr(self, key)) for key, parameter in swept.items() if len(parameter.values) > 1)
        return "".join(f"-{key}{word.text}" for key, word in words)


def read(text: str, name: str, file: str) -> tuple[Suite, list[str]]:
    """The suite that a parameter file describes, and what its reader should know.

    Raises:
        InputError: a parameter that isn't known or may not be read, or a value that can't be, with line and column.
    """
    notes = Notes()
    try:
        return _suite(definitions(text, file, notes), name, file, notes), notes.lines(file)
    except InputError as error:
        # What is left out there may be what is missed.
        if (cut := notes.about(COMMENT)) is None:
            raise
        raise InputError(error.message, f"{error.remedy} At {', '.join(cut[:3])} {COMMENT}.") from None


def _suite(found: list[Definition], name: str, file: str, notes: Notes) -> Suite:
    for definition in found:
        for key in _LEFT_OUT.get(definition.kind, ()):
            if key in definition.parameters:
                notes.add(f"{key} is left out: loadline has nothing like it", definition.name)
    _, storages = by_kind(found, "sd")
    _, workloads = by_kind(found, "wd")
    _, runs = by_kind(found, "rd")
    if not runs:
        raise Place(file, 1).fault("no run definition", "A vdbench file has at least one sd=, wd= and rd=.")
    content = _content(found[0], notes)
    taken: set[str] = set()
    entries: list[Entry] = []
    for run in runs.values():
        for entry in _entries(run, storages, workloads, content, taken, notes):
            entries.append(entry)
            if sum(len(one.loads) for one in entries) > MOST_POINTS:
                raise run.place.fault(f"makes more than {MOST_POINTS} points", "Shorten its lists.")
    if not any("openflags" in one.parameters for one in found):
        notes.add("no openflags=o_direct: loadline measures with direct I/O all the same")
    return Suite(name, f"vdbench parameter file {file}", file, "", tuple(entries))


def _content(general: Definition, notes: Notes) -> tuple[float, float]:
    """Compressible and duplicate shares; vdbench says them as ratios."""
    shares = []
    for key in ("compratio", "dedupratio"):
        parameter = general.parameters.get(key)
        ratio = Fraction(1) if parameter is None else parameter.one(1, 1000)
        shares.append(round(float(1 - 1 / ratio), 2))
        if parameter is not None and abs(shares[-1] - float(1 - 1 / ratio)) > 1e-9:
            notes.add(f"{key} is rounded to a whole percent of the data: {shares[-1]:.0%}")
    return shares[0], shares[1]


def _entries(
    run: Definition,
    storages: Mapping[str, Definition],
    workloads: Mapping[str, Definition],
    content: tuple[float, float],
    taken: set[str],
    notes: Notes,
) -> Iterator[Entry]:
    chosen = run.parameters.get("wd")
    if chosen is None:
        raise run.place.fault(f"rd={run.name} has no wd", "Name its workload: wd=NAME.")
    together = matching(chosen.values, workloads, "wd")
    runtime_ns, warmup_ns = _times(run)
    # In a run definition a value and a list of them are the same, with `for` before the key or without.
    given = {key: run.parameters.get(f"for{key}") or run.parameters.get(key) for key in _SWEPT}
    swept = {key: parameter for key, parameter in given.items() if parameter is not None}
    turns = product(*(swept[key].values if key in swept else (None,) for key in _SWEPT))
    threads, rates = _threads(run), _rates(run, together, notes)
    if len(threads) * len(rates) * prod(len(parameter.values) for parameter in swept.values()) > MOST_POINTS:
        raise run.place.fault(f"makes more than {MOST_POINTS} points", "Shorten its lists.")
    for turn in turns:
        axes = _Axes(*turn)
        name = unique((slug(run.name) + axes.suffix(swept))[:100], taken)
        parts = [_Part(one, run, axes, storages, content, notes) for one in together]
        names: set[str] = set()
        profiles = [
            part.profile(name if len(parts) == 1 else unique(slug(part.workload.name), names)) for part in parts
        ]
        loads = tuple(
            tuple(
                Workload(profile, part.arrival(each, rate, parts))
                for profile, part in zip(profiles, parts, strict=True)
            )
            for each in threads
            for rate in rates
        )
        yield Entry(name, tuple(dict.fromkeys(loads)), runtime_ns, warmup_ns)


def _times(run: Definition) -> tuple[int, int]:
    elapsed, warmup = (run.parameters.get(key) for key in ("elapsed", "warmup"))
    runtime_ns = (_ELAPSED_S if elapsed is None else elapsed.seconds()) * 10**9
    if elapsed is not None and not RUNTIME_NS[0] <= runtime_ns <= RUNTIME_NS[1]:
        raise elapsed.only().place.fault("elapsed: a point runs from 1 s to 366 days", "Change it.")
    warmup_ns = 0 if warmup is None else warmup.seconds() * 10**9
    if warmup is not None and warmup_ns > RUNTIME_NS[1]:
        raise warmup.only().place.fault("warmup: at most 366 days", "Change it.")
    return runtime_ns, warmup_ns


def _threads(run: Definition) -> list[int | None]:
    parameter = run.parameters.get("forthreads") or run.parameters.get("threads")
    if parameter is None:
        return [None]
    return [word.whole(parameter.key, *DEPTHS) for word in dict.fromkeys(parameter.values)]


def _rates(run: Definition, together: list[Definition], notes: Notes) -> list[float | None]:
    """Requests a second of all storages; None for as many as it does."""
    parameter = run.parameters.get("foriorate") or run.parameters.get("iorate")
    own = [one.parameters["iorate"] for one in together if "iorate" in one.parameters]
    if own:
        notes.add("iorate of a wd is left out: give it to the rd", run.name)
    if parameter is None:
        return [None]
    if parameter.values[0].text.lower() == "curve":
        notes.add("iorate=curve: its maximum only; the other rates would be shares of what that finds", run.name)
        return [None]
    return [
        None
        if word.text.lower() == "max"
        else float(Parameter(parameter.key, word.place, (word,)).numbers(1, 10**9)[0])
        for word in parameter.values
    ]


class _Part:
    """One workload definition of a run, with the storages that it uses."""

    def __init__(
        self,
        workload: Definition,
        run: Definition,
        axes: _Axes,
        storages: Mapping[str, Definition],
        content: tuple[float, float],
        notes: Notes,
    ) -> None:
        self.workload = workload
        self._run = run
        self._axes = axes
        self._content = content
        self._notes = notes
        chosen = run.parameters.get("sd") or workload.parameters.get("sd")
        if chosen is None:
            raise workload.place.fault(f"wd={workload.name} has no sd", "Name its storage: sd=NAME or sd=*.")
        self._storages = matching(chosen.values, storages, "sd")
        if len(self._storages) > JOBS[1]:
            raise chosen.place.fault(f"{len(self._storages)} storages", f"At most {JOBS[1]}.")
        if len(self._storages) > 1:
            notes.add(f"{len(self._storages)} storages: here they lie side by side on one target, as jobs", run.name)
        for storage in self._storages:
            if (misplaced := storage.parameters.get("streams")) is not None:
                raise misplaced.place.fault("streams: vdbench takes it of a wd only", "Give it to the wd.")
        self._streams = self._whole("streams", 1, JOBS[1])
        if self._streams * len(self._storages) > JOBS[1]:
            what = f"streams: {self._streams} of each of {len(self._storages)} storages"
            raise workload.parameters["streams"].place.fault(what, f"At most {JOBS[1]} together.")
        own = {_own_threads(storage) for storage in self._storages}
        self._threads = _own_threads(self._storages[0])
        if len(own) > 1 and not (run.parameters.keys() & {"threads", "forthreads"}):
            notes.add("its storages have different threads: those of the first count for all", run.name)

    def _get(self, key: str, *others: str) -> Parameter | None:
        return next((self.workload.parameters[one] for one in (key, *others) if one in self.workload.parameters), None)

    def _whole(self, key: str, otherwise: int, high: int) -> int:
        parameter = self._get(key)
        return otherwise if parameter is None else parameter.only().whole(key, 1, high)

    def profile(self, name: str) -> Profile:
        """What its requests look like."""
        read, random = self._percents()
        if self._streams > 1:
            random = self._in_sequence(random, name)
        (fraction, size), (start_fraction, start_bytes) = self._range(read < 1, name)
        return Profile(
            name=name,
            block=self._block(name),
            read_fraction=read,
            random_fraction=random,
            access_class=access_class(random),
            working_set_fraction=fraction,
            working_set_bytes=size,
            start_fraction=start_fraction,
            start_bytes=start_bytes,
            compressible_fraction=self._content[0],
            duplicate_fraction=self._content[1],
            dsync=self._dsync(),
        )

    def arrival(self, threads: int | None, rate_per_s: float | None, parts: list[_Part]) -> Arrival:
        """When its requests come: the threads of each storage are its queue depth; of several workloads, its part."""
        threads = self._threads if threads is None else threads
        jobs = len(self._storages)
        if self._streams > 1:
            self._note_streams(threads, rate_per_s, parts)
            jobs, threads = jobs * min(self._streams, threads), max(1, threads // self._streams)
        share = self._skew(parts)
        if len(parts) > 1:
            self._notes.add(
                "vdbench keeps the rates of its workloads in proportion; here each has its part of the threads",
                self._run.name,
            )
            threads = max(1, round(threads * share))
        return Closed(threads, jobs) if rate_per_s is None else Open(max(rate_per_s * share, 1e-3), threads, jobs)

    def _in_sequence(self, random: float, name: str) -> float:
        """What vdbench makes of the share of random requests where there are streams."""
        if random and (self._get("seekpct") is not None or self._axes.seekpct is not None):
            self._notes.add("with streams vdbench goes on in sequence whatever seekpct says, and so does this", name)
        return 0.0

    def _note_streams(self, threads: int, rate_per_s: float | None, parts: list[_Part]) -> None:
        for refused, note in (
            (rate_per_s is not None, "vdbench refuses streams with a rate: here they are jobs of that rate"),
            (len(parts) > 1, "vdbench refuses streams where workloads run together: here they are jobs all the same"),
            (
                threads % self._streams > 0,
                "vdbench wants threads to be a multiple of streams: what is over is left out",
            ),
        ):
            if refused:
                self._notes.add(note, self._run.name)

    def _skew(self, parts: list[_Part]) -> float:
        """Its share of the requests; what isn't given is parted evenly."""
        given = [part._get("skew") for part in parts]
        skews = [0.0 if one is None else float(one.numbers(0, 100)[0]) for one in given]
        blanks, rest = skews.count(0.0), max(0.0, 100 - sum(skews))
        own = skews[parts.index(self)]
        if not own and not rest:
            raise self.workload.place.fault(
                f"wd={self.workload.name} has no skew, and nothing is left of 100 % for it",
                f"Give it a skew and lower the others', or take it out of rd={self._run.name}.",
            )
        total = sum(skews) + (rest if blanks else 0.0)
        if abs(total - 100) > _ROUNDED:
            self._notes.add(f"its skews make {total:g} %, not 100 %; here each is its part of them all", self._run.name)
        return (own or rest / max(1, blanks)) / total

    def _percents(self) -> tuple[float, float]:
        shares = []
        for key, others in (("rdpct", ("readpct",)), ("wrpct", ("writepct",))):
            parameter = self._get(key, *others)
            shares.append(None if parameter is None else parameter.only().number(key, 0, 100) / 100)
        read = shares[0] if shares[0] is not None else 1 - shares[1] if shares[1] is not None else Fraction(1)
        if self._axes.rdpct is not None:
            read = self._axes.rdpct.number("rdpct", 0, 100) / 100
        word = self._axes.seekpct
        if word is None:
            parameter = self._get("seekpct")
            # Poisson has a number of its own behind it.
            poisson = parameter is not None and parameter.values[0].text.lower() == "poisson"
            word = None if parameter is None else parameter.values[0] if poisson else parameter.only()
        return float(read), 1.0 if word is None else self._random(word)

    def _random(self, word: Word) -> float:
        text = word.text.lower()
        if text == "eof":
            self._notes.add("seekpct=eof would end with the last block; here it runs for its time", self._run.name)
            return 0.0
        if text == "poisson":
            self._notes.add("seekpct=poisson becomes uniform", self._run.name)
            return 1.0
        if text and "sequential".startswith(text):
            return 0.0
        if text and "random".startswith(text):
            return 1.0
        return float(word.number("seekpct", 0, 100) / 100)

    def _block(self, name: str) -> tuple[BlockShare, ...]:
        parameter = self._get("xfersize")
        if self._axes.xfersize is not None:
            parameter = Parameter("forxfersize", self._axes.xfersize.place, (self._axes.xfersize,))
        if parameter is None:
            return (BlockShare(_XFERSIZE, 1.0),)
        values = parameter.numbers(0, _MOST_BYTES)
        if len(values) == 3:
            self._notes.add("xfersize=(min,max,align): the size in the middle is taken for all", name)
            low, high, align = values
            if low > high:
                why = "xfersize: of three values the second is the largest size, and this is below the first"
                raise parameter.place.fault(why, "Write (min,max,align), or a mix with a percentage for each size.")
            values = [Fraction((low + high) / 2 // (align or 1)) * (align or 1)]
        sizes = values[:1] if len(values) == 1 else values[::2]
        shares = [Fraction(100)] if len(values) == 1 else values[1::2]
        if len(sizes) != len(shares) or round(sum(shares)) != 100:
            raise parameter.place.fault("xfersize: a mix is written (size,percent,...), 100 % together", "Change it.")
        for size, word in zip(sizes, parameter.values[::2] or parameter.values, strict=False):
            if not BLOCK_BYTES[0] <= size <= BLOCK_BYTES[1] or size.denominator != 1:
                raise word.place.fault(f"xfersize: {word.text[:40]!r} is not a size from 1 byte to 1 GiB", "Change it.")
        mix: dict[int, Fraction] = {}
        for size, share in zip(sizes, shares, strict=True):
            mix[int(size)] = mix.get(int(size), Fraction(0)) + share
        mix = {size: share for size, share in mix.items() if share}
        if not 1 <= len(mix) <= 64:
            raise parameter.place.fault(f"xfersize: {len(mix)} sizes", "loadline takes 1 to 64.")
        return tuple(BlockShare(size, float(share / sum(mix.values()))) for size, share in mix.items())

    def _range(self, writes: bool, name: str) -> tuple[tuple[float | None, int | None], tuple[float, int | None]]:
        """The working set and its start. Up to 100 a range is in percent, above in bytes."""
        first, count = self._storages[0].parameters, len(self._storages)
        parameter = self._get("range") or first.get("range")
        offset, size = first.get("offset"), first.get("size")
        start_bytes = None if offset is None else int(offset.one(0, _MOST_BYTES)) or None
        whole_bytes = None if size is None else int(size.one(1, _MOST_BYTES)) * count
        if self._streams > 1 and (parameter is not None or start_bytes is not None):
            self._notes.add(
                "streams part all of a storage, whatever its range and offset say: these are left out", name
            )
            return (None, whole_bytes), (0.0, None)
        if parameter is None:
            return (None, whole_bytes), (0.0, start_bytes)
        values = parameter.numbers(0, _MOST_BYTES)
        if len(values) != 2 or values[0] >= values[1]:
            raise parameter.place.fault("range: from a lower to a higher place, as in range=(10,20)", "Change it.")
        low, high = values
        if low > 100 or high > 200:
            return (None, int(high - low) * count), (0.0, (start_bytes or 0) + int(low) or None)
        if high > 100:
            self._notes.add("range goes on at the begin of the storage: it ends at its end here", name)
            high = Fraction(100)
        if low == 100:
            raise parameter.place.fault("range: nothing is left of it", "Change it.")
        if whole_bytes is not None:
            low_bytes, high_bytes = (int(whole_bytes * part / 100) // 512 * 512 for part in (low, high))
            return (None, max(512, high_bytes - low_bytes)), (0.0, (start_bytes or 0) + low_bytes or None)
        share = float((high - low) / 100)
        fraction = None if high == 100 else share
        return (fraction, None), (float(low / 100) if start_bytes is None else 0.0, start_bytes)

    def _dsync(self) -> bool:
        flags = [
            one.parameters["openflags"].values
            for one in (self._run, self.workload, *self._storages)
            if "openflags" in one.parameters
        ]
        return any(word.text.lower() in ("o_dsync", "o_sync") for words in flags for word in words)


def _own_threads(storage: Definition) -> int:
    given = storage.parameters.get("threads")
    return _THREADS if given is None else given.only().whole("threads", *DEPTHS)
