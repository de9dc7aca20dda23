"""One class that circles among single servers, the quick case of the product form.

With D = V·S and the constants G(n) of :mod:`qsim.analytic.networks.normalizing`, an arrival finds k or more at
station i with probability Dᵢᵏ·G(N-1-k)/G(N-1), so that

    Wᵢ = Sᵢ·(1 + Σₖ Dᵢᵏ·G(N-1-k)/G(N-1)),   X = N/(Z + Σᵢ Vᵢ·Wᵢ),

sums of positive terms, for all stations at once.  G is the complete symmetric polynomial of the demands, for which
Newton's identities hold: n·G(n) = Σₖ pₖ·G(n-k), with pₖ = Σᵢ Dᵢᵏ; delays add Z to p₁.  The rows of the stations are
made when they are read, and the distributions there too.

Source: Buzen (1973), Communications of the ACM 16; Lavenberg & Reiser (1980), J. Applied Probability 17; Newton's
identities: Macdonald (1995), Symmetric Functions and Hall Polynomials, eq. I.2.11.

>>> from qsim import Closed, Delay, Exponential, Station, solve
>>> r = solve(Closed(2, [Delay(4.0), Station(Exponential(1.0)), Station(Exponential(2.0))]))
>>> round(r.W, 6), [round(s.W, 6) for s in r.stations]
(3.714286, [1.142857, 2.571429])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from operator import mul

import numpy as np

from qsim.analytic.networks import normalizing
from qsim.analytic.networks.classes import Circle
from qsim.analytic.networks.normalizing import Found, Presence
from qsim.analytic.open.birth_death import FirstComeTimes, TabulatedStates
from qsim.metrics import Later, Metrics


def solve(circle: Circle, method: str) -> Metrics:
    """Exact, for any number of stations and up to ``normalizing.FEW`` customers; ``method`` is what the result says."""
    network, N, Z, visits, services = circle
    demands = list(map(mul, visits, services))
    service, largest = math.fsum(demands), max(demands)
    unit = max((Z + service) / N, largest)
    found = normalizing.found_at_single_servers(Z / unit, np.array(demands) / unit, N - 1)
    queued = math.fsum(map(mul, demands, found.present))
    X = N / (Z + service + queued)
    X /= max(X * largest, 1.0)  # but for rounding, no server does more than it can
    return Metrics.from_times(
        network,
        throughput=X,
        utilization=min(X * largest, 1.0),
        service=service,
        servers=1,
        Wq=queued,
        most=float(N),
        p_wait=math.nan,
        method=method,
        stations=Later(Rows(circle, method, X, unit, found).stations),
    )


@dataclass(frozen=True)
class Rows:
    """What the rows of the stations are made of; ``unit`` is the time unit in which G stays near one."""

    circle: Circle
    method: str
    throughput: float
    unit: float
    found: Found

    def stations(self) -> tuple[Metrics, ...]:
        """One for each server, per visit; its figures are those of :meth:`Metrics.from_times`."""
        network, N, _, visits, services = self.circle
        alike = Metrics.from_times(network, throughput=0, service=0, servers=1, Wq=0, method=self.method).alike
        queueing = [(name, station) for name, station in network.stations.items() if not station.is_delay]
        made = []
        for i, (name, station) in enumerate(queueing):
            X, S, in_turn = self.throughput * visits[i], services[i], station.discipline == "FCFS"
            Wq = S * self.found.present[i]
            row = alike(
                name=name,
                throughput=X,
                utilization=min(X * S, 1.0),
                L=min(X * (Wq + S), float(N)),
                Lq=X * Wq,
                W=Wq + S,
                Wq=Wq,
                p_wait=self.found.busy[i] if in_turn else math.nan,  # others delay those already served
                states=Later(self.states, i),
                times=Later(self.times, i) if in_turn else None,
            )
            made.append(row)
        return tuple(made)

    @cached_property
    def presence(self) -> Presence:
        """The distributions of the number at each station."""
        _, N, Z, visits, services = self.circle
        demands = [v * s / self.unit for v, s in zip(visits, services, strict=True)]
        return normalizing.at_single_servers(Z / self.unit, demands, N)

    def states(self, i: int) -> TabulatedStates:
        """The number at one station."""
        return TabulatedStates(tuple(self.presence.present[i].tolist()))

    def times(self, i: int) -> FirstComeTimes:
        """The times of a visit to one station."""
        return FirstComeTimes(tuple(self.presence.seen[i].tolist()), self.circle.services[i], 1)
