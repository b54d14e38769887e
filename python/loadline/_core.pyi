"""Types of the Rust core. Only the rooms `result`, `system` and `measuring` import it."""

from collections.abc import Callable, Sequence
from typing import Self, TypedDict, final

from loadline.workload.limit import Limit
from loadline.workload.model import ModelStream

@final
class Histogram:
    """A sparse latency histogram in fio's bins (64 an octave, ns).

    Bins are named as in fio's json+ output: by the value in ns that stands for the bin. A value that falls
    inside a bin is taken for that bin.

    Args:
        values_ns: one value per bin, any order, repeats are added.
        counts: as many counts.

    Raises:
        ValueError: the lengths differ, or a value lies beyond fio's last bin.
    """

    def __new__(cls, values_ns: Sequence[int] = (), counts: Sequence[int] = ()) -> Self: ...
    @staticmethod
    def of_bins(bins: dict[str, int]) -> Histogram:
        """The histogram of fio's `bins`, an object of JSON: counts by the value of each bin, in ns, as text.

        Raises ValueError where a key is no whole number or lies beyond fio's last bin, TypeError where a count is none.
        """
    @property
    def count(self) -> int: ...
    def merged(self, other: Histogram) -> Histogram:
        """The histogram of both samples together."""
    def percentile_ns(self, percent: float) -> int | None:
        """fio's percentile: the value of the first bin at which the running count reaches `percent` % of all.

        None for an empty histogram. Raises ValueError outside 0 < percent <= 100.
        """
    def count_above(self, percent: float) -> int:
        """How many samples lie in bins above the one that `percentile_ns(percent)` names.

        0 for an empty histogram. Raises ValueError outside 0 < percent <= 100.
        """
    def columns(self) -> tuple[list[int], list[int]]:
        """(values_ns ascending, counts), bins with a count only."""

@final
class Flow:
    """What went one way (reads or writes) or both, over one span of time. Unknown is None."""

    @property
    def ios(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def iops(self) -> float: ...
    @property
    def bytes_per_s(self) -> float: ...
    @property
    def latency_samples(self) -> int: ...
    @property
    def latency_mean_ns(self) -> float | None: ...
    @property
    def latency_stddev_ns(self) -> float | None: ...
    @property
    def latency_max_ns(self) -> int | None:
        """None for an interval between statuses: its maximum can't be had from totals."""
    @property
    def histogram(self) -> Histogram: ...
    @staticmethod
    def merge(flows: Sequence[Flow]) -> Flow:
        """Rates and counts added, means weighted by their samples, deviations pooled, histograms merged.

        Of nothing: zeros and None. A mean, deviation or maximum that one of them lacks is None in the whole.
        """

@final
class Job:
    """One reporting group of fio, totals since its measured time began: zeros and None during its ramp."""

    @property
    def name(self) -> str: ...
    @property
    def error(self) -> int:
        """errno of the job's first failure, 0 for none."""
    @property
    def runtime_ns(self) -> int: ...
    @property
    def read(self) -> Flow: ...
    @property
    def write(self) -> Flow: ...
    @property
    def cpu_fraction(self) -> float | None:
        """User and system time of the job's threads over their run time; 1 is a whole core for each thread."""
    @property
    def depth_levels(self) -> list[tuple[int, float]]:
        """(lowest depth of the level, fraction of submissions at that level), fio's iodepth_level."""

@final
class Interval:
    """The difference of two successive statuses, all jobs together, or a second of a `LatencyLog`.

    Between statuses by fio's own run time, which leaves out the ramp. Spans under 100 ms are joined to the next one, or
    at the end left out: fio's last status comes some ms after the one before it. The totals of `jobs` have them.
    """

    @property
    def end_ns(self) -> int:
        """Its end on the wall clock, ns since 1970 (fio gives ms): the later status' time."""
    @property
    def duration_ns(self) -> int: ...
    @property
    def warmup(self) -> bool:
        """It is in a log's warm-up, or a job was in its ramp at the end.

        The latter is told by I/Os without latencies, so not with gtod_reduce.
        """
    @property
    def read(self) -> Flow: ...
    @property
    def write(self) -> Flow: ...

@final
class StatusStream:
    """Decodes fio's stream of JSON statuses (`--status-interval`, json+), fed in pieces as it comes.

    Args:
        ending: count only jobs whose names end so.
    """

    def __init__(self, ending: str = "") -> None: ...
    def feed(self, data: bytes) -> list[Interval]:
        """Takes the next bytes; gives the intervals that they complete. Never fails on bad bytes: see `warnings`."""
    def finish(self) -> None:
        """Says that the stream has ended, so that a cut-off last value becomes a warning."""
    @property
    def jobs(self) -> list[Job]:
        """Of the last whole status; empty before the first. In client mode `host:name`, without "All clients"."""
    @property
    def fio_version(self) -> str | None: ...
    @property
    def statuses(self) -> int: ...
    @property
    def warnings(self) -> list[str]:
        """Text outside of JSON, cut-off values, counters that ran backwards: as sentences, in order, 101 at most."""

@final
class LatencyLog:
    """Reads fio's logs of total latency, a line for each I/O (`write_lat_log`, `log_unix_epoch=1`), fed in pieces.

    An I/O counts where it completed; what lies outside of warm-up and measured time is left out.

    Args:
        began_ns: when the measured time began, ns since 1970. fio gives times in ms.
        runtime_ns: how long it was, 366 days at most.
        warmup_ns: how long the warm-up before it was.
    """

    def __init__(self, began_ns: int, runtime_ns: int, warmup_ns: int = 0) -> None: ...
    def feed(self, data: bytes) -> None:
        """Takes the next bytes, of one log after the other.

        Raises:
            ValueError: a line is none of such a log; it says which line, and where in it.
        """
    @property
    def first_ns(self) -> int | None:
        """When the first I/O was sent, ns since 1970 and up to a ms too early, whether or not it counts."""
    def finish(self) -> list[Interval]:
        """Each second of the warm-up and then of the measured time; a rest under 100 ms belongs to the one before it.

        Raises:
            ValueError: the log ends inside a line.
        """

def series_parquet(columns: Sequence[tuple[str, str, Sequence[object]]]) -> bytes:
    """A Parquet file of one row group, none for no rows.

    Args:
        columns: (name, type, values); type is `int64`, `double` or `utf8`; None is NULL.

    Raises:
        ValueError: unknown type, columns of different lengths, a value that doesn't fit its type (a bool fits none),
            two columns of one name, or no column.
    """

@final
class Drive:
    """A hard disk as its drive file describes it.

    Raises:
        ValueError: (dotted key, what is wrong) of the first key that can't be.
    """

    def __new__(cls, text: str) -> Self: ...
    @property
    def title(self) -> str: ...
    @property
    def note(self) -> str | None: ...
    @property
    def capacity_bytes(self) -> int: ...

@final
class Description:
    """A storage system as its file describes it, with settings of dotted keys put in.

    Args:
        text: the file, TOML.
        settings: dotted key and value, in order.

    Raises:
        ValueError: (dotted key, what is wrong) of the first key that can't be.
    """

    def __new__(cls, text: str, settings: Sequence[tuple[str, str]] = ()) -> Self: ...
    @property
    def drive(self) -> str | None:
        """The name or path of its drives' file; None of stations."""
    @property
    def idle(self) -> list[tuple[str, str]]:
        """Dotted keys, or tables, whose values change nothing as the others are, each with the reason."""
    def memory_bytes(self, drive: Drive | None, simulated: bool) -> int:
        """What a simulation, or a solution, takes at most, besides the I/Os under way: an estimate on the safe side."""

@final
class System:
    """A described system, ready to be loaded.

    Args:
        drive: of arrays, the drive that the description names.

    Raises:
        ValueError: (dotted key, what is wrong) of a combination that can't be built.
    """

    def __new__(cls, description: Description, drive: Drive | None = None) -> Self: ...
    @property
    def title(self) -> str: ...
    @property
    def note(self) -> str | None: ...
    @property
    def capacity_bytes(self) -> int | None:
        """What hosts can address; None of stations, which have no addresses."""
    def simulate(
        self,
        streams: Sequence[ModelStream],
        *,
        seed: int,
        replication: int = 0,
        ios: int,
        precision_fraction: float | None = None,
        times_ns: tuple[int, int] | None = None,
    ) -> Simulation:
        """The system at rest, about to be loaded; the first work warms its cache, but for one of given times.

        Args:
            seed, replication: the same two give the same simulation; replication 0 has the seed itself.
            ios: I/Os to count after the warm-up; the most of them with a precision.
            precision_fraction: ends when the half-widths of the 95 % confidence intervals of throughput and mean
                response are at most this share of them.

        Raises:
            ValueError: (key, what is wrong) for streams that can't be or don't fit.
        """
    def solve(self, streams: Sequence[ModelStream], most: int, *, explain: bool = False) -> Solution:
        """The load that is asked for, and the curve up to `most` I/Os outstanding, none of it with 0.

        Args:
            explain: have the working, too.

        Raises:
            ValueError: (key, what is wrong) for streams that can't be or don't fit, or closed and open ones together.
        """
    def load_line(
        self, streams: Sequence[ModelStream], limit: Limit, loads: tuple[int, int, int], *, explain: bool = False
    ) -> tuple[Solution, tuple[float, float, float | None, float | None] | None, list[bool], int]:
        """The load line of closed streams under a limit of the mean, of numbers outstanding from the first to the
        second, every so many: the solution at the last one before the first that fails, or at the lowest; the point of
        the first that fails; which of them keep the limit, as far as it can hold; and about twice that, up to where a
        curve shows no load above saturation.

        Raises:
            ValueError: as `solve`.
        """
    def rule(self, streams: Sequence[ModelStream]) -> Rule:
        """The rule of thumb. Raises ValueError as `solve`."""

@final
class Simulation:
    """A system under load."""

    def work(self, longest_ms: int, events: int = 4096) -> bool:
        """Simulates for about so long by the wall clock, without the interpreter's lock; True once it has ended.

        Args:
            events: between two looks at the clock; with `longest_ms` = 0 it simulates just so many.
        """
    def outcome(self) -> Outcome:
        """What was counted so far.

        Raises:
            ValueError: no I/O takes any time.
        """

@final
class Outcome:
    """What a simulation found out."""

    @property
    def ended(self) -> str:
        """`ios`, `precision`, `most-ios` (before the precision), `longest`, `overloaded` or `stalled`."""
    @property
    def steady(self) -> bool:
        """The warm-up was found to be over before counting began."""
    @property
    def warmup_ns(self) -> int:
        """Simulated time before counting."""
    @property
    def runtime_ns(self) -> int:
        """Simulated time while counting."""
    @property
    def read(self) -> Flow: ...
    @property
    def write(self) -> Flow: ...
    @property
    def iops_ci95(self) -> float | None:
        """Half-width of the 95 % confidence interval, by batch means; None of too few I/Os."""
    @property
    def latency_mean_ci95_ns(self) -> float | None: ...
    @property
    def outstanding_mean(self) -> float:
        """I/Os inside the system and waiting in hosts, mean over time."""
    @property
    def intervals(self) -> tuple[int, list[tuple[list[int], list[float]]]] | None:
        """Of a run of a given length its equal parts, each so many ns long, warm-up and all; None of other runs.

        By part: I/Os, and the sum of their responses in ns, of reads and of writes.
        """
    @property
    def rebuild_bytes_per_s(self) -> tuple[float, float] | None:
        """The rate of a rebuild that was asked for, and the one that was reached; None if nothing is rebuilt."""
    @property
    def sweep_ios(self) -> int:
        """I/Os in which destaging goes over all places once; 0 where it follows what is written."""
    @property
    def components(self) -> list[tuple[str, float]]:
        """Utilisation by component, in the order in which the description names them; delays have none."""
    @property
    def events(self) -> int: ...

def unroll(settings: Sequence[str]) -> list[list[tuple[str, str]]]:
    """All combinations of settings such as `pool.drives=84:336:42`; the last key's values follow each other fastest.

    Raises:
        ValueError: (key, what is wrong) for what can't be read, or makes too many.
    """

def system_figures(text: str, settings: Sequence[tuple[str, str]] = ()) -> list[tuple[str, str, str | None]]:
    """(dotted key, value in effect, where it is from) of every key of a system, in order; defaults have no source.

    Raises:
        ValueError: as of `Description`.
    """

def drive_figures(text: str) -> list[tuple[str, str, str | None]]:
    """The same of a drive's file. Raises as `Drive`."""

def convert_drive(name: str, read: Callable[[str], str | None]) -> tuple[str, list[str]]:
    """A drive file (TOML) out of a DiskSim parameter file, and warnings about what it has no word for.

    Args:
        read: gives the text of a file by the name that stands in the parameters, None if it isn't there.

    Raises:
        ValueError: (file and line, what is wrong there).
    """

def system_schema() -> str:
    """The JSON Schema of a system's file."""

def drive_schema() -> str:
    """The JSON Schema of a drive's file."""

def replay(
    drive: str,
    writes: Sequence[bool],
    lbns: Sequence[int],
    sectors: Sequence[int],
    pauses_ns: Sequence[int],
    host_sector_ns: int | None = None,
) -> list[int]:
    """Service times in ns of requests to one drive, one outstanding at a time, each a pause after the end of the last.

    Args:
        drive: the text of a drive file.
        lbns, sectors: first address and length, in sectors of 512 bytes.
        host_sector_ns: time of a sector on the host's side of the interface, if that is slower than the drive's.

    Raises:
        ValueError: what is wrong with the drive, columns of different lengths, or a request that isn't on the drive.
    """

@final
class Solution:
    """What queueing theory says of a system under a load. Points are (I/Os a second, mean response in ns of all I/Os,
    of reads, of writes); None where there are none of them."""

    @property
    def curve(self) -> list[tuple[float, float, float | None, float | None]]:
        """With 1, 2 ... I/Os outstanding, as far as asked for; of an open load what the same mix would do closed."""
    def point(self, outstanding: int) -> tuple[float, float, float | None, float | None]:
        """The point of the curve with so many outstanding. Raises IndexError where it doesn't go so far."""
    @property
    def at(self) -> tuple[float, float, float | None, float | None] | None:
        """At the load that was asked for; None of an open load above saturation."""
    @property
    def saturation_per_s(self) -> float:
        """The rate that no load exceeds."""
    @property
    def uneven(self) -> bool:
        """Some few drives have more to do than the others, which only saturation takes into account."""
    @property
    def bottleneck(self) -> str:
        """The component that sets it."""
    @property
    def knee(self) -> int | None:
        """The number outstanding at which throughput over response is highest on the curve; None without one."""
    @property
    def components(self) -> list[tuple[str, float]]:
        """Utilisations at the load that was asked for, at saturation if that is above it; names as of `Outcome`."""
    @property
    def working(self) -> list[str]:
        """The steps, with their formulas and the numbers put in; none if it wasn't asked to explain itself."""

@final
class Rule:
    """What the rule of thumb of the field report on the EVA v.2 says; rates in I/Os a second."""

    @property
    def saturation_per_s(self) -> float:
        """The least of what the disks do and what the bandwidth lets through."""
    @property
    def bandwidth_per_s(self) -> float | None:
        """What the bandwidth lets through; None of an unknown one."""
    @property
    def load_line_per_s(self) -> float: ...
    @property
    def working(self) -> list[str]: ...

class Served(TypedDict):
    """Numbers of an emulator since its start.

    An answer is late if it comes later than its instant by more than 50 us and by more than 1 % of the response.
    Latencies are what clients see as far as the server knows. Bins are those of `Histogram`: the value in ns that
    stands for one, a count.
    """

    elapsed_ns: int
    answers: int
    """Requests that were answered, failed ones included."""
    failed: int
    late: int
    lateness_sum_ns: int
    """By how much answers missed their instants, in all; `lateness_max_ns`: by how much the latest did."""
    lateness_max_ns: int
    clients: int
    """Connections that are there; `clients_total`: that ever were."""
    clients_total: int
    in_flight: int
    stored_bytes: int
    """Memory, or blocks of the data file, that the data take."""
    floor_ns: int
    """What the way to the server and back costs without data; it's taken off every latency."""
    capacity_bytes: int
    flushes: int
    read_ios: int
    read_bytes: int
    read_latency_sum_ns: int
    read_bins: list[tuple[int, int]]
    write_ios: int
    """Trims and writes of zeroes are counted as writes."""
    write_bytes: int
    write_latency_sum_ns: int
    write_bins: list[tuple[int, int]]
    active: list[str]
    """Faults in force, and drives that aren't as good as new, in sentences."""
    busy_ns: dict[str, int]
    """How long each component of a model was busy, a mean over its servers."""

@final
class Emulator:
    """A system served as a block device over NBD in real time, by threads of its own, until `stop`.

    Args:
        system: None for a device that answers everything after `delay_ns`, and has any size.
        address: the absolute path of a Unix socket, or HOST:PORT; port 0 is any that is free.
        size_bytes: a multiple of 512; by default the system's capacity.
        seed: of all that is drawn.
        data: a file that keeps the data, made if it isn't there; without one memory does, `memory_bytes` at most.
        faults: sentences such as `drive 2 fails at 60s`; times count from the start.

    Raises:
        ValueError: (`size`, `address` or `fault`, what is wrong), or as of `System`.
        OSError: the socket or the file can't be had.
    """

    def __new__(
        cls,
        system: System | None,
        *,
        address: str,
        size_bytes: int | None = None,
        seed: int = 0,
        data: str | None = None,
        memory_bytes: int = ...,
        faults: Sequence[str] = (),
        delay_ns: int = 0,
    ) -> Self: ...
    @property
    def address(self) -> str:
        """`nbd+unix:///?socket=PATH` or `nbd://HOST:PORT`."""
    def stats(self) -> Served:
        """So far, or until it was stopped."""
    def fault(self, text: str) -> str:
        """Has something go wrong; gives the sentence as it was understood.

        Raises ValueError (`fault`, what is wrong).
        """
    def events(self) -> list[str]:
        """What happened since the last call, in sentences."""
    def stop(self) -> None:
        """Ends; what was written is in the data file then. A second time it does nothing."""

def ask_emulator(address: str, line: str) -> str:
    """Says `stats`, or `fault` and a sentence, to an emulator in another process; gives its answer, a line of JSON.

    Raises:
        ValueError: (key, what is wrong) for an address that can't be or a line that is refused.
        OSError: no emulator answers there.
    """
