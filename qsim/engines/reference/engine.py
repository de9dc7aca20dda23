"""The reference engine: SimPy processes, one per customer, in the order of the textbook.

This is the simulation to read.  Begin here: a source sends customers, or a population of them circles; each stays at
one station after another.  Then :mod:`station`, :mod:`queues` (first come, first served), :mod:`work_queue` (every
other order) and :mod:`draws` (the random choices).  :mod:`recording` hands the customers over; it holds no queueing.

The compiled engine does the same with the same random numbers and must come to the same answer.
"""

from __future__ import annotations

import simpy

from qsim.engines.network_plan import NetworkPlan
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import Plan
from qsim.engines.reference.customer import Customer
from qsim.engines.reference.draws import Draws
from qsim.engines.reference.network import run_network
from qsim.engines.reference.queues import Process
from qsim.engines.reference.recording import Progress, Recording
from qsim.engines.reference.station import RunningStation


def run(
    plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None, *, by_events: bool = False
) -> None:
    """Simulate until ``customers`` are recorded.

    They are recorded in the order of the compiled engine: of arrival where it needs no events, unless ``by_events``,
    else of departure.
    """
    env = simpy.Environment()
    if isinstance(plan, NetworkPlan):
        recording = Recording(env, plan, customers, totals, progress, by_arrival=False)
        run_network(env, plan, Draws(plan, seed), recording)
        return
    recording = Recording(env, plan, customers, totals, progress, by_arrival=plan.first_come and not by_events)
    system = System(env, plan, Draws(plan, seed), recording)
    for kind in range(len(plan.sources)):
        env.process(system.source(kind))
    for kind, population in enumerate(plan.population):
        for _ in range(population):
            env.process(system.resident(Customer(kind)))
    env.run(until=recording.complete)


class System:
    """The stations, and the processes that move customers from one to the next."""

    def __init__(self, env: simpy.Environment, plan: Plan, draws: Draws, recording: Recording) -> None:
        self.env = env
        self.plan = plan
        self.draws = draws
        self.recording = recording
        self.stations = [
            RunningStation(env, index, place, plan.urgency, draws) for index, place in enumerate(plan.places)
        ]

    def source(self, kind: int) -> Process:
        """Customers arrive from outside, one after another, forever."""
        first = self.stations[0]
        while True:
            yield self.env.timeout(self.draws.time_between_arrivals(kind))
            customer = Customer(kind, arrived=self.env.now)
            if self.draws.balks(0, first.present):
                self.recording.lost += 1
                continue
            if first.full:
                self.recording.lost += 1
                if not self.plan.hold:
                    continue
                yield first.reserve()  # the source waits too
            elif first.limited:
                first.reserve()
            self.env.process(self.visitor(customer))

    def visitor(self, customer: Customer) -> Process:
        """Visit every station once, and leave."""
        for station, following in zip(self.stations, [*self.stations[1:], None], strict=True):
            yield from self.stay(station, customer, following)
        self.recording.completion(customer)

    def resident(self, customer: Customer) -> Process:
        """Think, then go round the stations forever."""
        last = self.stations[-1]
        yield self.env.timeout(self.draws.think_time(last.index, customer.kind))
        while True:
            for station in self.stations:
                visits = self.draws.visits(station.index, customer.kind)
                if visits > 0 and station.full:  # only a single station may be limited: the next try is here too
                    self.recording.lost += 1
                    yield self.env.timeout(self.draws.think_time(station.index, customer.kind))
                    continue
                yield from self.visit(station, customer, visits)
                if station is last:
                    self.recording.completion(customer)
                if customer.think_time > 0:
                    yield self.env.timeout(customer.think_time)

    def visit(self, station: RunningStation, customer: Customer, visits: int) -> Process:
        """Stay at a station so often; draw the think time that follows with the last stay."""
        if visits == 0:
            customer.think_time = self.draws.think_time(station.index, customer.kind)
        for left in range(visits, 0, -1):
            customer.arrived = self.env.now
            if station.limited:
                station.reserve()
            yield from self.stay(station, customer, None, last_visit=left == 1)

    def stay(
        self, station: RunningStation, customer: Customer, following: RunningStation | None, *, last_visit: bool = True
    ) -> Process:
        """Queue, be served, and go as soon as the following station has a place."""
        self.recording.arrival(customer)
        customer.service_time = self.draws.service_time(station.index, customer.kind)
        customer.think_time = self.draws.think_time(station.index, customer.kind) if last_visit else 0.0
        yield from station.choose_queue().serve(customer, following)
        station.give_up_place()
        self.recording.departure(customer, station.index)
        customer.total_wait += customer.wait
        customer.total_service += customer.service
        if following is not None:
            customer.arrived = self.env.now
