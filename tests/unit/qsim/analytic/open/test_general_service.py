"""M/G/1: the lattice of times against phases."""

from __future__ import annotations

import pytest
from service_laws import LAWS

from qsim import MG1, Distribution, solve
from qsim.analytic.times import CompoundTimes


@pytest.mark.parametrize("service", LAWS[:3], ids=repr)
def test_the_lattice_encloses_the_phase_type_answer(service: Distribution) -> None:
    r = solve(MG1(0.8, service))
    times = CompoundTimes(service, 0.8, r.Wq)
    for q in (0.1, 0.5, 0.9, 0.999):
        for of in ("W", "Wq"):
            low, high = times.quantile_interval(q, of)
            assert low <= r.quantile(q, of) * (1 + 1e-9)
            assert high >= r.quantile(q, of) * (1 - 1e-9)
            assert high - low <= 5e-3 * max(high, 0.01)
