"""How a queue serves: first come, first served by SimPy's own Resource, and every other order by the work left."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import simpy

from qsim.engines.plan import LEAST_WAIT, PREEMPTIVE, PlannedStation

Process: TypeAlias = Generator[simpy.Event, Any, None]


@dataclass(eq=False)
class Customer:
    """A customer; what happens to it at the present station, and in all."""

    entry: int
    kind: int = 0
    place: int = -1
    to: int = -1
    arrived: float = 0.0
    service_time: float = 0.0
    wait: float = 0.0
    service: float = 0.0
    total_wait: float = 0.0
    total_service: float = 0.0
    # Where the work left is tracked.
    key: tuple[float, int] = (0.0, 0)
    """The smallest goes first: the most urgent, of equals the earliest arrival."""
    work: float = 0.0
    share: float = 0.0


Finished: TypeAlias = Callable[[Customer], object]


class FirstComeQueue:
    """The queue of the textbook: first come, first served, at constant speed."""

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
        self._crowded = 0.0  # when more were last present than servers
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
        """Give the server up; what the stay was like."""
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
        """Work done per time unit for each of those in service."""
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
        if change == self._changes:  # else something else happened first
            self._leave(customer)
            self._finished(customer)


def _key_of(customer: Customer) -> tuple[float, int]:
    return customer.key
