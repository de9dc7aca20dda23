"""Kendall's notation A/S/c/K//N: arrivals (or think time), service, servers, places, population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qsim.models.network import Network

ORDER = {"priority": ", non-preemptive priority", "preemptive priority": ", preemptive-resume priority"}


def name_of(network: Network) -> str:
    """Kendall's notation of a single station, with words where it has no letters; else a description."""
    stations = _count(len(network.stations), "station")
    if network.customers is None:
        return f"network of {stations} without customers"
    if network.routing is None:
        name = _closed_queue(network) if network.closed_classes else _open_queue(network)
        if name is not None:
            return name
    kind = "open" if not network.closed_classes else "mixed" if network.open_classes else "closed"
    several = f"{_count(len(network.classes), 'class')} and " if len(network.classes) > 1 else ""
    circulating = [*network.closed_classes.values()]
    customers = f"{' + '.join(map(str, circulating))} customer{'' if circulating == [1] else 's'}"
    inside = f" with {customers}{' that circulate' if network.open_classes else ''}" if circulating else ""
    return f"{kind} network of {several}{stations}{inside}"


def station_name(arrivals: str, service: str, station: Any, population: str = "") -> str:
    """A/S/c/K//N of a Station, or of another description of one, given the letters of its arrivals and services."""
    servers = "∞" if station.servers == math.inf else str(station.servers)
    places = "" if station.capacity is None else str(station.capacity)
    tail = f"/{places}/{population}" if population else f"/{places}" if places else ""
    order = "" if station.discipline == "FCFS" or "priority" in station.discipline else f"-{station.discipline}"
    extras = []
    if station.own_queues:
        extras.append("shortest queue" if station.queues == "shortest" else f"{station.queues} routing")
    if station.speeds is not None:
        extras.append("load-dependent")
    return ", ".join([f"{arrivals}/{service}/{servers}{tail}{order}", *extras])


def _open_queue(network: Network) -> str | None:
    """The name of a lone station without closed classes; None for others."""
    if len(network.stations) > 1:
        return None
    (station,) = network.stations.values()
    arrivals = [source.letter for c in network.open_classes for source in network.sources_of(c).values()]
    services = [law.letter for c in network.open_classes if (law := station.service_of(c)) is not None]
    name = station_name(_letter(arrivals), _letter(services), station)
    if len(network.open_classes) == 1:
        return name
    return f"{name}, {_count(len(network.open_classes), 'class')}{ORDER.get(station.discipline, '')}"


def _closed_queue(network: Network) -> str | None:
    """The name of a single station with one closed class and at most one Delay; None for others."""
    queueing = [station for station in network.stations.values() if not station.is_delay]
    delays = [station for station in network.stations.values() if station.is_delay]
    if network.open_classes or len(network.closed_classes) > 1 or len(queueing) != 1 or len(delays) > 1:
        return None
    (name,) = network.closed_classes
    thinking = [law.letter for station in delays if (law := station.service_of(name)) is not None and law.mean > 0]
    service = queueing[0].service_of(name)
    letter = "G" if service is None else service.letter
    return station_name(thinking[0] if thinking else "M", letter, queueing[0], str(network.population))


def _letter(letters: Sequence[str]) -> str:
    return letters[0] if len(set(letters)) == 1 else "G"


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}{'es' if thing.endswith('s') else 's'}"
