"""A class joins a lab that listens beyond this machine, and guesses are taken back."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import urlsplit

import pytest
from driving import Page, Served, start_lab, until
from selenium.webdriver.common.keys import Keys

DATASET = "003-ssd-read: "


@pytest.fixture
def public(require_module, tmp_path_factory):
    require_module("dash", "pip install 'qsim-queue[lab]'")
    lab = start_lab(tmp_path_factory.mktemp("public") / "lab", "--host", "0.0.0.0")  # noqa: S104
    yield lab
    lab.process.terminate()
    assert lab.process.wait(30) == 130


def test_a_class_joins_by_code_guesses_and_takes_back(public, open_page):
    place = urlsplit(public.address)
    local = Served(public.process, f"http://127.0.0.1:{place.port}/", public.folder)
    teacher = open_page(local, f"run?{place.query}")
    teacher.browser.find_element("css selector", ".joining summary").click()
    code = until(lambda: teacher.text("join-code"), "a code")
    assert re.fullmatch(r"[a-z2-9]{4}-[a-z2-9]{4}", code)
    square = teacher.browser.find_element("css selector", ".joining img")
    until(lambda: teacher.value("arguments[0].naturalWidth", square) > 100, "a square to photograph")
    teacher.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    until(lambda: not teacher.text("join-code"), "a closed panel")

    student = open_page(local, f"run?token={code.replace('-', '').upper()}", width=390)
    assert "token" not in student.browser.current_url
    student.wait_text("run-status", "The teacher opens one")
    assert not student.all("#run-start, .joining")

    teacher.choose("run-device", DATASET)
    teacher.the("run-open").click()
    guess(student, "Ann", "3")
    student.the("run-undo").click()
    student.wait_text("run-count", "0 guesses")
    guess(student, "Ann", "30")
    guess(teacher, "\u0410nn", "1")
    for page in (teacher, student):
        page.wait_text("run-guesses", "Ann (looks like another name)")
        page.wait_text("run-guesses", "\u0410nn (looks like another name; \u0410 is U+0410)")
    teacher.browser.find_element("css selector", "#run-removing summary").click()
    teacher.choose("run-culprit", "U+0410")
    teacher.the("run-remove").click()
    for page in (teacher, student):
        page.wait_text("run-count", "1 guess is")
    assert "looks like" not in student.text("run-guesses")

    teacher.the("run-start").click()
    teacher.wait_text("run-status", "Ready to reveal", 160.0)
    until(lambda: len(student.points()) == 5, "every point")
    teacher.the("run-reveal").click()
    board = student.wait_text("run-leaderboard", "Ann")
    assert "\u0410nn" not in board
    cookies = "; ".join(f"{c['name']}={c['value']}" for c in student.browser.get_cookies())
    rows = list(csv.DictReader(io.StringIO(local.get("lab/guesses.csv", Cookie=cookies).decode())))
    assert {row["name"]: row["load"] for row in rows}["Ann"] == "30.0"


def guess(page: Page, name: str, knee: str) -> None:
    """Type a guess and seal it."""
    page.wait_text("run-status", "Open for guesses")
    for identity, text in (("run-name", name), ("run-knee", knee)):
        page.the(identity).send_keys(Keys.CONTROL, "a")
        page.the(identity).send_keys(text, Keys.TAB)
    page.the("run-guess").click()
    page.wait_text("run-sealed", f"You sealed {knee} as {name}")
    page.wait_text("run-guesses", name)
