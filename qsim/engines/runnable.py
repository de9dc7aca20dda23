"""Whether a model can be simulated, and how long it takes to forget how it started."""

from __future__ import annotations

import math

from qsim.analytic.views import ROUNDING, open_queue
from qsim.arrivals import dispersion_of
from qsim.engines.plan import Plan, PlannedStation, plan
from qsim.errors import InvalidParameterError, NoEngineError, UnstableQueueError
from qsim.models import Network

MOST_AT_ONCE = 10_000_000
"""Customers that circulate, or servers, in the tables of a run."""

ENDLESS = 10**15
"""More customers than any run has."""

RELAXATIONS = 50
"""A run must last this many relaxation times, the time in which a queue forgets how it started."""


def require_runnable(model: Network) -> Plan:
    """The plan of a model that has a steady state; raises what ``simulate`` raises."""
    made = plan(model)
    servers = math.fsum(place.all_servers for place in made.places if place.servers < math.inf)
    for what, number in (("customers", made.population), ("servers", servers)):
        if number > MOST_AT_ONCE:
            raise NoEngineError(
                f"{model.kendall} is not simulated: it has {number:,.0f} {what}, more than the {MOST_AT_ONCE:,} that "
                "are followed at once; take fewer, of a longer think or service time"
            )
    if any(math.isinf(arrivals.mean) for arrivals in made.sources):
        raise InvalidParameterError(
            "arrival_rate", "must be positive for a simulation, not 0", "nobody would come; use solve"
        )
    if (queue := open_queue(model)) is not None:
        queue.require_stable()
    elif made.sources:
        _require_stations_keep_up(model, made)
    return made


def _require_stations_keep_up(model: Network, made: Plan) -> None:
    """Every station keeps up with what comes to it in the long run."""
    for place, rates in zip(made.places, made.open_rates(), strict=True):
        load = math.fsum(r * law.mean for r, law in zip(rates.tolist(), place.service, strict=True))
        most = place.speeds[-1] if place.speeds else place.all_servers
        if load > most * (1 - ROUNDING):
            rate = float(rates.sum())
            servers = 1 if place.speeds else int(place.all_servers)
            name = f"{place.name} of {model.kendall}" if len(made.places) > 1 else model.kendall
            raise UnstableQueueError(name, rate, rate / load * most / servers, servers)


def shortest_run(model: Network) -> int:
    """Customers for RELAXATIONS relaxation times.

    An open queue forgets its start in about (I + cs²)/2 · S/c / (1 - √ρ)², with I the dispersion of its arrivals:
    exact for M/M/1 and the heavy-traffic value for others; a light one with many servers in a service time (Cohen
    1982, The Single Server Queue, p. 180; Whitt 1989, Management Science 35, "Planning queueing simulations").
    With K places (1 - √ρ)² becomes 1 + ρ - 2·√ρ·cos(π/(K + 1)), exact for M/M/1/K (Morse 1958, Queues, Inventories
    and Maintenance, chapter 6).  Of a tandem the slowest station counts.  A closed system is given as many cycles
    of its population.  ENDLESS where times have an infinite variance, with which a queue never forgets.
    """
    made = plan(model)
    longest = float(made.population)
    if made.sources:
        rates = [1 / arrivals.mean for arrivals in made.sources]
        outside = math.fsum(rates)
        several = len(made.places) > 1 or made.named
        dispersion = math.fsum(r * dispersion_of(a) for r, a in zip(rates, made.sources, strict=True)) / outside
        for place, by_class in zip(made.places, made.open_rates(), strict=True):
            if by_class.sum() > 0 and (place.servers < math.inf or not several):
                needed = _relaxation(place, by_class.tolist(), dispersion)
                longest = max(longest, needed * outside / float(by_class.sum()))
    return math.ceil(min(RELAXATIONS * longest, ENDLESS))


def _relaxation(place: PlannedStation, rates: list[float], dispersion: float) -> float:
    """The relaxation time of a station, in arrivals."""
    rate = math.fsum(rates)
    load = math.fsum(r * service.mean for r, service in zip(rates, place.service, strict=True))
    if load == 0:
        return 0.0
    second = math.fsum(r * (service.scv + 1) * service.mean**2 for r, service in zip(rates, place.service, strict=True))
    mean = load / rate
    variability = (dispersion + second / rate / mean**2 - 1) / 2
    most = place.speeds[-1] if place.speeds else place.all_servers
    if most == math.inf:
        return load
    rho = load / most
    places = math.inf if place.capacity is None else place.capacity / place.all_servers
    # Own queues each see only a share of the arrivals.
    return place.queues * rho * variability / max(_slowness(rho, places), 1e-12) + load


def _slowness(rho: float, places: float) -> float:
    return 1 + rho - 2 * math.sqrt(rho) * math.cos(math.pi / (places + 1))
