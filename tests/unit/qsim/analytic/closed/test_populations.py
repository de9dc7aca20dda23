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
    wanted, think, servers = [1, 3, 40, 3], np.array([0.0, 0.5, 30.0]), [1, 4, 100]
    together = throughputs(wanted, think, 2.0, servers)
    for row, z, c in zip(together, think.tolist(), servers, strict=True):
        circle = [Delay(z), Station(Exponential(2.0), c, queues=queues)]
        assert row == pytest.approx([solve(Closed(n, circle)).throughput for n in wanted], rel=1e-11)
        assert throughputs(wanted, np.array([z]), 2.0, c)[0] == pytest.approx(row, rel=1e-12)


@pytest.mark.parametrize("throughputs", [one_queue_throughputs, own_queues_throughputs])
def test_throughputs_are_those_of_the_populations_asked_for(throughputs: Made) -> None:
    whole, some = throughputs(64, np.array([2.0]), 1.0, 4)[0], throughputs([64, 1, 8], np.array([2.0]), 1.0, 4)[0]
    assert some.tolist() == [whole[i - 1] for i in (64, 1, 8)]
    for bad in ([], [0], [1.5], 0):
        with pytest.raises(ValueError, match="populations"):
            throughputs(bad, np.array([2.0]), 1.0, 4)
