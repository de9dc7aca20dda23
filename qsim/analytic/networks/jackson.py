"""Open networks of product form: Poisson arrivals of one or several classes, every station on its own.

The traffic equations λ = γ + λP give each station's throughput, feedback included.  In the long run the numbers at
the stations are then independent, and each is distributed as if the station stood alone with Poisson arrivals of
rate λᵢ, although with feedback the stream of its arrivals is not Poisson: M/M/c where it has c servers, M/M/1 with
the load spread over k queues picked at random, a birth-death process where its speed depends on the number present.
Where classes have services of their own (PS, LCFS-PR), station i is offered aᵢ = Σᵣ λ_r·Dᵢᵣ erlangs and stretches every
service alike, Wᵢᵣ = Sᵢᵣ·(1 + C(c, aᵢ)/(c - aᵢ)), C being Erlang's.  Time in the network follows from the visits.

Source: Jackson (1957), Operations Research 5, "Networks of waiting lines"; Jackson (1963), Management Science 10,
"Jobshop-like queueing systems"; Burke (1956), Operations Research 4, "The output of a queuing system"; Baskett,
Chandy, Muntz & Palacios (1975), J. ACM 22.

>>> from qsim import Arrivals, Exponential, Network, Station, solve
>>> cpu, disk = Station(Exponential(0.04), visits=5), Station(Exponential(0.03), visits=2.5)
>>> r = solve(Network({"cpu": cpu, "disk": disk}, Arrivals(4)))
>>> [round(s.L, 3) for s in r.stations]
[4.0, 0.429]
>>> disk = Station({"read": Exponential(1.0), "write": Exponential(2.0)}, discipline="PS")
>>> [round(c.W, 6) for c in solve(Network({"disk": disk}, {"read": Arrivals(0.3), "write": Arrivals(0.1)})).classes]
[2.0, 4.0]
"""

from __future__ import annotations

import math

import numpy as np

from qsim.analytic.networks.assembly import VisitTimes, network_metrics
from qsim.analytic.networks.classes import ClassNetwork, class_network
from qsim.analytic.open import birth_death, mmc
from qsim.analytic.views import ROUNDING, Formula, OpenQueue, is_poisson
from qsim.distributions import Exponential
from qsim.errors import UnstableQueueError
from qsim.metrics import Metrics

METHOD = "open network of product form (Jackson 1957)"
SEVERAL = "open network of several classes, product form (Baskett, Chandy, Muntz & Palacios 1975)"


def applies(view: ClassNetwork) -> bool:
    """Poisson arrivals, and every station of a kind that keeps product form."""
    return not view.populations and is_poisson(view.network) and view.has_product_form


def solve(view: ClassNetwork) -> Metrics:
    """Exact; raises UnstableQueueError naming an overloaded station."""
    W, Wq, p_wait = np.zeros((3, *view.visits.shape))
    states, times = [], []
    for i, station in enumerate(view.stations):
        rate, load = float(view.visits[i] @ view.arrival_rates), float(view.demands[i] @ view.arrival_rates)
        mean = load / rate if rate > 0 else float(view.means[i].max())
        speeds, full = station.station.speeds, station.station.most_work
        if load > full * (1 - ROUNDING):
            servers = station.servers
            raise UnstableQueueError(f"{station.name} of {view.kendall}", rate, full / servers / mean, servers)
        queues = station.queues
        gaps = Exponential(queues / rate if rate > 0 else math.inf)
        # Only the mean service time matters, whatever the order: as if it were exponential.
        if speeds is not None:
            alone = birth_death.solve(OpenQueue(gaps, Exponential(mean), speeds=tuple(speeds)))
        else:
            alone = mmc.solve(OpenQueue(gaps, Exponential(mean), station.servers // queues))
        W[i], Wq[i] = (view.means[i] / mean * wait for wait in (alone.W, alone.Wq))
        p_wait[i] = alone.p_wait if station.in_turn else math.nan  # others delay those already served
        states.append(alone.states if queues == 1 else None)
        # Feedback lets customers overtake each other's visits, not each other at one visit: FCFS times still hold.
        times.append(alone.times if station.in_turn else None)
    found = VisitTimes(W, Wq, p_wait, states, times)
    return network_metrics(view, found, "exact", METHOD if len(view.classes) == 1 else SEVERAL)


FORMULA = Formula(class_network, applies, solve)
