"""The ladder of models: what ranks it, and that its rungs say what the comparison says."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare
from measure import load_dataset
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])


def sweep_of(throughput: np.ndarray) -> Sweep:
    return Sweep(points_at(DEPTHS, throughput), name="device")


@pytest.mark.parametrize(
    ("dataset", "series", "use", "model"),
    [
        ("004-ssd-depth", None, (1, 32), None),
        ("004-ssd-depth", None, (1, 4, 32), "servers and delay"),
        ("001-memory", "256 B read", None, None),
    ],
)
def test_the_rung_of_the_model_that_was_fitted_says_what_the_summary_says(dataset, series, use, model):
    made = compare(load_dataset(dataset), use, series=series, model=model)
    rung = next(m for m in made.models if m.name == made.fit.model)
    for name in ("held_out_mape_throughput_pct", "held_out_mape_response_pct", "in_sample_mape_throughput_pct"):
        said = getattr(made.summary(), name)
        assert getattr(rung, name) == (None if said is None else pytest.approx(said, rel=1e-9)), name


def test_without_held_out_points_the_error_in_sample_ranks():
    sharp = np.minimum(DEPTHS, 8.0) / 1e-3
    made = compare(sweep_of(sharp), list(DEPTHS))
    assert all(m.held_out_mape_throughput_pct is None for m in made.models)
    errors = [m.in_sample_mape_throughput_pct for m in made.models]
    assert errors == sorted(errors)
    rank = {m.name: m.rank for m in made.models}
    assert rank["asymptotic bounds"] < rank["Universal Scalability Law"]
