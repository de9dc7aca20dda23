"""Distributions of times out of the order of arrival, against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from class_networks import Flow as Coming
from class_networks import queue_of

from qsim import Erlang, Exponential, Gamma, Open, solve, wait_variance

ONE = Exponential(1.0)


def test_processor_sharing_has_the_variance_of_coffman_muntz_and_trotter() -> None:
    r = solve(Open(Exponential(1.25), ONE, discipline="PS"))
    assert r.variance() == pytest.approx((2 + 0.8) / ((2 - 0.8) * 0.2**2), rel=1e-8)
    with pytest.raises(ValueError, match="law of Wq is not known"):
        r.quantile(0.5, "Wq")
    assert solve(Open(Exponential(1.25), Erlang(2, 1.0), discipline="PS")).times is None


@pytest.mark.parametrize("capacity", [None, 9])
@pytest.mark.parametrize("discipline", ["PS", "SIRO"])
def test_the_mean_of_the_law_is_the_mean(discipline: str, capacity: int | None) -> None:
    r = solve(Open(Exponential(1 / 1.6), ONE, 2, capacity, discipline))  # type: ignore[arg-type]
    t = np.linspace(0.0, 250.0, 10_001)
    assert np.trapezoid(r.survival(t), t) == pytest.approx(r.W, rel=1e-3)


def test_random_order_has_the_variance_of_kingman() -> None:
    r = solve(Open(Exponential(1.25), ONE, discipline="SIRO"))
    assert r.variance("Wq") == pytest.approx(wait_variance(0.8, ONE, "SIRO"), rel=1e-8)


def test_the_laws_of_classes_in_order_of_arrival_have_their_means() -> None:
    classes = [Coming(Exponential(4.0), law, i) for i, law in enumerate((ONE, Erlang(2, 1.5), Gamma(0.8, 3.0)))]
    whole = solve(queue_of(classes))
    for part in whole.classes:
        t = np.linspace(0.0, 20.0, 401) ** 2 / 2
        for of, mean in (("W", part.W), ("Wq", part.Wq)):
            assert np.trapezoid(part.survival(t, of), t) == pytest.approx(mean, rel=2e-3)
            second = 2 * np.trapezoid(t * part.survival(t, of), t)
            assert part.variance(of) == pytest.approx(second - mean**2, rel=1e-2)
    share = sum(c.throughput / whole.throughput * c.survival(3.0) for c in whole.classes)
    assert whole.survival(3.0) == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize("priority", ["non-preemptive", "preemptive-resume"])
def test_the_laws_of_priority_classes_are_left_to_simulation(priority: str) -> None:
    classes = [Coming(Exponential(4.0), ONE, i) for i in range(2)]
    with pytest.raises(ValueError, match="simulate"):
        solve(queue_of(classes, priority=priority)).classes[0].quantile(0.9)  # type: ignore[arg-type]
