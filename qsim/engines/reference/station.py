"""A station of the reference engine: its queues and, where they are limited, its places."""

from __future__ import annotations

from collections import deque

import simpy

from qsim.engines.plan import PlannedStation
from qsim.engines.reference.draws import Draws
from qsim.engines.reference.least_served import LeastServedQueue
from qsim.engines.reference.queues import FirstComeQueue, Queue
from qsim.engines.reference.work_queue import WorkQueue


class RunningStation:
    """Queues, servers and, where they are limited, places."""

    def __init__(
        self, env: simpy.Environment, index: int, plan: PlannedStation, urgency: tuple[int, ...], draws: Draws
    ) -> None:
        self.index = index
        self.limited = plan.capacity is not None
        self._env = env
        self._draws = draws
        self._places_left = plan.capacity or 0
        self._blocked: deque[simpy.Event] = deque()
        self._routing, self._turn = plan.routing, 0
        textbook = plan.discipline == "FCFS" and not plan.speeds and plan.patience is None
        kind = LeastServedQueue if plan.discipline == "FB" else WorkQueue
        self._queues: list[Queue] = [
            FirstComeQueue(env, plan.servers) if textbook else kind(env, index, plan, urgency, draws)
            for _ in range(plan.queues)
        ]

    @property
    def present(self) -> int:
        """How many wait or are in service."""
        return sum(queue.present for queue in self._queues)

    @property
    def full(self) -> bool:
        """Whether no place is left."""
        return self.limited and self._places_left == 0

    def reserve(self) -> simpy.Event:
        """Take a place: now, or after those that asked before."""
        event = self._env.event()
        if self.full:
            self._blocked.append(event)
        else:
            self._places_left -= 1
            event.succeed()
        return event

    def give_up_place(self) -> None:
        """Free a place, or hand it to the first that waits for one."""
        if self._blocked:
            self._blocked.popleft().succeed()
        elif self.limited:
            self._places_left += 1

    def choose_queue(self) -> Queue:
        """The queue that the arriving customer joins."""
        number = len(self._queues)
        if self._routing == "random":
            return self._queues[self._draws.queue(self.index, number)]
        if self._routing == "round-robin":
            self._turn = (self._turn + 1) % number
            return self._queues[self._turn - 1]
        if self._routing == "shortest":
            return min(self._queues, key=lambda queue: queue.present)
        return self._queues[0]
