"""Profile likelihoods: what the points bound is bounded, what they do not is open, and what would help is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.fitting.curve_fit import fit, from_datasheet
from calibrate.prediction.comparison import compare
from calibrate.prediction.profiles import profile_parameters
from measure.errors import DataError
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])


@pytest.fixture(scope="module")
def sweep():
    x = ((DEPTHS / 1e-4) ** -3 + 1e5**-3) ** (-1 / 3)
    table = {"series": "reads", "load": DEPTHS, "throughput_per_s": x, "latency_s": DEPTHS / x}
    return Sweep(points=pd.DataFrame(table), name="device")


def by_name(sweep, use):
    return {p.name: p for p in profile_parameters(fit(sweep, use, model="p-norm"))}


def test_many_points_bound_every_parameter(sweep):
    found = by_name(sweep, list(DEPTHS))
    for name, truth in {"R1": 1e-4, "Xmax": 1e5, "N*": 10.0}.items():
        assert found[name].low < truth < found[name].high
        assert found[name].identified
    for profile in found.values():
        assert min(profile.rise) == 0
        assert len(profile.values) == len(profile.rise)


def test_two_points_leave_the_sharpness_open_whatever_its_prior(sweep):
    found = by_name(sweep, [1, 64])
    assert found["p"].high is None
    assert not found["p"].identified
    assert "measure depth" in found["p"].pins
    assert found["R1"].identified


def test_points_it_was_not_fitted_to_have_no_profile(sweep):
    with pytest.raises(DataError, match="no profile"):
        profile_parameters(from_datasheet(80e-6, 6e5))


def test_misses_that_go_together_are_one_piece_of_evidence(sweep):
    made = fit(sweep, [1, 4, 32])
    found = {p.name: p for p in profile_parameters(made)}
    assert set(found) == set(made.curve_model.report(made.table.values[:1]))
    assert found["Xmax"].low < 1e5
    assert not found["p"].identified
    for profile in found.values():
        assert all(0 <= rise <= 1e3 for rise in profile.rise)


def test_no_value_explains_the_points_better_than_the_best_and_neighbours_never_jump(sweep):
    profiles = profile_parameters(fit(sweep, [1, 4, 32]))
    assert profiles
    for profile in profiles:
        rise = np.array(profile.rise)
        low, high = int(rise.argmin()), int(rise.argmin())
        assert (np.diff(rise[high:]) >= -1e-3).all(), profile.name  # away from the best it only gets worse
        assert (np.diff(rise[: low + 1]) <= 1e-3).all(), profile.name


def test_json_has_the_ratio_of_likelihoods(sweep):
    made = compare(sweep, [1, 64])
    assert made.fit.points is not None
    found = profile_parameters(made.fit)[0].to_dict()
    assert found["log_likelihood_ratio"] == pytest.approx([-r / 2 for r in found["rise"]])
    assert max(found["log_likelihood_ratio"]) == 0
    assert found["level"] == made.fit.level
