"""Queues of phases and of exponential service: special cases, limits, laws of waiting times."""

from __future__ import annotations

import math

import pytest
from seen import queue

from qsim import Deterministic, Distribution, Erlang, Exponential, HyperExponential, MMc, Open, solve
from qsim.analytic.open import gimc, markovian
from qsim.analytic.open.approximations import kimura

# M/M/c and its relatives, solved as Markov chains of phases


@pytest.mark.parametrize(("lam", "c"), [(0.8, 1), (2.7, 3), (36.0, 40), (2.99, 3)])
def test_the_chain_of_phases_gives_m_m_c(lam: float, c: int) -> None:
    model = MMc(lam, 1.0, c)
    chain, whole = markovian.solve(queue(model)), solve(model)
    for name in ("L", "Lq", "W", "Wq", "p_wait", "utilization"):
        assert getattr(chain, name) == pytest.approx(getattr(whole, name), rel=1e-8), name
    assert [chain.p(n) for n in (0, 1, c, c + 5)] == pytest.approx([whole.p(n) for n in (0, 1, c, c + 5)])
    for q in (0.3, 0.9, 0.999):
        assert chain.quantile(q) == pytest.approx(whole.quantile(q), rel=1e-8)
        assert chain.quantile(q, "Wq") == pytest.approx(whole.quantile(q, "Wq"), rel=1e-8, abs=1e-9)


def test_near_saturation_the_chain_warns() -> None:
    """Rounding of 1e-16·(1 + 3)/(1 - rho)²."""
    (warning,) = markovian.solve(queue(Open(Exponential(1.0), HyperExponential.from_moments(1 - 1e-5, 3.0)))).warnings
    assert warning == "rho = 0.99999 is so near 1 that values are off by about 4e-06"
    assert markovian.solve(queue(Open(Erlang(2, 1.0), Exponential(0.9)))).warnings == ()


def test_a_chain_of_millions_of_multiplications_is_left_to_others() -> None:
    """Two phases each: (60 + c/8)·(2·(c + 1))³ is 3.25e9 at 170 servers and 4.5e9 at 190."""
    for c, few in ((170, True), (190, False)):
        assert markovian.applies(queue(Open(Erlang(2, 1.0), Erlang(2, 0.5 * c), c))) == few


# GI/M/c


@pytest.mark.parametrize(
    ("arrivals", "c", "rho"),
    [
        (Exponential(1.0), 4, 0.75),  # where a term of the sum is 0/0
        (Erlang(2, 1.0), 2, (1 + math.sqrt(2)) / 4),  # as here: σ = 1/2
        (Exponential(1.0), 200, 0.9),
        (Erlang(3, 1.0), 5, 0.8),
        (Erlang(4, 1.0), 40, 0.5),
        (HyperExponential.from_moments(1.0, 4.0), 5, 0.99),
    ],
)
def test_renewal_arrivals_against_the_chain(arrivals: Distribution, c: int, rho: float) -> None:
    model = Open(arrivals, Exponential(rho * c), c)
    root, chain = gimc.solve(queue(model)), markovian.solve(queue(model))
    assert root.Wq == pytest.approx(chain.Wq, rel=1e-7)
    assert root.p_wait == pytest.approx(chain.p_wait, rel=1e-7)
    assert root.quantile(0.99) == pytest.approx(chain.quantile(0.99), rel=1e-7)


def test_hardly_any_load() -> None:
    for gaps, c in ((Deterministic(1.0), 1), (Exponential(1.0), 14), (Deterministic(1.0), 40)):
        r = gimc.solve(queue(Open(gaps, Exponential(1e-3 * c), c)))
        assert 0 <= r.p_wait < 1e-12
    assert kimura(1.0, 1e-3, 0.0, 1.0) == pytest.approx(0.0, abs=1e-30)
