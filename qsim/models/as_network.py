"""Open and mixed networks that were described by visits or a matrix, as a :class:`Network` that runs.

Mean visits do not say who goes where, and for product form it does not matter.  Here customers pass the stations in
their order: each is entered with probability min(v, 1) and, where v > 1, visited again with probability 1 - 1/v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from qsim.models.closed import Delay, Station
from qsim.models.network import MixedNetwork, OpenNetwork, OpenNetworkClasses
from qsim.models.node import Node
from qsim.models.routed import ONLY_CLASS, Network

ENTRANCE = "entrance"
ROUNDING = 1e-12


def as_network(model: OpenNetwork | OpenNetworkClasses | MixedNetwork) -> Network:
    """The same stations, arrivals and mean visits.

    >>> from qsim import Exponential
    >>> as_network(OpenNetwork(4, [Station(Exponential(0.1), visits=2, name="cpu")])).routing
    {'customers': {'cpu': {'cpu': 0.5}}}
    """
    if isinstance(model, OpenNetwork):
        return _jackson(model)
    names = _names([s.name for s in model.stations])
    stations: dict[str, Node | Station | Delay] = {
        name: Node(
            {c: law for c, law in zip(model.names, s.services, strict=True) if law is not None},
            s.servers,
            queues=s.queues,
            discipline=s.discipline,
        )
        for name, s in zip(names, model.stations, strict=True)
    }
    arrivals: dict[str, dict[str, float]] = {}
    populations: dict[str, dict[str, int]] = {}
    routing: dict[str, dict[str, dict[str, float]]] = {}
    for r, name in enumerate(model.names):
        visits = [s.visits[r] for s in model.stations]
        if r < len(model.arrival_rates):
            arrivals[name], routing[name] = _entered(model.arrival_rates[r], names, visits, stations)
        else:
            assert isinstance(model, MixedNetwork)  # noqa: S101
            at = r - len(model.arrival_rates)
            home = f"think of {name}"
            stations[home] = Delay(model.think_times[at])
            populations[name] = {home: model.populations[at]}
            first = _first(names, visits)
            rest = 1 - math.fsum(first.values())  # think again without a visit
            routing[name] = {home: {**first, home: rest} if rest > ROUNDING else first, **_onwards(names, visits, home)}
    return Network(stations, arrivals, populations, routing)


def _jackson(model: OpenNetwork) -> Network:
    names = _names([s.name if isinstance(s, Station) else "" for s in model.stations])
    stations: dict[str, Node | Station | Delay] = {}
    for name, s in zip(names, model.stations, strict=True):
        stations[name] = (
            s
            if isinstance(s, Delay)
            else Node(s.service, s.servers, discipline=s.discipline, queues=s.queues, speeds=s.speeds)
        )
    rates: Sequence[float] = model.arrival_rates  # type: ignore[assignment]
    if model.routing is None:
        visits = [s.visits if isinstance(s, Station) else 1.0 for s in model.stations]
        arrivals, onwards = _entered(rates[0], names, visits, stations)
        return Network(stations, arrivals, routing={ONLY_CLASS: onwards})
    ways = {
        here: {to: p for to, p in zip(names, row, strict=True) if p > 0}
        for here, row in zip(names, model.routing, strict=True)
    }
    return Network(stations, {s: r for s, r in zip(names, rates, strict=True) if r > 0}, routing={ONLY_CLASS: ways})


def _names(given: Sequence[str]) -> list[str]:
    return [name or f"station {i}" for i, name in enumerate(given, start=1)]


def _entered(
    rate: float, names: Sequence[str], visits: Sequence[float], stations: dict[str, Node | Station | Delay]
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """The rates into each station, and the routes; who visits none counts by an entrance that takes no time."""
    first, onwards = _first(names, visits), _onwards(names, visits)
    if 1 - math.fsum(first.values()) <= ROUNDING:
        return {s: rate * p for s, p in first.items() if rate * p > 0}, onwards
    stations[ENTRANCE] = Delay(0.0)
    return ({ENTRANCE: rate} if rate > 0 else {}), {ENTRANCE: first, **onwards}


def _first(names: Sequence[str], visits: Sequence[float]) -> dict[str, float]:
    """The station entered first, with its probability; what is missing to 1 enters none."""
    found, missed = {}, 1.0
    for name, v in zip(names, visits, strict=True):
        enters = min(v, 1.0)
        if enters * missed > 0:
            found[name] = enters * missed
        missed *= 1 - enters
    return found


def _onwards(names: Sequence[str], visits: Sequence[float], last: str = "") -> dict[str, dict[str, float]]:
    """From each station again to it, on to one behind it, or to the ``last``."""
    rows = {}
    for i, (name, v) in enumerate(zip(names, visits, strict=True)):
        again = 1 - 1 / v if v > 1 else 0.0
        following = {to: (1 - again) * p for to, p in _first(names[i + 1 :], visits[i + 1 :]).items()}
        rows[name] = ({name: again} if again > 0 else {}) | following
        if last:
            rows[name][last] = 1 - math.fsum(rows[name].values())
    return rows
