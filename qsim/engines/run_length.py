"""Which models can be simulated, and how long a run must be.

A run must outlast the effect of its start, and hold enough of the rare long services. The mean wait
follows E[S²], which n services determine to a relative error of √((E[S⁴]/E[S²]² - 1)/n). Where that is above a tenth,
or the third moment is infinite (and with it the variance of the waits), 95 % intervals cover the true mean in less than
93 % of runs. It is asked at every station where customers from outside wait, for the mixture of laws that comes there.
Where servers keep up without one of them, what counts is the time in which so many are held by long services at once
that the others do not. Not affected are stations that share (PS), and closed networks.
Source: Whitt (1989), Management Science 35, "Planning queueing simulations"; Asmussen (2003), Applied Probability and
Queues, section X.9; the tenth: `examples/accuracy/heavy_tails.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.views import ROUNDING
from qsim.distributions import Distribution
from qsim.distributions.mixtures import Mixture
from qsim.engines.numbered import Plan, plan
from qsim.errors import InvalidParameterError, NoEngineError, UnstableQueueError
from qsim.models import Network, Station

MOST_AT_ONCE = 10_000_000
"""The most customers that circulate, or servers, in the tables of a run, and services until a customer has finished."""

ENDLESS = 10**15  # more customers than any run has

RELAXATIONS = 200
"""A run must last this many relaxation times, the time in which a queue forgets how it started.

Intervals of the shortest runs then hold the mean wait in 93 to 95 % (``examples/accuracy/interval_coverage.py``).
"""

WORST_ERROR, SELDOM = 0.1, 0.05
"""Largest relative error of E[S²]; the second where several servers must be held at once, which seldom happens."""
KNOWN_WELL, STRETCH, MOST_STRETCHED = 0.03, 3.0, 0.05
"""Intervals of waits reach further above, by 3 times what the relative error of E[S²] has beyond 3 %; at most 15 %.

Without, 95 % intervals of 500 runs held the wait in 93 % (lognormal services, scv 8, rho 0.8); with up to 30 %, in 98 %
(Pareto services of shape 3.5, rho 0.5).
"""
INFINITE = 0.01  # the share of its largest value that an integrand has at most at the end, where the integral is finite
INSENSITIVE = ("PS", "LCFS-PR")


def require_runnable(model: Network) -> Plan:
    """The plan of a model that has a steady state; raises what ``simulate`` raises."""
    made = plan(model)
    servers = math.fsum(place.all_servers for place in made.places if place.servers < math.inf)
    visits = max(float(model.mean_visits(c).sum()) for c in model.classes)
    for what, number in (("customers", made.population), ("servers", servers), ("services of each customer", visits)):
        if number > MOST_AT_ONCE:
            raise NoEngineError(
                f"{model.kendall} is not simulated: it has {number:,.0f} {what}, more than the {MOST_AT_ONCE:,} that "
                "a run follows; take fewer, of a longer think or service time"
            )
    if any(math.isinf(arrivals.mean) for arrivals in made.sources):
        raise InvalidParameterError(
            "arrival_rate", "must be positive for a simulation, not 0", "nobody would come; use solve"
        )
    for (name, station), rates in zip(model.stations.items(), model.open_rates(), strict=True):
        load, most = float(rates @ _means(model, station)), station.most_work
        if station.capacity is None and load > most * (1 - ROUNDING):
            servers, rate = 1 if station.speeds is not None else station.servers, float(rates.sum())
            whole = f"{name} of {model.kendall}" if len(model.stations) > 1 else model.kendall
            raise UnstableQueueError(whole, rate, rate / load * most / servers, servers)
    return made


def _means(model: Network, station: Station) -> FloatArray:
    return np.array([station.mean_of(c) for c in model.classes])


def shortest_run(model: Network) -> int:
    """Customers for RELAXATIONS relaxation times.

    An open queue forgets its start in about (I + cs²)/2 · S/c / (1 - √ρ)², with I the dispersion of its arrivals:
    exact for M/M/1 and the heavy-traffic value for others; at a light load with many servers in a service time (Cohen
    1982, The Single Server Queue, p. 180; Whitt 1989, Management Science 35, "Planning queueing simulations").
    With K places (1 - √ρ)² becomes 1 + ρ - 2·√ρ·cos(π/(K + 1)), exact for M/M/1/K (Morse 1958, Queues, Inventories
    and Maintenance, chapter 6). Of a tandem the slowest station counts. A closed system is given as many cycles
    of its population. ENDLESS where times have an infinite variance, with which a queue never forgets.
    """
    longest = float(model.population)
    sources = [source for c in model.open_classes for source in model.sources_of(c).values()]
    if sources:
        rates = [1 / source.mean for source in sources]
        outside = math.fsum(rates)
        dispersion = math.fsum(r * a.scv for r, a in zip(rates, sources, strict=True)) / outside
        for station, by_class in zip(model.stations.values(), model.open_rates(), strict=True):
            passed = float(by_class.sum())
            if passed > 0 and not (station.is_delay and model.lists_stations):
                longest = max(longest, _relaxation(model, station, by_class, dispersion) * outside / passed)
    return math.ceil(min(RELAXATIONS * longest, ENDLESS))


def _relaxation(model: Network, station: Station, rates: FloatArray, dispersion: float) -> float:
    """The relaxation time of a station, in arrivals."""
    rate, load = float(rates.sum()), float(rates @ _means(model, station))
    if load == 0 or station.is_delay:
        return load
    laws = [(r, station.service_of(c)) for r, c in zip(rates.tolist(), model.classes, strict=True)]
    second = math.fsum(r * (law.scv + 1) * law.mean**2 for r, law in laws if law is not None and r > 0)
    variability = (dispersion + second * rate / load**2 - 1) / 2
    rho, queues = load / station.most_work, station.servers if station.own_queues else 1
    places = math.inf if station.capacity is None else station.capacity / station.servers
    slowness = 1 + rho - 2 * math.sqrt(rho) * math.cos(math.pi / (places + 1))
    # Own queues each see only a share of the arrivals.
    return queues * rho * variability / max(slowness, 1e-12) + load


def _stuck(station: Station, load: float) -> int:
    """How many servers must be held by long services at once, so that the others do not keep up; 0: none delays."""
    if station.capacity is not None or station.discipline in INSENSITIVE or math.isinf(station.servers) or load == 0:
        return 0
    if station.own_queues:
        return 1
    return station.servers + 1 - math.ceil(load / station.most_work * station.servers)


def services_needed(law: Distribution, servers: int = 1, stuck: int = 1) -> float:
    """Number of services after which E[S²] is known within 10 %; infinite where the third moment is.

    Where others wait only while several servers are ``stuck``, S is the time in which all of them are.

    >>> from qsim import Exponential, LogNormal
    >>> f"{services_needed(Exponential(1.0)):.0f}, {services_needed(LogNormal(1.0, scv=20)):.3g}"
    '500, 1.94e+07'
    """
    unit = law.scaled(1 / law.mean)  # the result does not depend on the time unit
    if stuck > 1:
        return _needed_at_once(unit, stuck)
    second, third, fourth = (unit.moment(k) for k in (2, 3, 4))
    if not math.isfinite(third):
        return math.inf
    if not math.isfinite(fourth):
        return 0.0  # the waits have a variance, and intervals were valid in tests
    return (fourth / second**2 - 1) / (WORST_ERROR * servers) ** 2


def _needed_at_once(law: Distribution, stuck: int) -> float:
    """As ``services_needed`` for the time D in which several are ``stuck``; 0 where its fourth moment is infinite.

    What is left of D is the least that is left of as many services: E[D] = E[S]/stuck, and from P(left > x) =
    (1 - E[min(S, x)]/E[S])^stuck follow E[D²] and E[D⁴].
    """
    x = np.logspace(-4, 9, 1500)
    left = np.maximum(1 - law.limited_mean(x), 0.0) ** stuck
    if x[-1] ** 3 * left[-1] > INFINITE * (x**3 * left).max():
        return 0.0
    first, third = (float(np.trapezoid(k * x**k * left, np.log(x))) for k in (1, 3))
    return max(0.0, third * stuck / first**2 - 1) / SELDOM**2


def _waited_for(network: Network) -> Iterator[tuple[Distribution, int, int, float]]:
    """Where customers from outside wait: the mixture of laws that comes, the servers, those that must be stuck at once
    (see ``_stuck``), and passages per service.
    """
    passages = math.fsum(network.arrival_rate(c) for c in network.open_classes)
    for station, rates in zip(network.stations.values(), network.open_rates(), strict=True):
        stuck = _stuck(station, float(rates @ _means(network, station)))
        if stuck < 1:
            continue
        laws = [(station.service_of(c), r) for c, r in zip(network.classes, rates.tolist(), strict=True)]
        served = [(law, r) for law, r in laws if law is not None and r > 0]
        mixed = Mixture(tuple(law for law, _ in served), tuple(r / rates.sum() for _, r in served))
        yield mixed.scaled(1 / mixed.mean), station.servers, stuck, passages / float(rates.sum())


def customers_needed(network: Network) -> float:
    """Number of customers after which E[S²] is known within 10 % wherever they wait; 0 where it does not matter.

    At each station it is that of the mixture of laws which arrives there from outside, whatever describes it.
    """
    return max((services_needed(law, *servers) * share for law, *servers, share in _waited_for(network)), default=0.0)


def stretch_above(network: Network, customers: int) -> float:
    """How much longer above the estimate the intervals of waits are made, where E[S²] is known to worse than 3 %.

    Rare long services that a run has not met would raise its mean wait, and its batches cannot tell of them. Infinite
    fourth moments count as the largest error.
    """
    needed = 0.0
    for law, servers, stuck, share in _waited_for(network):
        services = services_needed(law, servers, stuck)
        known = math.isfinite(law.moment(4)) or (stuck > 1 and services > 0)
        needed = max(needed, services * share if known else math.inf)
    error = WORST_ERROR * math.sqrt(needed / customers)
    return 1 + STRETCH * min(max(0.0, error - KNOWN_WELL), MOST_STRETCHED)


def shortcoming(model: Network, customers: int) -> str | None:
    """Why this number of customers after the warm-up is too small; None where it is enough."""
    memory, needed = shortest_run(model), customers_needed(model)
    if memory == ENDLESS:
        return "its times have an infinite variance, and no run is long enough for a mean wait"
    if customers < memory:
        left = f"{customers:,} customers after the warm-up"
        return f"{left} are fewer than the {memory:,} in which this queue forgets its start"
    if needed <= customers:
        return None
    if math.isinf(needed):
        return (
            "its service times have no third moment, and no run is long enough for an interval of the mean wait (take "
            "a law that ends, such as a histogram of measured times)"
        )
    error = 100 * WORST_ERROR * math.sqrt(needed / customers)
    return (
        f"its service times are so skewed that {customers:,} of them leave their second moment, which decides the mean "
        f"wait, uncertain by {error:.0f} % (10 % are wanted; a law that ends sooner needs fewer)"
    )
