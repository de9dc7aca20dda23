"""Formulas: special cases, exact arithmetic, and mistakes that others made."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from qsim import (
    MM1,
    Closed,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    LogNormal,
    MMc,
    MMcK,
    MMcN,
    NoFormulaError,
    Open,
    Station,
    UnstableQueueError,
    solve,
)
from qsim.analytic.repairman import one_queue_throughputs


def exact_repairman(N: int, Z: Fraction, S: Fraction, c: int) -> tuple[Fraction, Fraction, list[Fraction]]:
    """Throughput, waiting time and state probabilities in whole-number arithmetic."""
    weights = [Fraction(1)]
    for n in range(N):
        weights.append(weights[-1] * (N - n) * S / (Z * min(n + 1, c)))
    total = sum(weights)
    p = [w / total for w in weights]
    X = sum(min(n, c) * p[n] for n in range(N + 1)) / S
    return X, sum(max(n - c, 0) * p[n] for n in range(N + 1)) / X, p


@pytest.mark.parametrize("ratio", ["1/1000000000", "1/10", "1", "7", "1000", "1000000000"])
@pytest.mark.parametrize(("N", "c"), [(1, 1), (2, 1), (7, 3), (20, 1), (40, 8), (60, 100)])
def test_repairman_against_exact_arithmetic(N: int, c: int, ratio: str) -> None:
    Z, S = Fraction(ratio), Fraction(1)
    X, Wq, p = exact_repairman(N, Z, S, c)
    r = solve(MMcN(N, float(Z), 1.0, c))
    assert r.throughput == pytest.approx(float(X), rel=1e-11)
    assert r.Wq == pytest.approx(float(Wq), rel=1e-9)
    assert [r.p(n) for n in range(N + 2)] == pytest.approx([*map(float, p), 0.0], rel=1e-9)
    (at_n,) = one_queue_throughputs(np.array([N]), np.array([float(Z)]), 1.0, np.array([c]))[0]
    assert at_n == pytest.approx(float(X), rel=1e-11)


def test_an_empty_system_is_legal() -> None:
    nobody, faster = Exponential(math.inf), Open(Exponential(math.inf), Exponential(2.0), speeds=(2, 3))
    for model in (MM1(0, 1), MMc(0, 1, 4), MMcK(0, 1, 3, 5), MMcK(0, 1, 1, 1), faster):
        r = solve(model)
        assert (r.throughput, r.L, r.Lq, r.Wq, r.W, r.p_wait, r.p(0), r.p(1)) == (0, 0, 0, 0, 1, 0, 1, 0)
    by_size = Open(nobody, Deterministic(1.0), discipline="SRPT")
    for model in (by_size, *(Open(nobody, Deterministic(1.0), c) for c in (1, 2))):
        r = solve(model)
        assert (r.throughput, r.L, r.Wq, r.W) == (0, 0, 0, pytest.approx(1))


@pytest.mark.parametrize("servers", [1, 3, 9])
@pytest.mark.parametrize("rate", [1.0, 3.0, 7.0, 49.0, 1e6])
def test_a_load_of_exactly_one_is_unstable(servers: int, rate: float) -> None:
    with pytest.raises(UnstableQueueError) as refusal:
        solve(MMc(rate * servers, rate, servers))
    assert refusal.value.rho == pytest.approx(1.0)


def test_an_overload_says_what_would_be_stable() -> None:
    with pytest.raises(UnstableQueueError, match=r"rho = 1\.2.*at least 4 servers.*below 3,.*above 1\.2"):
        solve(MMc(3.6, 1.0, 3))


@pytest.mark.parametrize(
    "model",
    [
        Open(Exponential(1.0), LogNormal(0.5, 2), servers=2, queues="shortest"),
        Open(Erlang(2, 1.0), LogNormal(0.5, 2), discipline="SJF"),
        Open(Erlang(2, 1.0), LogNormal(0.5, 2), capacity=3),
        Closed(4, [Delay(1.0), Station(Deterministic(1), discipline="SJF")]),
        Closed(4, [Station(Exponential(1), speeds=(1, 2)), Station(Deterministic(2))]),
    ],
)
def test_without_a_formula_simulate_is_named(model: object) -> None:
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(model)  # type: ignore[arg-type]


def test_something_else_is_no_model() -> None:
    with pytest.raises(ValueError, match="model"):
        solve("M/M/1")  # type: ignore[arg-type]


def test_thousands_of_servers() -> None:
    r = solve(MMc(4950, 1, 5000))
    # Halfin & Whitt (1981): beta = (1 - rho)·sqrt(c), P(wait) -> 1/(1 + beta·Phi(beta)/phi(beta)).
    beta = 0.01 * math.sqrt(5000)
    phi = math.exp(-beta * beta / 2) / math.sqrt(2 * math.pi)
    Phi = (1 + math.erf(beta / math.sqrt(2))) / 2
    assert r.p_wait == pytest.approx(1 / (1 + beta * Phi / phi), rel=0.02)
    assert math.fsum(r.p(n) for n in range(4500, 5100)) == pytest.approx(1 - r.p_wait * 0.99**100, abs=1e-8)


def test_only_the_mean_of_the_think_time_matters() -> None:
    exponential = solve(MMcN(10, 3.0, 1.0, 2))
    fixed = solve(Closed(10, [Delay(Deterministic(3.0)), Station(Exponential(1.0), 2)]))
    assert fixed.throughput == exponential.throughput
