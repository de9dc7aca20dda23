"""The totals of a run: over all customers, for each kind of them and for each station.

The memory does not grow with the run: recorders hold batches (see qsim.engines.output.recorder), losses are counted for
batches of the same kind, and the time with n customers present, up to MOST_PRESENT.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from qsim._types import BoolArray, FloatArray, IntArray
from qsim.engines.output.recorder import ROWS, SMALLEST_BATCH, Recorder
from qsim.engines.plan import Plan, typical_time

MOST_PRESENT = 4096
"""Numbers present from here on are counted together."""

ROWS_OF_A_STATION = 1024
"""Batches held of a station, and of each class at it: of these there may be many."""

PRESENCE_FROM = 0.1
"""Share of the run left out before the number present is observed."""


class Losses:
    """Arrivals turned away, in batches of the customers that were not."""

    def __init__(self, expected: int) -> None:
        self._size = max(SMALLEST_BATCH, math.ceil(expected / ROWS))
        self._batches = np.zeros(math.ceil(expected / self._size) + 1)
        self._customers = 0
        self._pending = 0.0  # lost since the last who was not

    def add(self, lost: FloatArray) -> None:
        """``lost[i]``: how many were turned away since the customer before."""
        if lost.size == 0:
            return
        first = self._customers // self._size
        last = (self._customers + lost.size - 1) // self._size
        if last >= self._batches.size:
            self._batches = np.pad(self._batches, (0, last))
        starts = np.maximum(np.arange(first, last + 1) * self._size - self._customers, 0)
        self._batches[first : last + 1] += np.add.reduceat(lost, starts)
        self._customers += lost.size

    def add_who_came(self, came: BoolArray) -> None:
        """Arrivals in their order, False where turned away."""
        lost = self._pending + np.cumsum(~came)
        before = lost[came]
        self.add(np.diff(before, prepend=0.0))
        if lost.size:
            self._pending = lost[-1] - (before[-1] if before.size else 0.0)

    @property
    def any(self) -> bool:
        """Whether anybody was turned away, in batches that are full."""
        return self._customers >= self._size and bool(self._batches.any())

    def per_customer(self, warmup: int, most_batches: int) -> FloatArray:
        """Losses for each customer that was not lost, in at most so many batches after the warm-up."""
        full = self._customers // self._size
        kept = self._batches[min(math.ceil(warmup / self._size), full - 1) : full]
        per_batch = max(1, kept.size // most_batches)
        joined = kept[kept.size % per_batch :].reshape(-1, per_batch).sum(axis=1)
        return np.asarray(joined / (per_batch * self._size))


class KindsApart:
    """A recorder and losses for each of several kinds of customers that come mixed."""

    def __init__(self, kinds: Iterable[int], expected: int, usual: float, rows: int = ROWS) -> None:
        self.recorders = {kind: Recorder(expected, usual, rows=rows) for kind in kinds}
        self.losses = {kind: Losses(expected) for kind in self.recorders}
        self._since = dict.fromkeys(self.recorders, 0.0)  # time since the last customer of each

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray | IntArray) -> None:
        """Customers; those whose service is negative were turned away, which their gap does not count."""
        times, came = np.cumsum(gaps), services >= 0
        for kind, recorder in self.recorders.items():
            mine = np.flatnonzero((kinds == kind) & came)
            if mine.size == 0:
                self._since[kind] += times[-1]
                continue
            own = np.diff(times[mine], prepend=-self._since[kind])
            self._since[kind] = times[-1] - times[mine[-1]]
            recorder.add(own, waits[mine], services[mine])


class RunTotals:
    """Takes customers from an engine, in arrays of any length.

    ``recorder`` holds all customers; ``of_kind`` and ``of_place`` each kind of them and each station, where there
    are several, ``of_class_at`` each kind at a station to which several come; ``presence[n]`` the time with n at the
    stations, after the first tenth of the run.
    """

    def __init__(self, plan: Plan, expected: int, recorder: Recorder | None = None) -> None:
        usual = typical_time(plan)
        self.recorder = recorder or Recorder(expected, usual)
        kinds = range(plan.outcomes if plan.outcomes > 1 else 0)
        self.of_kind = KindsApart(kinds, math.ceil(expected / plan.outcomes), usual)
        parts = len(plan.parts) if plan.by_part else 0
        of_each, rows = math.ceil(expected / max(1, parts)), ROWS_OF_A_STATION
        self.of_place = tuple(Recorder(of_each, usual, rows=rows) for _ in range(parts))
        self.of_class_at = {
            part: KindsApart(kinds, math.ceil(expected / parts / len(kinds)), usual, rows)
            for part, kinds in enumerate(plan.kinds_at[:parts])
            if len(kinds) > 1
        }
        self.losses = Losses(expected)
        limited = [part for part, place in enumerate(plan.places[:parts]) if place.capacity is not None]
        self.losses_at = {part: Losses(max(1, expected // parts)) for part in limited}
        self.presence = np.zeros(MOST_PRESENT + 1)
        self._giving_up = plan.outcomes > plan.kinds
        self._expected = expected
        self._observing = False

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray) -> None:
        """Customers of a plan with one kind, one place and no losses."""
        self.recorder.add(gaps, waits, services)

    def add_finished(
        self,
        gaps: FloatArray,
        waits: FloatArray,
        services: FloatArray,
        kinds: IntArray,
        lost: FloatArray,
        lost_of_kind: FloatArray | None = None,
    ) -> None:
        """Customers of any plan: time since the one before, totals of waiting and service, kind, losses since.

        ``lost_of_kind``: losses since the one before of the same kind, None where no kind loses any.
        """
        if gaps.size == 0:
            return
        self.recorder.add(gaps, waits, services)
        lost = lost[kinds == 0] if self._giving_up else lost  # since the last who was served
        self.losses.add(lost)
        if self.of_kind.recorders:
            self.of_kind.add(gaps, waits, services, kinds)
        if lost_of_kind is not None:
            for kind, losses in self.of_kind.losses.items():
                losses.add(lost_of_kind[kinds == kind])
        if not self._observing and self.recorder.customers >= PRESENCE_FROM * self._expected:
            self.presence[:] = 0.0
            self._observing = True

    def add_stays(
        self, place: int, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray
    ) -> None:
        """Stays at one of several places: time since the one before, waiting and service time, kind.

        Of those turned away the service is negative, and the gap 0.
        """
        if gaps.size == 0:
            return
        apart, came = self.of_class_at.get(place), services >= 0
        if apart is not None:
            apart.add(gaps, waits, services, kinds)
        if place in self.losses_at:
            self.losses_at[place].add_who_came(came)
            for kind, losses in apart.losses.items() if apart is not None else ():
                losses.add_who_came(came[kinds == kind])
            gaps, waits, services = gaps[came], waits[came], services[came]
        self.of_place[place].add(gaps, waits, services)
