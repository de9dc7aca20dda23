"""The star of the knee lies on the predicted curve, or the legend says that it is beyond the loads that were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrate import compare_all
from calibrate.report.compared.curves import curve_table, latency_against_throughput
from measure import load_dataset
from measure.datasets import about, dataset_names

CURVES = [name for name in dataset_names() if about(name).curve and name != "000-memory"]  # of caches: not fitted


def distance(x: float, y: float, line: dict[str, Any]) -> float:
    """How far, as a share of x or y, the place lies from the polyline."""
    places = np.log(np.column_stack([line["x"], line["y"]]).astype(float))
    begin, way = places[:-1], np.diff(places, axis=0)
    gap = np.log([x, y]) - begin
    along = np.clip((gap * way).sum(axis=1) / np.maximum((way**2).sum(axis=1), 1e-30), 0, 1)
    return float(np.abs(gap - along[:, None] * way).max(axis=1).min())


@pytest.mark.parametrize("name", CURVES)
def test_the_star_lies_on_its_curve_or_the_legend_says_why_not(name: str) -> None:
    for comparison in compare_all(load_dataset(name))[0]:
        traces = latency_against_throughput(comparison).data
        star = next(t for t in traces if t.get("marker", {}).get("symbol") == "star")
        line = next(t for t in traces if t.get("name") == "predicted")
        off = "beyond these loads" in star["name"] or "which these loads do not reach" in star["name"]
        assert off != (distance(star["x"][0], star["y"][0], line) < 0.005), comparison.series


def test_the_table_has_the_knee_where_it_is_drawn() -> None:
    (comparison,) = compare_all(load_dataset("004-ssd-depth"))[0]
    star = next(t for t in latency_against_throughput(comparison).data if t.get("name", "").startswith("knee"))
    row = curve_table(comparison).set_index("what").loc["knee"]
    assert star["y"][0] / row["response_time_s"] == pytest.approx(1e6)
