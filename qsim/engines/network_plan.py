"""The plan of a :class:`~qsim.models.Network`: stations, classes and ways as numbers.

Both engines read it, and draw in the same order.  When a customer comes to a station it draws its service time, then
its queue there, then where it will go next; each from a stream of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from qsim.distributions import Deterministic, Distribution
from qsim.engines.plan import PREEMPTIVE, Plan, PlannedStation
from qsim.errors import NoEngineError
from qsim.models import Gather, Network, Node
from qsim.models.node import law_for

NOWHERE = -1
LONG_AGO = 100
"""Of an idle time of more mean vacations than that, whole means are left out: their ends have forgotten the start."""
Way: TypeAlias = tuple[float, int, int]
"""Upper end of the share of customers that take it, the next place (or NOWHERE), the class there."""


@dataclass(frozen=True)
class Entry:
    """Where customers of a stream come in: from a source, or ``number`` who begin there and come ``home`` again."""

    stream: int
    place: int
    kind: int
    home: int = NOWHERE
    number: int = 0


@dataclass(frozen=True)
class Enclosure:
    """A finite region: the name of its gate, how many it lets in, its places."""

    gate: str
    capacity: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Equipment:
    """What a station has beside servers that are all alike and always ready; tuples with an entry for each class."""

    setup: tuple[Distribution | None, ...]
    turnaround: tuple[Distribution | None, ...]
    off_after: float = 0.0
    paces: tuple[float, ...] = ()
    remembers: bool = False
    split: bool = False
    gather: int = 0
    after: float = 0.0
    copies: tuple[tuple[int, int] | None, ...] = ()
    """Where each class sends a copy, and of which class."""
    vacation: Distribution | None = None
    single: bool = False
    polling: str = ""
    """How many are served in each visit to a class; "" where the server does not go round the classes."""
    batch: int = 1
    batch_least: int = 1
    uptime: Distribution | None = None
    repair: Distribution | None = None
    overflow: int = NOWHERE
    orbit: bool = False


@dataclass(frozen=True, kw_only=True)
class NetworkPlan(Plan):
    """A plan whose customers take the ``ways`` of their class; ``entries`` has those of the sources first."""

    classes: tuple[str, ...]
    streams: tuple[str, ...]
    entries: tuple[Entry, ...]
    ways: tuple[tuple[tuple[Way, ...], ...], ...]
    when_full: tuple[str, ...]
    urgencies: tuple[tuple[int, ...], ...]
    equipment: tuple[Equipment, ...]
    regions: tuple[Enclosure, ...] = ()

    def way_round(self, place: int) -> float:
        """The mean time to turn to each class of a station once."""
        return math.fsum(law.mean for law in self.equipment[place].turnaround if law is not None)

    @property
    def kinds(self) -> int:
        """Streams of customers: the classes in which they come."""
        return len(self.streams)

    @property
    def first_come(self) -> bool:
        """Always through events."""
        return False

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """Name and servers of each place, and of each gate behind them."""
        places = [
            (name, 1 if own.split else servers * own.batch)  # of those split, a stay is as long as the average part
            for (name, servers), own in zip(super().parts, self.equipment, strict=True)
        ]
        return (*places, *((region.gate, math.inf) for region in self.regions))

    @property
    def by_part(self) -> bool:
        """Always: every station has a name."""
        return True

    @property
    def kinds_at(self) -> tuple[tuple[int, ...], ...]:
        """The classes that come to each part by routes, overflow or as copies; to a gate those of its stations."""
        seen: list[set[int]] = [set() for _ in self.places]
        coming = [(entry.place, entry.kind) for entry in self.entries]
        for to, kind in coming:  # grows on the way
            if to != NOWHERE and kind not in seen[to]:
                seen[to].add(kind)
                own = self.equipment[to]
                coming += [(place, becoming) for _, place, becoming in self.ways[to][kind]]
                coming += [(own.overflow, kind), own.copies[kind] or (NOWHERE, 0)]
        gates = [set[int]().union(*(seen[place] for place in region.places)) for region in self.regions]
        return tuple(tuple(sorted(kinds)) for kinds in (*seen, *gates))

    def region_of(self, place: int) -> int:
        """The region of a place, or NOWHERE."""
        return next((r for r, region in enumerate(self.regions) if place in region.places), NOWHERE)

    def blocks(self, place: int, to: int) -> bool:
        """Whether those on the way to a full place are held at the one before."""
        if to in (NOWHERE, place) or self.places[to].capacity is None or self.when_full[to] == "lost":
            return False
        return self.region_of(to) in (NOWHERE, self.region_of(place))  # at the border they wait at the gate


def network_plan(model: Network) -> NetworkPlan:
    """The plan; raises NoEngineError for blocking at a station that has no server to stay on."""
    names, classes = list(model.stations), model.classes
    inside = [tuple(names.index(s) for s in region.stations) for region in model.regions]
    made = NetworkPlan(
        tuple(_place(name, node, classes) for name, node in model.nodes.items()),
        sources=tuple(source for each in model.arrivals.values() for source in each.values()),
        population=tuple(
            model.populations[name][home] for name in model.populations for home in model.populations[name]
        ),
        classes=classes,
        streams=model.names,
        entries=tuple(_entries(model)),
        ways=tuple(tuple(tuple(_ways(model, s, c)) for c in classes) for s in names),
        when_full=tuple(node.when_full for node in model.nodes.values()),
        urgencies=tuple(tuple(node.priority.get(c, 0) for c in classes) for node in model.nodes.values()),
        equipment=tuple(_equipment(model, name) for name in names),
        regions=tuple(Enclosure(r.gate, r.capacity, places) for r, places in zip(model.regions, inside, strict=True)),
    )
    for i, place in enumerate(made.places):
        own = made.equipment[i]
        copies = {copy[0] for copy in own.copies if copy is not None}
        if any(made.region_of(to) != made.region_of(i) for to in copies):
            raise NoEngineError(
                f"{model.kendall} is not simulated: copies from {names[i]} would pass a gate; put both stations into "
                "the region, or none"
            )
        if copies and any(made.blocks(i, to) for ways in made.ways[i] for _, to, _ in ways):
            raise NoEngineError(
                f"{model.kendall} is not simulated: those who leave {names[i]} would need two places at once, one for "
                "their copy; put a station without limit between"
            )
        for to in copies or {to for ways in made.ways[i] for _, to, _ in ways}:
            mode = made.when_full[to]
            held = (
                own.split
                or own.gather > 0
                or own.batch > 1
                or place.discipline == "FB"
                or (mode == "repetitive" and place.discipline == "SRPT")
                or (mode == "after service" and place.discipline == "PS")
                or (mode == "before service" and place.discipline in ("PS", *PREEMPTIVE))
            )
            if made.blocks(i, to) and held:
                why, mode = _cannot_hold(own, place)
                raise NoEngineError(
                    f"{model.kendall} is not simulated: {names[i]} {why}, so nobody has a server to stay on when "
                    f"{names[to]} is full; take when_full={mode!r} there" + ("" if mode == "lost" else ", or FCFS here")
                )
    return made


def _cannot_hold(own: Equipment, place: PlannedStation) -> tuple[str, str]:
    """Why those who leave cannot wait for a place, and what the next station must do with them."""
    if own.split or own.gather or own.batch > 1:
        return ("splits" if own.split else "gathers" if own.gather else "batches") + " its customers", "lost"
    return f"serves in the order {place.discipline}", {"FB": "lost", "SRPT": "after service"}.get(
        place.discipline, "repetitive"
    )


def _equipment(model: Network, station: str) -> Equipment:
    names, classes, node = list(model.stations), model.classes, model.nodes[station]
    copies = [model.copies(station, c) for c in classes]
    return Equipment(
        setup=tuple(law_for(node.setup, c) for c in classes),
        turnaround=tuple(law_for(node.turnaround, c) if node.service_of(c) else None for c in classes),
        off_after=node.off_after,
        paces=tuple(node.paces or ()),
        remembers=node.remembers,
        split=node.queues == "split",
        gather=node.count if isinstance(node, Gather) else 0,
        after=node.after if isinstance(node, Gather) else 0.0,
        vacation=node.vacation,
        polling=node.visits if node.discipline == "polling" else "",
        batch=node.batch,
        batch_least=node.batch_least,
        single=node.vacations == "single",
        uptime=node.uptime,
        repair=node.repair,
        overflow=names.index(node.overflow_to) if node.overflow_to else NOWHERE,
        orbit=model.is_orbit(station),
        copies=tuple(None if c is None else (names.index(c[0]), classes.index(c[1])) for c in copies),
    )


def _entries(model: Network) -> list[Entry]:
    names, classes, found = list(model.stations), model.classes, []
    for each in (model.arrivals, model.populations):
        for name, places in each.items():
            for station, value in places.items():
                stream, place = model.names.index(name), names.index(station)
                closed = name in model.populations
                found.append(
                    Entry(stream, place, classes.index(name), place if closed else NOWHERE, value if closed else 0)
                )
    return found


def _ways(model: Network, station: str, name: str) -> list[Way]:
    names, classes = list(model.stations), model.classes
    ways = list(model.ways(station, name))
    upto = accumulate(p for _, _, p in ways)
    found = [(end, names.index(to), classes.index(c)) for end, (to, c, _) in zip(upto, ways, strict=True)]
    if not found or found[-1][0] < 1 - 1e-9:
        found.append((1.0, NOWHERE, 0))
    found[-1] = (1.0, *found[-1][1:])
    return found


def _place(name: str, node: Node, classes: tuple[str, ...]) -> PlannedStation:
    own = node.queues != "shared" and node.servers > 1
    return PlannedStation(
        service=tuple(node.service_of(c) or Deterministic(0.0) for c in classes),
        servers=1 if own else node.servers,
        queues=int(node.servers) if own else 1,
        routing=node.queues if own else "shared",
        discipline=node.discipline,
        capacity=node.capacity,
        speeds=tuple(node.speeds or ()),
        visits=(1.0,) * len(classes),
        think=((),) * len(classes),
        name=name,
    )
