"""M/G/1, M/D/c, and queues where nobody waits: special cases, limits, laws of waiting times."""

from __future__ import annotations

import pytest
from service_laws import LAWS

from qsim import MG1, Distribution, Exponential, MMcK, Open, erlang_b, solve
from qsim.analytic.times import CompoundTimes

# M/G/1


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


# Infinite servers and loss


def test_loss_does_not_see_the_service_law() -> None:
    for service in LAWS:
        r = solve(Open(Exponential(1 / 8), service, 10, 10))
        assert r.p_block == pytest.approx(erlang_b(10, 8 * service.mean), rel=1e-9)
    assert solve(MMcK(8, 1, 10, 10)).p_block == pytest.approx(0.121661, abs=1e-6)
