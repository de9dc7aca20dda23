"""An application simulated at each number of clients: for stations without a formula, and for percentiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from calibrate.application.product_form import Places, doubled, rates
from calibrate.inference.parameters import Array
from qsim import Metrics, Network, Station, simulate

SHARES = (0.5, 0.95, 0.99, 0.999)
CYCLES = 20_000
"""Responses simulated of each draw at each number of clients."""


def simulated(networks: Sequence[Places], clients: Array, seed: int) -> tuple[Array, Array, Mapping[float, Array]]:
    """Each of ``networks``, the estimate and its draws, with each number of ``clients`` (m,).

    Throughput and mean response (rows, m), the estimate first, and percentiles {share: (rows, m)} of the response.
    """
    runs = [[_run(stations, n, seed) for n in clients] for stations in networks]
    return (
        np.array([[float(m.throughput) for m in row] for row in runs]),
        np.array([[float(m.W) for m in row] for row in runs]),
        {q: np.array([[float(m.quantile(q)) for m in row] for row in runs]) for q in SHARES},
    )


def with_two(stations: Places, clients: Array, seed: int) -> dict[str, Array]:
    """The throughput (m,) with two of a station, by its name."""
    found = {}
    for name, station in stations.items():
        if not station.is_delay:
            more = {**stations, name: _doubled(station)}
            found[name] = np.array([float(_run(more, n, seed).throughput) for n in clients])
    return found


def at_rates(station: Station, cycles_per_s: Array) -> Station:
    """A station with ``speeds`` that works at these rates (n,) of cycles instead."""
    x = cycles_per_s * station.visit_count
    service = station.time.scaled(1 / (x[0] * station.time.mean))
    return replace(station, speeds=tuple((x / x[0]).tolist()), service=service)


def _run(stations: Places, clients: float, seed: int) -> Metrics:
    network = Network({name: replace(s, most=None) for name, s in stations.items()}, int(clients))
    return simulate(network, customers=CYCLES, seed=seed, engine="compiled", allow_short=True)


def _doubled(station: Station) -> Station:
    """Two of it, between which requests are spread evenly."""
    if station.speeds is None:
        return replace(station, servers=2 * station.servers)
    return at_rates(station, doubled(rates(station, 2 * len(station.speeds))[None])[0])
