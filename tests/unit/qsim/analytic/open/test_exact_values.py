"""Open queues at points where the answer can be worked out by hand, by another formula, or as a Markov chain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from class_networks import Flow, queue_of
from markov_chains import Moves, stationary

from qsim import (
    MM1,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Metrics,
    MMc,
    MMcK,
    Open,
    UnstableQueueError,
    erlang_c,
    solve,
)
from qsim.analytic.open import gimc, mmc, priorities
from qsim.analytic.open.disciplines import mean_response

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


def test_times_in_m_m_1_and_m_m_c_at_given_probabilities() -> None:
    one = solve(MM1(0.8, 1.0))
    assert one.quantile(0.9) == pytest.approx(5 * math.log(10))
    assert one.quantile(0.9, "Wq") == pytest.approx(5 * math.log(8))
    assert one.quantile(0.2, "Wq") == 0
    assert one.quantile(0.19, "Wq") == 0
    times = mmc.ErlangTimes(3 - 2.0, 1.0, erlang_c(3, 2.0))  # spare rate 1 = c - a: here d = 0
    assert times.response_survival(2.0) == pytest.approx(math.exp(-2) * (1 + 4 / 9 * 2))
    assert times.quantile(1 - 2 / 9, "Wq") == pytest.approx(math.log(2))
    assert times.quantile(5 / 9, "Wq") == pytest.approx(0, abs=1e-12)
    assert times.quantile(0.5, "Wq") == 0


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


# --- GI/M/c, M/D/c, M/G/1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.5, 0.99, 1 - 1e-6, 1 - 1e-9])
def test_the_rest_of_sigma_is_the_root(load: float) -> None:
    """For Erlang-2 gaps (1 + r·y/2)²·(1 - y) = 1 with y = 1 - σ: a quadratic once the root y = 0 is divided out."""
    gaps, rate = Erlang(2, 1.0), 1 / load
    y = min(root.real for root in np.roots([-rate * rate / 4, rate * rate / 4 - rate, rate - 1]) if root.real > 0)
    assert gimc.rest(gaps, rate) == pytest.approx(y, rel=1e-5)


def test_states_of_gi_m_1_are_geometric_from_one_on() -> None:
    """P(0) = 1 - ρ, P(n) = ρ (1 - σ) σⁿ⁻¹, with ρ = 1/2 (Takács 1962)."""
    root = 1 - gimc.rest(Erlang(2, 1.0), 2.0)
    found = solve(Open(arrivals=Erlang(2, 1.0), service=Exponential(0.5)))
    wanted = [0.5, *(0.5 * (1 - root) * root**n for n in range(4))]
    assert found.p(range(5)).tolist() == pytest.approx(wanted)
    assert found.L == pytest.approx(0.5 / (1 - root))


def test_states_of_m_d_1_are_those_of_its_embedded_chain() -> None:
    """P(0) = 1 - ρ, P(1) = (1 - ρ)(e^ρ - 1), with λ = 1.6 and services of 1/2."""
    found = solve(Open(Exponential(1 / 1.6), Deterministic(0.5)))
    assert found.p(range(2)).tolist() == pytest.approx([0.2, 0.2 * math.expm1(0.8)])


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
        assert {part.method.split()[0] for part in (r, *r.classes)} == {
            "Pollaczek-Khinchine" if priority == "none" else priority
        }
        assert [c.W for c in r.classes] == pytest.approx([wanted[0] + 1, wanted[1] + 2])
        assert [c.utilization for c in r.classes] == pytest.approx([0.2, 0.6])
        assert [c.throughput for c in r.classes] == pytest.approx([0.2, 0.3])
        assert [c.Lq for c in r.classes] == pytest.approx([0.2 * wanted[0], 0.3 * wanted[1]])
        L, Lq = 0.2 * wanted[0] + 0.3 * wanted[1] + 0.8, 0.2 * wanted[0] + 0.3 * wanted[1]
        assert [r.L, r.Lq, r.W, r.Wq, r.utilization] == pytest.approx([L, Lq, L / 0.5, Lq / 0.5, 0.8])
        waiting = [r.p_wait, *(c.p_wait for c in r.classes)]
        assert waiting == pytest.approx([math.nan if priority == "preemptive-resume" else 0.8] * 3, nan_ok=True)


def test_priorities_on_two_servers_worked_by_hand() -> None:
    """λ 0.4 and 0.8 of mean 1: C(2, 1.2) = 0.45, so W0 = 0.225; σ = 0.2, 0.6; and C(2, 0.4) = 1/15, Lq = 1/60."""
    classes = [Flow(Exponential(2.5), Exponential(1.0), 0), Flow(Exponential(1.25), Exponential(1.0), 1)]
    waits = {
        "non-preemptive": [0.225 / 0.8, 0.225 / (0.8 * 0.4)],
        "preemptive-resume": [1 / 60 / 0.4, (0.45 * 0.6 / 0.4 - 1 / 60) / 0.8],
    }
    for priority, wanted in waits.items():
        r = solve(queue_of(classes, 2, priority=priority))
        assert [c.Wq for c in r.classes] == pytest.approx(wanted)
        assert r.method == priorities.SEVERAL[priority]
        assert r.p_wait == pytest.approx(0.45 if priority == "non-preemptive" else math.nan, nan_ok=True)


def test_jobs_of_one_size_are_served_in_turn_and_shared_by_srpt() -> None:
    """Of constant jobs SJF is FCFS, W = 1 + ρ/(2(1-ρ)); none is shorter, so PSJF and SRPT are FCFS too."""
    wanted = 1 + 0.6 / 0.8
    for rule in ("SJF", "PSJF", "SRPT"):
        assert mean_response(0.6, Deterministic(1.0), rule) == pytest.approx(wanted, rel=1e-5)
        with pytest.raises(UnstableQueueError):
            solve(Open(Exponential(1.0), Deterministic(1.0), discipline=rule))  # type: ignore[arg-type]


def test_two_sizes_are_two_priorities() -> None:
    """Sizes 1 and 3, half each, at rate 0.3: SJF is Cobham's, PSJF White and Christie's."""
    half = [Flow(Exponential(1 / 0.15), Deterministic(size), i) for i, size in enumerate((1.0, 3.0))]
    sizes = Empirical((1.0, 3.0))
    for rule, priority in (("SJF", "non-preemptive"), ("PSJF", "preemptive-resume")):
        r = solve(queue_of(half, priority=priority))  # type: ignore[arg-type]
        assert mean_response(0.3, sizes, rule) == pytest.approx(r.W, rel=1e-5)
    # SRPT of a job of 1: itself and half a job of its own size ahead, λE[min(S, 1)²]/(2(1 - 0.15)) at the first load.
    first = 1 + 0.3 * 1.0 / (2 * 0.85)
    # Of 3: the integral of 1/(1 - ρ(t)) is 1 + 2/0.85, and what is ahead λE[S²]/(2·0.85·0.4).
    second = 1 + 2 / 0.85 + 0.3 * 5 / (2 * 0.85 * 0.4)
    assert mean_response(0.3, sizes, "SRPT") == pytest.approx((first + second) / 2, rel=1e-4)
