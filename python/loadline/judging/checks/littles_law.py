"""Little's law: rate times mean response is the mean number outstanding (J. D. C. Little, Oper. Res. 9, 1961)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadline.judging.finding import Doubt
from loadline.judging.subject import Subject, like
from loadline.units import short

NAME = "littles-law"

#: A closed load can't exceed what was asked, but for what I/Os waited before the time that is counted: see `_edge`.
EXCESS = 0.01
#: A mean of unlike members that isn't weighted is too high by less; the field report's cluster had up to 34 %.
UNWEIGHTED = 0.5
#: What a load generator loses between two I/Os stays well below this.
DEFICIT = 0.2
#: With one outstanding a job, its own time between two I/Os shows: so much is the host's.
BETWEEN_NS = 20_000
#: MB for MiB, of a rate that is only told in bytes.
BYTES = 0.05
#: Counts of the same thing that differ by more aren't of the same thing.
UNLIKE = 0.2

_COLUMNS = {"outstanding", "outstanding_achieved"}

_REMEDY_MORE = "Weight means by I/Os, and check unit and load; with both unknown neither figure can be used."
_REMEDY_LESS = "Check the unit of latency, and what the load generator really kept outstanding."


def check(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Each row against what was asked and achieved; rows of one profile whose load isn't told against each other."""
    for subject in subjects:
        yield from ((subject, doubt) for doubt in _of_row(subject))
    yield from _unlike_products(subjects)


def _of_row(subject: Subject) -> Iterator[Doubt]:
    row, asked = subject.row, subject.closed
    if asked is not None and row.outstanding_achieved is not None and row.outstanding_achieved > asked * (1 + EXCESS):
        message = f"{short(row.outstanding_achieved, 4)} outstanding are more than the {asked:,} that were asked for"
        numbers = {"achieved": row.outstanding_achieved, "asked": asked}
        yield Doubt("error", message, "Ask what that column counts.", numbers)
    product = _product(subject)
    if product is None or subject.waits or row.error is not None:
        return
    times = f"IOPS{' (MB/s over block size)' if subject.derived else ''} x mean latency"
    of_rate = {"iops_derived": subject.iops} if subject.derived and subject.iops else {}
    if _is_a_column(subject) and abs(product / (row.outstanding_achieved or 1) - 1) > UNLIKE:
        achieved = short(row.outstanding_achieved or 0.0, 4)
        message = f"the row says that {achieved} were outstanding, {times} {short(product, 4)}"
        numbers = {"by_littles_law": product, "achieved": row.outstanding_achieved or 0.0, **of_rate}
        yield Doubt("warning", message, "Ask what that column counts.", numbers)
    if asked is None:
        return
    rounding = _rounding(subject)
    share = product / asked
    numbers = {"by_littles_law": product, "asked": asked, "share": share, **of_rate}
    if share > 1 + EXCESS + rounding + _edge(subject, asked):
        more = f"{share - 1:.1%} more than" if share < 10 else f"{short(share)} times"
        message = f"{times} is {short(product, 4)} outstanding, {more} the {asked:,} asked for"
        yield Doubt("error", f"{message}{_cause(subject, asked, share)}", _REMEDY_MORE, numbers)
    elif share < 1 - DEFICIT - rounding and not _explained(subject, product):
        message = (
            f"{times} is {short(product)} outstanding of the {asked:,} asked for: latency is in another unit"
            " or of something else, or the depth was never reached"
        )
        yield Doubt("warning", message, _REMEDY_LESS, numbers)


def _edge(subject: Subject, asked: int) -> float:
    """By how much I/Os under way at the beginning can raise the product: they bring what they waited before it.

    That is at most the longest latency for each that was asked for; where it isn't told, twice the mean is taken.
    """
    longest_ns, runtime_ns = subject.row.total.latency_max_ns, subject.row.runtime_ns
    if longest_ns and runtime_ns:
        return longest_ns / runtime_ns
    return 2 * asked / subject.ios if subject.ios else 0.0


def _product(subject: Subject) -> float | None:
    rate, mean_ns = subject.iops, subject.latency_ns
    return (rate * mean_ns / 1e9 or None) if rate and mean_ns else None


def _rounding(subject: Subject) -> float:
    """By how much the product may be off, relative."""
    if subject.derived:
        return subject.coarseness("bytes_per_s", "latency_mean_ns") + BYTES
    return subject.coarseness("iops", "latency_mean_ns")


def _is_a_column(subject: Subject) -> bool:
    """Whether the number achieved was printed by others; fio's own levels are too coarse to compare."""
    columns = subject.row.provenance.get("columns") or {}
    known = subject.row.outstanding_achieved is not None
    return known and subject.row.origin == "imported" and not columns.keys().isdisjoint(_COLUMNS)


def _explained(subject: Subject, product: float) -> bool:
    """Whether it's known already that less was outstanding, or the load generator's own time shows."""
    row, asked = subject.row, subject.closed or 0
    if row.outstanding_achieved is not None and product > row.outstanding_achieved * (1 - DEFICIT):
        return True
    return (
        asked <= (row.jobs or 1) and bool(subject.iops) and (asked - product) / (subject.iops or 1) * 1e9 < BETWEEN_NS
    )


def _cause(subject: Subject, asked: int, share: float) -> str:
    row = subject.row
    read, write = row.read, row.write
    if read.iops and write.iops and read.latency_mean_ns and write.latency_mean_ns:
        weighted = (read.iops * read.latency_mean_ns + write.iops * write.latency_mean_ns) / 1e9
        if abs(weighted / asked - 1) <= EXCESS:
            return f"; weighted by I/Os, reads and writes together give {short(weighted, 4)}"
    if ((row.jobs or 1) > 1 or (row.hosts or 1) > 1) and share <= 1 + UNWEIGHTED:
        return ": the mean latency isn't weighted by I/Os, so slow jobs or guests count as much as those that did more"
    return ": one of the two is of another load, or in another unit"


def _unlike_products(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Doubt]]:
    """Rows of one profile and one table, of which nobody says how much was outstanding."""

    def key(subject: Subject) -> object:
        row = subject.row
        told = subject.closed or row.offered_per_s or row.outstanding_achieved or row.limit or not row.profile
        return (
            None
            if told or not subject.measured or _product(subject) is None
            else (row.run, row.profile, str(row.workload))
        )

    for group in like(subjects, key):
        products = [_product(subject) or 0.0 for subject in group]
        least, most = min(products), max(products)
        rounding = max(map(_rounding, group))
        if most / least > 1.05 + 2 * rounding:
            subject = group[products.index(most)]
            message = (
                f"IOPS x mean latency goes from {short(least)} to {short(most)} over rows of {subject.row.profile}: at"
                " one fixed number outstanding it would be the same"
            )
            yield (
                subject,
                Doubt("note", message, "Ask how much was outstanding in each.", {"least": least, "most": most}),
            )
