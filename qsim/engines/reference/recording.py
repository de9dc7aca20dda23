"""What the reference engine records: customers in the order of the compiled engine, handed over in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import simpy

from qsim.engines.output.run_totals import MOST_PRESENT, RunTotals
from qsim.engines.plan import Plan
from qsim.engines.reference.customer import Customer

Progress = Callable[[float], object]
Row: TypeAlias = tuple[float, float, float, int, int]
"""Time, totals of waiting and service, kind, and how many were lost since the customer before."""

CHUNK = 1000
"""Customers handed over at once."""


class Recording:
    """Collects customers and hands them over in chunks; ends the run after the last one."""

    def __init__(
        self,
        env: simpy.Environment,
        plan: Plan,
        customers: int,
        totals: RunTotals,
        progress: Progress | None,
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
        self._early: dict[int, Row] = {}  # by number, until the earlier ones are done
        self._numbers, self._next = 0, 0
        self._last_time = 0.0
        self._rows: list[Row] = []
        self._present, self._since = 0, 0.0
        self._stays: list[list[tuple[float, ...]]] = [[] for _ in plan.places]
        self._last_stay = [0.0 for _ in plan.places]

    def arrival(self, customer: Customer, *, counts: bool) -> None:
        """A customer arrives at a station; ``counts``: among those present."""
        customer.number = self._numbers
        self._numbers += 1
        if counts:
            self._count_present(1)

    def stay(self, customer: Customer, *, counts: bool) -> None:
        """A customer's stay at a station is over."""
        if counts:
            self._count_present(-1)
        if self._plan.parts:
            place = customer.place
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

    def _emit(self, row: Row) -> None:
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
        gaps, waits, services, kinds, lost = np.array(self._rows).T.copy()
        self._rows.clear()
        if self._by_arrival:
            self._totals.add(gaps, waits, services)
        else:
            self._totals.add_finished(gaps, waits, services, kinds.astype(np.int64), lost)
        for place, stays in enumerate(self._stays):
            if stays:
                self._totals.add_stays(place, *np.array(stays).T.copy())
                stays.clear()
        if self._progress is not None:
            self._progress(1 - self._remaining / self._customers)

    def _count_present(self, change: int) -> None:
        if self._by_arrival:
            return
        now = self._env.now
        self._totals.presence[min(self._present, MOST_PRESENT)] += now - self._since
        self._present += change
        self._since = now
