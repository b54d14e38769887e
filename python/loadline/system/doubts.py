"""What is doubtful of a simulation, and of a solution that is like one, as findings of its row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from loadline import _core
from loadline.system.description import System
from loadline.system.effort import Effort
from loadline.system.outcome import half_width, iops, mean_ns, offered_per_s
from loadline.system.row import busiest, finding
from loadline.units import format_percent, parse_bytes, short
from loadline.workload.plan import Point
from loadline.workload.profile import Open

# A station as busy as that has a queue whose mean takes a million services to show itself (1 / (1 - U) squared).
_BUSY = 0.999

# A simulation whose throughput and response disagree by more has left requests out.
_UNLIKE = 0.05

# A rebuild that reaches so much of its rate isn't held up: a run ends within a unit.
_REBUILT = 0.95

# `oltp-db` on `dl360-g6-p410i` is 3 % off in the first pass of destaging after the warm-up, the mean of two 0.5 %.
_PASSES = 2


def doubts(
    system: System,
    point: Point,
    outcomes: Sequence[_core.Outcome],
    ended_by: str,
    work: Effort,
    components: Mapping[str, float],
) -> Iterable[dict[str, Any]]:
    """The findings of a point, from the outcomes of its replications and what its components had to do."""
    yield from _of_the_end(point, outcomes, ended_by, work)
    yield from _rebuilding(point, outcomes)
    yield from _phases(system, point, len(outcomes))
    if len(outcomes) == 1:
        yield from paces(
            system, point, "a simulation keeps the one that its seed brings it to", "Give --replications 8."
        )
    yield from _never_at_rest(point, outcomes, components)


def _phases(system: System, point: Point, replications: int) -> Iterable[dict[str, Any]]:
    """In order I/Os meet several drives as their spindles stand to each other, in one simulation always alike."""
    profiles = [stream.profile for stream in point.streams]
    if replications > 1 or all(profile.random_fraction > 0 for profile in profiles):
        return
    figures = {key: value for key, value, _ in system.figures()}
    waits = not _writes_back(figures) or any(profile.read_fraction > 0 for profile in profiles)
    if waits and int(figures.get("pool.drives", "1")) > 1:
        message = "drives' spindles stand to each other as the seed has them, and in order others may give another rate"
        yield finding(point, "phases", "note", message, {}, "Give --replications 8.")


def paces(system: System, point: Point, message: str, remedy: str) -> Iterable[dict[str, Any]]:
    """Small I/Os that are read and written over what a write-back cache about holds.

    All of it stays dirty, where reads find it; or pages go back and are given up in part, and reads that miss wait for
    drives while little is written. Either lasts.
    """
    profiles = [stream.profile for stream in point.streams]
    mixed = [one for one in profiles if 0 < one.read_fraction < 1 and one.random_fraction > 0 and one.working_set_bytes]
    figures = {key: value for key, value, _ in system.figures()} if mixed else {}
    if not _writes_back(figures):
        return
    page, write, read = (parse_bytes(figures[f"cache.{key}"]) for key in ("page", "write", "read"))
    low = float(figures["cache.low_water"]) * write
    for profile in mixed:
        mean_bytes = sum(block.size_bytes * block.share_fraction for block in profile.block)
        if mean_bytes < page and low <= (profile.working_set_bytes or 0) <= write + read:
            told = f"small I/Os over what the cache about holds may have two paces, far apart: {message}"
            yield finding(point, "paces", "note", told, {}, remedy)
            return


def _writes_back(figures: Mapping[str, str]) -> bool:
    return figures.get("cache.mode") == "write-back" and figures.get("cache.battery") != "failed"


def _never_at_rest(
    point: Point, outcomes: Sequence[_core.Outcome], components: Mapping[str, float]
) -> Iterable[dict[str, Any]]:
    """A queue from outside may grow for long before that is plain; if it doesn't, its mean takes as long."""
    name, half = busiest(components), half_width(list(map(iops, outcomes)), outcomes[0].iops_ci95)
    if name is None or half is None or not isinstance(point.streams[0].arrival, Open):
        return
    # What is rebuilt or written back keeps drives busy, too, while hosts get what they ask for.
    missed = fmean(map(iops, outcomes)) + half < offered_per_s(point)
    if missed and components[name] >= _BUSY:
        message = f"{name} had work all the time: the queue may still grow, and no interval knows where responses end"
        numbers = {"utilisation": components[name]}
        yield finding(point, "busy", "warning", message, numbers, "Give more --ios to see, or a lower rate.")


def _of_the_end(
    point: Point, outcomes: Sequence[_core.Outcome], ended_by: str, work: Effort
) -> Iterable[dict[str, Any]]:
    if ended_by == "most-ios" and work.precision_fraction is not None:
        message = (
            f"{format_percent(work.precision_fraction)} was not reached within {work.ios:,} I/Os; see the intervals"
        )
        if any(stream.profile.random_fraction == 0.0 for stream in point.streams):
            message += "; streams come to slower zones of the drives as they go on, see fewer --ios"
        yield finding(point, "precision", "note", message, {}, "Give --until-precision, or a number of --ios.")
    if all(outcome.iops_ci95 is None for outcome in outcomes) and len(outcomes) == 1:
        message = "too few I/Os for a confidence interval"
        yield finding(point, "precision", "warning", message, {}, "Give more --ios, or several --replications.")
    if ended_by == "longest":
        yield finding(point, "precision", "note", "the longest simulated time ended it", {}, "Ask for less.")
    kept = [share for outcome in outcomes if (share := _by_littles_law(point, outcome)) is not None]
    if kept and abs(fmean(kept) - 1) > _UNLIKE:
        message = (
            f"by Little's law {fmean(kept):.0%} of the asked number were outstanding: some requests waited longer than"
            " the simulation, or were counted though they began before it"
        )
        numbers = {"share": round(fmean(kept), 3)}
        yield finding(
            point, "littles-law", "warning", message, numbers, "Give more --ios; an SPTF queue can starve some."
        )
    if not all(outcome.steady for outcome in outcomes):
        message = "the warm-up wasn't over when counting had to begin: figures drift"
        yield finding(point, "steady", "warning", message, {}, "Give more --ios, or look at the load: is it too high?")
    counted, each = (min(one.read.ios + one.write.ios for one in outcomes), max(one.sweep_ios for one in outcomes))
    if counted < _PASSES * each:
        message = (
            f"{counted:,} I/Os were counted, and a pass of destaging over the drives takes {each:,}: how much"
            " is written back for a write swings with it, by some per cent, which intervals don't know"
        )
        numbers = {"counted": counted, "pass": each}
        yield finding(point, "destaging", "note", message, numbers, f"Give --ios {_PASSES * each} or more.")


def _by_littles_law(point: Point, outcome: _core.Outcome) -> float | None:
    """Throughput times response of a closed load without pauses, as a share of the number outstanding."""
    if any(isinstance(stream.arrival, Open) or stream.profile.think_time_ns for stream in point.streams):
        return None
    return iops(outcome) * mean_ns(outcome) / 1e9 / sum(stream.outstanding for stream in point.streams)


def _rebuilding(point: Point, outcomes: Sequence[_core.Outcome]) -> Iterable[dict[str, Any]]:
    rates = [outcome.rebuild_bytes_per_s for outcome in outcomes if outcome.rebuild_bytes_per_s]
    if not rates:
        return
    asked, reached = (fmean(rate) for rate in zip(*rates, strict=True))
    numbers = {"asked_bytes_per_s": asked, "reached_bytes_per_s": reached}
    if reached == 0:
        message = "nothing of the failed drive was rebuilt while I/Os were counted"
        yield finding(point, "rebuild", "note", message, numbers, "Give more --ios, or raise pool.rebuild_rate.")
    elif reached < _REBUILT * asked:
        message = (
            f"the failed drive is rebuilt at {short(reached / 1e6)} MB/s, not at the {short(asked / 1e6)} MB/s asked"
            " for: drives and links leave no more beside this load"
        )
        yield finding(point, "rebuild", "note", message, numbers, "Lower pool.rebuild_rate, or the load.")
    else:
        message = f"the failed drive is rebuilt at {short(reached / 1e6)} MB/s, as asked for"
        yield finding(point, "rebuild", "note", message, numbers, "Nothing is to be done.")
