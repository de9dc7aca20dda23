"""What speaks against a prediction under another kind of load, in predictions, comparisons and applications alike."""

import numpy as np
import pytest
from made_up import open_sweep, points_at

from calibrate import compare, fit, system
from measure import DataError, Sweep
from measure.loads import ArrivalRate, Clients, Depth
from qsim import MMc, solve

DEPTHS = np.array([1, 2, 4, 8])
BATCHES = "as where they are handled in batches"


def four_servers(**more: object) -> Sweep:
    return Sweep(points_at(DEPTHS, np.minimum(DEPTHS, 4) / 0.01, **more))


def batched() -> Sweep:
    """A lone request is served in 5 ms, and others wait for a batch."""
    depths = np.array([1, 2, 4, 8, 16, 32, 64])
    return Sweep(points_at(depths, [200, 230, 400, 800, 1600, 2400, 2400]))


def falling() -> Sweep:
    depths = np.array([1, 2, 4, 8, 16, 32, 64])
    return Sweep(points_at(depths, [100, 198, 390, 500, 420, 350, 300]))


def test_a_rate_at_which_more_are_present_than_were_measured_is_named_with_the_rate_that_is_not() -> None:
    made = fit(four_servers())
    assert made.predict(ArrivalRate([100.0])).doubts == ()
    (doubt,) = made.predict(ArrivalRate([340.0])).doubts
    assert doubt.endswith("more than 8 requests, the deepest load measured, are present over 1 % of the time")
    assert f"warning: {doubt}" in str(made.predict(ArrivalRate([340.0])))
    (said,) = system({"disk": made.station()}, rates=[340.0]).doubts
    assert said.startswith("disk: above 2")
    measured = open_sweep([100.0, 340.0], [solve(MMc(rate, 100, 4)).W for rate in (100, 340)])
    found = compare(measured, fitted=made)
    assert [f.message for f in found.audit if f.check == "other-load"] == [f"{doubt}."]


def test_a_lone_request_that_is_surely_faster_speaks_of_batches() -> None:
    made = fit(batched())
    for load in (ArrivalRate([100.0]), Clients([20], think=1.0)):
        assert any(BATCHES in doubt for doubt in made.predict(load).doubts)
    for found in (system({"disk": made.station()}, [1, 4]), system({"disk": made.station()}, rates=[100.0])):
        assert any(BATCHES in doubt for doubt in found.doubts)
        assert "WARNING" in repr(found)
    assert not any(BATCHES in doubt for doubt in fit(four_servers()).predict(ArrivalRate([100.0])).doubts)


def test_above_a_falling_curve_both_states_are_said_to_whoever_asks() -> None:
    made = fit(falling())
    both = "it is metastable: "
    with pytest.raises(DataError, match=both):
        made.predict(ArrivalRate([400.0]))
    with pytest.raises(ValueError, match=both):
        system({"disk": made.station()}, rates=[400.0])
    found = compare(open_sweep([50.0, 400.0], [0.01, 0.02]), fitted=made)
    assert any(both in f.message for f in found.audit if f.check == "other-load")


def test_another_number_of_jobs_is_another_load_on_the_host() -> None:
    opened = open_sweep([100.0, 200.0], [0.01, 0.011], jobs=64.0)
    said = [f.message for f in compare(opened, fitted=fit(four_servers(jobs=1.0))).audit if f.check == "other-load"]
    assert said == ["64 jobs sent these requests, and the points of the fit 1."]
    same = Sweep(points_at(4 * DEPTHS, np.minimum(4 * DEPTHS, 4) / 0.01, jobs=64.0), load_type=Depth(jobs=64))
    assert not [f for f in compare(opened, fitted=fit(same)).audit if "jobs sent" in f.message]
