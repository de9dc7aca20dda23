"""One class among single servers: the quick way gives what the general one does, and makes rows when they are read."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from seen import classes_of

from qsim import Closed, Delay, Erlang, Exponential, Metrics, Network, Station, solve
from qsim.analytic.networks import normalizing
from qsim.analytic.networks.classes import ClassNetwork
from qsim.metrics import SYMBOLS

ONE = Exponential(1.0)


def circling(seed: int) -> Network:
    """A random network of single servers, some with a Delay, some with routes instead of visits."""
    rng = np.random.default_rng(seed)
    population = int(rng.choice([1, 2, 7, 60, 400]))
    orders: Sequence[Any] = rng.choice(["FCFS", "FCFS", "PS", "LCFS-PR"], size=int(rng.integers(2, 25)))
    routed = rng.random() < 0.3
    stations = {
        f"s{i}": Station(
            Exponential(float(10 ** rng.uniform(-4, 3))),
            visits=1.0 if routed else float(rng.uniform(0.1, 9)),
            discipline=str(order),  # type: ignore[arg-type]
        )
        for i, order in enumerate(orders)
    }
    if rng.random() < 0.6:
        stations["host"] = Delay(float(rng.choice([0.0, 1.0, 1e6])))
    names = [*stations]
    back = {here: {to: 0.7, "s0": 0.3} for here, to in zip(names[1:], [*names[2:], names[1]], strict=True)}
    routing = {"s0": {"s0": 0.2, names[1]: 0.8}, **back}
    return Network(stations, population, routing if routed else None)


def figures(part: Metrics) -> list[float]:
    return [getattr(part, name) for name in SYMBOLS]


def assert_same(one: Metrics, other: Metrics, population: int) -> None:
    assert (one.name, one.kind, one.method) == (other.name, other.kind, other.method)
    assert figures(one) == pytest.approx(figures(other), rel=1e-12, nan_ok=True)
    assert (one.states is None, one.times is None) == (other.states is None, other.times is None)
    if one.states is not None:
        counts = range(0, population + 1, max(1, population // 5))
        assert one.p(counts) == pytest.approx(other.p(counts), rel=1e-11, abs=1e-300)
    if one.times is not None:
        assert one.survival(one.W) == pytest.approx(other.survival(one.W), rel=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_the_quick_way_and_the_general_one_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = circling(seed)
    assert classes_of(network).circle is not None
    quick = solve(network)
    monkeypatch.setattr(ClassNetwork, "circle", None)
    general = solve(network)
    assert_same(quick, general, network.population)
    assert [s.name for s in quick.stations] == [s.name for s in general.stations]
    for one, other in zip(quick.stations, general.stations, strict=True):
        assert_same(one, other, network.population)


@pytest.mark.parametrize(
    "stations",
    [
        [Station(ONE), Delay(1.0)],
        [Station(ONE), Station(ONE, servers=2)],
        [Station(ONE), Station(ONE, speeds=[1.0, 1.5])],
        [Station(ONE), Station(Erlang(2, 1.0))],
        [Station(ONE), Station(ONE, discipline="SJF")],
        [Station(ONE), Station(ONE), Station(ONE, visits={"customers": 0.0})],
    ],
)
def test_other_networks_go_the_general_way(stations: Sequence[Any]) -> None:
    assert classes_of(Closed(3, stations)).circle is None
    assert classes_of(Closed(3, [Station(ONE), Station(ONE), Delay(1.0)])).circle is not None


def test_rows_and_distributions_are_made_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Closed(4, [Station(ONE, name="a"), Station(ONE, name="b")])
    monkeypatch.setattr(normalizing, "at_single_servers", None)  # makes the distributions
    r = solve(model)
    assert (r.throughput, r["a"].W) == pytest.approx((0.8, 2.5))
    with pytest.raises(TypeError):
        r["a"].p(0)
    monkeypatch.undo()
    assert r["a"].p(range(5)) == pytest.approx([0.2] * 5)
    assert r.stations[0] is r.stations[0]


def test_a_result_whose_rows_nobody_has_read_is_a_value_like_others() -> None:
    model = Closed(4, [Station(ONE, name="a"), Station(Exponential(2.0), name="b"), Delay(1.0)])
    read = solve(model)
    tail = read["b"].survival(3.0)
    assert solve(model) == read
    assert solve(model) != replace(read, stations=())
    for r in (solve(model), pickle.loads(pickle.dumps(solve(model))), replace(solve(model), seed=1, name="x")):  # noqa: S301
        assert [s.to_dict() for s in r.stations] == [s.to_dict() for s in read.stations]
        assert r["b"].survival(3.0) == tail
    assert str(solve(model)) == str(read)
    assert solve(model).to_dict() == read.to_dict()
