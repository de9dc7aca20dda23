"""What the reference engine records: customers in the order of the compiled engine, handed over in chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import simpy

from qsim.engines.output.run_totals import MOST_PRESENT, RunTotals
from qsim.engines.plan import Plan
from qsim.engines.reference.customer import Customer

Progress = Callable[[float], object]
Row: TypeAlias = tuple[float, float, float, int, int, int]
"""Time, totals of waiting and service, kind, and how many were lost since the customer before, and of its kind."""

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
        self.lost_of: Counter[int] = Counter()
        self._env = env
        self._remaining = self._customers = customers
        self._gathering = totals
        self._progress = progress
        self._by_arrival = by_arrival
        self._early: dict[int, Row] = {}  # by number, until the earlier ones are done
        self._numbers, self._next = 0, 0
        self._last_time = 0.0
        self._until_next = by_arrival and bool(plan.population)
        self._held: Row | None = None
        self._rows: list[Row] = []
        self._present, self._since = 0, 0.0
        self._stays: list[list[tuple[float, ...]]] = [[] for _ in totals.of_place]
        self._last_stay = [0.0 for _ in totals.of_place]

    def arrival(self, customer: Customer) -> None:
        """A customer arrives at a station."""
        customer.number = self._numbers
        self._numbers += 1
        self._count_present(1)

    def departure(self, customer: Customer, station: int) -> None:
        """A customer leaves a station."""
        self._count_present(-1)
        if self._stays:
            self.stay(station, customer.kind, customer.wait, customer.service)

    def stay(self, part: int, kind: int, wait: float, service: float) -> None:
        """A customer's stay at a station, or at a gate, is over."""
        gap, self._last_stay[part] = self._env.now - self._last_stay[part], self._env.now
        self._stays[part].append((gap, wait, service, kind))

    def turned_away(self, station: int, kind: int, *, lost: bool = True) -> None:
        """A customer found no place at a station, and is gone unless it goes elsewhere."""
        self.lost += lost
        self._stays[station].append((0.0, 0.0, -1.0, kind))

    def count_present(self, change: int) -> None:
        """So many more are at stations or gates."""
        self._count_present(change)

    def completion(self, customer: Customer) -> None:
        """A customer has visited every station."""
        time = customer.arrived if self._by_arrival else self._env.now
        lost_of_kind = self.lost_of.pop(customer.kind, 0)
        row = (time, customer.total_wait, customer.total_service, customer.kind, self.lost, lost_of_kind)
        if customer.gave_up:  # it counts among those lost before the next who is served
            row = (*row[:3], 1, 0, 0)
        customer.total_wait = customer.total_service = 0.0
        self.lost = self.lost + 1 if customer.gave_up else 0
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
        time = row[0]
        if self._until_next:  # the time until the next one is known only now
            held, self._held = self._held, row
            if held is None:
                self._last_time = time
                return
            row = held
        self._rows.append((time - self._last_time, *row[1:]))
        self._last_time = time
        self._remaining -= 1
        if len(self._rows) == CHUNK or self._remaining == 0:
            self._hand_over()
        if self._remaining == 0:
            self.complete.succeed()

    def _hand_over(self) -> None:
        gaps, waits, services, kinds, lost, lost_of_kind = np.array(self._rows).T.copy()
        self._rows.clear()
        if self._by_arrival:
            self._gathering.add(gaps, waits, services)
        else:
            self._gathering.add_finished(gaps, waits, services, kinds.astype(np.int64), lost, lost_of_kind)
        for place, stays in enumerate(self._stays):
            if stays:
                self._gathering.add_stays(place, *np.array(stays).T.copy())
                stays.clear()
        if self._progress is not None:
            self._progress(1 - self._remaining / self._customers)

    def _count_present(self, change: int) -> None:
        if self._by_arrival:
            return
        now = self._env.now
        self._gathering.presence[min(self._present, MOST_PRESENT)] += now - self._since
        self._present += change
        self._since = now
