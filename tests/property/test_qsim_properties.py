"""What must hold for every queue, over the whole range that is promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seen import queue

from qsim import MM1, Closed, Delay, Exponential, Metrics, MMcN, Station, asymptotic_bounds, solve
from qsim.analytic.open.birth_death import FirstComeTimes
from qsim.analytic.repairman import one_queue_throughputs, own_queues_throughputs

loads = st.floats(0.001, 0.999)
rates = st.floats(-9, 9).map(lambda e: 10.0**e)
server_counts = st.integers(1, 1024)
populations = st.integers(1, 4096)
ROUNDING = 1e-9


def scaled(r: Metrics) -> list[float]:
    return [r.utilization, r.L, r.Lq, r.p_wait]


@settings(deadline=None)
@given(loads, rates)
def test_one_server_of_many_is_m_m_1(rho: float, mu: float) -> None:
    from qsim.analytic.open import mm1, mmc

    model = MM1(rho * mu, mu)
    one, many = mm1.solve(queue(model)), mmc.solve(queue(model))
    assert scaled(many) == pytest.approx(scaled(one), rel=ROUNDING)
    assert many.W == pytest.approx(one.W, rel=ROUNDING)
    for q in (0.01, 0.5, 0.999):
        assert many.quantile(q) == pytest.approx(one.quantile(q), rel=1e-6)
        assert many.quantile(q, of="Wq") == pytest.approx(one.quantile(q, of="Wq"), rel=1e-6, abs=1e-9 / mu)
    assert [many.p(n) for n in (0, 1, 5)] == pytest.approx([one.p(n) for n in (0, 1, 5)], rel=ROUNDING)


def never_impossible(r: Metrics, N: int, Z: float, S: float, c: int) -> None:
    for value in (r.throughput, r.utilization, r.L, r.Lq, r.W, r.Wq, r.p_wait):
        assert math.isfinite(value)
        assert value >= 0
    assert r.L <= N
    assert r.throughput <= c / S
    assert r.throughput <= N / (Z + S)
    assert r.utilization <= 1
    assert r.p_wait <= 1
    assert r.throughput * (r.W + Z) == pytest.approx(N, rel=ROUNDING)  # Little, over the whole cycle
    assert r.L == pytest.approx(r.throughput * r.W, rel=ROUNDING)
    bounds = asymptotic_bounds(N, Z, [S], [c])
    assert r.throughput >= bounds.throughput_low[0] * (1 - ROUNDING)
    assert r.W >= bounds.response_time_low[0] * (1 - ROUNDING)


@settings(max_examples=150, deadline=None)
@given(populations, st.one_of(st.just(0.0), rates), rates, server_counts)
def test_the_closed_solver_is_never_impossible(N: int, ratio: float, S: float, c: int) -> None:
    Z = ratio * S
    r = solve(MMcN(N, Z, S, c))
    never_impossible(r, N, Z, S, c)
    assert math.fsum(r.p(n) for n in range(N + 1)) == pytest.approx(1.0, rel=ROUNDING)
    # Two ways to the same number: birth-death in logarithms, and the recursion over populations.
    (at_n,) = one_queue_throughputs(np.array([N]), np.array([Z]), S, np.array([c]))[0]
    assert at_n == pytest.approx(r.throughput, rel=ROUNDING)


@settings(max_examples=50, deadline=None)
@given(populations, st.one_of(st.just(0.0), rates), server_counts)
def test_random_routing_is_never_impossible_nor_better_than_a_shared_queue(N: int, Z: float, k: int) -> None:
    r = solve(Closed(N, [Delay(Z), Station(Exponential(1.0), k, queues="random")]))
    never_impossible(r, N, Z, 1.0, k)
    assert r.throughput <= solve(MMcN(N, Z, 1.0, k)).throughput * (1 + ROUNDING)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 600), st.floats(-3, 3), st.integers(1, 200))
def test_curves_rise_with_the_population(N: int, exponent: float, c: int) -> None:
    Z = 10.0**exponent
    for throughputs in (one_queue_throughputs, own_queues_throughputs):
        X = throughputs(np.arange(1, N + 1), np.array([Z]), 1.0, np.array([c]))[0]
        response = np.arange(1, N + 1) / X - Z
        assert np.all(np.diff(X) >= -ROUNDING * X[1:])
        assert np.all(np.diff(response) >= -ROUNDING * (response[1:] + Z))
        assert response[0] == pytest.approx(1.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.floats(-2, 2), st.integers(1, 64), st.floats(0.01, 0.99))
def test_quantiles_invert_survival(N: int, exponent: float, c: int, q: float) -> None:
    r = solve(MMcN(N, 10.0**exponent, 1.0, c))
    assert isinstance(r.times, FirstComeTimes)
    assert r.survival(r.quantile(q)) == pytest.approx(1 - q, rel=1e-6)
    assert r.quantile(q, of="Wq") <= r.quantile(q)
