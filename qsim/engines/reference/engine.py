"""The reference engine: SimPy processes, one per customer, in the order of the textbook.

This is the simulation to read.  The compiled engine does the same with the same random numbers and must come to
the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import numpy as np
import simpy

from qsim.engines.output.run_totals import MOST_PRESENT, Gathering
from qsim.engines.plan import Plan
from qsim.engines.reference.stations import Customer, RunningStation
from qsim.engines.variates.variate_streams import ARRIVALS, THINK, VISITS, Role, streams_of

Progress = Callable[[float], object]
Process: TypeAlias = Generator[simpy.Event, Any, None]
Row: TypeAlias = tuple[float, float, float, int, int]
"""Time, totals of waiting and service, kind, and how many were lost since the customer before."""

CHUNK = 1000
"""Customers handed over at once."""


def run(
    plan: Plan, customers: int, seed: int, gathering: Gathering, progress: Progress | None, *, by_events: bool = False
) -> None:
    """Simulate until ``customers`` are recorded.

    They are recorded in the order in which the compiled engine does: of arrival where it needs no events, unless
    ``by_events``, and else of leaving.  Of a closed system in order of arrival each comes with the time until the
    next, so that a cycle's time is counted with it.
    """
    env = simpy.Environment()
    system = System(env, plan, customers, seed, gathering, progress, by_arrival=plan.first_come and not by_events)
    for kind in range(len(plan.sources)):
        env.process(system.source(kind))
    for kind, population in enumerate(plan.population):
        for _ in range(population):
            env.process(system.resident(Customer(kind)))
    env.run(until=system.log.complete)


class System:
    """The stations, the variates, and the processes that move customers from one station to the next."""

    def __init__(
        self,
        env: simpy.Environment,
        plan: Plan,
        customers: int,
        seed: int,
        gathering: Gathering,
        progress: Progress | None,
        *,
        by_arrival: bool,
    ) -> None:
        self.env = env
        self.plan = plan
        self.streams, _ = streams_of(plan, seed)
        self.log = Log(env, plan, customers, gathering, progress, by_arrival=by_arrival)
        self.stations = [
            RunningStation(env, index, place, plan.urgency, self.streams) for index, place in enumerate(plan.places)
        ]

    def source(self, kind: int) -> Process:
        """Customers arrive from outside, one after another, for ever."""
        gaps = self.streams[Role(ARRIVALS, kind=kind)]
        first = self.stations[0]
        while True:
            yield self.env.timeout(gaps.next())
            customer = Customer(kind, arrived=self.env.now)
            if first.full:
                self.log.lost += 1
                if not self.plan.hold:
                    continue
                yield first.reserve()  # the source waits with it
            elif first.limited:
                first.reserve()
            self.env.process(self.visitor(customer))

    def visitor(self, customer: Customer) -> Process:
        """Visit every station once, and leave."""
        following = [*self.stations[1:], None]
        for station, after in zip(self.stations, following, strict=True):
            yield from self.stay(station, customer, after)
        self.log.finished(customer)

    def resident(self, customer: Customer) -> Process:
        """Think, then go round for ever."""
        last = len(self.stations) - 1
        yield self.env.timeout(self.think_time(last, customer))
        while True:
            for index, station in enumerate(self.stations):
                visits = self.visits(index, customer)
                if visits > 0 and station.full:
                    self.log.lost += 1
                    yield self.env.timeout(self.think_time(index, customer))
                    continue  # with the next station, which is this one: only a single one may be limited
                if visits == 0:
                    customer.think = self.think_time(index, customer)
                for left in range(visits, 0, -1):
                    customer.arrived = self.env.now
                    if station.limited:
                        station.reserve()
                    yield from self.stay(station, customer, None, last_visit=left == 1)
                if index == last:
                    self.log.finished(customer)
                if customer.think > 0:
                    yield self.env.timeout(customer.think)

    def stay(
        self, station: RunningStation, customer: Customer, after: RunningStation | None, *, last_visit: bool = True
    ) -> Process:
        """Queue, be served, and go, as soon as the next station has a place."""
        self.log.someone_came(customer)
        customer.need = station.draw_service(customer.kind)
        customer.think = self.think_time(station.index, customer) if last_visit else 0.0
        queue = station.choose_queue()
        yield from queue.serve(customer, after)
        station.give_up_place()
        self.log.someone_left(customer, station.index)
        customer.total_wait += customer.wait
        customer.total_service += customer.service
        if after is not None:
            customer.arrived = self.env.now

    def think_time(self, index: int, customer: Customer) -> float:
        """How long a customer thinks after a station."""
        stream = self.streams.get(Role(THINK, index, customer.kind))
        return stream.next() if stream is not None else 0.0

    def visits(self, index: int, customer: Customer) -> int:
        """How often a customer visits a station this time: the mean if it is whole, else one of its neighbours."""
        mean = self.plan.places[index].visits[customer.kind]
        whole = math.floor(mean)
        if mean > whole and self.streams[Role(VISITS, index)].next() < mean - whole:
            whole += 1
        return whole


class Log:
    """Collects customers and hands them over in chunks; ends the run after the last one."""

    def __init__(
        self,
        env: simpy.Environment,
        plan: Plan,
        customers: int,
        gathering: Gathering,
        progress: Progress | None,
        *,
        by_arrival: bool,
    ) -> None:
        self.complete = env.event()
        self.lost = 0
        self._env = env
        self._left = self._customers = customers
        self._gathering = gathering
        self._progress = progress
        self._by_arrival = by_arrival
        self._early: dict[int, Row] = {}  # by number, until those who came before are done
        self._numbers, self._next = 0, 0
        self._last_time = 0.0
        self._until_next = by_arrival and bool(plan.population)
        self._held: Row | None = None
        self._rows: list[tuple[float, float, float, float, float]] = []
        self._present, self._since = 0, 0.0
        self._stays: list[list[tuple[float, float, float]]] = [[] for _ in gathering.of_place]
        self._last_stay = [0.0 for _ in gathering.of_place]

    def someone_came(self, customer: Customer) -> None:
        """A customer came to a station."""
        customer.number = self._numbers
        self._numbers += 1
        self._count_present(1)

    def someone_left(self, customer: Customer, station: int) -> None:
        """A customer left a station."""
        self._count_present(-1)
        if self._stays:
            gap, self._last_stay[station] = self._env.now - self._last_stay[station], self._env.now
            self._stays[station].append((gap, customer.wait, customer.service))

    def finished(self, customer: Customer) -> None:
        """A customer has been everywhere."""
        time = customer.arrived if self._by_arrival else self._env.now
        row = (time, customer.total_wait, customer.total_service, customer.kind, self.lost)
        customer.total_wait = customer.total_service = 0.0
        self.lost = 0
        if not self._by_arrival:
            self._emit(row)
            return
        self._early[customer.number] = row
        while self._next in self._early:
            self._emit(self._early.pop(self._next))
            self._next += 1

    def _emit(self, row: Row) -> None:
        if self._left == 0:
            return
        time = row[0]
        if self._until_next:  # only now is known how long after it the next one came
            held, self._held = self._held, row
            if held is None:
                self._last_time = time
                return
            row = held
        self._rows.append((time - self._last_time, *row[1:]))
        self._last_time = time
        self._left -= 1
        if len(self._rows) == CHUNK or self._left == 0:
            self._hand_over()
        if self._left == 0:
            self.complete.succeed()

    def _hand_over(self) -> None:
        gaps, waits, services, kinds, lost = np.array(self._rows).T.copy()
        self._rows.clear()
        if self._by_arrival:
            self._gathering.add(gaps, waits, services)
        else:
            self._gathering.add_finished(gaps, waits, services, kinds.astype(np.int64), lost)
        for place, stays in enumerate(self._stays):
            if stays:
                self._gathering.add_stays(place, *np.array(stays).T.copy())
                stays.clear()
        if self._progress is not None:
            self._progress(1 - self._left / self._customers)

    def _count_present(self, change: int) -> None:
        if self._by_arrival:
            return
        now = self._env.now
        self._gathering.presence[min(self._present, MOST_PRESENT)] += now - self._since
        self._present += change
        self._since = now
