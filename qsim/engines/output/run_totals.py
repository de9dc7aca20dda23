"""The totals of a run: over all customers, for each kind of them and for each station.

The memory does not grow with the run: recorders hold batches (see qsim.engines.output.recorder), losses are counted for
batches of the same kind, and the time with n customers present, up to MOST_PRESENT.
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.output.recorder import ROWS, SMALLEST_BATCH, Recorder
from qsim.engines.plan import Plan, typical_time

MOST_PRESENT = 4096
"""Numbers present from here on are counted together."""

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
        first = self._customers // self._size
        last = (self._customers + lost.size - 1) // self._size
        if last >= self._batches.size:
            self._batches = np.pad(self._batches, (0, last))
        starts = np.maximum(np.arange(first, last + 1) * self._size - self._customers, 0)
        self._batches[first : last + 1] += np.add.reduceat(lost, starts)
        self._customers += lost.size

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


class RunTotals:
    """Takes customers from an engine, in arrays of any length.

    ``recorder`` holds all customers; ``of_kind`` and ``of_place`` each kind of them and each station, where there
    are several; ``presence[n]`` the time with n at the stations, after the first tenth of the run.
    """

    def __init__(self, plan: Plan, expected: int, recorder: Recorder | None = None) -> None:
        usual = typical_time(plan)
        self.recorder = recorder or Recorder(expected, usual)
        self.of_kind = _recorders(plan.outcomes, expected, usual) if plan.outcomes > 1 else ()
        self.of_place = _recorders(len(plan.parts), expected, usual) if plan.by_part else ()
        self.losses = Losses(expected)
        self.losses_at = tuple(Losses(max(1, expected // len(plan.parts))) for _ in self.of_place)
        self.presence = np.zeros(MOST_PRESENT + 1)
        self._giving_up = plan.outcomes > plan.kinds
        self._since = np.zeros(plan.outcomes)  # time since the last customer of each kind
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
        lost = lost[kinds == 0] if self._giving_up else lost  # since the last who was served
        if lost.size:
            self.losses.add(lost)
        if self.of_kind:
            times = np.cumsum(gaps)
            for kind, recorder in enumerate(self.of_kind):
                mine = np.flatnonzero(kinds == kind)
                if mine.size == 0:
                    self._since[kind] += times[-1]
                    continue
                own = np.diff(times[mine], prepend=-self._since[kind])
                self._since[kind] = times[-1] - times[mine[-1]]
                recorder.add(own, waits[mine], services[mine])
        if not self._observing and self.recorder.customers >= PRESENCE_FROM * self._expected:
            self.presence[:] = 0.0
            self._observing = True

    def add_stays(
        self, place: int, gaps: FloatArray, waits: FloatArray, services: FloatArray, lost: FloatArray | None = None
    ) -> None:
        """Stays at one of several places: time since the one before, waiting and service time, losses since."""
        self.of_place[place].add(gaps, waits, services)
        if lost is not None and lost.size:
            self.losses_at[place].add(lost)


def _recorders(number: int, expected: int, usual: float) -> tuple[Recorder, ...]:
    """A recorder for each; how many customers each will see is not known beforehand."""
    return tuple(Recorder(math.ceil(expected / number), usual) for _ in range(number))
