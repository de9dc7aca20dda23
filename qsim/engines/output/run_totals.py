"""The totals of a run: over all customers, for each kind of them and for each station.

The memory does not grow with the run: recorders hold batches (see qsim.engines.output.recorder), losses are counted for
batches of the same kind, and the time with n customers present, up to MOST_PRESENT.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from qsim._types import FloatArray, IntArray
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

    def per_customer(self, warmup: int, most_batches: int) -> FloatArray:
        """Losses for each customer that was not lost, in at most so many batches after the warm-up."""
        full = self._customers // self._size
        kept = self._batches[min(math.ceil(warmup / self._size), full - 1) : full]
        per_batch = max(1, kept.size // most_batches)
        joined = kept[kept.size % per_batch :].reshape(-1, per_batch).sum(axis=1)
        return np.asarray(joined / (per_batch * self._size))


class KindsApart:
    """A recorder for each of several kinds of customers that come mixed."""

    def __init__(self, kinds: Iterable[int], expected: int, usual: float, rows: int = ROWS) -> None:
        self.recorders = {kind: Recorder(expected, usual, rows=rows) for kind in kinds}
        self._since = dict.fromkeys(self.recorders, 0.0)  # time since the last customer of each

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray | IntArray) -> None:
        """The next customers of all kinds."""
        times = np.cumsum(gaps)
        for kind, recorder in self.recorders.items():
            mine = np.flatnonzero(kinds == kind)
            if mine.size == 0:
                self._since[kind] += times[-1]
                continue
            own = np.diff(times[mine], prepend=-self._since[kind])
            self._since[kind] = times[-1] - times[mine[-1]]
            recorder.add(own, waits[mine], services[mine])


class RunTotals:
    """Takes customers from an engine, in arrays of any length.

    ``recorder`` holds all customers; ``of_kind`` and ``of_part`` each kind of them and each part of the results, where
    there are several, ``of_class_at`` each kind at a part to which several come; ``presence[n]`` the time with n at the
    stations, after the first tenth of the run.
    """

    def __init__(self, plan: Plan, expected: int, recorder: Recorder | None = None) -> None:
        usual = typical_time(plan)
        self.recorder = recorder or Recorder(expected, usual)
        kinds = range(plan.kinds if plan.kinds > 1 else 0)
        self.of_kind = KindsApart(kinds, math.ceil(expected / plan.kinds), usual)
        parts = len(plan.parts)
        of_each, rows = math.ceil(expected / max(1, parts)), ROWS_OF_A_STATION
        self.of_part = tuple(Recorder(of_each, usual, rows=rows) for _ in range(parts))
        self.of_class_at = {
            part: KindsApart(kinds, math.ceil(expected / parts / len(kinds)), usual, rows)
            for part, kinds in enumerate(plan.kinds_at[place] for place in plan.parts)
            if len(kinds) > 1
        }
        self.losses = Losses(expected)
        self.presence = np.zeros(MOST_PRESENT + 1)
        self._part_of = plan.part_of
        self._expected = expected
        self._observing = False

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray) -> None:
        """Customers of a plan with one kind, one place and no losses."""
        self.recorder.add(gaps, waits, services)

    def add_finished(
        self, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: IntArray, lost: FloatArray
    ) -> None:
        """Customers of any plan: time since the one before, totals of waiting and service, kind, losses since."""
        if gaps.size == 0:
            return
        self.recorder.add(gaps, waits, services)
        self.losses.add(lost)
        if self.of_kind.recorders:
            self.of_kind.add(gaps, waits, services, kinds)
        if not self._observing and self.recorder.customers >= PRESENCE_FROM * self._expected:
            self.presence[:] = 0.0
            self._observing = True

    def add_stays(
        self, place: int, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray
    ) -> None:
        """Stays at a place: time since the one before, waiting and service time, kind."""
        part = self._part_of[place]
        if gaps.size == 0 or part < 0:
            return
        if part in self.of_class_at:
            self.of_class_at[part].add(gaps, waits, services, kinds)
        self.of_part[part].add(gaps, waits, services)
