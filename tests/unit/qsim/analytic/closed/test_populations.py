"""Closed machines at many populations at once: each as it is alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qsim import Closed, Delay, Exponential, Station, closed_curve, solve
from qsim.analytic.closed import populations

Made = Callable[..., Any]


def test_random_routing_over_one_server_is_the_repairman() -> None:
    one, other = populations.own_queues_curve(50, 4.0, 1.0, 1), populations.one_queue_curve(50, 4.0, 1.0, 1)
    np.testing.assert_allclose(one.throughput, other.throughput, rtol=1e-12)
    np.testing.assert_allclose(one.waiting_time[1:], other.waiting_time[1:], rtol=1e-10)


@pytest.mark.parametrize(
    ("curve", "throughputs"),
    [
        (populations.one_queue_curve, populations.one_queue_throughputs),
        (populations.own_queues_curve, populations.own_queues_throughputs),
    ],
)
def test_many_numbers_of_servers_at_once_are_each_by_itself(curve: Made, throughputs: Made) -> None:
    wanted, think, servers = [1, 3, 40, 3], np.array([0.0, 0.5, 30.0]), [1, 4, 100]
    together = throughputs(wanted, think, 2.0, servers)
    for row, z, c in zip(together, think, servers, strict=True):
        assert row == pytest.approx(curve(wanted, z, 2.0, c).throughput, rel=1e-12)
        assert throughputs(wanted, np.array([z]), 2.0, c)[0] == pytest.approx(row, rel=1e-12)


@pytest.mark.parametrize("curve", [populations.one_queue_curve, populations.own_queues_curve])
def test_curves_give_the_populations_asked_for(curve: Made) -> None:
    whole, some = curve(64, 2.0, 1.0, 4), curve([64, 1, 8], 2.0, 1.0, 4)
    assert some.population.tolist() == [64, 1, 8]
    assert some.throughput.tolist() == [whole.throughput[i - 1] for i in (64, 1, 8)]
    for bad in ([], [0], [1.5], 0):
        with pytest.raises(ValueError, match="populations"):
            curve(bad, 2.0, 1.0, 4)


@pytest.mark.parametrize("queues", ["shared", "random"])
def test_the_curve_of_one_station_follows_its_queues(queues: Any) -> None:
    station = Station(Exponential(1.0), servers=3, queues=queues)
    curve = closed_curve(Closed(1, [Delay(2.0), station]), [2, 9])
    known = [solve(Closed(n, [Delay(2.0), station])) for n in (2, 9)]
    assert curve.throughput == pytest.approx([k.throughput for k in known])
    assert curve.waiting_time == pytest.approx([k.Wq for k in known])
