"""Closed machines at many populations at once: each as it is alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qsim import Closed, Delay, Exponential, Station, solve
from qsim.analytic.networks import normalizing
from qsim.analytic.repairman import one_queue_throughputs, own_queues_throughputs

Made = Callable[..., Any]


@pytest.mark.parametrize(
    ("throughputs", "queues"), [(one_queue_throughputs, "shared"), (own_queues_throughputs, "random")]
)
def test_many_numbers_of_servers_at_once_are_each_by_itself(throughputs: Made, queues: Any) -> None:
    wanted, think, servers = np.array([1, 3, 40, 3]), np.array([0.0, 0.5, 30.0]), np.array([1, 4, 100])
    together = throughputs(wanted, think, 2.0, servers)
    for row, z, c in zip(together, think.tolist(), servers.tolist(), strict=True):
        circle = [Delay(z), Station(Exponential(2.0), c, queues=queues)]
        assert row == pytest.approx([solve(Closed(n, circle)).throughput for n in wanted.tolist()], rel=1e-11)
        assert throughputs(wanted, np.array([z]), 2.0, np.array([c]))[0] == pytest.approx(row, rel=1e-12)


@pytest.mark.parametrize("think", [0.0, 1e-9, 1.0, 1e9])
@pytest.mark.parametrize("population", [1, 2, 10, 500])
def test_single_servers_have_the_same_numbers_by_terms_and_by_logarithms(
    monkeypatch: pytest.MonkeyPatch, think: float, population: int
) -> None:
    stations = [Station(Exponential(s)) for s in (1.0, 1.0, 1e-6, 3e5, 0.2)]
    for some in (stations[:3], [*stations[:2], stations[4]], stations):
        model = Closed(population, [Delay(think), *some])
        by_terms = solve(model)
        with monkeypatch.context() as patch:
            patch.setattr(normalizing, "FEW", 0)
            by_logarithms = solve(model)
        assert by_terms.throughput == pytest.approx(by_logarithms.throughput, rel=1e-12)
        for one, other in zip(by_terms.stations or [by_terms], by_logarithms.stations or [by_logarithms], strict=True):
            assert (one.W, one.p_wait) == pytest.approx((other.W, other.p_wait), rel=1e-11)
            counts = range(0, population + 1, max(1, population // 20))
            expected = [other.p(n) for n in counts]
            assert [one.p(n) for n in counts] == pytest.approx(expected, rel=1e-10, abs=1e-300)
