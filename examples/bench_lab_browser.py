"""How quick the lab page is in a browser: from a key to the plots, and from a measured point to its place on the page.

    python examples/bench_lab_browser.py [updates [device]]

Needs chromium, its driver and selenium. An update begins with a key pressed on a slider, with numbers that the lab has
not seen, and ends when all plots of Explore are drawn. ``device`` (disk, known, memory, or a replay like
dataset-003-ssd-read) is measured, and each point timed from the moment that the lab knows it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

UPDATES, PATIENCE_S = 15, 120.0
CLASS, LOADS, REPLAYED = 40, 5, "dataset-003-ssd-read"
_JSON = {"Content-Type": "application/json"}
MODELS = (("mm1", "arrival_rate"), ("mmc", "arrival_rate"), ("mg1", "arrival_rate"), ("closed", "population"))
LAB = "import sys; sys.argv[0] = 'qsim'; from calibrate.cli.app import app; app()"
CHROMIUM = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
)
SIMULATED = """const plots = [...document.querySelectorAll('.js-plotly-plot')];
    return plots.length && plots.length === document.querySelectorAll('.chart').length &&
        plots[0].data?.some((t) => t.name.startsWith('simulated') && t.y.length);"""
WATCH = """window.began = 0; window.drawn = new Map(); window.plots = document.querySelectorAll('.js-plotly-plot');
    document.addEventListener('keydown', () => { began = performance.now(); drawn.clear(); }, true);
    for (const plot of plots) {
        plot.on('plotly_afterplot', () => drawn.set(plot.closest('[id]').id, performance.now()));
    }"""
SEEN = "[...plots].filter((plot) => plot.offsetParent).every((plot) => drawn.has(plot.closest('[id]').id))"
TAKEN = f"return {SEEN} ? Math.max(...drawn.values()) - began : 0;"
PATH_DRAWN = "return drawn.has('explore-path');"
ALL_DRAWN = f"return {SEEN};"
SHOWN = """window.shown = {};
    function look() {
        const form = document.getElementById('run-form'), tick = document.querySelector('#run-throughput .xtick text');
        if (!shown.form && form && form.offsetHeight) { shown.form = performance.now(); }
        if (tick && tick.getBoundingClientRect().width) { shown.plot = performance.now(); }
        else { requestAnimationFrame(look); }
    }
    requestAnimationFrame(look);"""
PLOTTED = "return Boolean(document.querySelector('#run-throughput .js-plotly-plot')?.on);"
LAND = """window.landed = []; const plot = document.querySelector('#run-throughput .js-plotly-plot');
    plot.on('plotly_afterplot', () => {
        const points = plot.data.filter((t) => t.name.startsWith('measured, ')).flatMap((t) => t.x).length;
        while (landed.length < points) { landed.push(Date.now() / 1000); }
    });"""


def until(check: Callable[[], Any], what: str) -> Any:
    """What ``check`` gives once it is true."""
    end_s = time.monotonic() + PATIENCE_S
    while not (found := check()):
        if time.monotonic() > end_s:
            raise SystemExit(f"no {what} within {PATIENCE_S:g} s")
        time.sleep(0.05)
    return found


def update_ms(browser: Any, slider: str, key: str) -> float:
    """Milliseconds from a key on a slider until all plots are drawn."""
    browser.execute_script(
        "drawn.clear(); document.getElementById('explore-again').click();"
    )  # numbers not seen before
    until(lambda: browser.execute_script(PATH_DRAWN), "other run")
    time.sleep(0.3)
    browser.find_element("css selector", f"#explore-{slider}-slider [role=slider]").send_keys(key)
    return float(until(lambda: browser.execute_script(TAKEN), "drawn plots"))


def updates_ms(browser: Any, model: str, slider: str, updates: int) -> list[float]:
    """The same for one model, with keys to the right and to the left by turns of five."""
    if model != MODELS[0][0]:
        browser.execute_script("drawn.clear();")
        browser.find_element("css selector", f"#explore-kind input[value={model}]").click()
        until(lambda: browser.execute_script(ALL_DRAWN), "plots of the model")
        until(lambda: browser.execute_script(SIMULATED), "simulated values")
    keys = [("\ue014", "\ue012")[i // 5 % 2] for i in range(updates)]
    return [update_ms(browser, slider, key) for key in keys]


def pressed(address: str, button: str, device: str) -> None:
    """A button of the teacher's, as the page sends it."""
    callback = next(c for c in read_json(f"{address}_dash-dependencies") if c["output"] == "run-refusal.children")
    body = {
        "output": callback["output"],
        "outputs": {"id": "run-refusal", "property": "children"},
        "changedPropIds": [f"run-{button}.n_clicks"],
        "inputs": [{**given, "value": 1} for given in callback["inputs"]],
        "state": [{**given, "value": device} for given in callback["state"]],
    }
    where = f"{address}_dash-update-component"
    request = urllib.request.Request(where, json.dumps(body).encode(), _JSON)  # noqa: S310 - the lab's
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - the lab's
        refusal = json.load(answer)["response"]["run-refusal"]["children"]
    if refusal:
        raise SystemExit(refusal)


def read_json(address: str) -> Any:
    """The JSON document at an address of the lab."""
    with urllib.request.urlopen(address) as answer:  # noqa: S310 - the lab's
        return json.load(answer)


def landing_s(browser: Any, address: str, device: str) -> list[float]:
    """Seconds for each point from the lab's log to the page."""
    events = f"{address}lab/events?run=&first=0"
    pressed(address, "open", device)
    browser.get(f"{address}run")
    until(lambda: browser.execute_script(PLOTTED), "plot")
    browser.execute_script(LAND)
    pressed(address, "start", device)
    until(lambda: read_json(events)["phase"] not in ("open", "running"), "end of the run")
    points = [e for e in read_json(events)["events"] if e["kind"] == "point"]
    landed = until(lambda: len(v := browser.execute_script("return landed")) == len(points) and v, "every point")
    return [at - datetime.fromisoformat(point["at"]).timestamp() for at, point in zip(landed, points, strict=True)]


def loads_ms(browser: Any, address: str) -> list[dict[str, float]]:
    """Milliseconds until a phone shows the form for a guess, and the plot, while a class asks for news."""
    pressed(address, "open", REPLAYED)
    done = threading.Event()

    def follow() -> None:
        while not done.wait(0.5):
            read_json(f"{address}lab/events?run=&first=0")

    for _ in range(CLASS):
        threading.Thread(target=follow, daemon=True).start()
        time.sleep(0.5 / CLASS)
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.execute_cdp_cmd("Network.enable", {})
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SHOWN})
    found = []
    for _ in range(LOADS):
        browser.execute_cdp_cmd("Network.clearBrowserCache", {})
        browser.get(f"{address}run")
        found.append(until(lambda: browser.execute_script("return shown.plot && shown"), "plot on the phone"))
    done.set()
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return found


def main(updates: int, device: str) -> None:
    """Start a lab and a browser, and print."""
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from selenium import webdriver
    except ModuleNotFoundError:
        driver = None
    if driver is None or chromium is None:
        print("this needs chromium, chromedriver and selenium (pip install selenium)")
        return
    with tempfile.TemporaryDirectory() as scratch:
        argv = [sys.executable, "-c", LAB, "lab", "--no-browser", "--port", "0", "--folder", str(Path(scratch) / "lab")]
        lab = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            said = lab.stdout.readline() if lab.stdout else ""
            if not said:
                raise SystemExit(f"qsim lab ended with code {lab.wait()}")
            options = webdriver.ChromeOptions()
            options.binary_location = chromium
            for argument in (*CHROMIUM, f"--user-data-dir={scratch}/browser", "--window-size=1280,900"):
                options.add_argument(argument)
            with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as browser:
                measure(browser, said.split()[-1], updates, device)
        finally:
            lab.terminate()
            lab.wait()


def measure(browser: Any, address: str, updates: int, device: str) -> None:
    """Print the times of each model, and of the device's points where one is named."""
    browser.get(f"{address}explore")
    until(lambda: browser.execute_script(SIMULATED), "simulated values")
    browser.execute_script(WATCH)
    for model, slider in MODELS:
        times = updates_ms(browser, model, slider, updates)
        print(f"from a key to all plots drawn  {median(times):6.0f} ms, at most {max(times):.0f} ms ({model})")
    loads = loads_ms(browser, address)
    form, plot = (median(each[part] for each in loads) for part in ("form", "plot"))
    print(
        f"a phone loads the page of the class in {form:.0f} ms, with its plot in {plot:.0f} ms ({CLASS} follow the run)"
    )
    if device:
        lags = landing_s(browser, address, device)
        print(f"from a point to the page       {median(lags):6.2f} s, at most {max(lags):.2f} s ({device})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else UPDATES, sys.argv[2] if len(sys.argv) > 2 else "")
