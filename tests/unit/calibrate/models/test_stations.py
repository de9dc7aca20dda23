"""Servers and a delay as a curve: exact for exponential service, and copies that share the load."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.models.curves import Copies, OnsetPNorm, PNorm
from calibrate.models.structure import ServersAndDelay
from qsim import Closed, Delay, Exponential, Station, solve

LOADS = np.array([1.0, 2, 5, 8, 20, 64])


@pytest.mark.parametrize("queues", ["shared", "random"])
@pytest.mark.parametrize("servers", [2, 4, 32])
def test_with_exponential_service_it_is_the_exact_queue(servers: int, queues: str) -> None:
    service, delay = 3e-3, 2e-3
    values = np.array([[servers, service, delay / service, float(queues == "random"), 1.0]])
    stations = [Delay(delay), Station(Exponential(service), servers=servers, queues=queues)]
    exact = [solve(Closed(int(n), stations)).throughput for n in LOADS]
    assert ServersAndDelay().throughput(values, LOADS)[0] == pytest.approx(exact, rel=1e-6)
    assert ServersAndDelay().peak(values)[0] == pytest.approx(servers / service)
    assert ServersAndDelay().lone(values)[0] == pytest.approx(service + delay)


@pytest.mark.parametrize("base", [PNorm(), OnsetPNorm(), ServersAndDelay()])
@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_copies_share_the_load(base: PNorm, factor: float) -> None:
    values = np.array([[12.0, 3000.0, 2.6, 1.4]])
    if isinstance(base, ServersAndDelay):
        values = np.array([[4.0, 3e-3, 1 / 3, 0.0, 0.5]])
    copies = Copies(base, factor)
    loads = np.array([4.0, 10.0, 64.0])
    expected = factor * base.throughput(values, loads / factor)
    assert copies.throughput(values, loads) == pytest.approx(expected)
    assert copies.peak(values) == pytest.approx(factor * base.peak(values))
    if factor > 1:
        assert copies.throughput(values, np.ones(1)) == pytest.approx(base.throughput(values, np.ones(1)))
    knee = copies.knee(values)
    assert knee.load * 1.0 == pytest.approx(knee.throughput * knee.response)
