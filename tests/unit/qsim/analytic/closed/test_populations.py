"""Closed machines at many populations at once: each as it is alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qsim import Closed, Delay, Exponential, Station, solve
from qsim.analytic.closed import one_queue_throughputs, own_queues_throughputs

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
