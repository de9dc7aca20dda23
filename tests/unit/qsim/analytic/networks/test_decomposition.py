"""Decomposition into G/G/c queues: where it must be exact, and what it refuses."""

from __future__ import annotations

import pytest

from qsim import MG1, Arrivals, Erlang, Exponential, LogNormal, Network, Station, solve
from qsim.analytic.open.approximations import kraemer_langenbach_belz

ONE = Exponential(1.0)


def test_poisson_arrivals_at_one_station_are_pollaczek_and_khinchine() -> None:
    law = LogNormal(1.0, 2.0)
    alone = solve(Network({"disk": Station(law)}, Arrivals(0.7)))
    assert alone["disk"].Wq == pytest.approx(solve(MG1(0.7, law)).Wq)


def test_two_streams_meet_as_in_the_equations_of_whitt() -> None:
    """Two stations send all to a third: v = 2, and of each stream λ(i)·ca²(i) is known at once."""
    laws = {"a": Erlang(2, 0.5), "b": LogNormal(1.2, 2.0), "c": Erlang(4, 0.4)}
    network = Network(
        {name: Station(law) for name, law in laws.items()},
        Arrivals({"a": Erlang(4, 2.0), "b": LogNormal(2.0, 3.0)}),
        {"a": {"c": 1.0}, "b": {"c": 1.0}},
    )
    load = 0.4  # of c: one arrival per time unit, half from a and half from b
    w = 1 / (1 + 4 * (1 - load) ** 2 * (2 - 1))
    leaving = [(1 - rho**2) * ca2 + rho**2 * max(cs2, 0.2) for rho, ca2, cs2 in ((0.25, 0.25, 0.5), (0.6, 3.0, 2.0))]
    ca2 = 1 + w * (sum(leaving) / 2 - 1)
    waits = [station.Wq for station in solve(network).stations]
    assert waits[2] == pytest.approx(kraemer_langenbach_belz(1.0, 0.4, ca2=ca2, cs2=0.25))
    assert waits[1] == pytest.approx(kraemer_langenbach_belz(0.5, 1.2, ca2=3.0, cs2=2.0))


def test_a_visit_again_at_once_is_a_longer_visit() -> None:
    """Half come back: the services in a row are geometric, of mean 2·S and of variance 2·Var[S] + 2·S²."""
    law = Erlang(2, 0.3)
    again = Network({"a": Station(law)}, Arrivals(Erlang(4, 1.0), "a"), {"a": {"a": 0.5}})
    cs2 = (2 * law.variance + 2 * law.mean**2) / (2 * law.mean) ** 2
    whole = kraemer_langenbach_belz(1.0, 0.6, ca2=0.25, cs2=cs2)
    assert solve(again).stations[0].Wq == pytest.approx(whole / 2)


def test_a_station_that_nobody_visits_is_no_obstacle() -> None:
    law = Erlang(2, 0.8)
    idle = Network({"a": Station(law), "idle": Station(law, discipline="SJF")}, Arrivals(Erlang(4, 1.0), "a"), {})
    assert solve(idle)["a"].Wq == pytest.approx(kraemer_langenbach_belz(1.0, 0.8, ca2=0.25, cs2=0.5))
    assert solve(idle)["idle"].throughput == 0
