"""Explore in a real browser: every model by mouse, keyboard and number box; the queue moves; light, dark, phone."""

from __future__ import annotations

import re

import pytest
from driving import Page, until
from selenium.webdriver.common.keys import Keys

UNNAMED = """[...document.querySelectorAll('input:not([aria-hidden]), button, [role=slider]')].filter((e) =>
    e.offsetParent && !e.innerText && !e.getAttribute('aria-label') && !e.labels?.length)
    .map((e) => e.outerHTML)"""
FOCUSED = """[getComputedStyle(document.activeElement).outlineStyle,
    document.activeElement.id || document.activeElement.className || 'link']"""


def operating_point(page: Page, quantity: str) -> float:
    script = """(() => { const p = document.querySelector('#explore-' + arguments[0] + ' .js-plotly-plot');
        const t = p && p.data && p.data.find((t) => t.name.startsWith('here')); return t ? t.y[0] : null; })()"""
    return page.value(script, quantity)


def test_a_slider_is_moved_by_the_keyboard_and_a_number_is_typed(served, open_page):
    page = open_page(served, "explore")
    page.wait_text("explore-formulas", "1.633")
    handle = page.slider("explore-arrival_rate")
    assert handle.get_attribute("aria-label") == "arrival rate λ"
    handle.send_keys(Keys.ARROW_RIGHT)
    page.wait_text("explore-formulas", f"{0.75**2 / 0.25:.4g}")
    until(lambda: operating_point(page, "Lq") == pytest.approx(2.25), "the moved point")
    page.type_number("explore-arrival_rate", "0.5")
    page.wait_text("explore-formulas", "0.5")
    until(lambda: operating_point(page, "Lq") == pytest.approx(0.5), "the typed point")
    page.type_number("explore-arrival_rate", "1.2")
    page.wait_text("explore-problem", "grows for ever")


def test_the_queue_moves_until_it_is_paused(served, open_page):
    page = open_page(served, "explore")

    def clock() -> float:
        return float(page.value("document.getElementById('explore-moving').dataset.time || '0'"))

    until(lambda: clock() > 0.5, "a moving queue")
    page.the("explore-play").click()
    until(lambda: page.text("explore-play") == "Play", "a paused queue")
    still = clock()
    page.wait_text("explore-formulas", "Little")
    assert clock() == still
    page.the("explore-play").click()
    until(lambda: clock() > still, "a queue that goes on")


def test_light_and_dark_are_chosen_and_kept(served, open_page):
    page = open_page(served, "explore", dark=True)
    look = "document.documentElement.dataset.theme"
    ink = "document.querySelector('#explore-L .js-plotly-plot')?.layout?.font?.color"
    until(lambda: page.value(look) == "dark", "the system's dark look")
    until(lambda: page.value(ink) == "#e8edf2", "light ink on dark")
    page.the("theme-toggle").click()
    until(lambda: page.value(ink) == "#1b2733", "dark ink on light")
    page.go("explore")
    assert page.value(look) == "light"


@pytest.mark.parametrize("part", ["explore", "run", "compare", "system", "watch"])
def test_every_control_has_a_name_and_a_value_that_a_screen_reader_says(revealed, open_page, part):
    page = open_page(revealed, part, width=390)
    assert float(page.value("parseFloat(getComputedStyle(document.body).fontSize)")) >= 18
    if part != "watch":
        until(lambda: page.all(".chart svg .xtick"), "a plot")
        charts = "[...document.querySelectorAll('.chart')].filter((c) => c.offsetParent)"
        said = f"{charts}.map((c) => [c.getAttribute('role'), c.getAttribute('aria-label')])"
        until(
            lambda: all(role == "img" and re.search(r"plot: .+: .*\d", name) for role, name in page.value(said)), said
        )
    assert page.value(UNNAMED) == []
    values = page.value("[...document.querySelectorAll('[role=slider]')].map((s) => s.getAttribute('aria-valuenow'))")
    assert all(value and float(value) >= 0 for value in values)
    assert bool(values) == (part in ("explore", "system"))


def test_people_model_and_truth_differ_without_colour(revealed, open_page):
    page = open_page(revealed, "run")
    board = page.wait_text("run-leaderboard", "the model (qsim)")
    assert board.count("\u25b2") == 4
    assert board.count("\u25c6") == 1
    marks = "document.querySelector('#run-throughput .js-plotly-plot').layout.annotations.map((a) => a.text)"
    found = until(lambda: page.value(marks), "marks")
    assert sum("\u25b2" in text for text in found) == 4
    assert sum("\u25c6" in text for text in found) == 1
    shapes = "document.querySelector('#run-throughput .js-plotly-plot').layout.shapes.map((s) => s.line.dash)"
    assert "solid" in page.value(shapes)
    traces = page.value("document.querySelector('#run-throughput .js-plotly-plot').data.map((t) => t.name)")
    assert any(name.startswith("N90, the measured one") for name in traces)


def test_focus_can_be_seen_on_the_way_through_the_page(served, open_page):
    page = open_page(served, "explore")
    seen = set()
    for _ in range(14):
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        style, name = page.value(FOCUSED)
        assert style != "none"
        seen.add(name)
    assert len(seen) >= 4
