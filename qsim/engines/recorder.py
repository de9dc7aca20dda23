"""The record of a run: totals of batches of customers, and histograms of response and waiting times.

The memory does not grow with the run. A table holds at most ROWS batches; when it is full, neighbours are added
together and the batches from then on are twice as long. Response and waiting times are counted in bins, 64 of equal
width per octave (0.8 to 1.6 % of the time), one histogram for every ROWS_PER_GROUP batches, so that quantiles get
intervals from batches too. ``Totals`` holds a recorder for all customers, for each class, for each station and for each
class there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.jit import kernel
from qsim.engines.numbered import Plan

ROWS = 2048
ROWS_PER_GROUP = 32
SMALLEST_BATCH = 5  # customers; the 5 of MSER-5

COLUMNS = 5
TIME, WAIT, SERVICE, WAITED, LOST = range(COLUMNS)

SHIFT = 46  # leaves six bits of the mantissa: 64 bins per octave
OCTAVES_BELOW, OCTAVES_ABOVE = 30, 34  # of the mean service time
BINS = (OCTAVES_BELOW + OCTAVES_ABOVE) << 6

# Entries of `position`.
ROW, FILLED, USED = range(3)
NO_LOSSES: FloatArray = np.empty(0)


@kernel(reassociate=True)
def _accumulate(
    gaps: FloatArray,
    waits: FloatArray,
    services: FloatArray,
    lost: FloatArray,
    size: int,
    table: FloatArray,
    position: IntArray,
) -> None:
    """Add customers to the batches, ``size`` to a row, until all are added or the table is full."""
    row, filled, i = position[ROW], position[FILLED], position[USED]
    while i < gaps.size and row < table.shape[0]:
        stop = min(gaps.size, i + size - filled)
        time = wait = service = 0.0
        waited = 0
        for j in range(np.uint64(i), np.uint64(stop)):  # without a sign: several at once
            time += gaps[j]
            wait += waits[j]
            service += services[j]
            waited += waits[j] > 0.0
        table[row, TIME] += time
        table[row, WAIT] += wait
        table[row, SERVICE] += service
        table[row, WAITED] += waited
        for j in range(np.uint64(i), np.uint64(min(stop, lost.size))):
            table[row, LOST] += lost[j]
        filled += stop - i
        i = stop
        if filled == size:
            row, filled = row + 1, 0
    position[ROW], position[FILLED], position[USED] = row, filled, i


@kernel()
def _count(waits: FloatArray, services: FloatArray, lowest: int, responses: IntArray, waiting: IntArray) -> None:
    """Count times in bins: exponent and first mantissa bits of a float, read as an integer."""
    last = responses.size - 1
    for i in range(waits.size):
        wait = np.float64(waits[i])
        response = np.float64(wait + services[i])
        at = int(response.view(np.int64) >> SHIFT) - lowest
        responses[min(max(at, 0), last)] += 1
        at = int(wait.view(np.int64) >> SHIFT) - lowest
        waiting[min(max(at, 0), last)] += wait > 0.0  # without a branch, which the processor could not predict


class Recorder:
    """Records (time since the previous customer, waiting time, service time) of customers, in arrays of any length.

    ``expected`` customers set the first batch length, so that a run of known length is never merged;
    ``typical_time`` is the scale of the histogram; ``rows``: the most batches it holds.
    """

    def __init__(self, expected: int, typical_time: float, rows: int = ROWS) -> None:
        self.batch_size = max(SMALLEST_BATCH, math.ceil(expected / rows))
        self.customers = 0
        self._table = np.zeros((rows, COLUMNS))
        self._counts = np.zeros((2, rows // ROWS_PER_GROUP, BINS), dtype=np.int64)
        self._position = np.zeros(3, dtype=np.int64)
        typical = int(np.array([typical_time]).view(np.int64)[0]) >> SHIFT
        # Bins stay within the range of floats.
        self._lowest_bin = min(max(0, typical - (OCTAVES_BELOW << 6)), (2046 << 6) - BINS)

    @property
    def rows(self) -> FloatArray:
        """Totals of the full batches: time, waiting, service, customers that waited, customers lost."""
        return self._table[: self._position[ROW]]

    @property
    def histograms(self) -> IntArray:
        """Counts of W and Wq (> 0) of each full group of batches, shape (2, groups, BINS)."""
        return self._counts[:, : int(self._position[ROW]) // ROWS_PER_GROUP]

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray, lost: FloatArray = NO_LOSSES) -> None:
        """Record customers, in order; ``lost[i]``: arrivals lost since the previous customer."""
        self.customers += gaps.size
        begin = 0
        while begin < gaps.size:
            if self._position[ROW] == self._table.shape[0]:
                self._merge()
            row, filled = int(self._position[ROW]), int(self._position[FILLED])
            group = row // ROWS_PER_GROUP
            room = (group + 1) * ROWS_PER_GROUP * self.batch_size - row * self.batch_size - filled
            end = min(gaps.size, begin + room)
            part = slice(begin, end)
            self._position[USED] = 0
            _accumulate(
                gaps[part], waits[part], services[part], lost[part], self.batch_size, self._table, self._position
            )
            _count(waits[part], services[part], self._lowest_bin, self._counts[0, group], self._counts[1, group])
            begin = end

    def _merge(self) -> None:
        """Add neighbouring batches, and neighbouring histograms, together."""
        half, groups = self._table.shape[0] // 2, self._counts.shape[1] // 2
        self._table[:half] = self._table[0::2] + self._table[1::2]
        self._table[half:] = 0.0
        seen = np.flatnonzero(self._counts.sum(axis=(0, 1)))
        counts = self._counts[:, :, seen[0] : seen[-1] + 1]  # memory of the others is never touched
        counts[:, :groups] = counts[:, 0::2] + counts[:, 1::2]
        counts[:, groups:] = 0
        self._position[ROW] = half
        self.batch_size *= 2

    def bin_edges(self) -> FloatArray:
        """The BINS + 1 edges of the histograms' bins."""
        index = np.arange(BINS + 1, dtype=np.int64) + self._lowest_bin
        return (index << SHIFT).view(np.float64)


ROWS_OF_A_STATION = 1024  # batches held for a station, and for each of its classes: fewer, as a network may have many


class ByKind:
    """A recorder for each of several kinds of customers in one mixed stream; none for one kind alone."""

    def __init__(self, kinds: Iterable[int], expected: int, typical_time: float, rows: int = ROWS) -> None:
        listed = list(kinds)
        several = listed if len(listed) > 1 else []
        self.recorders = {kind: Recorder(math.ceil(expected / len(several)), typical_time, rows) for kind in several}
        self._since = dict.fromkeys(several, 0.0)  # time since the last customer of each

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray | IntArray) -> None:
        """Record the next customers of all kinds."""
        if not self.recorders:
            return
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
    """The recorders that an engine fills, in arrays of any length.

    ``whole`` records all customers, ``classes`` those of each class; ``stations`` the stays at each part of the plan,
    ``classes_at`` those of each class there.
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
        """Record customers: time since the previous one, total wait and service, class, losses since then."""
        if gaps.size == 0:
            return
        self.whole.add(gaps, waits, services, lost)
        if kinds is not None:
            self.classes.add(gaps, waits, services, kinds)

    def add_stays(
        self, place: int, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: FloatArray
    ) -> None:
        """Record stays at a part of the plan: time since the previous one, waiting and service time, class."""
        if gaps.size:
            self.stations[place].add(gaps, waits, services)
            self.classes_at[place].add(gaps, waits, services, kinds)
