"""One server that goes round the classes of a station: polling."""

from __future__ import annotations

import math
from typing import Any

from qsim.engines.network_plan import LONG_AGO, NetworkPlan
from qsim.engines.reference.queues import Process
from qsim.engines.reference.work_queue import WorkQueue


class PollingQueue(WorkQueue):
    """The server walks without end; where it is while nobody is there is only worked out when somebody comes.

    Whole rounds of the mean length are left out of a long way round with nobody there.
    """

    def __init__(self, plan: NetworkPlan, station: int, *given: Any) -> None:
        super().__init__(*given)
        self._own, self._classes, self._round = plan.equipment[station], len(plan.classes), plan.way_round(station)
        self._at, self._visit = len(plan.classes) - 1, 0.0
        self._on_its_way, self._idle_since = False, 0.0
        self._idle = True

    def _fill(self) -> None:
        if self._serving or self._blocked or self._on_its_way or (self._idle and not self._waiting):
            return
        if self._idle and self._round > 0:
            idle = self._env.now - self._idle_since
            there = -idle + max(0, math.floor(idle / self._round) - LONG_AGO) * self._round
            while there < 0:
                there += self._to_next_class()
            self._idle = False
            self._go(there)
        else:
            self._look_around()

    def _to_next_class(self) -> float:
        self._at, self._visit = (self._at + 1) % self._classes, 0.0
        turns = self._own.turnaround[self._at] is not None
        return self._draws.turnaround(self._station, self._at) if turns else 0.0

    def _go(self, after: float) -> None:
        self._on_its_way = True
        self._env.process(self._arrive(after))

    def _arrive(self, after: float) -> Process:
        yield self._env.timeout(after)
        self._on_its_way = False
        self._bring_up_to_date()
        self._begin_visit()
        self._change()

    def _begin_visit(self) -> None:
        found = sum(customer.kind == self._at for customer in self._waiting)
        self._visit = {"exhaustive": math.inf, "gated": found, "limited": 1}[self._own.polling]

    def _look_around(self) -> None:
        """Serve the next of the class where the server is, if its visit allows; else go on."""
        while True:
            here = [customer for customer in self._waiting if customer.kind == self._at]
            if self._visit and here:
                customer = min(here, key=lambda one: one.key)
                self._waiting.remove(customer)
                self._visit -= 1
                self._idle = False
                self._start(customer)
                return
            if not self._waiting:
                self._idle, self._idle_since = True, self._env.now
                return
            step = self._to_next_class()
            if step > 0:
                self._idle = False
                self._go(step)
                return
            self._begin_visit()
