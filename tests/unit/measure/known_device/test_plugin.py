"""The queue inside the known device, against a queue that is played event by event."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from measure.known_device.plugin import Server


def played(arrivals: np.ndarray, times: np.ndarray, servers: int) -> np.ndarray:
    """Departures of a first-come-first-served queue: at each arrival the server that is free first is looked for."""
    free = np.zeros(servers)
    departures = []
    for arrival, time in zip(arrivals, times, strict=True):
        server = int(np.argmin(free))
        free[server] = max(arrival, free[server]) + time
        departures.append(free[server])
    return np.array(departures)


@pytest.mark.parametrize("servers", [1, 3])
def test_one_queue_is_first_come_first_served(servers: int) -> None:
    rng = np.random.default_rng(3)
    arrivals, times = np.cumsum(rng.exponential(0.4, 500)), rng.exponential(1.0, 500)
    server = Server(array("d", times), servers)
    assert [server.admit(t) for t in arrivals] == pytest.approx(played(arrivals, times, servers))


def test_a_queue_each_is_as_many_separate_queues() -> None:
    rng = np.random.default_rng(4)
    arrivals, times = np.cumsum(rng.exponential(0.4, 500)), rng.exponential(1.0, 500)
    routes = rng.integers(3, size=500)
    server = Server(array("d", times), 3, array("H", [int(r) for r in routes]))
    departures = np.array([server.admit(t) for t in arrivals])
    for k in range(3):
        mine = routes == k
        assert departures[mine] == pytest.approx(played(arrivals[mine], times[mine], 1))


def test_the_drawn_times_begin_again_when_they_are_used_up() -> None:
    server = Server(array("d", [1.0, 2.0]), 1)
    assert [server.admit(t) for t in (0.0, 0.0, 10.0)] == [1.0, 3.0, 11.0]
