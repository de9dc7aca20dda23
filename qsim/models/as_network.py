"""Networks that were described by visits or a matrix, as a :class:`Network`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qsim.models.customers import Arrivals, Population
from qsim.models.network import Network
from qsim.models.station import Delay, Station
from qsim.models.visited import MixedNetwork, OpenNetwork, OpenNetworkClasses


def as_network(model: OpenNetwork | OpenNetworkClasses | MixedNetwork) -> Network:
    """The same stations, arrivals and mean visits."""
    if isinstance(model, OpenNetwork):
        return _jackson(model, _names([s.name for s in model.stations]))
    names = _names([s.name for s in model.stations])
    stations = {
        name: Station(
            {c: law for c, law in zip(model.names, s.services, strict=True) if law is not None},
            s.servers,
            dict(zip(model.names, s.visits, strict=True)),
            s.discipline,
            s.queues,
        )
        for name, s in zip(names, model.stations, strict=True)
    }
    opens = len(model.arrival_rates)
    customers: dict[str, Any] = {
        c: Arrivals(rate) for c, rate in zip(model.names, model.arrival_rates, strict=False) if rate > 0
    }
    if isinstance(model, MixedNetwork):
        closed = model.names[opens:]
        stations = {"thinking": Delay(dict(zip(closed, model.think_times, strict=True))), **stations}
        customers |= {c: Population(n) for c, n in zip(closed, model.populations, strict=True)}
    return Network(stations, customers)


def _jackson(model: OpenNetwork, names: Sequence[str]) -> Network:
    stations = dict(zip(names, model.stations, strict=True))
    rates: Sequence[float] = model.arrival_rates  # type: ignore[assignment]
    if model.routing is None:
        return Network(stations, Arrivals(rates[0]))
    ways = {
        here: {to: p for to, p in zip(names, row, strict=True) if p > 0}
        for here, row in zip(names, model.routing, strict=True)
    }
    return Network(stations, Arrivals({s: r for s, r in zip(names, rates, strict=True) if r > 0}), ways)


def _names(given: Sequence[str]) -> list[str]:
    return [name or f"station {i}" for i, name in enumerate(given, start=1)]
