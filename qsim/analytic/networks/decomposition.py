"""Open networks of general arrivals and services by decomposition: each station alone, as a G/G/c queue.

The stations are tied by the variability of what flows between them.  With pᵢⱼ the share of the arrivals at j that come
from i (0: from outside), qᵢⱼ the routes and xᵢ = 1 + (max(cs²ᵢ, 0.2) - 1)/√mᵢ, the squared coefficients of variation of
the arrivals solve

    ca²ⱼ = 1 + wⱼ·{p₀ⱼ·c²₀ⱼ - 1 + Σᵢ pᵢⱼ·[1 - qᵢⱼ + (1 - ρᵢ²)·qᵢⱼ·ca²ᵢ + qᵢⱼ·ρᵢ²·xᵢ]},
    wⱼ = 1/(1 + 4·(1 - ρⱼ)²·(1/Σᵢ pᵢⱼ² - 1)),

which superposes streams, lets them pass a station, and splits them at random.  Classes are pooled.  A customer that
comes back to the station that it has just left is taken to stay, for a service as long as all of its visits together.
Waits are those of Krämer & Langenbach-Belz.  One station of Poisson arrivals is M/G/1 at each of its queues, exactly.

Source: Whitt (1983), Bell System Technical Journal 62, "The queueing network analyzer", equations 24 to 29 and section
III; Kuehn (1979), IEEE Trans. Communications 27; M/G/1: Kleinrock (1975), chapter 5.

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
from qsim.analytic.formula import Formula
from qsim.analytic.networks.assembly import VisitTimes, network_metrics
from qsim.analytic.networks.classes import ClassNetwork, class_network
from qsim.analytic.open.approximations import kraemer_langenbach_belz
from qsim.analytic.views import ROUNDING, is_poisson
from qsim.errors import NoFormulaError, UnstableQueueError
from qsim.metrics import Metrics
from qsim.models import Network

NAME = "decomposition of open networks"
METHOD = "decomposition into G/G/c queues (Whitt 1983)"
ALONE = "M/G/1 of several classes (Pollaczek-Khinchine; Kleinrock 1975, chapter 5)"


def applies(view: ClassNetwork) -> bool:
    """Open classes."""
    return not view.populations


def solve(view: ClassNetwork) -> Metrics:
    """An approximation, or exact at one station; raises UnstableQueueError naming an overloaded one."""
    view.require_usual()
    for s in view.stations:
        if not s.in_turn or s.station.speeds is not None:
            why = "speeds" if s.station.speeds is not None else f"the order {s.station.discipline}"
            raise NoFormulaError(view.kendall, f"{s.name} serves general times with {why}")
    mean, second, flow, again, ca2, servers = _flows(view.network)
    cs2 = np.maximum(second / np.where(mean > 0, mean, 1.0) ** 2 - 1, 0.0)
    load = flow * mean / servers
    one = len(view.stations) == 1 and view.stations[0].servers == view.stations[0].queues
    exact = one and is_poisson(view.network) and not any(P.any() for P in view.network.routes.values())
    wait = np.zeros((len(view.stations), 1))
    at = {name: i for i, name in enumerate(view.network.stations)}
    for row, station in enumerate(view.stations):
        i, queues = at[station.name], station.queues
        split = 1 + (ca2[i] - 1) / queues  # at random
        whole = kraemer_langenbach_belz(flow[i] / queues, mean[i], split, cs2[i], station.servers // queues)
        wait[row] = whole * (1 - again[i])  # one wait for all visits in a row
    p_wait = np.full_like(view.means, load[at[view.stations[0].name]] if exact else math.nan)
    found = VisitTimes(view.means + wait, np.broadcast_to(wait, view.means.shape), p_wait)
    if exact:
        return network_metrics(view, found, "exact", ALONE)
    used = [at[s.name] for s in view.stations]
    scv = [*cs2[used], *_outside_scv(view.network)]
    most = max(s.servers for s in view.stations)
    method = with_errors(METHOD, NAME, scv, float(load[used].max()), most)
    return network_metrics(view, found, "approximation", method)


def _outside_scv(model: Network) -> list[float]:
    """Variability of the streams from outside."""
    return [source.scv for c in model.open_classes for source in model.sources_of(c).values()]


def _flows(model: Network) -> tuple[FloatArray, ...]:
    """Of each station: E[S], E[S²], arrivals, the share that comes back at once, their scv, servers."""
    rates = model.open_rates()
    flow = rates.sum(axis=1)
    through = np.sum([rates[:, [k]] * model.routes[c] for k, c in enumerate(model.classes)], axis=0)
    again = np.divide(np.diag(through), flow, out=np.zeros_like(flow), where=flow > 0)
    mean, second = _services(model, rates)
    # A customer that comes back at once stays: a geometric number of services in a row.
    mean, second = mean / (1 - again), second / (1 - again) + 2 * again * mean**2 / (1 - again) ** 2
    flow = flow * (1 - again)
    through = through - np.diag(np.diag(through))
    servers = np.array([float(node.servers) for node in model.stations.values()])
    load = flow * mean / servers
    for i, name in enumerate(model.stations):
        if load[i] > 1 - ROUNDING:
            raise UnstableQueueError(f"{name} of {model.kendall}", flow[i], 1 / mean[i], int(servers[i]))
    return mean, second, flow, again, _arrivals(model, flow, through, load, mean, second, servers), servers


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
    model: Network,
    flow: FloatArray,
    through: FloatArray,
    load: FloatArray,
    mean: FloatArray,
    second: FloatArray,
    servers: FloatArray,
) -> FloatArray:
    """The squared coefficients of variation of the arrivals at each station."""
    size = len(flow)
    outside, variability = np.zeros(size), np.zeros(size)
    for name in model.open_classes:
        for at, source in model.sources_of(name).items():
            for station, share in model.first_stations(name, at):
                i = list(model.stations).index(station)
                outside[i] += share / source.mean
                variability[i] += (1 + share * (source.scv - 1)) * share / source.mean  # split at random
    safe = np.where(flow > 0, flow, 1.0)
    cs2 = np.maximum(second / np.where(mean > 0, mean, 1.0) ** 2 - 1, 0.0)
    p0, p, q = outside / safe, through / safe[None, :], through / safe[:, None]
    v = 1 / np.maximum(p0**2 + (p**2).sum(axis=0), 1e-300)
    w = 1 / (1 + 4 * (1 - load) ** 2 * (v - 1))
    x = 1 + (np.maximum(cs2, 0.2) - 1) / np.sqrt(servers)
    constant = 1 + w * (variability / safe - 1 + (p * (1 - q + q * (load**2 * x)[:, None])).sum(axis=0))
    passed = w[None, :] * p * q * (1 - load**2)[:, None]
    solved: FloatArray = np.linalg.solve(np.eye(size) - passed.T, constant)
    return np.maximum(solved, 0.0)


FORMULA = Formula(class_network, applies, solve)
