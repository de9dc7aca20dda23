"""``load_dataset(name)``: what is proven wrong is put right, the rest is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from measure.auditing.all_checks import audit, corrected
from measure.datasets import dataset_names, load_dataset
from measure.sweep import Sweep


def _ratio(sweep: Sweep) -> np.ndarray:
    p = sweep.points
    return (p["throughput_per_s"] * p["latency_s"] / p["load"]).to_numpy()


def test_milliseconds_that_are_microseconds_are_divided() -> None:
    before, after = load_dataset("003-ssd-read", as_published=True), load_dataset("003-ssd-read")
    assert after.points["latency_s"].to_numpy() == pytest.approx(before.points["latency_s"].to_numpy() / 1000)
    assert {f.series for f in after.findings if f.check == "corrected"} == set(before.series)
    assert not [f for f in audit(after) if f.severity == "error"]


def test_half_a_latency_becomes_n_over_x_but_depth_one_stays() -> None:
    before, after = load_dataset("004-ssd-depth", as_published=True), load_dataset("004-ssd-depth")
    assert after.points["latency_s"].iloc[0] == before.points["latency_s"].iloc[0]
    assert _ratio(after)[1:] == pytest.approx(1)
    assert after.points["throughput_per_s"].equals(before.points["throughput_per_s"])


def test_one_direction_becomes_n_over_x_and_says_what_that_is() -> None:
    after = load_dataset("001-ssd")
    assert _ratio(after.select("4 KiB Read and Write")) == pytest.approx(1)
    (note,) = [f for f in after.findings if f.series == "4 KiB Read and Write"]
    assert "a read and a write together" in note.message


def test_truthful_curves_are_left_alone() -> None:
    before, after = load_dataset("001-ssd", as_published=True), load_dataset("001-ssd")
    for series in ("4 KiB read", "32 KiB read"):
        assert after.select(series).points.equals(before.select(series).points)
    for name in ("001-memory", "004-ssd-block-size", "004-ssd-mix"):
        assert corrected(load_dataset(name, as_published=True)).points.equals(
            load_dataset(name, as_published=True).points
        )


def test_a_files_size_becomes_the_block_it_was_not() -> None:
    after = load_dataset("000-ssd")
    assert after.points["block_bytes"].eq(4096).all()
    at_one = after.points[(after.points["load"] == 1) & (after.points["read_fraction"] > 0)]
    ratio = at_one["throughput_per_s"] * at_one["latency_s"]
    assert ratio.to_numpy() == pytest.approx(1, abs=0.05)
    assert "4 KiB read in a file of 16 KiB" in after.series
    said = " ".join(str(f) for f in audit(after))
    assert "holds only 4 blocks" in said  # the audit of the corrected sweep still knows the file


@pytest.mark.parametrize("name", dataset_names(curves_only=True))
def test_correcting_twice_changes_nothing_more(name: str) -> None:
    once = load_dataset(name)
    assert corrected(once).points.equals(once.points)
