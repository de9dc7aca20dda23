"""Open networks of general arrivals and services by decomposition: each station alone, as a G/G/c queue.

The stations are tied by the variability of what flows between them.  With pᵢⱼ the share of the arrivals at j that come
from i (0: from outside), qᵢⱼ the routes and xᵢ = 1 + (max(cs²ᵢ, 0.2) - 1)/√mᵢ, the squared coefficients of variation of
the arrivals solve

    ca²ⱼ = 1 + wⱼ·{p₀ⱼ·c²₀ⱼ - 1 + Σᵢ pᵢⱼ·[1 - qᵢⱼ + (1 - ρᵢ²)·qᵢⱼ·ca²ᵢ + qᵢⱼ·ρᵢ²·xᵢ]},
    wⱼ = 1/(1 + 4·(1 - ρⱼ)²·(1/Σᵢ pᵢⱼ² - 1)),

which superposes streams, lets them pass a station, and splits them at random.  Classes are pooled.  A customer that
comes back to the station that it has just left is taken to stay, for a service as long as all of its visits together.
Waits are those of Krämer & Langenbach-Belz.

Source: Whitt (1983), Bell System Technical Journal 62, "The queueing network analyzer", equations 24 to 29 and section
III; Kuehn (1979), IEEE Trans. Communications 27.

>>> from qsim import Arrivals, Erlang, Exponential, Network, Station, solve
>>> steady = Network({"a": Station(Erlang(4, 0.8)), "b": Station(Exponential(0.8))}, Arrivals(Erlang(4, 1.0)))
>>> solve(steady).kind
'approximation'
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.evidence import with_errors
from qsim.analytic.open.approximations import kraemer_langenbach_belz
from qsim.analytic.stability import ROUNDING
from qsim.arrivals import dispersion_of
from qsim.errors import NoFormulaError, UnstableQueueError
from qsim.models import Network, Station

NAME = "decomposition of open networks"
METHOD = with_errors("decomposition into G/G/c queues (Whitt 1983)", NAME)


def waits(model: Network) -> FloatArray:
    """The mean wait of a visit to each station; raises UnstableQueueError naming an overloaded one."""
    nodes = list(model.stations.values())
    rates = model.open_rates()
    flow = rates.sum(axis=1)
    used = flow > 0
    through = _between(model, rates)
    again = np.divide(np.diag(through), flow, out=np.zeros_like(flow), where=used)
    mean, second = _services(model, rates)
    # A customer that comes back at once stays: a geometric number of services in a row.
    mean, second = mean / (1 - again), second / (1 - again) + 2 * again * mean**2 / (1 - again) ** 2
    flow = flow * (1 - again)
    through = through - np.diag(np.diag(through))
    servers = np.array([node.servers for node in nodes])
    load = flow * mean / servers
    for i, (name, node) in enumerate(model.stations.items()):
        if used[i] and not _is_plain(node):
            raise NoFormulaError(
                model.kendall, f"{name} serves in the order {node.discipline}, or from queues of its own"
            )
        if load[i] > 1 - ROUNDING:
            raise UnstableQueueError(f"{name} of {model.kendall}", flow[i], 1 / mean[i], int(node.servers))
    cs2 = np.where(mean > 0, np.maximum(second / np.where(mean > 0, mean, 1.0) ** 2 - 1, 0.0), 0.0)
    ca2 = _arrivals(model, flow, through, load, cs2, servers)
    found = np.zeros(len(nodes))
    for i, node in enumerate(nodes):
        if used[i] and node.servers != math.inf and mean[i] > 0:
            whole = kraemer_langenbach_belz(flow[i], mean[i], ca2[i], cs2[i], int(node.servers))
            found[i] = whole * (1 - again[i])  # one wait for all visits in a row
    return found


def _is_plain(node: Station) -> bool:
    shared = node.queues == "shared" or node.servers == 1
    return node.servers == math.inf or (node.discipline == "FCFS" and shared and node.speeds is None)


def _between(model: Network, rates: FloatArray) -> FloatArray:
    """Customers per time unit from each station to each other, classes pooled."""
    size, classes = rates.shape
    each = rates.reshape(-1)[:, None] * model.routes.P
    pooled: FloatArray = each.reshape(size, classes, size, classes).sum(axis=(1, 3))
    return pooled


def _services(model: Network, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second moment of the service at each station, over the classes that come."""
    mean, second = np.zeros(len(rates)), np.zeros(len(rates))
    for i, node in enumerate(model.stations.values()):
        for share, name in zip(rates[i], model.classes, strict=True):
            law = node.service_of(name)
            if share > 0 and law is not None:
                mean[i] += share * law.mean / rates[i].sum()
                second[i] += share * (law.variance + law.mean**2) / rates[i].sum()
    return mean, second


def _arrivals(
    model: Network, flow: FloatArray, through: FloatArray, load: FloatArray, cs2: FloatArray, servers: FloatArray
) -> FloatArray:
    """The squared coefficients of variation of the arrivals at each station."""
    size = len(flow)
    outside, variability = np.zeros(size), np.zeros(size)
    for name in model.open_classes:
        for at, source in model.sources_of(name).items():
            for station, share in model.first_stations(name, at):
                i = list(model.stations).index(station)
                outside[i] += share / source.mean
                variability[i] += (1 + share * (dispersion_of(source) - 1)) * share / source.mean  # split at random
    safe = np.where(flow > 0, flow, 1.0)
    p0, p, q = outside / safe, through / safe[None, :], through / safe[:, None]
    with np.errstate(divide="ignore"):
        v = 1 / np.maximum(p0**2 + (p**2).sum(axis=0), 1e-300)
    w = 1 / (1 + 4 * (1 - load) ** 2 * (v - 1))
    x = 1 + (np.maximum(cs2, 0.2) - 1) / np.sqrt(servers)
    constant = 1 + w * (variability / safe - 1 + (p * (1 - q + q * (load**2 * x)[:, None])).sum(axis=0))
    passed = w[None, :] * p * q * (1 - load**2)[:, None]
    solved: FloatArray = np.linalg.solve(np.eye(size) - passed.T, constant)
    return np.maximum(solved, 0.0)
