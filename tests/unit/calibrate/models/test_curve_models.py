"""The closed device models: asymptotes, limits against each other, and the machine repairman behind one of them."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.models.choice import KINDS, model_named, models_of
from calibrate.models.curves import ClosedModel, OnsetPNorm, PNorm
from qsim import Closed, Exponential, Station, solve

LOADS = np.array([1.0, 2.0, 3.0, 8.0, 64.0, 1024.0])


def test_a_model_goes_by_its_own_name_and_one_over_queue_depths_is_closed() -> None:
    for kind in KINDS:
        for model in models_of(kind):
            assert type(model_named(model.name)) is type(model)
            assert isinstance(model, ClosedModel) == (kind in ("queue_depth", "any"))


def test_p_norm_is_the_formula() -> None:
    crossing, peak, p = 5.0, 25_000.0, 2.6
    throughput, response = PNorm().curve(np.array([[crossing, peak, p]]), LOADS)
    lone = crossing / peak
    expected = ((LOADS / lone) ** -p + peak**-p) ** (-1 / p)
    assert throughput[0] == pytest.approx(expected, rel=1e-12)
    assert response[0] * throughput[0] == pytest.approx(LOADS, rel=1e-12)


def test_p_norm_of_one_is_random_routing_with_one_server_less() -> None:
    """k balanced exponential stations, each request sent to one at random: X = N Xmax / (N + k - 1)."""
    soft, _ = PNorm().curve(np.array([[7.0, 100.0, 1.0]]), LOADS)
    routed = [solve(Closed(int(n), [Station(Exponential(8 / 100), 8, queues="random")])).throughput for n in LOADS]
    assert soft[0] == pytest.approx(routed, rel=1e-9)


def test_without_an_onset_it_is_the_p_norm_and_with_one_a_lone_request_takes_its_own_time() -> None:
    crossing, peak, p = 40.0, 25_000.0, 2.6
    even, _ = OnsetPNorm().curve(np.array([[crossing, peak, p, 1.0]]), LOADS)
    plain, _ = PNorm().curve(np.array([[crossing, peak, p]]), LOADS)
    assert even == pytest.approx(plain, rel=1e-12)
    _, eager = OnsetPNorm().curve(np.array([[crossing, peak, p, 0.5]]), LOADS)
    assert eager[0, 0] == pytest.approx(0.5 * crossing / peak, rel=1e-3)
    late = LOADS >= 8
    assert eager[0, late] == pytest.approx((LOADS / plain[0])[late], rel=0.011)  # 2^(-1/64) at depth 8


def test_the_onset_models_knee_is_the_lone_latency_times_the_peak() -> None:
    values = np.array([[12.0, 3000.0, 2.6, 0.5], [5.0, 100.0, 4.0, 1.8]])
    knee = OnsetPNorm().knee(values)
    assert knee.load == pytest.approx(OnsetPNorm().lone(values) * values[:, 1])
    assert knee.load == pytest.approx([6.0, 9.0], rel=0.01)  # onset times the busy device's crossing
    for i, load in enumerate(knee.load):
        expected = OnsetPNorm().throughput(values[i : i + 1], np.array([load]))[0, 0]
        assert knee.throughput[i] == pytest.approx(expected)
    assert knee.throughput * knee.response == pytest.approx(knee.load)
