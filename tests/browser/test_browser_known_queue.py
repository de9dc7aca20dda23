"""A known queue under arrivals on the page Run: the curve, the points on it, and the numbers in the formula."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from driving import Page, Served, start_lab, until
from test_browser_pictures import FAULTS

from calibrate import fit
from calibrate.fitting.fit_file import with_origin
from calibrate.lab.folder import opened
from calibrate.lab.run.event_log import RESULT, EventWriter
from calibrate.lab.run.orders import Order
from calibrate.lab.run.session import LabRun
from calibrate.lab.run.worker import reveal
from measure import load
from measure.loads import ArrivalRate

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "one-device"
ORDER = Order("mmc", "M/M/4 live", ArrivalRate(), (400.0, 800.0, 1200.0, 1400.0, 1600.0, 1800.0), 4, 2e-3)
PLOTTED = "document.querySelector('#run-{} .js-plotly-plot')?.data?.map((t) => t.name) || []"


@pytest.fixture(scope="module")
def measured(require_module: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A lab whose last run is a known queue that was measured, as recorded in docs/data."""
    require_module("dash", "pip install 'qsim-queue[lab]'")
    root = tmp_path_factory.mktemp("lab") / "lab"
    with opened(root) as folder:
        run = LabRun.begin(folder.new_run(), ORDER)
        run.guess("Ann", 990, "one")
        writer = EventWriter(ORDER, run.directory, (), lambda line: run._hear(line.encode()))
        closed, arrivals = load(DATA / "closed.csv"), load(DATA / "open.csv")
        more = {"asked_rate_per_s": list(ORDER.loads), "requests": 40 * arrivals.points["load"]}
        arrivals = replace(arrivals, points=arrivals.points.assign(**more))
        writer.seal(with_origin(fit(closed, [1, 4, 16]), closed))
        writer.add(arrivals)
        (run.directory / RESULT).write_text(json.dumps(reveal(arrivals, run.directory, ORDER)))
        writer.send("measured")
    lab = start_lab(root)
    yield lab
    lab.process.send_signal(signal.SIGINT)
    assert lab.process.wait(30) == 130


@pytest.mark.parametrize("width", [1300, 390])
def test_points_land_on_the_curve_of_theory_with_their_numbers(measured, open_page, width):
    page: Page = open_page(measured, "run", width=width)
    if measured.news()["phase"] == "measured":
        assert measured.press("reveal") == ""
    page.wait_text("run-status", "Revealed")
    page.wait_text("run-numbers", "(Erlang) = 2.4")
    assert "which saw no arrivals" in page.text("run-verdict")
    for name in ("throughput", "latency"):
        found = until(lambda n=name: page.value(PLOTTED.format(n)), "a plot")
        assert "theory" in found
        assert any(text.startswith("measured") for text in found)
    assert "predicted from a closed test" in page.value(PLOTTED.format("throughput"))
    wrong: list[str] = []
    for _ in range(20):
        wrong = [f for n in range(2) for f in page.browser.execute_script(FAULTS, n, ".chart")]
        if not wrong:
            break
    assert not wrong
    assert page.value("document.documentElement.scrollWidth") <= width
