"""An application simulated at each number of clients: for stations without a formula, and for percentiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.parameters import Array
from qsim import Metrics, Network, Station, simulate

if TYPE_CHECKING:
    from calibrate.application.product_form import Places

SHARES = (0.5, 0.95, 0.99, 0.999)
CYCLES = 20_000
"""Responses simulated of each draw at each number of clients."""


@dataclass(frozen=True)
class Simulated:
    """Throughput and mean response (rows, m), the estimate first; percentiles {share: (rows, m)}; with two of each."""

    throughputs: Array
    responses: Array
    percentiles: Mapping[float, Array]
    doubled: Mapping[str, Array]


def simulated(networks: Sequence[Places], clients: Array, seed: int) -> Simulated:
    """Each of ``networks``, the estimate and its draws, with each number of ``clients`` (m,)."""
    runs = [[_run(stations, n, seed) for n in clients] for stations in networks]
    twice = {}
    for name, station in networks[0].items():
        if not station.is_delay:
            more = {**networks[0], name: _doubled(station)}
            twice[name] = np.array([float(_run(more, n, seed).throughput) for n in clients])
    return Simulated(
        np.array([[float(m.throughput) for m in row] for row in runs]),
        np.array([[float(m.W) for m in row] for row in runs]),
        {q: np.array([[float(m.quantile(q)) for m in row] for row in runs]) for q in SHARES},
        twice,
    )


def at_rates(station: Station, rates: Array) -> Station:
    """A station with ``speeds`` that works at these rates (n,) of cycles instead."""
    x = rates * station.visit_count
    service = station.time.scaled(1 / (x[0] * station.time.mean))
    return replace(station, speeds=tuple((x / x[0]).tolist()), service=service)


def _run(stations: Places, clients: float, seed: int) -> Metrics:
    network = Network({name: replace(s, most=None) for name, s in stations.items()}, int(clients))
    return simulate(network, customers=CYCLES, seed=seed, engine="compiled", allow_short=True)


def _doubled(station: Station) -> Station:
    """Two of it, between which requests are spread evenly."""
    if station.speeds is None:
        return replace(station, servers=2 * station.servers)
    speeds = np.asarray(station.speeds)
    n = np.arange(1.0, 2 * len(speeds) + 1)
    each = np.interp(np.maximum(n / 2, 1.0), np.arange(1.0, len(speeds) + 1), speeds)
    return replace(station, speeds=tuple((2 * each * np.minimum(n / 2, 1.0)).tolist()))
