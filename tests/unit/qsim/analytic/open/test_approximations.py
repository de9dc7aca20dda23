"""Queues of their own, and approximations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qsim import MG1, Deterministic, Erlang, Exponential, Gamma, GGc, LogNormal, MMc, Open, UnstableQueueError, solve
from qsim.analytic.open import approximations
from qsim.analytic.open.approximations import kimura
from qsim.distributions.base import require_phases


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
