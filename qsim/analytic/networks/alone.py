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

import numpy as np

from qsim.analytic.formula import Formula
from qsim.analytic.networks.assembly import VisitTimes, network_metrics
from qsim.analytic.networks.classes import ClassNetwork, class_network
from qsim.metrics import Metrics

METHOD = "all customers at one station (Little 1961; renewal rate of each server)"


def applies(view: ClassNetwork) -> bool:
    """One first-come-first-served station of one queue, one closed class, and no think time."""
    if len(view.stations) != 1 or len(view.classes) != 1 or view.arrival_rates or view.think_times[0] > 0:
        return False
    return view.stations[0].in_turn and view.stations[0].queues == 1


def solve(view: ClassNetwork) -> Metrics:
    """Exact, for any law of service."""
    (place,), (N,), S = view.stations, view.populations, view.means[0, 0]
    speeds = place.station.speeds
    busy = 1.0 if speeds is not None else float(min(N, place.servers))
    pace = busy if speeds is None else speeds[min(N, len(speeds)) - 1]
    W, Wq, p_wait = (np.array([[v]]) for v in (N * S / pace, (N - busy) * S / pace, float(busy < N)))
    return network_metrics(view, VisitTimes(W, Wq, p_wait), "exact", METHOD, forgets=True)


FORMULA = Formula(class_network, applies, solve)
