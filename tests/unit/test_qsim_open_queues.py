"""Open queues: special cases, limits, laws of waiting times, refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from qsim import (
    MD1,
    MG1,
    MX1,
    Batches,
    CustomerClass,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Geometric,
    GGc,
    HyperExponential,
    LogNormal,
    MarkovModulated,
    MDc,
    Mixture,
    MMc,
    MMcc,
    MMcK,
    MMInf,
    Model,
    NoFormulaError,
    OnOff,
    Open,
    OpenClasses,
    PhaseType,
    Shifted,
    Trace,
    UnstableQueueError,
    Weibull,
    erlang_b,
    erlang_c,
    kimura,
    kingman_bound,
    load_for_blocking,
    load_for_waiting,
    mean_response,
    rate_for_wait,
    response_of,
    servers_for_blocking,
    servers_for_wait,
    servers_for_waiting,
    solve,
    wait_variance,
)
from qsim.analytic import approximations, compound, gimc, markovian, mdc, mg1
from qsim.analytic.arrivals_during import more_than

LAWS: list[Distribution] = [
    Exponential(1.0),
    Erlang(3, 1.0),
    HyperExponential.from_moments(1.0, 4.0),
    Gamma(1.0, 0.3),
    LogNormal(1.0, 4.0),
    Weibull(0.6, 1.0),
    Deterministic(1.0),
    Shifted(Gamma(0.5, 2.0), 0.5),
    Mixture((Deterministic(0.5), LogNormal(3.0, 1.0)), (0.8, 0.2)),
    Empirical((0.2, 1.0, 2.0), (1, 2, 1), (0.3, 0.0, 1.0)),
]


# M/M/c and its relatives, solved as Markov chains of phases


@pytest.mark.parametrize(("lam", "c"), [(0.8, 1), (2.7, 3), (36.0, 40), (2.99, 3)])
def test_the_chain_of_phases_gives_m_m_c(lam: float, c: int) -> None:
    model = MMc(lam, 1.0, c)
    chain, whole = markovian.solve(model), solve(model)
    for name in ("L", "Lq", "W", "Wq", "p_wait", "utilization"):
        assert getattr(chain, name) == pytest.approx(getattr(whole, name), rel=1e-8), name
    assert [chain.p(n) for n in (0, 1, c, c + 5)] == pytest.approx([whole.p(n) for n in (0, 1, c, c + 5)])
    for q in (0.3, 0.9, 0.999):
        assert chain.quantile(q) == pytest.approx(whole.quantile(q), rel=1e-8)
        assert chain.quantile(q, "Wq") == pytest.approx(whole.quantile(q, "Wq"), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(("lam", "c", "K"), [(2.0, 1, 5), (5.0, 4, 4), (3.0, 3, 20), (90.0, 40, 60)])
def test_the_chain_of_phases_gives_m_m_c_k(lam: float, c: int, K: int) -> None:
    model = MMcK(lam, 1.0, c, K)
    chain, whole = markovian.solve(model), solve(model)
    for name in ("throughput", "L", "Lq", "W", "Wq", "p_wait", "p_block"):
        assert getattr(chain, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-12), name
    assert chain.quantile(0.9) == pytest.approx(whole.quantile(0.9), rel=1e-9)


def test_one_more_place_than_anyone_needs() -> None:
    arrivals, service = Erlang(2, 1.0), HyperExponential.from_moments(1.4, 3.0)
    endless, wide = solve(Open(arrivals, service, 2)), solve(Open(arrivals, service, 2, 400))
    assert wide.Wq == pytest.approx(endless.Wq, rel=1e-9)
    assert wide.p_block < 1e-12
    assert wide.quantile(0.99) == pytest.approx(endless.quantile(0.99), rel=1e-9)


def test_many_stages_come_near_constant_times() -> None:
    gaps = [abs(solve(MG1(0.8, Erlang(k, 1.0))).Wq - solve(MD1(0.8, 1.0)).Wq) for k in (1, 10, 100)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.03
    two = [markovian.solve(GGc(Exponential(1 / 1.6), Erlang(k, 1.0), 2)).Wq for k in (2, 4, 8, 16)]
    exact = solve(MDc(1.6, 1.0, 2)).Wq
    # The gap to constant times falls as the scv does, 1/k.
    assert [w - exact for w in two] == pytest.approx([(two[0] - exact) / 2**i for i in range(4)], rel=0.1)


def test_bursts_wait_longer_than_poisson_arrivals() -> None:
    bursts, service = OnOff(3.0, 2.0, 4.0), Erlang(2, 0.7)
    r = solve(Open(bursts, service))
    assert r.kind == "exact"
    assert r.p(0) == pytest.approx(1 - r.utilization)
    assert r.Wq > solve(Open(Exponential(bursts.mean), service)).Wq
    # A rate that never changes is a Poisson process.
    steady = Open(MarkovModulated((2.0, 2.0), ((-1.0, 1.0), (3.0, -3.0))), Exponential(0.4))
    assert solve(steady).W == pytest.approx(solve(Open(Exponential(0.5), Exponential(0.4))).W)


def test_a_chain_too_large_is_left_to_others() -> None:
    assert solve(Open(Erlang(5, 1.0), HyperExponential.from_moments(190.0, 4.0), 200)).kind == "approximation"
    assert not markovian.applies(Open(Erlang(5, 1.0), Erlang(50, 190.0), 200))


def test_near_saturation_the_chain_warns() -> None:
    assert "saturation" in markovian.solve(Open(Erlang(2, 1.0), Exponential(1 - 1e-8))).warnings[0]


# GI/M/c


@pytest.mark.parametrize(
    ("arrivals", "c", "rho"),
    [
        (Exponential(1.0), 4, 0.75),  # where a term of the sum is 0/0
        (Exponential(1.0), 200, 0.9),
        (Erlang(3, 1.0), 5, 0.8),
        (Erlang(4, 1.0), 40, 0.5),
        (HyperExponential.from_moments(1.0, 4.0), 5, 0.99),
    ],
)
def test_renewal_arrivals_against_the_chain(arrivals: Distribution, c: int, rho: float) -> None:
    model = Open(arrivals, Exponential(rho * c), c)
    root, chain = gimc.solve(model), markovian.solve(model)
    assert root.Wq == pytest.approx(chain.Wq, rel=1e-7)
    assert root.p_wait == pytest.approx(chain.p_wait, rel=1e-7)
    assert [root.p(n) for n in (c, c + 3)] == pytest.approx([chain.p(n) for n in (c, c + 3)], rel=1e-7)
    assert root.quantile(0.99) == pytest.approx(chain.quantile(0.99), rel=1e-7)
    full = dataclasses.replace(model, capacity=c)
    assert gimc.solve(full).p_block == pytest.approx(markovian.solve(full).p_block, rel=1e-9)


def test_renewal_arrivals_up_to_saturation() -> None:
    for distance in (1e-3, 1e-5, 1e-7, 1e-9):
        r = solve(Open(Deterministic(1.0), Exponential(1 - distance)))
        assert r.Wq * 2 * distance == pytest.approx(1.0, rel=3e-3)  # Kingman's heavy traffic, (ca² + cs²)/2 = 1/2
    with pytest.raises(UnstableQueueError):
        solve(Open(Deterministic(1.0), Exponential(1.0)))


def test_hardly_any_load() -> None:
    for gaps, c in ((Deterministic(1.0), 1), (Exponential(1.0), 14), (Deterministic(1.0), 40)):
        r = gimc.solve(Open(gaps, Exponential(1e-3 * c), c))
        assert 0 <= r.p_wait < 1e-12
        assert r.p(c + 1) == pytest.approx(0.0, abs=1e-12)
        assert gimc.solve(Open(gaps, Exponential(1e-3 * c), c, c)).p_block < 1e-2
    assert kimura(1.0, 1e-3, 0.0, 1.0) == pytest.approx(0.0, abs=1e-30)


def test_state_probabilities_below_c_are_refused_where_unknown() -> None:
    r = solve(Open(LogNormal(1.0, 2.0), Exponential(1.6), 2))
    assert math.isfinite(r.p(2))
    with pytest.raises(ValueError, match=r"p\(1\)"):
        r.p(1)


# M/G/1


@pytest.mark.parametrize("service", LAWS, ids=repr)
def test_states_of_m_g_1(service: Distribution) -> None:
    r = solve(MG1(0.7 / service.mean, service))
    p = np.array([r.p(n) for n in range(600)])
    assert p[0] == pytest.approx(0.3)
    assert p.min() >= 0
    assert float(p @ np.arange(p.size)) == pytest.approx(r.L, rel=1e-3)
    assert r.L == pytest.approx(0.7 + 0.49 * (1 + service.scv) / 2 / 0.3)


@pytest.mark.parametrize("service", LAWS, ids=repr)
def test_waiting_times_of_m_g_1_have_their_moments(service: Distribution) -> None:
    lam = 0.6 / service.mean
    times = compound.CompoundTimes(service, 0.6, mg1.mean_wait(lam, service))
    end = 120.0 if service.scv < 3 else 2000.0
    t = np.append(np.linspace(0, 20, 4001), np.geomspace(20.01, end, 2000))
    grid, survival_of = times._lattice(end)
    early, late = survival_of["Wq"]
    survival = np.interp(t, grid, (early + late) / 2)
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


def test_three_ways_to_m_d_1() -> None:
    model = MD1(0.8, 1.0)
    roots, general = mdc.solve(model), mg1.solve(model)
    assert general.Wq == pytest.approx(roots.Wq, rel=1e-12)
    assert [general.p(n) for n in (0, 1, 5, 30)] == pytest.approx([roots.p(n) for n in (0, 1, 5, 30)], abs=1e-12)
    for q in (0.3, 0.9, 0.999):
        low, high = general.quantile_interval(q)
        assert low <= roots.quantile(q) <= high


@pytest.mark.parametrize("service", LAWS, ids=repr)
def test_arrivals_during_a_service(service: Distribution) -> None:
    more = more_than(service, 0.9, 200)
    assert more[0] == pytest.approx(1 - service.transform(0.9), rel=1e-6)
    assert more.sum() == pytest.approx(0.9 * service.mean, rel=2e-3)
    assert np.all(np.diff(more) <= 1e-15)


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
    roots = mdc.roots_inside(rho * c, c)
    L = (c - (c - rho * c) ** 2) / (2 * (c - rho * c)) + float(np.real(1 / (1 - roots)).sum())
    assert r.L == pytest.approx(L, rel=1e-9)
    assert r.quantile(0.9) >= 1.0


def test_waiting_for_constant_service_integrates_to_its_mean() -> None:
    from scipy.integrate import quad

    r = solve(MDc(1.8, 1.0, 2))
    times = r.times
    assert isinstance(times, mdc.CommonServiceTimes)
    assert quad(times.waiting_survival, 0, 150, points=range(1, 100), limit=400)[0] == pytest.approx(r.Wq, rel=1e-9)


# Infinite servers and loss


def test_a_server_for_everyone() -> None:
    r = solve(MMInf(6.0, 2.0))
    assert (r.L, r.W, r.Wq, r.Lq, r.p_wait, r.utilization) == (3.0, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert math.fsum(r.p(n) for n in range(60)) == pytest.approx(1.0)
    assert r.quantile(0.5) == pytest.approx(0.5 * math.log(2))
    other = solve(dataclasses.replace(MMInf(6.0, 2.0), service=LogNormal(0.5, 9.0)))
    assert other.p(4) == pytest.approx(r.p(4))
    with pytest.raises(ValueError, match="state probabilities"):
        solve(dataclasses.replace(MMInf(6.0, 2.0), arrivals=Erlang(2, 0.2))).p(0)


def test_loss_does_not_see_the_service_law() -> None:
    for service in LAWS:
        r = solve(Open(Exponential(1 / 8), service, 10, 10))
        assert r.p_block == pytest.approx(erlang_b(10, 8 * service.mean), rel=1e-9)
    assert solve(MMcc(8, 1, 10)).p_block == pytest.approx(0.121661, abs=1e-6)


# Erlang turned round


@pytest.mark.parametrize("offered", [0.3, 8.0, 90.5])
@pytest.mark.parametrize("target", [0.5, 0.01, 1e-6])
def test_servers_are_the_fewest(offered: float, target: float) -> None:
    c = servers_for_blocking(offered, target)
    assert erlang_b(c, offered) <= target < erlang_b(c - 1, offered)
    c = servers_for_waiting(offered, target)
    assert erlang_c(c, offered) <= target
    assert c - 1 <= offered or erlang_c(c - 1, offered) > target
    c = servers_for_wait(offered, 1.0, target)
    assert solve(MMc(offered, 1.0, c)).Wq <= target
    assert c - 1 <= offered or solve(MMc(offered, 1.0, c - 1)).Wq > target


@pytest.mark.parametrize("c", [1, 3, 60])
@pytest.mark.parametrize("target", [0.9, 0.2, 1e-4])
def test_loads_meet_their_target(c: int, target: float) -> None:
    assert erlang_b(c, load_for_blocking(c, target)) == pytest.approx(target)
    assert erlang_c(c, load_for_waiting(c, target)) == pytest.approx(target)
    assert solve(MMc(rate_for_wait(c, 2.0, target), 0.5, c)).Wq == pytest.approx(target, rel=1e-6)


def test_inverse_refusals() -> None:
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="target"):
            servers_for_blocking(5, wrong)
    with pytest.raises(ValueError, match="offered_load"):
        servers_for_waiting(-1, 0.1)
    with pytest.raises(ValueError, match="servers"):
        load_for_blocking(0, 0.1)


# Orders of service


@pytest.mark.parametrize("discipline", ["LCFS", "SIRO"])
def test_blind_orders_keep_the_means(discipline: str) -> None:
    for model in (MMc(2.7, 1.0, 3), MG1(0.8, LogNormal(1.0, 4.0)), MDc(1.8, 1.0, 2), MMcK(3.0, 1.0, 2, 5)):
        first, other = solve(model), solve(dataclasses.replace(model, discipline=discipline))
        assert (other.W, other.Lq, other.p_wait, other.p(3)) == (first.W, first.Lq, first.p_wait, first.p(3))
        with pytest.raises(ValueError, match="quantiles"):
            other.quantile(0.9)


def test_sharing_sees_only_the_mean() -> None:
    for service in LAWS:
        shared = solve(Open(Exponential(1.25), service.scaled(1 / service.mean), discipline="PS"))
        assert shared.W == pytest.approx(5.0)
        stacked = solve(Open(Exponential(1.25), service.scaled(1 / service.mean), discipline="LCFS-PR"))
        assert stacked.W == pytest.approx(5.0)
    two = solve(Open(Exponential(1 / 1.6), Deterministic(1.0), 2, discipline="PS"))
    assert two.W == pytest.approx(solve(MMc(1.6, 1.0, 2)).W)
    full = solve(Open(Exponential(1 / 3), Deterministic(1.0), 2, 5, discipline="PS"))
    assert full.p_block == pytest.approx(solve(MMcK(3, 1, 2, 5)).p_block)


def test_served_by_size() -> None:
    for rule in ("SJF", "PSJF", "SRPT"):
        # One size only: nobody is shorter than anybody else.
        assert mean_response(0.8, Deterministic(1.0), rule) == pytest.approx(3.0)
        assert response_of(0.8, Exponential(1.0), 1e-3, rule) < response_of(0.8, Exponential(1.0), 5.0, rule)
    two_sizes = Empirical((0.5, 2.0), (2, 1))
    low, high = (
        CustomerClass(Exponential(1.875), Deterministic(0.5)),
        CustomerClass(Exponential(3.75), Deterministic(2.0), 1),
    )
    for rule, priority in (("SJF", "non-preemptive"), ("PSJF", "preemptive-resume")):
        by_class = solve(OpenClasses([low, high], priority=priority))
        assert mean_response(0.8, two_sizes, rule) == pytest.approx(by_class.W, rel=1e-6)
    service = LogNormal(1.0, 4.0)
    means = [mean_response(0.8, service, rule) for rule in ("SRPT", "PSJF", "SJF")]
    assert means == sorted(means)
    assert means[-1] < solve(MG1(0.8, service)).W
    with pytest.raises(UnstableQueueError):
        mean_response(1.2, service, "SRPT")
    with pytest.raises(ValueError, match="rule"):
        mean_response(0.8, service, "FCFS")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["SJF", "PSJF", "SRPT"])
def test_response_by_size_averages_to_the_mean(rule: str) -> None:
    nodes, weights = np.polynomial.laguerre.laggauss(40)
    by_size = [response_of(0.7, Exponential(1.0), float(x), rule) for x in nodes]  # type: ignore[arg-type]
    assert float(weights @ by_size) == pytest.approx(mean_response(0.7, Exponential(1.0), rule), rel=1e-4)  # type: ignore[arg-type]


def test_priorities_conserve_the_work_that_waits() -> None:
    laws = (Erlang(2, 1.0), LogNormal(0.5, 3.0), Deterministic(2.0))
    classes = [CustomerClass(Exponential(5.0), law, i) for i, law in enumerate(laws)]
    reference = solve(OpenClasses(classes))
    served = solve(OpenClasses(classes, priority="non-preemptive"))
    # Kleinrock's conservation law: the sum of rho times Wq does not depend on the order (1976, section 3.4).
    weights = [c.offered_load for c in classes]
    assert sum(w * c.Wq for w, c in zip(weights, served.classes, strict=True)) == pytest.approx(
        sum(w * c.Wq for w, c in zip(weights, reference.classes, strict=True))
    )
    assert served.L == pytest.approx(sum(c.L for c in served.classes))
    interrupted = solve(OpenClasses(classes, priority="preemptive-resume"))
    assert interrupted.classes[0].W == pytest.approx(solve(MG1(0.2, laws[0])).W)  # notices nobody else
    assert math.isnan(interrupted.p_wait)


@pytest.mark.parametrize("priority", ["none", "non-preemptive", "preemptive-resume"])
def test_classes_alike_are_one_class(priority: str) -> None:
    for c in (1, 3):
        one = [CustomerClass(Exponential(1 / (0.8 * c)), Exponential(1.0))]
        two = [CustomerClass(Exponential(2 / (0.8 * c)), Exponential(1.0))] * 2
        whole = solve(MMc(0.8 * c, 1.0, c))
        for classes in (one, two):
            r = solve(OpenClasses(classes, c, priority=priority))  # type: ignore[arg-type]
            assert r.kind == "exact"
            assert r.W == pytest.approx(whole.W)
        # Who goes first changes nothing for all together where services are memoryless and alike.
        ranked = [dataclasses.replace(k, priority=i) for i, k in enumerate(two)]
        assert solve(OpenClasses(ranked, c, priority=priority)).W == pytest.approx(whole.W)  # type: ignore[arg-type]


def test_several_servers_and_several_services_are_an_approximation() -> None:
    classes = [CustomerClass(Exponential(2.0), Exponential(1.0)), CustomerClass(Exponential(2.0), Exponential(2.0), 1)]
    r = solve(OpenClasses(classes, 2, priority="non-preemptive"))
    assert r.kind == "approximation"
    assert "Bondi" in r.method
    assert solve(OpenClasses(classes, 2)).kind == "exact"
    with pytest.raises(UnstableQueueError):
        solve(OpenClasses(classes, 1))
    with pytest.raises(NoFormulaError):
        solve(OpenClasses([dataclasses.replace(classes[0], arrivals=Erlang(2, 2.0))]))


# Batches, speeds, servers with queues of their own


def test_batches() -> None:
    single = solve(MX1(0.8, 1, 1.0))
    assert (single.W, single.p_wait) == (pytest.approx(5.0), pytest.approx(0.8))
    pairs = solve(MX1(0.4, 2, 1.0))
    assert pairs.L == pytest.approx(0.8 * (1 + 2.0) / 2 / 0.2)  # rho·(1 + E[X²]/E[X])/2/(1 - rho)
    assert math.fsum(n * pairs.p(n) for n in range(2000)) == pytest.approx(pairs.L)
    several = solve(Open(Batches(Exponential(1 / 0.7), Geometric(2.0)), Exponential(1.0), 2))
    assert several.L == pytest.approx(math.fsum(n * several.p(n) for n in range(3000)))
    ones = solve(Open(Batches(Exponential(1 / 1.4), 1), Exponential(1.0), 2))
    assert (ones.Wq, ones.p_wait) == (
        pytest.approx(solve(MMc(1.4, 1, 2)).Wq),
        pytest.approx(solve(MMc(1.4, 1, 2)).p_wait),
    )
    with pytest.raises(UnstableQueueError):
        solve(MX1(0.5, 2, 1.0))
    with pytest.raises(NoFormulaError):
        solve(Open(Batches(Exponential(1.0), 2), LogNormal(0.5, 1.0), 3))


def test_speeds_of_c_servers_are_c_servers() -> None:
    by_speed = solve(Open(Exponential(1 / 2.7), Exponential(1.0), 3, speeds=(1.0, 2.0, 3.0)))
    servers = solve(MMc(2.7, 1.0, 3))
    for name in ("L", "Lq", "W", "Wq", "p_wait", "utilization"):
        assert getattr(by_speed, name) == pytest.approx(getattr(servers, name)), name
    limited = solve(Open(Exponential(1 / 2.7), Exponential(1.0), 3, 5, speeds=(1.0, 2.0, 3.0)))
    assert limited.p_block == pytest.approx(solve(MMcK(2.7, 1.0, 3, 5)).p_block)
    shared = solve(Open(Exponential(1 / 2.7), LogNormal(1.0, 3.0), discipline="PS", speeds=(1.0, 2.0, 3.0)))
    assert shared.L == pytest.approx(servers.L)
    with pytest.raises(UnstableQueueError):
        solve(Open(Exponential(1 / 3.1), Exponential(1.0), speeds=(1.0, 2.0, 3.0)))


def test_queues_of_their_own() -> None:
    arrivals, service = Exponential(1 / 1.6), Erlang(2, 1.0)
    waits = [solve(Open(arrivals, service, 2, queues=queues)).Wq for queues in ("shared", "round-robin", "random")]
    assert waits == sorted(waits)
    assert waits[2] == pytest.approx(solve(MG1(0.8, service)).Wq)
    assert waits[1] == pytest.approx(solve(GGc(Erlang(2, 1.25), service, 1)).Wq)
    # Gaps of three stages, every second arrival: six stages, whichever way they are found.
    direct = solve(Open(Erlang(3, 0.6), service, 2, queues="round-robin"))
    same = solve(Open(PhaseType.of(Erlang(3, 0.6)), service, 2, queues="round-robin"))
    assert direct.W == pytest.approx(same.W, rel=1e-9)
    assert solve(Open(PhaseType.of(Exponential(1 / 1.6)), service, 2, queues="random")).Wq == pytest.approx(waits[2])


# Approximations


def test_a_queue_without_a_formula_gets_a_band() -> None:
    r = solve(GGc(Gamma(1.0, 0.3), LogNormal(1.7, 0.8), 2))
    assert r.kind == "approximation"
    assert r.kind_of("throughput") == "exact"
    low, high = r.interval("Wq")
    assert low <= r.Wq <= high <= r.approximations["Kingman"].Wq
    assert r.interval("L") == pytest.approx((low + 1.7, high + 1.7))
    assert {"Allen-Cunneen", "Krämer-Langenbach-Belz", "Kimura", "Whitt", "Kingman"} == set(r.approximations)
    assert r.approximations["Kingman"].kind == "bound"
    assert "Kimura" in r.method
    assert "approximation" in str(r)
    with pytest.raises(ValueError, match="state probabilities"):
        r.p(0)


@pytest.mark.parametrize("c", [1, 2, 8])
def test_all_approximations_are_exact_for_m_m_c(c: int) -> None:
    exact = solve(MMc(0.8 * c, 1.0, c)).Wq
    for name, entry in approximations.table(0.8 * c, 1.0, 1.0, 1.0, c).items():
        assert entry.kind == "bound" or entry.Wq == pytest.approx(exact), name


def test_kimura_meets_the_queues_it_is_made_of() -> None:
    assert kimura(2.7, 1.0, 0.0, 1.0, 3) == pytest.approx(solve(GGc(Deterministic(1 / 2.7), Exponential(1.0), 3)).Wq)
    assert kimura(2.7, 1.0, 1.0, 0.0, 3) == pytest.approx(solve(MDc(2.7, 1.0, 3)).Wq)
    assert kimura(2.7, 1.0, 0.0, 0.0, 3) == 0
    with pytest.raises(ValueError, match="ca2"):
        kimura(2.7, 1.0, 2.0, 1.0, 3)


@pytest.mark.parametrize("ca2", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("cs2", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("c", [1, 2, 4])
def test_the_bound_holds_and_heavy_traffic_is_met(ca2: float, cs2: float, c: int) -> None:
    for rho, near in ((0.5, None), (0.8, None), (0.95, 0.2), (0.995, 0.02)):
        exact = solve(Open(PhaseType.from_moments(1.0, ca2), PhaseType.from_moments(rho * c, cs2), c)).Wq
        assert exact <= kingman_bound(1.0, rho * c, ca2, cs2, c) * (1 + 1e-9)
        for name, entry in approximations.table(1.0, rho * c, ca2, cs2, c).items():
            if near and entry.kind == "approximation" and c < 4:
                assert entry.Wq == pytest.approx(exact, rel=near), name


def test_refusals() -> None:
    for model in (
        Open(Exponential(1.0), Deterministic(0.5), capacity=3),
        Open(Trace((1.0, 2.0, 3.0)), Exponential(0.5)),
        Open(Exponential(1.0), LogNormal(0.5, 2.0), servers=2, queues="shortest"),
        Open(Exponential(1.0), Exponential(1.0), capacity=3, when_full="blocked"),
    ):
        with pytest.raises(NoFormulaError, match="simulate"):
            solve(model)
    overloaded: list[Model] = [
        MG1(1.0, LogNormal(1.0, 2.0)),
        MDc(2.0, 1.0, 2),
        GGc(Gamma(1.0, 0.5), LogNormal(2.0, 2.0), 2),
        GGc(Erlang(2, 1.0), Erlang(2, 1.0), 1),
    ]
    for model in overloaded:
        with pytest.raises(UnstableQueueError, match="rho = 1"):
            solve(model)
