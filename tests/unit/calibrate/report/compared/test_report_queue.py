"""The calibrated queue in the report: on its curve at every measured load, with the measured percentiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simulated_fio import write_simulated

from calibrate import compare, fit
from calibrate.fitting.simulated_queue import SHARES, simulated_queue
from calibrate.report.compared import compared_section, views_of
from calibrate.report.compared.curve_figures import against_load
from calibrate.report.compared.curve_views import curve_output
from calibrate.report.compared.simulated import QueueAtWork, queue_at_work
from measure import Sweep, load, load_dataset
from measure.sweep import histograms
from qsim import LogNormal, simulate

ONE_DEVICE = Path(__file__).parents[5] / "docs" / "data" / "one-device" / "thinking.csv"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return load(write_simulated(tmp_path_factory.mktemp("queue") / "one", LogNormal(2e-3, 0.5), 1, [1, 4, 16, 32]))


@pytest.fixture(scope="module")
def found(sweep: Sweep) -> QueueAtWork:
    queue = queue_at_work(compare(sweep), sweep)
    assert queue is not None
    return queue


def test_the_simulated_throughput_lies_on_the_curve(found: QueueAtWork) -> None:
    middle, low, high = found.queue.throughput_per_s
    assert middle == pytest.approx(found.queue.predicted_per_s, rel=0.02)
    assert ((low <= found.queue.predicted_per_s) & (found.queue.predicted_per_s <= high)).mean() >= 0.75
    assert found.queue.load.tolist() == [1, 4, 16, 32]


def test_drawn_renewals_are_what_the_engine_simulates(sweep: Sweep) -> None:
    fitted = fit(sweep)
    drawn = simulated_queue(fitted, fitted.predict([1, 16]))
    for column, n in enumerate((1, 16)):
        engine = simulate(fitted.queue(n), customers=200_000, seed=1)
        low, high = engine.interval("throughput")
        assert drawn.throughput_per_s[1, column] < high
        assert low < drawn.throughput_per_s[2, column]
        assert drawn.percentiles_s[:, column] == pytest.approx([engine.quantile(q) for q in SHARES], rel=0.02)


def test_percentiles_are_those_of_the_histograms(found: QueueAtWork, sweep: Sweep) -> None:
    for (_, depth, _), histogram in histograms(sweep).items():
        column = found.queue.load.tolist().index(depth)
        assert found.measured_s[:, column] == pytest.approx([histogram.quantile(0.5), histogram.quantile(0.99)])
    assert found.queue.percentiles_s[:, 0] == pytest.approx(found.measured_s[:, 0], rel=0.1)  # alone: the same law


def test_the_page_shows_it_and_the_throughput_has_its_marks(sweep: Sweep) -> None:
    comparison = compare(sweep)
    main = views_of(comparison, queue=queue_at_work(comparison, sweep)).main
    view = next(v for v in main if v.name == "queue-simulated")
    assert "histogram of depth 1" in view.caption
    assert view.text is not None
    assert "p99 simulated" in view.text.header
    marked = next(v for v in main if v.name == "throughput").figure
    assert any(t.get("name") == "the queue, simulated" for t in marked.data)
    quick = views_of(comparison).main
    assert not any(v.name == "queue-simulated" for v in quick)


def test_without_histograms_there_are_no_measured_percentiles() -> None:
    table = load_dataset("004-ssd-depth")
    found = queue_at_work(compare(table), table)
    assert found is not None
    assert np.isnan(found.measured_s).all()


def test_users_who_think_have_bounds_and_response_times_without_their_think_time() -> None:
    """A station that N users never leave was simulated: 2.0 s a request, where they think for 2 s and wait 20 ms."""
    done = compare(load(ONE_DEVICE), [2, 10, 60])
    assert queue_at_work(done, None) is None
    fitted, loads = done.fit.curve_parameters, done.smooth.load
    least, peak, think = fitted["Rbusy"].estimate, fitted["Xmax"].estimate, done.points.load_type.thinking_s
    drawn = {
        (what, trace["name"]): np.array(trace["y"], dtype=float)
        for what in ("throughput", "response")
        for trace in against_load(done, what).data
        if str(trace.get("name")).startswith("bound")
    }
    light = drawn["throughput", "bound N/(Rbusy + Z)"] / (loads / (least + think))
    assert light == pytest.approx(light[0])
    waits = drawn["response", "bound N/Xmax - Z"]
    heavy = np.isfinite(waits)
    unit = waits[heavy] / (loads / peak - think)[heavy]
    assert unit == pytest.approx(unit[0])
    assert not heavy[0]
    main = compared_section("", [views_of(done)], {}).curves[0].main
    (caption,) = (view.caption for view in main if view.name == "throughput")
    assert "They cross at (Rbusy + Z) Xmax; the knee is (R1 + Z) Xmax" in caption
    assert curve_output(done)["banded"] == "response times"
