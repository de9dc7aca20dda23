"""Setup by formula, where it can be seen without a formula."""

from __future__ import annotations

import math

import pytest

from qsim import MG1, Deterministic, Exponential, MG1Setup, Network, Node, NoFormulaError, solve


def test_a_lone_request_pays_for_the_setup_and_a_busy_server_never_sleeps() -> None:
    service, setup = Exponential(1.0), Deterministic(5.0)
    assert solve(MG1Setup(1e-9, service, setup)).W == pytest.approx(6.0)
    busy = solve(MG1Setup(0.999, service, setup, off_after=1.0)).W / solve(MG1(0.999, service)).W
    assert busy == pytest.approx(1.0, abs=0.01)


def test_by_hand() -> None:
    """λ = 1/2, S = 1, D = 3; every other idle time outlasts the timer.

    W is that of M/M/1, 2, and p(2D + λD²)/(2(1 + λpD)) = (1/2)(6 + 9/2)/(2 · 7/4) = 3/2.  In a cycle of 1/(1 - ρ) ·
    (1 + λpD) = 7/2 customers the first alone finds the server ready, every other time: 1 - 1/7 wait.
    """
    sleeper = solve(MG1Setup(0.5, Exponential(1.0), Deterministic(3.0), off_after=2 * math.log(2)))
    assert (sleeper.W, sleeper.p_wait) == pytest.approx((3.5, 6 / 7))
    assert (sleeper.Wq, sleeper.L, sleeper.utilization) == pytest.approx((2.5, 1.75, 0.5))


def test_two_servers_picked_at_random_of_twice_the_pace_are_one_of_half_the_service_each() -> None:
    pair = Node(Exponential(2.0), 2, queues="random", paces=(2.0, 2.0), setup=Deterministic(3.0), off_after=1.0)
    one, both = (
        solve(MG1Setup(0.5, Exponential(1.0), Deterministic(3.0), off_after=1.0)),
        Network({"d": pair}, arrivals={"d": 1.0}),
    )
    found = solve(both)
    assert (found.W, found.Wq, found.p_wait, found.L) == pytest.approx((one.W, one.Wq, one.p_wait, 2 * one.L))
    uneven = Node(Exponential(2.0), 2, queues="random", paces=(2.0, 1.0), setup=Deterministic(3.0))
    with pytest.raises(NoFormulaError):
        solve(Network({"d": uneven}, arrivals={"d": 0.5}))
