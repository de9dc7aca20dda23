"""What is put right in a sweep, and what is left as it was printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrate.report.measured.measured_data import measured
from calibrate.report.measured.shown_columns import columns_of, text_of
from measure import load
from measure.auditing.all_checks import audit, corrected
from measure.loads import ArrivalRate, Depth, Load
from measure.origin import MEASURED, Provenance
from measure.sweep import Sweep

DEPTH = Depth()
DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])
THROUGHPUT = DEPTHS / (80e-6 * (1 + DEPTHS / 16))
TRUE = DEPTHS / THROUGHPUT


def printed(latency_s: np.ndarray, load: np.ndarray = DEPTHS, load_type: Load = DEPTH) -> Sweep:
    points = pd.DataFrame({"series": "c", "load": load, "throughput_per_s": THROUGHPUT, "latency_s": latency_s})
    return Sweep(points, load_type)


def test_a_truthful_sweep_is_returned_as_it_is() -> None:
    sweep = printed(TRUE)
    assert corrected(sweep) is sweep


def test_of_jobs_that_were_not_counted_the_load_is_multiplied() -> None:
    found = corrected(printed(TRUE, load=DEPTHS / 4))
    assert found.points["load"].tolist() == DEPTHS.tolist()
    assert found.points["latency_s"].tolist() == TRUE.tolist()
    (note,) = (f for f in found.findings if f.check == "corrected")
    assert note.message == "the load was multiplied by 4 jobs."
    assert found.provenance.details["corrected"] == [note.message]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda r: 1000 * r, "the latency was divided by 1000"),
        (lambda r: 0.6 * r, "N / X stands beside the latency at depths 1, 2, 4, 8, 16, 32, 64, which contradicts it"),
        (lambda r: np.where(DEPTHS == 8, 3 * r, r), "N / X stands beside the latency at depth 8, which contradicts it"),
        (
            lambda r: np.where(DEPTHS == 8, 3 * r, 0.97 * r),
            "N / X stands beside the latency at depth 8, which contradicts it",
        ),
    ],
    ids=["unit", "share", "one point", "one point among small gaps"],
)
def test_a_latency_is_put_right_where_it_is_worth_it(wrong: Callable[[np.ndarray], np.ndarray], says: str) -> None:
    found = corrected(printed(wrong(TRUE)))
    assert [f.message for f in found.findings if f.check in ("computed", "corrected")] == [f"{says}."]
    changed = found.points["latency_s"].to_numpy() != wrong(TRUE)
    assert found.points["latency_s"].to_numpy()[changed] == pytest.approx(TRUE[changed])
    assert not [f for f in audit(found) if f.severity == "error"]


def test_of_the_size_of_a_file_and_of_one_direction_the_block_and_the_whole_latency_come_back() -> None:
    at_one = pd.DataFrame({"series": ["a", "b"], "load": 1.0, "throughput_per_s": 1.0, "latency_s": [0.125, 0.0625]})
    files = at_one.assign(block_bytes=[65536.0, 131072.0], read_fraction=1.0)
    found = corrected(Sweep(files, provenance=Provenance(details={"throughput_from": "bandwidth / block"}))).points
    assert (found["throughput_per_s"].tolist(), found["block_bytes"].tolist()) == ([8.0, 16.0], [8192.0, 8192.0])
    assert found["series"].tolist() == ["8 KiB read in a file of 64 KiB", "8 KiB read in a file of 128 KiB"]
    mix = at_one.assign(series="mix", load=[1.0, 2.0], latency_s=[0.4, 0.8], read_fraction=0.5)
    assert corrected(Sweep(mix)).points["latency_s"].tolist() == [1.0, 2.0]


def test_a_sweep_over_arrival_rates_is_left_alone() -> None:
    sweep = printed(1000 * TRUE, load_type=ArrivalRate())
    assert corrected(sweep) is sweep


def test_percentiles_of_the_same_unit_are_corrected_with_the_mean_and_marked(tmp_path: Path) -> None:
    """The mean and the p99 are microseconds under a heading of ms; the p95 has its own unit, which is right."""
    path = tmp_path / "t.csv"
    path.write_text(
        "iodepth,iops,avg latency (ms),p99 (ms),p95 (us)\n"
        "1,100,10000,20000,15000\n8,350,22857,40000,30000\n16,400,40000,,60000\n"
    )
    points = corrected(load(path)).points
    assert points["latency_s"].tolist() == pytest.approx([10e-3, 22.857e-3, 40e-3])
    assert points["latency_p99_s"].tolist() == pytest.approx([20e-3, 40e-3, math.nan], nan_ok=True)
    assert points["latency_p99_published_s"].tolist() == pytest.approx([20, 40, math.nan], nan_ok=True)
    assert points["latency_p99_origin"].tolist() == [points["latency_origin"][0]] * 2 + [MEASURED]
    assert points["latency_p95_s"].tolist() == pytest.approx([15e-3, 30e-3, 60e-3])
    assert "latency_p95_origin" not in points
    shown = measured(corrected(load(path)))
    assert "20.0 ms ← 20.0 s" in text_of(shown, shown.table[columns_of(shown, "load")]).text()
