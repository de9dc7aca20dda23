"""Every picture of the reports and the lab, on a desktop and a phone: no text of a plot is cut off or over another."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import Page, Served, prepare, until
from published_course import course_of
from selenium import webdriver

from calibrate import compare_all
from calibrate.course import front_of
from calibrate.report.gantt import gantt_view
from calibrate.report.measured import (
    DataSheet,
    latency_section,
    published,
    published_latencies,
    section_of,
    views_of,
    with_sheet,
)
from calibrate.report.page import write_report, write_sections
from calibrate.report.surface_section import lead_of
from calibrate.report.surface_section import views_of as surface_views
from calibrate.report.view import Section
from calibrate.surface import compare_surface, surface_points
from measure import load_dataset
from measure.datasets import about
from measure.errors import MeasureError
from measure.watching import counters_now
from qsim import MMc, trace

FAULTS = """
const plot = document.querySelectorAll(arguments[1])[arguments[0]], whole = plot.getBoundingClientRect();
const boxes = Array.from(plot.querySelectorAll('svg text')).map(t => [t.textContent, t.getBoundingClientRect()])
    .filter(([text, box]) => text.trim() && box.width > 0 && box.height > 0);
const cut = boxes.filter(([, b]) => b.left < whole.left - 1 || b.right > whole.right + 1 || b.top < whole.top - 1
    || b.bottom > whole.bottom + 1).map(([text]) => 'cut off: ' + text);
const over = [];
for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
    const [one, a] = boxes[i], [other, b] = boxes[j];
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 2 && y > 0.35 * Math.min(a.height, b.height)) over.push(one + ' over ' + other);
}
return cut.concat(over);
"""
"""What is wrong with the texts of one plot; boxes of lines may touch by a third of their height."""


def compared(name: str, folder: Path) -> Path:
    done, refused = compare_all(load_dataset(name))
    return write_report(done, folder / "report.html", refused=refused)


def course(_: str, folder: Path) -> Path:
    sections = course_of("004-ssd-depth", "004-ssd-mix")
    return write_sections(sections, folder / "report.html", title="course", front=front_of(sections))


def surface(name: str, folder: Path) -> Path:
    found = compare_surface(surface_points(load_dataset(name)))
    section = Section("a surface", surface_views(found), lead=lead_of(found), notes=found.notes)
    return write_sections([section], folder / "report.html", title="surface")


def shown(names: str, folder: Path) -> Path:
    """The pictures of published reports as ``qsim show`` draws them, and a strip of waits."""
    sheet = DataSheet(read_per_s=400e3, write_per_s=118e3, latency_s=80e-6)
    sections = []
    for name in names.split():
        if about(name).curve:
            data = published(name)
            sections.append(section_of(data, with_sheet(data, views_of(data, {}), sheet)))
        else:
            sections.append(latency_section(*published_latencies(name)))
    strip = gantt_view(trace(MMc(1, 1, servers=2), [0.5] * 12, [1.0, 0.4, 2.0] * 4))
    return write_sections([*sections, Section("a queue", [strip])], folder / "report.html", title="shown")


PAGES = {
    "one curve": (compared, "004-ssd-depth"),
    "four curves": (compared, "003-ssd-read"),
    "ten curves": (compared, "001-memory"),
    "course": (course, ""),
    "surface": (surface, "001-ssd"),
    "report 000": (shown, "000-ssd"),
    "reports 001 and 002": (shown, "001-ssd 002-ssd-tails 002-ssd-baseline"),
    "reports 003 and 004": (shown, "003-ssd-read 004-ssd-depth 004-ssd-block-size 004-ssd-mix"),
    "memories": (shown, "000-memory 001-memory"),
}


@pytest.fixture(scope="module", params=list(PAGES))
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    make, name = PAGES[request.param]
    return make(name, tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("width", [1300, 390])
def test_no_text_is_cut_off_or_covered(
    page: Path, width: int, browsers: Callable[..., webdriver.Chrome], require_tool: Callable[..., str]
) -> None:
    browser = browsers(0, require_tool("chromium", "chromium-browser"), require_tool("chromedriver"))
    prepare(browser, width, dark=False)
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    wrong = []
    for number in range(browser.execute_script("return document.querySelectorAll('.plot').length")):
        plot = f"document.querySelectorAll('.plot')[{number}]"
        browser.execute_script(f"{plot}.scrollIntoView()")
        shown = f"return {plot}.dataset.drawn && {plot}.querySelector('svg text') !== null"
        until(lambda s=shown: browser.execute_script(s), f"plot {number}")
        name = browser.execute_script(f"return {plot}.dataset.view")
        wrong += [f"{name}: {fault}" for fault in browser.execute_script(FAULTS, number, ".plot")]
    browser.get("about:blank")
    assert not wrong, "\n".join(wrong)


SIDEWAYS = (
    "[...document.querySelectorAll('main *')].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth"
    " && getComputedStyle(e).overflowX !== 'visible' && !e.closest('.js-plotly-plot, .dash-dropdown, .heard'))"
    ".map((e) => e.outerHTML.slice(0, 90))"
)
LAB = {
    "explore": (7, "#explore-path svg .xtick text"),
    "explore?model=closed": (7, "#explore-path svg .xtick text"),
    "run": (2, "#run-latency svg .xtick text"),
    "compare": (2, "#compare-shown svg .xtick text"),
    "system": (2, "#system-response-plot svg .xtick text"),
    "watch": (3, "#watch-response svg .scatterlayer path"),
}
"""The parts of the lab: how many plots each has, and what is there once the last is drawn."""


def counted() -> bool:
    """Whether this system counts what its devices do, without which Watch has no plots."""
    try:
        return bool(counters_now())
    except MeasureError:
        return False


@pytest.mark.parametrize(
    ("width", "dark", "larger"),
    [(1300, False, False), (1300, True, False), (1300, False, True), (390, False, False), (390, True, False)],
)
def test_no_text_of_the_lab_is_cut_off_or_covered(
    revealed: Served, open_page: Callable[..., Page], width: int, dark: bool, larger: bool
) -> None:
    page = open_page(revealed, "run", width=width, dark=dark)
    button = page.value("document.getElementById('size-toggle').getBoundingClientRect().width")
    assert (button > 0) == (width > 620)  # a phone has no room for larger type
    if larger:
        until(lambda: page.text("size-toggle") == "Larger", "the button")
        page.the("size-toggle").click()
        until(lambda: page.text("size-toggle") == "Smaller", "large type")
    wrong = []
    for part, (count, last) in LAB.items():
        if part == "watch" and not counted():
            continue
        page.go(part)
        until(lambda s=last: page.all(s), f"plots of {part}")
        assert page.value("[...document.querySelectorAll('.chart')].filter((c) => c.offsetParent).length") == count
        found: list[str] = []
        for _ in range(50):  # letters move while plots are fitted to their places
            found = [f for n in range(count) for f in page.browser.execute_script(FAULTS, n, ".chart")]
            if not found:
                break
            time.sleep(0.1)
        assert page.value("document.documentElement.scrollWidth") <= width
        wrong += [f"{part}: {fault}" for fault in [*found, *page.value(SIDEWAYS)]]
    assert not wrong, "\n".join(wrong)
