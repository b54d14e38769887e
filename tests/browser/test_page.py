"""The report as a page, in a real browser: drawn, quiet, equal to the store, and inert whatever stands in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from results import failed, measured, run_of, solved

from loadline.judging.compare import compare
from loadline.reporting.compare_files import write as write_comparison
from loadline.reporting.compared import compared_of
from loadline.reporting.contents import Contents
from loadline.reporting.report import report, write
from loadline.result.schema import Result
from loadline.result.store import Run

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")

DRAWN = """() => [...document.querySelectorAll('.chart')].filter(place => !place.closest('details:not([open])'))
  .every(place => ['done', 'failed'].includes(place.dataset.drawn))"""


@dataclass
class Opened:
    """A page, and what it said and asked for."""

    page: Page
    path: Path
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def drawn(self) -> None:
        self.page.wait_for_function(DRAWN, timeout=60_000)

    def marks(self, section: str, kind: str) -> int:
        """How many marks of a kind (`mark-rect`, `mark-symbol`, ...) the charts of a section have."""
        return self.page.locator(f"#{section} g.{kind} > path, #{section} g.{kind} > line").count()

    def quiet(self) -> None:
        assert self.said == []
        assert self.asked == [f"file://{self.path}"]


@contextmanager
def opened(browser: Browser, path: Path, width: int = 1280, scheme: str = "light") -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    found = Opened(page, path)
    page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
    page.on("dialog", lambda dialog: found.said.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: None if request.url.startswith("data:") else found.asked.append(request.url))
    page.goto(f"file://{path}")
    yield found
    context.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six points of three depths, one of them quick, and one that failed."""
    rows = [
        measured(f"oltp-qd{depth}", 900.0 * depth, 1.0 + depth / 4, profile="oltp", outstanding_asked=depth)
        for depth in (1, 4, 16)
    ]
    rows += [
        measured("log", 40_000.0, 0.3, access_class="sequential"),
        measured("quick", quick=True),
        failed("gone", "fio ended with 1: No such device"),
    ]
    return run_of(tmp_path_factory.mktemp("store"), rows, seconds=20)


@pytest.fixture(scope="module")
def page_file(run: Run) -> Path:
    return report([run], run.path.parent / "report.html", command=("loadline", "report", "last", "-o", "report.html"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_draws_every_chart_quietly_and_fits_its_width(
    browser: Browser, page_file: Path, width: int, scheme: str
) -> None:
    with opened(browser, page_file, width, scheme) as seen:
        for point in seen.page.locator("details.point > summary").all():
            point.click()
        seen.drawn()
        places = seen.page.locator(".chart")
        assert places.count() > 20
        assert seen.page.locator(".chart[data-drawn=done] svg").count() == places.count()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        seen.quiet()


def test_what_is_not_folded_is_drawn_when_the_page_has_loaded_and_what_is_when_it_opens(
    browser: Browser, page_file: Path
) -> None:
    with opened(browser, page_file) as seen:
        drawn = seen.page.locator(".chart[data-drawn=done] svg")
        assert drawn.count() == seen.page.locator("main > section:not(#points) .chart").count() > 4
        point = seen.page.locator("details.point").first
        assert point.locator(".chart[data-drawn]").count() == 0
        point.locator("> summary").click()
        seen.drawn()
        assert point.locator(".chart[data-drawn=done] svg").count() == point.locator(".chart").count() == 4


def test_charts_have_a_mark_for_every_point_that_has_figures(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as seen:
        seen.drawn()
        # A class whose rates range widely has dots, the other bars; of six points one failed.
        assert seen.marks("iops", "mark-symbol.role-mark") + seen.marks("iops", "mark-rect.role-mark") == 5
        assert seen.page.locator("#iops").get_by_text("failed").count() == 1
        # Mean and 99th percentile, of reads and of writes.
        assert seen.marks("latency", "mark-symbol.role-mark") == 5 * 2 * 2
        assert seen.marks("utilisation", "mark-symbol.role-mark") == 5 * 2
        assert seen.marks("load", "mark-line.role-mark") == 1
        assert seen.marks("load", "mark-symbol.role-mark") == 3


def test_light_and_dark_paper_differ_and_print_is_light(browser: Browser, page_file: Path) -> None:
    look = "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.documentElement))"
    colours = {}
    for scheme in SCHEMES:
        with opened(browser, page_file, scheme=scheme) as seen:
            colours[scheme] = seen.page.evaluate(look)
            seen.page.emulate_media(media="print")
            colours[f"{scheme} print"] = seen.page.evaluate(look)
            assert not seen.page.locator("nav").is_visible()
            assert seen.page.locator("#results").is_visible()
    assert colours["light"] != colours["dark"]
    assert colours["light"] == colours["light print"] == colours["dark print"]


def test_the_table_of_an_open_load_line_fits_a_page_of_1200_pixels(browser: Browser, tmp_path: Path) -> None:
    known = {"limit": "mean<=30ms", "saturation_iops": 1154.0, "saturation_outstanding": 128, "bottleneck": "disks"}
    load = {"offered_per_s": 637.0, "outstanding_asked": None, "busy_fraction": None, "steady": True}
    row = measured("oltp", 639.0, 29.4, iops_ci95=32.8, **load, **known)
    with opened(browser, write(Contents("open", (), [row], ()), tmp_path / "x.html"), 1200) as seen:
        hidden = seen.page.evaluate(
            "(box => box.scrollWidth - box.clientWidth)(document.querySelector('#table .scroll'))"
        )
        assert hidden == 0


def test_the_table_of_a_sweep_fits_a_page_of_1100_pixels_and_cuts_nothing(browser: Browser, tmp_path: Path) -> None:
    known = {"limit": "mean<=30ms", "saturation_iops": 1154.0, "bottleneck": "disks", "busy_fraction": None}
    tags = {"cache.battery": "failed", "pool.write_cache": "false"}
    rows = [
        measured("oltp-db", 639.0, 29.4, origin="solved", tags={**tags, "pool.drives": str(each)}, **known)
        for each in (4, 8)
    ]
    with opened(browser, write(Contents("swept", (), rows, ()), tmp_path / "x.html"), 1100) as seen:
        hidden = """[...document.querySelectorAll('#table .scroll, #table td')]
          .filter(box => box.scrollWidth > box.clientWidth).length"""
        assert seen.page.evaluate(hidden) == 0


@pytest.fixture(scope="module")
def repeated() -> list[Result]:
    """A point on two targets and on both together, three times."""
    rates = {("emulated:hdd-7k2", "hdd-7k2"): 200.0, ("emulated:sas", "sas-10k-jbod"): 1400.0, ("*", None): 1600.0}
    return [
        measured("oltp-db", rate * (0.9 + repeat / 20), target=target, system=system, run="r", repeat=repeat)
        for (target, system), rate in rates.items()
        for repeat in (1, 2, 3)
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_what_tells_rows_apart_is_not_broken_within_words(
    browser: Browser, repeated: list[Result], tmp_path: Path, width: int
) -> None:
    with opened(browser, write(Contents("t", (), repeated, ()), tmp_path / "x.html"), width) as seen:
        broken = """cells => cells.filter(cell => [...cell.firstChild.data.matchAll(/[a-z0-9]+/g)].some(word => {
          const range = document.createRange();
          range.setStart(cell.firstChild, word.index);
          range.setEnd(cell.firstChild, word.index + word[0].length);
          return range.getClientRects().length > 1;
        })).length"""
        assert seen.page.locator("td.side").count() == 9
        assert seen.page.locator("td.side").evaluate_all(broken) == 0


def test_strokes_of_repetitions_stand_within_their_bars_and_beside_the_number(
    browser: Browser, repeated: list[Result], tmp_path: Path
) -> None:
    with opened(browser, write(Contents("t", (), repeated, ()), tmp_path / "x.html")) as seen:
        seen.drawn()
        boxes = """marks => marks.map(mark => mark.getBoundingClientRect())
          .map(it => [it.left, it.top, it.right, it.bottom])"""
        paths = seen.page.locator("#iops g.mark-rect.role-mark")
        bars, strokes = (paths.nth(number).locator("path").evaluate_all(boxes) for number in (0, 1))
        texts = seen.page.locator("#iops g.mark-text.role-mark text").evaluate_all(boxes)
        assert (len(bars), len(strokes), len(texts)) == (3, 9, 3)
        for left, top, right, bottom in strokes:
            assert any(above - 1 <= top and bottom <= below + 1 for _, above, _, below in bars)
            assert not any(
                left < other and one < right and top < below and above < bottom for one, above, other, below in texts
            )


def test_the_table_holds_what_the_store_holds(browser: Browser, run: Run, page_file: Path) -> None:
    with opened(browser, page_file) as seen:
        seen.page.get_by_label(re.compile("all .* columns")).check()
        names = seen.page.eval_on_selector_all("#results th", "heads => heads.map(head => head.dataset.name)")
        shown = seen.page.eval_on_selector_all(
            "#results tbody tr",
            "rows => rows.map(row => [...row.cells].map(cell => [cell.dataset.value ?? null, cell.checkVisibility()]))",
        )
    assert names[0] == "point"
    stored = [result.row() for result in run.results()]
    assert len(shown) == len(stored)
    for cells, row in zip(shown, stored, strict=True):
        assert all(visible for _, visible in cells)
        for name, (value, _) in zip(names, cells, strict=True):
            expected = None if row[name] == {} else row[name]
            read = value if value is None or isinstance(expected, str) else json.loads(value)
            assert read == expected, name
    empty = {name for row in stored for name, value in row.items() if value not in (None, {}, [])} - set(names)
    assert empty == {"workload"}, "every column with a value is shown, but what each point's section tells"


def test_a_click_on_a_head_sorts_by_value_and_unknown_comes_last(browser: Browser, page_file: Path) -> None:
    def order(page: Page) -> list[str]:
        found: list[str] = page.eval_on_selector_all(
            "#results tbody tr", "rows => rows.map(row => row.querySelector('td').dataset.value)"
        )
        return found

    rising = ["oltp-qd1", "quick", "oltp-qd4", "oltp-qd16", "log"]
    with opened(browser, page_file) as seen:
        head = seen.page.locator("#results th[data-name=iops]")
        head.locator("button").click()
        assert order(seen.page) == [*rising, "gone"]
        assert head.get_attribute("aria-sort") == "ascending"
        head.locator("button").click()
        assert order(seen.page) == [*reversed(rising), "gone"]


def test_what_is_copied_is_what_is_shown(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as seen:
        # A page from a file is no secure context to every Chromium, and the clipboard is the machine's.
        clipboard = "{writeText: async text => { window.copied = text; }}"
        seen.page.evaluate(f"Object.defineProperty(navigator, 'clipboard', {{value: {clipboard}}})")
        seen.page.get_by_role("button", name="Copy").click()
        seen.page.get_by_text("copied", exact=True).wait_for()
        head, first, *rest = [line.split("\t") for line in seen.page.evaluate("window.copied").split("\n")]
    assert head[:2] == ["point", "outstanding asked"]
    assert first[:3] == ["oltp-qd1", "1", "900"]
    assert len(rest) == 5


def test_failed_quick_and_missing_are_said(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as seen:
        page = seen.page
        doubts = page.locator("#summary .grave").inner_text()
        assert "1 point of 6 failed: gone: fio ended with 1: No such device." in doubts
        assert "1 point ran for a few seconds only" in doubts
        assert page.locator("#results tr.failed td").first.inner_text() == "gone (failed)"
        assert page.locator("#results tr.quick td").first.inner_text() == "quick*"
        ink = "cell => getComputedStyle(cell).color"
        colours = [page.locator(f"#results tr{kind} td").first.evaluate(ink) for kind in (".failed", ":not([class])")]
        assert colours[0] != colours[1]
        gone = page.locator("details.point", has_text="gone")
        gone.locator("> summary").click()
        assert "over time, because there is no series of it" in gone.inner_text()
        assert gone.locator(".chart").count() == 0
        assert "components, because only models have components" in page.locator("main > .lacking").inner_text()


# Of each text that a chart places itself its edges, and those of the plot.
TEXTS = """() => [...document.querySelectorAll('#load .chart')].map(chart => ({
  plot: (b => [b.left, b.top, b.right, b.bottom])(chart.querySelector('.root .background').getBoundingClientRect()),
  texts: [...chart.querySelectorAll('g.mark-text.role-mark text')].map(text => {
    const b = text.getBoundingClientRect();
    return [text.textContent, b.left, b.top, b.right, b.bottom];
  }),
}))"""


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_of_curves_stand_apart_and_on_the_plot(browser: Browser, tmp_path: Path, width: int) -> None:
    pairs = [(1, 180.0, 5.6), (64, 8600.0, 7.5), (150, 11500.0, 13.0), (387, 12900.0, 29.9), (388, 12905.0, 30.1)]
    rows = [
        measured(f"p-{n}", iops, ms, profile="p", outstanding_asked=n, role="probe", limit="mean<=30ms")
        for n, iops, ms in [*pairs, (4096, 12910.0, 315.0)]
    ]
    rows[3] = replace(rows[3], role="point", saturation_iops=12910.0, saturation_outstanding=4096)
    with opened(browser, write(Contents("t", (), rows, ()), tmp_path / "x.html"), width) as seen:
        seen.drawn()
        (chart,) = seen.page.evaluate(TEXTS)
        left, top, right, bottom = chart["plot"]
        said = [text[0] for text in chart["texts"]]
        assert "limit mean<=30ms" in said and any(text.startswith("load line 12,900") for text in said)
        assert any(text.startswith("knee ~") for text in said)
        assert any(text.startswith("1 beyond") for text in said)
        # Boxes of fonts have room above and below their letters.
        boxes = [(x, y + 2, x2, y2 - 2) for _, x, y, x2, y2 in chart["texts"]]
        assert all(x >= left and x2 <= right and y >= top and y2 <= bottom for x, y, x2, y2 in boxes)
        for number, one in enumerate(boxes):
            for other in boxes[:number]:
                assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        seen.quiet()


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "\"'><svg onload=alert(4)>",
    "{{ 7 * 7 }} {% raw %} {# no #}",
    "line\u2028separator\u2029and\x00\x07",
    "](javascript:alert(5))",
    "lone \udcff surrogate",
    "long " * 2000,
)


def test_text_from_outside_stays_text(browser: Browser, tmp_path: Path) -> None:
    rows = [
        measured(
            f"p{number}",
            profile=text,
            system=text,
            target=text,
            tags={text: text},
            limit=text if number % 2 else None,
            findings=({"check": text, "severity": "doubt", "message": text, "remedy": text},),
        )
        for number, text in enumerate(HOSTILE)
    ]
    rows += [solved("model", dict.fromkeys(HOSTILE, 0.5)), failed("gone", "".join(HOSTILE))]
    document = {
        "suite": {"name": "s", "title": "".join(HOSTILE), "source": HOSTILE[1]},
        "target": {"path": "".join(HOSTILE), "size_bytes": 10**9},
        "tags": {text: text for text in HOSTILE[:5]},
    }
    run = run_of(tmp_path, rows, seconds=5, **document)
    command = ("loadline", *HOSTILE)
    path = report([run], tmp_path / "hostile.html", command=command)
    with opened(browser, path, 390) as seen:
        for point in seen.page.locator("details.point > summary").all():
            point.click()
        seen.drawn()
        assert seen.page.locator(".chart[data-drawn=failed]").count() == 0
        assert seen.page.locator("script").count() == 3
        assert seen.page.locator("img, iframe, svg[onload], a[href^=javascript]").count() == 0
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
        text = seen.page.locator("body").inner_text()
        assert "{{ 7 * 7 }}" in text
        assert "<script>alert(1)</script>" in text
        seen.quiet()


def test_a_page_of_nothing_says_so(browser: Browser, tmp_path: Path) -> None:
    path = write(Contents("nothing", (), [], ()), tmp_path / "x.html")
    with opened(browser, path) as seen:
        assert "No point has an answer yet." in seen.page.locator("#summary").inner_text()
        assert seen.page.locator(".chart").count() == 0
        seen.quiet()


def test_a_model_shows_components_working_and_that_nothing_was_measured(browser: Browser, tmp_path: Path) -> None:
    rows = [solved("a", provenance={"working": ["disks: 4 x 142/s"]}), solved("b", {"disks": 0.3, "bus": 0.8})]
    path = write(Contents("a forecast", (), rows, ()), tmp_path / "x.html")
    with opened(browser, path) as seen:
        seen.drawn()
        assert seen.marks("components", "mark-rect.role-mark") == 4
        assert seen.page.locator("#components text", has_text="▲").count() == 2
        assert "computed from a description, not measured" in seen.page.locator("#summary").inner_text()
        assert "disks: 4 x 142/s" in seen.page.locator("details.point").first.inner_text()
        seen.quiet()


def test_a_page_of_two_hundred_points_of_five_minutes_stays_below_five_megabytes(
    browser: Browser, tmp_path: Path
) -> None:
    run = run_of(tmp_path, [measured(f"point-{number}", 500.0 + number) for number in range(200)], seconds=300)
    path = report([run], tmp_path / "large.html")
    assert path.stat().st_size < 5e6
    with opened(browser, path) as seen:
        seen.drawn()
        assert seen.marks("iops", "mark-rect.role-mark") == 200
        assert seen.page.locator("details.some > summary b").all_inner_texts()[-1] == "193 to 200 of 200"
        assert seen.page.evaluate("document.documentElement.scrollHeight") < 6 * 900
        assert seen.page.evaluate("document.querySelector('#points').scrollHeight") < 600
        assert seen.page.evaluate("document.querySelector('#table').scrollHeight") < 1200
        assert seen.page.locator("#results tbody tr").count() == 200
        last = seen.page.locator("details.point").last
        seen.page.locator("details.some > summary").last.click()
        last.locator("> summary").click()
        last.locator(".chart[data-drawn=done]").nth(3).wait_for()
        seen.quiet()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_a_comparison_is_drawn_at_any_width_and_inert(browser: Browser, tmp_path: Path, width: int) -> None:
    sides = ("<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>")
    rows = [
        measured(f"p-qd{depth}", rate * times, run=side, system=side, target="", profile="p", outstanding_asked=depth)
        for side, times in zip(sides, (1.0, 1.5), strict=True)
        for depth, rate in ((1, 100.0), (8, 500.0))
    ]
    compared = compared_of(compare([replace(row, workload=None, iops_ci95=1.0) for row in rows], by="system"))
    with opened(browser, write_comparison(compared, tmp_path / "c.html"), width) as found:
        found.drawn()
        assert found.page.locator("#bars svg, #ratios svg, #effects svg").count() > 3
        assert found.page.locator("#verdicts tbody tr").all_inner_texts()[0] == "IOPS"
        assert found.page.locator("#verdicts tbody tr").count() == 3
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        found.quiet()


def test_a_chart_in_less_room_than_it_was_drawn_for_keeps_its_proportions(browser: Browser, page_file: Path) -> None:
    """As on paper, which is narrower than the window."""
    with opened(browser, page_file) as seen:
        seen.page.add_style_tag(content=".chart { max-width: 250px; }")
        wide, high, drawn_wide, drawn_high = seen.page.locator("#iops svg").first.evaluate(
            "({clientWidth, clientHeight, viewBox}) => "
            "[clientWidth, clientHeight, viewBox.baseVal.width, viewBox.baseVal.height]"
        )
        assert wide == 250 < drawn_wide
        assert high == pytest.approx(drawn_high * wide / drawn_wide, abs=2)


def test_on_paper_heads_of_tables_do_not_stick(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.locator("#results th").first.evaluate("head => getComputedStyle(head).position") == "static"
        # A button isn't painted where a head is repeated on the next sheet.
        assert (
            seen.page.locator("#results th button").first.evaluate("it => getComputedStyle(it).display") == "contents"
        )


def test_two_sides_are_drawn_quietly_on_linear_and_logarithmic_scales(browser: Browser, tmp_path: Path) -> None:
    rows = [
        measured(f"p{number}", rate, mean_ms, target="", system=system, access_class=access)
        for system, rate, mean_ms, wide in (("old", 100.0, 9.0, 1), ("new", 200.0, 4.0, 90))
        for number, access in enumerate(("random", "sequential"))
        for rate, mean_ms in [(rate * wide**number, mean_ms / wide**number)]
    ]
    with opened(browser, write(Contents("t", (), rows, ()), tmp_path / "x.html")) as seen:
        seen.drawn()
        assert seen.marks("iops", "mark-rect.role-mark") == 2
        assert seen.marks("iops", "mark-symbol.role-mark") == 2
        seen.quiet()


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_of_components_stay_within_their_cells(browser: Browser, tmp_path: Path, width: int) -> None:
    components = {f"component {number}": 1.0 - number / 20 for number in range(9)}
    rows = [solved(f"a-point-of-a-long-name-{number}", components) for number in range(3)]
    with opened(browser, write(Contents("t", (), rows, ()), tmp_path / "x.html"), width) as seen:
        seen.drawn()
        wide = "marks => marks.map(mark => mark.getBoundingClientRect().width)"
        cell = min(seen.page.locator("#components").locator("g.mark-rect.role-mark path").evaluate_all(wide))
        texts = seen.page.locator("#components").locator("g.mark-text.role-mark text")
        assert max(texts.evaluate_all(wide)) <= cell
        assert texts.filter(has_text="▲").count() == 3
        seen.quiet()
