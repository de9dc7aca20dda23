"""A run from guess to reveal on a device whose truth is known, in two browsers; killed, reloaded, resumed, replayed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from driving import PATIENCE_S, Page, Served, until
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

pytestmark = [pytest.mark.live, pytest.mark.slow]

HOSTILE = "<img src=x onerror=alert(1)>"
MEASURING_S = 4 * PATIENCE_S


def worker_of(run: Path) -> int:
    """The number of the process that measures into a run's directory."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"calibrate.lab.run.worker" in words and os.fsencode(run) in words:
            return int(entry.name)
    return 0


def in_order(page: Page, served: Served) -> bool:
    """Whether a browser shows the points that the lab tells, in their order."""
    return [x for x, _ in page.points()] == loads_of(served)


def loads_of(served: Served) -> list[float]:
    """The loads of the points that the lab tells."""
    return [event["load"] for event in served.news()["events"] if event["kind"] == "point"]


def draw_guess(page: Page) -> float:
    """Press into the plot, move, and let go; the knee that was drawn."""
    plot = until(lambda: page.all("#run-throughput .js-plotly-plot"), "a plot")[0]
    ActionChains(page.browser).move_to_element(plot).click_and_hold().move_by_offset(60, 0).release().perform()
    until(lambda: page.the("run-knee").get_attribute("value"), "a knee")
    return float(str(page.the("run-knee").get_attribute("value")))


def test_from_guess_to_reveal_with_a_kill_and_a_reload_on_the_way(served, open_page, require_tool):
    require_tool("fio")
    require_tool("nbdkit")
    teacher, student = open_page(served, "run"), open_page(served, "run", width=390)

    teacher.choose("run-device", "truth is known")
    teacher.the("run-open").click()
    for page in (teacher, student):
        page.wait_text("run-status", "Open for guesses")
    run = served.folder / "runs" / served.news()["run"]

    drawn = draw_guess(teacher)
    teacher.the("run-name").send_keys(HOSTILE)
    teacher.the("run-guess").click()
    teacher.wait_text("run-sealed", "You sealed")
    student.the("run-name").send_keys("Ann")
    student.the("run-knee").send_keys("30", Keys.TAB)
    student.the("run-guess").click()
    student.wait_text("run-sealed", "You sealed")
    student.the("run-guess").click()
    student.wait_text("run-sealed", "already")
    for page in (teacher, student):
        page.wait_text("run-guesses", HOSTILE)
        page.wait_text("run-count", "2 guesses")
    assert "30" not in json.dumps(
        [e for e in served.news()["events"] if e["kind"] == "guess" and e.pop("commitment") and e.pop("at")]
    )

    teacher.the("run-start").click()
    until(lambda: len(loads_of(served)) >= 2, "two points", MEASURING_S)  # by the server: a busy browser may be late
    os.kill(until(lambda: worker_of(run), "a measuring process"), signal.SIGKILL)
    for page in (teacher, student):
        page.wait_text("run-status", "killed")
    until(lambda: not worker_of(run), "an end of the measuring process")
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if os.fsencode(run) in _read(p)]  # fio, nbdkit

    until(lambda: teacher.text("run-start") == "Resume", "a way to go on")
    teacher.the("run-start").click()
    student.wait_text("run-status", "of 6")
    student.go("run")  # a reload in the middle
    student.wait_text("run-sealed", "You sealed 30 as Ann")
    teacher.wait_text("run-status", "Ready to reveal", MEASURING_S)
    student.wait_text("run-status", "Ready to reveal")
    for page in (teacher, student):
        until(lambda p=page: in_order(p, served), "the same points in the same order")
    assert sorted({x for x, _ in teacher.points()}) == [1, 2, 4, 8, 16, 32]
    assert teacher.points() == student.points()

    teacher.the("run-reveal").click()
    truth = json.loads((run / "order.json").read_text())
    for page in (teacher, student):
        board = page.wait_text("run-leaderboard", "the model (qsim)")
        assert HOSTILE in board
        assert "Ann" in board
        assert f"{drawn:.3g}" in board
        assert f"N* is {truth['servers']}, the truth" in page.wait_text("run-outcome", "the truth")
        assert page.text("run-verdict")
        assert not page.all("#run-leaderboard img, #run-guesses img")
    report = served.get("lab/report").decode()
    assert "<img src=x" not in report
    assert (run / "report.html").read_text() == report


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
