"""A sweep shows itself, and refuses percentiles that are out of order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from measure import Sweep, load_dataset
from measure.errors import DataError


def test_repr_is_two_lines() -> None:
    first, second = repr(load_dataset("000-ssd", as_published=True)).splitlines()
    assert first.startswith("Sweep 000-ssd: 36 points of ")
    assert len(first) < 200
    assert second.startswith("outstanding requests N: ")


def test_frame_is_a_copy_with_units_in_its_columns() -> None:
    sweep = load_dataset("004-ssd-depth", as_published=True)
    frame = sweep.to_frame()
    frame["latency_s"] = 0.0
    assert (sweep.points["latency_s"] > 0).all()
    assert {"load", "throughput_per_s", "latency_s"} <= set(frame)


def test_html_is_escaped_and_leaves_out_unknown_columns() -> None:
    points = pd.DataFrame({"series": ["<b>"], "load": [1.0], "throughput_per_s": [10.0], "latency_s": [0.1]})
    page = Sweep(points, name="<i>")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "latency_p99_s" not in page


def test_figure_has_a_line_for_each_series() -> None:
    sweep = load_dataset("003-ssd-read", as_published=True)
    figure = sweep.plot()
    assert [line.name for line in figure.data] == list(sweep.series)
    one = sweep.select(sweep.series[0]).mean_points()
    assert list(figure.data[0].x) == one["throughput_per_s"].tolist()
    assert figure.layout.yaxis.title.text == "latency (s)"


def test_what_a_table_does_not_tell_stays_unknown_and_its_points_are_no_repeats() -> None:
    points = Sweep(pd.DataFrame({"series": "c", "load": [1.0, 2.0], "throughput_per_s": 1e3, "latency_s": 1e-3})).points
    assert points["repeat"].tolist() == [0, 0]
    assert points["latency_p99_s"].isna().all()
    assert points["source"].isna().all()


def with_percentiles(**columns: list[float]) -> Sweep:
    usual = {"series": "c", "load": [1.0, 2.0], "throughput_per_s": [1e3, 2e3], "latency_s": 1e-3}
    return Sweep(pd.DataFrame({**usual, **{f"latency_{name}_s": values for name, values in columns.items()}}))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"p50": [1e-3, 1e-3], "p99": [9e-4, 2e-3]}, "p99 = 900 µs is below p50 = 1.00 ms at load 1"),
        ({"p50": [1e-3] * 2, "p95": [np.nan] * 2, "p999": [2e-3, 1e-6]}, "p99.9 = 1.00 µs is below p50 = 1.00 ms"),
        ({"p95": [3e-3] * 2, "p99": [4e-3] * 2, "p999": [3.5e-3, 5e-3]}, "p99.9 = 3.50 ms is below p99 = 4.00 ms"),
        ({"p50": [1e-3] * 2, "p95": [1e-3, 0.998e-3]}, "p95 = 998 µs is below p50 = 1.00 ms at load 2"),
    ],
)
def test_percentiles_out_of_order_are_refused_by_name(columns: dict[str, list[float]], words: str) -> None:
    with pytest.raises(DataError, match=words):
        with_percentiles(**columns)


def test_percentiles_in_order_to_a_thousandth_or_absent_are_accepted() -> None:
    sweep = with_percentiles(p50=[1e-3, np.nan], p95=[0.9995e-3, np.nan], p99=[1e-3, 2e-3])
    assert sweep.points["latency_p99_s"].tolist() == [1e-3, 2e-3]


def test_a_date_that_is_none_is_refused() -> None:
    row = {"series": "a", "load": 1.0, "throughput_per_s": 10.0, "latency_s": 0.1, "started_at": "yesterday"}
    with pytest.raises(DataError, match="invalid started_at 'yesterday': expected a date"):
        Sweep(pd.DataFrame([row]))
    assert len(Sweep(pd.DataFrame([{**row, "started_at": when} for when in (None, "", "2026-01-02T03:04:05Z")]))) == 3
