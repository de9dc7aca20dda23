"""Latency over bandwidth: the curve is found again, its knee is the tangent, and a sweep of that kind is compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from calibrate import Fit, compare, fit, objective_knee, predict
from calibrate.fitting.fit_answer import fit_answer, knee_word
from calibrate.models.memory_models import AlongBandwidth, MemoryCurve
from calibrate.next import loads_to_calibrate_on, to_calibrate_on
from calibrate.points import points_of
from measure import load_dataset
from measure.errors import DataError
from measure.loads import Bandwidth
from measure.sweep import Sweep

TRUE = np.array([90e-9, 0.35, 0.08, 101e9])
BANDWIDTHS = np.array([0.2, 5, 15, 30, 45, 60, 66, 80, 88, 94, 98, 100]) * 1e9


def published(values: np.ndarray = TRUE) -> Sweep:
    lines, latency = MemoryCurve().curve(values[None, :], BANDWIDTHS)
    points = pd.DataFrame({"series": "read", "load": BANDWIDTHS, "throughput_per_s": lines[0], "latency_s": latency[0]})
    return Sweep(points, Bandwidth())


def test_the_ends_a_point_near_the_middle_and_one_near_the_wall_are_calibrated_on() -> None:
    points = points_of(published())
    assert to_calibrate_on(points) == [0.2e9, 66e9, 100e9]
    assert loads_to_calibrate_on(points) == [0.2e9, 66e9, 88e9, 100e9]
    few = points.at(points.load > 80e9)
    assert loads_to_calibrate_on(few) == to_calibrate_on(few)


@pytest.mark.parametrize("climb", [0.1, 0.35, 0.9])
@pytest.mark.parametrize("wall", [0.02, 0.08, 0.2])
def test_unseen_latencies_are_predicted_from_four(climb: float, wall: float) -> None:
    made = compare(published(np.array([90e-9, climb, wall, 101e9])))
    assert made.summary().held_out_points == 8
    assert made.summary().held_out_mdape_response_pct < 2.5  # type: ignore[operator]
    assert made.summary().held_out_mape_throughput_pct == pytest.approx(0)
    assert made.summary().inside_band_pct == 100


def test_the_knee_maximises_bandwidth_over_latency() -> None:
    model, values = MemoryCurve(), TRUE
    knee = model.knee(values[None, :])

    def negative_power(bandwidth: float) -> float:
        return -bandwidth / float(model.curve(values[None, :], np.array([bandwidth]))[1][0, 0])

    best = minimize_scalar(negative_power, bounds=(1e9, values[-1] * 0.9999), method="bounded", options={"xatol": 1e3})
    assert knee.load[0] == pytest.approx(best.x, rel=1e-3)
    assert knee.throughput[0] == pytest.approx(best.x / 64, rel=1e-3)


def test_near_the_peak_a_tenth_of_what_is_left_is_as_far_as_a_quarter_of_all_bandwidths_below() -> None:
    """The misfits of two bandwidths are alike by x / B - 0.1 ln(1 - x / B), at a B of 1 % above the highest used."""
    process = AlongBandwidth(length=1.0, own=0.0).seen(np.array([20.0, 100.0]))
    alike = process.between(np.array([0.0, 90.9]), np.array([50.5, 99.99]))
    assert -np.log([alike[0, 0], alike[1, 1]]) == pytest.approx([0.5 + 0.1 * np.log(2), 0.09 + 0.1 * np.log(10)])


def test_an_objective_is_sought_up_to_the_highest_bandwidth_measured() -> None:
    made = fit(published(), [0.2e9, 60e9, 100e9])
    assert objective_knee(made, 130e-9).load == pytest.approx(87e9, rel=0.1)
    assert "the heaviest load looked at" in objective_knee(made, 1.0).note


def test_the_band_widens_between_points_and_towards_the_wall() -> None:
    made = fit(published(), [0.2e9, 60e9, 100e9])
    at = predict(made, [60e9, 60.5e9, 80e9, 92e9])
    width = np.log(at.response_time_high_s / at.response_time_low_s)
    assert width[0] < width[2] < width[3] < 1
    assert width[1] < width[2]


def test_bandwidths_beyond_the_highest_are_refused_without_a_known_peak() -> None:
    use = [0.2e9, 60e9, 88e9]
    with pytest.raises(DataError, match=r"98\.0 GB/s is beyond the highest calibrated on, 88\.0 GB/s; calibrate"):
        predict(fit(published(), use), [98e9])
    known = fit(published(), use, peak_per_s=100e9)
    assert predict(known, [98e9]).response_time_s[0] > predict(known, [88e9]).response_time_s[0]
    with pytest.raises(DataError, match=r"110 GB/s is beyond the known peak, 100 GB/s"):
        predict(known, [110e9])
    assert predict(Fit.from_dict(known.to_dict()), [98e9]).load[0] == 98e9


def test_a_known_peak_sharpens_the_curve() -> None:
    inner = BANDWIDTHS[(BANDWIDTHS > 1e9) & (BANDWIDTHS < 88e9)]
    truth = MemoryCurve().curve(TRUE[None, :], inner)[1][0]
    missed = [
        np.abs(
            predict(fit(published(), [0.2e9, 30e9, 88e9], peak_per_s=peak), inner).response_time_s / truth - 1
        ).mean()
        for peak in (None, 100e9)
    ]
    assert missed[1] < missed[0]


def test_a_memory_that_bends_back_is_fitted_against_its_delay() -> None:
    """256 B, two reads a write: 21.4 GB/s at a delay of 15 cycles, and 19.9 GB/s at none, with more latency."""
    memory = load_dataset("001-memory").select("256 B 67/33 mix")
    points = points_of(memory)
    assert points.throughput_per_s[0] < 0.95 * points.throughput_per_s.max()
    drawn = predict(fit(memory, [0, 15, 500, 20000]), [0, 5, 15])
    assert (np.diff(drawn.throughput_per_s) > 0).all()  # less delay, less throughput
    assert (np.diff(drawn.response_time_s) < 0).all()  # and more latency: two latencies at one bandwidth
    close = points.load <= 15
    at = predict(fit(memory, [0, 15, 500, 20000]), points.load[close])
    assert np.abs(at.throughput_per_s / points.throughput_per_s[close] - 1).max() < 0.05


def test_a_buffer_that_fits_a_cache_is_refused_by_whatever_fits_a_memory() -> None:
    cached = load_dataset("000-memory")
    one = cached.series[0]
    words = r"buffer of 4 KiB fits a level-1 cache .* not of the memory .*four times the last-level cache"
    for refused in (lambda: fit(cached, series=one), lambda: compare(cached, series=one)):
        with pytest.raises(DataError, match=words):
            refused()
    faster = published().points.assign(latency_s=lambda t: t["latency_s"] / 20)
    with pytest.raises(DataError, match=r"a cache of the CPU|a level-1 or level-2 cache"):
        points_of(Sweep(faster, Bandwidth()))


def test_a_knee_of_which_the_points_determine_neither_latency_nor_peak_is_assumed() -> None:
    sweep = load_dataset("001-memory").select("64 B write non-temporal")
    for use, word in (([0.0, 2.0, 8.0], "assumed"), ([0.0, 500.0, 20000.0], "sure")):
        assert knee_word(fit(sweep, use)) == word


def test_a_peak_beyond_every_point_is_assumed_and_says_how_far_they_reach() -> None:
    sweep, beyond = load_dataset("001-memory"), []
    for name in sweep.series:
        found = fit(sweep, series=name)
        low = found.parameters["B"].low
        assert low is not None
        beyond.append(low > max(found.used_throughput_per_s))
        assert ("assumed: these points reach" in fit_answer(found)[-1]) == beyond[-1]
    assert 0 < sum(beyond) < len(beyond)
