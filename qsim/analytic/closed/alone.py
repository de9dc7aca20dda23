"""A station with all customers at it, always: N circulate, and nobody thinks.

With N customers that never leave a first-come-first-served station, min(N, c) servers are busy all the time, or the
server works at its speed s(N) all the time.  So throughput is exact for any law of service, and Little's law gives W:

    X = min(N, c)/S  or  s(N)/S,   W = N/X,   Wq = W - min(N, c)/X.

This is a drive under a fixed queue depth without host time, by its flow-equivalent server.

Source: Little (1961), Operations Research 9; the station is saturated, and renewal theory gives the rate of each server
(Cox 1962, Renewal Theory, section 4.2).

>>> from qsim import Closed, LogNormal, Station, solve
>>> solve(Closed(4, [Station(LogNormal(2.0, 3.0), speeds=(1, 1.5, 1.8, 2.0))])).throughput
1.0
"""

from __future__ import annotations

from qsim.analytic.formula import Formula
from qsim.analytic.views import ClosedChain, closed_chain
from qsim.metrics import Metrics

METHOD = "all customers at one station (Little 1961; renewal rate of each server)"


def applies(model: ClosedChain) -> bool:
    """One first-come-first-served station of one queue, and no think time."""
    if len(model.queueing) != 1 or model.think_time > 0:
        return False
    (station,) = model.queueing
    return station.discipline == "FCFS" and station.capacity is None and not station.own_queues


def solve(model: ClosedChain) -> Metrics:
    """Exact, for any law of service."""
    (station,) = model.queueing
    N, S = model.population, station.time.mean
    if station.speeds is None:
        busy = pace = float(min(N, station.servers))
    else:
        busy, pace = 1.0, station.speeds[min(N, len(station.speeds)) - 1]
    visits = pace / S
    X = visits / station.visit_count
    return Metrics(
        model=model,
        throughput=X,
        utilization=pace / (station.servers if station.speeds is None else max(station.speeds)),
        L=float(N),
        Lq=N - busy,
        W=N / X,
        Wq=(N - busy) / X,
        p_wait=float(busy < N),
        p_block=0.0,
        kind="exact",
        method=METHOD,
    )


FORMULA = Formula(closed_chain, applies, solve)
