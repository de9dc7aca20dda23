"""The closed curves of structures with general service against simulation: calibrate.models.structure."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.models.structure import Queues, busy_servers
from qsim import Closed, Delay, Deterministic, Distribution, Exponential, Gamma, HyperExponential, Station, simulate

LAWS: tuple[Distribution, ...] = (
    Deterministic(1.0),
    Gamma(1.0, 0.03),
    Gamma(1.0, 0.3),
    Exponential(1.0),
    HyperExponential.from_moments(1.0, 4.0),
)


@pytest.mark.parametrize(("queues", "median", "most"), [("shared", 0.01, 0.06), ("random", 0.02, 0.1)])
def test_throughput_is_that_of_simulation(queues: Queues, median: float, most: float) -> None:
    misses = []
    for law in LAWS:
        for servers in (2, 4, 16):
            for ratio in (0.05, 1.0):
                crossing = servers * (1 + ratio)
                stops = [Delay(Deterministic(ratio)), Station(law, servers=servers, queues=queues)]
                for depth in {max(2, round(crossing * share)) for share in (0.5, 1.0, 2.0)}:
                    run = simulate(Closed(depth, stops), customers=40_000, seed=1, engine="compiled", allow_short=True)
                    busy = busy_servers(
                        queues, servers, np.array([law.scv]), np.array([crossing]), np.array([float(depth)])
                    )
                    misses.append(abs(np.log(busy[0, 0] / float(run.throughput))))
    assert np.median(misses) < median
    assert max(misses) < most
