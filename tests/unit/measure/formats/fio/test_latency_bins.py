"""fio's bins: every latency lies in its own bin, histograms keep counts and moments, logs are known by their bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import GOLDEN

from measure import load
from measure.errors import DataError
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.latency_bins import bin_edges, bin_of, coarse_edges, counted
from measure.sweep import histograms

DATA = GOLDEN


@given(st.lists(st.integers(0, 2**50), min_size=1, max_size=50))
def test_a_latency_lies_in_its_bin_and_bins_are_narrow(values: list[int]) -> None:
    lower, upper = bin_edges(bin_of(values))
    latencies = np.array(values, dtype=float)
    assert ((lower <= latencies) & (latencies < upper)).all()
    assert (upper - lower <= np.maximum(1.0, lower / 64)).all()


def test_bins_touch_and_are_numbered_in_order() -> None:
    lower, upper = bin_edges(np.arange(1856))
    assert (lower[1:] == upper[:-1]).all()
    assert (bin_of(lower) == np.arange(1856)).all()


@pytest.mark.parametrize(("bins", "unit_s"), [(1216, 1e-6), (152, 1e-6), (19, 1e-6), (1856, 1e-9), (232, 1e-9)])
def test_the_number_of_bins_tells_version_and_coarseness(bins: int, unit_s: float) -> None:
    lower, upper, unit = coarse_edges(bins)
    assert (len(lower), unit) == (bins, unit_s)
    assert (lower[1:] == upper[:-1]).all()


@pytest.mark.parametrize("bins", [0, 1, 100, 1217, 4000])
def test_other_numbers_of_bins_are_refused(bins: int) -> None:
    with pytest.raises(DataError, match=f"invalid histogram log with {bins} bins"):
        coarse_edges(bins)


def test_a_json_plus_record_gives_edges_counts_and_moments() -> None:
    (record,) = parse_fio((DATA / "fio" / "json-plus.json").read_text("utf-8"), "j")
    found = record.latency.histogram
    assert found is not None
    assert found.kind == "lat"
    assert found.total == record.requests
    assert found.mean_s == pytest.approx(record.latency.mean_s, rel=0.01)
    assert found.sd_s == pytest.approx(record.latency.sd_s, rel=0.02)
    assert found.quantile(0.99) == pytest.approx(record.latency.percentile_s(99.0), rel=0.02)
    assert (found.upper_s > found.lower_s).all()
    assert (np.diff(found.lower_s) > 0).all()


def test_the_histograms_of_a_sweep_are_found_by_curve_load_and_repeat() -> None:
    sweep = load([DATA / "fio" / n for n in ("json-plus.json", "mixed.json", "sweep-depth-1.json")])
    found = histograms(sweep)
    assert sorted(series for series, _, _ in found) == sorted(
        sweep.points[sweep.points["source"].isin(["json-plus.json", "mixed.json"])]["series"]
    )
    for (series, at, repeat), each in found.items():
        points = sweep.points
        row = points[(points["series"] == series) & (points["load"] == at) & (points["repeat"] == repeat)].iloc[0]
        assert each.mean_s == pytest.approx(row["latency_s"], rel=0.02)


def test_a_fraction_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="fraction 99 must lie between 0 and 1"):
        counted({1000: 3}, 1e-9).quantile(99)
