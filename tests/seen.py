"""The views that formulas take of a network, for tests that ask one family."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qsim import Metrics, Network
from qsim.analytic.networks import mean_value
from qsim.analytic.networks.classes import ClassNetwork, class_network
from qsim.analytic.views import ClosedQueue, OpenQueue, closed_queue, open_queue


def queue(network: Network) -> OpenQueue:
    """The one open station that a network is."""
    seen = open_queue(network)
    assert seen is not None
    return seen


def circle(network: Network) -> ClosedQueue:
    """The one station that one class circles through."""
    seen = closed_queue(network)
    assert seen is not None
    return seen


def classes_of(network: Network) -> ClassNetwork:
    """The chains of a network."""
    seen = class_network(network)
    assert seen is not None
    return seen


def changed(network: Network, **changes: Any) -> Network:
    """The network of one station, with that station changed."""
    return replace(network, stations={name: replace(s, **changes) for name, s in network.stations.items()})


def schweitzer(network: Network) -> Metrics:
    """The Bard-Schweitzer approximation, also where an exact solution is known."""
    return mean_value.fixed_point(classes_of(network))
