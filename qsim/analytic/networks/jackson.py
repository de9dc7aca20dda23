"""Open networks of queues with Poisson arrivals: every station on its own.

The traffic equations λ = γ + λP give each station's throughput, feedback included.  In the long run the numbers at
the stations are then independent, and each is distributed as if the station stood alone with Poisson arrivals of
rate λᵢ, although with feedback the stream of its arrivals is not Poisson: M/M/c where it has c servers, M/M/1 with
the load spread over k queues picked at random, a birth-death process where its speed depends on the number present.
Time in the network per customer follows from Little's law, W = Σ Lᵢ/γ, with Lᵢ = λᵢ·Wᵢ; a Delay counts in it as
infinitely many servers, Lᵢ = λᵢ·Z.  Exponential service is
needed under FCFS; stations that share (PS) or let the newcomer interrupt (LCFS-PR) take any.  Stations in a row
(tandem) are the network that everyone passes in order; what leaves M/M/c is Poisson again (Burke 1956).

Source: Jackson (1957), Operations Research 5, "Networks of waiting lines"; Jackson (1963), Management Science 10,
"Jobshop-like queueing systems"; Burke (1956), Operations Research 4, "The output of a queuing system"; Baskett,
Chandy, Muntz & Palacios (1975), J. ACM 22.

>>> from qsim import Arrivals, Exponential, Network, Station, solve
>>> cpu, disk = Station(Exponential(0.04), visits=5), Station(Exponential(0.03), visits=2.5)
>>> r = solve(Network({"cpu": cpu, "disk": disk}, Arrivals(4)))
>>> [round(s.L, 3) for s in r.stations]
[4.0, 0.429]
"""

from __future__ import annotations

import math
from dataclasses import replace

from qsim.analytic.closed.network import has_product_form
from qsim.analytic.formula import Formula
from qsim.analytic.open import infinite_servers, load_dependent, mmc
from qsim.analytic.stability import ROUNDING
from qsim.analytic.views import OpenChain, OpenQueue, open_chain
from qsim.distributions import Exponential
from qsim.errors import UnstableQueueError
from qsim.metrics import Metrics
from qsim.models import Station

METHOD = "open network of product form (Jackson 1957)"


def applies(model: OpenChain) -> bool:
    """Poisson arrivals, and every station of a kind that keeps product form."""
    return any(not s.is_delay for s in model.stations) and all(has_product_form(s) for s in model.stations)


def solve(model: OpenChain) -> Metrics:
    """Exact; ``stations`` holds each station, per visit.  Raises UnstableQueueError naming an overloaded one."""
    stations = tuple(
        (_delay if place.is_delay else _station)(model, place, rate, name)
        for place, rate, name in zip(model.stations, model.throughputs, model.names, strict=True)
    )
    X = model.arrival_rate
    L, Lq = math.fsum(s.L for s in stations), math.fsum(s.Lq for s in stations)
    queueing = [s for s, place in zip(stations, model.stations, strict=True) if not place.is_delay]
    return Metrics(
        model=model,
        throughput=X,
        utilization=max(s.utilization for s in stations),
        L=L,
        Lq=Lq,
        W=L / X if X > 0 else math.fsum(s.W for s in stations),
        Wq=Lq / X if X > 0 else 0.0,
        p_wait=queueing[0].p_wait if len(queueing) == 1 and math.isclose(queueing[0].throughput, X) else math.nan,
        p_block=0.0,
        kind="exact",
        method=METHOD,
        stations=stations,
        states=stations[0].states if len(stations) == 1 else None,
    )


def _delay(model: OpenChain, delay: Station, rate: float, name: str) -> Metrics:
    """A delay: as many servers as customers."""
    gap = 1 / rate if rate > 0 else math.inf
    alone = infinite_servers.solve(OpenQueue(Exponential(gap), delay.time, delay.servers))
    return replace(alone, model=model, method=METHOD, name=name, times=None)


def _station(model: OpenChain, station: Station, rate: float, name: str) -> Metrics:
    """One station as it would be alone with Poisson arrivals."""
    S, c = station.time.mean, 1 if station.speeds is not None else station.servers
    full_speed = float(c) if station.speeds is None else station.speeds[-1]
    if rate * S > full_speed * (1 - ROUNDING):
        raise UnstableQueueError(f"{name} of {model.kendall}", rate, full_speed / c / S, c)
    queues = c if station.queues == "random" else 1
    gap = queues / rate if rate > 0 else math.inf
    if station.speeds is not None:
        # Only the mean service time matters, whatever the order: as if it were exponential.
        alone = load_dependent.solve(OpenQueue(Exponential(gap), Exponential(S), speeds=tuple(station.speeds)))
    else:
        alone = mmc.solve(OpenQueue(Exponential(gap), Exponential(S), c // queues))
    result = replace(
        alone, model=model, throughput=rate, L=alone.L * queues, Lq=alone.Lq * queues, method=METHOD, name=name
    )
    if queues > 1:
        result = replace(result, states=None)
    # Feedback lets customers overtake each other's visits, not each other at one visit: FCFS times still hold.
    return result if station.discipline == "FCFS" else replace(result, times=None, p_wait=math.nan)


FORMULA = Formula(open_chain, applies, solve)
