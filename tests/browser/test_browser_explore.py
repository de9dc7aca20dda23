"""Explore in a real browser: every model by mouse, keyboard and number box; the queue moves; light, dark, phone."""

from __future__ import annotations

import re
import signal

import pytest
from driving import Page, until
from selenium.webdriver.common.keys import Keys
from test_browser_pictures import FAULTS

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


def test_what_is_typed_while_the_server_is_at_work_counts(served, open_page):
    page = open_page(served, "explore?model=mm1&arrival_rate=0.7&service_time=1")
    page.wait_text("explore-formulas", "1.633")
    handle = page.slider("explore-arrival_rate")
    served.process.send_signal(signal.SIGSTOP)
    try:
        handle.send_keys(Keys.ARROW_RIGHT)
        page.type_number("explore-arrival_rate", "0.6")
        until(lambda: handle.get_attribute("aria-valuenow") == "0.6", "the slider at the number")
    finally:
        served.process.send_signal(signal.SIGCONT)
    until(lambda: operating_point(page, "Lq") == pytest.approx(0.9), "the typed point")


BOX = "document.getElementById('explore-arrival_rate').value"


def test_what_is_typed_is_shown_computed_drawn_and_linked(served, open_page):
    page = open_page(served, "explore")
    page.wait_text("explore-formulas", "1.633")
    page.type_number("explore-arrival_rate", "0.777")
    page.wait_text("explore-formulas", "0.777 · 1")
    until(lambda: operating_point(page, "W") == pytest.approx(1 / (1 - 0.777)), "the typed point")
    assert page.value(BOX) == "0.777"
    assert page.slider("explore-arrival_rate").get_attribute("aria-valuenow") == "0.777"
    assert "arrival_rate=0.777&" in page.the("explore-link").get_attribute("href")
    page.wait_text("explore-times", f"mean {1 / 0.223:.4g}")
    page.go("explore")
    page.wait_text("explore-formulas", "0.777 · 1")
    assert page.value(BOX) == "0.777"


def test_a_value_out_of_the_range_widens_the_slider(served, open_page):
    page = open_page(served, "explore?model=mm1&arrival_rate=16&service_time=0.05")
    page.wait_text("explore-formulas", "16 · 0.05")
    assert operating_point(page, "Lq") == pytest.approx(3.2)
    assert page.value(BOX) == "16"
    service, rate = page.slider("explore-service_time"), page.slider("explore-arrival_rate")
    assert float(service.get_attribute("aria-valuemin")) <= 0.05 == float(service.get_attribute("aria-valuenow"))
    until(lambda: float(rate.get_attribute("aria-valuemax")) == 50, "a range for the servers' speed")
    page.type_number("explore-arrival_rate", "75")
    until(lambda: float(rate.get_attribute("aria-valuemax")) == 150, "a wider range")
    page.wait_text("explore-problem", "grows for ever")
    rate.send_keys(Keys.HOME)
    until(lambda: float(page.value(BOX)) == 1, "the slider's lowest value")
    page.wait_text("explore-formulas", "1 · 0.05")


def test_three_loads_and_twenty_runs_are_drawn(served, open_page):
    page = open_page(served, "explore?model=mmc&arrival_rate=3&servers=4")
    page.wait_text("explore-compared", "75 % of the peak")
    page.the("explore-many").click()
    page.wait_text("explore-rival", "20 runs lie between")
    drawn = "document.querySelector('#explore-path .js-plotly-plot').data.length"
    until(lambda: page.value(drawn) == 21, "twenty runs and the theory")
    page.the("explore-many").click()
    page.wait_text("explore-rival", "The same arrivals")


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


@pytest.mark.parametrize("width", [1300, 1920])
def test_larger_hides_the_controls_and_makes_no_plot_smaller(served, open_page, width):
    page = open_page(served, "explore", width=width)
    plot = "document.getElementById('explore-L').getBoundingClientRect()"
    shown = "document.querySelector('.controls').getBoundingClientRect().width"
    until(lambda: page.text("size-toggle") == "Larger", "the button")
    before = page.value(f"[{plot}.width, {plot}.height]")
    assert page.value(shown) > 0
    page.the("size-toggle").click()
    until(lambda: page.value(shown) == 0, "hidden controls")
    after = page.value(f"[{plot}.width, {plot}.height]")
    assert after[0] > before[0]
    assert after[1] >= before[1]
    until(lambda: not any(page.browser.execute_script(FAULTS, n, ".chart") for n in range(7)), "free texts")
    page.go("run")
    until(lambda: page.value("document.getElementById('run-open').getBoundingClientRect().width > 0"), "the teacher's")
    page.the("size-toggle").click()
    page.go("explore")
    until(lambda: page.value(shown) > 0, "the controls again")


def test_larger_leaves_the_teachers_buttons_above_plots_of_the_full_width(revealed, open_page):
    page = open_page(revealed, "run")
    box = "document.getElementById(arguments[0]).getBoundingClientRect()"
    until(lambda: page.value(f"{box}.width", "run-first") > 0, "the plot")
    before = page.value(f"[{box}.width, {box}.height]", "run-first")
    page.the("size-toggle").click()
    until(lambda: page.value(f"{box}.width", "run-device") == 0, "no list of devices")
    after = page.value(f"[{box}.width, {box}.height]", "run-first")
    assert after[0] > before[0]
    assert after[1] >= before[1]
    assert page.value(f"{box}.width", "run-reveal") > 0


def test_an_overloaded_queue_says_so_and_draws_no_probabilities(served, open_page):
    page = open_page(served, "explore")
    page.wait_text("explore-formulas", "1.633")
    height = "document.getElementById('explore-bars-place').getBoundingClientRect().height"
    assert page.value(height) > 0
    page.type_number("explore-arrival_rate", "1.2")
    page.wait_text("explore-times", "Overloaded: ρ = 1.2.")
    until(lambda: page.value(height) == 0, "no bars")
    assert page.text("explore-no-bars").startswith("There is no p(n)")
    page.type_number("explore-arrival_rate", "0.5")
    until(lambda: page.value(height) > 0, "bars again")


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


def test_a_dark_page_is_printed_dark_on_light_without_what_is_to_be_pressed(served, open_page):
    page = open_page(served, "explore", dark=True)
    page.wait_text("explore-formulas", "1.633")
    until(lambda: page.all("#explore-W .xtick text"), "plot")
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    ink = "rgb(27, 39, 51)"
    assert page.value("getComputedStyle(document.body).color") == ink
    assert "invert(1)" in page.value("getComputedStyle(document.querySelector('.js-plotly-plot')).filter")
    assert page.value(
        "[...document.querySelectorAll('header, button:not(.dash-dropdown)')].every(e => !e.offsetParent)"
    )
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
