"""The views that formulas take of a network, for tests that ask one family."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qsim import Network
from qsim.analytic.views import ClassNetwork, ClosedChain, OpenQueue, class_network, closed_chain, open_queue


def queue(network: Network) -> OpenQueue:
    """The one open station that a network is."""
    seen = open_queue(network)
    assert seen is not None
    return seen


def circle(network: Network) -> ClosedChain:
    """The one class that circles."""
    seen = closed_chain(network)
    assert seen is not None
    return seen


def classes_of(network: Network) -> ClassNetwork:
    """The classes of a network by their visits."""
    seen = class_network(network)
    assert seen is not None
    return seen


def changed(network: Network, **changes: Any) -> Network:
    """The network of one station, with that station changed."""
    return replace(network, stations={name: replace(s, **changes) for name, s in network.stations.items()})
