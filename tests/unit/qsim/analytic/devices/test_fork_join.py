"""Fork and join by formula, at loads where it is exact."""

from __future__ import annotations

import pytest

from qsim import Exponential, ForkJoin, solve
from qsim.analytic.devices.fork_join import harmonic


@pytest.mark.parametrize("servers", [2, 3, 8, 32])
def test_alone_the_longest_part_counts(servers: int) -> None:
    assert solve(ForkJoin(1e-9, Exponential(1.0), servers)).W == pytest.approx(harmonic(servers))
