"""What a Network refuses, in one line that names the place and the remedy; and what it says of itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from qsim import Delay, Exponential, Network, Node, Station
from qsim.models.routed import open_rates

ONE = Exponential(1.0)
TWO = {"a": Node(ONE), "b": Node(ONE)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arrivals": {"a": -1}}, "arrivals of customers at a must be positive and finite, not -1"),
        ({"arrivals": {"c": 1}}, "must name stations, not 'c': there are a, b"),
        ({}, "without populations nobody would come"),
        ({"arrivals": {"a": 1}, "routing": {"a": {"b": 1}, "b": {"a": 1}}}, "customers at a, b cannot"),
        ({"arrivals": {"a": 1}, "routing": {"a": {"b": 1.5}}}, "must not add up to more than 1, not 1.5"),
        ({"arrivals": {"a": 1}, "routing": {"a": {"b": -0.5}}}, "must be zero or positive"),
        ({"populations": {"a": 2}, "routing": {"a": {"b": 0.5}, "b": {"a": 1}}}, "nobody leaves it"),
        ({"populations": {"a": 2}, "routing": {"a": {"b": 1}, "b": {"b": 1}}}, "must bring everyone back to a"),
        ({"populations": {"a": 0}}, "must be a whole number of at least 1, not 0"),
        ({"populations": {"x": {"a": 1, "b": 1}}}, "must begin at one station, not 2"),
        ({"arrivals": {"x": {"a": 1}}, "populations": {"x": {"a": 1}}}, "name two classes"),
    ],
)
def test_what_describes_no_network_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", "\\(")) as refusal:
        Network(TWO, **given)
    assert "\n" not in str(refusal.value)


def test_a_class_that_is_not_served_where_it_comes_is_refused() -> None:
    with pytest.raises(ValueError, match="service of b must hold a law for reads"):
        Network({"a": Node(ONE), "b": Node({"writes": ONE})}, arrivals={"reads": {"a": 1}})


def test_stations_of_other_models_are_nodes_here() -> None:
    network = Network({"think": Delay(2.0), "disk": Station(ONE, 3, discipline="PS")}, populations={"think": 4})
    assert network.nodes["think"].servers == math.inf
    assert (network.nodes["disk"].servers, network.nodes["disk"].discipline) == (3, "PS")
    with pytest.raises(ValueError, match="visits of disk must be left at 1"):
        Network({"disk": Station(ONE, visits=2)}, arrivals={"disk": 0.1})


def test_without_routing_the_stations_are_passed_in_their_order() -> None:
    opened = Network(TWO, arrivals={"a": 0.5})
    np.testing.assert_array_equal(opened.transitions(), [[0, 1], [0, 0]])
    np.testing.assert_array_equal(Network(TWO, populations={"a": 2}).transitions(), [[0, 1], [1, 0]])
    np.testing.assert_allclose(open_rates(opened), [[0.5], [0.5]])


def test_rates_of_classes_that_change() -> None:
    routing = {"x": {"a": {"b as y": 0.5}}, "y": {"b": {"a as x": 0.5}}}
    network = Network(TWO, arrivals={"x": {"a": 0.75}}, routing=routing)
    np.testing.assert_allclose(open_rates(network), [[1.0, 0], [0, 0.5]])
