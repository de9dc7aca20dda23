"""Queues of their own, and approximations."""

from __future__ import annotations

import pytest

from qsim import MG1, Deterministic, Erlang, Exponential, Gamma, GGc, LogNormal, MMc, Open, solve
from qsim.analytic.open import approximations
from qsim.analytic.open.approximations import kimura


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


def test_kimura_meets_the_queues_it_is_made_of() -> None:
    assert kimura(2.7, 1.0, 0.0, 1.0, 3) == pytest.approx(solve(GGc(Deterministic(1 / 2.7), Exponential(1.0), 3)).Wq)
    assert kimura(2.7, 1.0, 1.0, 0.0, 3) == pytest.approx(solve(GGc(Exponential(1 / 2.7), Deterministic(1.0), 3)).Wq)
    assert kimura(2.7, 1.0, 0.0, 0.0, 3) == 0
    with pytest.raises(ValueError, match="ca2"):
        kimura(2.7, 1.0, 2.0, 1.0, 3)
