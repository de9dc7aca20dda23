"""A lab served by ``qsim lab``, and headless Chromium looking at it. An error in a console fails the test."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driving import Page, Served, console_errors, prepare, start_browser, start_lab
from selenium import webdriver

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))  # the slides' test makes the slides


@pytest.fixture(scope="module")
def served(require_module: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One lab for a module's tests."""
    require_module("dash", "pip install 'qsim-queue[lab]'")
    lab = start_lab(tmp_path_factory.mktemp("lab") / "lab")
    yield lab
    assert stop(lab.process) == 130


@pytest.fixture(scope="module")
def revealed(served: Served) -> Served:
    """The lab with a run of four guesses, one at the edge of the axis, measured and revealed."""
    assert served.press("open", "dataset-003-ssd-read") == ""
    for name, knee in (("Ann", 19), ("Bob", 7), ("A name that is as long as it may be, trul", 40), ("Cleo", 60)):
        served.guess(name[:40], knee)
    assert served.press("start") == ""
    served.wait_for("measured")
    assert served.press("reveal") == ""
    return served


def stop(process: subprocess.Popen[str]) -> int:
    """End a lab as its teacher does, with Ctrl-C; its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


@pytest.fixture(scope="session")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., webdriver.Chrome]]:
    """``browsers(0, chromium, driver)`` is the first browser, started when it is first asked for and then kept."""
    started: list[webdriver.Chrome] = []

    def browser(number: int, chromium: str, driver: str) -> webdriver.Chrome:
        while len(started) <= number:
            started.append(start_browser(chromium, driver, tmp_path_factory.mktemp("profile")))
        return started[number]

    yield browser
    for each in started:
        each.quit()


@pytest.fixture
def open_page(
    browsers: Callable[..., webdriver.Chrome], require_tool: Callable[..., str]
) -> Iterator[Callable[..., Page]]:
    """``open_page(served, "run", width=390, dark=True)``: that part in a browser that knows nothing of other tests."""
    chromium, driver = require_tool("chromium", "chromium-browser"), require_tool("chromedriver")
    used: list[webdriver.Chrome] = []

    def begin(served: Served, part: str, *, width: int = 1280, height: int = 1000, dark: bool = False) -> Page:
        browser = browsers(len(used), chromium, driver)
        prepare(browser, width, height, dark=dark)
        used.append(browser)
        page = Page(browser, served)
        page.go(part)
        return page

    yield begin
    errors = [error for browser in used for error in console_errors(browser)]
    for browser in used:
        browser.get("about:blank")  # polls no longer
    assert not errors, "\n".join(errors)
