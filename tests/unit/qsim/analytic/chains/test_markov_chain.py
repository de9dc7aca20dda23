"""Chains: long run, a time, balance, picture, and what is refused."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.linalg import expm

from qsim import MarkovChain, MMcK, solve
from qsim.analytic.chains.markov_chain import stationary

RATES = {("a", "b"): 2.0, ("b", "c"): 1.5, ("c", "a"): 0.5, ("b", "a"): 3.0, ("a", "c"): 0.25}


def test_the_long_run_balances_and_is_where_time_leads() -> None:
    chain = MarkovChain(RATES)
    shares = np.array(list(chain.stationary().values()))
    assert shares @ chain.generator == pytest.approx(np.zeros(3), abs=1e-12)
    assert list(chain.at(1e3, "b").values()) == pytest.approx(shares)
    assert stationary(chain.generator) == pytest.approx(shares)


@pytest.mark.parametrize("t", [0.0, 0.3, 4.0])
def test_a_time_is_the_exponential_of_the_generator(t: float) -> None:
    chain = MarkovChain(RATES)
    assert list(chain.at(t, "a").values()) == pytest.approx(expm(chain.generator * t)[0].tolist(), abs=1e-12)


def test_a_queue_as_a_chain_is_the_formula() -> None:
    up = {(n, n + 1): 1.5 for n in range(4)}
    down = {(n + 1, n): min(n + 1, 2.0) for n in range(4)}
    known = solve(MMcK(1.5, 1.0, 2, 4))
    assert list(MarkovChain({**up, **down}).stationary().values()) == pytest.approx(known.p(range(5)).tolist())


def test_states_that_are_left_for_good_have_no_share_and_two_ends_are_refused() -> None:
    assert MarkovChain({("new", "up"): 1, ("up", "down"): 1, ("down", "up"): 3}).stationary()["new"] == 0.0
    two = MarkovChain({("up", "good"): 1, ("up", "bad"): 1})
    with pytest.raises(ValueError, match="one end, not to both 'good' and 'bad'"):
        two.stationary()
    assert two.at(50.0, "up")["good"] == pytest.approx(0.5)


@pytest.mark.parametrize("rates", [{(0, 1): -1.0}, {(0, 0): 1.0}, {0: 1.0}, {}, {(0, 1): float("inf")}])
def test_what_is_no_chain_is_refused(rates: dict[object, float]) -> None:
    with pytest.raises(ValueError, match="rates"):
        MarkovChain(rates)  # type: ignore[arg-type]


def test_a_start_must_be_a_state() -> None:
    with pytest.raises(ValueError, match="start must be a state"):
        MarkovChain(RATES).at(1.0, "z")


@pytest.mark.parametrize("rates", [RATES, {(0, 1): 2.0, (1, 0): 3.0, (1, 2): 2.0}, {("a<b", "&"): 1.0}])
def test_the_picture_shows_every_state_and_rate(rates: dict[tuple[object, object], float]) -> None:
    chain = MarkovChain(rates)
    root = ElementTree.fromstring(chain.picture())  # noqa: S314
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(map(str, texts)) == sorted([*map(str, chain.states), *(f"{r:g}" for r in rates.values())])
