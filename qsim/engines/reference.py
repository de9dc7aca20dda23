"""The reference engine: SimPy processes, written to be read.

Begin with SimulatedStations: sources send customers, and closed classes circulate; each customer stays at one station
after another. Then FirstComeQueue, which is SimPy's own Resource, and WorkQueue, which serves in every other order by
the work left. Recording has nothing to do with queueing.

The compiled engine does the same with the same random numbers and must give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import simpy

from qsim.engines.numbered import LEAST_WAIT, NOWHERE, PREEMPTIVE, Plan, PlannedStation
from qsim.engines.recorder import Totals
from qsim.engines.variates import ARRIVALS, NEXT, ROUTE, SERVICE, VISITS, Role, VariateStream, streams_of

CHUNK = 1000  # customers handed to the recorder at once


def run(plan: Plan, customers: int, seed: int, totals: Totals, progress: Callable[[float], object] | None) -> None:
    """Simulate until ``customers`` are recorded."""
    env = simpy.Environment()
    recording = Recording(env, plan, customers, totals, progress)
    system = SimulatedStations(env, plan, streams_of(plan, seed)[0], recording)
    for source in range(len(plan.sources)):
        env.process(system.source(source))
    for entry, begin in enumerate(plan.entries):
        for _ in range(begin.number):
            system.arrive(entry)
    env.run(until=recording.complete)


class SimulatedStations:
    """The stations, and how customers move from one to the next."""

    def __init__(
        self, env: simpy.Environment, plan: Plan, streams: dict[Role, VariateStream], recording: Recording
    ) -> None:
        self.env = env
        self.plan = plan
        self.streams = streams
        self.recording = recording
        self.stations = [RunningStation(self, index) for index in range(len(plan.places))]

    def source(self, number: int) -> Process:
        """Customers arrive from outside, one after another, forever."""
        while True:
            yield self.env.timeout(self.streams[Role(ARRIVALS, kind=number)].next())
            self.arrive(number)

    def arrive(self, entry: int) -> None:
        """Add a customer, from outside or of a closed class at the start; one that finds no place is lost."""
        begin = self.plan.entries[entry]
        if self.stations[begin.place].full:
            self.recording.lost += 1
        else:
            self.enter(Customer(entry, begin.kind), begin.place)

    def enter(self, customer: Customer, to: int) -> None:
        """Draw the customer's service time at a station, its queue there and its next station."""
        station = self.stations[to]
        customer.place, customer.arrived = to, self.env.now
        customer.service_time = self.streams[Role(SERVICE, to, customer.kind)].next()
        queue = station.choose_queue()
        customer.to = self.choose_way(customer)
        station.present += 1
        queue.join(customer)

    def served(self, customer: Customer) -> None:
        """End a stay: record it, and send the customer on to the next station or out."""
        self.stations[customer.place].present -= 1
        self.recording.stay(customer)
        home = self.plan.entries[customer.entry].home
        if home == NOWHERE or not self.plan.places[customer.place].is_delay:  # else it thinks
            customer.total_wait += customer.wait
            customer.total_service += customer.service
        if customer.to == home:  # a passage (neither has a home, nor goes on) or a cycle is over
            self.recording.completion(customer)
        to = customer.to
        if to != NOWHERE and self.stations[to].full:
            self.recording.lost += 1
            to = home  # a customer that circulates thinks again
        if to != NOWHERE:
            self.enter(customer, to)

    def choose_way(self, customer: Customer) -> int:
        """The next station of a customer: this one until it has been served as often as it shall be."""
        station, kind = customer.place, customer.kind
        if customer.visits_left == 0:
            customer.visits_left = self.draw_visits(station, kind)
        customer.visits_left -= 1
        if customer.visits_left > 0:
            return station
        ways = self.plan.ways[station][kind]
        uniform = self.streams[Role(NEXT, station, kind)].next() if len(ways) > 1 else 0.0
        return next(to for upto, to in ways if uniform < upto)

    def draw_visits(self, station: int, kind: int) -> int:
        """How often a customer that comes from elsewhere is served here."""
        counts = self.streams.get(Role(VISITS, station, kind))
        return int(self.plan.places[station].visits[kind] if counts is None else counts.next())


class RunningStation:
    """The queues of a station during a run, and its places where they are limited."""

    def __init__(self, system: SimulatedStations, index: int) -> None:
        plan = system.plan.places[index]
        self.present = 0
        self._capacity = math.inf if plan.capacity is None else plan.capacity
        self._system, self._index = system, index
        self._routing, self._turn = plan.routing, 0
        textbook = plan.discipline == "FCFS" and not plan.speeds
        self._queues: list[FirstComeQueue | WorkQueue] = [
            FirstComeQueue(system.env, plan.servers, system.served, at_start=system.plan.first_come)
            if textbook
            else WorkQueue(system.env, plan, system.served)
            for _ in range(plan.queues)
        ]

    @property
    def full(self) -> bool:
        """Whether no place is left."""
        return self.present >= self._capacity

    def choose_queue(self) -> FirstComeQueue | WorkQueue:
        """The queue that the arriving customer joins."""
        number = len(self._queues)
        if self._routing == "random":
            uniform = self._system.streams[Role(ROUTE, self._index)].next()
            return self._queues[min(int(uniform * number), number - 1)]
        if self._routing == "round-robin":
            self._turn = (self._turn + 1) % number
            return self._queues[self._turn - 1]
        if self._routing == "shortest":
            return min(self._queues, key=lambda queue: queue.present)
        return self._queues[0]


class Recording:
    """Collects customers and hands them over in chunks; ends the run after the last one.

    Customers are recorded in the order of the compiled engine: by arrival, as service starts, where it needs no
    events; else by departure.
    """

    def __init__(
        self,
        env: simpy.Environment,
        plan: Plan,
        customers: int,
        totals: Totals,
        progress: Callable[[float], object] | None,
    ) -> None:
        self.complete = env.event()
        self.lost = 0
        self._env = env
        self._remaining = self._customers = customers
        self._totals = totals
        self._progress = progress
        self._by_arrival = plan.first_come
        self._last_time = 0.0
        self._rows: list[tuple[float, ...]] = []
        self._stays: dict[int, list[tuple[float, ...]]] = {place: [] for place in plan.parts}
        self._last_stay = dict.fromkeys(plan.parts, 0.0)

    def stay(self, customer: Customer) -> None:
        """Record a customer's stay at a station."""
        if (place := customer.place) in self._stays:
            gap, self._last_stay[place] = self._env.now - self._last_stay[place], self._env.now
            self._stays[place].append((gap, customer.wait, customer.service, customer.kind))

    def completion(self, customer: Customer) -> None:
        """Record a passage or a cycle."""
        time = customer.arrived if self._by_arrival else self._env.now
        if self._remaining == 0:
            return
        gap, self._last_time = time - self._last_time, time
        self._rows.append((gap, customer.total_wait, customer.total_service, customer.kind, self.lost))
        customer.total_wait = customer.total_service = 0.0
        self.lost = 0
        self._remaining -= 1
        if self._remaining == 0:
            self.complete.succeed()
        elif len(self._rows) < CHUNK:
            return
        self._totals.add(*np.array(self._rows).T.copy())
        self._rows.clear()
        for place, stays in self._stays.items():
            if stays:
                self._totals.add_stays(place, *np.array(stays).T.copy())
                stays.clear()
        if self._progress is not None:
            self._progress(1 - self._remaining / self._customers)


Process: TypeAlias = Generator[simpy.Event, Any, None]


@dataclass(eq=False)
class Customer:
    """A customer, with its times at the present station and in total."""

    entry: int
    kind: int = 0
    place: int = -1
    to: int = -1
    visits_left: int = 0  # services still to come at this place, after the present one; 0 when it goes elsewhere
    arrived: float = 0.0
    service_time: float = 0.0
    wait: float = 0.0
    service: float = 0.0
    total_wait: float = 0.0
    total_service: float = 0.0
    # Where the work left is tracked.
    key: tuple[float, int] = (0.0, 0)  # the smallest goes first: the most urgent, then the earliest arrival
    work: float = 0.0
    share: float = 0.0


Finished: TypeAlias = Callable[[Customer], object]


class FirstComeQueue:
    """First come, first served, at constant speed."""

    def __init__(self, env: simpy.Environment, servers: float, finished: Finished, *, at_start: bool = False) -> None:
        self._env = env
        self._finished = finished
        self._at_start = at_start  # whether to call back when a service starts
        self._servers = simpy.Resource(env, capacity=math.inf if servers == math.inf else int(servers))  # type: ignore[arg-type]

    @property
    def present(self) -> int:
        return self._servers.count + len(self._servers.queue)

    def join(self, customer: Customer) -> None:
        self._env.process(self._serve(customer))

    def _serve(self, customer: Customer) -> Process:
        with self._servers.request() as turn:
            yield turn
            customer.wait, customer.service = self._env.now - customer.arrived, customer.service_time
            if self._at_start:
                self._finished(customer)
            yield self._env.timeout(customer.service_time)
        if not self._at_start:
            self._finished(customer)


class WorkQueue:
    """Any other order of service, at a speed that may depend on how many are present.

    It tracks the work left for each customer, and brings it up to date whenever something changes.
    """

    def __init__(self, env: simpy.Environment, plan: PlannedStation, finished: Finished) -> None:
        self._env = env
        self._plan = plan
        self._finished = finished
        self._arrivals = 0
        self._waiting: list[Customer] = []
        self._serving: list[Customer] = []
        self._seen = 0.0
        self._crowded = 0.0  # the last time at which more customers than servers were present
        self._changes = 0

    @property
    def present(self) -> int:
        return len(self._waiting) + len(self._serving)

    def join(self, customer: Customer) -> None:
        self._bring_up_to_date()
        self._arrivals += 1
        urgency = -self._arrivals if self._plan.discipline == "LCFS-PR" else self._plan.urgency[customer.kind]
        customer.key = (urgency, self._arrivals)
        customer.work, customer.share, customer.wait = customer.service_time, 0.0, 0.0
        self._waiting.append(customer)
        self._change()

    def _leave(self, customer: Customer) -> None:
        """Free the server, and set the wait and service of the stay."""
        self._bring_up_to_date()
        response = self._env.now - customer.arrived
        customer.service = customer.service_time
        if self._plan.discipline == "PS":
            if self._plan.speeds:
                customer.service = customer.share
            shared = self._crowded > customer.arrived
            customer.wait = max(response - customer.service, LEAST_WAIT) if shared else 0.0
        elif self._plan.speeds:
            customer.service = response - customer.wait
        self._serving.remove(customer)
        self._change()

    def _speed(self) -> float:
        """Work done per time unit for each customer in service."""
        if self._plan.speeds:
            return self._plan.speeds[min(self.present, len(self._plan.speeds)) - 1] / len(self._serving)
        return min(1.0, self._plan.servers / self.present) if self._plan.discipline == "PS" else 1.0

    def _bring_up_to_date(self) -> None:
        elapsed = self._env.now - self._seen
        self._seen = self._env.now
        for customer in self._waiting:
            customer.wait += elapsed
        if self.present > self._plan.servers:
            self._crowded = self._env.now
        if self._serving:
            worked = elapsed * self._speed()
            shared = elapsed * min(1.0, self._plan.servers / self.present)
            for customer in self._serving:
                customer.work -= worked
                customer.share += shared

    def _change(self) -> None:
        """Fill the servers, and schedule the next to finish."""
        while self._waiting and (self._plan.discipline == "PS" or len(self._serving) < self._plan.servers):
            first = min(self._waiting, key=_key_of)
            self._waiting.remove(first)
            self._serving.append(first)
        if self._plan.discipline in PREEMPTIVE and self._waiting and self._serving:
            urgent, worst = min(self._waiting, key=_key_of), max(self._serving, key=_key_of)
            if urgent.key[0] < worst.key[0]:
                self._waiting.remove(urgent)
                self._serving.remove(worst)
                self._waiting.append(worst)
                self._serving.append(urgent)
        self._changes += 1
        if self._serving:
            first = min(self._serving, key=lambda customer: customer.work)
            self._env.process(self._finish(first, max(0.0, first.work) / self._speed(), self._changes))

    def _finish(self, customer: Customer, after: float, change: int) -> Process:
        yield self._env.timeout(after)
        if change == self._changes:  # else this finish was rescheduled
            self._leave(customer)
            self._finished(customer)


def _key_of(customer: Customer) -> tuple[float, int]:
    return customer.key
