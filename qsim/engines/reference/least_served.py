"""Foreground-background: those who have had the least service are served, all equally, until they catch up."""

from __future__ import annotations

import math

from qsim.engines.reference.customer import Customer
from qsim.engines.reference.queues import Process
from qsim.engines.reference.work_queue import WorkQueue


class LeastServedQueue(WorkQueue):
    """One server, shared by those who have had ``_level``; the keys of those who wait are what they have had."""

    _level = 0.0

    def join(self, customer: Customer) -> None:
        """Be served alone, or with those who have had nothing either."""
        self._bring_up_to_date()
        if self._level > 0:
            for other in self._serving:
                other.key = (self._level, other.key[1])
            self._waiting.extend(self._serving)
            self._serving.clear()
        self._level = 0.0
        super().join(customer)

    def _speed(self) -> float:
        return 1 / len(self._serving)

    def _bring_up_to_date(self) -> None:
        if self._serving:
            self._level += (self._env.now - self._seen) * self._speed()
        super()._bring_up_to_date()

    def _change(self) -> None:
        levels = [customer.key[0] for customer in self._waiting]
        if levels and not self._serving:
            self._level = min(levels)
        self._serving.extend(c for c in self._waiting if c.key[0] == self._level)
        self._waiting = [c for c in self._waiting if c.key[0] != self._level]
        self._changes += 1
        if self._serving:
            ahead = min((c.key[0] for c in self._waiting), default=math.inf)
            first = min(self._serving, key=lambda customer: customer.work)
            if ahead - self._level <= first.work:
                self._env.process(self._catch_up(ahead, self._changes))
            else:
                self._env.process(self._finish(first, max(0.0, first.work) / self._speed(), self._changes))

    def _catch_up(self, level: float, change: int) -> Process:
        yield self._env.timeout(max(0.0, level - self._level) / self._speed())
        if change == self._changes:
            self._bring_up_to_date()
            self._level = level
            self._change()
