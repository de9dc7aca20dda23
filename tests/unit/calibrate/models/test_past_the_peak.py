"""Throughput that falls again: fitted where a point shows it, and else said to be beyond the bands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare, fit, predict
from calibrate.models.curves import Declining, OnsetPNorm, ScalabilityLaw, shows_decline
from measure import Clients, Sweep, load_dataset

DEPTHS = np.array([1.0, 4, 8, 32, 64, 256, 512, 1024])
VALUES = np.array([[6.0, 25e3, 2.6, 1.0, 1500.0]])


def falling(depths: np.ndarray = DEPTHS) -> Sweep:
    throughput, response = Declining().curve(VALUES, depths)
    return Sweep(points_at(depths, throughput[0], response[0]))


def test_a_far_decline_is_none_and_past_the_peak_throughput_falls_along_its_asymptote() -> None:
    smooth, _ = OnsetPNorm().curve(VALUES[:, :4], DEPTHS)
    far, _ = Declining().curve(np.append(VALUES[:, :4], [[1e9]], axis=1), DEPTHS)
    assert far == pytest.approx(smooth, rel=1e-9)
    falling_off, _ = Declining().curve(VALUES, np.array([1e5, 2e5]))
    assert falling_off[0] == pytest.approx(25e3 * 1500 / np.array([1e5, 2e5]), rel=1e-3)
    at_the_corner, _ = Declining().curve(np.append(VALUES[:, :4], [[512.0]], axis=1), DEPTHS)
    assert (at_the_corner / smooth)[0, DEPTHS == 512] == pytest.approx(2 ** (-1 / 2.6), rel=1e-3)


def test_rounding_at_a_flat_peak_does_not_decide_whether_throughput_declines() -> None:
    loads = np.array([1.0, 8, 16, 32])
    both = [np.array([1.0, 5.0, 5.0 + error, 4.0]) for error in (0.0, 1e-14)]
    assert [shows_decline(loads, x) for x in both] == [True, True]


def test_with_a_sharpness_of_one_it_is_the_universal_scalability_law() -> None:
    crossing, limit, falls = 6.0, 25e3, 400.0
    ours, _ = Declining().curve(np.array([[crossing, limit, 1.0, 1.0, falls]]), DEPTHS)
    told = Declining().report(np.array([[crossing, limit, 1.0, 1.0, falls]]))
    a, b = told["contention"][1][0], told["coherency"][1][0]
    assert (a, b) == pytest.approx((1 / crossing, 1 / (crossing * falls)))
    law = limit / crossing * DEPTHS / (1 + a * DEPTHS + b * DEPTHS**2)  # the law's own terms, N for N - 1
    assert ours[0] == pytest.approx(law, rel=1e-9)
    assert Declining().peak(np.array([[crossing, limit, 1.0, 1.0, falls]]))[0] == pytest.approx(
        Declining().throughput(np.array([[crossing, limit, 1.0, 1.0, falls]]), np.array([np.sqrt(crossing * falls)]))[
            0, 0
        ]
    )


def test_the_scalability_law_is_the_formula_and_its_knee_lies_before_its_peak() -> None:
    g, a, b = 5000.0, 0.02, 1e-4
    throughput, _ = ScalabilityLaw().curve(np.array([[g, a, b]]), DEPTHS)
    assert throughput[0] == pytest.approx(g * DEPTHS / (1 + a * (DEPTHS - 1) + b * DEPTHS * (DEPTHS - 1)))
    knee = ScalabilityLaw().knee(np.array([[g, a, b]]))
    best = throughput[0].max()
    assert 1 < knee.load[0] < np.sqrt((1 - a) / b)
    assert knee.load[0] == pytest.approx(best / g, rel=0.05)


@pytest.mark.parametrize(
    ("loads", "rates", "shown"),
    [
        ([1, 64, 1024], [5, 25, 17], True),
        ([1, 64, 1024], [5, 25, 24.5], False),
        ([1, 2, 32], [9, 8, 8], True),
        ([1, 16, 32], [5, 9, 8], False),
    ],
)
def test_a_decline_is_shown_by_a_deep_point_that_is_lower(loads: list[int], rates: list[float], shown: bool) -> None:
    assert shows_decline(np.array(loads, dtype=float), np.array(rates)) is shown


def test_a_decline_is_fitted_to_a_service_of_which_two_points_show_it() -> None:
    clients = replace(falling(np.array([1.0, 8, 64, 1024, 2048])), load_type=Clients())
    assert fit(clients).model == "p-norm with onset and decline"
    assert fit(clients, [1, 8, 64, 1024]).model == "p-norm with onset"


def test_a_drive_does_not_decline_by_itself_and_its_curve_follows_the_points_past_the_peak() -> None:
    drive = fit(falling(), [1, 8, 64, 512, 1024])
    assert drive.model == "p-norm with onset"
    expected = falling().points["throughput_per_s"].iloc[-1]
    assert predict(drive, [1024]).throughput_per_s[0] == pytest.approx(expected, rel=0.05)


def test_the_decline_of_a_drive_is_fitted_where_its_model_is_named() -> None:
    made = fit(falling(), [1, 8, 64, 1024], model="p-norm with onset and decline")
    coherency = made.parameters["coherency"]
    assert coherency.low is not None
    assert coherency.high is not None
    assert coherency.low < 1 / (6 * 1500) < coherency.high
    assert predict(made, [1024]).notes == ()
    assert fit(falling(), [1, 8, 64]).model == "p-norm with onset"


def test_without_such_a_point_the_bands_say_where_they_end() -> None:
    curve = predict(fit(falling(), [1, 8, 64]), [8, 1024])
    assert "not covered beyond N = 511" in curve.notes[0]
    assert "not covered" in str(curve)
    assert predict(fit(falling(), [1, 8, 64]), [8, 256]).notes == ()


def test_a_published_decline_is_followed_from_one_point_past_the_peak() -> None:
    model = "p-norm with onset and decline"
    comparison = compare(load_dataset("001-ssd"), [1, 8, 64, 1024], series="4 KiB read", model=model)
    assert comparison.points.load[comparison.held_out].tolist() == [256, 512]
    assert np.abs(comparison.residual_throughput_pct[comparison.held_out]).max() < 10
    names = {m.name for m in comparison.models}
    assert {"p-norm with onset and decline", "p-norm with onset", "Universal Scalability Law"} <= names
