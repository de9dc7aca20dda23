"""The stations of the reference engine: places, queues and orders of service.

First come, first served at constant speed is SimPy's own Resource.  Every other order, and service whose speed
depends on how many are present, is a queue that keeps account of the work left for each customer.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import simpy

from qsim.engines.plan import PlannedStation
from qsim.engines.variates.streams import VariateStream
from qsim.engines.variates.variate_streams import ORDER, ROUTE, SERVICE, Role

Process: TypeAlias = Generator[simpy.Event, Any, None]


@dataclass(eq=False)
class Customer:
    """A customer; what happens to it at the present station, and in all."""

    kind: int
    arrived: float = 0.0
    number: int = 0
    need: float = 0.0
    think: float = 0.0
    wait: float = 0.0
    service: float = 0.0
    total_wait: float = 0.0
    total_service: float = 0.0
    # For queues that keep account of work.
    key: tuple[float, int] = (0.0, 0)
    work: float = 0.0
    share: float = 0.0
    done: simpy.Event | None = None


class Queue(Protocol):
    """A queue and its servers."""

    @property
    def present(self) -> int:
        """How many wait or are served."""
        ...

    def serve(self, customer: Customer, after: RunningStation | None) -> Process:
        """Wait and be served; keep the server until the station after this one has a place."""
        ...


class RunningStation:
    """Queues, servers and, where they are limited, places."""

    def __init__(
        self,
        env: simpy.Environment,
        index: int,
        place: PlannedStation,
        urgency: tuple[int, ...],
        streams: Mapping[Role, VariateStream],
    ) -> None:
        self.index = index
        self.limited = place.capacity is not None
        self._env = env
        self._places_left = place.capacity or 0
        self._blocked: deque[simpy.Event] = deque()
        self._services = [streams[Role(SERVICE, index, kind)] for kind in range(len(place.service))]
        self._routing, self._turn = place.routing, 0
        self._routes = streams.get(Role(ROUTE, index))
        plain = place.discipline == "FCFS" and not place.speeds
        self._queues: list[Queue] = [
            FirstComeQueue(env, place.servers)
            if plain
            else WorkQueue(env, place, urgency, streams.get(Role(ORDER, index)))
            for _ in range(place.queues)
        ]

    @property
    def full(self) -> bool:
        """Whether no place is left."""
        return self.limited and self._places_left == 0

    def reserve(self) -> simpy.Event:
        """Take a place, now or as soon as those who asked before have one."""
        event = self._env.event()
        if self.full:
            self._blocked.append(event)
        else:
            self._places_left -= 1
            event.succeed()
        return event

    def give_up_place(self) -> None:
        """Let the next one have it."""
        if self._blocked:
            self._blocked.popleft().succeed()
        elif self.limited:
            self._places_left += 1

    def draw_service(self, kind: int) -> float:
        """The service time of the customer who comes now."""
        return self._services[kind].next()

    def choose_queue(self) -> Queue:
        """The queue of the customer who comes now."""
        number = len(self._queues)
        if self._routing == "random" and self._routes is not None:
            return self._queues[min(int(self._routes.next() * number), number - 1)]
        if self._routing == "round-robin":
            self._turn = (self._turn + 1) % number
            return self._queues[self._turn - 1]
        if self._routing == "shortest":
            return min(self._queues, key=lambda queue: queue.present)
        return self._queues[0]


class FirstComeQueue:
    """First come, first served."""

    def __init__(self, env: simpy.Environment, servers: float) -> None:
        self._env = env
        self._servers = simpy.Resource(env, capacity=math.inf if servers == math.inf else int(servers))  # type: ignore[arg-type]

    @property
    def present(self) -> int:
        return self._servers.count + len(self._servers.queue)

    def serve(self, customer: Customer, after: RunningStation | None) -> Process:
        with self._servers.request() as turn:
            yield turn
            started = self._env.now
            customer.wait = started - customer.arrived
            customer.service = customer.need
            yield self._env.timeout(customer.need)
            if after is not None and after.limited:
                yield after.reserve()
                customer.service = self._env.now - started


PREEMPTIVE = ("LCFS-PR", "PSJF", "preemptive priority")


class WorkQueue:
    """Any order of service, at any speed: after every change the work left is brought up to date."""

    def __init__(
        self, env: simpy.Environment, place: PlannedStation, urgency: tuple[int, ...], choices: VariateStream | None
    ) -> None:
        self._env = env
        self._place = place
        self._urgency = urgency
        self._choices = choices
        self._arrivals = 0
        self._waiting: list[Customer] = []
        self._serving: list[Customer] = []
        self._blocked = 0  # done, but still on a server
        self._seen = 0.0
        self._changes = 0

    @property
    def present(self) -> int:
        return len(self._waiting) + len(self._serving) + self._blocked

    def serve(self, customer: Customer, after: RunningStation | None) -> Process:
        self._bring_up_to_date()
        self._arrivals += 1
        customer.key = (self._key(customer), self._arrivals)
        customer.work, customer.share = customer.need, 0.0
        customer.wait = self._env.now - customer.arrived  # not zero if it was held before it came in
        customer.done = self._env.event()
        self._waiting.append(customer)
        self._change()
        yield customer.done
        if after is not None and after.limited:
            yield after.reserve()
        self._bring_up_to_date()
        self._blocked -= 1
        self._change()
        response = self._env.now - customer.arrived
        if self._place.discipline == "PS":
            customer.service = customer.share if self._place.speeds else customer.need
            customer.wait = response - customer.service
            if customer.wait < 1e-9 * response:  # never shared, rounding apart
                customer.wait = 0.0
        else:
            held_longer = self._place.speeds or (after is not None and after.limited)
            customer.service = response - customer.wait if held_longer else customer.need

    def _key(self, customer: Customer) -> float:
        """The smallest goes first, then who came first."""
        if self._place.discipline in ("SJF", "PSJF"):
            return customer.need
        if self._place.discipline in ("LCFS", "LCFS-PR"):
            return -self._arrivals
        if self._place.discipline in ("priority", "preemptive priority"):
            return self._urgency[customer.kind]
        return 0.0

    def _speed(self) -> float:
        """Work done per time unit for each of those in service."""
        if self._place.speeds:
            return self._place.speeds[min(self.present, len(self._place.speeds)) - 1] / len(self._serving)
        return min(1.0, self._place.servers / self.present) if self._place.discipline == "PS" else 1.0

    def _bring_up_to_date(self) -> None:
        elapsed = self._env.now - self._seen
        self._seen = self._env.now
        for customer in self._waiting:
            customer.wait += elapsed
        if self._serving:
            worked = elapsed * self._speed()
            shared = elapsed * min(1.0, self._place.servers / self.present)
            for customer in self._serving:
                customer.work -= worked
                customer.share += shared

    def _change(self) -> None:
        """Who is served now, and who will be done first."""
        while self._waiting and (
            self._place.discipline == "PS" or len(self._serving) + self._blocked < self._place.servers
        ):
            self._serving.append(self._call_up())
        if self._place.discipline in PREEMPTIVE and self._waiting and self._serving:
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

    def _call_up(self) -> Customer:
        chosen = min(self._waiting, key=_key_of)
        if self._choices is not None and len(self._waiting) > 1:
            waiting = sorted(self._waiting, key=_key_of)
            chosen = waiting[min(int(self._choices.next() * len(waiting)), len(waiting) - 1)]
        self._waiting.remove(chosen)
        return chosen

    def _finish(self, customer: Customer, after: float, change: int) -> Process:
        yield self._env.timeout(after)
        if change != self._changes or customer.done is None:
            return  # something else happened first
        self._bring_up_to_date()
        self._serving.remove(customer)
        self._blocked += 1
        self._changes += 1
        customer.done.succeed()


def _key_of(customer: Customer) -> tuple[float, int]:
    return customer.key
