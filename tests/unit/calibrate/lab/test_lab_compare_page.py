"""The pictures of the lab's page Compare."""

from __future__ import annotations

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.lab.compare_page import load_figure
from calibrate.lab.widgets import Theme


def test_throughput_over_the_load_is_drawn_of_closed_curves_alone(folder):
    sources = folder.sources()
    disk, memory = (sources[name].curves() for name in ("dataset-004-ssd-depth", "dataset-001-memory"))
    figure = load_figure([*memory, *disk], Theme(dark=False))
    assert [list(trace["x"]) for trace in figure["data"]] == [list(curve.figures["load"]) for curve in disk]
    measured = [curve.figures["throughput_per_s"].to_numpy() for curve in disk]
    rates = [rate / rate[0] for rate in measured]
    assert [list(t["y"] / t["y"][0]) for t in figure["data"]] == [pytest.approx(rate) for rate in rates]
