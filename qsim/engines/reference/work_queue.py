"""Every other order of service, and service whose speed depends on how many are present.

The queue tracks the work left for each customer, and brings it up to date whenever something changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import simpy

from qsim.engines.plan import LEAST_WAIT, PREEMPTIVE, PlannedStation
from qsim.engines.reference.customer import Customer
from qsim.engines.reference.draws import Draws
from qsim.engines.reference.queues import LimitedPlaces, Process

Finished: TypeAlias = Callable[[Customer], object]
MayBegin: TypeAlias = Callable[[Customer], bool]


class WorkQueue:
    """Any order of service, at any speed.

    In a network ``finished`` is called when a service ends, and ``may_begin`` says whether one may begin, or is held on
    its server until :meth:`begin`; a lone queue is a process instead, :meth:`serve`.
    """

    def __init__(
        self,
        env: simpy.Environment,
        station: int,
        plan: PlannedStation,
        urgency: tuple[int, ...],
        draws: Draws,
        finished: Finished | None = None,
        may_begin: MayBegin | None = None,
        batch: tuple[int, int] = (1, 1),
    ) -> None:
        self._finished = finished or _wake
        self._may_begin = may_begin
        self._env = env
        self._station = station
        self._plan = plan
        self._urgency = urgency
        self._draws = draws
        self._arrivals = 0
        self._waiting: list[Customer] = []
        self._serving: list[Customer] = []
        self._held: list[Customer] = []  # on a server, not begun
        self._blocked = 0  # on a server, but not in service
        self._least, self._most = batch
        self._riding = 0  # in a service that another leads
        self._seen = 0.0
        self._crowded = 0.0  # when more were last present than servers
        self._changes = 0

    @property
    def present(self) -> int:
        return len(self._waiting) + len(self._serving) + self._blocked + self._riding

    def serve(self, customer: Customer, following: LimitedPlaces | None) -> Process:
        customer.done = self._env.event()
        self.join(customer)
        if self._plan.patience is not None:
            self._env.process(self._lose_patience(customer, self._draws.patience(self._station)))
        yield customer.done
        if customer.gave_up:
            return
        held = following is not None and following.limited
        if following is not None and held:
            self.keep_serving()
            yield following.reserve()
        self.leave(customer, held=held)

    def _lose_patience(self, customer: Customer, after: float) -> Process:
        """Let a customer that still waits after this time leave unserved."""
        yield self._env.timeout(after)
        if customer in self._waiting:
            self._bring_up_to_date()
            self._waiting.remove(customer)
            self._change()
            customer.gave_up, customer.service = True, 0.0
            _wake(customer)

    def join(self, customer: Customer) -> None:
        """Wait, or be served at once."""
        self._bring_up_to_date()
        self._arrivals += 1
        customer.key = (self._key(customer), self._arrivals)
        customer.work, customer.share = customer.service_time, 0.0
        customer.wait = self._env.now - customer.arrived  # not zero if it was held before it came in
        self._waiting.append(customer)
        self._change()

    def keep_serving(self) -> None:
        """Go on with the others while one stays on its server."""
        self._change()

    def begin(self, customer: Customer) -> None:
        """Serve one who is on a server: for the first time, or once more."""
        self._bring_up_to_date()
        self._blocked -= 1
        if customer in self._held:
            self._held.remove(customer)
        self._serving.append(customer)
        self._change()

    def in_service(self) -> list[Customer]:
        """Those who are served now."""
        return self._serving

    def leave(self, customer: Customer, *, held: bool) -> None:
        """Give the server up; ``held``: perhaps after the service was over."""
        self._bring_up_to_date()
        if customer.rides:
            self._riding -= 1
            customer.rides, customer.service = False, customer.service_time
            return
        self._blocked -= 1
        self._change()
        response = self._env.now - customer.arrived
        if self._plan.discipline in ("PS", "FB"):
            customer.service = customer.share if self._plan.speeds else customer.service_time
            customer.wait = self._slowed(customer, response)
        else:
            customer.service = response - customer.wait if self._plan.speeds or held else customer.service_time

    def _slowed(self, customer: Customer, response: float) -> float:
        """How much longer one who leaves was there than its service took; 0 for one who never shared."""
        wait = response - customer.service
        if self._plan.discipline == "PS":
            return max(wait, LEAST_WAIT) if self._crowded > customer.arrived else 0.0
        return wait if wait >= 1e-9 * response else 0.0

    def _key(self, customer: Customer) -> float:
        """The smallest key goes first; of equal ones, the earliest arrival."""
        if self._plan.discipline in ("SJF", "PSJF", "SRPT"):
            return customer.service_time
        if self._plan.discipline in ("LCFS", "LCFS-PR"):
            return -self._arrivals
        if self._plan.discipline in ("priority", "preemptive priority"):
            return self._urgency[customer.kind]
        return 0.0

    def _speed(self) -> float:
        """Work done per time unit for each of those in service."""
        if self._plan.speeds:
            return self._plan.speeds[min(self.present, len(self._plan.speeds)) - 1] / len(self._serving)
        return min(1.0, self._plan.servers / self.present) if self._plan.discipline == "PS" else 1.0

    def _bring_up_to_date(self) -> None:
        elapsed = self._env.now - self._seen
        self._seen = self._env.now
        for customer in (*self._waiting, *self._held):
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
        self._fill()
        if self._plan.discipline == "SRPT":
            for customer in self._serving:
                customer.key = (customer.work, customer.key[1])
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

    def _fill(self) -> None:
        """Those who wait begin where servers are free."""
        while len(self._waiting) >= self._least and (
            self._plan.discipline == "PS" or len(self._serving) + self._blocked < self._plan.servers
        ):
            customer = self._call_up()
            self._start(customer)
            if self._most > 1:
                self._take_along(customer)

    def _start(self, customer: Customer) -> None:
        if self._may_begin is None or self._may_begin(customer):
            self._serving.append(customer)
        else:
            self._blocked += 1
            self._held.append(customer)

    def _take_along(self, leader: Customer) -> None:
        """Others who wait ride in the service that this one leads."""
        leader.riders = tuple(self._call_up() for _ in range(min(self._most - 1, len(self._waiting))))
        self._riding += len(leader.riders)
        for rider in leader.riders:
            rider.rides = True
            rider.wait += leader.work - leader.service_time
            rider.service_time = leader.service_time

    def _call_up(self) -> Customer:
        chosen = min(self._waiting, key=_key_of)
        if self._plan.discipline == "SIRO" and len(self._waiting) > 1:
            waiting = sorted(self._waiting, key=_key_of)
            chosen = waiting[self._draws.waiting_customer(self._station, len(waiting))]
        self._waiting.remove(chosen)
        return chosen

    def _finish(self, customer: Customer, after: float, change: int) -> Process:
        yield self._env.timeout(after)
        if change != self._changes:
            return  # something else happened first
        self._bring_up_to_date()
        self._serving.remove(customer)
        self._blocked += 1
        self._changes += 1
        self._finished(customer)


def _wake(customer: Customer) -> None:
    assert customer.done is not None  # noqa: S101  (serve made it)
    customer.done.succeed()


def _key_of(customer: Customer) -> tuple[float, int]:
    return customer.key
