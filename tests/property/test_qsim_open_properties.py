"""What must hold for every open queue, whatever its laws."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seen import queue

from qsim import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    GGc,
    HyperExponential,
    LogNormal,
    Metrics,
    Mixture,
    Open,
    Shifted,
    Weibull,
    solve,
)
from qsim.analytic.open.approximations import kingman_bound
from qsim.analytic.views import OpenQueue

ROUNDING = 1e-7
loads = st.floats(0.01, 0.98)
units = st.floats(-6, 6).map(lambda e: 10.0**e)
scvs = st.floats(0.05, 20.0)

phase_types = st.one_of(
    st.just(Exponential(1.0)),
    st.integers(1, 5).map(lambda k: Erlang(k, 1.0)),
    st.floats(1.0, 20.0).map(lambda v: HyperExponential.from_moments(1.0, v)),
    st.floats(0.01, 0.99).map(lambda p: Mixture((Erlang(3, 0.5), Exponential(2.0)), (p, 1 - p))),
)
laws: st.SearchStrategy[Distribution] = st.one_of(
    phase_types,
    st.just(Deterministic(1.0)),
    scvs.map(lambda v: Gamma(1.0, v)),
    scvs.map(lambda v: LogNormal(1.0, v)),
    st.floats(0.4, 4.0).map(lambda k: Weibull(k, 1.0)),
    scvs.map(lambda v: Shifted(Gamma(0.5, v), 0.5)),
    st.floats(0.01, 0.99).map(lambda p: Mixture((Deterministic(0.5), LogNormal(2.0, 1.0)), (p, 1 - p))),
    st.just(Empirical((0.5, 1.0, 3.0), (3, 2, 1), (0.2, 0.0, 1.0))),
)


def scaled_to(law: Distribution, mean: float) -> Distribution:
    return law.scaled(mean / law.mean)


def obeys_the_laws(r: Metrics) -> None:
    assert r.L == pytest.approx(r.throughput * r.W, rel=ROUNDING)  # Little (1961)
    assert r.Lq == pytest.approx(r.throughput * r.Wq, rel=ROUNDING, abs=1e-12)
    seen = r.model if isinstance(r.model, OpenQueue) else queue(r.model)  # type: ignore[arg-type]
    assert r.throughput <= seen.arrival_rate * (1 + ROUNDING)
    assert r.W == pytest.approx(r.Wq + seen.service.mean, rel=ROUNDING)
    assert r.utilization * seen.servers == pytest.approx(r.throughput * seen.service.mean, rel=ROUNDING)
    for value in (r.throughput, r.utilization, r.L, r.Lq, r.W, r.Wq):
        assert math.isfinite(value)
        assert value >= -1e-12
    for share in (r.p_wait, r.p_block, r.utilization):
        assert math.isnan(share) or -1e-9 <= share <= 1 + 1e-9


@settings(max_examples=60, deadline=None)
@given(laws, loads, units)
def test_one_server_with_poisson_arrivals(law: Distribution, rho: float, unit: float) -> None:
    service = scaled_to(law, unit)
    r = solve(Open(Exponential(unit / rho), service))
    obeys_the_laws(r)
    assert r.kind == "exact"
    assert r.p(0) == pytest.approx(1 - rho, rel=1e-6)
    same_unit = solve(Open(Exponential(1 / rho), scaled_to(law, 1.0)))
    assert r.L == pytest.approx(same_unit.L, rel=ROUNDING)
    assert r.W / unit == pytest.approx(same_unit.W, rel=ROUNDING)
    # Between constant and very uneven service, in proportion to 1 + scv (Pollaczek & Khinchine).
    even = solve(Open(Exponential(1 / rho), Deterministic(1.0)))
    assert same_unit.Wq == pytest.approx(even.Wq * (1 + law.scv), rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(phase_types, phase_types, st.tuples(loads, loads), st.integers(1, 4))
def test_phases(gaps: Distribution, service: Distribution, pair: tuple[float, float], c: int) -> None:
    light, heavy = (solve(Open(gaps, scaled_to(service, rho * c * gaps.mean), c)) for rho in sorted(pair))
    for r in (light, heavy):
        obeys_the_laws(r)
        assert r.kind == "exact"
        S = queue(r.model).service.mean  # type: ignore[arg-type]
        assert r.Wq <= kingman_bound(1 / gaps.mean, S, gaps.scv, service.scv, c) * (1 + 1e-6) + 1e-12 * S
    assert light.Lq <= heavy.Lq * (1 + 1e-9) + 1e-12


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 3.0), st.integers(1, 3), st.integers(0, 6), units)
def test_limited_places(rho: float, c: int, more: int, unit: float) -> None:
    gaps, service = Exponential(unit), Exponential(rho * c * unit)
    r = solve(Open(gaps, service, c, c + more))
    obeys_the_laws(r)
    p = [r.p(n) for n in range(c + more + 2)]
    assert math.fsum(p) == pytest.approx(1.0)
    assert math.fsum(n * x for n, x in enumerate(p)) == pytest.approx(r.L, rel=1e-6)
    assert r.L <= c + more + 1e-9
    wider = solve(Open(gaps, service, c, c + more + 1))
    assert wider.p_block <= r.p_block * (1 + 1e-9) + 1e-12


@settings(max_examples=30, deadline=None)
@given(laws, loads, st.integers(1, 12))
def test_exponential_service_whatever_arrives(gaps: Distribution, rho: float, c: int) -> None:
    gaps = scaled_to(gaps, 1.0)
    r = solve(Open(gaps, Exponential(rho * c), c))
    obeys_the_laws(r)
    assert r.kind == "exact"
    for q in (0.2, 0.9, 0.99):
        assert r.quantile(q, "Wq") <= r.quantile(q)


@settings(max_examples=30, deadline=None)
@given(loads, st.integers(1, 60))
def test_constant_service_waits_half_to_all_of_exponential(rho: float, c: int) -> None:
    even, exponential = (
        solve(GGc(Exponential(1 / (rho * c)), Deterministic(1.0), c)),
        solve(Open(Exponential(1 / (rho * c)), Exponential(1.0), c)),
    )
    obeys_the_laws(even)
    assert exponential.Wq / 2 * (1 - 1e-9) <= even.Wq <= exponential.Wq or exponential.Wq < 1e-12


@settings(max_examples=40, deadline=None)
@given(laws, laws, loads, st.integers(1, 30))
def test_an_approximation_is_one_of_those_by_name_below_the_bound(
    gaps: Distribution, service: Distribution, rho: float, c: int
) -> None:
    from qsim.analytic.open import approximations

    model = Open(scaled_to(gaps, 1.0), scaled_to(service, rho * c), c)
    r = approximations.solve(queue(model))
    if approximations.nobody_waits(queue(model)):
        assert (r.kind, r.Wq, r.p_wait) == ("exact", 0, 0)
        return
    bound = r.approximations[approximations.BOUND]
    assert r.Wq <= bound * (1 + 1e-12)
    assert any(math.isclose(r.Wq, min(wait, bound)) for wait in r.approximations.values())
    assert 0 <= r.p_wait <= 1
    obeys_the_laws(dataclasses.replace(r, p_wait=math.nan))


@settings(max_examples=20, deadline=None)
@given(laws, loads, st.sampled_from(["PS", "LCFS-PR", "SJF", "PSJF"]))
def test_orders_of_service(law: Distribution, rho: float, discipline: str) -> None:
    service = scaled_to(law, 1.0)
    r = solve(Open(Exponential(1 / rho), service, discipline=discipline))  # type: ignore[arg-type]
    obeys_the_laws(r)
    shortest = solve(Open(Exponential(1 / rho), service, discipline="SJF"))
    first = solve(Open(Exponential(1 / rho), service))
    assert shortest.Wq <= first.Wq * (1 + 1e-6) + 1e-9  # of all orders that do not interrupt
