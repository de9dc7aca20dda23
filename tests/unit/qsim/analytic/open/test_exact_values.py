"""Open queues at points where the answer can be worked out by hand, by another formula, or as a Markov chain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from class_networks import Flow, queue_of
from markov_chains import Moves, stationary
from scipy.stats import poisson
from seen import queue

from qsim import (
    MD1,
    MG1,
    MM1,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    GGc,
    HyperExponential,
    LogNormal,
    MDc,
    Metrics,
    MMc,
    MMcK,
    Open,
    PhaseType,
    UnstableQueueError,
    Weibull,
    allen_cunneen,
    cosmetatos,
    erlang_b,
    erlang_c,
    kimura,
    kingman_bound,
    kraemer_langenbach_belz,
    load_for_blocking,
    load_for_waiting,
    mean_response,
    rate_for_wait,
    response_of,
    servers_for_blocking,
    servers_for_wait,
    servers_for_waiting,
    solve,
    whitt,
)
from qsim.analytic.invert import quantile
from qsim.analytic.open import approximations, arrivals_during, gimc, mdc, mmc, mmck
from qsim.analytic.times.compound import CompoundTimes, reciprocal

NAMES = ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait", "p_block")


def numbers(r: Metrics) -> list[float]:
    return [getattr(r, name) for name in NAMES]


# --- M/M/c and its relatives --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "K"), [(1, None), (2, None), (3, None), (1, 1), (1, 4), (2, 2), (2, 5), (3, 4)])
def test_every_number_is_that_of_the_birth_death_chain(c: int, K: int | None) -> None:
    lam, mu = 0.6 * c, 1.0

    def moves(n: int) -> Moves:
        if n < (K or 150):
            yield lam, n + 1
        if n > 0:
            yield min(n, c) * mu, n - 1

    p = np.array([q for _, q in sorted(stationary(0, moves).items())])  # type: ignore[type-var]
    n = np.arange(p.size)
    lost = p[-1] if K else 0.0
    X = lam * (1 - lost)
    waits = 0.0 if K == c else p[c : p.size - (1 if K else 0)].sum() / (1 - lost)
    L, Lq = p @ n, p @ np.maximum(n - c, 0)
    r = solve(MMc(lam, mu, c) if K is None else MMcK(lam, mu, c, K))
    assert numbers(r) == pytest.approx([X, X / c, L, Lq, L / X, Lq / X, waits, lost], rel=1e-9, abs=1e-12)
    assert [r.p(i) for i in range(8)] == pytest.approx([p[i] if i < p.size else 0.0 for i in range(8)], abs=1e-12)


def test_an_empty_queue_has_its_service_left() -> None:
    nobody = Exponential(math.inf)
    for model in (
        MM1(0, 2),
        MMc(0, 2, 3),
        MMcK(0, 2, 3, 4),
        MD1(0, 0.5),
        MG1(0, LogNormal(0.5, 2.0)),
        Open(nobody, LogNormal(0.5, 2.0), discipline="PS"),
        Open(nobody, LogNormal(0.5, 2.0), 2, 2),
        Open(nobody, Exponential(0.5), speeds=(1.0, 2.0)),
        Open(nobody, Gamma(0.5, 2.0), discipline="SJF"),
        Open(nobody, Exponential(0.5), 1, 3, speeds=(1.0, 2.0)),
        Open(nobody, Exponential(0.5), math.inf),
    ):
        r = solve(model)
        found = [r.throughput, r.utilization, r.L, r.Lq, r.W, r.Wq, r.p_block]
        assert found == pytest.approx([0, 0, 0, 0, 0.5, 0, 0], abs=1e-12), model
    assert [solve(MMcK(0, 2, 3, 4)).p(n) for n in range(3)] == [1, 0, 0]
    assert [solve(MMc(0, 2, 3)).p(n) for n in range(3)] == [1, 0, 0]
    assert [solve(Open(nobody, Exponential(0.5), math.inf)).p(n) for n in range(3)] == [1, 0, 0]


def test_times_in_m_m_1_and_m_m_c_at_given_probabilities() -> None:
    one = solve(MM1(0.8, 1.0))
    assert one.quantile(0.9) == pytest.approx(5 * math.log(10))
    assert one.quantile(0.9, "Wq") == pytest.approx(5 * math.log(8))
    assert one.quantile(0.2, "Wq") == 0
    assert one.quantile(0.19, "Wq") == 0
    times = mmc.ErlangTimes(3, 2.0, 1.0, erlang_c(3, 2.0))  # spare rate 1 = c - a: here d = 0
    assert times.response_survival(2.0) == pytest.approx(math.exp(-2) * (1 + 4 / 9 * 2))
    assert times.quantile(1 - 2 / 9, "Wq") == pytest.approx(math.log(2))
    assert times.quantile(5 / 9, "Wq") == pytest.approx(0, abs=1e-12)
    assert times.quantile(0.5, "Wq") == 0


@pytest.mark.parametrize(("c", "a"), [(2, 1.5), (2, 1.0), (3, 1.0), (5, 1.0), (1200, 1.0)])
def test_the_response_of_m_m_c_is_a_service_and_perhaps_a_wait(c: int, a: float) -> None:
    """P(W > t) = e^-t + C·(integral of the wait's density times what is left of the service)."""
    times = mmc.ErlangTimes(c, a, 1.0, 0.3)
    for t in (0.0, 0.5, 1.0, 3.0):
        s = np.linspace(0, t, 200_001)
        waits = np.trapezoid((c - a) * np.exp(-(c - a) * s) * np.exp(-(t - s)), s) + math.exp(-(c - a) * t)
        assert times.response_survival(t) == pytest.approx(0.7 * math.exp(-t) + 0.3 * waits, rel=1e-4)


def test_erlangs_formulas_at_their_edges() -> None:
    assert erlang_b(0, 3.0) == 1.0
    assert erlang_b(1, 3.0) == pytest.approx(0.75)
    assert erlang_b(2, 1.0) == pytest.approx(0.2)
    assert erlang_c(1, 0.3) == pytest.approx(0.3)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    with pytest.raises(UnstableQueueError):
        erlang_c(2, 2.0)
    assert mmck.state_probabilities(0.0, 2, 3).tolist() == [1, 0, 0, 0]
    assert mmck.state_probabilities(1.0, 1, 3).tolist() == pytest.approx([0.25] * 4)
    assert mmck.state_probabilities(2.0, 2, 2).tolist() == pytest.approx([0.2, 0.4, 0.4])


def test_servers_and_loads_for_a_target() -> None:
    assert servers_for_blocking(1.0, 0.5) == 1  # B(1, 1) is 0.5 exactly
    assert servers_for_blocking(1.0, 0.49) == 2
    assert servers_for_waiting(1.0, 0.34) == 2  # C(2, 1) is a third
    assert servers_for_waiting(1.0, 0.33) == 3
    assert servers_for_wait(1.0, 1.0, 0.34) == 2  # C/(c - a) is a third too
    assert servers_for_wait(1.0, 1.0, 0.33) == 3
    assert servers_for_wait(0.5, 2.0, 0.67) == 2
    assert servers_for_wait(0.5, 2.0, 0.66) == 3
    assert load_for_blocking(1, 0.75) == pytest.approx(3.0)
    assert load_for_blocking(1, 0.2) == pytest.approx(0.25)
    assert load_for_blocking(2, 0.2) == pytest.approx(1.0)
    assert load_for_waiting(2, 1 / 3) == pytest.approx(1.0)
    assert rate_for_wait(1, 2.0, 2.0) == pytest.approx(0.25)  # rho 0.5: Wq = S
    assert servers_for_blocking(0.0, 0.01) == 1
    with pytest.raises(ValueError, match="offered_load must be below 5000000 erlangs"):
        servers_for_blocking(5_000_001.0, 0.5)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.7, 0.999, 1 - 1e-9])
def test_a_quantile_inverts_a_survival_function(q: float) -> None:
    for scale in (1e-3, 1.0, 1e3):
        assert quantile(lambda t: math.exp(-2 * t), q, scale) == pytest.approx(-math.log1p(-q) / 2, rel=1e-6, abs=1e-12)
    assert quantile(lambda t: 0.5 * math.exp(-t), 0.5, 1.0) == 0
    assert quantile(lambda t: 0.5 * math.exp(-t), 0.49, 1.0) == 0


# --- speeds by the number present ---------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [None, 2, 6])
@pytest.mark.parametrize("speeds", [(0.5,), (1.0, 3.0), (2.0, 1.0, 4.0)])
def test_speeds_are_their_chain(speeds: Sequence[float], K: int | None) -> None:
    lam, S = 0.3, 0.9

    def moves(n: int) -> Moves:
        if n < (K or 200):
            yield lam, n + 1
        if n > 0:
            yield speeds[min(n, len(speeds)) - 1] / S, n - 1

    p = np.array([q for _, q in sorted(stationary(0, moves).items())])  # type: ignore[type-var]
    lost = p[-1] if K else 0.0
    X, L, Lq = lam * (1 - lost), p @ np.arange(p.size), p @ np.maximum(np.arange(p.size) - 1, 0)
    r = solve(Open(Exponential(1 / lam), Exponential(S), 1, K, speeds=tuple(speeds)))
    waits = (1 - p[0] - lost) / (1 - lost)
    assert numbers(r) == pytest.approx([X, X * S / max(speeds), L, Lq, L / X, Lq / X, waits, lost], rel=1e-9)
    assert [r.p(n) for n in range(6)] == pytest.approx([p[n] if n < p.size else 0 for n in range(6)], abs=1e-12)
    shared = solve(Open(Exponential(1 / lam), Gamma(S, 3.0), 1, K, "PS", speeds=tuple(speeds)))
    assert numbers(shared)[:6] == pytest.approx(numbers(r)[:6])
    assert math.isnan(shared.p_wait)


def test_the_last_speed_is_the_limit() -> None:
    with pytest.raises(UnstableQueueError):
        solve(Open(Exponential(0.5), Exponential(1.0), speeds=(1.0, 2.0)))
    assert solve(Open(Exponential(0.51), Exponential(1.0), speeds=(1.0, 2.0))).L > 30


# --- batches --------------------------------------------------------------------------------------------------------


# --- approximations -------------------------------------------------------------------------------------------------


def test_approximations_worked_by_hand() -> None:
    """At rho 0.8: Wq(M/M/1) = 4, Wq(M/M/2) = 32/45·1/0.4 = 16/9."""
    assert allen_cunneen(0.8, 1.0, 0.5, 2.0) == pytest.approx(1.25 * 4)
    assert allen_cunneen(1.6, 1.0, 0.5, 2.0, 2) == pytest.approx(1.25 * 16 / 9)
    assert allen_cunneen(0.4, 2.0, 0.5, 2.0) == pytest.approx(1.25 * 8)
    smooth = 0.75 * 4 * math.exp(-2 * 0.2 * 0.25 / (3 * 0.8 * 1.5))
    assert kraemer_langenbach_belz(0.8, 1.0, 0.5, 1.0) == pytest.approx(smooth)
    rough = 2.5 * 4 * math.exp(-0.2 * 3 / (4 + 4))
    assert kraemer_langenbach_belz(0.8, 1.0, 4.0, 1.0) == pytest.approx(rough)
    assert kraemer_langenbach_belz(0.4, 2.0, 4.0, 1.0) == pytest.approx(2 * rough)
    assert kingman_bound(0.8, 1.0, 0.5, 2.0) == pytest.approx(0.8 * (0.5 / 0.64 + 2) / 0.4)
    assert kingman_bound(1.6, 1.0, 0.5, 2.0, 2) == pytest.approx(1.6 * (0.5 / 2.56 + 1) / 0.4)
    assert kingman_bound(0.8, 0.5, 0.5, 2.0) == pytest.approx(0.8 * (0.5 / 0.64 + 0.5) / 1.2)
    gamma = 0.2 * 1 * (math.sqrt(14) - 2) / (16 * 2 * 0.8)
    assert cosmetatos(1.6, 1.0, 0.0, 2) == pytest.approx(8 / 9 * (1 + gamma))
    assert cosmetatos(1.6, 1.0, 0.5, 2) == pytest.approx(0.5 * 16 / 9 + 0.5 * 8 / 9 * (1 + gamma))
    assert cosmetatos(0.8, 1.0, 0.25) == pytest.approx(0.25 * 4 + 0.75 * 2)


@pytest.mark.parametrize(("ca2", "cs2"), [(1.0, 1.0), (0.5, 0.5), (0.5, 0.25), (0.25, 0.5), (2.0, 1.0), (1.0, 2.0)])
def test_whitts_factor_worked_by_hand(ca2: float, cs2: float) -> None:
    """Whitt (1993), equations 2.16 to 2.25, for two servers at rho 0.8."""
    gamma = min(0.24, 0.2 * (math.sqrt(14) - 2) / (16 * 2 * 0.8))
    phi1, phi3 = 1 + gamma, (1 - 4 * gamma) * math.exp(-2 * 0.2 / 2.4)
    phi4 = min(1.0, (phi1 + phi3) / 2)
    both = (ca2 + cs2) / 2
    psi = phi4 ** (2 * (1 - both)) if both < 1 else 1.0
    if ca2 >= cs2:
        phi = (4 * (ca2 - cs2) * phi1 + cs2 * psi) / (4 * ca2 - 3 * cs2)
    else:
        phi = ((cs2 - ca2) * phi3 + (cs2 + 3 * ca2) * psi) / (2 * (ca2 + cs2))
    assert whitt(1.6, 1.0, ca2, cs2, 2) == pytest.approx(phi * both * 16 / 9)
    assert whitt(0.8, 2.0, ca2, cs2, 2) == pytest.approx(phi * both * 32 / 9)


def test_whitts_factor_is_bounded_where_many_servers_are_lightly_loaded() -> None:
    """With 0.24 for gamma, phi3 is 0.04·exp(...) and phi1 1.24; at rho 0.05 of 20 servers the other is 6.9."""
    exponential = approximations.mmc_wait(1.0, 1.0, 20)
    assert whitt(1.0, 1.0, 1.0, 0.0, 20) == pytest.approx(exponential / 2 * 1.24)
    assert whitt(1.0, 1.0, 0.0, 1.0, 20) == pytest.approx(
        exponential / 2 * (0.04 * math.exp(-2 * 0.95 / 0.15) + (0.62 + 0.02 * math.exp(-2 * 0.95 / 0.15))) / 2
    )


def test_kimura_between_its_corners() -> None:
    even = solve(GGc(Deterministic(1 / 1.6), Exponential(1.0), 2)).Wq
    constant, exponential = solve(MDc(1.6, 1.0, 2)).Wq, 16 / 9
    assert kimura(1.6, 1.0, 0.5, 0.25, 2) == pytest.approx(0.75 / (0.5 / even + 0.75 / constant - 0.5 / exponential))
    assert kimura(0.8, 2.0, 0.5, 0.25, 2) == pytest.approx(2 * kimura(1.6, 1.0, 0.5, 0.25, 2))
    assert kimura(1e-4, 1.0, 0.0, 1.0, 4) == 0
    for ca2, cs2, name in ((1.01, 1.0, "ca2"), (1.0, 1.01, "cs2")):
        with pytest.raises(ValueError, match=f"{name} must be at most 1"):
            kimura(0.8, 1.0, ca2, cs2)


@pytest.mark.parametrize("formula", [allen_cunneen, kraemer_langenbach_belz, kimura, whitt])
def test_nobody_waits_without_arrivals_or_without_chance(formula: object) -> None:
    assert formula(0.0, 1.0, 0.5, 0.5) == 0  # type: ignore[operator]
    assert formula(0.8, 1.0, 0.0, 0.0) == 0  # type: ignore[operator]
    with pytest.raises(UnstableQueueError):
        formula(2.0, 1.0, 0.5, 0.5, 2)  # type: ignore[operator]


def test_the_table_holds_what_is_valid() -> None:
    assert kingman_bound(0.0, 1.0, 1.0, 1.0) == math.inf
    assert cosmetatos(0.0, 1.0, 1.0) == 0
    everyone = {"Allen-Cunneen", "Krämer-Langenbach-Belz", "Whitt", "Kingman"}
    for ca2, cs2, more in (
        (1.0, 1.0, {"Kimura", "Cosmetatos"}),
        (0.5, 1.0, {"Kimura"}),
        (1.0, 1.1, set()),
        (1.1, 1.0, set()),
        (1.1, 1.1, set()),
    ):
        assert set(approximations.table(0.8, 1.0, ca2, cs2)) == everyone | more
    table = approximations.table(0.8, 1.0, 0.5, 2.0)
    assert {name for name, entry in table.items() if entry.kind == "bound"} == {"Kingman"}
    assert table["Whitt"].Wq == pytest.approx(whitt(0.8, 1.0, 0.5, 2.0))


@pytest.mark.parametrize(
    ("c", "arrivals", "name"),
    [
        (1, Gamma(1.0, 0.01), "Krämer-Langenbach-Belz"),
        (2, Gamma(1.25, 0.01), "Kimura"),
        (2, Deterministic(1.25), "Kimura"),
        (1, Gamma(1.0, 0.5), "phase-type fit"),
        (2, Gamma(1.25, 2.0), "phase-type fit"),
        (2, Exponential(1.25), "phase-type fit"),
    ],
)
def test_the_answer_is_the_fit_and_else_the_nearest_author(c: int, arrivals: Distribution, name: str) -> None:
    r = solve(Open(arrivals, LogNormal(0.8 * c, 0.5), c))
    known, lam, a = r.approximations, 1 / arrivals.mean, 0.8 * c / arrivals.mean
    assert ("phase-type fit" in known) == (name == "phase-type fit")
    assert r.method.startswith(f"{name} (")
    assert r.Wq == pytest.approx(min(known[name].Wq, known["Kingman"].Wq))
    for what, (scale, shift) in {"Wq": (1, 0), "W": (1, 0.8 * c), "Lq": (lam, 0), "L": (lam, a)}.items():
        assert getattr(r, what) == pytest.approx(scale * r.Wq + shift)
    fitted = (
        Open(PhaseType.matching(arrivals), PhaseType.matching(LogNormal(0.8 * c, 0.5)), c)
        if name == "phase-type fit"
        else None
    )
    p_wait = erlang_c(c, a) if fitted is None else solve(fitted).p_wait
    assert (r.utilization, r.p_wait) == pytest.approx((a / c, p_wait))


# --- GI/M/c, M/D/c, M/G/1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("arrivals", [Exponential(1.0), Erlang(2, 1.0), HyperExponential((0.5, 0.5), (0.5, 1.5))])
def test_gi_m_c_by_both_ways(arrivals: Distribution, c: int) -> None:
    model = Open(arrivals, Exponential(0.75 * c), c)
    one, other = gimc.solve(queue(model)), solve(Open(PhaseType.of(arrivals), Erlang(1, 0.75 * c), c))
    assert numbers(one) == pytest.approx(numbers(other), rel=1e-8)
    assert [one.p(n) for n in range(c, c + 5)] == pytest.approx([other.p(n) for n in range(c, c + 5)], rel=1e-7)
    for q in (0.5, 0.9, 0.999):
        for of in ("W", "Wq"):
            assert one.quantile(q, of) == pytest.approx(other.quantile(q, of), rel=1e-6, abs=1e-9)
    full = solve(Open(arrivals, Exponential(0.75 * c), c, c))
    chain = solve(Open(PhaseType.of(arrivals), Erlang(1, 0.75 * c), c, c))
    assert numbers(full) == pytest.approx(numbers(chain), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("c", "a"), [(2, 1.0), (4, 3.0), (4, 1.0), (5, 2.0), (2, 1.0004), (3, 1.9)])
def test_the_sum_for_p_wait_is_whole_where_a_term_vanishes(c: int, a: float) -> None:
    """Of Poisson arrivals σ = a/c, and the ratio for j = c - a is 0/0 where the load is a whole number."""
    assert gimc.waiting_probability(Exponential(1 / a), 1.0, c, a / c) == pytest.approx(erlang_c(c, a), rel=1e-7)
    assert gimc.blocking_probability(Exponential(1 / a), 1.0, c) == pytest.approx(erlang_b(c, a))


def test_p_of_gi_m_1_is_known_for_everyone() -> None:
    states = gimc.solve(queue(Open(Erlang(2, 1.0), Exponential(0.5), 1)))
    assert states.p(0) == pytest.approx(0.5)
    assert math.fsum(states.p(n) for n in range(200)) == pytest.approx(1)
    nobody_waits = gimc.GeometricTailStates(0.4, 1, 0.0, 0.0)
    assert [nobody_waits.p(n) for n in range(4)] == [0.6, 0.4, 0.0, 0.0]
    several = gimc.GeometricTailStates(0.4, 2, 0.0, 0.0)
    assert several.p(3) == 0
    with pytest.raises(ValueError, match="not known"):
        several.p(2)


@pytest.mark.parametrize("load", [0.5, 0.99, 1 - 1e-6, 1 - 1e-9])
def test_sigma_is_the_root(load: float) -> None:
    """For Erlang-2 gaps (1 + r·y/2)²·(1 - y) = 1 with y = 1 - σ: a quadratic once the root y = 0 is divided out."""
    gaps, rate = Erlang(2, 1.0), 1 / load
    y = min(root.real for root in np.roots([-rate * rate / 4, rate * rate / 4 - rate, rate - 1]) if root.real > 0)
    assert 1 - gimc.sigma(gaps, rate) == pytest.approx(y, rel=1e-5)


@pytest.mark.parametrize(("a", "c"), [(0.9, 1), (1.8, 2), (2.0, 3), (3.6, 4)])
def test_m_d_c_steps_from_service_to_service(a: float, c: int) -> None:
    """N' = max(N - c, 0) + Poisson(a), found by going on until nothing changes."""
    size = 400
    arrive = poisson.pmf(np.arange(size), a)
    p = np.zeros(size)
    p[0] = 1.0
    for _ in range(3000):
        left = np.concatenate(([p[: c + 1].sum()], p[c + 1 :]))
        p, before = np.convolve(left, arrive)[:size], p
        if np.abs(p - before).max() < 1e-15:
            break
    n = np.arange(size)
    r = solve(MDc(a, 1.0, c))
    assert [r.L, r.Lq] == pytest.approx([p @ n, p @ np.maximum(n - c, 0)], rel=1e-8)
    assert [r.p(i) for i in range(40)] == pytest.approx(p[:40], abs=1e-10)
    assert r.p_wait == pytest.approx(p[c:].sum(), rel=1e-8)
    scaled = solve(MDc(a / 2, 2.0, c))
    assert [scaled.Wq, scaled.W, scaled.L] == pytest.approx([2 * r.Wq, 2 * r.W, r.L])


def test_m_d_1_waits_as_published() -> None:
    """Erlang (1909): P(Wq <= t) = (1 - a)·e^(at) for t below one service, then with one term more."""
    a = 0.6
    r = solve(MD1(a, 1.0))
    for t in (0.25, 0.75):
        assert r.quantile((1 - a) * math.exp(a * t), "Wq") == pytest.approx(t, rel=1e-9)
    second = (1 - a) * (math.exp(1.5 * a) - a * 0.5 * math.exp(0.5 * a))
    assert r.quantile(second, "Wq") == pytest.approx(1.5, rel=1e-9)
    assert r.quantile(second) == pytest.approx(2.5, rel=1e-9)
    assert r.quantile(0.3, "Wq") == 0
    far = [r.p(n + 1) / r.p(n) for n in (80, 200)]
    assert far == pytest.approx([1 / mdc.decay(a, 1)] * 2, rel=1e-6)
    tau = mdc.decay(2.0, 3)
    assert tau > 1
    assert tau**3 == pytest.approx(math.exp(2.0 * (tau - 1)))


def test_the_mean_of_m_d_c_by_both_ways() -> None:
    """By the sum of positive terms, and near saturation by the roots: between them the series is smooth."""
    for c in (1, 2, 5):
        for rho in (0.9, 0.97):
            a = rho * c
            roots = sum(1 / (1 - z) for z in mdc.roots_inside(a, c)).real
            by_roots = (c - (c - a) ** 2) / (2 * (c - a)) + roots - a
            assert mdc.mean_waiting_number(a, c) == pytest.approx(by_roots, rel=1e-9)
        near = c * (1 - 1e-4)
        # Heavy traffic: Lq·(1 - rho) tends to 1/2.
        assert mdc.mean_waiting_number(near, c) * 1e-4 == pytest.approx(0.5, rel=2e-3)
    assert mdc.mean_waiting_number(0.999, 1) == pytest.approx(0.999**2 / 2 / 0.001, rel=1e-9)


LAWS = [
    Deterministic(0.7),
    Exponential(0.7),
    Erlang(3, 0.7),
    Gamma(0.7, 0.4),
    LogNormal(0.7, 1.5),
    Weibull(1.5, 0.7),
    Empirical((0.2, 0.5, 1.4)),
    Empirical((0.0, 0.4), (1.0, 3.0), (0.4, 0.8)),
]


@pytest.mark.parametrize("service", LAWS, ids=str)
def test_arrivals_during_a_service_have_its_mean_and_transform(service: Distribution) -> None:
    """Their number has the mean λE[S], is zero with the transform's probability, and E[N(N-1)] = λ²E[S²]."""
    rate = 1.1
    more = arrivals_during.more_than(service, rate, 150)
    assert more[0] == pytest.approx(1 - service.transform(rate), rel=1e-7)
    assert more.sum() == pytest.approx(rate * service.mean, rel=1e-7)
    assert 2 * more @ np.arange(151) == pytest.approx(rate**2 * service.moment(2), rel=1e-5)


def test_a_series_times_its_reciprocal_is_one() -> None:
    series = np.concatenate(([2.0], 0.5 ** np.arange(1, 11)))
    product = np.convolve(series, reciprocal(series))[:11]
    assert product == pytest.approx([1] + [0] * 10, abs=1e-12)
    assert reciprocal(np.array([1.0, -0.5, 0, 0, 0])) == pytest.approx(0.5 ** np.arange(5))


def test_times_of_m_g_1_enclose_the_exact_ones_of_m_m_1() -> None:
    """Wq of M/M/1: P(Wq > t) = ρe^(-(1-ρ)t), and W is exponential of mean 1/(1-ρ)."""
    times = CompoundTimes(Exponential(1.0), 0.8, 4.0)
    for t in (0.5, 4.0, 20.0):
        low, high = times.survival_interval(t, "Wq")
        assert low <= 0.8 * math.exp(-0.2 * t) <= high
        assert high - low < 2e-3
        low, high = times.survival_interval(t, "W")
        assert low <= math.exp(-0.2 * t) <= high
        assert high - low < 2e-3
    for q in (0.3, 0.9, 0.999):
        low, high = times.quantile_interval(q, "W")
        assert low <= -5 * math.log1p(-q) <= high
        assert high - low < 5e-3 * -5 * math.log1p(-q)
        low, high = times.quantile_interval(q, "Wq")
        assert low <= 5 * math.log(0.8 / (1 - q)) <= high
    assert times.quantile_interval(0.2, "Wq") == (0, 0)
    assert times.quantile_interval(0.1, "Wq") == (0, 0)
    assert times.quantile(0.9, "W") == pytest.approx(5 * math.log(10), rel=1e-3)
    for q in (0.05, 0.3):  # on a lattice of their own
        low, high = times.quantile_interval(q, "W")
        assert high - low < 2e-4 * high


# --- priorities and sizes -------------------------------------------------------------------------------------------


def test_priorities_worked_by_hand() -> None:
    """λ 0.2 and 0.3 of mean 1 and 2, exponential: W0 = 0.2·1 + 0.3·4 = 1.4; σ = 0.2, 0.8."""
    classes = [Flow(Exponential(5.0), Exponential(1.0), 0), Flow(Exponential(1 / 0.3), Exponential(2.0), 1)]
    waits = {
        "none": [1.4 / 0.2] * 2,
        "non-preemptive": [1.4 / 0.8, 1.4 / (0.8 * 0.2)],
        "preemptive-resume": [0.2 / 0.8, 2 * 0.2 / 0.8 + 1.4 / (0.8 * 0.2)],
    }
    for priority, wanted in waits.items():
        r = solve(queue_of(classes, priority=priority))  # type: ignore[arg-type]
        assert [c.Wq for c in r.classes] == pytest.approx(wanted)
        assert [c.W for c in r.classes] == pytest.approx([wanted[0] + 1, wanted[1] + 2])
        assert [c.utilization for c in r.classes] == pytest.approx([0.2, 0.6])
        assert [c.throughput for c in r.classes] == pytest.approx([0.2, 0.3])
        assert [c.Lq for c in r.classes] == pytest.approx([0.2 * wanted[0], 0.3 * wanted[1]])
        L, Lq = 0.2 * wanted[0] + 0.3 * wanted[1] + 0.8, 0.2 * wanted[0] + 0.3 * wanted[1]
        assert [r.L, r.Lq, r.W, r.Wq, r.utilization] == pytest.approx([L, Lq, L / 0.5, Lq / 0.5, 0.8])
        waiting = [r.p_wait, *(c.p_wait for c in r.classes)]
        assert waiting == pytest.approx([math.nan if priority == "preemptive-resume" else 0.8] * 3, nan_ok=True)


def test_priorities_on_two_servers_worked_by_hand() -> None:
    """Loads 0.5 and 1 of mean 1 on two servers: C(2, 1.5) = 9/14, C(2, 0.5) = 1/10."""
    classes = [Flow(Exponential(1 / lam), Exponential(1.0), i) for i, lam in enumerate((0.5, 1.0))]
    behind = queue_of(classes, 2, "non-preemptive")
    r = solve(behind)
    assert [c.Wq for c in r.classes] == pytest.approx([9 / 28 / 0.75, 9 / 28 / (0.75 * 0.25)])
    assert [c.utilization for c in r.classes] == pytest.approx([0.25, 0.5])
    assert [r.p_wait, *(c.p_wait for c in r.classes)] == pytest.approx([9 / 14] * 3)
    ahead = solve(queue_of(classes, 2, "preemptive-resume"))
    first, both = 0.1 * 0.5 / 1.5, 9 / 14 * 1.5 / 0.5  # Lq of the first alone, and of both
    assert [c.Wq for c in ahead.classes] == pytest.approx([first / 0.5, (both - first) / 1.0])
    assert math.isnan(ahead.p_wait)
    alike = solve(queue_of(classes, 2))
    assert [c.Wq for c in alike.classes] == pytest.approx([9 / 14 / 0.5] * 2)


def test_bondi_and_buzen_scale_one_fast_server() -> None:
    classes = [Flow(Exponential(1.0), Exponential(0.5), 0), Flow(Exponential(1.0), Erlang(2, 1.0), 1)]
    r = solve(queue_of(classes, 2, "non-preemptive"))
    fast = [Flow(k.arrivals, k.service.scaled(0.5), k.priority) for k in classes]
    one, alike = solve(queue_of(fast, 1, "non-preemptive")), solve(queue_of(fast, 1)).Wq
    several = solve(queue_of(classes, 2)).Wq
    assert r.kind == "approximation"
    assert [c.Wq for c in r.classes] == pytest.approx([c.Wq * several / alike for c in one.classes])
    with pytest.raises(UnstableQueueError):
        solve(queue_of([Flow(Exponential(1.0), Exponential(2.0))], 2))


def test_jobs_of_one_size_are_served_in_turn_and_shared_by_srpt() -> None:
    """Of constant jobs SJF is FCFS, W = 1 + ρ/(2(1-ρ)); none is shorter, so PSJF and SRPT are FCFS too."""
    wanted = 1 + 0.6 / 0.8
    for rule in ("SJF", "PSJF", "SRPT"):
        assert mean_response(0.6, Deterministic(1.0), rule) == pytest.approx(wanted, rel=1e-5)  # type: ignore[arg-type]
        assert response_of(0.6, Deterministic(1.0), 1.0, rule) == pytest.approx(wanted, rel=1e-4)  # type: ignore[arg-type]
        assert mean_response(0.0, Deterministic(1.0), rule) == 1  # type: ignore[arg-type]
        with pytest.raises(UnstableQueueError):
            mean_response(1.0, Deterministic(1.0), rule)  # type: ignore[arg-type]


def test_two_sizes_are_two_priorities() -> None:
    """Sizes 1 and 3, half each, at rate 0.3: SJF is Cobham's, PSJF White and Christie's."""
    half = [Flow(Exponential(1 / 0.15), Deterministic(size), i) for i, size in enumerate((1.0, 3.0))]
    sizes = Empirical((1.0, 3.0))
    for rule, priority in (("SJF", "non-preemptive"), ("PSJF", "preemptive-resume")):
        r = solve(queue_of(half, priority=priority))  # type: ignore[arg-type]
        assert mean_response(0.3, sizes, rule) == pytest.approx(r.W, rel=1e-5)  # type: ignore[arg-type]
        for size, part in zip((1.0, 3.0), r.classes, strict=True):
            assert response_of(0.3, sizes, size, rule) == pytest.approx(part.W, rel=1e-4)  # type: ignore[arg-type]
    # SRPT of a job of 1: itself and half a job of its own size ahead, λE[min(S, 1)²]/(2(1 - 0.15)) at the first load.
    first = 1 + 0.3 * 1.0 / (2 * 0.85)
    assert response_of(0.3, sizes, 1.0, "SRPT") == pytest.approx(first, rel=1e-4)
    # Of 3: the integral of 1/(1 - ρ(t)) is 1 + 2/0.85, and what is ahead λE[S²]/(2·0.85·0.4).
    assert response_of(0.3, sizes, 3.0, "SRPT") == pytest.approx(1 + 2 / 0.85 + 0.3 * 5 / (2 * 0.85 * 0.4), rel=1e-4)
