"""Driving the lab: start it, start a browser, press what a student presses, read what a student reads."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from qsim_program import QSIM
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

T = TypeVar("T")
PATIENCE_S = 90.0  # the machine may be busy with other tests
POLL_S = 0.1
PRESS_AGAIN_S = 3.0


@dataclass(frozen=True)
class Served:
    """A running lab: its process, its address with a slash at the end, its folder."""

    process: subprocess.Popen[str]
    address: str
    folder: Path
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> bytes:
        """What a GET gives."""
        request = urllib.request.Request(self.address + path, headers=headers)  # noqa: S310 - the lab's
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - the lab's
            content: bytes = answer.read()
            return content

    def news(self, run: str = "", first: int = 0) -> Any:
        """What a browser receives of the current run."""
        return json.loads(self.get(f"lab/events?run={run}&first={first}"))

    def call(
        self, outputs: list[str], inputs: dict[str, Any], state: dict[str, Any], changed: str, who: str = ""
    ) -> Any:
        """One of the page's callbacks, as the browser of ``who`` calls it; the response by component."""
        several = len(outputs) > 1
        named = [dict(zip(("id", "property"), o.split("."), strict=True)) for o in outputs]
        body = {
            "output": f"..{'...'.join(outputs)}.." if several else outputs[0],
            "outputs": named if several else named[0],
            "inputs": _values(inputs),
            "state": _values(state),
            "changedPropIds": [changed],
        }
        headers = {"Content-Type": "application/json", "Cookie": self._cookie(who)}
        where = f"{self.address}_dash-update-component"
        request = urllib.request.Request(where, json.dumps(body).encode(), headers)  # noqa: S310 - the lab's
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - the lab's
            return json.loads(answer.read())["response"]

    def _cookie(self, who: str) -> str:
        """The session that the lab gave to the browser of ``who`` with its first page."""
        if who not in self.cookies:
            with urllib.request.urlopen(self.address + "run", timeout=PATIENCE_S) as answer:  # noqa: S310 - the lab's
                self.cookies[who] = answer.headers["Set-Cookie"].partition(";")[0]
        return self.cookies[who]

    def press(self, button: str, device: str = "") -> str:
        """One of the teacher's buttons; what the teacher reads."""
        inputs = {f"run-{b}.n_clicks": 1 for b in ("open", "start", "stop", "reveal", "remove", "remove-between")}
        state = {"run-device.value": device, "run-culprit.value": None}
        return str(
            self.call(["run-refusal.children"], inputs, state, f"run-{button}.n_clicks")["run-refusal"]["children"]
        )

    def guess(self, name: str, knee: float) -> str:
        """Seal a guess; what the viewer reads."""
        outputs = ["run-sealed.children", "run-sealed.className", "run-mine.data"]
        inputs = {"run-guess.n_clicks": 1, "run-undo.n_clicks": None}
        state = {"run-name.value": name, "run-knee.value": knee}
        return str(self.call(outputs, inputs, state, "run-guess.n_clicks", name)["run-sealed"]["children"])

    def wait_for(self, phase: str, patience_s: float = 3 * PATIENCE_S) -> Any:
        """The news once the run is in this phase."""
        return until(lambda: (news := self.news())["phase"] == phase and news, f"phase {phase}", patience_s)


def _values(named: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": k.split(".")[0], "property": k.split(".")[1], "value": v} for k, v in named.items()]


def until(check: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """What ``check`` gives as soon as it is true; an AssertionError with the last of it after a while."""
    end_s = time.monotonic() + patience_s
    while not (found := check()):
        assert time.monotonic() < end_s, f"no {what} within {patience_s:g} s; last: {found!r}"
        time.sleep(POLL_S)
    return found


def start_lab(folder: Path, *options: str) -> Served:
    """``qsim lab`` on a free port, in ``folder``."""
    argv = [*QSIM, "lab", "--no-browser", "--port", "0", "--folder", str(folder), *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)  # its errors: to the failing test's
    assert process.stdout is not None
    line = process.stdout.readline()
    if line.startswith("for the class: "):
        line = process.stdout.readline()
    found = re.search(r"the lab: (\S+)", line)
    assert found, f"qsim lab said {line!r} and ended with {process.poll()}"
    return Served(process, found[1], folder)


CHROMIUM = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
)


def start_browser(chromium: str, driver: str, profile: Path) -> webdriver.Chrome:
    """Headless Chromium with its console kept."""
    options = Options()
    options.binary_location = chromium
    for argument in (*CHROMIUM, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def prepare(browser: webdriver.Chrome, width: int, height: int = 1000, *, dark: bool) -> None:
    """A browser as if it were new: nothing stored, of this size, in this look."""
    browser.get("about:blank")
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser")


def console_errors(browser: webdriver.Chrome) -> list[str]:
    """The errors in its console since it was prepared."""
    return [str(entry["message"]) for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


class Page:
    """The lab in one browser."""

    def __init__(self, browser: webdriver.Chrome, served: Served) -> None:
        self.browser = browser
        self.served = served

    def go(self, part: str) -> None:
        """Load a part of the lab and wait until it is there."""
        self.browser.get(self.served.address + part)
        part = part.partition("?")[0]
        until(
            lambda: self.all(f"#{part}-shown, #{part}-formulas .formula, #{part}-status, #{part}-network img"),
            f"page {part}",
        )

    def all(self, selector: str) -> list[WebElement]:
        """Every element of a CSS selector."""
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def the(self, identity: str) -> WebElement:
        """An element by its id."""
        return self.browser.find_element(By.ID, identity)

    def text(self, identity: str) -> str:
        """What is written in it, read in one go: the page may replace it at any moment."""
        script = "const e = document.getElementById(arguments[0]); return e ? e.innerText : '';"
        return str(self.browser.execute_script(script, identity))

    def value(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self.browser.execute_script(f"return {script}", *arguments)

    def wait_text(self, identity: str, wanted: str, patience_s: float = PATIENCE_S) -> str:
        """Its text once it holds what is wanted."""
        found = [""]

        def holds() -> bool:
            found[0] = self.text(identity)
            return wanted in found[0]

        try:
            until(holds, f"{wanted!r} in {identity}", patience_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; there was {found[0]!r}") from None
        return found[0]

    def choose(self, dropdown: str, words: str) -> None:
        """One of a dropdown's options, found by typing. The list is closed again, also where it takes several."""
        until(lambda: self.all(f"#{dropdown}"), f"dropdown {dropdown}")  # its script comes after the page's
        self._open(dropdown)
        search = self.all(".dash-dropdown-search")
        if search:
            search[0].send_keys(words)
            until(lambda: len(self.all(".dash-dropdown-option")) == 1, f"one option {words!r}")
        next(o for o in self.all(".dash-dropdown-option") if words in o.text).click()
        if self.all(".dash-dropdown-option"):
            self.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        until(lambda: not self.all(".dash-dropdown-option"), "a closed list")
        until(lambda: words in self.text(dropdown) or "selected" in self.text(dropdown), f"{words!r} chosen")

    def _open(self, dropdown: str) -> None:
        """Open its list with the keyboard; a press while the list before it still closes is lost, so press again."""
        pressed_s = -PRESS_AGAIN_S

        def options() -> list[WebElement]:
            nonlocal pressed_s
            trigger, now_s = self.the(dropdown), time.monotonic()
            if trigger.get_attribute("aria-expanded") != "true" and now_s - pressed_s >= PRESS_AGAIN_S:
                pressed_s = now_s
                trigger.send_keys(Keys.ENTER)
            return self.all(".dash-dropdown-option")

        until(options, "options")

    def slider(self, identity: str) -> WebElement:
        """The handle of a slider."""
        return self.browser.find_element(By.CSS_SELECTOR, f"#{identity}-slider [role=slider]")

    def type_number(self, identity: str, text: str) -> None:
        """Type into the number box of a slider."""
        box = self.browser.find_element(By.CSS_SELECTOR, f"input#{identity}")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text, Keys.ENTER)

    def points(self) -> list[list[float]]:
        """The measured points on the plot of throughput, in the order in which they came."""
        script = """(() => { const p = document.querySelector('#run-throughput .js-plotly-plot');
            return (p && p.data || []).filter((t) => t.name.startsWith('measured, '))
                .flatMap((t) => t.x.map((x, i) => [t.customdata[i], x, t.y[i]]))
                .sort((a, b) => a[0] - b[0]).map((row) => row.slice(1)); })()"""
        found: list[list[float]] = self.value(script)
        return found
