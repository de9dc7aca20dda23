"""M/G/1, M/D/c, and queues where nobody waits: special cases, limits, laws of waiting times."""

from __future__ import annotations

import numpy as np
import pytest
from service_laws import LAWS

from qsim import MG1, Distribution, Exponential, MDc, MMcc, Open, UnstableQueueError, erlang_b, solve, wait_variance
from qsim.analytic.open import mdc, mg1
from qsim.analytic.times import compound

# M/G/1


@pytest.mark.parametrize("service", LAWS, ids=repr)
def test_waiting_times_of_m_g_1_have_their_moments(service: Distribution) -> None:
    lam = 0.6 / service.mean
    times = compound.CompoundTimes(service, 0.6, mg1.mean_wait(lam, service))
    end = 120.0 if service.scv < 3 else 2000.0
    t = np.append(np.linspace(0, 20, 4001), np.geomspace(20.01, end, 2000))
    grid = end / compound.POINTS * np.arange(compound.POINTS)
    early, value, late = times._lattice(end)["Wq"]
    survival = np.interp(t, grid, value)
    mean = float(np.trapezoid(survival, t))
    second = float(np.trapezoid(2 * t * survival, t))
    exact = mg1.mean_wait(lam, service)
    assert mean == pytest.approx(exact, rel=0.02)
    assert second - mean**2 == pytest.approx(wait_variance(lam, service), rel=0.1)
    # Rounding down and up encloses it.
    assert np.all(early <= late + 1e-12)
    assert np.trapezoid(early, grid) <= exact * (1 + 1e-6)
    assert np.trapezoid(late, grid) >= exact * 0.98


@pytest.mark.parametrize("service", LAWS[:3], ids=repr)
def test_the_lattice_encloses_the_phase_type_answer(service: Distribution) -> None:
    r = solve(MG1(0.8, service))
    times = compound.CompoundTimes(service, 0.8, r.Wq)
    for q in (0.1, 0.5, 0.9, 0.999):
        for of in ("W", "Wq"):
            low, high = times.quantile_interval(q, of)
            assert low <= r.quantile(q, of) * (1 + 1e-9)
            assert high >= r.quantile(q, of) * (1 - 1e-9)
            assert high - low <= 5e-3 * max(high, 0.01)


def test_an_infinite_variance_is_an_infinite_wait() -> None:
    assert wait_variance(0.5, Exponential(1.0)) == pytest.approx(3.0)
    assert wait_variance(0.5, Exponential(1.0), "LCFS") == pytest.approx(7.0)
    with pytest.raises(ValueError, match="discipline"):
        wait_variance(0.5, Exponential(1.0), "PS")
    with pytest.raises(UnstableQueueError):
        wait_variance(1.5, Exponential(1.0))


# M/D/c


@pytest.mark.parametrize(("c", "rho"), [(1, 0.5), (2, 0.01), (2, 0.9), (5, 0.99), (100, 0.9), (400, 0.95)])
def test_constant_service_is_consistent(c: int, rho: float) -> None:
    r = solve(MDc(rho * c, 1.0, c))
    states = r.states
    assert isinstance(states, mdc.CommonServiceStates)
    p = states.table
    tail = p[-1] / (states.tau - 1)
    assert p.sum() + tail == pytest.approx(1.0, abs=1e-9)
    assert float(p[c:].sum() + tail) == pytest.approx(r.p_wait, rel=1e-6)
    assert r.p(p.size) == pytest.approx(p[-1] / states.tau)  # beyond the table
    roots = mdc.roots_inside(rho * c, c)
    L = (c - (c - rho * c) ** 2) / (2 * (c - rho * c)) + float(np.real(1 / (1 - roots)).sum())
    assert r.L == pytest.approx(L, rel=1e-9)
    assert r.quantile(0.9) >= 1.0


# Infinite servers and loss


def test_loss_does_not_see_the_service_law() -> None:
    for service in LAWS:
        r = solve(Open(Exponential(1 / 8), service, 10, 10))
        assert r.p_block == pytest.approx(erlang_b(10, 8 * service.mean), rel=1e-9)
    assert solve(MMcc(8, 1, 10)).p_block == pytest.approx(0.121661, abs=1e-6)
