"""Distributions of times out of the order of arrival, against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from class_networks import Flow as Coming
from class_networks import queue_of

from qsim import Erlang, Exponential, Gamma, solve

ONE = Exponential(1.0)


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
