"""A queue and its servers in the compiled engine, and the tournament that finds the next event.

Where customers leave in the order of arrival, a queue is a linked list, and the end of each service is known when the
customer comes. Any other queue keeps its customers in service in a heap by the time they will finish, and those waiting
in a linked list in the order in which they will be taken. Where customers slow each other (processor sharing,
load-dependent service) it has a clock of its own, which runs at the speed of each customer in service: finish times by
that clock never change.

The earliest of many times is the winner of a tournament between them; a change of one takes log2(times) matches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.compiled.tables import NOBODY, RowArray, Table
from qsim.engines.jit import kernel
from qsim.engines.numbered import LEAST_WAIT

unsigned = np.uint64  # an index of which numba need not ask whether it counts from the end


def tournament(times: FloatArray) -> tuple[IntArray, RowArray]:
    """The times as integers, their number rounded up to a power of two, and the tree of :func:`set_time`."""
    size = 1 << (times.size - 1).bit_length()
    padded = np.append(times, np.full(size - times.size, math.inf))
    tree = np.zeros(2 * size, dtype=np.uint32)
    tree[size:] = np.arange(size)
    for node in range(size - 1, 0, -1):
        left, right = tree[2 * node], tree[2 * node + 1]
        tree[node] = right if padded[right] < padded[left] else left
    return padded.view(np.int64), tree


@kernel(inner=True, borrows=True)
def time_of(bits: int) -> float:
    """The time whose bits, read as an integer, are these."""
    time: float = np.int64(bits).view(np.float64)
    return time


@kernel(inner=True, borrows=True)
def set_time(times: IntArray, tree: RowArray, row: int, time: float) -> None:
    """Change one time; ``tree[1]`` is then the row of the smallest time, the lowest row of equal times.

    The times are compared as integers: those of the bits of positive times are in the same order.
    """
    mine = np.float64(time).view(np.int64)
    times[row] = mine
    winner, node = np.int64(row), times.size + np.int64(row)
    while node > 1:
        other = np.int64(tree[node ^ 1])
        rival = times[unsigned(other)]
        beaten = rival - (node & 1) < mine  # of equal times the left wins
        winner += beaten * (other - winner)  # without a branch, which the processor could not predict
        mine = rival if rival < mine else mine
        node >>= 1
        tree[node] = winner


@kernel(inner=True, borrows=True)
def heap_add(tags: FloatArray, ids: RowArray, size: int, tag: float, customer: int) -> None:
    """Add a customer to a heap of ``size``, in which each has four children."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 2
        if tags[unsigned(parent)] <= tag:
            break
        tags[unsigned(hole)], ids[unsigned(hole)] = tags[unsigned(parent)], ids[unsigned(parent)]
        hole = parent
    tags[unsigned(hole)], ids[unsigned(hole)] = tag, customer


@kernel(inner=True, borrows=True)
def heap_remove(tags: FloatArray, ids: RowArray, size: int, hole: int) -> None:
    """Take the entry at ``hole`` out of a heap of ``size``: children move up, the last entry fills the hole they leave.

    Tags beyond a heap are infinite, so that each entry has four children to choose from.
    """
    last: Any = np.int64(size) - 1
    tag, customer = tags[unsigned(last)], ids[unsigned(last)]
    tags[unsigned(last)] = math.inf
    while 4 * hole + 1 < last:
        child: Any = 4 * hole + 1
        a, b = tags[unsigned(child)], tags[unsigned(child + 1)]
        c, d = tags[unsigned(child + 2)], tags[unsigned(child + 3)]
        left, right = b < a, d < c
        child += left + ((d if right else c) < (b if left else a)) * (2 + right - left)  # without a branch
        tags[unsigned(hole)], ids[unsigned(hole)] = tags[unsigned(child)], ids[unsigned(child)]
        hole = child
    if hole < last:
        heap_add(tags, ids, hole, tag, customer)


@kernel(inner=True, borrows=True)
def speed_of(place: Any, queue: Any, speeds: FloatArray) -> float:
    """Work done per time unit for each customer in service."""
    if queue.in_service == 0:
        return 0.0
    if place.speeds > 0:
        speed: float = speeds[min(queue.present, place.speeds) - 1] / queue.in_service
        return speed
    return min(1.0, place.servers / queue.present) if place.sharing else 1.0


@kernel(inner=True, borrows=True)
def advance(place: Any, queue: Any, speeds: FloatArray, clock: float) -> None:
    """Bring a queue's own clock up to date; call before anything changes in it."""
    if place.varying:
        elapsed = clock - queue.seen
        queue.progress += elapsed * speed_of(place, queue, speeds)
        if queue.present > 0:
            queue.share += elapsed * min(1.0, place.servers / queue.present)
        if queue.present > place.servers:
            queue.crowded = clock
    else:
        queue.progress = clock
    queue.seen = clock


@kernel(inner=True, borrows=True)
def slowed(queue: Any, arrived: float, response: float, service: float) -> float:
    """Response time less service time; exactly 0, despite rounding, for a customer that never shared a server."""
    return max(response - service, LEAST_WAIT) if queue.crowded > arrived else 0.0


@kernel(inner=True, borrows=True)
def enqueue(queue: Any, customers: Table, customer: int) -> None:
    """Insert a customer into the waiting list, sorted by key and order."""
    key, order = customers[customer].key, customers[customer].order
    before, after = queue.last, NOBODY
    if before != NOBODY and (
        customers[before].key > key or (customers[before].key == key and customers[before].order > order)
    ):
        before, after = NOBODY, queue.first
        while customers[after].key < key or (customers[after].key == key and customers[after].order < order):
            before, after = after, customers[after].next
    customers[customer].next = after
    if before == NOBODY:
        queue.first = customer
    else:
        customers[before].next = customer
    if after == NOBODY:
        queue.last = customer


@kernel(inner=True, borrows=True)
def start_service(queue: Any, customers: Table, customer: int, tags: FloatArray, ids: RowArray, clock: float) -> None:
    """Start the service of a customer."""
    row = customers[customer]
    row.wait += clock - row.since
    heap_add(tags, ids, queue.in_service, queue.progress + row.work, customer)
    queue.in_service += 1


@kernel(inner=True, borrows=True)
def least_urgent(queue: Any, customers: Table, ids: RowArray) -> int:
    """Index in the heap of the customer that would be interrupted first."""
    worst = 0
    for at in range(1, queue.in_service):
        one, other = customers[ids[at]], customers[ids[worst]]
        if one.key > other.key or (one.key == other.key and one.order > other.order):
            worst = at
    return worst
