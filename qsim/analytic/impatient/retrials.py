"""Customers that find every server taken and try again later: M/G/1 and M/M/c with retrials.

Everyone in the orbit tries again after exponential times of mean 1/θ.  With one server, N in the orbit:

    N = λ²·E[S²]/(2·(1 - ρ)) + λ·ρ/(θ·(1 - ρ))

With c servers the states (i busy, n in the orbit) are a chain.  Only its states with all servers taken go up a level,
so that p(n+1, ·) = p(n, c)·r(n) with a row r(n) for each level, found from a level so high that nobody is there
downwards; levels are doubled until that holds.  Those in the orbit return θ·N times per time unit, and λ + θ·N try,
so that a try fails with probability θ·N/(λ + θ·N).

Source: Falin & Templeton (1997), Retrial Queues, sections 1.2 and 2.4; the rows r(n): Bright & Taylor (1995),
Stochastic Models 11, "Calculating the equilibrium distribution in level dependent quasi-birth-and-death processes".

>>> from qsim import Exponential, Retrial, solve
>>> round(solve(Retrial(arrival_rate=0.6, service=Exponential(1.0), retrial_rate=0.5))["orbit"].L, 6)
2.7
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.stability import ROUNDING
from qsim.analytic.views import network
from qsim.distributions import Distribution, Exponential
from qsim.errors import NoFormulaError, UnstableQueueError
from qsim.metrics import Metrics
from qsim.models import Network, Node

MOST_SERVERS, MOST_LEVELS = 200, 100_000
NEGLIGIBLE = 1e-13
"""So little of those in the orbit is beyond the levels."""


def applies(model: Network) -> bool:
    """Poisson arrivals of one class at servers without a queue, whose overflow tries again after exponential times."""
    if len(model.stations) != 2 or len(model.classes) != 1 or model.regions:
        return False
    server, orbit = _servers(model)
    if server is None or orbit is None or model.populations or server.capacity != server.servers or not server.plain:
        return False
    (place, arrivals), *more = [pair for each in model.arrivals.values() for pair in each.items()]
    name = model.classes[0]
    law = server.service_of(name)
    simple = not more and model.nodes[place] is server and not list(model.ways(place, name)) and server.speeds is None
    back = [p for _, _, p in model.ways(server.overflow_to, name)]
    memoryless = isinstance(orbit.service_of(name), Exponential) and isinstance(arrivals, Exponential)
    known = (isinstance(law, Exponential) and server.queues == "shared") or server.servers == 1
    return simple and memoryless and known and math.isclose(sum(back), 1.0) and server.discipline == "FCFS"


def solve(model: Network) -> Metrics:
    """Exact."""
    server, orbit = _servers(model)
    assert server is not None and orbit is not None  # noqa: S101, PT018
    ((_, arrivals),) = [pair for each in model.arrivals.values() for pair in each.items()]
    law, delay = server.service_of(model.classes[0]), orbit.service_of(model.classes[0])
    assert law is not None and delay is not None and isinstance(arrivals, Distribution)  # noqa: S101, PT018
    rate, theta, c = 1 / arrivals.mean, 1 / delay.mean, int(server.servers)
    a = rate * law.mean
    if a > c * (1 - ROUNDING):
        raise UnstableQueueError(model.kendall, rate, 1 / law.mean, c)
    if c == 1:
        second = (1 + law.scv) * law.mean**2
        waiting = rate**2 * second / (2 * (1 - a)) + rate * a / (theta * (1 - a))
        p_wait = a
    else:
        waiting, p_wait = _in_orbit(model, rate, 1 / law.mean, c, theta)
    tries = theta * waiting

    def metrics(
        L: float, Lq: float, throughput: float, p_block: float = 0.0, name: str = "", stations: tuple[Metrics, ...] = ()
    ) -> Metrics:
        return Metrics(
            model=model,
            throughput=throughput,
            utilization=a / c,
            L=L,
            Lq=Lq,
            W=L / throughput,
            Wq=Lq / throughput,
            p_wait=p_wait,
            p_block=p_block,
            kind="exact",
            method="retrials (Falin & Templeton 1997)",
            name=name,
            stations=stations,
        )

    parts = {
        server.overflow_to: metrics(waiting, waiting, tries, name=server.overflow_to),
        **{n: metrics(a, 0.0, rate, tries / (rate + tries), n) for n in model.stations if n != server.overflow_to},
    }
    return metrics(waiting + a, waiting, rate, stations=tuple(parts[name] for name in model.stations))


def _servers(model: Network) -> tuple[Node | None, Node | None]:
    """The station with servers, and its orbit."""
    server = next((node for node in model.nodes.values() if node.overflow_to), None)
    if server is None or not model.is_orbit(server.overflow_to):
        return None, None
    return server, model.nodes[server.overflow_to]


def _in_orbit(model: Network, rate: float, mu: float, servers: int, theta: float) -> tuple[float, float]:
    """How many are in the orbit on average, and the probability that all servers are taken."""
    if servers > MOST_SERVERS:
        raise NoFormulaError(model.kendall, f"more than {MOST_SERVERS} servers with retrials")
    levels = 64
    while levels <= MOST_LEVELS:
        p = _states(rate, mu, servers, theta, levels)
        waiting = np.arange(levels) @ p.sum(axis=1)
        if levels * p[-1].sum() < NEGLIGIBLE * max(waiting, NEGLIGIBLE):
            return float(waiting), float(p[:, -1].sum())
        levels *= 2
    raise NoFormulaError(model.kendall, f"an orbit of more than {MOST_LEVELS:,}")


def _states(rate: float, mu: float, servers: int, theta: float, levels: int) -> FloatArray:
    """p(n, i) of n < ``levels`` in the orbit and i servers taken, shape (levels, servers + 1)."""
    busy = np.arange(servers + 1)
    rows = np.zeros((levels, servers + 1))  # rows[n] = p(n, .) over p(n - 1, c)
    last = np.zeros(servers + 1)
    last[-1] = 1.0
    for n in range(levels - 1, -1, -1):
        inside = np.diag(np.full(servers, rate), 1) + np.diag(mu * busy[1:], -1)  # moves within the level
        tries = n * theta * (busy < servers)
        inside -= np.diag(inside.sum(axis=1) + tries + rate * (busy == servers))
        if n + 1 < levels:
            inside[-1, 1:] += rows[n + 1, :-1] * (n + 1) * theta  # up a level, and down again
        else:
            inside[-1, -1] += rate  # nobody goes beyond the last level
        if n == 0:
            first = np.linalg.solve(np.vstack([inside.T[:-1], np.ones(servers + 1)]), last)
        else:
            rows[n] = np.linalg.solve(inside.T, -rate * last)
    p = np.empty((levels, servers + 1))
    p[0] = first
    for n in range(1, levels):
        p[n] = p[n - 1, -1] * rows[n]
    return np.asarray(p / p.sum())


FORMULA = Formula(network, applies, solve)
