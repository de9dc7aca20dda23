"""A viewer far away, or a machine that is busy: answers that take longer than the time between two questions."""

from __future__ import annotations

import pytest
from driving import Page, until

DATASET = "dataset-003-ssd-read"
DELAY_MS = 1200  # the page asks every 500 ms
DELAYED = f"""const asked = window.fetch;
    window.fetch = async function (where, ...more) {{
        if (/lab.events|_dash-update/.test(String(where))) {{ await new Promise((go) => setTimeout(go, {DELAY_MS})); }}
        return asked.call(this, where, ...more);
    }};"""
BAR = "[...document.querySelectorAll('progress.waiting')].some((bar) => bar.checkVisibility())"
ACTIONS = {"run": "run-open", "explore": "explore-again"}


def test_a_run_is_followed_though_answers_are_slower_than_questions(served, open_page):
    page: Page = open_page(served, "run")
    added = page.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": DELAYED})
    try:
        page.go("run")
        page.wait_text("run-status", "No run yet")
        assert served.press("open", DATASET) == ""
        page.wait_text("run-status", "Open for guesses")
        assert served.press("start") == ""
        until(page.points, "a point")
        assert served.press("stop") == ""
        page.wait_text("run-status", "Stopped")
        sent = [event["load"] for event in served.news()["events"] if event["kind"] == "point"]
        assert [load for load, _ in page.points()] == sent
    finally:
        page.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("part", ACTIONS)
def test_what_takes_long_has_a_bar_until_it_is_there(served, open_page, part):
    page: Page = open_page(served, part)
    until(lambda: not page.value(BAR), "a page at rest")
    page.browser.execute_script(DELAYED)
    page.the(ACTIONS[part]).click()
    until(lambda: page.value(BAR), "a bar")
    until(lambda: not page.value(BAR), "the answer")
