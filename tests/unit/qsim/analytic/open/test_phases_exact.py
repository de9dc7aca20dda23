"""Queues with phases against the Markov chain of every phase, and the matrices they are solved by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from markov_chains import Moves, stationary

from qsim import Deterministic, Erlang, Exponential, HyperExponential, Open, solve, wait_variance
from qsim.analytic.open import mg1

SHARES, MEANS = (0.4, 0.6), (0.5, 1.5)


@pytest.mark.parametrize(("c", "K"), [(1, 3), (2, 2), (2, 4), (3, 5), (1, None), (2, None)])
def test_erlang_arrivals_and_hyperexponential_services_are_their_chain(c: int, K: int | None) -> None:
    """A state is the phase of the next arrival, those waiting, and the phases in service in order."""
    gap, most = 1.3 / c, K or 120

    def moves(state: tuple[int, int, tuple[int, ...]]) -> Moves:
        phase, waiting, serving = state
        rate = 2 / gap
        if phase == 0:
            yield rate, (1, waiting, serving)
        elif waiting + len(serving) >= most:
            yield rate, (0, waiting, serving)
        elif len(serving) < c:
            for i, share in enumerate(SHARES):
                yield rate * share, (0, waiting, tuple(sorted((*serving, i))))
        else:
            yield rate, (0, waiting + 1, serving)
        for place, i in enumerate(serving):
            rest = serving[:place] + serving[place + 1 :]
            if waiting:
                for j, share in enumerate(SHARES):
                    yield share / MEANS[i], (phase, waiting - 1, tuple(sorted((*rest, j))))
            else:
                yield 1 / MEANS[i], (phase, 0, rest)

    p = stationary((0, 0, ()), moves)  # type: ignore[arg-type]
    S = sum(s * m for s, m in zip(SHARES, MEANS, strict=True))

    def mean(of: object) -> float:
        return math.fsum(q * of(*state) for state, q in p.items())  # type: ignore[operator, misc]

    # An arrival comes from phase 1 alone.
    comes = mean(lambda phase, w, s: phase == 1)
    lost = mean(lambda phase, w, s: phase == 1 and w + len(s) >= most) / comes if K else 0.0
    waits = mean(lambda phase, w, s: phase == 1 and c <= w + len(s) < most) / comes / (1 - lost)
    X = (1 - lost) / gap
    L, Lq = mean(lambda phase, w, s: w + len(s)), mean(lambda phase, w, s: w)
    r = solve(Open(Erlang(2, gap), HyperExponential(SHARES, MEANS), c, K))
    found = [r.throughput, r.utilization, r.L, r.Lq, r.W, r.Wq, r.p_wait, r.p_block]
    assert found == pytest.approx([X, X * S / c, L, Lq, L / X, Lq / X, waits, lost], rel=1e-7, abs=1e-10)
    states = [mean(lambda phase, w, s, n=n: w + len(s) == n) for n in range(7)]
    assert [r.p(n) for n in range(7)] == pytest.approx(states, rel=1e-6, abs=1e-10)
    # The times have these means: survival integrated over t.
    times = r.times
    assert times is not None
    t = np.linspace(0, 60, 6001)
    for of, wanted in (("W", L / X), ("Wq", Lq / X)):
        survival = [times.survival(float(x), of) for x in t[::20]]  # type: ignore[attr-defined]
        assert np.trapezoid(survival, t[::20]) == pytest.approx(wanted, rel=0.02, abs=2e-3)
        assert survival[0] == pytest.approx(1.0 if of == "W" else waits, abs=1e-9)


def test_the_variance_of_the_wait_by_hand() -> None:
    """Exponential of mean 1 at rate a half: λE[S³]/(3(1-ρ)) + Wq² = 3/1.5 + 1 = 3; constant: 0.5/1.5 + 0.25."""
    assert mg1.wait_variance(0.5, Exponential(1.0)) == pytest.approx(3)
    assert mg1.wait_variance(0.5, Deterministic(1.0)) == pytest.approx(0.5 / 1.5 + 0.25)
    assert mg1.mean_wait(0.25, Deterministic(2.0)) == pytest.approx(1.0)
    second = 3 + 1
    assert wait_variance(0.5, Exponential(1.0), "LCFS") == pytest.approx(second / 0.5 - 1)
    assert wait_variance(0.5, Exponential(1.0), "SIRO") == pytest.approx(second * 2 / 1.5 - 1)
