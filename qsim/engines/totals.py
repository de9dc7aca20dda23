"""The totals of a run: over all customers, for each class of them, for each station and each class there.

The memory does not grow with the run: recorders hold batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.plan import Plan
from qsim.engines.recorder import NO_LOSSES, ROWS, Recorder

ROWS_OF_A_STATION = 1024
"""Batches held of a station, and of each class at it: of these there may be many."""


class ByKind:
    """A recorder for each of several kinds of customers that come mixed; none for one kind alone."""

    def __init__(self, kinds: Iterable[int], expected: int, typical_time: float, rows: int = ROWS) -> None:
        listed = list(kinds)
        several = listed if len(listed) > 1 else []
        self.recorders = {kind: Recorder(math.ceil(expected / len(several)), typical_time, rows) for kind in several}
        self._since = dict.fromkeys(several, 0.0)  # time since the last customer of each

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


class Totals:
    """Takes customers from an engine, in arrays of any length.

    ``whole`` holds all customers, ``classes`` each class in which they enter; ``stations`` the stays at each part of
    the plan, ``classes_at`` each class there.
    """

    def __init__(self, plan: Plan, expected: int) -> None:
        typical = plan.typical_time
        self.whole = Recorder(expected, typical)
        self.classes = ByKind(range(len(plan.classes)), expected, typical)
        of_each = math.ceil(expected / max(1, len(plan.parts)))
        self.stations = {place: Recorder(of_each, typical, ROWS_OF_A_STATION) for place in plan.parts}
        self.classes_at = {
            place: ByKind(plan.places[place].kinds, of_each, typical, ROWS_OF_A_STATION) for place in plan.parts
        }

    def add(
        self,
        gaps: FloatArray,
        waits: FloatArray,
        services: FloatArray,
        kinds: FloatArray | None = None,
        lost: FloatArray = NO_LOSSES,
    ) -> None:
        """Customers: time since the one before, totals of waiting and service, class, losses since the one before."""
        if gaps.size == 0:
            return
        self.whole.add(gaps, waits, services, lost)
        if kinds is not None:
            self.classes.add(gaps, waits, services, kinds)

    def add_stays(
        self, place: int, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray
    ) -> None:
        """Stays at a part of the plan: time since the one before, waiting and service time, class."""
        if gaps.size:
            self.stations[place].add(gaps, waits, services)
            self.classes_at[place].add(gaps, waits, services, kinds)
