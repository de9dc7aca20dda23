"""Networks in the reference engine: routes, limited places, regions, and servers as devices have them.

A customer whose service ends goes where it decided to go when it came, unless no place is free there.  What its going
sets free (its place, its seat in a region) is then given away until nobody can move any more: :meth:`settle`.  All of
that happens at one instant, so it is plain calls; SimPy keeps the time.
"""

from __future__ import annotations

import math
from collections import deque
from functools import partial

import simpy

from qsim.engines.network_plan import NOWHERE, NetworkPlan
from qsim.engines.reference.customer import Customer
from qsim.engines.reference.draws import Draws
from qsim.engines.reference.least_served import LeastServedQueue
from qsim.engines.reference.polling import PollingQueue
from qsim.engines.reference.queues import Process
from qsim.engines.reference.recording import Recording
from qsim.engines.reference.server_memory import ServerMemory
from qsim.engines.reference.work_queue import WorkQueue
from qsim.errors import DeadlockError


def run_network(env: simpy.Environment, plan: NetworkPlan, draws: Draws, recording: Recording) -> None:
    """Simulate until the recording is complete; raises DeadlockError with the circle."""
    network = RunningNetwork(env, plan, draws, recording)
    for source in range(len(plan.sources)):
        env.process(network.source(source))
    for entry, begin in enumerate(plan.entries):
        for _ in range(begin.number):
            network.come(entry)
    while not recording.complete.triggered:
        if env.peek() == math.inf:
            network.look_for_deadlock()
        env.step()


class LimitedStation:
    """The queues of a station and its limited places."""

    def __init__(self, network: RunningNetwork, index: int) -> None:
        plan = network.plan
        place = plan.places[index]
        self.index = index
        self.capacity = math.inf if place.capacity is None else place.capacity
        self.when_full = plan.when_full[index]
        self.region = plan.region_of(index)
        self.thinking = place.servers == math.inf and any(entry.home == index for entry in plan.entries)
        self.own = plan.equipment[index]
        self.present = self.reserved = self.turn = 0
        self.gathered: deque[Customer] = deque()
        self.due = self.timer = 0
        self.dirty = False
        self.held: deque[Customer] = deque()
        alone = LeastServedQueue if place.discipline == "FB" else WorkQueue
        kind = partial(PollingQueue, plan, index) if self.own.polling else alone
        self.queues = [
            kind(
                network.env,
                index,
                place,
                plan.urgencies[index],
                network.draws,
                network.served,
                network.may_begin,
                (self.own.batch_least, self.own.batch),
            )
            for _ in range(place.queues)
        ]
        self.servers = []
        if self.own.remembers:
            each = int(place.servers)
            paces = self.own.paces or (1.0,) * each * place.queues
            self.servers = [
                ServerMemory(index, paces[q * each : (q + 1) * each], self.own, network.draws)
                for q in range(place.queues)
            ]

    @property
    def full(self) -> bool:
        """Whether no place is left."""
        return self.present >= self.capacity


class RegionGate:
    """A region and those who wait to come in."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.inside = 0
        self.dirty = False
        self.waiting: deque[Customer] = deque()


class RunningNetwork:
    """Customers on their ways."""

    def __init__(self, env: simpy.Environment, plan: NetworkPlan, draws: Draws, recording: Recording) -> None:
        self.env = env
        self.plan = plan
        self.draws = draws
        self.recording = recording
        self.places = [LimitedStation(self, index) for index in range(len(plan.places))]
        self.gates = [RegionGate(region.capacity) for region in plan.regions]

    def source(self, number: int) -> Process:
        """Customers arrive from outside, one after another, forever."""
        while True:
            yield self.env.timeout(self.draws.time_between_arrivals(number))
            self.come(number)

    def come(self, entry: int) -> None:
        """A new customer, from outside or to begin with."""
        begin = self.plan.entries[entry]
        self.go(Customer(begin.kind, entry=entry), begin.place, begin.kind)
        self.settle()

    def served(self, customer: Customer) -> None:
        """A service is over."""
        if self.must_ask(customer) and self.places[customer.to].full:
            if self.places[customer.to].when_full == "after service":
                self.queue_of(customer).keep_serving()
                self.hold(customer, "after")
            else:
                customer.work = self.draws.service_time(customer.place, customer.kind)
                if servers := self.places[customer.place].servers:
                    servers[customer.queue].again(customer, customer.work)
                else:
                    customer.service_time += customer.work
                self.queue_of(customer).begin(customer)
                self.look_for_deadlock_at(customer.place)
        elif customer.whole is not None:
            self.leave_queue(customer)
            customer.whole.service_time += customer.service_time
            customer.whole.parts -= 1
            if customer.whole.parts == 0:
                self.depart(customer.whole)
        else:
            riders, customer.riders = customer.riders, ()
            for leaving in (customer, *riders):
                self.depart(leaving)
        self.settle()

    def depart(self, customer: Customer) -> None:
        """Off its station, and on to where it goes; or its copy there, and it to where it goes then."""
        to, becoming = customer.to, customer.becoming
        self.take_off(customer)
        if customer.then is not None:
            copy = Customer(becoming, reserved=customer.reserved)
            customer.reserved = False
            self.go(copy, to, becoming)
            to, becoming = customer.then
        self.go(customer, to, becoming)

    def queue_of(self, customer: Customer) -> WorkQueue:
        """The queue where a customer is."""
        return self.places[customer.place].queues[customer.queue]

    def must_ask(self, customer: Customer) -> bool:
        """Whether it needs a place at the next station before it may leave this one."""
        if customer.to in (NOWHERE, customer.place) or customer.reserved:
            return False
        following = self.places[customer.to]
        return following.when_full != "lost" and following.region in (NOWHERE, customer.region)

    def may_begin(self, customer: Customer) -> bool:
        """A server turns to a customer, who may have to reserve a place first."""
        if (
            customer.to != NOWHERE
            and self.places[customer.to].when_full == "before service"
            and self.must_ask(customer)
        ):
            if self.places[customer.to].full:
                self.hold(customer, "before")
                return False
            self.reserve(customer)
        self.make_ready(customer)
        return True

    def make_ready(self, customer: Customer) -> None:
        """Choose its server, where that matters."""
        if servers := self.places[customer.place].servers:
            servers[customer.queue].begin(customer, self.env.now)

    def reserve(self, customer: Customer) -> None:
        """Take a place at the next station."""
        customer.reserved = True
        self.places[customer.to].present += 1
        self.places[customer.to].reserved += 1

    def hold(self, customer: Customer, when: str) -> None:
        """It stays on its server until the next station has a place."""
        customer.held = when
        self.places[customer.to].held.append(customer)
        self.look_for_deadlock_at(customer.place)

    def enter(self, customer: Customer, to: int, kind: int) -> None:
        """Come to a station that has a place for it."""
        place = self.places[to]
        had_reserved = customer.reserved
        if had_reserved:
            customer.reserved = False
            place.reserved -= 1
        else:
            place.present += 1
        if customer.entry is not None and self.plan.entries[customer.entry].home == to:
            if customer.cycling:
                self.complete(customer)
            customer.cycling = True
        customer.kind, customer.place, customer.region, customer.held = kind, to, place.region, ""
        customer.arrived = self.env.now
        customer.service_time = 0.0 if place.own.split else self.draws.service_time(to, kind)
        customer.queue = self.choose_queue(place)
        customer.to, customer.becoming = self.draws.way(to, kind)
        customer.then = None
        if (copy := place.own.copies[kind]) is not None:
            customer.then, (customer.to, customer.becoming) = (customer.to, customer.becoming), copy
        if not self.thinks(customer):
            self.recording.count_present(1)
        if place.own.gather:
            self.gather(customer, place)
        elif place.own.split:
            self.split(customer, place)
        else:
            self.queue_of(customer).join(customer)
        if had_reserved:
            self.look_for_deadlock_at(to)

    def split(self, customer: Customer, place: LimitedStation) -> None:
        """A part of it joins each queue."""
        customer.parts = len(place.queues)
        for number, queue in enumerate(place.queues):
            service = self.draws.service_time(place.index, customer.kind)
            part = Customer(customer.kind, self.env.now, service_time=service, place=place.index, queue=number)
            part.whole = customer
            queue.join(part)

    def gather(self, customer: Customer, place: LimitedStation) -> None:
        """Wait for the others; the last to come, or the clock, lets all go."""
        place.gathered.append(customer)
        waiting = len(place.gathered) - place.due
        if waiting >= place.own.gather:
            self.let_go(place)
        elif waiting == 1:
            self.env.process(self.patience(place, place.timer))

    def patience(self, place: LimitedStation, timer: int) -> Process:
        """Let those go who are together when the time is over, if they have not gone."""
        yield self.env.timeout(place.own.after)
        if timer == place.timer:
            self.let_go(place)
            self.settle()

    def let_go(self, place: LimitedStation) -> None:
        """All who are together leave, one after another."""
        place.due, place.dirty = len(place.gathered), True
        place.timer += 1

    def choose_queue(self, place: LimitedStation) -> int:
        """The queue that the arriving customer joins."""
        routing, number = self.plan.places[place.index].routing, len(place.queues)
        if routing == "random":
            return self.draws.queue(place.index, number)
        if routing == "round-robin":
            place.turn = (place.turn + 1) % number
            return (place.turn - 1) % number
        if routing == "shortest":
            return min(range(number), key=lambda q: place.queues[q].present)
        return 0

    def thinks(self, customer: Customer) -> bool:
        """Whether its time at this station is think time, or a copy's, that nobody waits for."""
        if customer.entry is None:
            return True
        home = self.plan.entries[customer.entry].home == customer.place
        return home and self.places[customer.place].thinking

    def complete(self, customer: Customer) -> None:
        """A passage or a cycle is over."""
        if customer.entry is None:
            return
        inside, customer.kind = customer.kind, self.plan.entries[customer.entry].stream
        self.recording.completion(customer)
        customer.kind = inside

    def leave_queue(self, customer: Customer) -> None:
        """Give its server up; the next one is called up."""
        servers = self.places[customer.place].servers
        if servers and not customer.rides:
            servers[customer.queue].end(customer, self.env.now)
        self.queue_of(customer).leave(customer, held=customer.held == "after")

    def take_off(self, customer: Customer) -> None:
        """It leaves its station, where its stay is over."""
        place = self.places[customer.place]
        if place.own.split or place.own.gather:
            customer.service = customer.service_time / len(place.queues)
            customer.wait = self.env.now - customer.arrived - customer.service
        else:
            self.leave_queue(customer)
            if place.own.orbit:
                customer.wait, customer.service = customer.service, 0.0
        self.recording.stay(place.index, customer.kind, customer.wait, customer.service)
        if not self.thinks(customer):
            customer.total_wait += customer.wait
            customer.total_service += customer.service
            self.recording.count_present(-1)
        place.present -= 1
        place.dirty = True
        if place.region != NOWHERE:
            self.gates[place.region].dirty = True

    def go(self, customer: Customer, to: int, kind: int) -> None:
        """On to the next station, to a gate, or out; it has left the one before."""
        if to == NOWHERE:
            self.complete(customer)
            self.leave_region(customer)
            return
        place = self.places[to]
        if place.region != customer.region:
            self.leave_region(customer)
            if place.region != NOWHERE:
                customer.to, customer.becoming, customer.arrived = to, kind, self.env.now
                self.recording.count_present(1)
                self.gates[place.region].waiting.append(customer)
                self.gates[place.region].dirty = True
                return
        if not customer.reserved and place.full:
            self.turn_away(customer, to, kind)
        else:
            self.enter(customer, to, kind)

    def turn_away(self, customer: Customer, place: int, kind: int) -> None:
        """It finds no place there, and goes where such customers go, or is lost."""
        elsewhere = self.places[place].own.overflow
        self.recording.turned_away(place, kind, lost=elsewhere == NOWHERE)
        if elsewhere == NOWHERE:
            if customer.entry is not None:
                self.recording.lost_of[self.plan.entries[customer.entry].stream] += 1
            self.leave_region(customer)
        else:
            self.go(customer, elsewhere, kind)

    def leave_region(self, customer: Customer) -> None:
        """Give its seat up."""
        if customer.region != NOWHERE:
            self.gates[customer.region].inside -= 1
            self.gates[customer.region].dirty = True
            customer.region = NOWHERE

    def settle(self) -> None:
        """Give away what became free, lowest place first, then the gates, until nobody can move."""
        while any(self.release(place) for place in self.places if place.dirty) or any(
            self.admit(region) for region, gate in enumerate(self.gates) if gate.dirty
        ):
            pass

    def release(self, place: LimitedStation) -> bool:
        """Let the first go who leaves with others, or give a free place to the first who is held for it."""
        if place.due:
            place.due -= 1
            self.depart(place.gathered.popleft())
            return True
        if not place.held or place.full:
            place.dirty = False
            return False
        customer = place.held.popleft()
        if customer.held == "after":
            self.depart(customer)
        else:
            customer.held = ""
            self.reserve(customer)
            self.make_ready(customer)
            self.queue_of(customer).begin(customer)
        return True

    def admit(self, region: int) -> bool:
        """Let the first at a gate in, if it can come in."""
        gate = self.gates[region]
        following = self.places[gate.waiting[0].to] if gate.waiting else None
        if following is None or gate.inside >= gate.capacity or (following.full and following.when_full != "lost"):
            gate.dirty = False
            return False
        customer = gate.waiting.popleft()
        self.recording.count_present(-1)
        wait = self.env.now - customer.arrived
        customer.total_wait += wait
        self.recording.stay(len(self.places) + region, customer.becoming, wait, 0.0)
        if following.full:
            self.turn_away(customer, customer.to, customer.becoming)
            return True
        gate.inside += 1
        customer.region = region
        self.enter(customer, customer.to, customer.becoming)
        return True

    def look_for_deadlock_at(self, index: int) -> None:
        """Something was held at this station, which may have closed a circle."""
        if self.places[index].full:
            self.look_for_deadlock()

    def look_for_deadlock(self) -> None:
        """Full stations stay stuck where everyone on a server waits for another of them."""
        stuck = {place.index for place in self.places if place.full and not place.reserved}
        on_servers = {i: self.on_servers(i) for i in stuck}
        while free := {i for i in stuck for c in on_servers[i] if not (self.must_ask(c) and c.to in stuck)}:
            stuck -= free
        if stuck:
            way = [min(stuck)]
            while (following := on_servers[way[-1]][-1].to) not in way:
                way.append(following)
            circle = way[way.index(following) :]
            raise DeadlockError("the network", tuple(self.plan.places[i].name for i in circle))

    def on_servers(self, index: int) -> list[Customer]:
        """Those at a station who are served or held; those who wait for the last station come last."""
        served = [customer for queue in self.places[index].queues for customer in queue.in_service()]
        return served + [customer for place in self.places for customer in place.held if customer.place == index]
