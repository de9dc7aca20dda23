"""Whether a model can be simulated, and how long it takes to forget how it started."""

from __future__ import annotations

import math

from qsim.analytic.stability import ROUNDING, require_stable
from qsim.arrivals import dispersion_of
from qsim.distributions import Deterministic
from qsim.engines.network_plan import NetworkPlan
from qsim.engines.plan import Plan, PlannedStation, plan
from qsim.errors import InvalidParameterError, NoEngineError, UnstableQueueError
from qsim.models import MixedNetwork, Model, Network, Open, OpenClasses, OpenNetwork, OpenNetworkClasses, Tandem
from qsim.models.as_network import as_network
from qsim.models.routed import open_rates

NOBODY = Deterministic(0.0)

MOST_AT_ONCE = 10_000_000
"""Customers that circulate, or servers, in the tables of a run."""

ENDLESS = 10**15
"""More customers than any run has."""

RELAXATIONS = 50
"""A run must last this many relaxation times, the time in which a queue forgets how it started."""


def require_runnable(model: Model) -> Plan:
    """The plan of a model that has a steady state; raises what ``simulate`` raises."""
    made = plan(model)
    servers = math.fsum(place.all_servers for place in made.places if place.servers < math.inf)
    for what, number in (("customers", sum(made.population)), ("servers", servers)):
        if number > MOST_AT_ONCE:
            raise NoEngineError(
                f"{model.kendall} is not simulated: it has {number:,.0f} {what}, more than the {MOST_AT_ONCE:,} that "
                "are followed at once; take fewer, of a longer think or service time"
            )
    if any(math.isinf(arrivals.mean) for arrivals in made.sources):
        raise InvalidParameterError(
            "arrival_rate", "must be positive for a simulation, not 0", "nobody would come; use solve"
        )
    if isinstance(model, Open):
        require_stable(model)
    elif isinstance(model, OpenClasses) and model.rho > 1 - ROUNDING:
        raise UnstableQueueError(model.kendall, model.arrival_rate, model.service_rate, model.servers)
    elif isinstance(model, Tandem):
        _require_no_bottleneck(model)
    elif isinstance(made, NetworkPlan):
        _require_network_keeps_up(_network_of(model))
    return made


def _require_no_bottleneck(model: Tandem) -> None:
    """Every station without a limit on places must keep up with what those before it let through.

    Stations that block others need more than this; when they cannot keep up the run never settles, and says so.
    """
    rate = model.arrival_rate
    for index, station in enumerate(model.stations):
        most = (station.speeds[-1] if station.speeds else station.servers) / station.service.mean
        if station.capacity is None and rate > most * (1 - ROUNDING):
            name = f"stations[{index}] of {model.kendall}"
            raise UnstableQueueError(name, rate, most / station.servers, station.servers)
        rate = min(rate, most)


def _network_of(model: Model) -> Network:
    return as_network(model) if isinstance(model, OpenNetwork | OpenNetworkClasses | MixedNetwork) else model  # type: ignore[return-value]


def _require_network_keeps_up(model: Network) -> None:
    """Every station keeps up with what comes to it in the long run; losses and blocking are for the run to tell."""
    limited = any(n.capacity is not None and not _tried_for_ever(model, name) for name, n in model.nodes.items())
    if limited or model.regions or not model.arrivals:
        return
    for (name, node), rates in zip(model.nodes.items(), open_rates(model), strict=True):
        load = sum(r * (node.service_of(c) or NOBODY).mean for c, r in zip(model.classes, rates, strict=True))
        most = node.most_work
        if load > most * (1 - ROUNDING):
            rate = float(rates.sum())
            servers = 1 if node.speeds or node.queues == "split" else int(node.servers)
            raise UnstableQueueError(f"{name} of {model.kendall}", rate, rate / load * most / servers, servers)


def _tried_for_ever(model: Network, station: str) -> bool:
    """Whether nobody gives up who finds no place there."""
    orbit = model.nodes[station].overflow_to
    back = [math.fsum(p for to, _, p in model.ways(orbit, c) if to == station) for c in model.classes if orbit]
    return max(back, default=0.0) > 1 - ROUNDING


def shortest_run(model: Model) -> int:
    """Customers for RELAXATIONS relaxation times.

    An open queue forgets its start in about (I + cs²)/2 · S/c / (1 - √ρ)², with I the dispersion of its arrivals:
    exact for M/M/1 and the heavy-traffic value for others; a light one with many servers in a service time (Cohen
    1982, The Single Server Queue, p. 180; Whitt 1989, Management Science 35, "Planning queueing simulations").
    With K places (1 - √ρ)² becomes 1 + ρ - 2·√ρ·cos(π/(K + 1)), exact for M/M/1/K (Morse 1958, Queues, Inventories
    and Maintenance, chapter 6).  Of a tandem the slowest station counts.  A closed system is given as many cycles
    of its population.  ENDLESS where times have an infinite variance, with which a queue never forgets.
    """
    made = plan(model)
    if isinstance(made, NetworkPlan):
        return _shortest_network_run(_network_of(model), made)
    if not made.sources:
        return RELAXATIONS * sum(made.population)
    rates = [1 / arrivals.mean for arrivals in made.sources]
    dispersion = math.fsum(r * dispersion_of(a) for r, a in zip(rates, made.sources, strict=True)) / math.fsum(rates)
    return math.ceil(min(RELAXATIONS * max(_relaxation(place, rates, dispersion) for place in made.places), ENDLESS))


def _shortest_network_run(model: Network, made: Plan) -> int:
    """So many cycles of those who circle, and for those who come from outside what the slowest station needs."""
    longest = float(sum(made.population))
    if model.arrivals:
        outside = math.fsum(1 / arrivals.mean for arrivals in made.sources)
        for place, by_class in zip(made.places, open_rates(model), strict=True):
            if by_class.sum() == 0 or place.servers == math.inf:
                continue
            rates = by_class * (place.queues if place.routing == "split" else 1)  # a part for each queue
            load = float(sum(r * s.mean for r, s in zip(rates, place.service, strict=True)))
            full = load >= 0.99 * (place.speeds[-1] if place.speeds else place.all_servers)
            if not (full and model.can_lose()):  # what is lost before it is not known
                longest = max(longest, _relaxation(place, list(rates), 1.0) * outside / rates.sum())
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
    if place.balking:  # as if there were places only while the probability changes, and as it stays
        limit = min(places, max(1.0, len(place.balking) / place.all_servers))
        slowness = min(_slowness(rho, limit), _slowness(rho * (1 - place.balking[-1]), places))
    else:
        slowness = _slowness(rho, places)
    # Own queues each see only a share of the arrivals.
    arrivals = place.queues * rho * variability / max(slowness, 1e-12) + load
    return arrivals if place.patience is None else min(arrivals, load + rate * place.patience.mean)


def _slowness(rho: float, places: float) -> float:
    return 1 + rho - 2 * math.sqrt(rho) * math.cos(math.pi / (places + 1))
