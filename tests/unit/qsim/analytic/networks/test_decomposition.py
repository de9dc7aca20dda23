"""Decomposition into G/G/c queues: where it must be exact, and what it refuses."""

from __future__ import annotations

import pytest

from qsim import (
    MG1,
    Erlang,
    Exponential,
    LogNormal,
    Network,
    Node,
    NoFormulaError,
    UnstableQueueError,
    kraemer_langenbach_belz,
    solve,
)
from qsim.analytic.networks import decomposition

ONE = Exponential(1.0)


def test_poisson_arrivals_at_one_station_are_pollaczek_and_khinchine() -> None:
    law = LogNormal(1.0, 2.0)
    alone = solve(Network({"disk": Node(law)}, arrivals={"disk": 0.7}))
    assert alone["disk"].Wq == pytest.approx(solve(MG1(0.7, law)).Wq)


def test_exponential_networks_are_jacksons() -> None:
    """The equations then give arrivals of variability 1 everywhere, feedback or not."""
    network = Network(
        {"a": Node(ONE), "b": Node(ONE, 2)}, arrivals={"a": 0.4}, routing={"a": {"b": 0.5, "a": 0.2}, "b": {"a": 0.4}}
    )
    waits, exact = decomposition.waits(network), solve(network)
    for wait, station in zip(waits, exact.stations, strict=True):
        assert wait == pytest.approx(station.Wq)


def test_a_lone_station_is_its_author_s_approximation() -> None:
    arrivals, law = Erlang(4, 1.0), Erlang(2, 0.8)
    known = kraemer_langenbach_belz(1.0, 0.8, ca2=0.25, cs2=0.5)
    assert decomposition.waits(Network({"a": Node(law)}, arrivals={"a": arrivals}))[0] == pytest.approx(known)


def test_what_it_does_not_cover_is_refused() -> None:
    with pytest.raises(UnstableQueueError, match="b of open network"):
        solve(Network({"a": Node(Erlang(2, 0.5)), "b": Node(Erlang(2, 1.5))}, arrivals={"a": 1.0}))
    with pytest.raises(NoFormulaError, match="a serves in the order SJF"):
        solve(Network({"a": Node(Erlang(2, 0.5), discipline="SJF")}, arrivals={"a": 1.0}))
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(Network({"a": Node(ONE, capacity=2)}, arrivals={"a": 1.0}))
