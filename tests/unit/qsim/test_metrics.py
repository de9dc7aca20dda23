"""Metrics: what it prints, what it hands to JSON, and what it says it does not know."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import partial

import pytest

from qsim import MM1, Erlang, GGc, LogNormal, Metrics, simulate, solve
from qsim.models import Network


def test_exact_metrics_print_symbols_values_and_source() -> None:
    text = str(solve(MM1(16, 20)))
    assert text.splitlines()[0] == "M/M/1: exact, M/M/1 (Kleinrock 1975, section 3.2)"
    rows = {words[0]: words[1] for words in map(str.split, text.splitlines()[2:]) if len(words) > 2}
    assert rows == {
        "X": "16",
        "rho": "0.8",
        "L": "4",
        "Lq": "3.2",
        "W": "0.25",
        "Wq": "0.2",
        "P(wait)": "0.8",
        "P(block)": "0",
    }
    assert "interval" not in text


def test_simulated_metrics_print_their_intervals() -> None:
    r = simulate(MM1(0.5, 1), customers=20_000, seed=1)
    text = str(r)
    assert "simulated, compiled engine" in text
    assert "95 % interval" in text
    low, high = r.interval("W")
    assert f"{low:.6g} .. {high:.6g}" in text
    assert "P(block)" in text
    assert "[exact]" in text.splitlines()[-1]


def test_json_holds_the_agreed_names() -> None:
    r = simulate(MM1(0.5, 1), customers=20_000, seed=1)
    data = json.loads(json.dumps(r.to_dict(), allow_nan=False))
    names = {"throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait", "p_block", "kind", "method", "intervals"}
    assert names <= set(data)
    assert data["intervals"]["W"] == list(r.interval("W"))
    assert data["kind"] == "simulated"
    assert data["seed"] == 1


def test_exact_values_are_their_own_interval() -> None:
    r = solve(MM1(0.5, 1))
    assert r.interval("W") == (2.0, 2.0)
    assert r.quantile_interval(0.5) == (r.quantile(0.5),) * 2
    assert r.kind_of("W") == "exact"


def test_what_is_not_known_is_said() -> None:
    r = solve(MM1(0.5, 1))
    with pytest.raises(ValueError, match="name must be one of"):
        r.interval("response")
    with pytest.raises(ValueError, match="of must be one of 'W'"):
        r.quantile(0.5, of="L")
    with pytest.raises(ValueError, match="q must lie"):
        r.quantile(99)
    with pytest.raises(ValueError, match="n must be a whole number"):
        r.p(-1)
    with pytest.raises(ValueError, match="state probabilities"):
        solve(GGc(Erlang(2, 1.0), LogNormal(0.5, 2.0), 1)).p(0)


@pytest.mark.parametrize("answer", [solve, partial(simulate, customers=20_000, seed=1)])
def test_results_travel_between_processes(answer: Callable[[Network], Metrics]) -> None:
    r = answer(MM1(0.5, 1))
    copy = pickle.loads(pickle.dumps(r))  # noqa: S301
    assert copy == r
    assert copy.quantile(0.9) == r.quantile(0.9)


def test_lists_give_arrays_and_numbers_give_numbers() -> None:
    r = solve(MM1(0.5, 1))
    assert r.quantile([0.5, 0.9]).tolist() == [r.quantile(0.5), r.quantile(0.9)]
    assert r.p(range(3)).tolist() == [0.5, 0.25, 0.125]
    assert isinstance(r.cdf(1.0), float)
    assert r.cdf([1.0, 2.0]) + r.survival([1.0, 2.0]) == pytest.approx([1.0, 1.0])
    with pytest.raises(ValueError, match="t must be zero or positive"):
        r.cdf(-1)


def test_simulated_shares_and_variances_are_near_the_formula() -> None:
    r, exact = simulate(MM1(0.5, 1), customers=400_000, seed=1), solve(MM1(0.5, 1))
    assert r.cdf([1.0, 4.0]) == pytest.approx(exact.cdf([1.0, 4.0]), abs=0.01)
    assert r.variance() == pytest.approx(exact.variance(), rel=0.1)
    assert r.survival(0.0, "Wq") == pytest.approx(r.p_wait, abs=0.01)


def test_the_figure_of_a_time_starts_at_one() -> None:
    figure = solve(MM1(0.5, 1)).plot("W")
    assert figure.data[0].y[0] == 1.0
    assert figure.data[0].y[-1] == pytest.approx(0.005)


def test_the_class_itself_may_be_looked_at() -> None:
    """Help and references read the fields of the class, which has no value yet."""
    assert not isinstance(Metrics.stations, tuple)
