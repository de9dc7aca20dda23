"""The report in a browser: drawn when it is looked at, dark, on a phone, on paper, with its data to take along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import console_errors, prepare, until
from selenium import webdriver

from calibrate import compare_all
from calibrate.report.drawing import BLUE, DARK, PAPER
from calibrate.report.page import write_report
from measure import load_dataset

DRAWN = "Array.from(document.querySelectorAll('.plot')).filter(p => p.dataset.drawn).length"
HALF_A_SHEET = (297 - 2 * 14) / 25.4 * 96 / 2  # of A4, in pixels of CSS
PLOTS = "document.querySelectorAll('.plot').length"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    done, refused = compare_all(load_dataset("004-ssd-depth"))
    return write_report(done, tmp_path_factory.mktemp("report") / "report.html", refused=refused)


@pytest.fixture
def look(
    report: Path, browsers: Callable[..., webdriver.Chrome], require_tool: Callable[..., str]
) -> Iterator[Callable[..., Callable[[str], Any]]]:
    """``look(width=390, dark=True)`` opens the page and gives what evaluates a script in it."""
    browser = browsers(0, require_tool("chromium", "chromium-browser"), require_tool("chromedriver"))

    def begin(*, width: int = 1280, dark: bool = False) -> Callable[[str], Any]:
        prepare(browser, width, dark=dark)
        browser.get(report.as_uri())
        until(lambda: browser.execute_script(f"return {DRAWN}") > 0, "drawn plot")
        return lambda script: browser.execute_script(f"return {script}")

    yield begin
    assert not console_errors(browser)
    browser.get("about:blank")


def test_plots_are_drawn_when_they_come_into_view(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look()
    first, total = ask(DRAWN), ask(PLOTS)
    assert 0 < first < total
    ask("document.querySelector('details').open = true")
    ask("document.querySelectorAll('.plot').forEach(p => p.scrollIntoView())")
    for number in range(total):
        ask(f"document.querySelectorAll('.plot')[{number}].scrollIntoView()")
        until(lambda n=number: ask(f"document.querySelectorAll('.plot')[{n}].dataset.drawn"), f"plot {number}")
    assert ask(DRAWN) == total


def test_dark_screens_get_a_dark_page_and_dark_plots(look: Callable[..., Callable[[str], Any]]) -> None:
    def colours(ask: Callable[[str], Any]) -> tuple[str, str, list[str]]:
        paper = ask("getComputedStyle(document.body).backgroundColor")
        plot = "document.querySelector('.plot')"
        return paper, ask(f"{plot}.layout.paper_bgcolor"), ask(f"{plot}.data.map(t => t.line && t.line.color)")

    page, plot, lines = colours(look(dark=True))
    assert (page, plot) == ("rgb(22, 25, 29)", DARK[PAPER])
    assert DARK[BLUE] in lines
    page, plot, lines = colours(look())
    assert (page, plot) == ("rgb(255, 255, 255)", PAPER)
    assert BLUE in lines


def test_a_phone_needs_no_scrolling_sideways(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look(width=390)
    assert ask("document.documentElement.scrollWidth") <= 390
    assert ask("document.querySelector('.plot').clientWidth") <= 390
    assert ask("document.querySelector('.plot').layout.font.size") == 12


def test_evidence_in_words_is_read_on_a_phone_without_scrolling(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look(width=390)
    wide = (
        "Array.from(document.querySelectorAll('table.worded')).filter(t => t.scrollWidth > t.parentElement.clientWidth)"
    )
    assert ask("document.querySelectorAll('table.worded').length") >= 2
    assert ask(f"{wide}.length") == 0


def test_every_logarithmic_axis_can_be_read_off(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look()
    ask("document.querySelector('details').open = true")
    seen = 0
    for number in range(ask(PLOTS)):
        plot = f"document.querySelectorAll('.plot')[{number}]"
        ask(f"{plot}.scrollIntoView()")
        until(lambda p=plot: ask(f"{p}.dataset.drawn && {p}.querySelector('svg text')"), f"plot {number}")
        for letter in "xy":
            if ask(f"{plot}._fullLayout.{letter}axis.type") == "log":
                labels = ask(f"Array.from({plot}.querySelectorAll('.{letter}tick text')).map(t => t.textContent)")
                assert len(set(labels)) == len(labels) >= 3
                seen += 1
    assert seen


def test_on_paper_everything_in_view_is_drawn_light(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look(dark=True)
    ask("window.dispatchEvent(new Event('beforeprint'))")
    shown = "Array.from(document.querySelectorAll('.plot')).filter(p => p.offsetParent !== null)"
    assert ask(f"{shown}.every(p => p.dataset.drawn)")
    assert ask(f"{shown}.every(p => p.layout.paper_bgcolor === '{PAPER}')")
    heights = ask(f"{shown}.map(p => p.layout.height)")
    assert sorted(heights)[len(heights) // 2] < HALF_A_SHEET
    ask("window.dispatchEvent(new Event('afterprint'))")
    assert ask("document.querySelector('.plot').layout.paper_bgcolor") == DARK[PAPER]


def test_the_data_of_a_plot_is_behind_its_button(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look()
    ask("URL.createObjectURL = blob => { window.saved = blob; return '#'; }")
    ask("document.addEventListener('click', e => { if (e.target.download) window.named = e.target.download; }, true)")
    ask("document.querySelector('figure .take button[data-table]').click()")
    until(lambda: ask("window.saved && (window.saved.text().then(t => { window.text = t; }), window.text)"), "the data")
    header, *rows = ask("window.text").strip().split("\n")
    assert header.startswith("what,load,throughput_per_s")
    assert len(rows) > 48  # the drawn curve and the points


def test_everything_to_press_can_be_reached_by_keyboard(look: Callable[..., Callable[[str], Any]]) -> None:
    ask = look()
    assert ask("document.querySelector('.skip').getAttribute('href')") == "#content"
    assert ask(
        "Array.from(document.querySelectorAll('.take a, .take button, summary, .scroll')).every(e => e.tabIndex === 0)"
    )
    assert ask("Array.from(document.querySelectorAll('.plot')).every(p => p.getAttribute('aria-label').length > 10)")
