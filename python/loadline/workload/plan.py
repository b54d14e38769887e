"""A plan: the points that a suite makes under the options of one run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from loadline.errors import InputError
from loadline.units import format_bytes, format_duration, format_size, parse_alike, whole
from loadline.workload.limit import Best, Limit, Ramp
from loadline.workload.profile import Closed, Open, Workload
from loadline.workload.rounds import Rounds
from loadline.workload.suite import DEPTHS, JOBS, RUNTIME_NS, WARMUP_NS, Entry, Published, Stop, Suite, nearest

QUICK_NS = 5 * 10**9
QUICK_WARMUP_NS = 10**9

#: From so long on a point is looked at whether it's precise, and not before the third look, after so long, it ends.
PRECISE_FROM_NS = 10 * 10**9
PRECISE_LEAST_NS = 12 * 10**9

# I/Os of a job of an open load. Of more, what jobs send at once after fio's own warm-up and at their end is less than a
# 5,000th.
_FEW_EACH = 5000

#: How precise a point has to be to end before its run time, unless somebody says.
PRECISION = 0.01


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may change of a suite; None: as the suite says.

    `limit` is that of its ramps, `precision_fraction` that of `stop = "precise"`.
    """

    queue_depths: tuple[int, ...] | None = None
    jobs: int | None = None
    runtime_ns: int | None = None
    warmup_ns: int | None = None
    settle_ns: int | None = None
    variants: bool = False
    as_published: bool = False
    quick: bool = False
    only: tuple[str, ...] = ()
    limit: Limit | None = None
    stop: Stop | None = None
    precision_fraction: float | None = None


# Of a search for a load line: nearly none takes more.
_PROBES = 9

#: Of an open load on a target all jobs begin with a request, and then have as many of their periods for that burst to
#: be over; at a utilisation u it takes about u / (1 - u) of them.
BURST_PERIODS = 20

# How far up a ramp is written where nobody searches: the field report on the EVA v.2 goes from 1 to 128.
_GRID = 128


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement to make: streams that run together against the target.

    With a `ramp` or a `best` it is a search over their load, and `at` makes its probes. With `rounds` it is measured in
    turn with the other points of the same rounds. `target` is the number, from 0, of the one of the run's targets that
    is loaded; None: all of them, at once. With a `precision_fraction` it ends before its run time once IOPS and mean
    latency are known to that share; None: at its run time. On a warm target `settle_ns` is all of its warm-up; None:
    it's warmed up each time.
    """

    name: str
    streams: tuple[Workload, ...]
    runtime_ns: int
    warmup_ns: int
    seed: int | None = None
    quick: bool = False
    ramp: Ramp | None = None
    best: Best | None = None
    rounds: Rounds | None = None
    repeat: int = 1
    target: int | None = None
    precision_fraction: float | None = None
    settle_ns: int | None = None

    @property
    def searches(self) -> bool:
        """Whether it asks at several loads for its one answer."""
        return self.ramp is not None or self.best is not None

    @property
    def expected_ns(self) -> int:
        """How long it takes at most, about: a ramp is a search, of seven probes or some more."""
        runtime_ns, warmup_ns = self.runtime_ns, self.warmup_ns
        if self.ramp is not None and self.ramp.axis == "rate":
            # No job is asked for less than one I/O a second.
            warmup_ns = max(warmup_ns, BURST_PERIODS * 10**9)
            runtime_ns = max(runtime_ns, 2 * warmup_ns)
        return (runtime_ns + warmup_ns) * self.times

    @property
    def least_ns(self) -> int:
        """How long it takes at least, about: as long as `expected_ns` of fixed times, but for ramps over rates."""
        over_rates = self.ramp is not None and self.ramp.axis == "rate"
        fixed = self.precision_fraction is None or self.sleeps or self.shared or over_rates
        runtime_ns = self.runtime_ns if fixed else min(self.runtime_ns, PRECISE_LEAST_NS)
        return (runtime_ns + self.warmup_ns) * self.least_times

    @property
    def sleeps(self) -> bool:
        """Whether it takes all of its time, as open loads of jobs that do few I/Os: these are counted at its end."""
        seconds = (self.warmup_ns + self.runtime_ns) / 1e9
        arrivals = [stream.arrival for stream in self.streams]
        return all(isinstance(one, Open) and one.rate_per_s / one.jobs * seconds <= _FEW_EACH for one in arrivals)

    @property
    def logged(self) -> Point:
        """As fio gets it where its jobs sleep: all of it is run time, and its log tells what came when; else itself."""
        return replace(self, warmup_ns=0, runtime_ns=self.warmup_ns + self.runtime_ns) if self.sleeps else self

    @property
    def shared(self) -> bool:
        """Whether it's an open load whose rate many jobs share on a target; of a ramp it's none before `at`."""
        arrivals = [stream.arrival for stream in self.streams]
        open_ = self.ramp is None and all(isinstance(one, Open) for one in arrivals)
        return open_ and all(stream.unshared is None for stream in self.streams)

    @property
    def times(self) -> int:
        """How often it's measured, about: once, at several loads, or round after round."""
        times = 1 if self.ramp is None else _PROBES
        if self.best is not None:
            times = len(self.best.queue_depths)
        return times if self.rounds is None else self.rounds.most

    @property
    def least_times(self) -> int:
        """The same at least: rounds may be steady in their first window."""
        return self.times if self.rounds is None else self.rounds.window

    @property
    def writes(self) -> bool:
        """Whether any stream writes."""
        return any(stream.profile.writes for stream in self.streams)

    @property
    def access_class(self) -> str:
        """The streams' class; `combined` when they differ."""
        classes = {stream.profile.access_class for stream in self.streams}
        return classes.pop() if len(classes) == 1 else "combined"

    @property
    def profile_name(self) -> str:
        """The profile's name, or the streams' names joined by `+`."""
        return "+".join(stream.profile.name for stream in self.streams)

    def at(self, load: float) -> Point:
        """The plain point at one load of the search: outstanding I/Os a job, or I/Os a second, of each stream."""

        def change(stream: Workload) -> Workload:
            arrival = stream.arrival
            if isinstance(arrival, Open):
                return Workload(stream.profile, replace(arrival, rate_per_s=float(load)))
            return Workload(stream.profile, Closed(int(load), arrival.jobs))

        axis = "r" if isinstance(self.streams[0].arrival, Open) else "qd"
        streams = tuple(change(stream) for stream in self.streams)
        named = float(f"{load:.6g}") if axis == "r" else load
        return replace(self, name=f"{self.name}-{axis}{named:.15g}", streams=streams, ramp=None, best=None)

    def anew(self, number: int) -> Point:
        """The same with a seed of its own, so that no two of several measurements ask for the same blocks.

        The second would find in caches what the first has left there.
        """
        seed = None if self.seed is None else 1 + (self.seed + 7919 * number) % (2**31 - 1)
        return replace(self, seed=seed)

    def grid(self) -> tuple[Point, ...]:
        """Plain points in the place of a search: at all depths of a `best`, at doublings of a ramp; else itself."""
        if self.best is not None:
            return tuple(self.at(depth) for depth in self.best.queue_depths)
        if self.ramp is None:
            return (self,)
        loads, most = [self.ramp.low], min(self.ramp.high, max(self.ramp.low, 1) * _GRID)
        while loads[-1] * 2 <= most:
            loads.append(loads[-1] * 2)
        return tuple(self.at(load) for load in loads)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; `from_json` is the inverse."""
        return {
            "name": self.name,
            "streams": [stream.to_json() for stream in self.streams],
            "runtime_ns": self.runtime_ns,
            "warmup_ns": self.warmup_ns,
            "seed": self.seed,
            "quick": self.quick,
            "ramp": None if self.ramp is None else asdict(self.ramp),
            "best": None if self.best is None else asdict(self.best),
            "rounds": None if self.rounds is None else asdict(self.rounds),
            "repeat": self.repeat,
            "target": self.target,
            "precision_fraction": self.precision_fraction,
            "settle_ns": self.settle_ns,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Point:
        """The point that `to_json` wrote. KeyError, TypeError and ValueError mean that something else wrote it."""
        streams = tuple(Workload.from_json(stream) for stream in data["streams"])
        ramp, best, rounds = (data.get(key) for key in ("ramp", "best", "rounds"))
        point = Point(
            *(data["name"], streams, data["runtime_ns"], data["warmup_ns"], data["seed"], data["quick"]),
            ramp=None if ramp is None else Ramp.from_json(ramp),
            best=None if best is None else Best.from_json(best),
            rounds=None if rounds is None else Rounds.from_json(rounds),
            repeat=data.get("repeat", 1),
            target=data.get("target"),
            # Older runs have none: their points ended at their run time.
            precision_fraction=data.get("precision_fraction"),
            settle_ns=data.get("settle_ns"),
        )
        fault = next(_faults(point), None)
        if fault is not None:
            raise ValueError(f"{point.name}: {fault} can't be")
        return point


def _faults(point: Point) -> Iterator[str]:
    """What no suite can have asked of a point."""

    def counts(number: object, least: int) -> bool:
        return type(number) is int and number >= least

    if not point.streams:
        yield "a point without streams"
    times = {"runtime_ns": point.runtime_ns, "warmup_ns": point.warmup_ns, "settle_ns": point.settle_ns or 0}
    yield from (f"{name} {ns!r}" for name, ns in times.items() if not counts(ns, 0))
    for profile, arrival in ((stream.profile, stream.arrival) for stream in point.streams):
        yield from (f"{n!r} jobs or outstanding" for n in (arrival.jobs, arrival.queue_depth) if not counts(n, 1))
        if isinstance(arrival, Open) and not 0 < arrival.rate_per_s < math.inf:
            yield f"a rate of {arrival.rate_per_s!r}"
        shares = (profile.read_fraction, profile.random_fraction)
        yield from (f"a share of {share!r}" for share in shares if not 0 <= share <= 1)


def make_plan(suite: Suite, options: Options, seed: int | None = None, *, timed: bool = True) -> tuple[Point, ...]:
    """The points of `suite`, in its order, sweeps unrolled; point k gets `seed` + k, so no two ask for the same blocks.

    A search stays one point, unless queue depths are given, which make it a closed sweep over them.

    Args:
        timed: refuse points without a run time, of which models need none.

    Raises:
        InputError: an option has a value that can't be, `only` names a profile that the suite doesn't have, options
            contradict each other, two points would have one name, or there is no run time.
    """
    check_options(options)
    lengths = (options.runtime_ns, options.warmup_ns, options.settle_ns)
    changes = (options.queue_depths, options.jobs, *lengths, options.precision_fraction)
    if options.as_published and (options.stop == "precise" or any(change is not None for change in changes)):
        raise InputError(
            "--as-published fixes queue depth, jobs, run time and warm-up",
            "Leave out --queue-depth, --jobs, --runtime, --warmup, --settle, --precision and --stop precise, or"
            " --as-published.",
        )
    if options.stop == "fixed" and options.precision_fraction is not None:
        raise InputError("--stop fixed ends points by time, whatever their --precision", "Leave out one of the two.")
    entries = [entry for entry in suite.entries if options.variants or not entry.variant or entry.name in options.only]
    if options.only:
        known = [entry.name for entry in suite.entries]
        for name in options.only:
            if name not in known:
                hint = nearest(name, known, f"It has: {', '.join(known)}.")
                raise InputError(f"suite {suite.name} has no profile {name!r}", hint)
        entries = [entry for entry in entries if entry.name in options.only]
    points = [point for entry in entries for point in _points(entry, suite, options)]
    names = Counter(point.name for point in points)
    name, times = names.most_common(1)[0]
    if times > 1:
        raise InputError(
            f"suite {suite.name} makes {times} points named {name!r}", "Rename the profile, or change its sweep."
        )
    _check_tracked(points, suite)
    endless = next((entry for entry in entries if timed and not (entry.runtime_ns or options.runtime_ns)), None)
    if endless is not None:
        raise InputError(
            f"{endless.where} has no runtime",
            "loadline's points run for a time, not for an amount: give --runtime, or add runtime=300 to the file.",
        )
    return tuple(points if seed is None else (replace(point, seed=seed + k) for k, point in enumerate(points)))


def check_options(options: Options) -> None:
    """Refuses values that can't be; on the command line some are refused before, where they are texts.

    Raises:
        InputError: it names the option.
    """
    if not isinstance(options, Options):
        raise InputError(f"options: {options!r} can't be", "Give Options(...), or leave them out.")
    depths = options.queue_depths
    if depths is not None:
        if not isinstance(depths, Sequence) or isinstance(depths, str) or not depths:
            raise InputError(f"--queue-depth: {depths!r} is no list of depths", "Give them as in (1, 8, 32).")
        for depth in depths:
            whole("--queue-depth", depth, *DEPTHS)
        twice = next((depth for depth in depths if depths.count(depth) > 1), None)
        if twice is not None:
            raise InputError(f"--queue-depth: takes {twice} twice", "Leave out one.")
    if options.jobs is not None:
        whole("--jobs", options.jobs, *JOBS)
    for option, ns, least in (
        ("--runtime", options.runtime_ns, RUNTIME_NS[0]),
        ("--warmup", options.warmup_ns, WARMUP_NS[0]),
        ("--settle", options.settle_ns, WARMUP_NS[0]),
    ):
        if ns is not None and not (type(ns) is int and least <= ns <= RUNTIME_NS[1]):
            said = format_duration(ns) if type(ns) is int and ns >= 0 else repr(ns)
            raise InputError(
                f"{option}: {said} can't be", f"Give whole ns, from {format_duration(least)} to 366 days: 60s, say."
            )
    if options.stop is not None and options.stop not in get_args(Stop):
        raise InputError(f"--stop: {options.stop!r} can't be", f"Rules: {', '.join(get_args(Stop))}.")
    if options.limit is not None and not isinstance(options.limit, Limit):
        raise InputError(f"--limit: {options.limit!r} is no limit", "Read it with parse_limit: mean<=30ms.")
    precision = options.precision_fraction
    if precision is not None and not (isinstance(precision, int | float) and 0.0001 <= precision <= 0.5):
        said = f"{precision * 100:.6g}%" if isinstance(precision, int | float) else repr(precision)
        raise InputError(f"--precision {said} is not between 0.01% and 50%", "Give a share such as 1%, or 0.01.")
    only = options.only
    if not isinstance(only, Collection) or isinstance(only, str) or not all(isinstance(name, str) for name in only):
        raise InputError(f"--profile: {only!r} is no list of names", 'A single name stands in one, too: ("oltp-db",).')


def _points(entry: Entry, suite: Suite, options: Options) -> list[Point]:
    loads, runtime_ns, warmup_ns, ramp = entry.loads, entry.runtime_ns, entry.warmup_ns, entry.ramp
    best = None if options.queue_depths else entry.best
    if options.as_published:
        published = suite.published
        if ramp is None and best is None:
            loads = tuple(dict.fromkeys(_loaded(load, published.queue_depth, published.jobs) for load in loads))
        loads = tuple(_touching(load, published) for load in loads)
        runtime_ns = runtime_ns if published.runtime_ns is None else published.runtime_ns
        warmup_ns = warmup_ns if published.warmup_ns is None else published.warmup_ns
    if ramp is not None and options.queue_depths:
        loads = tuple(tuple(replace(s, arrival=Closed(1, s.arrival.jobs)) for s in load) for load in loads)
        ramp = None
    if ramp is not None and options.jobs:
        raise InputError(
            f"profile {entry.name} is a ramp, which --jobs can't change",
            "Leave out --jobs, or give fixed depths too: --queue-depth 1,2,4,8.",
        )
    if ramp is not None:
        ramp = replace(ramp, limit=options.limit or ramp.limit)
        where = "--limit" if options.limit else suite.file or f"suite {suite.name}"
        _check_answered(entry, ramp.limit, where)
    if options.queue_depths:
        loads = tuple(dict.fromkeys(_loaded(load, depth, None) for depth in options.queue_depths for load in loads))
    if options.jobs:
        loads = tuple(dict.fromkeys(_loaded(load, None, options.jobs) for load in loads))
    runtime_ns = runtime_ns if options.runtime_ns is None else options.runtime_ns
    warmup_ns = warmup_ns if options.warmup_ns is None else options.warmup_ns
    settle_ns = entry.settle_ns if options.settle_ns is None else options.settle_ns
    if options.quick:
        warmup_ns = min(warmup_ns, QUICK_WARMUP_NS)
        runtime_ns = min(runtime_ns, QUICK_NS - warmup_ns)
    return [
        Point(
            entry.name + _suffix(load, loads),
            load,
            runtime_ns,
            warmup_ns,
            None,
            options.quick,
            ramp,
            best,
            entry.rounds,
            precision_fraction=None if entry.rounds is not None else _precision(suite, options),
            # A source that names a warm-up made it before each of its tests.
            settle_ns=None if options.as_published else settle_ns,
        )
        for load in loads
    ]


def _precision(suite: Suite, options: Options) -> float | None:
    """What ends a point before its run time; a precision that is given asks for it, whatever the suite's rule."""
    if options.precision_fraction is not None:
        return options.precision_fraction
    stop: Stop = "fixed" if options.as_published else options.stop or suite.stop
    return PRECISION if stop == "precise" else None


def _check_tracked(points: list[Point], suite: Suite) -> None:
    """Whether all that rounds track are points of theirs."""
    for rounds in dict.fromkeys(point.rounds for point in points if point.rounds is not None):
        members = [point.name for point in points if point.rounds == rounds]
        for name in rounds.track:
            if not replace(rounds, track=(name,)).tracked(members):
                where = suite.file or f"suite {suite.name}"
                raise InputError(
                    f"{where}: rounds {rounds.name}: track: {name[:64]!r} is no point of theirs",
                    nearest(name, members, f"They have: {', '.join(members[:8])}."),
                )


def _check_answered(entry: Entry, limit: Limit, where: str) -> None:
    reads = [stream.profile.read_fraction for load in entry.loads for stream in load]
    if (limit.of == "reads" and max(reads) == 0) or (limit.of == "writes" and min(reads) == 1):
        raise InputError(
            f"{where}: profile {entry.name} has no {limit.of}, which {limit} limits",
            "Limit all of its requests: mean<=30ms.",
        )


def _touching(load: tuple[Workload, ...], published: Published) -> tuple[Workload, ...]:
    fraction, size_bytes = published.working_set_fraction, published.working_set_bytes
    if fraction is None and size_bytes is None:
        return load
    return tuple(
        replace(stream, profile=replace(stream.profile, working_set_fraction=fraction, working_set_bytes=size_bytes))
        for stream in load
    )


def _loaded(load: tuple[Workload, ...], queue_depth: int | None, jobs: int | None) -> tuple[Workload, ...]:
    if jobs is None and all(isinstance(stream.arrival, Open) and stream.unshared is None for stream in load):
        # As many jobs share its rate as need no depth: another one would be the same load again.
        return load

    def change(stream: Workload) -> Workload:
        arrival = stream.arrival
        depth = arrival.queue_depth if queue_depth is None else queue_depth
        return replace(stream, arrival=replace(arrival, queue_depth=depth, jobs=arrival.jobs if jobs is None else jobs))

    return tuple(change(stream) for stream in load)


def _suffix(load: tuple[Workload, ...], loads: tuple[tuple[Workload, ...], ...]) -> str:
    """What tells the loads of a sweep apart in a point's name: `-b4k`, `-rd70`, `-at50`, `-qd8`, `-j4`, `-r5000`."""

    def axes(one: tuple[Workload, ...]) -> dict[str, object]:
        profile, first = one[0].profile, one[0].arrival
        rate = "max" if isinstance(first, Closed) else f"{first.rate_per_s:.15g}"
        block = format_bytes(profile.block[0].size_bytes) if len(profile.block) == 1 else "mix"
        percent = f"{profile.start_fraction * 100:.6g}"
        start = percent if profile.start_bytes is None else _place(profile.start_bytes)
        read = f"{profile.read_fraction * 100:.6g}"
        return {"b": block, "rd": read, "at": start, "qd": first.queue_depth, "j": first.jobs, "r": rate}

    all_axes = [axes(one) for one in loads]
    return "".join(f"-{axis}{value}" for axis, value in axes(load).items() if len({a[axis] for a in all_axes}) > 1)


def _place(start_bytes: int) -> str:
    """A size with its unit, for a bare number is percent, that is read back as it was: `100GB`, else `1GiB`."""
    decimal, binary = format_size(start_bytes).replace(" ", ""), format_bytes(start_bytes).upper()
    if parse_alike([decimal]) == [start_bytes]:
        return decimal
    return binary + ("B" if binary.isdigit() else "iB")
