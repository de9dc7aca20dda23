"""What a Network and its stations refuse, in one line that names the place and the remedy; and what they say."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from qsim import (
    Arrivals,
    Closed,
    Delay,
    Erlang,
    Exponential,
    LogNormal,
    Network,
    Station,
    UnstableQueueError,
    simulate,
    solve,
)
from qsim.models.customers import OUTSIDE, passing

ONE = Exponential(1.0)
TWO = {"a": Station(ONE), "b": Station(ONE)}
BACK = {"a": {"b": 1}, "b": {"a": 1}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((Arrivals({"c": 1}), {}), "must name stations, not 'c': there are a, b"),
        ((2.5,), "customers must be a whole number of customers that circulate, or Arrivals(rate), not 2.5"),
        ((Arrivals(1), BACK), "customers at a, b cannot"),
        ((Arrivals(1), {"a": {"b": 1.5}}), "must not add up to more than 1, not 1.5"),
        ((Arrivals({"a": 1}),), "must not begin at 'a' without routing"),
        ((2, {"a": {"b": 0.5}, "b": {"a": 1}}), "nobody leaves it"),
        ((2, {"a": {"b": 1}, "b": {"b": 1}}), "must bring everyone back to a"),
        (({"x": 1, "y": "z"},), "customers of y must be a whole number"),
        ((1, 3), "routing must be a mapping, not 3"),
    ],
)
def test_what_describes_no_network_is_refused(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", "\\(").replace(")", "\\)")) as refusal:
        Network(TWO, *given)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Network({}), "stations must hold stations by their names"),
        (lambda: Network({"a": ONE}), "must be a Station or a Delay"),
        (lambda: Network({**TWO, "c": Station(ONE, capacity=3)}), "capacity of c must be None in a network of"),
        (lambda: Network({"a": Station(ONE, visits=2)}, 1, {"a": {"a": 1}}), "visits of a must be left at 1"),
        (lambda: Network({"a": Station({"x": ONE})}, {"x": 1, "y": 2}), "must hold one where y queue"),
        (lambda: Network({"a": Delay(1.0)}, 2), "must hold one where customers queue"),
        (lambda: Network({"a": Station(ONE, most=3)}, {"x": 2, "y": 2}), "population must be at most 3, up to which a"),
        (lambda: Station(ONE, visits={"x": -1}), "visits of x must be zero or positive"),
        (lambda: Station(ONE, 2, queues="random", speeds=(1, 2)), "speeds must be None where each server"),
        (lambda: Network(TWO, {"x": 1}, {"y": BACK}), "routing must name classes, not 'y'"),
        (lambda: Arrivals(-1), "arrivals must be positive and finite, not -1"),
        (lambda: Arrivals({}), "rate must not be empty"),
    ],
)
def test_what_describes_no_station_is_refused(build: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refusal:
        build()
    assert "\n" not in str(refusal.value)


def test_a_class_that_is_not_served_where_it_comes_is_refused() -> None:
    coming = {"reads": Arrivals(1), "writes": Arrivals(1)}
    with pytest.raises(ValueError, match="service of b must hold a law for reads"):
        Network({"a": Station(ONE), "b": Station({"writes": ONE})}, coming, {"a": {"b": 1}})


def test_a_network_is_a_value() -> None:
    given = {"cpu": Station({"x": ONE}, visits={"x": 2}), "die": Station(ONE, priority={"x": 1})}
    one, other = (Network(dict(given), {"x": Arrivals(0.1)}) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    assert one != Network(given, {"x": Arrivals(0.2)})


def test_stations_alone_describe_a_network_to_which_customers_are_given_later() -> None:
    disk = Network({"host": Delay(1.0), "disk": Station(Exponential(0.25), servers=2)})
    assert disk.kendall == "network of 2 stations without customers"
    for act in (solve, simulate):
        with pytest.raises(ValueError, match="customers must be given to solve or simulate"):
            act(disk)
    assert disk.with_population(3) == Network(disk.stations, 3)
    assert solve(disk.with_population(3)).throughput == pytest.approx(
        solve(Closed(3, [Delay(1.0), Station(Exponential(0.25), 2)])).throughput
    )


@pytest.mark.parametrize("law", [ONE, LogNormal(1.0, 4.0), Erlang(3, 1.0)])
@pytest.mark.parametrize("order", ["FCFS", "PS"])
def test_a_flow_equivalent_server_has_the_throughput_of_its_curve(law: Any, order: Any) -> None:
    """All customers are at it: whatever the law of service, its curve comes out exactly."""
    speeds = tuple(float(n) ** 0.6 for n in range(1, 2049))
    drive = Network({"drive": Station(law, speeds=speeds, discipline=order)})
    for n in (1, 7, 2048):
        found = solve(drive.with_population(n))
        assert found.kind == "exact"
        assert found.throughput == pytest.approx(speeds[n - 1], rel=1e-12)
        assert found.utilization == pytest.approx(speeds[n - 1] / speeds[-1], rel=1e-12)
    run = simulate(drive.with_population(7), customers=100_000, seed=3)
    low, high = run.interval("throughput")
    assert abs(run.throughput - speeds[6]) <= high - low


def test_visits_and_routes_give_the_same_means() -> None:
    """A station that half of the customers pass, and one from which a fifth come back at once."""
    pair = {"cpu": Station(Exponential(0.2)), "die": Station(Exponential(0.4), 2)}
    routed = Network(pair, Arrivals(1.0), {"cpu": {"die": 0.5}, "die": {"die": 0.2}})
    visited = Network({"cpu": pair["cpu"], "die": Station(Exponential(0.4), 2, visits=0.625)}, Arrivals(1.0))
    np.testing.assert_allclose(routed.open_rates(), visited.open_rates())
    assert solve(routed).W == pytest.approx(solve(visited).W)
    for network in (routed, visited):
        run = simulate(network, customers=200_000, seed=4)
        low, high = run.interval("W")
        assert abs(run.W - solve(visited).W) <= high - low


def test_time_at_a_delay_is_think_time_of_those_that_circulate_and_response_of_those_that_leave() -> None:
    stations = {"wire": Delay(2.0), "disk": Station(Exponential(0.5), discipline="PS")}
    both = Network(stations, {"read": 3, "write": Arrivals(0.5)})
    exact, run = solve(both), simulate(both, customers=200_000, seed=6)
    assert exact["write"].W == pytest.approx(2.0 + exact["disk"]["write"].W)
    assert exact["read"].W == pytest.approx(exact["disk"]["read"].W)
    for name in ("read", "write"):
        low, high = run[name].interval("W")
        assert abs(run[name].W - exact[name].W) <= high - low


def test_arrivals_that_enter_at_several_stations() -> None:
    network = Network(TWO, Arrivals({"a": 0.25, "b": Erlang(2, 2.0)}), {"a": {"b": 1}})
    np.testing.assert_allclose(network.open_rates(), [[0.25], [0.75]])


def test_overload_is_refused_by_the_name_of_the_station() -> None:
    for act in (solve, simulate):
        with pytest.raises(UnstableQueueError, match=r"^b of open network of 2 stations is overloaded"):
            act(Network({"a": Station(ONE), "b": Station(ONE, visits=2)}, Arrivals(0.6)))


def test_routes_through_stations_of_given_visits_skip_and_come_back_as_often():
    ways = passing(["a", "b", "c"], [0.5, 0.5, 2])
    assert ways[OUTSIDE] == [("a", 0.5), ("b", 0.25), ("c", 0.25)]
    assert ways["a"] == [("b", 0.5), ("c", 0.5)]
    assert ways["b"] == [("c", 1)]
    assert ways["c"] == [("c", 0.5), (OUTSIDE, 0.5)]
    assert passing(["a"], [0.25])[OUTSIDE] == [("a", 0.25), (OUTSIDE, 0.75)]
    assert passing(["a", "b"], [0, 1])[OUTSIDE] == [("b", 1)]
