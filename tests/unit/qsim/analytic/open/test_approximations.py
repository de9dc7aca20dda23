"""Queues of their own, and approximations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qsim import (
    GG1,
    MG1,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    GGc,
    LogNormal,
    MMc,
    Open,
    UnstableQueueError,
    simulate,
    solve,
)
from qsim.analytic.open import approximations
from qsim.analytic.open.approximations import kimura, waiting_probability
from qsim.distributions.base import require_phases
from qsim.distributions.mixtures import Mixture, Shifted


def test_queues_of_their_own() -> None:
    arrivals, service = Exponential(1 / 1.6), Erlang(2, 1.0)
    waits = [solve(Open(arrivals, service, 2, queues=queues)).Wq for queues in ("shared", "round-robin", "random")]
    assert waits == sorted(waits)
    assert waits[2] == pytest.approx(solve(MG1(0.8, service)).Wq)
    assert waits[1] == pytest.approx(solve(GGc(Erlang(2, 1.25), service, 1)).Wq)


def test_a_queue_without_a_formula_is_approximated_by_phases() -> None:
    r = solve(GGc(Gamma(1.0, 0.3), LogNormal(1.7, 0.8), 2))
    assert r.kind == "approximation"
    assert r.kind_of("throughput") == "exact"
    assert r.Wq == r.approximations["phase-type fit"] <= r.approximations["Kingman's bound"]
    assert pytest.approx(r.Wq + 1.7) == r.L
    authors = {"Allen-Cunneen", "Krämer-Langenbach-Belz", "Kimura", "Kingman's bound"}
    assert authors == set(r.approximations) - {"phase-type fit"}
    with pytest.raises(ValueError, match="no interval"):  # what authors disagree by is no confidence interval
        r.interval("Wq")
    assert r.method.startswith("phase-type fit (W off by ")
    assert "approximation" in str(r)
    with pytest.raises(ValueError, match="state probabilities"):
        r.p(0)


@pytest.mark.parametrize("c", [1, 2, 8])
def test_all_approximations_are_exact_for_m_m_c(c: int) -> None:
    exact = solve(MMc(0.8 * c, 1.0, c)).Wq
    for name, wait in approximations.table(0.8 * c, 1.0, 1.0, 1.0, c).items():
        assert name == approximations.BOUND or wait == pytest.approx(exact), name


def test_approximations_worked_by_hand() -> None:
    """Rate 2, service 1/2: one erlang on two servers, where Wq(M/M/2) is 1/6."""
    bursty, even = (approximations.table(2.0, 0.5, ca2, 3.0, 2) for ca2 in (2.0, 0.5))
    assert list(bursty.values()) == pytest.approx([5 / 12, 5 / 12 * math.exp(-1 / 28), 2 * (2 / 4 + 3 / 8)])
    assert even["Krämer-Langenbach-Belz"] == pytest.approx(3.5 / 12 * math.exp(-1 / 21))
    assert list(approximations.table(0.0, 0.5, 1.0, 1.0, 2).values()) == [0, 0, 0, math.inf]
    with pytest.raises(UnstableQueueError, match="G/G/2"):
        approximations.table(4.0, 0.5, 1.0, 1.0, 2)


@pytest.mark.parametrize("scv", [0.05, 0.3, 0.5, 0.7, 2.0])
def test_phases_share_the_moments_of_the_law(scv: float) -> None:
    """E[S] = α·(-T)⁻¹·1, E[S²] = 2·α·(-T)⁻²·1; of Erlang stages as few as give the scv."""
    start, T = require_phases(approximations.of_phases(Gamma(3.0, scv)))
    first = np.linalg.solve(-T, np.ones(start.size))
    assert (start @ first, 2 * start @ np.linalg.solve(-T, first)) == pytest.approx((3.0, 9 * (1 + scv)))
    assert start.size == (math.ceil(1 / scv) if scv < 1 else 2)


def test_kimura_meets_the_queues_it_is_made_of() -> None:
    assert kimura(2.7, 1.0, 0.0, 1.0, 3) == pytest.approx(solve(GGc(Deterministic(1 / 2.7), Exponential(1.0), 3)).Wq)
    assert kimura(2.7, 1.0, 1.0, 0.0, 3) == pytest.approx(solve(GGc(Exponential(1 / 2.7), Deterministic(1.0), 3)).Wq)
    assert kimura(2.7, 1.0, 0.0, 0.0, 3) == 0
    with pytest.raises(ValueError, match="ca2"):
        kimura(2.7, 1.0, 2.0, 1.0, 3)


@pytest.mark.parametrize(
    "model",
    [
        GG1(Deterministic(1.0), Deterministic(0.9)),
        GGc(Deterministic(1.0), Empirical((1.5, 1.9)), 2),
        GG1(Shifted(Exponential(1.0), 2.0), Mixture((Deterministic(1.0), Deterministic(2.0)), (0.5, 0.5))),
    ],
)
def test_where_the_longest_service_is_over_in_time_nobody_waits(model) -> None:
    r = solve(model)
    assert (r.Wq, r.p_wait, r.kind) == (0, 0, "exact")
    assert r.quantile(0.3) == pytest.approx(model.stations["station"].service.quantile(0.3), rel=1e-3)
    assert simulate(model, customers=10_000, seed=1).Wq == 0


def test_a_wait_that_can_happen_is_no_exact_zero() -> None:
    r = solve(GGc(Deterministic(1.0), Empirical((1.5, 2.1)), 2))
    assert r.kind == "approximation"
    assert r.Wq > 0
    assert r.p_wait > 0


@pytest.mark.parametrize(("arrivals", "service"), [(0.0, 0.02), (0.02, 0.02), (0.02, 4.0), (4.0, 0.02), (0.3, 0.02)])
@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_the_probability_of_waiting_agrees_with_the_wait(arrivals: float, service: float, rho: float) -> None:
    """Within 0.15 of a simulation for one server, where Erlang's C, which it replaces, misses by up to 0.6."""
    gaps = Gamma(1 / rho, arrivals) if arrivals else Deterministic(1 / rho)
    run = simulate(GG1(gaps, Gamma(1.0, service)), customers=100_000, seed=1, allow_short=True)
    assert waiting_probability(rho, arrivals, service, 1) == pytest.approx(run.p_wait, abs=0.15)


@pytest.mark.parametrize("c", [1, 3])
def test_with_poisson_arrivals_the_probability_of_waiting_is_that_of_erlang(c: int) -> None:
    assert waiting_probability(0.7, 1.0, 3.0, c) == pytest.approx(solve(MMc(0.7 * c, 1.0, c)).p_wait)
