"""Percentiles and variances called exact, of queues of several servers, against chains built here.

First come first served with phase-type times: a Markov chain of labelled servers, cut where nobody is, its times by
the exponential of a matrix. A larger number of random models: QSIM_MODELS=100.
"""

from __future__ import annotations

import itertools
import math
import os

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import sparse
from scipy.sparse.linalg import expm_multiply, spsolve
from scipy.stats import gamma
from test_times_agree import transform_of

from qsim import Distribution, Erlang, Exponential, GGc, HyperExponential, Metrics, MMc, solve

MODELS = int(os.environ.get("QSIM_MODELS", "4"))
QUANTILES = (0.5, 0.9, 0.999)
ACCURACY = 3e-7


class Chain:
    """GI/G/c of phase-type times: its waits, from the states that arrivals find."""

    def __init__(self, arrivals: Distribution, service: Distribution, c: int) -> None:  # noqa: PLR0912
        (a, A), (b, S) = arrivals.phases(), service.phases()  # type: ignore[misc]
        rho = service.mean / arrivals.mean / c
        levels = c + 40 + math.ceil(24 * max(1.0, (arrivals.scv + service.scv) / 2) / (1 - rho))
        busy = [list(itertools.product(range(b.size), repeat=min(n, c))) for n in range(c + 1)]
        place: dict[tuple[int, int, tuple[int, ...]], int] = {}
        for n, phase in itertools.product(range(levels), range(a.size)):
            for state in busy[min(n, c)]:
                place[n, phase, state] = len(place)
        ways: list[tuple[int, int, float]] = []
        comes, ends = -A.sum(axis=1), -S.sum(axis=1)
        for (n, phase, state), i in place.items():
            for to in range(a.size):
                if to != phase:
                    ways.append((i, place[n, to, state], A[phase, to]))
                for start in range(b.size if n < c else 1):
                    more = (*state, start) if n < c else state
                    share = b[start] if n < c else 1.0
                    if n + 1 < levels:
                        ways.append((i, place[n + 1, to, more], comes[phase] * a[to] * share))
            for k, at in enumerate(state):
                rest = (*state[:k], *state[k + 1 :])
                ways += [
                    (i, place[n, phase, (*state[:k], m, *state[k + 1 :])], S[at, m]) for m in range(b.size) if m != at
                ]
                after = [(*state[:k], m, *state[k + 1 :]) for m in range(b.size)] if n > c else [rest]
                shares = b if n > c else [1.0]
                ways += [(i, place[n - 1, phase, s], ends[at] * p) for s, p in zip(after, shares, strict=True)]
        balance = _generator(ways, len(place)).T.tolil()
        balance[0] = 1.0
        p = spsolve(balance.tocsr(), np.eye(1, len(place))[0])
        # The customer that is followed: how many must leave before it starts, and what servers do; then its service.
        self.here: dict[tuple[int, ...], int] = {}
        for k in range(1, levels - c + 1):
            for state in busy[c]:
                self.here[k, *state] = len(self.here)
        first = len(self.here)
        ways = [(first + m, first + to, S[m, to]) for m in range(b.size) for to in range(b.size) if m != to]
        out = {first + m: ends[m] for m in range(b.size)}
        for (k, *state), i in self.here.items():
            for j, at in enumerate(state):
                for m in range(b.size):
                    now = (*state[:j], m, *state[j + 1 :])
                    if m != at:
                        ways.append((i, self.here[k, *now], S[at, m]))
                    ways.append((i, self.here[k - 1, *now] if k > 1 else first + m, ends[at] * b[m]))
        self.moves, self.waiting = _generator(ways, first + b.size, out).T.tocsr(), first
        self.start = np.zeros(first + b.size)
        for (n, phase, state), i in place.items():
            seen = p[i] * comes[phase] * arrivals.mean
            if n < c:
                self.start[first:] += seen * b
            elif n - c + 1 <= levels - c:
                self.start[self.here[n - c + 1, *state]] += seen

    def survival(self, t: float, of: str) -> float:
        left = expm_multiply(self.moves * t, self.start)
        return float(left[: self.waiting].sum() if of == "Wq" else left.sum())


def _generator(ways: list[tuple[int, int, float]], size: int, out: dict[int, float] | None = None) -> sparse.csr_array:
    i, j, rate = (np.array(column) for column in zip(*ways, strict=True))
    Q = sparse.coo_array((rate, (i, j)), shape=(size, size)).tocsr()
    leave = np.asarray(Q.sum(axis=1)).ravel() + np.array([(out or {}).get(k, 0.0) for k in range(size)])
    return (Q - sparse.diags_array(leave)).tocsr()


def law(rng: np.random.Generator, mean: float) -> Distribution:
    kinds = (
        lambda: Exponential(mean),
        lambda: Erlang(2, mean),
        lambda: HyperExponential.from_moments(mean, float(rng.choice([1.5, 4.0, 20.0]))),
    )
    return kinds[rng.integers(3)]()


@pytest.mark.parametrize("seed", range(MODELS))
def test_first_come_first_served_on_servers_is_its_chain(seed: int) -> None:
    """M/M/c, GI/M/c and PH/PH/c."""
    rng = np.random.default_rng(seed)
    c, rho = int(rng.integers(1, 4)), float(rng.choice([0.3, 0.7, 0.9]))
    arrivals, service = law(rng, 1 / rho / c), law(rng, 1.0)
    r, chain = solve(GGc(arrivals, service, c)), Chain(arrivals, service, c)
    assert r.kind == "exact"
    for of, q in itertools.product(("W", "Wq"), QUANTILES):
        t = r.quantile(q, of)
        assert (t > 0) == (of == "W" or q > 1 - r.p_wait)
        if t > 0:
            assert chain.survival(t, of) == pytest.approx(1 - q, abs=ACCURACY), (of, q)
            assert r.survival(1.3 * t, of) == pytest.approx(chain.survival(1.3 * t, of), abs=ACCURACY)


@pytest.mark.parametrize(
    ("arrivals", "service", "q"),
    [
        (Exponential(1 / 1.4), HyperExponential.from_moments(1.0, 100.0), 0.999),
        (HyperExponential.from_moments(1 / 1.4, 100.0), Erlang(2, 1.0), 0.999),
        (Exponential(1.0), HyperExponential.from_moments(1.0, 200.0), 0.9),
        pytest.param(Exponential(1.0), HyperExponential.from_moments(1.0, 1000.0), 0.9, marks=pytest.mark.slow),
    ],
)
def test_two_servers_of_extreme_laws_are_their_chain(arrivals: Distribution, service: Distribution, q: float) -> None:
    t = solve(GGc(arrivals, service, 2)).quantile(q)
    assert Chain(arrivals, service, 2).survival(t, "W") == pytest.approx(1 - q, abs=1e-9)


@pytest.mark.parametrize("rho", [0.5, 0.99, 0.9999])
@pytest.mark.parametrize("c", [1, 2, 7])
def test_m_m_c_is_a_mixture_of_erlang_times(c: int, rho: float) -> None:
    r = solve(MMc(rho * c, 1.0, c))
    most = c + math.ceil(40 / (1 - rho))
    steps = np.log(rho * c) - np.log(np.minimum(np.arange(1, most), c))
    p = np.exp(np.append(0.0, np.cumsum(steps)))
    p /= p.sum()
    for q in QUANTILES:
        t = r.quantile(q, "Wq")
        known = float(p[c:] @ gamma.sf(t, np.arange(1, most - c + 1), scale=1 / c))
        assert r.survival(t, "Wq") == pytest.approx(known, abs=1e-9)
        assert known == pytest.approx(1 - q, abs=1e-9) if t > 0 else known <= 1 - q


@pytest.mark.parametrize("scv", [0.2, 10.0, 1000.0])
@pytest.mark.parametrize("rho", [0.3, 0.99, 0.9999])
def test_one_server_of_any_arrivals_is_a_root_in_sixty_digits(scv: float, rho: float) -> None:
    """GI/M/1: the wait is 0, or exponential of rate 1 - σ, σ = A(1 - σ)."""
    arrivals = Erlang(5, 1 / rho) if scv < 1 else HyperExponential.from_moments(1 / rho, scv)
    r = solve(GGc(arrivals, Exponential(1.0), 1))
    with mp.workdps(60):
        A = transform_of(arrivals)
        low, high = mpf(10) ** -12, mpf(1)
        for _ in range(200):  # x = 1 - σ, the root above zero of A(x) - 1 + x
            middle = (low + high) / 2
            low, high = (middle, high) if A(middle) - 1 + middle < 0 else (low, middle)
        rest = float(low)
    for q in QUANTILES:
        if q > rest:
            assert r.quantile(q, "Wq") == pytest.approx(math.log((1 - rest) / (1 - q)) / rest, rel=1e-6)
        assert r.quantile(q, "W") == pytest.approx(-math.log(1 - q) / rest, rel=1e-6)
    assert r.variance("W") == pytest.approx(rest**-2, rel=1e-6)


def test_a_variance_is_that_of_the_chain() -> None:
    r: Metrics = solve(GGc(Erlang(2, 0.6), HyperExponential.from_moments(1.0, 4.0), 2))
    chain = Chain(Erlang(2, 0.6), HyperExponential.from_moments(1.0, 4.0), 2)
    t = np.linspace(0, 40 * r.W, 1001)
    lasting = expm_multiply(chain.moves, chain.start, 0.0, float(t[-1]), t.size).sum(axis=1)
    second = 2 * np.trapezoid(t * lasting, t)
    assert r.variance("W") == pytest.approx(second - r.W**2, rel=1e-3)
