"""MAP: its moments against other processes, its fit, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from qsim import MAP, Erlang, Exponential, OnOff, Open, solve
from qsim.engines.variates.arrival_streams import sampler
from qsim.errors import InvalidParameterError


def test_a_modulated_poisson_process_is_one() -> None:
    bursts = OnOff(3.0, 2.0, 4.0)
    same = MAP(*(matrix.tolist() for matrix in bursts.matrices))
    assert same.mean == pytest.approx(bursts.mean)
    assert same.dispersion == pytest.approx(bursts.dispersion)
    service = Erlang(2, 0.7)
    assert solve(Open(same, service)).W == pytest.approx(solve(Open(bursts, service)).W, rel=1e-12)


def test_uncorrelated_gaps_are_a_renewal_process() -> None:
    erlang = MAP([[-4.0, 4.0], [0.0, -4.0]], [[0.0, 0.0], [4.0, 0.0]])
    assert erlang.scv == pytest.approx(0.5)
    assert erlang.correlation(1) == pytest.approx(0.0, abs=1e-12)
    assert erlang.dispersion == pytest.approx(0.5)
    assert solve(Open(erlang, Exponential(0.3))).W == pytest.approx(solve(Open(Erlang(2, 0.5), Exponential(0.3))).W)


@pytest.mark.parametrize(("scv", "lag1"), [(4.0, 0.2), (2.0, 0.0), (9.0, 0.4), (3.0, -0.03)])
def test_moments_come_back(scv: float, lag1: float) -> None:
    made = MAP.from_moments(2.0, scv, lag1)
    assert (made.mean, made.scv) == pytest.approx((2.0, scv))
    assert made.correlation(1) == pytest.approx(lag1, abs=1e-12)


def test_a_fit_finds_the_process_that_was_recorded() -> None:
    made, gaps = MAP.from_moments(2.0, 3.0, 0.2), np.empty(400_000)
    sampler(made).fill(np.random.default_rng(4), gaps)
    found = MAP.fit(gaps)
    assert (found.mean, found.scv) == pytest.approx((2.0, 3.0), rel=0.05)
    assert found.correlation(1) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: MAP([[-1.0]], [[2.0]]), r"row 0 of D0 \+ D1 must add up to 0, not 1.0: set D0\[0\]\[0\] to -2.0"),
        (
            lambda: MAP([[-1.0, -1.0], [0.0, -1.0]], [[2.0, 0.0], [1.0, 0.0]]),
            "row 0 of D0 and D1 must have no negative",
        ),
        (lambda: MAP([[-1.0]], [[1.0, 0.0]]), "square and alike"),
        (lambda: MAP([[-1.0, 1.0], [1.0, -1.0]], [[0.0, 0.0], [0.0, 0.0]]), "D1 must not be all zero"),
        (lambda: MAP([[-2.0, 0.0], [0.0, -2.0]], [[2.0, 0.0], [1.0, 1.0]]), "every state be reached"),
        (lambda: MAP.from_moments(1.0, 0.5, 0.0), "scv must be above 1"),
        (lambda: MAP.from_moments(1.0, 4.0, 0.4), "lag1 must be from -0.0476 to below 0.375"),
        (lambda: MAP.fit([1.0, 2.0]), "gaps must be at least 100, not 2"),
        (lambda: MAP.fit([1.0] * 200), "gaps must not all be alike"),
    ],
)
def test_what_is_no_process_is_refused(made: object, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        made()  # type: ignore[operator]
