"""A comparison as JUnit's XML, which CI servers show: a test case a cell, or a threshold at a point.

There is no standard; elements and attributes are those of Apache Ant's junitreport, which all readers share.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from loadline.judging.compare import Comparison
from loadline.judging.fail_if import Tried
from loadline.reporting.compare_table import head, percent, span

# What XML can't hold in any form.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Case(NamedTuple):
    """A test case: `outcome` is `failure`, `error`, `skipped`, or empty for one that passes."""

    group: str
    name: str
    outcome: str
    message: str


def junit(comparison: Comparison, tried: Sequence[Tried] = ()) -> bytes:
    """The XML. Of thresholds those that fail do so, missing points are errors, what isn't sure is skipped.

    Without thresholds each cell is a test case: what is worse fails, what can't be told is skipped.
    """
    cases = list(_of_thresholds(tried) if tried else _of_cells(comparison))
    counts = {name: str(sum(case.outcome == kind for case in cases)) for name, kind in _COUNTS.items()}
    attributes = {"name": "loadline compare", "tests": str(len(cases)), **counts}
    suites = ET.Element("testsuites", attributes)
    suite = ET.SubElement(suites, "testsuite", {**attributes, "name": f"against {xml_text(comparison.baseline)}"})
    for case in cases:
        element = ET.SubElement(suite, "testcase", {"classname": xml_text(case.group), "name": xml_text(case.name)})
        if case.outcome:
            ET.SubElement(element, case.outcome, {"message": xml_text(case.message)})
        elif case.message:
            ET.SubElement(element, "system-out").text = xml_text(case.message)
    ET.indent(suites)
    text: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _of_thresholds(tried: Iterable[Tried]) -> Iterable[_Case]:
    outcomes = {"fails": "failure", "missing": "error", "unsure": "skipped", "passes": ""}
    for one in tried:
        yield _Case(one.side, f"{one.point}: {one.threshold.text}", outcomes[one.state], one.why)


def _of_cells(comparison: Comparison) -> Iterable[_Case]:
    outcomes = {"worse": "failure", "can't tell": "skipped"}
    for cell in comparison.cells:
        said = f"{cell.verdict}: {percent(cell.ratio)} % ({span(cell)})" if cell.ratio else cell.verdict
        message = "; ".join(filter(None, (said, cell.why)))
        yield _Case(cell.side, f"{cell.point}: {head(cell.figure)[0]}", outcomes.get(cell.verdict, ""), message)


def xml_text(text: str) -> str:
    """The text with a `?` for each character that XML can't hold."""
    return _NO_XML.sub("?", text)
