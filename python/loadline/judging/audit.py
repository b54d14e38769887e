"""The audit: what in results cannot be, or is doubtful, each finding with its numbers and its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from loadline.errors import InputError
from loadline.judging.checks import CHECKS
from loadline.judging.finding import Doubt, finding
from loadline.judging.setup import Setup, setup_of
from loadline.judging.subject import Subject
from loadline.result.schema import Result
from loadline.result.series import PointSeries


def audit(
    results: Sequence[Result],
    documents: Mapping[str, Mapping[str, Any]] | None = None,
    series: Mapping[tuple[str, str], PointSeries] | None = None,
) -> list[Result]:
    """The same rows with what is doubtful about each among its `findings`.

    Rows are judged by themselves and against each other: give together what is to be compared. A finding of a check
    that a row has already is replaced by a new one, and kept where there is none: how it was measured may tell more
    than the row does.

    Args:
        results: rows of any origin.
        documents: run.json of the runs that the rows are of, by run: what was captured and declared.
        series: by run and point, where they are at hand.

    Raises:
        InputError: what is no row.
    """
    results = each_of(results)
    for one in results:
        if not isinstance(one, Result):
            raise no_result(one)
    documents, series = documents or {}, series or {}
    subjects = _subjects(results, documents, series)
    doubts: list[dict[str, list[Doubt]]] = [{} for _ in subjects]
    for name, check in CHECKS.items():
        for subject, doubt in check(subjects):
            doubts[subject.number].setdefault(name, []).append(doubt)
    return [_with(result, found) for result, found in zip(results, doubts, strict=True)]


def _subjects(
    results: Sequence[Result],
    documents: Mapping[str, Mapping[str, Any]],
    series: Mapping[tuple[str, str], PointSeries],
) -> list[Subject]:
    @lru_cache(maxsize=1024)
    def setup(run: str, target: str, said: tuple[tuple[str, str], ...]) -> Setup:
        return setup_of(dict(said), documents.get(run), target)

    def known(result: Result) -> Setup:
        document = documents.get(result.run) or {}
        said = {**(document.get("tags") or {}), **(document.get("declared") or {}), **result.tags}
        return setup(result.run, result.target, tuple(said.items()))

    return [
        Subject(result, number, known(result), series.get((result.run, result.point)), documents.get(result.run) or {})
        for number, result in enumerate(results)
    ]


def _with(result: Result, doubts: Mapping[str, list[Doubt]]) -> Result:
    if not doubts:
        return result
    made = [finding(name, result.run, result.point, found) for name, found in doubts.items()]
    kept = [one for one in result.findings if one.get("check") not in doubts]
    return replace(result, findings=(*kept, *made))


def each_of(results: object) -> list[Any]:
    """What was given as results, one that was given alone, too."""
    return list(results) if isinstance(results, Iterable) and not isinstance(results, str) else [results]


def no_result(one: object) -> InputError:
    """What is said of something that was given as a result."""
    return InputError(
        f"{one!r} is no result",
        "Read files with loadline.import_results, whose run has `results`; loadline.run and loadline.simulate return"
        " them.",
    )


def has_error(results: Sequence[Result]) -> bool:
    """Whether something was found that cannot be."""
    return any(one.get("severity") == "error" for result in results for one in result.findings)
