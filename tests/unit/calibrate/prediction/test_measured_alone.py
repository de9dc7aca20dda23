"""What is shown is what was measured, and errors rest on measured values alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import compare
from calibrate.prediction.comparison_answer import points_table
from measure import Sweep, load_dataset


@pytest.fixture(scope="module")
def at_depths():
    """The report's sweep whose latency is half of N / X from depth 4 on."""
    return compare(load_dataset("004-ssd-depth"), [1, 32])


def test_the_reports_latency_is_shown_with_that_of_the_law_beside_it(at_depths) -> None:
    table = points_table(at_depths)
    (row,) = (line for line in table.splitlines() if line.lstrip().startswith("32 "))
    assert "156 µs (296 µs =)" in row
    assert "not scored" in row
    assert table.splitlines()[-1] == "=  computed, not measured; in brackets beside what was measured: latency (N / X)"


def test_the_document_says_what_was_published_and_what_was_computed(at_depths) -> None:
    observed, residual = (at_depths.to_dict()["points"][2][key] for key in ("observed", "residual_pct"))
    assert observed["origin"] == {
        "load": "measured",
        "throughput_per_s": "measured",
        "response_time_s": "computed: N / X",
    }
    assert 1e6 * observed["response_time_published_s"] == pytest.approx(155.56)
    assert residual["response_time_s"] is None
    assert residual["throughput_per_s"] is not None


def test_no_error_is_scored_against_a_computed_response(at_depths) -> None:
    summary = at_depths.summary()
    assert summary.held_out_mape_response_pct is None
    assert summary.held_out_mape_throughput_pct == pytest.approx(10, rel=0.1)
    assert "response computed as N / X: not scored" in repr(at_depths)
    assert all(one.response_median_pct is None for one in (at_depths.model_error, *at_depths.baselines))
    assert all(rung.held_out_mape_response_pct is None for rung in at_depths.models)


def test_a_computed_throughput_is_judged_by_the_response() -> None:
    load = np.array([1.0, 4, 16, 64])
    rate = np.minimum(load, 8) * 1e4
    table = {"series": "a", "load": load, "throughput_per_s": rate, "latency_s": load / rate}
    made = compare(Sweep(pd.DataFrame(table).assign(throughput_origin="computed: N / R")), [1, 64])
    assert made.summary().held_out_mape_throughput_pct is None
    assert made.summary().held_out_mape_response_pct is not None
    assert "throughput computed as N / R: not scored" in repr(made)
    assert "WORST" in repr(made)
    assert "µs measured" in repr(made)


def test_a_corrected_unit_is_scored_and_marked() -> None:
    made = compare(load_dataset("003-ssd-read"), [4, 32], series="4 KiB read")
    assert made.summary().held_out_mape_response_pct is not None
    assert "1.09 ms ← 1.09 s" in points_table(made)


def test_a_latency_that_breaks_the_law_is_calibrated_on_the_law_and_stays_in_sight() -> None:
    load = np.array([1.0, 2, 4, 8, 16])
    rate = np.array([1e4, 2e4, 38e3, 60e3, 75e3])
    latency = load / rate * np.array([1, 1, 3, 1, 1])
    made = compare(
        Sweep(pd.DataFrame({"series": "a", "load": load, "throughput_per_s": rate, "latency_s": latency})), load
    )
    assert made.fit.points.origin[2].tolist() == ["measured", "measured", "computed: N / X"]
    assert made.fit.points.published[2, 2] == pytest.approx(latency[2])
    assert made.points.response_time_s[2] == pytest.approx(latency[2])
