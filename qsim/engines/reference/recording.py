"""What the reference engine records: customers in the order of the compiled engine, handed over in chunks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import simpy

from qsim.engines.plan import Plan
from qsim.engines.reference.queues import Customer
from qsim.engines.totals import MOST_PRESENT, Totals

CHUNK = 1000
"""Customers handed over at once."""


class Recording:
    """Collects customers and hands them over in chunks; ends the run after the last one."""

    def __init__(
        self,
        env: simpy.Environment,
        plan: Plan,
        customers: int,
        totals: Totals,
        progress: Callable[[float], object] | None,
        *,
        by_arrival: bool,
    ) -> None:
        self.complete = env.event()
        self.lost = 0
        self._env = env
        self._plan = plan
        self._remaining = self._customers = customers
        self._totals = totals
        self._progress = progress
        self._by_arrival = by_arrival
        self._early: dict[int, tuple[float, ...]] = {}  # by number, until the earlier ones are done
        self._numbers, self._next = 0, 0
        self._last_time = 0.0
        self._rows: list[tuple[float, ...]] = []
        self._present, self._since = 0, 0.0
        self._stays: dict[int, list[tuple[float, ...]]] = {place: [] for place in plan.parts}
        self._last_stay = dict.fromkeys(plan.parts, 0.0)

    def arrival(self, customer: Customer, *, counts: bool) -> None:
        """A customer arrives at a station; ``counts``: among those present."""
        customer.number = self._numbers
        self._numbers += 1
        self._count_present(int(counts))

    def stay(self, customer: Customer, *, counts: bool) -> None:
        """A customer's stay at a station is over."""
        self._count_present(-int(counts))
        if (place := customer.place) in self._stays:
            gap, self._last_stay[place] = self._env.now - self._last_stay[place], self._env.now
            self._stays[place].append((gap, customer.wait, customer.service, customer.kind))

    def completion(self, customer: Customer) -> None:
        """A passage or a cycle is over."""
        time = customer.arrived if self._by_arrival else self._env.now
        kind = self._plan.entries[customer.entry].stream
        row = (time, customer.total_wait, customer.total_service, kind, self.lost)
        customer.total_wait = customer.total_service = 0.0
        self.lost = 0
        if not self._by_arrival:
            self._emit(row)
            return
        self._early[customer.number] = row
        while self._next in self._early:
            self._emit(self._early.pop(self._next))
            self._next += 1

    def _emit(self, row: tuple[float, ...]) -> None:
        if self._remaining == 0:
            return
        self._rows.append((row[0] - self._last_time, *row[1:]))
        self._last_time = row[0]
        self._remaining -= 1
        if len(self._rows) == CHUNK or self._remaining == 0:
            self._hand_over()
        if self._remaining == 0:
            self.complete.succeed()

    def _hand_over(self) -> None:
        self._totals.add(*np.array(self._rows).T.copy())
        self._rows.clear()
        for place, stays in self._stays.items():
            if stays:
                self._totals.add_stays(place, *np.array(stays).T.copy())
                stays.clear()
        if self._progress is not None:
            self._progress(1 - self._remaining / self._customers)

    def _count_present(self, change: int) -> None:
        if self._by_arrival or change == 0:
            return
        now = self._env.now
        self._totals.presence[min(self._present, MOST_PRESENT)] += now - self._since
        self._present += change
        self._since = now
