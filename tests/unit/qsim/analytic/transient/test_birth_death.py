"""Queues over time, against closed forms, chains and the long run; what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from qsim import (
    MG1,
    Closed,
    Delay,
    Erlang,
    Exponential,
    MarkovChain,
    MMc,
    MMcK,
    MMcN,
    MMInf,
    NoFormulaError,
    Station,
    solve,
    transient,
)


def test_infinite_servers_are_poisson_at_every_time() -> None:
    """L(t) of M(t)/M/inf is the arrivals of the past that are still there (Eick, Massey & Whitt 1993)."""

    def rate(t: float) -> float:
        return 3 + 2 * math.sin(t)

    found = transient(MMInf(3, 1), [0.5, 2.0, 6.0], arrival_rate=rate)
    wanted = [quad(lambda u, t=t: rate(u) * math.exp(u - t), 0, t)[0] for t in found.times]
    assert found.L == pytest.approx(wanted, rel=2e-4)
    assert found.p(0) == pytest.approx(np.exp(-np.array(wanted)), rel=2e-3)
    assert found.kind == "approximation"


def test_limited_places_are_the_exponential_of_the_chain() -> None:
    up = {(n, n + 1): 2.5 for n in range(4)}
    down = {(n + 1, n): min(n + 1, 2.0) for n in range(4)}
    Q = MarkovChain({**up, **down}).generator
    found = transient(MMcK(2.5, 1.0, 2, 4), [0.1, 1.0, 7.0], start=3)
    assert found.states is not None
    for row, t in zip(found.states, found.times, strict=True):
        assert row == pytest.approx(expm(Q * t)[3], abs=1e-12)


@pytest.mark.parametrize("model", [MMc(1.5, 1.0, 2), MMcK(5.0, 1.0, 2, 9), MMcN(6, 4.0, 1.0, 2)])
def test_after_long_the_long_run_is_reached(model) -> None:
    found, known = transient(model, [500.0], start=5), solve(model)
    assert (found.L[0], found.Lq[0]) == pytest.approx((known.L, known.Lq), rel=1e-6)
    assert found.p(2)[0] == pytest.approx(known.p(2), rel=1e-6)


def test_an_overloaded_queue_grows_as_the_excess() -> None:
    found = transient(MMc(3.0, 1.0, 2), [1000.0, 2000.0], start=50)
    assert np.diff(found.L)[0] == pytest.approx(1000.0, rel=1e-3)


def test_steps_are_exact_and_a_function_of_steps_is_near() -> None:
    office, rush = MMc(5, 12, 2), {0: 5, 9: 40, 10: 5}
    steps = transient(office, [9, 9.5, 10, 11], arrival_rate=rush)
    parts = transient(office, [9.0]).L
    assert steps.kind == "exact"
    assert steps.L[0] == pytest.approx(parts[0])
    assert steps.arrival_rate.tolist() == [40, 40, 5, 5]
    smooth = transient(office, [9, 9.5, 10, 11], arrival_rate=lambda t: 40 if 9 <= t < 10 else 5)
    assert smooth.L == pytest.approx(steps.L, rel=1e-3)


def test_what_is_refused_says_where() -> None:
    queue = MMc(1, 1, 2)
    with pytest.raises(ValueError, match=r"arrival_rate must be zero or positive at every time, not -0.* at t = 5"):
        transient(queue, [9.0], arrival_rate=lambda t: 5 - t)
    with pytest.raises(ValueError, match="must say the rate from time 0 on"):
        transient(queue, [9.0], arrival_rate={1: 5})
    with pytest.raises(ValueError, match="times must rise"):
        transient(queue, [2.0, 1.0])
    with pytest.raises(ValueError, match="start must be at most the 4 places"):
        transient(MMcK(1, 1, 2, 4), [1.0], start=5)
    with pytest.raises(ValueError, match="None for a closed model"):
        transient(MMcN(3, 1.0, 1.0), [1.0], arrival_rate=2.0)
    with pytest.raises(NoFormulaError, match="over time only"):
        transient(MG1(0.5, Erlang(2, 1.0)), [1.0])


def test_a_long_queue_keeps_every_state_that_counts() -> None:
    """M/M/1 at 0.9 comes to L = 9, of which the states beyond 50 hold a twentieth."""
    assert transient(MMc(0.9, 1.0, 1), [5000.0]).L[0] == pytest.approx(9.0, rel=1e-6)


def test_those_present_at_the_start_are_served_first() -> None:
    """Thirty at one server are none the fewer in places for it, and nobody is idle for a while."""
    assert transient(MMc(0.5, 1.0, 1), [1.0], start=30).L[0] == pytest.approx(29.5, rel=1e-9)
    assert transient(MMInf(2.0, 1.0), [1.0], start=3, arrival_rate=0.0).L[0] == pytest.approx(3 / math.e, rel=1e-9)


def test_hundreds_in_service_are_all_counted() -> None:
    assert transient(MMInf(400.0, 1.0), [50.0]).L[0] == pytest.approx(400.0, rel=1e-9)
    assert transient(MMc(90.0, 1.0, 100), [500.0]).L[0] == pytest.approx(solve(MMc(90.0, 1.0, 100)).L, rel=1e-6)


def test_closed_queues_with_a_formula_over_time() -> None:
    plain, pair = Station(Exponential(1.0)), Station(Exponential(1.0), 2, queues="random")
    think = Delay(Exponential(4.0))
    single = Station(Exponential(1.0), queues="random")
    known = transient(Closed(3, [think, plain]), [2.0]).L[0]
    assert transient(Closed(3, [think, single]), [2.0]).L[0] == pytest.approx(known)
    for other in (
        [think, pair],
        [think, plain, plain],
        [think, think, plain],
        [Delay(Erlang(2, 4.0)), plain],
        [think, Station(Erlang(2, 1.0))],
        [think, Station(Exponential(1.0), visits=2)],
        [think, Station(Exponential(1.0), discipline="PS")],
    ):
        with pytest.raises(NoFormulaError):
            transient(Closed(3, other), [2.0])


def test_the_answer_shows_itself() -> None:
    found = transient(MMc(1.5, 1.0, 2), [1, 10])
    assert repr(found).splitlines()[1].startswith(f"L is highest at t = 10: {found.L[1]:.4g} present, ")
    banded = replace(found, low=found.L - 0.5, high=found.L + 0.5)
    assert f" ({found.L[1] - 0.5:.4g} to {found.L[1] + 0.5:.4g}) present" in repr(banded)
    assert found.to_frame().columns.tolist() == ["t", "arrival_rate", "L", "Lq", "p0"]
    assert found.plot().data[0].y.tolist() == found.L.tolist()
    assert found.to_frame()["p0"].tolist() == found.p(0).tolist()
    assert [line.line.width for line in replace(found, low=found.L, high=found.L).plot().data[1:3]] == [0, 0]
    assert found.states is not None
    for beyond in (found.states.shape[1], 10_000):
        assert found.p(beyond).tolist() == [0.0, 0.0]
